/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * flow_policy.c - a jobs policy for flows in one file: runs stages in order and prunes a branch whose score is below the mean so far
 *
 * -DEARLY reads the score of a stage when the stage arrives, which is refused. -DNOWHERE prunes the branch of a stage outside all
 * branches, which is refused.
 */
#include <orrery/jobs.h>

struct below {
	struct orr_queue *waiting;
	double sum;
	uint32_t scored;
	uint64_t bad; /* branch to prune; 0: none */
};

static const struct orr_param params[] = { ORR_PARAM_END };

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct below *b = orr_alloc(1, sizeof *b);
	(void)args, (void)err;
	b->waiting = orr_queue_new(w);
	return b;
}

static void destroy(void *self)
{
	orr_queue_free(((struct below *)self)->waiting);
	orr_free(self);
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct orr_stage s;
	orr_queue_add(((struct below *)self)->waiting, j, orr_stage_get(w, j, &s) ? (int64_t)s.order : 0, 0);
#ifdef EARLY
	(void)orr_stage_score(w, j);
#endif
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct below *b = self;
	struct orr_stage s;
	orr_queue_remove(b->waiting, j);
	if (how != ORR_END_COMPLETED || !orr_stage_get(w, j, &s) || !s.is_scored || s.is_last)
		return;
	double score = orr_stage_score(w, j);
	b->bad = b->scored && score < b->sum / b->scored ? s.branch : 0;
	b->sum += score;
	b->scored++;
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct below *b = self;
	struct orr_stage s;
	orr_job j;
	while ((j = orr_queue_first(b->waiting))) {
#ifdef NOWHERE
		orr_prune_branch(w, j);
#endif
		if (b->bad && orr_stage_get(w, j, &s) && s.branch == b->bad) {
			b->bad = 0;
			orr_prune_branch(w, j);
			return;
		}
		if (!orr_try_start(w, j))
			return;
		orr_queue_remove(b->waiting, j);
	}
}

static const struct orr_jobs_ops ops = { .create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .schedule = schedule };

ORR_POLICY_JOBS(below_mean, "prunes branches whose first score is below the mean", params, ops);
