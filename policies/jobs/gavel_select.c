/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the jobs of a round of gavel and places them. */
#include "gavel.h"

#include <stdlib.h>

void gavel_entry_add(struct gavel *g, struct gavel_entry e)
{
	ORR_GROW(g->entry, g->n_entries, g->cap_entries);
	g->entry[g->n_entries++] = e;
}

static int by_rank(const void *x, const void *y)
{
	const struct gavel_entry *a = x, *b = y;
	for (int i = 0; i < 3; i++)
		if (a->rank[i] != b->rank[i])
			return a->rank[i] > b->rank[i] ? -1 : 1;
	if (a->member != b->member)
		return a->member < b->member ? -1 : 1;
	return (a->type > b->type) - (a->type < b->type);
}

/* Compares in the order of the published simulator, which fills one GPU type after the other. */
static int by_type_and_rank(const void *x, const void *y)
{
	const struct gavel_entry *a = x, *b = y;
	return a->place != b->place ? (a->place < b->place ? -1 : 1) : by_rank(x, y);
}

void gavel_choose(struct gavel *g, struct orr_jobs *w)
{
	if (g->n_entries)
		qsort(g->entry, g->n_entries, sizeof *g->entry, g->is_published ? by_type_and_rank : by_rank);
	for (uint32_t t = 0; t < g->n_types; t++)
		g->free_milli[t] = 1000 * (int64_t)orr_total_gpus_of(w, t);
	for (size_t i = 0; i < g->n; i++)
		g->member[i].chosen = GAVEL_NOWHERE;
	for (size_t i = 0; i < g->n_entries; i++) {
		struct gavel_member *m = &g->member[g->entry[i].member];
		int64_t *left = &g->free_milli[g->entry[i].type];
		if (m->chosen != GAVEL_NOWHERE || *left < m->milli)
			continue;
		*left -= m->milli;
		m->chosen = g->entry[i].type;
	}
}

static bool start(struct gavel_member *m, struct orr_jobs *w, uint32_t type)
{
	if (!orr_try_start_on_type(w, m->job, type))
		return false;
	m->type = type;
	return true;
}

static int larger_first(const void *x, const void *y)
{
	const struct gavel_order *a = x, *b = y;
	if (a->milli != b->milli)
		return a->milli > b->milli ? -1 : 1;
	return (a->member > b->member) - (a->member < b->member);
}

bool gavel_start_type(struct gavel *g, struct orr_jobs *w, uint32_t type)
{
	if (g->cap_order < g->n) {
		g->order = orr_realloc(g->order, g->cap, sizeof *g->order);
		g->cap_order = g->cap;
	}
	size_t n = 0;
	for (size_t i = 0; i < g->n; i++)
		if (g->member[i].chosen == type && g->member[i].type == GAVEL_NOWHERE)
			g->order[n++] = (struct gavel_order){ g->member[i].milli, i };
	if (n)
		qsort(g->order, n, sizeof *g->order, larger_first);
	bool all = true;
	for (size_t i = 0; i < n; i++)
		all &= start(&g->member[g->order[i].member], w, type);
	return all;
}

static void stop(struct gavel_member *m, struct orr_jobs *w)
{
	orr_stop(w, m->job);
	m->type = GAVEL_NOWHERE;
}

void gavel_apply(struct gavel *g, struct orr_jobs *w)
{
	for (size_t i = 0; i < g->n; i++) {
		struct gavel_member *m = &g->member[i];
		if (m->milli && m->type != GAVEL_NOWHERE && m->type != m->chosen)
			stop(m, w);
	}
	bool all = true;
	for (uint32_t t = 0; t < g->n_types; t++) {
		if (gavel_start_type(g, w, t))
			continue;
		for (size_t i = 0; i < g->n; i++)
			if (g->member[i].milli && g->member[i].type == t)
				stop(&g->member[i], w);
		all &= gavel_start_type(g, w, t);
	}
	for (size_t i = 0; !all && i < g->n_entries; i++) {
		struct gavel_member *m = &g->member[g->entry[i].member];
		if (m->type == GAVEL_NOWHERE)
			start(m, w, g->entry[i].type);
	}
}
