/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/shape.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

void ground_init(struct ground *g, const struct cluster *c, const struct topo *t)
{
	*g = (struct ground){ .cluster = c, .topo = t };
	g->first_gpu = mem_alloc((c->n_nodes + 1) * sizeof *g->first_gpu);
	g->first_gpu[0] = 0;
	for (uint32_t i = 0; i < c->n_nodes; i++)
		g->first_gpu[i + 1] = g->first_gpu[i] + c->node[i].gpus;
	g->is_private = mem_alloc(t->n_links + 1);
	topo_private_links(t, g->is_private);
}

void ground_free(struct ground *g)
{
	mem_free(g->first_gpu);
	mem_free(g->is_private);
	*g = (struct ground){ 0 };
}

/* ---- the order of workers ---- */

static int by_node(const void *a, const void *b)
{
	const struct place_node *x = a, *y = b;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int by_rack(const void *a, const void *b)
{
	const struct place_node *x = a, *y = b;
	return x->rack != y->rack ? (x->rack < y->rack ? -1 : 1) : by_node(a, b);
}

static int as_workers(const void *a, const void *b)
{
	const struct place_node *x = a, *y = b;
	if (x->in_rack != y->in_rack)
		return x->in_rack > y->in_rack ? -1 : 1;
	if (x->rack != y->rack)
		return x->rack < y->rack ? -1 : 1;
	if (x->gpus != y->gpus)
		return x->gpus > y->gpus ? -1 : 1;
	return by_node(a, b);
}

static void put_in_order(struct place *p, const struct cluster *c)
{
	uint32_t n = 0;
	qsort(p->node, p->n_nodes, sizeof *p->node, by_node);
	for (uint32_t i = 0; i < p->n_nodes; i++) {
		if (n && p->node[n - 1].node == p->node[i].node)
			p->node[n - 1].gpus += p->node[i].gpus;
		else
			p->node[n++] = p->node[i];
	}
	p->n_nodes = n;
	for (uint32_t i = 0; i < n; i++)
		p->node[i].rack = c->node[p->node[i].node].rack;
	qsort(p->node, n, sizeof *p->node, by_rack);
	for (uint32_t i = 0; i < n;) {
		uint32_t sum = 0, j = i;
		while (j < n && p->node[j].rack == p->node[i].rack)
			sum += p->node[j++].gpus;
		while (i < j)
			p->node[i++].in_rack = sum;
	}
	qsort(p->node, n, sizeof *p->node, as_workers);
}

/* ---- the key ---- */

static void put(struct sbuf *b, uint32_t v)
{
	sbuf_add(b, (const char *)&v, sizeof v);
}

/* Writes the GPU type, and the nodes and racks in the form that step policies see. The network's part of the key follows. */
static void put_shape(struct sbuf *b, const struct place *p)
{
	uint32_t racks = 0;
	put(b, p->type);
	put(b, p->n_nodes);
	for (uint32_t i = 0; i < p->n_nodes; i++) {
		racks += !i || p->node[i].rack != p->node[i - 1].rack;
		put(b, p->node[i].gpus);
		put(b, racks);
	}
}

static uint32_t *pick_gpus(const struct ground *g, const struct place *p, const uint8_t *is_taken, uint32_t *n)
{
	uint32_t sum = 0;
	for (uint32_t i = 0; i < p->n_nodes; i++)
		sum += p->node[i].gpus;
	uint32_t *gpu = mem_alloc((sum + 1) * sizeof *gpu);
	*n = 0;
	for (uint32_t i = 0; i < p->n_nodes; i++) {
		uint32_t node = p->node[i].node, wanted = p->node[i].gpus;
		for (uint32_t x = g->first_gpu[node]; x < g->first_gpu[node + 1] && wanted; x++) {
			if (is_taken && is_taken[x])
				continue;
			gpu[(*n)++] = x;
			wanted--;
		}
	}
	return gpu;
}

struct place *place_new(const struct ground *g, const struct place_node *node, uint32_t n, const uint8_t *is_taken, uint32_t *local)
{
	struct place *p = mem_zalloc(1, sizeof *p);
	p->n_nodes = n;
	p->node = mem_alloc((n + 1) * sizeof *p->node);
	memcpy(p->node, node, n * sizeof *node);
	p->type = g->cluster->node[node[0].node].type;
	put_in_order(p, g->cluster);
	struct sbuf b = { 0 };
	uint32_t n_gpus, *gpu = pick_gpus(g, p, is_taken, &n_gpus);
	put_shape(&b, p);
	topo_part_init(&p->part, g->topo, gpu, n_gpus, local, &b);
	bytes_hash_text(b.text, b.len, p->key);
	sbuf_free(&b);
	mem_free(gpu);
	return p;
}

void place_free(struct place *p)
{
	if (!p)
		return;
	topo_part_free(&p->part);
	mem_free(p->node);
	mem_free(p);
}

/* ---- the reference ---- */

/* Orders by width, the widest nodes first. */
static int by_width(const void *a, const void *b)
{
	const struct place_node *x = a, *y = b;
	return x->gpus != y->gpus ? (x->gpus > y->gpus ? -1 : 1) : by_node(a, b);
}

/* Returns the number of GPUs on the k widest nodes of the rack; list is in descending order of width. */
static uint32_t best_of_rack(const struct place_node *list, uint32_t n, uint32_t rack, uint32_t k)
{
	uint32_t sum = 0;
	for (uint32_t i = 0; i < n && k; i++)
		if (list[i].rack == rack && list[i].gpus) {
			sum += list[i].gpus;
			k--;
		}
	return sum;
}

/* Selects racks one by one, each time the rack whose k widest nodes have the most GPUs, capped at the request. Returns the number of
 * nodes in out[]; 0: too few. */
static uint32_t pick_nodes(struct place_node *list, uint32_t n, uint32_t racks, uint32_t gpus, uint32_t k, struct place_node *out)
{
	uint32_t chosen = 0;
	while (gpus && k) {
		uint32_t best = 0, best_sum = 0;
		for (uint32_t r = 0; r < racks && best_sum < gpus; r++) {
			uint32_t sum = best_of_rack(list, n, r, k);
			if (sum > best_sum) {
				best = r;
				best_sum = sum;
			}
		}
		if (!best_sum)
			break;
		for (uint32_t i = 0; i < n && gpus && k; i++) {
			if (list[i].rack != best || !list[i].gpus)
				continue;
			out[chosen] = list[i];
			out[chosen].gpus = list[i].gpus < gpus ? list[i].gpus : gpus;
			gpus -= out[chosen++].gpus;
			list[i].gpus = 0;
			k--;
		}
	}
	return gpus ? 0 : chosen;
}

struct place *place_reference(const struct ground *g, uint32_t gpus, uint32_t type)
{
	const struct cluster *c = g->cluster;
	struct place_node *list = mem_alloc((c->n_nodes + 1) * sizeof *list), *out = mem_alloc((c->n_nodes + 1) * sizeof *out);
	uint32_t n = 0, k = 0, left = gpus, chosen = 0;
	for (uint32_t i = 0; i < c->n_nodes; i++)
		if (c->node[i].type == type && c->node[i].gpus)
			list[n++] = (struct place_node){ .node = i, .gpus = c->node[i].gpus, .rack = c->node[i].rack };
	qsort(list, n, sizeof *list, by_width);
	while (left && k < n) {
		left -= list[k].gpus < left ? list[k].gpus : left;
		k++;
	}
	/* The k widest nodes of the cluster suffice without regard to racks. Within racks, more nodes may be needed. */
	for (uint32_t most = k; !left && gpus && !chosen && most <= n; most++) {
		struct place_node *copy = mem_alloc((n + 1) * sizeof *copy);
		memcpy(copy, list, n * sizeof *copy);
		chosen = pick_nodes(copy, n, c->n_racks, gpus, most, out);
		mem_free(copy);
	}
	struct place *p = NULL;
	if (chosen) {
		uint32_t *local = mem_alloc((g->topo->n_links + 1) * sizeof *local);
		memset(local, 0xff, g->topo->n_links * sizeof *local);
		p = place_new(g, out, chosen, NULL, local);
		mem_free(local);
	}
	mem_free(list);
	mem_free(out);
	return p;
}
