/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Successive halving (Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization", AISTATS
 * 2016, section 3) on the branches of a flow. A branch has several scored stages, the rungs. When all live branches of an
 * explore have ended a rung, the best 1/eta of them (rounded up) continue and the others are pruned. Ties are broken by the
 * order of branches in the flow.
 */
#include "rungs.h"

#include <math.h>
#include <stdlib.h>

static const struct orr_param params[] = { RUNG_PARAMS, ORR_PARAM_END };

struct halving {
	struct rungs base;
	struct rung_branch *sorted;
	size_t cap_sorted;
};

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	(void)err;
	return rungs_new(w, sizeof(struct halving), args);
}

static void destroy(void *self)
{
	orr_free(((struct halving *)self)->sorted);
	rungs_free(self);
}

static int best_first(const void *a, const void *b)
{
	const struct rung_branch *x = a, *y = b;
	double p = rungs_quality(x), q = rungs_quality(y);
	if (p < q || p > q)
		return p > q ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Returns the lowest rung among the live branches of an explore. */
static uint32_t lowest(const struct rungs *r, uint64_t explore)
{
	uint32_t rung = UINT32_MAX;
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].explore == explore && r->v[i].rung < rung)
			rung = r->v[i].rung;
	return rung;
}

/* Prunes the losers of an explore if all its branches have ended the same rung. Returns whether a branch was pruned. */
static bool halve(struct halving *h, struct orr_jobs *w, uint64_t explore)
{
	struct rungs *r = &h->base;
	size_t n = 0;
	for (size_t i = 0; i < r->n; i++) {
		if (r->v[i].explore != explore)
			continue;
		if (!r->v[i].at || r->v[i].is_running || !r->v[i].rung || (n && r->v[i].rung != h->sorted[0].rung))
			return false;
		ORR_GROW(h->sorted, n, h->cap_sorted);
		h->sorted[n++] = r->v[i];
	}
	uint64_t scored = 0; /* a rung is halved once, while all branches that have a score in it are live */
	for (size_t i = 0; i < r->n_scores; i++)
		scored += r->score[i].explore == explore && r->score[i].rung == h->sorted[0].rung;
	size_t kept = (size_t)ceil((double)n / r->eta);
	if (scored > n || kept >= n)
		return false;
	qsort(h->sorted, n, sizeof *h->sorted, best_first);
	for (size_t i = kept; i < n; i++)
		orr_prune_branch(w, h->sorted[i].at);
	return true;
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct halving *h = self;
	struct rungs *r = &h->base;
	bool has_pruned = false;
	for (size_t i = 0; i < r->n && !has_pruned; i++) {
		bool is_seen = false;
		for (size_t k = 0; k < i; k++)
			is_seen |= r->v[k].explore == r->v[i].explore;
		if (!is_seen)
			has_pruned = halve(h, w, r->v[i].explore);
	}
	if (has_pruned)
		return; /* finish() is called for the pruned stages, then schedule() again */
	rungs_start_others(r, w);
	for (size_t i = 0; i < r->n && r->base.running < r->workers; i++)
		if (r->v[i].at && !r->v[i].is_running && r->v[i].rung == lowest(r, r->v[i].explore))
			rungs_start(r, w, &r->v[i]);
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = rungs_arrive, .finish = rungs_finish, .evict = rungs_evict, .schedule = schedule
};

ORR_POLICY_JOBS(successive_halving, "branches of a flow in rungs; after each rung the best 1/eta continue", params, ops);
