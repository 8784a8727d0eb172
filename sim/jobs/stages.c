/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries and actions of a policy on stages of flows (orrery/jobs.h). */
#include "jobs/flows.h"

#include "jobs/world.h"

bool orr_stage_get(const struct orr_jobs *w, orr_job j, struct orr_stage *out)
{
	const struct job *job = job_of(w, j);
	const struct flow_branch *b = job ? job->branch : NULL;
	if (!b)
		return false;
	const struct flow *f = b->run->flow;
	const struct flow_op *o = &f->op[job->stage], *e = b->scope == FLOW_ROOT ? NULL : &f->op[b->scope];
	*out = (struct orr_stage){ .flow = b->run->number,
		.order = b->base + o->position,
		.op = o->name,
		.depth = o->depth,
		.branch = e ? b->id : 0,
		.explore = e ? b->parent->id << 16 | (b->scope + 1u) : 0,
		.index = b->index,
		.branches = e ? e->value.n : 1,
		.value = e ? e->value.v[b->index] : 0,
		.parallel = (double)o->instances,
		.rung = o->rung,
		.is_scored = o->score.how != FLOW_NO_SCORE,
		.is_last = e && f->op[e->choose].scorer == job->stage,
		.is_lower_better = e && f->op[e->choose].is_lower_better };
	return true;
}

double orr_stage_score(struct orr_jobs *w, orr_job j)
{
	const struct job *job = job_of(w, j);
	bool has_score = job && job->branch && job->branch->run->flow->op[job->stage].score.how != FLOW_NO_SCORE;
	if (has_score && job->state == ORR_JOB_ENDED && job->how == ORR_END_COMPLETED)
		return job->score;
	world_fail(w, ORR_EFAIL, job,
		has_score ? "the policy reads a score before the stage has ended: expected a stage that finish() reports as completed"
			  : "the policy reads the score of a job without a score: expected a stage with is_scored");
	return 0;
}

struct on_node {
	const struct datasets *sets;
	uint32_t node;
	int64_t bytes;
};

static void add_bytes(void *ctx, uint64_t set)
{
	struct on_node *x = ctx;
	x->bytes += datasets_bytes_on(x->sets, set, x->node);
}

int64_t orr_stage_bytes_on(const struct orr_jobs *w, orr_job j, uint32_t node)
{
	const struct job *job = job_of(w, j);
	if (!job || !job->branch || !w->flows->sets)
		return 0;
	struct on_node x = { w->flows->sets, node, 0 };
	flows_each_input(job->branch, job->stage, add_bytes, &x);
	return x.bytes;
}

void orr_prune_branch(struct orr_jobs *w, orr_job j)
{
	struct job *job = job_of(w, j);
	if (w->error.code)
		return;
	if (!w->policy.is_acting) {
		world_fail(w, ORR_EFAIL, job, "the policy prunes a branch outside schedule(): expected a call in schedule()");
		return;
	}
	if (!job || job->state == ORR_JOB_ENDED || !job->branch || !job->branch->parent) {
		world_fail(w, ORR_EFAIL, job,
			"the policy prunes a branch of a job that has ended or has no branch: expected a live stage with depth above 0");
		return;
	}
	w->policy.last_acted = j;
	flows_prune(w, job->branch);
}
