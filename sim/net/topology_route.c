/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Routes: inside nodes here, between NICs by kind (topology_kinds.c, topology_torus.c, topology_graph.c). */
#include "net/topology_shape.h"

#include "base/hash.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

static uint64_t flow_hash(const struct topo *t, uint32_t src, uint32_t dst, uint64_t key)
{
	uint64_t h = hash_mix(t->seed + HASH_GOLDEN);
	h = hash_mix(h ^ ((uint64_t)src << 32 | dst));
	return hash_mix(h ^ hash_mix(key + HASH_GOLDEN));
}

uint32_t topo_route(const struct topo *t, uint32_t src, uint32_t dst, uint64_t key, uint32_t *out)
{
	const struct topo_shape *s = t->shape;
	uint32_t n = 0;
	if (src == dst)
		return 0;
	if (s->whole) {
		n = topo_route(s->whole, s->endpoint_of[src], s->endpoint_of[dst], key, out);
		for (uint32_t i = 0; i < n; i++) {
			if (s->link_here[out[i]] == NO_LINK) /* the part has no GPU that uses this NIC */
				return topo_route(t, src, dst, key & ~TOPO_RAIL, out);
			out[i] = s->link_here[out[i]];
		}
		return n;
	}
	if (s->out[src] != NO_LINK)
		out[n++] = s->out[src];
	if (topo_node(t, src) != topo_node(t, dst)) {
		uint64_t h = t->routing == TOPO_ECMP ? flow_hash(t, src, dst, key) : 0;
		uint32_t from = topo_port(t, src, dst), to = topo_port(t, dst, src);
		if (key & TOPO_RAIL)
			from = topo_node(t, src) * s->nics + to % s->nics;
		n += shape_route(t, from, to, h, out + n);
	}
	if (s->in[dst] != NO_LINK)
		out[n++] = s->in[dst];
	return n;
}

double topo_bandwidth(const struct topo *t, uint32_t src, uint32_t dst)
{
	uint32_t hop[TOPO_MAX_HOPS], n = topo_route(t, src, dst, 0, hop);
	double least = INFINITY;
	for (uint32_t i = 0; i < n; i++)
		least = fmin(least, t->link[hop[i]].flow.capacity_Bps);
	return least;
}

double topo_latency(const struct topo *t, uint32_t src, uint32_t dst)
{
	uint32_t hop[TOPO_MAX_HOPS], n = topo_route(t, src, dst, 0, hop);
	double sum = 0;
	for (uint32_t i = 0; i < n; i++)
		sum += t->link[hop[i]].flow.latency_s;
	return sum;
}

/* Returns whether a route is the same in a and b. of: the link of b that corresponds to this link of a; UINT32_MAX: none is known
 * yet. */
static bool is_same_route(const struct topo *a, const struct topo *b, uint32_t src, uint32_t dst, uint32_t *of)
{
	uint32_t x[TOPO_MAX_HOPS], y[TOPO_MAX_HOPS], n = topo_route(a, src, dst, 0, x);
	if (topo_route(b, src, dst, 0, y) != n || topo_latency(a, src, dst) != topo_latency(b, src, dst))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (a->link[x[i]].flow.capacity_Bps != b->link[y[i]].flow.capacity_Bps || (of[x[i]] != UINT32_MAX && of[x[i]] != y[i]))
			return false;
		of[x[i]] = y[i];
	}
	return true;
}

bool topo_is_same_inside(const struct topo *a, const struct topo *b)
{
	uint32_t n = topo_endpoints(a), *of = mem_alloc((a->n_links + 1) * sizeof *of);
	bool is_same = n == topo_endpoints(b);
	memset(of, 0xff, (a->n_links + 1) * sizeof *of);
	for (uint32_t i = 0; is_same && i < n; i++) {
		uint32_t host = topo_host(a, topo_node(a, i));
		is_same = i == host || (is_same_route(a, b, i, host, of) && is_same_route(a, b, host, i, of));
		for (uint32_t j = i + 1; is_same && j < a->n_gpus && topo_node(a, j) == topo_node(a, i); j++)
			is_same = is_same_route(a, b, i, j, of) && is_same_route(a, b, j, i, of);
	}
	mem_free(of);
	return is_same;
}
