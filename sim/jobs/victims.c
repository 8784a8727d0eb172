/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/victims.h"

#include "base/mem.h"
#include "jobs/world.h"

#include <stdlib.h>

/* Orders by latest start first, because such jobs lose the least work. */
static int by_start(const void *a, const void *b)
{
	const struct victim *x = a, *y = b;
	if (x->started != y->started)
		return x->started < y->started ? 1 : -1;
	return x->number < y->number ? 1 : -1;
}

void victims_sort(struct victim *v, uint32_t n)
{
	if (n)
		qsort(v, n, sizeof *v, by_start);
}

struct victim *victims_of(
	const struct orr_jobs *w, uint64_t types, bool (*is_exempt)(const struct job *job, const void *ctx), const void *ctx, uint32_t *n)
{
	struct victim *v = mem_alloc((w->slots.n_running + 1) * sizeof *v);
	*n = 0;
	for (uint32_t i = 0; i < w->slots.n_running; i++) {
		const struct job *job = &w->slots.job[w->slots.running[i]];
		if (!job->alloc.is_beside && job->alloc.type < CLUSTER_MAX_TYPES && types >> job->alloc.type & 1 && !is_exempt(job, ctx))
			v[(*n)++] = (struct victim){ job->last_start, job->number, w->slots.running[i], false };
	}
	victims_sort(v, *n);
	return v;
}

static bool suffices(const struct orr_jobs *w, const struct pool_request *r, const struct victim *v, uint32_t n)
{
	struct pool_alloc **given = mem_alloc((n + 1) * sizeof *given);
	size_t k = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!v[i].is_spared)
			given[k++] = &w->slots.job[v[i].slot].alloc;
	bool fits = pool_fits_without(w->pool, r, given, k);
	mem_free(given);
	return fits;
}

/* Uses bisection, because stopping more jobs never reduces room. */
uint32_t victims_shortest(const struct orr_jobs *w, const struct pool_request *r, const struct victim *v, uint32_t n, uint32_t from)
{
	if (!n || from > n || !suffices(w, r, v, n))
		return 0;
	uint32_t short_of = from ? from - 1 : 0, enough = n;
	while (enough - short_of > 1) {
		uint32_t middle = short_of + (enough - short_of) / 2;
		if (suffices(w, r, v, middle))
			enough = middle;
		else
			short_of = middle;
	}
	return enough;
}

void victims_spare(const struct orr_jobs *w, const struct pool_request *r, struct victim *v, uint32_t n, uint32_t i)
{
	v[i].is_spared = true;
	v[i].is_spared = suffices(w, r, v, n);
}
