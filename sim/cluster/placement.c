/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/placement.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- count ---- */

/* Places on the shared GPU, on any node, with the smallest sufficient room; else on a new GPU. */
static bool share_anywhere(struct pool *p, const struct pool_request *r, uint32_t type)
{
	for (uint32_t n = bitset_next(&p->any_open[type], 0); n != BITSET_END; n = bitset_next(&p->any_open[type], n + 1)) {
		uint32_t slot = pool_best_slot(p, n, r->gpu_milli);
		if (slot < POOL_NO_SLOT) {
			pool_put_piece(p, n, 1, slot, r->gpu_milli);
			return true;
		}
	}
	uint32_t n = bitset_next(&p->any_free[type], 0);
	if (n == BITSET_END)
		return false;
	pool_put_piece(p, n, 1, POOL_WHOLE, r->gpu_milli);
	return true;
}

static bool place_count(struct pool *p, const struct pool_request *r, uint32_t type)
{
	if (r->gpu_milli < 1000)
		return share_anywhere(p, r, type);
	if (p->free[type] < r->gpus)
		return false;
	uint32_t left = r->gpus;
	for (uint32_t n = bitset_next(&p->any_free[type], 0); left; n = bitset_next(&p->any_free[type], n + 1)) {
		uint32_t take = p->node[n].free_gpus < left ? p->node[n].free_gpus : left;
		pool_put_piece(p, n, take, POOL_WHOLE, 0);
		left -= take;
	}
	return true;
}

static const struct placement placement_count = { "count", "a job fits if enough GPUs are free, regardless of their nodes", true,
	place_count, false };

/* ---- consolidate ---- */

static bool is_placed(const struct pool *p, uint32_t node)
{
	for (uint32_t i = 0; i < p->n_scratch; i++)
		if (p->scratch[i].node == node)
			return true;
	return false;
}

/* Returns the fullest node with room (ties: the lowest number) that the job does not use yet. rack UINT32_MAX: any. */
static bool fullest(struct pool *p, const struct pool_request *r, uint32_t type, uint32_t gpus, uint32_t rack)
{
	for (uint32_t f = gpus; f <= p->widest[type]; f++) {
		const struct bitset *b = pool_bucket(p, type, f);
		for (uint32_t n = bitset_next(b, 0); n != BITSET_END; n = bitset_next(b, n + 1)) {
			if (rack != UINT32_MAX && p->cluster->node[n].rack != rack)
				continue;
			if (!pool_node_has_room(p, n, r, gpus) || (p->n_scratch && is_placed(p, n)))
				continue;
			pool_put_piece(p, n, gpus, POOL_WHOLE, 0);
			return true;
		}
	}
	return false;
}

/* Places a part of a GPU on the fullest node that has a shared GPU with room, else on the fullest node. */
static bool share_consolidated(struct pool *p, const struct pool_request *r, uint32_t type, uint32_t rack)
{
	uint32_t best = UINT32_MAX, best_slot = POOL_NO_SLOT;
	const struct bitset *open = &p->any_open[type];
	for (uint32_t n = bitset_next(open, 0); n != BITSET_END; n = bitset_next(open, n + 1)) {
		if ((rack != UINT32_MAX && p->cluster->node[n].rack != rack) || !pool_node_has_room(p, n, r, 0) ||
			p->node[n].cpu_free < r->cpu_milli || p->node[n].mem_free < r->mem_mib)
			continue;
		uint32_t slot = pool_best_slot(p, n, r->gpu_milli);
		if (slot >= POOL_NO_SLOT)
			continue;
		if (best == UINT32_MAX || p->node[n].free_gpus < p->node[best].free_gpus) {
			best = n;
			best_slot = slot;
		}
	}
	if (best != UINT32_MAX) {
		pool_put_piece(p, best, 1, best_slot, r->gpu_milli);
		return true;
	}
	if (!fullest(p, r, type, 1, rack))
		return false;
	p->scratch[0].milli = r->gpu_milli;
	return true;
}

/* Consolidates in one rack, or anywhere with rack UINT32_MAX. */
static bool consolidate_in(struct pool *p, const struct pool_request *r, uint32_t type, uint32_t rack)
{
	uint32_t width = p->widest[type];
	if (r->gpu_milli < 1000)
		return share_consolidated(p, r, type, rack);
	if (p->free[type] < r->gpus)
		return false;
	if (r->gpus <= width)
		return fullest(p, r, type, r->gpus, rack);
	uint32_t whole = r->gpus / width, rest = r->gpus % width;
	const struct bitset *empty = pool_bucket(p, type, width);
	for (uint32_t n = bitset_next(empty, 0); whole; n = bitset_next(empty, n + 1)) {
		if (n == BITSET_END)
			return false;
		if ((rack != UINT32_MAX && p->cluster->node[n].rack != rack) || !pool_node_has_room(p, n, r, width))
			continue;
		pool_put_piece(p, n, width, POOL_WHOLE, 0);
		whole--;
	}
	return !rest || fullest(p, r, type, rest, rack);
}

bool place_consolidate(struct pool *p, const struct pool_request *r, uint32_t type)
{
	return consolidate_in(p, r, type, UINT32_MAX);
}

static const struct placement placement_consolidate = { "consolidate",
	"the fullest node with enough free GPUs; a larger job gets whole empty nodes (Helios)", false, place_consolidate, false };

/* ---- spread ---- */

/* Returns the number of the job's GPUs that the node can take, also limited by CPUs and memory. */
static uint32_t room(const struct pool *p, uint32_t n, const struct pool_request *r)
{
	uint32_t k = p->node[n].free_gpus < r->gpus ? p->node[n].free_gpus : r->gpus;
	while (k && !pool_node_has_room(p, n, r, k))
		k--;
	return k;
}

static int by_node(const void *a, const void *b)
{
	const struct pool_piece *x = a, *y = b;
	return (x->node > y->node) - (x->node < y->node);
}

/* Descends level by level. A node gives a GPU when no other node has more free GPUs. Each level visits nodes in order, so the lowest number
 * has precedence. */
static bool place_spread(struct pool *p, const struct pool_request *r, uint32_t type)
{
	if (r->gpu_milli < 1000) {
		for (uint32_t f = p->widest[type]; f; f--)
			for (uint32_t n = bitset_next(pool_bucket(p, type, f), 0); n != BITSET_END;
				n = bitset_next(pool_bucket(p, type, f), n + 1))
				if (pool_node_has_room(p, n, r, 1)) {
					pool_put_piece(p, n, 1, POOL_WHOLE, r->gpu_milli);
					return true;
				}
		return share_consolidated(p, r, type, UINT32_MAX);
	}
	if (p->free[type] < r->gpus)
		return false;
	uint32_t left = r->gpus;
	for (uint32_t level = p->widest[type]; level && left; level--) {
		/* Nodes with this many free GPUs join the list. Each node of the list gives one GPU. */
		const struct bitset *b = pool_bucket(p, type, level);
		uint32_t joined = p->n_scratch;
		for (uint32_t n = bitset_next(b, 0); n != BITSET_END; n = bitset_next(b, n + 1))
			pool_put_piece(p, n, 0, POOL_WHOLE, 0);
		if (joined && joined < p->n_scratch)
			qsort(p->scratch, p->n_scratch, sizeof *p->scratch, by_node);
		for (uint32_t i = 0; i < p->n_scratch && left; i++) {
			struct pool_piece *x = &p->scratch[i];
			if (x->gpus < room(p, x->node, r)) {
				x->gpus++;
				left--;
			}
		}
	}
	uint32_t kept = 0;
	for (uint32_t i = 0; i < p->n_scratch; i++)
		if (p->scratch[i].gpus)
			p->scratch[kept++] = p->scratch[i];
	p->n_scratch = kept;
	return !left;
}

static const struct placement placement_spread = { "spread", "one GPU at a time on the node with the most free GPUs", false, place_spread,
	false };

/* ---- best-fit ---- */

static double part(int64_t free, int64_t take, int64_t of)
{
	return free == INT64_MAX || of <= 0 ? 0 : (double)(free - take) / (double)of;
}

/* Returns the free share of the node after the placement, summed over GPUs, CPUs and memory: 0 full, 3 empty. */
static double left_over(const struct pool *p, uint32_t n, const struct pool_request *r)
{
	const struct cluster_node *c = &p->cluster->node[n];
	const struct pool_node *s = &p->node[n];
	double milli = 1000.0 * s->free_gpus - (double)r->gpus * r->gpu_milli;
	for (uint32_t i = 0; s->open && i < c->gpus; i++) {
		uint16_t used = p->slot_milli[p->slot_base[n] + i];
		milli += used ? 1000 - used : 0;
	}
	return milli / (1000.0 * c->gpus) + part(s->cpu_free, r->cpu_milli, c->cpu_milli) + part(s->mem_free, r->mem_mib, c->mem_mib);
}

static bool place_best_fit(struct pool *p, const struct pool_request *r, uint32_t type)
{
	bool is_shared = r->gpu_milli < 1000;
	if (r->gpus > p->widest[type])
		return place_consolidate(p, r, type);
	uint32_t best = UINT32_MAX, best_slot = POOL_WHOLE;
	double best_left = 0;
	for (uint32_t n = 0; n < p->cluster->n_nodes; n++) {
		if (p->cluster->node[n].type != type || !p->node[n].is_up || p->node[n].is_closed || p->node[n].cpu_free < r->cpu_milli ||
			p->node[n].mem_free < r->mem_mib)
			continue;
		uint32_t slot = POOL_WHOLE;
		if (is_shared && (slot = pool_best_slot(p, n, r->gpu_milli)) == POOL_NO_SLOT)
			continue;
		if (!is_shared && p->node[n].free_gpus < r->gpus)
			continue;
		double left = left_over(p, n, r);
		if (best == UINT32_MAX || left < best_left) {
			best = n;
			best_slot = slot;
			best_left = left;
		}
	}
	if (best == UINT32_MAX)
		return false;
	pool_put_piece(p, best, r->gpus, best_slot, is_shared ? r->gpu_milli : 0);
	return true;
}

static const struct placement placement_best_fit = { "best-fit", "the node with the least remaining GPUs, CPUs and memory", false,
	place_best_fit, false };

/* ---- topology ---- */

static uint32_t rack_free(const struct pool *p, uint32_t rack, uint32_t type)
{
	return p->rack_free[rack * p->cluster->n_types + type];
}

/* Consolidates the job in one rack: the rack with the fewest free GPUs that can hold it. */
static bool one_rack(struct pool *p, const struct pool_request *r, uint32_t type)
{
	uint32_t tried = 0; /* racks with at most this many free GPUs have been tried */
	for (;;) {
		uint32_t least = UINT32_MAX;
		for (uint32_t k = 0; k < p->cluster->n_racks; k++) {
			uint32_t f = rack_free(p, k, type);
			if (f > tried && f < least && (f >= r->gpus || r->gpu_milli < 1000))
				least = f;
		}
		if (least == UINT32_MAX)
			return false;
		for (uint32_t k = 0; k < p->cluster->n_racks; k++) {
			p->n_scratch = 0;
			if (rack_free(p, k, type) == least && consolidate_in(p, r, type, k))
				return true;
		}
		tried = least;
	}
}

/* Spans racks: the racks with the most free GPUs first, and in each the nodes with the most free GPUs. */
static bool many_racks(struct pool *p, const struct pool_request *r, uint32_t type)
{
	uint32_t left = r->gpus, racks = p->cluster->n_racks;
	bool *used = mem_zalloc(racks, sizeof *used);
	for (uint32_t round = 0; round < racks && left; round++) {
		uint32_t best = UINT32_MAX;
		for (uint32_t k = 0; k < racks; k++)
			if (!used[k] && (best == UINT32_MAX || rack_free(p, k, type) > rack_free(p, best, type)))
				best = k;
		used[best] = true;
		for (uint32_t f = p->widest[type]; f && left; f--) {
			const struct bitset *b = pool_bucket(p, type, f);
			for (uint32_t n = bitset_next(b, 0); n != BITSET_END && left; n = bitset_next(b, n + 1)) {
				uint32_t k = room(p, n, r) < left ? room(p, n, r) : left;
				if (p->cluster->node[n].rack != best || !k)
					continue;
				pool_put_piece(p, n, k, POOL_WHOLE, 0);
				left -= k;
			}
		}
	}
	mem_free(used);
	return !left;
}

static bool place_topology(struct pool *p, const struct pool_request *r, uint32_t type)
{
	if (r->gpu_milli < 1000 && share_consolidated(p, r, type, UINT32_MAX))
		return true;
	if (p->free[type] < r->gpus)
		return false;
	if (one_rack(p, r, type))
		return true;
	p->n_scratch = 0;
	return r->gpu_milli == 1000 && r->gpus > 1 && many_racks(p, r, type);
}

static const struct placement placement_topology = { "topology", "as few racks as possible, and within them as few nodes as possible",
	false, place_topology, false };

/* ---- all rules ---- */

const struct placement *const placements[] = { &placement_count, &placement_consolidate, &placement_spread, &placement_best_fit,
	&placement_topology, &placement_fgd, NULL };

const struct placement *placement_find(const char *name)
{
	for (const struct placement *const *p = placements; *p; p++)
		if (!strcmp((*p)->name, name))
			return *p;
	return NULL;
}
