/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/starts.h"

#include "base/mem.h"
#include "jobs/world.h"

#include <stdlib.h>

enum { SHORT = 64 };

static inline bool is_valid(const struct orr_jobs *w, uint32_t i)
{
	const struct job *job = &w->slots.job[w->starts.slot[i]];
	return job->running_at != NONE && job->started_at == i;
}

/* Removes the stale entries from the place `from` on. */
static void compact(struct orr_jobs *w, uint32_t from)
{
	struct starts *x = &w->starts;
	uint32_t kept = from, sorted = from;
	for (uint32_t i = from; i < x->n; i++) {
		if (!is_valid(w, i))
			continue;
		w->slots.job[x->slot[i]].started_at = kept;
		x->slot[kept++] = x->slot[i];
		sorted += i < x->n_sorted;
	}
	x->n = kept;
	x->n_sorted = from < x->n_sorted ? sorted : x->n_sorted;
}

void starts_add(struct orr_jobs *w, struct job *job)
{
	struct starts *x = &w->starts;
	if (x->n > SHORT && x->n / 2 > w->slots.n_running)
		compact(w, 0);
	MEM_GROW(x->slot, x->n, x->cap);
	job->started_at = x->n;
	x->slot[x->n++] = slot_of(w, job);
}

/* ---- reading ---- */

struct start {
	int64_t time;
	uint64_t number;
	uint32_t slot;
};

static int by_start(const void *a, const void *b)
{
	const struct start *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Sorts the entries from n_sorted on. Those of the present instant remain outside n_sorted, because other jobs may start now. */
static void sort(struct orr_jobs *w)
{
	struct starts *x = &w->starts;
	uint32_t from = x->n_sorted;
	compact(w, from);
	uint32_t n = x->n - from;
	if (!n)
		return;
	struct start *v = mem_alloc(n * sizeof *v);
	bool is_sorted = true;
	for (uint32_t i = 0; i < n; i++) {
		const struct job *job = &w->slots.job[x->slot[from + i]];
		v[i] = (struct start){ job->last_start, job->number, x->slot[from + i] };
		is_sorted &= !i || by_start(&v[i - 1], &v[i]) < 0;
	}
	if (!is_sorted)
		qsort(v, n, sizeof *v, by_start);
	for (uint32_t i = 0; i < n; i++) {
		x->slot[from + i] = v[i].slot;
		w->slots.job[v[i].slot].started_at = from + i;
		x->n_sorted += v[i].time < eng_now(w->engine);
	}
	mem_free(v);
}

uint32_t starts_previous(struct orr_jobs *w, uint32_t *at)
{
	struct starts *x = &w->starts;
	if (*at == UINT32_MAX) {
		while (x->n && !is_valid(w, x->n - 1))
			x->n--;
		x->n_sorted = x->n_sorted < x->n ? x->n_sorted : x->n;
		sort(w);
		*at = x->n;
	}
	while (*at > 0)
		if (is_valid(w, --*at))
			return x->slot[*at];
	return NONE;
}

void starts_free(struct starts *x)
{
	mem_free(x->slot);
}
