/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names, metrics and checks of flows. */
#include "jobs/flows.h"

#include "jobs/world.h"
#include "results/summary.h"

#include <math.h>
#include <stdio.h>

/* Writes a name such as "flow.train[3][17]": name of the flow, if any, operator, indices of branches, outermost first. */
void flows_name(const struct job *job, char *out, size_t size)
{
	const struct flow *f = job->branch->run->flow;
	const struct flow_branch *around[20], *b = job->branch;
	uint32_t depth = 0;
	for (; b->parent && depth < 20; b = b->parent)
		around[depth++] = b;
	if (f->stages == 1 && f->name) {
		snprintf(out, size, "%s", f->name);
		return;
	}
	int n = snprintf(out, size, "%s%s%s", f->name ? f->name : "", f->name ? "." : "", f->op[job->stage].name);
	while (depth && n > 0 && (size_t)n < size) {
		depth--;
		n += snprintf(out + n, size - (size_t)n, "[%u]", around[depth]->index);
	}
}

void flows_state(struct orr_jobs *w)
{
	struct flows *s = w->flows;
	if (s->sets && eng_now(w->engine) >= s->memory.start)
		timeline_set(&s->memory, eng_now(w->engine), datasets_counts(s->sets)->in_memory);
}

/* Returns whether every flow has one stage. Such flows are reported as jobs. */
static bool are_jobs(const struct flowset *set)
{
	for (uint32_t i = 0; i < set->n; i++)
		if (set->flow[i]->n_ops > 1)
			return false;
	return true;
}

static void put_sets(struct orr_jobs *w)
{
	const struct flows *s = w->flows;
	const struct datasets_count *c = datasets_counts(s->sets);
	summary_put(w->result, "sets_made", (double)c->made);
	summary_put(w->result, "sets_spilled", (double)c->spilled);
	summary_put(w->result, "sets_read_from_disk", (double)c->read_disk);
	summary_put(w->result, "bytes_spilled", (double)c->bytes_spilled);
	summary_put(w->result, "bytes_from_disk", (double)c->bytes_disk);
	summary_put(w->result, "bytes_from_memory", (double)c->bytes_memory);
	summary_put(w->result, "memory_max", (double)c->most_in_memory);
	summary_timeline(w->result, "memory_mean", &s->memory, 1, NAN);
	summary_series(w->result, "memory", &s->memory, 1);
}

void flows_metrics(struct orr_jobs *w)
{
	const struct flows *s = w->flows;
	struct run_result *r = w->result;
	double ended = (double)s->completed;
	if (are_jobs(s->set))
		return;
	summary_put(r, "flows", (double)s->submitted);
	summary_put(r, "flows_completed", ended);
	summary_put(r, "flows_failed", (double)s->failed);
	summary_put(r, "flow_time_mean", s->completed ? s->time_sum / ended : NAN);
	summary_put(r, "flow_time_max", s->time_most);
	summary_put(r, "stages", (double)s->stages);
	summary_put(r, "stages_run", (double)s->stages_run);
	summary_put(r, "branches", (double)s->branches);
	summary_put(r, "branches_run", (double)s->branches_run);
	summary_put(r, "work_done", s->work_done);
	summary_put(r, "work_shared", s->work_shared);
	summary_put(r, "work_unshared", s->work_unshared);
	summary_put(r, "work_saved", s->work_unshared > 0 ? 1 - s->work_done / s->work_unshared : 0);
	if (s->regrets) {
		summary_put(r, "score_kept", s->kept_sum / (double)s->regrets);
		summary_put(r, "regret", s->regret_sum / (double)s->regrets);
	}
	if (s->regrets == 1)
		summary_put(r, "branch_kept", s->branch_kept);
	if (s->sets)
		put_sets(w);
}

void flows_check(struct orr_jobs *w, bool is_end)
{
	const struct flows *s = w->flows;
	const char *wrong = s->sets ? datasets_wrong(s->sets) : NULL;
	if (!wrong && s->sets && is_end && !s->first && !w->slots.live && datasets_counts(s->sets)->in_memory)
		wrong = "data sets remain in memory after the last flow";
	if (!wrong && s->sets && is_end && !s->first && !w->slots.live && datasets_counts(s->sets)->on_disk)
		wrong = "data sets remain on disk after the last flow";
	if (!wrong && s->stages_run > s->stages)
		wrong = "more stages were run than the flows have";
	if (!wrong && s->work_done > s->work_shared * (1 + 1e-9) + 1e-6 && !w->totals.preemptions && !w->totals.restarts)
		wrong = "stages did more work than the flows have";
	if (wrong)
		world_fail(w, ORR_EFAIL, NULL, "conservation: %s", wrong);
}
