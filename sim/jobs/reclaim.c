/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evicts jobs to free GPUs for another world with priority over them. */
#include "jobs/world.h"

#include "base/mem.h"
#include "jobs/group.h"
#include "jobs/life.h"

#include <stdlib.h>

struct candidate {
	int64_t started;
	uint64_t number;
	uint32_t slot;
	bool is_spared;
};

/* Orders by latest start first, because such jobs lose the least work. */
static int by_start(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->started != y->started)
		return x->started < y->started ? 1 : -1;
	return x->number < y->number ? 1 : -1;
}

static bool is_on_any(const struct pool_alloc *a, const struct bitset *nodes)
{
	const struct pool_piece *x = pool_pieces(a);
	for (uint32_t i = 0; nodes && i < a->n; i++)
		if (bitset_has(nodes, x[i].node))
			return true;
	return false;
}

/* Returns the running jobs on GPUs of a suitable type, except those on the nodes `but`. */
static struct candidate *candidates(const struct orr_jobs *w, uint64_t types, const struct bitset *but, uint32_t *n)
{
	struct candidate *c = mem_alloc((w->slots.n_running + 1) * sizeof *c);
	*n = 0;
	for (uint32_t i = 0; i < w->slots.n_running; i++) {
		const struct job *job = &w->slots.job[w->slots.running[i]];
		/* Of jobs that share GPUs, the one that holds them stands for all. */
		if (!job->alloc.is_beside && job->alloc.type < CLUSTER_MAX_TYPES && types >> job->alloc.type & 1 &&
			!is_on_any(&job->alloc, but))
			c[(*n)++] = (struct candidate){ job->last_start, job->number, w->slots.running[i], false };
	}
	qsort(c, *n, sizeof *c, by_start);
	return c;
}

static bool suffices(
	const struct orr_jobs *w, const struct pool_request *r, const struct candidate *c, uint32_t n, struct pool_alloc **given)
{
	size_t k = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!c[i].is_spared)
			given[k++] = &w->slots.job[c[i].slot].alloc;
	return pool_fits_without(w->pool, r, given, k);
}

/* Returns the least number of leading candidates that suffices; 0: all n do not suffice. Uses bisection, because evicting more jobs
 * never reduces room. */
static uint32_t shortest(
	const struct orr_jobs *w, const struct pool_request *r, const struct candidate *c, uint32_t n, struct pool_alloc **given)
{
	if (!n || !suffices(w, r, c, n, given))
		return 0;
	uint32_t short_of = 0, enough = n;
	while (enough - short_of > 1) {
		uint32_t middle = short_of + (enough - short_of) / 2;
		if (suffices(w, r, c, middle, given))
			enough = middle;
		else
			short_of = middle;
	}
	return enough;
}

uint32_t jobs_reclaim(struct orr_jobs *w, const struct pool_request *r, const struct bitset *but)
{
	uint32_t n, taken = 0;
	struct candidate *c = candidates(w, r->types, but, &n);
	struct pool_alloc **given = mem_alloc((n + 1) * sizeof *given);
	n = shortest(w, r, c, n, given);
	for (uint32_t i = n; i-- > 0;) {
		c[i].is_spared = true;
		c[i].is_spared = suffices(w, r, c, n, given);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (c[i].is_spared)
			continue;
		struct job *member[ORR_MOST_SHARING];
		for (uint32_t k = group_of(w, &w->slots.job[c[i].slot], member); k-- > 0; taken++) {
			life_evict(w, member[k], "reclaim");
			tell_evicted(w, member[k]);
		}
	}
	mem_free(given);
	mem_free(c);
	return taken;
}
