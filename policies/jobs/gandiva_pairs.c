/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pairs of jobs, drawn at random like Python's random.sample() and kept while they are worth it. */
#include "gandiva.h"

/* Above this number of jobs, Python's sample() rejects repeated draws instead of keeping a pool. */
enum { MOST_IN_POOL = 21 };

struct gandiva_job *gandiva_find(struct gandiva *g, uint64_t number)
{
	size_t low = 0, high = g->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (g->job[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < g->n && g->job[low].number == number ? &g->job[low] : NULL;
}

static bool is_live(const struct gandiva *g, const struct gandiva_job *m)
{
	return !m->has_ended && (m->is_admitted || !g->is_published);
}

double gandiva_sum_on(struct orr_jobs *w, const struct gandiva_job *a, const struct gandiva_job *b, uint32_t type)
{
	double of_a = orr_job_rate_beside(w, a->job, &b->job, 1, type), of_b = orr_job_rate_beside(w, b->job, &a->job, 1, type);
	return of_a > 0 && of_b > 0 ? of_a + of_b : 0;
}

/* Over all types, the published code counts a pair as 0 if it cannot run on one of them. */
static bool is_worth_it(const struct gandiva *g, struct orr_jobs *w, const struct gandiva_job *a, const struct gandiva_job *b)
{
	double sum = 0;
	for (uint32_t t = 0; t < g->n_types; t++) {
		double on = gandiva_sum_on(w, a, b, t);
		if (g->is_over_all && !(on > 0))
			return false;
		sum = g->is_over_all ? sum + on : on > sum ? on : sum;
	}
	return sum >= g->pair_limit;
}

static void separate(struct gandiva_job *a, struct gandiva_job *b)
{
	a->partner = GANDIVA_NOBODY;
	if (b)
		b->partner = GANDIVA_NOBODY;
}

static void drop_pairs(struct gandiva *g, struct orr_jobs *w)
{
	for (size_t i = 0; i < g->n; i++) {
		struct gandiva_job *a = &g->job[i];
		if (a->partner == GANDIVA_NOBODY)
			continue;
		struct gandiva_job *b = gandiva_find(g, a->partner);
		if (!b || !is_live(g, a) || !is_live(g, b) || !is_worth_it(g, w, a, b))
			separate(a, b);
	}
}

static void draw_two(struct gavel_twister *r, uint32_t n, uint32_t out[2])
{
	out[0] = gavel_below(r, n);
	if (n <= MOST_IN_POOL) {
		out[1] = gavel_below(r, n - 1);
		if (out[1] == out[0])
			out[1] = n - 1; /* the last of the pool took the place of the first drawn */
		return;
	}
	do
		out[1] = gavel_below(r, n);
	while (out[1] == out[0]);
}

/* Pairs jobs that have no partner, at random. */
static void draw_pairs(struct gandiva *g, struct orr_jobs *w)
{
	size_t *open = orr_alloc(g->n + 1, sizeof *open);
	uint32_t n = 0;
	for (size_t i = 0; i < g->n; i++)
		if (is_live(g, &g->job[i]) && g->job[i].partner == GANDIVA_NOBODY)
			open[n++] = i;
	for (uint32_t tries = n; tries > 0 && n > 1; tries--) {
		uint32_t two[2];
		draw_two(&g->random, n, two);
		struct gandiva_job *a = &g->job[open[two[0]]], *b = &g->job[open[two[1]]];
		if (a->gpus != b->gpus || (!g->is_published && !is_worth_it(g, w, a, b)))
			continue;
		a->partner = b->number;
		b->partner = a->number;
		uint32_t kept = 0;
		for (uint32_t i = 0; i < n; i++)
			if (i != two[0] && i != two[1])
				open[kept++] = open[i];
		n = kept;
	}
	orr_free(open);
}

/* Returns the GPU types on which a job can run. */
static uint64_t types_of(const struct gandiva *g, const struct gandiva_job *m)
{
	uint64_t types = 0;
	for (uint32_t t = 0; t < g->n_types; t++)
		types |= (uint64_t)(m->alone[t] > 0) << t;
	return types;
}

/* Returns whether the jobs that run on these types only request more GPUs than there are of them. */
static bool exceed(const struct gandiva *g, struct orr_jobs *w, uint64_t types)
{
	uint64_t asked = 0, has = 0;
	for (size_t i = 0; i < g->n; i++)
		asked += is_live(g, &g->job[i]) && !(types_of(g, &g->job[i]) & ~types) ? g->job[i].gpus : 0;
	for (uint32_t t = 0; t < g->n_types; t++)
		has += types >> t & 1 ? orr_total_gpus_of(w, t) : 0;
	return asked > has;
}

/* Returns whether the jobs request more GPUs than the cluster has, or those that accept some types only more than these have. */
static bool is_overloaded(const struct gandiva *g, struct orr_jobs *w)
{
	uint64_t gpus = 0, seen[8]; /* more combinations of types count with the whole cluster alone */
	uint32_t n_seen = 0;
	for (size_t i = 0; i < g->n; i++)
		gpus += is_live(g, &g->job[i]) ? g->job[i].gpus : 0;
	if (g->is_published || gpus > orr_total_gpus(w))
		return gpus > orr_total_gpus(w);
	for (size_t i = 0; i < g->n && n_seen < 8; i++) {
		uint64_t types = types_of(g, &g->job[i]);
		bool is_new = g->job[i].gpus > 0 && types;
		for (uint32_t k = 0; k < n_seen && is_new; k++)
			is_new = seen[k] != types;
		if (is_new && exceed(g, w, types))
			return true;
		if (is_new)
			seen[n_seen++] = types;
	}
	return false;
}

size_t gandiva_pair(struct gandiva *g, struct orr_jobs *w)
{
	size_t jobs = 0, paired = 0;
	drop_pairs(g, w);
	g->is_packing = is_overloaded(g, w);
	if (g->is_packing)
		draw_pairs(g, w);
	for (size_t i = 0; i < g->n; i++) {
		if (!g->is_packing && !g->is_published) /* rules=gavel: pairs that are not used now still exist */
			separate(&g->job[i], NULL);
		jobs += is_live(g, &g->job[i]);
		paired += g->is_packing && is_live(g, &g->job[i]) && g->job[i].partner != GANDIVA_NOBODY;
	}
	return jobs - paired / 2;
}
