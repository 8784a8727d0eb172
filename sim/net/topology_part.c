/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "net/topology_part.h"

#include "net/topology_shape.h"

#include "base/mem.h"

#include <string.h>

/* ---- links and signature ---- */

struct maker {
	struct topo_part *p;
	const struct topo *whole;
	uint32_t *local, cap_links;
	struct sbuf *signature;
};

static void put(struct maker *m, uint32_t v)
{
	sbuf_add(m->signature, (const char *)&v, sizeof v);
}

static void put_real(struct maker *m, double v)
{
	sbuf_add(m->signature, (const char *)&v, sizeof v);
}

/* Adds the local number of a link; a new link gets the next number. */
static void put_link(struct maker *m, uint32_t link)
{
	struct topo_part *p = m->p;
	if (link == NO_LINK) {
		put(m, NO_LINK);
		return;
	}
	if (m->local[link] == NO_LINK) {
		MEM_GROW(p->link, p->n_links, m->cap_links);
		m->local[link] = p->n_links;
		p->link[p->n_links++] = link;
	}
	put(m, m->local[link]);
}

static void put_route(struct maker *m, uint32_t from, uint32_t to)
{
	uint32_t hop[TOPO_MAX_HOPS], n = shape_route(m->whole, topo_port(m->whole, from, to), topo_port(m->whole, to, from), 0, hop);
	put(m, n);
	for (uint32_t i = 0; i < n; i++)
		put_link(m, hop[i]);
}

/* Returns the endpoints that represent all others of their node: one per NIC and, with several NICs, the host (it uses the NIC of
 * its peer). */
static uint32_t *stand_ins(const struct topo_part *p, const struct topo *t, uint32_t *n)
{
	uint32_t *out = mem_alloc((p->n_gpus + p->n_nodes + 1) * sizeof *out), last = NO_LINK;
	*n = 0;
	for (uint32_t g = 0; g < p->n_gpus; g++) {
		uint32_t port = topo_port(t, p->endpoint[g], p->endpoint[g]);
		if (port != last)
			out[(*n)++] = p->endpoint[g];
		last = port;
	}
	for (uint32_t i = 0; i < p->n_nodes && t->shape->nics > 1; i++)
		out[(*n)++] = p->endpoint[p->n_gpus + i];
	return out;
}

static void put_routes(struct maker *m)
{
	uint32_t n, *e = stand_ins(m->p, m->whole, &n);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++)
			if (topo_node(m->whole, e[i]) != topo_node(m->whole, e[j]))
				put_route(m, e[i], e[j]);
	mem_free(e);
}

/* With hashed routes any link may be used, so the part includes all links. */
static void put_hashed(struct maker *m)
{
	for (uint32_t i = 0; i < m->p->n_gpus; i++)
		put(m, m->p->endpoint[i]);
	for (uint32_t l = 0; l < m->whole->n_links && m->p->n_nodes > 1; l++)
		put_link(m, l);
}

void topo_part_init(struct topo_part *p, const struct topo *whole, const uint32_t *gpu, uint32_t n, uint32_t *local, struct sbuf *signature)
{
	const struct topo_shape *s = whole->shape;
	struct maker m = { .p = p, .whole = whole, .local = local, .signature = signature };
	*p = (struct topo_part){ .n_gpus = n, .endpoint = mem_alloc(2 * (n + 1) * sizeof *p->endpoint) };
	memcpy(p->endpoint, gpu, n * sizeof *gpu);
	put(&m, n);
	for (uint32_t i = 0; i < n; i++) {
		bool is_new = !i || s->gpu_node[gpu[i]] != s->gpu_node[gpu[i - 1]];
		if (is_new)
			p->endpoint[n + p->n_nodes++] = topo_host(whole, s->gpu_node[gpu[i]]);
		put(&m, is_new);
		put(&m, nic_of_gpu(whole, gpu[i]));
	}
	for (uint32_t e = 0; e < n + p->n_nodes; e++) {
		put_link(&m, s->out[p->endpoint[e]]);
		put_link(&m, s->in[p->endpoint[e]]);
	}
	if (whole->routing == TOPO_ECMP)
		put_hashed(&m);
	else
		put_routes(&m);
	for (uint32_t l = 0; l < p->n_links; l++) {
		put_real(&m, whole->link[p->link[l]].flow.capacity_Bps);
		put_real(&m, whole->link[p->link[l]].flow.latency_s);
		local[p->link[l]] = NO_LINK;
	}
}

void topo_part_free(struct topo_part *p)
{
	mem_free(p->endpoint);
	mem_free(p->link);
	*p = (struct topo_part){ 0 };
}

/* ---- as a topology ---- */

void topo_private_links(const struct topo *whole, uint8_t *is_private)
{
	const struct topo_shape *s = whole->shape;
	memset(is_private, 0, whole->n_links);
	for (uint32_t e = 0; e < topo_endpoints(whole); e++) {
		const uint32_t own[2] = { s->out[e], s->in[e] };
		for (int i = 0; i < 2; i++)
			if (own[i] != NO_LINK)
				if (is_private[own[i]] < 2)
					is_private[own[i]]++;
	}
	for (uint32_t l = 0; l < whole->n_links; l++)
		is_private[l] = is_private[l] == 1;
}

static uint32_t *copy_endpoints(const uint32_t *of, uint32_t n)
{
	uint32_t *v = mem_alloc((n + 1) * sizeof *v);
	memcpy(v, of, n * sizeof *v);
	return v;
}

static void link_ends(struct topo_shape *s, const struct topo *whole, uint32_t n)
{
	s->out = mem_alloc((n + 1) * sizeof *s->out);
	s->in = mem_alloc((n + 1) * sizeof *s->in);
	for (uint32_t e = 0; e < n; e++) {
		uint32_t out = whole->shape->out[s->endpoint_of[e]], in = whole->shape->in[s->endpoint_of[e]];
		s->out[e] = out == NO_LINK ? NO_LINK : s->link_here[out];
		s->in[e] = in == NO_LINK ? NO_LINK : s->link_here[in];
	}
}

struct topo *topo_part_view(const struct topo *whole, const struct topo_part *p, const uint32_t *link, uint32_t n_links, double stretch)
{
	struct topo *t = mem_zalloc(1, sizeof *t);
	struct topo_shape *s = t->shape = mem_zalloc(1, sizeof *s);
	uint8_t *is_private = mem_alloc(whole->n_links + 1);
	t->n_gpus = p->n_gpus;
	t->n_nodes = p->n_nodes;
	t->n_links = n_links;
	t->routing = whole->routing;
	t->seed = whole->seed;
	s->kind = whole->shape->kind;
	s->nics = whole->shape->nics;
	s->whole = whole;
	s->endpoint_of = copy_endpoints(p->endpoint, p->n_gpus + p->n_nodes);
	s->gpu_node = mem_alloc((p->n_gpus + 1) * sizeof *s->gpu_node);
	for (uint32_t g = 0, node = 0; g < p->n_gpus; g++) {
		node += g && topo_node(whole, p->endpoint[g]) != topo_node(whole, p->endpoint[g - 1]);
		s->gpu_node[g] = node;
	}
	s->link_here = mem_alloc((whole->n_links + 1) * sizeof *s->link_here);
	memset(s->link_here, 0xff, whole->n_links * sizeof *s->link_here);
	t->link = mem_alloc((n_links + 1) * sizeof *t->link);
	topo_private_links(whole, is_private);
	for (uint32_t i = 0; i < n_links; i++) {
		t->link[i] = whole->link[link[i]];
		t->link[i].flow.capacity_Bps /= is_private[link[i]] ? 1 : stretch;
		s->link_here[link[i]] = i;
	}
	link_ends(s, whole, p->n_gpus + p->n_nodes);
	mem_free(is_private);
	return t;
}
