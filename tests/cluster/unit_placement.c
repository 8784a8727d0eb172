/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_placement.c - compares each rule with a plain search by its definition (docs/models/cluster.md, "Placement rules"), on random
 * states of clusters with nodes of different sizes in several racks; a node closes in the middle of each run
 */
#include "base/rng.h"
#include "cluster/placement.h"
#include "tests/tap.h"

#include <stdlib.h>

enum { MAX_NODES = 16, HELD = 12 };

/* Expected place: whole GPUs of each node, or a slot of one node. */
struct place {
	uint32_t gpus[MAX_NODES];
	uint32_t node, slot; /* node and slot of a shared request */
	bool is_found;
};

static const struct pool *p;
static uint32_t n_nodes;
static struct pool_request asked; /* CPUs and memory are multiples of its GPUs */

static uint32_t free_of(uint32_t n)
{
	return p->node[n].is_up && !p->node[n].is_closed ? p->node[n].free_gpus : 0;
}

/* Returns whether the node has k of the GPUs, with their part of CPUs and memory. */
static bool can_give(uint32_t n, uint32_t k)
{
	return free_of(n) >= k && p->node[n].cpu_free >= asked.cpu_milli / asked.gpus * k &&
	       p->node[n].mem_free >= asked.mem_mib / asked.gpus * k;
}

/* Returns the largest number of the job's GPUs that the node can give. */
static uint32_t room(uint32_t n)
{
	uint32_t k = 0;
	while (k < asked.gpus && can_give(n, k + 1))
		k++;
	return k;
}

static bool in_rack(uint32_t n, uint32_t rack)
{
	return rack == UINT32_MAX || p->cluster->node[n].rack == rack;
}

static uint32_t widest(void)
{
	uint32_t w = 0;
	for (uint32_t n = 0; n < n_nodes; n++)
		w = p->node[n].is_up && p->cluster->node[n].gpus > w ? p->cluster->node[n].gpus : w;
	return w;
}

/* Finds the fullest node with room that is not yet part of the placement; of equal nodes, the one with the lowest number. */
static bool fullest(struct place *x, uint32_t gpus, uint32_t rack, bool only_empty)
{
	uint32_t best = UINT32_MAX;
	for (uint32_t n = 0; n < n_nodes; n++)
		if (in_rack(n, rack) && can_give(n, gpus) && !x->gpus[n] && (!only_empty || free_of(n) == gpus) &&
			(best == UINT32_MAX || free_of(n) < free_of(best)))
			best = n;
	if (best == UINT32_MAX)
		return false;
	x->gpus[best] = gpus;
	return true;
}

static bool consolidated(struct place *x, uint32_t gpus, uint32_t rack)
{
	uint32_t width = widest();
	if (gpus <= width)
		return fullest(x, gpus, rack, false);
	for (uint32_t k = 0; k < gpus / width; k++)
		if (!fullest(x, width, rack, true))
			return false;
	return !(gpus % width) || fullest(x, gpus % width, rack, false);
}

/* Places one GPU at a time on the node with the most free GPUs; of equal nodes, the one with the lowest number. */
static bool spread(struct place *x, uint32_t gpus)
{
	for (; gpus; gpus--) {
		uint32_t best = UINT32_MAX;
		for (uint32_t n = 0; n < n_nodes; n++)
			if (room(n) > x->gpus[n] && (best == UINT32_MAX || free_of(n) - x->gpus[n] > free_of(best) - x->gpus[best]))
				best = n;
		if (best == UINT32_MAX)
			return false;
		x->gpus[best]++;
	}
	return true;
}

static uint32_t used_of(uint32_t n, uint32_t slot)
{
	return p->slot_milli[p->slot_base[n] + slot];
}

static double part(int64_t left, int64_t of)
{
	return of < 0 ? 0 : (double)left / (double)of;
}

/* Minimises the sum of the free shares of the node's GPUs, CPUs and memory. A shared GPU counts with its free part. */
static bool best_fit(struct place *x, uint32_t gpus)
{
	uint32_t best = UINT32_MAX;
	double least = 0;
	if (gpus > widest())
		return consolidated(x, gpus, UINT32_MAX);
	for (uint32_t n = 0; n < n_nodes; n++) {
		double left = 1000.0 * (free_of(n) - (double)gpus);
		for (uint32_t i = 0; i < p->cluster->node[n].gpus; i++)
			left += used_of(n, i) ? 1000 - used_of(n, i) : 0;
		left /= 1000.0 * p->cluster->node[n].gpus;
		left += part(p->node[n].cpu_free - asked.cpu_milli, p->cluster->node[n].cpu_milli) +
			part(p->node[n].mem_free - asked.mem_mib, p->cluster->node[n].mem_mib);
		if (can_give(n, gpus) && (best == UINT32_MAX || left < least - 1e-9)) {
			best = n;
			least = left;
		}
	}
	if (best != UINT32_MAX)
		x->gpus[best] = gpus;
	return best != UINT32_MAX;
}

static uint32_t rack_free(uint32_t rack)
{
	uint32_t sum = 0;
	for (uint32_t n = 0; n < n_nodes; n++)
		sum += p->cluster->node[n].rack == rack ? free_of(n) : 0;
	return sum;
}

/* Consolidates in the rack with the fewest free GPUs that can hold the job; else fills racks and nodes with the most free GPUs
 * first. */
static bool topology(struct place *x, uint32_t gpus)
{
	uint32_t racks = p->cluster->n_racks;
	for (uint32_t f = gpus; f <= 200; f++)
		for (uint32_t k = 0; k < racks; k++) {
			struct place y = { .is_found = false };
			if (rack_free(k) == f && consolidated(&y, gpus, k)) {
				*x = y;
				return true;
			}
		}
	if (gpus < 2)
		return false;
	bool used[MAX_NODES] = { false };
	uint32_t left = gpus;
	for (uint32_t round = 0; round < racks && left; round++) {
		uint32_t best = UINT32_MAX;
		for (uint32_t k = 0; k < racks; k++)
			if (!used[k] && (best == UINT32_MAX || rack_free(k) > rack_free(best)))
				best = k;
		used[best] = true;
		for (uint32_t f = 100; f && left; f--)
			for (uint32_t n = 0; n < n_nodes && left; n++)
				if (in_rack(n, best) && free_of(n) == f) {
					x->gpus[n] = room(n) < left ? room(n) : left;
					left -= x->gpus[n];
				}
	}
	return !left;
}

static bool counted(struct place *x, uint32_t gpus)
{
	for (uint32_t n = 0; n < n_nodes; n++) {
		x->gpus[n] = free_of(n) < gpus ? free_of(n) : gpus;
		gpus -= x->gpus[n];
	}
	return !gpus;
}

/* ---- parts of a GPU ---- */

/* Finds the shared GPU of a node with the smallest sufficient room. */
static bool tightest(uint32_t n, uint32_t milli, uint32_t *slot)
{
	uint32_t best = UINT32_MAX;
	for (uint32_t i = 0; p->node[n].is_up && !p->node[n].is_closed && i < p->cluster->node[n].gpus; i++)
		if (used_of(n, i) && used_of(n, i) + milli <= 1000 && p->node[n].cpu_free >= asked.cpu_milli &&
			p->node[n].mem_free >= asked.mem_mib && (best == UINT32_MAX || used_of(n, i) > used_of(n, best)))
			best = i;
	*slot = best;
	return best != UINT32_MAX;
}

/* Places on a shared GPU of the fullest node that has one with room, else on a new GPU of the fullest node. lowest: of the node with
 * the lowest number instead. */
static bool shared(struct place *x, uint32_t milli, bool lowest)
{
	uint32_t best = UINT32_MAX, slot;
	for (uint32_t n = 0; n < n_nodes; n++)
		if (tightest(n, milli, &slot) && (best == UINT32_MAX || (!lowest && p->node[n].free_gpus < p->node[best].free_gpus))) {
			best = n;
			x->slot = slot;
		}
	x->node = best;
	if (best != UINT32_MAX)
		return true;
	for (uint32_t n = 0; n < n_nodes; n++)
		if (can_give(n, 1) && (best == UINT32_MAX || (!lowest && free_of(n) < free_of(best))))
			best = n;
	x->node = best;
	x->slot = UINT32_MAX;
	return best != UINT32_MAX;
}

/* Opens a new GPU on the node with the most free GPUs, or shares a GPU if no GPU is free. */
static bool shared_spread(struct place *x, uint32_t milli)
{
	uint32_t best = UINT32_MAX;
	for (uint32_t n = 0; n < n_nodes; n++)
		if (can_give(n, 1) && (best == UINT32_MAX || free_of(n) > free_of(best)))
			best = n;
	x->node = best;
	x->slot = UINT32_MAX;
	return best != UINT32_MAX || shared(x, milli, false);
}

static bool expected(const char *rule, const struct pool_request *r, struct place *x)
{
	*x = (struct place){ .node = UINT32_MAX, .slot = UINT32_MAX };
	asked = *r;
	if (r->gpu_milli < 1000)
		return !strcmp(rule, "spread") ? shared_spread(x, r->gpu_milli) : shared(x, r->gpu_milli, !strcmp(rule, "count"));
	return !strcmp(rule, "count")      ? counted(x, r->gpus)
	       : !strcmp(rule, "spread")   ? spread(x, r->gpus)
	       : !strcmp(rule, "best-fit") ? best_fit(x, r->gpus)
	       : !strcmp(rule, "topology") ? topology(x, r->gpus)
					   : consolidated(x, r->gpus, UINT32_MAX);
}

static bool is_at(const struct pool_alloc *a, const struct place *x, const struct pool_request *r)
{
	uint32_t gpus[MAX_NODES] = { 0 };
	const struct pool_piece *y = pool_pieces(a);
	if (r->gpu_milli < 1000) /* a new shared GPU gets its slot when it is allocated */
		return a->n == 1 && y->node == x->node && y->milli == r->gpu_milli && (x->slot == UINT32_MAX || y->slot == x->slot);
	for (uint32_t i = 0; i < a->n; i++)
		gpus[y[i].node] += y[i].gpus;
	return !memcmp(gpus, x->gpus, sizeof gpus);
}

static void against_search(const char *rule, const char *spec, bool has_shares, bool has_more, int steps)
{
	struct orr_error err = { 0 };
	struct cluster *c = cluster_load(spec, &err);
	struct pool *pool = pool_new(c, placement_find(rule));
	struct pool_alloc held[HELD] = { { 0 } };
	struct rng r;
	uint32_t wrong = 0, found = 0, refused = 0;
	p = pool;
	n_nodes = c->n_nodes;
	rng_init(&r, 5, rule, strlen(spec));
	for (int i = 0; i < steps; i++) {
		struct pool_alloc *a = &held[rng_below(&r, HELD)];
		if (i == steps / 2)
			pool_node_close(pool, 1);
		if (a->n) {
			pool_give(pool, a);
			continue;
		}
		struct pool_request q = {
			.gpus = 1 + (uint32_t)rng_below(&r, rng_below(&r, 3) ? 4 : 14), .gpu_milli = 1000, .types = UINT64_MAX
		};
		if (has_shares && rng_below(&r, 2))
			q = (struct pool_request){ .gpus = 1, .gpu_milli = 100 * (1 + (uint32_t)rng_below(&r, 9)), .types = UINT64_MAX };
		if (has_more && rng_below(&r, 3)) {
			q.cpu_milli = q.gpus * 1000 * (int64_t)rng_below(&r, 6);
			q.mem_mib = q.gpus * 256 * (int64_t)rng_below(&r, 6);
		}
		struct place x;
		bool is_found = expected(rule, &q, &x), is_taken = pool_take(pool, &q, a);
		bool is_wrong = is_found != is_taken || (is_taken && !is_at(a, &x, &q));
		if (is_wrong && !wrong++)
			printf("# step %d: %u GPUs, %u milli: %s, expected %s\n", i, q.gpus, q.gpu_milli, is_taken ? "placed" : "refused",
				is_found ? "placed" : "refused");
		found += is_taken;
		refused += !is_taken;
	}
	ok(wrong == 0 && found > 100 && refused > 20, "%s on %s%s: %u placed and %u refused as the plain search does", rule, spec,
		has_shares ? " with parts of GPUs" : "", found, refused);
	for (int i = 0; i < HELD; i++)
		pool_give(pool, &held[i]);
	pool_free(pool);
	cluster_free(c);
}

int main(void)
{
	static const char *const rules[] = { "count", "consolidate", "spread", "best-fit", "topology" };
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		against_search(rules[i], "6x4:racks=3", false, false, 4000);
		against_search(rules[i], "4x4:racks=2,3x2:gpu:racks=1,2x8:gpu:racks=2", false, false, 4000);
		if (strcmp(rules[i], "best-fit")) /* best-fit also weights the free part of shared GPUs (tested in unit_pool.c) */
			against_search(rules[i], "5x3:racks=2", true, false, 4000);
		if (!strcmp(rules[i], "count")) /* this rule counts CPUs and memory of the whole cluster (tested in unit_pool.c) */
			continue;
		/* Shares of CPUs and memory are exact in binary, so ties are exact. */
		against_search(rules[i], "4x4:gpu:cpus=16:mem=4:racks=2,3x2:gpu:cpus=8:mem=2:racks=1", false, true, 8000);
		against_search(rules[i], "3x4:gpu:cpus=8,2x8:gpu:mem=4", false, true, 8000);
		if (strcmp(rules[i], "best-fit"))
			against_search(rules[i], "5x3:cpus=8:mem=2:racks=2", true, true, 8000);
	}
	return done();
}
