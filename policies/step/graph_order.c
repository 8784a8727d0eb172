/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order in which the ops of a graph are created: a depth-first walk in the order of the file, dependencies first. If the walk
 * reaches an op that is on the stack, the ops from that op to the top of the stack form a cycle.
 */
#include "document.h"
#include "graph_read.h"

#include <stdio.h>
#include <string.h>

enum { UNSEEN, OPEN, PLACED };

struct walk {
	const struct graph *g;
	uint32_t *stack, depth;
	uint32_t *next;  /* number of dependencies walked, by op */
	uint32_t *place; /* position of each op in the order */
	uint32_t *order; /* the inverse of place[] */
	uint32_t n;
	char *state;
};

/* Fails with "a waits for b, b waits for c, c waits for a", with at most ten ops. */
static int cycle(const struct walk *w, const struct place *ops, uint32_t back)
{
	enum { MOST = 10 };
	char text[400] = "";
	uint32_t first = w->depth - 1;
	while (w->stack[first] != back)
		first--;
	uint32_t length = w->depth - first;
	for (uint32_t i = 0; i < length && i < MOST; i++) {
		size_t at = strlen(text);
		const char *id = w->g->op[w->stack[first + i]].id, *other = w->g->op[w->stack[first + (i + 1) % length]].id;
		snprintf(text + at, sizeof text - at, "%s%.30s waits for %.30s", i ? ", " : "", id, other);
	}
	struct place op = place_item(ops, NULL, w->g->op[back].at), p = place_key(&op, "after");
	return place_fail(&p, "the graph has a cycle of length %u: %s%s", length, text, length > MOST ? ", .." : "");
}

static int walk_from(struct walk *w, const struct place *ops, uint32_t root)
{
	w->stack[0] = root;
	w->depth = 1;
	w->state[root] = OPEN;
	while (w->depth) {
		uint32_t i = w->stack[w->depth - 1];
		const struct graph_op *o = &w->g->op[i];
		if (w->next[i] == o->n_after) {
			w->state[i] = PLACED;
			w->place[i] = w->n;
			w->order[w->n++] = i;
			w->depth--;
			continue;
		}
		uint32_t dep = o->after[w->next[i]++];
		if (w->state[dep] == OPEN)
			return cycle(w, ops, dep);
		if (w->state[dep] == PLACED)
			continue;
		w->state[dep] = OPEN;
		w->stack[w->depth++] = dep;
	}
	return ORR_OK;
}

static void rearrange(struct graph *g, const struct walk *w, struct graph_op *out)
{
	for (uint32_t i = 0; i < g->n; i++) {
		struct graph_op *o = &out[i];
		*o = g->op[w->order[i]];
		for (uint32_t k = 0; k < o->n_after; k++)
			o->after[k] = w->place[o->after[k]];
		for (uint32_t k = 0; k < o->n_previous; k++)
			o->previous[k] = w->place[o->previous[k]];
	}
	orr_free(g->op);
	g->op = out;
}

int graph_order(struct graph *g, const struct place *ops)
{
	struct walk w = { .g = g };
	uint32_t *room = orr_alloc(g->n, 4 * sizeof *room);
	struct graph_op *out = orr_alloc(g->n, sizeof *out);
	int rc = ORR_OK;
	w.state = orr_alloc(g->n, 1);
	w.stack = room;
	w.next = room + g->n;
	w.place = w.next + g->n;
	w.order = w.place + g->n;
	for (uint32_t i = 0; !rc && i < g->n; i++)
		if (w.state[i] == UNSEEN)
			rc = walk_from(&w, ops, i);
	if (!rc)
		rearrange(g, &w, out);
	else
		orr_free(out);
	orr_free(room);
	orr_free(w.state);
	return rc;
}
