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

static bool is_candidate(const struct job *job, uint64_t types, bool (*is_exempt)(const struct job *job, const void *ctx), const void *ctx)
{
	return !job->alloc.is_beside && job->alloc.type < CLUSTER_MAX_TYPES && types >> job->alloc.type & 1 && !is_exempt(job, ctx);
}

struct victim *victims_of(
	const struct orr_jobs *w, uint64_t types, bool (*is_exempt)(const struct job *job, const void *ctx), const void *ctx, uint32_t *n)
{
	struct victim *v = mem_alloc((w->slots.n_running + 1) * sizeof *v);
	*n = 0;
	for (uint32_t i = 0; i < w->slots.n_running; i++) {
		const struct job *job = &w->slots.job[w->slots.running[i]];
		if (is_candidate(job, types, is_exempt, ctx))
			v[(*n)++] = (struct victim){ job->last_start, job->number, w->slots.running[i], false };
	}
	victims_sort(v, *n);
	return v;
}

struct victim *victims_latest(struct orr_jobs *w, uint64_t types, bool (*is_exempt)(const struct job *job, const void *ctx),
	const void *ctx, uint32_t most, uint32_t *n)
{
	struct victim *v = mem_alloc((most + 1u) * sizeof *v);
	uint32_t at = UINT32_MAX, slot;
	*n = 0;
	while (*n < most && (slot = starts_previous(w, &at)) != NONE) {
		const struct job *job = &w->slots.job[slot];
		if (is_candidate(job, types, is_exempt, ctx))
			v[(*n)++] = (struct victim){ job->last_start, job->number, slot, false };
	}
	return v;
}

static bool is_never(const struct job *job, const void *ctx)
{
	(void)job;
	(void)ctx;
	return false;
}

const char *victims_check(struct orr_jobs *w)
{
	uint32_t n, n_latest;
	struct victim *v = victims_of(w, UINT64_MAX, is_never, NULL, &n);
	struct victim *latest = victims_latest(w, UINT64_MAX, is_never, NULL, w->slots.n_running, &n_latest);
	bool is_same = n == n_latest;
	for (uint32_t i = 0; is_same && i < n; i++)
		is_same = v[i].slot == latest[i].slot;
	mem_free(latest);
	mem_free(v);
	return is_same ? NULL : "the log of starts differs from the running jobs, latest start first";
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

/* Stopping more jobs never reduces room. So tries 1, 2, 4, .. victims more than do not suffice, then bisects: a few victims cost the same
 * however many jobs run. */
uint32_t victims_shortest(const struct orr_jobs *w, const struct pool_request *r, const struct victim *v, uint32_t n, uint32_t from)
{
	uint32_t short_of = from ? from - 1 : 0, enough;
	if (short_of >= n)
		return 0;
	for (uint32_t more = 1;; more *= 2) {
		enough = more < n - short_of ? short_of + more : n;
		if (suffices(w, r, v, enough))
			break;
		if (enough == n)
			return 0;
		short_of = enough;
	}
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
