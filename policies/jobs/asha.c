/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Asynchronous successive halving (Li et al., "A system for massively parallel hyperparameter tuning", MLSys 2020, algorithm 2)
 * on the branches of a flow. A free worker promotes a branch whose score is among the best 1/eta of its rung so far. Higher rungs
 * come first. If no branch can be promoted, the worker starts the next branch. When no branch runs and none can start, the waiting
 * branches are pruned one by one. If no branch has reached the end, the best branch of the highest rung is kept and continues.
 */
#include "rungs.h"

#include <math.h>

static const struct orr_param params[] = { RUNG_PARAMS, ORR_PARAM_END };

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	(void)err;
	return rungs_new(w, sizeof(struct rungs), args);
}

/* Returns whether fewer than floor(n / eta) of the n scores in this rung are better. */
static bool is_promoted(const struct rungs *r, const struct rung_branch *b)
{
	uint64_t n = 0, better = 0;
	for (size_t i = 0; i < r->n_scores; i++)
		if (r->score[i].explore == b->explore && r->score[i].rung == b->rung) {
			n++;
			better += r->score[i].score > rungs_quality(b);
		}
	return (double)better + 1 <= floor((double)n / r->eta);
}

static bool is_waiting(const struct rung_branch *b)
{
	return b->at && !b->is_running;
}

static struct rung_branch *next_branch(struct rungs *r)
{
	struct rung_branch *best = NULL;
	for (size_t i = 0; i < r->n; i++) {
		struct rung_branch *b = &r->v[i];
		if (is_waiting(b) && (!best || b->rung > best->rung) && (!b->rung || is_promoted(r, b)))
			best = b;
	}
	return best;
}

/* Called when nothing runs and no waiting branch can be promoted. Prunes the worst waiting branch of an explore. Continues the last
 * waiting branch instead, if no branch of the explore has ended a higher rung. */
static void settle(struct rungs *r, struct orr_jobs *w)
{
	struct rung_branch *worst = NULL, *best = NULL;
	for (size_t i = 0; i < r->n; i++) {
		struct rung_branch *b = &r->v[i];
		if (!is_waiting(b) || (worst && b->explore != worst->explore))
			continue;
		if (!worst || b->rung < worst->rung || (b->rung == worst->rung && rungs_quality(b) <= rungs_quality(worst)))
			worst = b;
		if (!best || b->rung > best->rung || (b->rung == best->rung && rungs_quality(b) > rungs_quality(best)))
			best = b;
	}
	if (!worst)
		return;
	bool has_finished = false; /* a branch has ended a higher rung than all waiting branches */
	for (size_t i = 0; i < r->n_scores; i++)
		has_finished |= r->score[i].explore == worst->explore && r->score[i].rung > best->rung;
	if (worst == best && !has_finished)
		rungs_start(r, w, best);
	else
		orr_prune_branch(w, worst->at);
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct rungs *r = self;
	struct rung_branch *b;
	rungs_start_others(r, w);
	while (r->base.running < r->workers && (b = next_branch(r)) && rungs_start(r, w, b))
		;
	if (!r->base.running && !next_branch(r))
		settle(r, w);
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = rungs_free, .arrive = rungs_arrive, .finish = rungs_finish, .evict = rungs_evict, .schedule = schedule
};

ORR_POLICY_JOBS(asha, "branches of a flow in rungs, promoted without waiting for the others", params, ops);
