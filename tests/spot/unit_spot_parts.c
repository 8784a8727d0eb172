/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of the model's state on nodes: the assignment of stages by hand, and against a restatement by repeated search. */
#include "policies/spot/parts.h"

#include "base/rng.h"
#include "tests/tap.h"

enum { MOST = 24 };

static struct part nodes[MOST], stages[MOST], sorted[MOST];
static uint32_t next[MOST];
static struct interval live[MOST];

static bool comes_before(const struct part *a, const struct part *b)
{
	if ((a->hi > 0) != (b->hi > 0))
		return a->hi > 0;
	return a->lo != b->lo ? a->lo < b->lo : a->hi != b->hi ? a->hi < b->hi : a->order < b->order;
}

static int compare(const void *x, const void *y)
{
	return comes_before(x, y) ? -1 : comes_before(y, x);
}

/* Nodes are numbered from 1; each holds [lo, hi), or nothing with hi 0. */
static struct parts parts_of(const double (*held)[2], uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		nodes[i] = (struct part){ .lo = held[i][0], .hi = held[i][1], .inst = i + 1, .order = i };
	qsort(nodes, n, sizeof *nodes, compare);
	memset(stages, 0x55, sizeof stages);
	return (struct parts){ .node = nodes, .stage = stages, .sorted = sorted, .next = next, .live = live, .n_nodes = n, .cap = MOST };
}

static void by_hand(const char *what, const double (*held)[2], uint32_t n, const uint32_t *depth, uint32_t pipelines, const orr_inst *want,
	double want_most, double want_copied)
{
	struct parts p = parts_of(held, n);
	double copied = NAN, most = parts_assign(&p, depth, pipelines, &copied);
	uint32_t wrong = 0, number = 0;
	for (uint32_t i = 0; i < pipelines; i++)
		for (uint32_t j = 0; j < depth[i]; j++, number++) {
			const struct part *s = &p.stage[number];
			wrong += s->inst != want[number] || s->lo != (double)j / depth[i] || s->hi != (j + 1.0) / depth[i];
			if (s->inst != want[number])
				printf("# stage %u is on node %d, expected node %d\n", number, (int)s->inst, (int)want[number]);
		}
	ok(!wrong && p.n_stages == number, "%s: the nodes of %u stages", what, number);
	near_to(most, want_most, 1e-15, "the most that a node copies");
	near_to(copied, want_copied, 1e-15, "the sum of all copies");
}

static void check_by_hand(void)
{
	static const double quarters[][2] = { { 0.75, 1 }, { 0.5, 0.75 }, { 0.25, 0.5 }, { 0, 0.25 } };
	by_hand("the same pipeline again", quarters, 4, (uint32_t[]){ 4 }, 1, (orr_inst[]){ 4, 3, 2, 1 }, 0, 0);
	/* In order of the layers, the nodes 4 and 3 get the halves. The second half is on nodes 1 and 2, so node 3 copies all of it. */
	by_hand("from four stages to two", quarters, 4, (uint32_t[]){ 2 }, 1, (orr_inst[]){ 4, 3 }, 0.5, 0.75);
	/* The halves, first of all of the first pipeline: the parts in order are 4, 3, 2, 1, the stages 0, 2, 1, 3. */
	by_hand("two pipelines of two stages", quarters, 4, (uint32_t[]){ 2, 2 }, 2, (orr_inst[]){ 4, 2, 3, 1 }, 0.25, 1);
	static const double mixed[][2] = { { 0, 0 }, { 0, 0.5 }, { 0, 1 }, { 0, 0 }, { 0.5, 1 } };
	/* Exact parts: node 2 the first half of pipeline 0, node 5 its second half, node 3 all of pipeline 1. Then empty nodes. */
	by_hand("exact parts, then nodes without a part", mixed, 5, (uint32_t[]){ 2, 1, 2 }, 3, (orr_inst[]){ 2, 5, 3, 1, 4 }, 0.5, 1);
	by_hand("no node holds a part", (const double[][2]){ { 0, 0 }, { 0, 0 } }, 2, (uint32_t[]){ 1, 1 }, 2, (orr_inst[]){ 1, 2 }, 1, 2);
	by_hand("more nodes than stages", mixed, 5, (uint32_t[]){ 1 }, 1, (orr_inst[]){ 3 }, 0, 0);
}

static void check_whole(void)
{
	static const struct {
		const char *what;
		struct interval live[4];
		uint32_t n;
		bool is_whole;
	} cases[] = {
		{ "no part", { { 0, 0 } }, 0, false },
		{ "two halves", { { 0, 0.5 }, { 0.5, 1 } }, 2, true },
		{ "the second half is missing", { { 0, 0.5 }, { 0, 0.5 } }, 2, false },
		{ "the first third is missing", { { 1 / 3.0, 2 / 3.0 }, { 2 / 3.0, 1 } }, 2, false },
		{ "parts of three pipelines", { { 0, 1 / 3.0 }, { 0, 0.5 }, { 1 / 3.0, 2 / 3.0 }, { 0.5, 1 } }, 4, true },
		{ "a gap between them", { { 0, 1 / 3.0 }, { 0.5, 1 }, { 2 / 3.0, 1 } }, 3, false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct interval parts[4];
		memcpy(parts, cases[i].live, sizeof parts);
		struct parts p = { .live = parts, .n_live = cases[i].n };
		ok(parts_are_whole(&p) == cases[i].is_whole, "%s: %s", cases[i].what, cases[i].is_whole ? "whole" : "not whole");
	}
}

/* ---- against a restatement ---- */

/* Returns the first part that is not done, or NULL. holds: only parts that are not empty; equal: only parts with this interval. */
static struct part *first_left(struct part *v, uint32_t n, bool in_order, bool holds, const struct part *equal)
{
	struct part *best = NULL;
	for (uint32_t i = 0; i < n; i++) {
		struct part *x = &v[i];
		if (x->is_done || (holds && !(x->hi > 0)) || (equal && (x->lo != equal->lo || x->hi != equal->hi)))
			continue;
		if (!best || (in_order ? comes_before(x, best) : x->order < best->order))
			best = x;
	}
	return best;
}

static void give(struct part *stage, struct part *node)
{
	stage->inst = node->inst;
	stage->is_done = node->is_done = true;
	stage->lacks = stage->hi - stage->lo - fmax(0, fmin(stage->hi, node->hi) - fmax(stage->lo, node->lo));
}

/* Assigns stages as parts.h specifies. The arrays keep their order. */
static void restated(struct part *node, uint32_t n, struct part *stage, uint32_t n_stages)
{
	struct part *s, *x;
	for (uint32_t i = 0; i < n_stages; i++) { /* an exact part */
		struct part *best = NULL;
		for (uint32_t k = 0; k < n_stages; k++)
			if (!stage[k].is_done && first_left(node, n, true, true, &stage[k]) && (!best || comes_before(&stage[k], best)))
				best = &stage[k];
		if (best)
			give(best, first_left(node, n, true, true, best));
	}
	while ((s = first_left(stage, n_stages, true, false, NULL)) && (x = first_left(node, n, true, true, NULL)))
		give(s, x);
	while ((s = first_left(stage, n_stages, false, false, NULL)) && (x = first_left(node, n, false, false, NULL)))
		give(s, x);
}

static void check_random(void)
{
	struct rng rng;
	rng_init(&rng, 3, "parts", 0);
	uint32_t wrong = 0, exact = 0;
	enum { CASES = 5000 };
	for (uint32_t c = 0; c < CASES; c++) {
		double held[MOST][2];
		uint32_t n = 1 + (uint32_t)rng_below(&rng, MOST), depth[MOST], pipelines = 0, n_stages = 0;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t d = 1 + (uint32_t)rng_below(&rng, 4), j = (uint32_t)rng_below(&rng, d);
			bool is_empty = rng_below(&rng, 4) == 0;
			held[i][0] = is_empty ? 0 : (double)j / d;
			held[i][1] = is_empty ? 0 : (j + 1.0) / d;
		}
		while (n_stages < n && (!n_stages || rng_below(&rng, 6))) {
			uint32_t d = 1 + (uint32_t)rng_below(&rng, n - n_stages < 4 ? n - n_stages : 4);
			depth[pipelines++] = d;
			n_stages += d;
		}
		struct part node[MOST], stage[MOST];
		struct parts p = parts_of((const double(*)[2])held, n);
		memcpy(node, nodes, sizeof node);
		for (uint32_t i = 0, s = 0; i < pipelines; i++)
			for (uint32_t j = 0; j < depth[i]; j++, s++)
				stage[s] = (struct part){ .lo = (double)j / depth[i], .hi = (j + 1.0) / depth[i], .order = s };
		restated(node, n, stage, n_stages);
		double copied, most = parts_assign(&p, depth, pipelines, &copied), all = 0, largest = 0;
		bool same = p.n_stages == n_stages;
		for (uint32_t s = 0; same && s < n_stages; s++) {
			same = p.stage[s].inst == stage[s].inst && p.stage[s].lacks == stage[s].lacks;
			all += stage[s].lacks;
			largest = fmax(largest, stage[s].lacks);
			exact += stage[s].lacks == 0;
		}
		wrong += !same || fabs(copied - all) > 1e-12 || most != largest;
	}
	ok(!wrong, "%u of %d assignments differ from the restatement (%u stages stay where they are)", wrong, CASES, exact);
}

int main(void)
{
	check_by_hand();
	check_whole();
	check_random();
	return done();
}
