/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "parts.h"

void parts_free(struct parts *p)
{
	orr_free(p->held);
	orr_free(p->kept);
	orr_free(p->node);
	orr_free(p->empty);
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
			p->held[i] = (struct held){ 0 };
		p->n_held = slots;
	}
	if (live > p->cap) {
		p->cap = 2 * live;
		p->node = orr_realloc(p->node, p->cap, sizeof *p->node);
		p->empty = orr_realloc(p->empty, p->cap, sizeof *p->empty);
		p->stage = orr_realloc(p->stage, p->cap, sizeof *p->stage);
		p->sorted = orr_realloc(p->sorted, p->cap, sizeof *p->sorted);
		p->next = orr_realloc(p->next, p->cap, sizeof *p->next);
		p->live = orr_realloc(p->live, p->cap, sizeof *p->live);
	}
}

/* Finds which live instances hold a part, and the usable ones that hold nothing. */
static void examine(struct parts *p, struct orr_spot *w)
{
	uint32_t order = 0;
	p->listing++;
	p->n_empty = 0;
	for (orr_inst i = orr_inst_first(w); i; i = orr_inst_next(w, i), order++) {
		struct held *held = &p->held[orr_inst_slot(i)];
		bool is_usable = orr_inst_is_ready(w, i) && !orr_inst_is_noticed(w, i);
		if (held->inst == i)
			*held = (struct held){ .inst = i, .order = order, .is_usable = is_usable, .listing = p->listing };
		else if (is_usable)
			p->empty[p->n_empty++] = i;
	}
}

/* Appends a node; nodes that hold the same part stay in order of their creation. */
static void add_node(struct parts *p, const struct part *kept, uint32_t order)
{
	uint32_t at = p->n_nodes++;
	for (; at && p->node[at - 1].lo == kept->lo && p->node[at - 1].hi == kept->hi && p->node[at - 1].order > order; at--)
		p->node[at] = p->node[at - 1];
	p->node[at] = (struct part){ .lo = kept->lo, .hi = kept->hi, .inst = kept->inst, .order = order };
}

void parts_find_nodes(struct parts *p, struct orr_spot *w)
{
	p->n_nodes = p->n_live = 0;
	make_room(p, w);
	examine(p, w);
	for (uint32_t k = 0; k < p->n_kept; k++) {
		const struct part *kept = &p->kept[k];
		const struct held *held = &p->held[orr_inst_slot(kept->inst)];
		if (held->inst != kept->inst || held->listing != p->listing)
			continue;
		p->live[p->n_live++] = (struct interval){ kept->lo, kept->hi };
		if (held->is_usable)
			add_node(p, kept, held->order);
	}
	for (uint32_t i = 0; i < p->n_empty; i++)
		p->node[p->n_nodes++] = (struct part){ .inst = p->empty[i] };
}

bool parts_are_whole(const struct parts *p)
{
	double reach = 0;
	for (uint32_t i = 0; i < p->n_live && p->live[i].lo <= reach; i++)
		if (p->live[i].hi > reach)
			reach = p->live[i].hi;
	return reach >= 1;
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
	if (p->n_stages > p->cap_kept) {
		p->cap_kept = 2 * p->n_stages;
		p->kept = orr_realloc(p->kept, p->cap_kept, sizeof *p->kept);
	}
	for (uint32_t i = 0; i < p->n_held; i++)
		p->held[i].inst = 0;
	p->n_kept = p->n_stages;
	for (uint32_t s = 0; s < p->n_stages; s++) {
		p->kept[s] = p->stage[p->sorted[s].order];
		p->held[orr_inst_slot(p->kept[s].inst)].inst = p->kept[s].inst;
	}
}
