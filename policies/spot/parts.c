/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "parts.h"

#include <stdlib.h>

void parts_free(struct parts *p)
{
	orr_free(p->held);
	orr_free(p->node);
	orr_free(p->stage);
	orr_free(p->sorted);
	orr_free(p->next);
	orr_free(p->live);
}

static void make_room(struct parts *p, struct orr_spot *w)
{
	uint32_t slots = orr_inst_slots(w), live = orr_inst_live(w);
	if (slots > p->n_held) {
		p->held = orr_realloc(p->held, slots, sizeof *p->held);
		for (uint32_t i = p->n_held; i < slots; i++)
			p->held[i] = (struct part){ 0 };
		p->n_held = slots;
	}
	if (live > p->cap) {
		p->cap = 2 * live;
		p->node = orr_realloc(p->node, p->cap, sizeof *p->node);
		p->stage = orr_realloc(p->stage, p->cap, sizeof *p->stage);
		p->sorted = orr_realloc(p->sorted, p->cap, sizeof *p->sorted);
		p->next = orr_realloc(p->next, p->cap, sizeof *p->next);
		p->live = orr_realloc(p->live, p->cap, sizeof *p->live);
	}
}

void parts_find_nodes(struct parts *p, struct orr_spot *w)
{
	p->n_nodes = p->n_live = 0;
	make_room(p, w);
	for (orr_inst i = orr_inst_first(w); i; i = orr_inst_next(w, i)) {
		const struct part *held = &p->held[orr_inst_slot(i)];
		bool holds = held->inst == i;
		if (holds)
			p->live[p->n_live++] = (struct interval){ held->lo, held->hi };
		if (!orr_inst_is_ready(w, i) || orr_inst_is_noticed(w, i))
			continue;
		struct part *node = &p->node[p->n_nodes];
		*node = holds ? *held : (struct part){ .inst = i };
		node->order = p->n_nodes++;
		node->is_done = false;
	}
}

static int compare(const void *x, const void *y)
{
	const struct part *a = x, *b = y;
	bool none_a = !(a->hi > 0), none_b = !(b->hi > 0);
	if (none_a != none_b)
		return none_a - none_b;
	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	if (a->hi != b->hi)
		return a->hi < b->hi ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

bool parts_are_whole(const struct parts *p)
{
	/* Covers the layers from the first on; each step extends to the end of the part that reaches furthest. */
	for (double at = 0; at < 1;) {
		double reach = at;
		for (uint32_t i = 0; i < p->n_live; i++)
			if (p->live[i].lo <= at && p->live[i].hi > reach)
				reach = p->live[i].hi;
		if (reach == at)
			return false;
		at = reach;
	}
	return true;
}

static void match_equal(struct parts *p)
{
	uint32_t n = 0;
	for (uint32_t s = 0; s < p->n_stages; s++) {
		struct part *stage = &p->sorted[s];
		while (n < p->n_nodes && p->node[n].hi > 0 &&
			(p->node[n].lo < stage->lo || (p->node[n].lo == stage->lo && p->node[n].hi < stage->hi)))
			n++;
		if (n == p->n_nodes || p->node[n].lo != stage->lo || p->node[n].hi != stage->hi)
			continue;
		stage->inst = p->node[n].inst;
		stage->is_done = p->node[n].is_done = true;
		n++;
	}
}

static double lacks(const struct part *stage, const struct part *node)
{
	double lo = stage->lo > node->lo ? stage->lo : node->lo, hi = stage->hi < node->hi ? stage->hi : node->hi;
	return stage->hi - stage->lo - (hi > lo ? hi - lo : 0);
}

/*
 * Gives the stage to the first node from n on that has no stage (with `holds`: no stage but a part). Returns the next node to
 * examine.
 */
static uint32_t hand_out(struct parts *p, struct part *stage, uint32_t n, bool holds)
{
	while (n < p->n_nodes && p->node[n].is_done)
		n++;
	if (stage->is_done || n == p->n_nodes || (holds && !(p->node[n].hi > 0)))
		return n;
	stage->lacks = lacks(stage, &p->node[n]);
	stage->inst = p->node[n].inst;
	stage->is_done = true;
	return n + 1;
}

/* Makes all stages, and sorts them by merging the pipelines. */
static void make_stages(struct parts *p, const uint32_t *depth, uint32_t pipelines)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < pipelines; i++) {
		p->next[i] = n;
		for (uint32_t j = 0; j < depth[i]; j++, n++)
			p->stage[n] = (struct part){ .lo = (double)j / depth[i], .hi = (double)(j + 1) / depth[i], .order = n };
	}
	p->n_stages = n;
	for (uint32_t s = 0; s < n; s++) {
		const struct part *least = &p->stage[0];
		uint32_t from = pipelines, end = 0;
		for (uint32_t i = 0; i < pipelines; i++) {
			const struct part *x = &p->stage[p->next[i]];
			end += depth[i];
			if (p->next[i] < end && (from == pipelines || x->lo < least->lo || (x->lo == least->lo && x->hi < least->hi))) {
				least = x;
				from = i;
			}
		}
		p->sorted[s] = *least;
		p->next[from]++;
	}
}

double parts_assign(struct parts *p, const uint32_t *depth, uint32_t pipelines, double *copied)
{
	make_stages(p, depth, pipelines);
	qsort(p->node, p->n_nodes, sizeof *p->node, compare);
	match_equal(p);
	uint32_t n = 0;
	for (uint32_t s = 0; s < p->n_stages; s++)
		n = hand_out(p, &p->sorted[s], n, true);
	for (uint32_t s = 0; s < p->n_stages; s++)
		p->stage[p->sorted[s].order] = p->sorted[s];
	for (uint32_t s = 0; s < p->n_stages; s++)
		n = hand_out(p, &p->stage[s], n, false);
	double most = 0;
	*copied = 0;
	for (uint32_t s = 0; s < p->n_stages; s++) {
		*copied += p->stage[s].lacks;
		most = p->stage[s].lacks > most ? p->stage[s].lacks : most;
	}
	return most;
}

void parts_settle(struct parts *p)
{
	for (uint32_t i = 0; i < p->n_held; i++)
		p->held[i].inst = 0;
	for (uint32_t s = 0; s < p->n_stages; s++)
		p->held[orr_inst_slot(p->stage[s].inst)] = p->stage[s];
}
