/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tori and rings: nodes joined to their neighbours. Routes go dimension by dimension, in the shorter direction. */
#include "net/topology_shape.h"

#include "base/mem.h"
#include "base/num.h"

#include <string.h>

static int read_dims(struct topo_fabric *f, const char *text, const char *where, struct orr_error *err)
{
	for (const char *s = text;; s++) {
		size_t n = strcspn(s, "x");
		int64_t v;
		if (f->n_dims == TOPO_MAX_DIMS || !num_int(s, n, &v) || v < 1 || v > CLUSTER_MAX_NODES)
			return orr_fail(err, ORR_EINPUT, "%s: dims: expected 1 to %d sizes such as 4x4x4, found \"%.60s\"", where,
				TOPO_MAX_DIMS, text);
		f->dim[f->n_dims++] = (uint32_t)v;
		s += n;
		if (!*s)
			return ORR_OK;
	}
}

static int check_size(const struct topo_fabric *f, uint32_t nodes, uint64_t *routers, const char *where, struct orr_error *err)
{
	uint32_t longest = 2; /* number of links inside the nodes */
	*routers = 1;
	for (uint32_t i = 0; i < f->n_dims; i++) {
		*routers *= f->dim[i];
		longest += f->dim[i] / 2;
		if (*routers > CLUSTER_MAX_NODES)
			return orr_fail(err, ORR_EINPUT, "%s: dims: too many routers: expected at most %d", where, CLUSTER_MAX_NODES);
	}
	if (*routers * f->n_dims * 2 > TOPO_MAX_LINKS)
		return orr_fail(err, ORR_EINPUT, "%s: dims: too many links: expected at most %d", where, TOPO_MAX_LINKS);
	if (*routers < nodes)
		return orr_fail(err, ORR_EINPUT, "%s: dims: %llu routers: expected at least %u, the number of nodes", where,
			(unsigned long long)*routers, nodes);
	if (longest > TOPO_MAX_HOPS)
		return orr_fail(err, ORR_EINPUT, "%s: a route would have %u links: expected at most %d", where, longest, TOPO_MAX_HOPS);
	return ORR_OK;
}

/* Returns the neighbour of router r in dimension d, given the dimension's stride. */
static uint32_t neighbour(const struct topo_fabric *f, uint32_t r, uint32_t d, uint32_t stride, bool is_back)
{
	uint32_t at = r / stride % f->dim[d], to = is_back ? (at ? at - 1 : f->dim[d] - 1) : (at + 1) % f->dim[d];
	return r - at * stride + to * stride;
}

/* Returns the vertex of a router; routers without a node are switches. */
static uint32_t router_vertex(const struct topo *t, uint32_t r)
{
	return r < t->n_nodes ? shape_port(t, r) : shape_switch(t, r - t->n_nodes);
}

int shape_torus(struct topo *t, const struct cluster *c, const struct orr_args *a, const char *where, struct orr_error *err)
{
	struct topo_fabric *f = &t->shape->fabric;
	uint64_t routers;
	if (t->shape->kind == KIND_RING)
		f->dim[f->n_dims++] = c->n_nodes;
	else if (read_dims(f, orr_arg_text(a, "dims"), where, err))
		return ORR_EINPUT;
	if (check_size(f, c->n_nodes, &routers, where, err))
		return ORR_EINPUT;
	t->shape->n_switches = (uint32_t)routers - c->n_nodes;
	f->step = mem_alloc(routers * f->n_dims * 2 * sizeof *f->step);
	for (uint32_t r = 0; r < routers; r++)
		for (uint32_t d = 0, stride = 1; d < f->n_dims; stride *= f->dim[d++])
			for (uint32_t back = 0; back < 2; back++) {
				uint32_t to = neighbour(f, r, d, stride, back);
				/* Two routers in a dimension have one cable, in the forward direction. */
				bool has = f->dim[d] > 2 || (f->dim[d] == 2 && !back);
				f->step[(r * f->n_dims + d) * 2 + back] =
					!has ? NO_LINK
					     : shape_link(t, t->shape->bw, t->shape->lat, router_vertex(t, r), router_vertex(t, to),
						       "host%u-host%u", r, to);
			}
	return ORR_OK;
}

uint32_t shape_route_torus(const struct topo *t, uint32_t s, uint32_t d, uint32_t *out)
{
	const struct topo_fabric *f = &t->shape->fabric;
	uint32_t n = 0, at = s;
	for (uint32_t i = 0, stride = 1; i < f->n_dims; stride *= f->dim[i++]) {
		uint32_t size = f->dim[i], from = at / stride % size, to = d / stride % size;
		uint32_t ahead = (to + size - from) % size;
		bool is_back = 2 * ahead > size; /* ties go forward */
		for (uint32_t left = is_back ? size - ahead : ahead; left; left--) {
			out[n++] = f->step[(at * f->n_dims + i) * 2 + is_back];
			at = neighbour(f, at, i, stride, is_back);
		}
	}
	return n;
}
