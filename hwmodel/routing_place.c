/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where experts and their copies are, and the messages that follow. Balanced placement is that of DeepSeek's expert-parallelism load
 * balancer (deepseek-ai/EPLB): the expert with the most load per copy gets the next copy; then experts are packed in order of load, each
 * on the GPU with the smallest load that has a free slot. If the nodes divide the groups, groups are packed on nodes first.
 */
#include "hwmodel/routing_parts.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- packing ---- */

struct item {
	double load;
	uint32_t number;
};

static int by_load(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	if (x->load < y->load || x->load > y->load)
		return x->load < y->load ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Packs n items into equal packs: pack[number] is the pack of an item. */
static void pack_items(struct item *item, uint32_t n, uint32_t packs, uint32_t *pack)
{
	double *load = mem_zalloc(packs, sizeof *load);
	uint32_t *held = mem_zalloc(packs, sizeof *held), most = n / packs;
	qsort(item, n, sizeof *item, by_load);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t best = UINT32_MAX;
		for (uint32_t p = 0; p < packs; p++)
			if (held[p] < most && (best == UINT32_MAX || load[p] < load[best]))
				best = p;
		pack[item[i].number] = best;
		held[best]++;
		load[best] += item[i].load;
	}
	mem_free(load);
	mem_free(held);
}

/* Places n experts, expert[], on `slots` slots of `ranks` GPUs from first_rank on; slots are those from first_slot on. */
static void balance(
	struct routing *r, const uint32_t *expert, uint32_t n, uint32_t first_slot, uint32_t slots, uint32_t first_rank, uint32_t ranks)
{
	struct item *item = mem_alloc(slots * sizeof *item);
	uint32_t *pack = mem_alloc(slots * sizeof *pack), at = first_slot;
	for (uint32_t i = 0; i < n; i++) {
		r->copies[expert[i]] = 1;
		r->expert[at++] = expert[i];
	}
	while (at < first_slot + slots) {
		uint32_t hot = 0;
		for (uint32_t i = 1; i < n; i++)
			if (r->pairs[expert[i]] / r->copies[expert[i]] > r->pairs[expert[hot]] / r->copies[expert[hot]])
				hot = i;
		r->copies[expert[hot]]++;
		r->expert[at++] = expert[hot];
	}
	for (uint32_t i = 0; i < slots; i++) {
		uint32_t e = r->expert[first_slot + i];
		item[i] = (struct item){ r->kept[e] * r->pairs[e] / r->copies[e], i };
	}
	pack_items(item, slots, ranks, pack);
	for (uint32_t i = 0; i < slots; i++)
		r->rank[first_slot + i] = first_rank + pack[i];
	mem_free(item);
	mem_free(pack);
}

static void place_balanced(struct routing *r)
{
	uint32_t size = r->experts / r->groups, nodes = r->groups % r->nodes ? 1 : r->nodes, on_node = r->experts / nodes;
	struct item *group = mem_alloc(r->groups * sizeof *group);
	uint32_t *node = mem_zalloc(r->groups, sizeof *node), *expert = mem_alloc(r->experts * sizeof *expert);
	for (uint32_t g = 0; g < r->groups; g++) {
		group[g] = (struct item){ 0, g };
		for (uint32_t e = g * size; e < (g + 1) * size; e++)
			group[g].load += r->pairs[e];
	}
	if (nodes > 1)
		pack_items(group, r->groups, nodes, node);
	for (uint32_t m = 0; m < nodes; m++) {
		uint32_t n = 0;
		for (uint32_t e = 0; e < r->experts; e++)
			if (node[e / size] == m)
				expert[n++] = e;
		balance(r, expert, on_node, m * (r->slots / nodes), r->slots / nodes, m * (r->ranks / nodes), r->ranks / nodes);
	}
	mem_free(group);
	mem_free(node);
	mem_free(expert);
}

static void place_contiguous(struct routing *r)
{
	for (uint32_t e = 0; e < r->experts; e++) {
		r->copies[e] = 1;
		r->expert[e] = e;
		r->rank[e] = (uint32_t)((uint64_t)e * r->ranks / r->experts);
	}
}

/* ---- values by rank and node ---- */

/* Fills in the share of each expert that is on ranks first..first+n-1; pairs above the capacity are dropped. */
static void shares(const struct routing *r, uint32_t first, uint32_t n, double *here)
{
	memset(here, 0, r->experts * sizeof *here);
	for (uint32_t i = 0; i < r->slots; i++)
		if (r->rank[i] >= first && r->rank[i] - first < n)
			here[r->expert[i]] += r->kept[r->expert[i]] / r->copies[r->expert[i]];
}

void routing_place(struct routing *r, bool is_balanced)
{
	double *here = mem_alloc(r->experts * sizeof *here), most = 0, sum = 0;
	if (is_balanced)
		place_balanced(r);
	else
		place_contiguous(r);
	for (uint32_t i = 0; i < r->slots; i++) {
		uint32_t e = r->expert[i];
		r->rank_slots[r->rank[i]]++;
		r->rank_pairs[r->rank[i]] += r->kept[e] * r->pairs[e] / r->copies[e];
	}
	for (uint32_t i = 0; i < r->ranks; i++) {
		shares(r, i, 1, here);
		r->distinct_ranks += r->rank_visits[i] = routing_visits(r, here);
		most = fmax(most, r->rank_pairs[i]);
		sum += r->rank_pairs[i];
	}
	for (uint32_t n = 0; n < r->nodes; n++) {
		shares(r, n * r->per_node, r->per_node, here);
		r->distinct_nodes += r->node_visits[n] = routing_visits(r, here);
	}
	r->imbalance = most * r->ranks / sum;
	mem_free(here);
}

/* ---- messages ---- */

/* Adds the messages of node-forwarding: GPU j of a node sends each token at most once to GPU j of another node, which passes it on to the
 * GPUs beside it. */
static void forward(const struct routing *r, double bytes, double *out)
{
	uint32_t n = r->ranks, m = r->per_node;
	for (uint32_t from = 0; from < n; from++) {
		uint32_t node = from / m, j = from % m;
		for (uint32_t to = 0; to < r->nodes; to++)
			if (to != node)
				out[(size_t)from * n + to * m + j] += bytes * r->node_visits[to];
		for (uint32_t i = 0; i < m; i++)
			if (i != j)
				out[(size_t)from * n + node * m + i] += r->nodes * bytes * r->rank_visits[node * m + i];
	}
}

void routing_messages(const struct routing *r, enum orr_expert_mode mode, double bytes, bool is_combine, double *out)
{
	uint32_t n = r->ranks;
	memset(out, 0, (size_t)n * n * sizeof *out);
	if (mode == ORR_EXPERT_PER_NODE)
		forward(r, bytes, out);
	for (uint32_t from = 0; from < n && mode != ORR_EXPERT_PER_NODE; from++)
		for (uint32_t to = 0; to < n; to++)
			if (to != from)
				out[(size_t)from * n + to] = bytes * (mode == ORR_EXPERT_PER_RANK ? r->rank_visits[to] : r->rank_pairs[to]);
	for (uint32_t a = 0; a < n && is_combine; a++)
		for (uint32_t b = 0; b < a; b++) {
			double there = out[(size_t)a * n + b];
			out[(size_t)a * n + b] = out[(size_t)b * n + a];
			out[(size_t)b * n + a] = there;
		}
}
