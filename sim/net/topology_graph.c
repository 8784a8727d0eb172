/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Explicit networks: shortest paths by number of links. Among links of equally short paths D-mod-k chooses as in a fat tree: by
 * the destination's number in mixed radix, one digit per choice. A fat tree written as JSON therefore has the same routes as
 * the built-in one.
 *
 * Distances to a destination take one byte per vertex. NICs with a single link share the row of the switch at its other
 * end.
 */
#include "net/topology_shape.h"

#include "base/mem.h"

#include <string.h>

enum { FAR = UINT8_MAX, MAX_TABLE = 512 << 20 };

struct topo_graph {
	uint32_t n;                    /* ports, then switches */
	uint32_t *first, *link, *head; /* out-links of each vertex, and their ends */
	uint32_t *anchor;              /* by port: the vertex whose row of the table the port uses */
	uint32_t *row;                 /* row by anchor */
	uint8_t *distance;             /* row x vertex */
	uint32_t n_ports;
	bool ports_forward;
};

void graph_free(struct topo_graph *g)
{
	if (!g)
		return;
	mem_free(g->first);
	mem_free(g->link);
	mem_free(g->head);
	mem_free(g->anchor);
	mem_free(g->row);
	mem_free(g->distance);
	mem_free(g);
}

static uint32_t vertex_of(const struct topo *t, uint32_t topo_vertex)
{
	return topo_vertex - shape_port(t, 0);
}

/* Indexes the links from number `first` on by their start vertex (reversed: by their end vertex). */
static void adjacency(
	const struct topo *t, uint32_t first, uint32_t n, bool is_reversed, uint32_t **start, uint32_t **link, uint32_t **head)
{
	uint32_t m = t->n_links - first;
	*start = mem_zalloc(n + 2, sizeof **start);
	*link = mem_alloc((m + 1) * sizeof **link);
	*head = mem_alloc((m + 1) * sizeof **head);
	for (uint32_t l = first; l < t->n_links; l++)
		(*start)[vertex_of(t, is_reversed ? t->link[l].to : t->link[l].from) + 2]++;
	for (uint32_t v = 2; v < n + 2; v++)
		(*start)[v] += (*start)[v - 1];
	for (uint32_t l = first; l < t->n_links; l++) {
		uint32_t at = (*start)[vertex_of(t, is_reversed ? t->link[l].to : t->link[l].from) + 1]++;
		(*link)[at] = l;
		(*head)[at] = vertex_of(t, is_reversed ? t->link[l].from : t->link[l].to);
	}
}

struct reversed {
	uint32_t *first, *link, *head;
	uint32_t *queue;
	uint32_t n_ports;
	bool ports_forward;
};

static void search(const struct reversed *r, uint32_t from, uint32_t n, uint8_t *distance)
{
	uint32_t begin = 0, end = 0;
	memset(distance, FAR, n);
	distance[from] = 0;
	r->queue[end++] = from;
	while (begin < end) {
		uint32_t v = r->queue[begin++];
		if (distance[v] + 1 >= FAR || (v < r->n_ports && v != from && !r->ports_forward))
			continue;
		for (uint32_t i = r->first[v]; i < r->first[v + 1]; i++)
			if (distance[r->head[i]] == FAR) {
				distance[r->head[i]] = (uint8_t)(distance[v] + 1);
				r->queue[end++] = r->head[i];
			}
	}
}

/* Assigns rows to the vertices that need one; returns their number. */
static uint32_t choose_anchors(struct topo_graph *g, const struct reversed *r)
{
	uint32_t rows = 0;
	memset(g->row, 0xff, g->n * sizeof *g->row);
	for (uint32_t p = 0; p < r->n_ports; p++) {
		bool is_single = r->first[p + 1] - r->first[p] == 1 && r->head[r->first[p]] >= r->n_ports;
		g->anchor[p] = is_single && !r->ports_forward ? r->head[r->first[p]] : p;
		if (g->row[g->anchor[p]] == UINT32_MAX)
			g->row[g->anchor[p]] = rows++;
	}
	return rows;
}

static uint32_t distance_to(const struct topo_graph *g, uint32_t v, uint32_t port)
{
	if (v == port)
		return 0;
	uint32_t a = g->anchor[port], d = g->distance[(size_t)g->row[a] * g->n + v];
	return d == FAR ? FAR : d + (a != port);
}

/* Ports of one anchor have the same distances, so only the first is checked. */
static int check_joined(const struct topo *t, const struct topo_graph *g, const char *path, const struct cluster *c, struct orr_error *err)
{
	const struct topo_shape *s = t->shape;
	for (uint32_t d = 0, seen = 0; d < s->n_ports && t->n_nodes > 1; d++) {
		if (g->row[g->anchor[d]] != seen)
			continue;
		seen++;
		for (uint32_t p = 0; p < s->n_ports; p++) {
			uint32_t steps = distance_to(g, p, d);
			const char *from = c->node[p / s->nics].name, *to = c->node[d / s->nics].name;
			if (steps == FAR)
				return orr_fail(err, ORR_EINPUT,
					"%s: $.links: no path from \"%.60s\" (NIC %u) to \"%.60s\" (NIC %u): expected a connected network "
					"(a node forwards messages only if \"forward\" is true)",
					path, from, p % s->nics, to, d % s->nics);
			if (steps > TOPO_MAX_HOPS - 2)
				return orr_fail(err, ORR_EINPUT,
					"%s: $.links: the path from \"%.60s\" to \"%.60s\" has %u links: expected at most %d", path, from,
					to, steps, TOPO_MAX_HOPS - 2);
		}
	}
	return ORR_OK;
}

int graph_new(struct topo *t, uint32_t first, bool ports_forward, const char *path, const struct cluster *c, struct orr_error *err)
{
	struct topo_graph *g = t->shape->graph = mem_zalloc(1, sizeof *g);
	struct reversed r = { .n_ports = t->shape->n_ports, .ports_forward = ports_forward };
	int rc = ORR_OK;
	g->n = t->shape->n_ports + t->shape->n_switches;
	g->n_ports = r.n_ports;
	g->ports_forward = ports_forward;
	adjacency(t, first, g->n, false, &g->first, &g->link, &g->head);
	adjacency(t, first, g->n, true, &r.first, &r.link, &r.head);
	g->anchor = mem_alloc(r.n_ports * sizeof *g->anchor);
	g->row = mem_alloc(g->n * sizeof *g->row);
	r.queue = mem_alloc(g->n * sizeof *r.queue);
	uint32_t rows = choose_anchors(g, &r);
	if ((uint64_t)rows * g->n > MAX_TABLE)
		rc = orr_fail(err, ORR_EINPUT,
			"%s: $.switches: %u vertices by %u destinations: expected at most %d entries of the table of paths", path, g->n,
			rows, MAX_TABLE);
	if (!rc) {
		g->distance = mem_alloc((size_t)rows * g->n);
		for (uint32_t v = 0; v < g->n; v++)
			if (g->row[v] != UINT32_MAX)
				search(&r, v, g->n, g->distance + (size_t)g->row[v] * g->n);
		rc = check_joined(t, g, path, c, err);
	}
	mem_free(r.first);
	mem_free(r.link);
	mem_free(r.head);
	mem_free(r.queue);
	return rc;
}

/* Returns whether the i-th link of the table is on a shortest path to port d, with `left` more links after it. */
static bool leads(const struct topo_graph *g, uint32_t i, uint32_t d, uint32_t left)
{
	uint32_t v = g->head[i];
	return distance_to(g, v, d) == left && (v == d || v >= g->n_ports || g->ports_forward);
}

uint32_t graph_route(const struct topo *t, uint32_t s, uint32_t d, uint64_t h, uint32_t *out)
{
	const struct topo_graph *g = t->shape->graph;
	uint64_t digits = t->routing == TOPO_ECMP ? h : d;
	uint32_t n = 0;
	for (uint32_t v = s; v != d;) {
		uint32_t left = distance_to(g, v, d) - 1, choices = 0, next = g->first[v];
		for (uint32_t i = g->first[v]; i < g->first[v + 1]; i++)
			choices += leads(g, i, d, left);
		uint64_t pick = digits % choices;
		digits /= choices;
		while (!leads(g, next, d, left) || pick--)
			next++;
		out[n++] = g->link[next];
		v = g->head[next];
	}
	return n;
}
