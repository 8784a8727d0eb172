/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GPUs taken from jobs for somebody who goes before them. */
#include "jobs/world.h"

#include "base/mem.h"

#include <stdlib.h>

struct candidate {
	int64_t started;
	uint64_t number;
	uint32_t slot;
	bool is_spared;
};

/* The latest first: it loses least. */
static int by_start(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->started != y->started)
		return x->started < y->started ? 1 : -1;
	return x->number < y->number ? 1 : -1;
}

static struct candidate *candidates(const struct orr_jobs *w)
{
	struct candidate *c = mem_alloc((w->n_running + 1) * sizeof *c);
	for (uint32_t i = 0; i < w->n_running; i++) {
		const struct job *job = &w->job[w->running[i]];
		c[i] = (struct candidate){ job->last_start, job->number, w->running[i], false };
	}
	qsort(c, w->n_running, sizeof *c, by_start);
	return c;
}

static bool suffices(const struct orr_jobs *w, const struct pool_request *r, const struct candidate *c, uint32_t n,
	struct pool_alloc **given)
{
	size_t k = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!c[i].is_spared)
			given[k++] = &w->job[c[i].slot].alloc;
	return pool_fits_without(w->pool, r, given, k);
}

/* The shortest run of candidates that suffices, less those of them that are not needed; its length, 0: all are not enough. */
static uint32_t choose(const struct orr_jobs *w, const struct pool_request *r, struct candidate *c, struct pool_alloc **given)
{
	uint32_t n = 0;
	bool fits = false;
	while (n < w->n_running && !fits)
		fits = suffices(w, r, c, ++n, given);
	for (uint32_t i = 0; fits && i < n; i++) {
		c[i].is_spared = true;
		c[i].is_spared = suffices(w, r, c, n, given);
	}
	return fits ? n : 0;
}

bool jobs_reclaim(struct orr_jobs *w, const struct pool_request *r)
{
	struct candidate *c = candidates(w);
	struct pool_alloc **given = mem_alloc((w->n_running + 1) * sizeof *given);
	uint32_t n = choose(w, r, c, given);
	for (uint32_t i = 0; i < n; i++) {
		if (c[i].is_spared)
			continue;
		struct job *job = &w->job[c[i].slot];
		life_evict(w, job);
		tell_evicted(w, job);
	}
	mem_free(given);
	mem_free(c);
	return n > 0;
}
