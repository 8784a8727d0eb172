/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * topology_shape.h - internal state of a topology: private to topology*.c
 *
 * Vertices: GPUs and hosts (numbered as endpoints), then the hub of each node (joins its GPUs, host and NICs), then the NICs
 * ("ports", numbered node by node), then switches. A GPU or host without a link (NO_LINK) is at the hub. Invariant: links are
 * created once, in an order that depends only on the input.
 */
#ifndef ORR_NET_TOPOLOGY_SHAPE_H
#define ORR_NET_TOPOLOGY_SHAPE_H

#include "net/topology.h"

#include "base/param.h"
#include "base/sbuf.h"

#define NO_LINK UINT32_MAX
enum { TOPO_MAX_LINKS = 1 << 22, TOPO_MAX_DIMS = 8 };

enum topo_kind { KIND_STAR, KIND_RACKS, KIND_LEAF_SPINE, KIND_FAT_TREE, KIND_TORUS, KIND_FULL_MESH, KIND_RING, KIND_JSON };

/* The network proper; each kind uses its own fields. */
struct topo_fabric {
	uint32_t first; /* number of the first link of the fabric */
	uint32_t leaves, spines, per_leaf;
	bool has_rails;  /* leaf-spine: NIC i of every node is at leaf i */
	uint32_t half;   /* fat tree: k / 2 */
	uint32_t second; /* fat tree: first link between aggregation and core */
	uint32_t *rack;  /* racks: rack of each port */
	uint32_t n_dims, dim[TOPO_MAX_DIMS];
	uint32_t *step; /* torus: link of (router, dimension, direction) */
};

struct topo_graph; /* topology_graph.c */

struct topo_shape {
	enum topo_kind kind;
	uint32_t nics, n_ports;
	uint32_t *gpu_node;  /* node of each GPU */
	uint32_t *first_gpu; /* first GPU of each node; last entry: n_gpus */
	uint32_t *out, *in;  /* links of each endpoint, or NO_LINK */
	uint32_t *up, *down; /* links of each port, or NO_LINK */
	uint32_t n_switches;
	double bw, lat, switch_lat;
	struct topo_fabric fabric;
	struct topo_graph *graph;
	char *names;      /* all names of links, each with its NUL */
	size_t *name_at;  /* while building */
	struct sbuf text; /* while building */
	uint32_t cap_links;
	/* A part (topology_part.h) uses the routes of the whole. */
	const struct topo *whole; /* the whole topology; NULL: this is no part */
	uint32_t *endpoint_of;    /* endpoint of the whole, by endpoint of the part */
	uint32_t *link_here;      /* link of the part, by link of the whole, or NO_LINK */
};

static inline uint32_t shape_hub(const struct topo *t, uint32_t node)
{
	return t->n_gpus + t->n_nodes + node;
}
static inline uint32_t shape_port(const struct topo *t, uint32_t port)
{
	return t->n_gpus + 2 * t->n_nodes + port;
}
static inline uint32_t shape_switch(const struct topo *t, uint32_t i)
{
	return t->n_gpus + 2 * t->n_nodes + t->shape->n_ports + i;
}

/* Adds a link, with a printf-style name, and returns its number. */
uint32_t shape_link(struct topo *t, double capacity_Bps, double latency_s, uint32_t from, uint32_t to, const char *name, ...)
	__attribute__((format(printf, 6, 7)));
/* Adds the links of a port to and from a switch: "host3.up", or "host3.nic1.up" if the node has several NICs. */
void shape_nic(struct topo *t, uint32_t port, uint32_t sw);

/* Build the kinds of topologies. The caller has filled in the common fields of the shape. where: prefix of messages ("topology \"star\"").
 */
int shape_star(struct topo *t, const struct cluster *c, const struct orr_args *a, const char *where, struct orr_error *err);
int shape_racks(struct topo *t, const struct cluster *c, const struct orr_args *a, const char *where, struct orr_error *err);
int shape_leaf_spine(struct topo *t, const struct cluster *c, const struct orr_args *a, const char *where, struct orr_error *err);
int shape_fat_tree(struct topo *t, const struct cluster *c, const struct orr_args *a, const char *where, struct orr_error *err);
int shape_torus(struct topo *t, const struct cluster *c, const struct orr_args *a, const char *where, struct orr_error *err);
int shape_full_mesh(struct topo *t, const struct cluster *c, const struct orr_args *a, const char *where, struct orr_error *err);

/* Returns the NIC that a GPU uses. */
uint32_t nic_of_gpu(const struct topo *t, uint32_t gpu);

/* Writes the links between ports s and d of different nodes, NIC links included, and returns their number. h is the flow's hash. */
uint32_t shape_route(const struct topo *t, uint32_t s, uint32_t d, uint64_t h, uint32_t *out);
/* Writes the links from the switch of a port up to the top of the network, and returns their number: at most two, 0 without levels.
 * Where several links lead up, the port's number chooses one. */
uint32_t shape_up(const struct topo *t, uint32_t port, uint32_t out[2]);
uint32_t shape_route_torus(const struct topo *t, uint32_t s, uint32_t d, uint32_t *out);

/* ---- the explicit form ---- */

/* Reads the options of the JSON into a; shape_json() then reads its switches and links. */
int shape_json_options(const char *path, const char *text, size_t n, struct orr_args *a, void **root, struct orr_error *err);
int shape_json(struct topo *t, const struct cluster *c, const char *path, void *root, struct orr_error *err);
void shape_json_free(void *root);

/* Computes distances over the links from number `first` on. Fails if two ports are not connected. */
int graph_new(struct topo *t, uint32_t first, bool ports_forward, const char *path, const struct cluster *c, struct orr_error *err);
void graph_free(struct topo_graph *g);
uint32_t graph_route(const struct topo *t, uint32_t s, uint32_t d, uint64_t h, uint32_t *out);

#endif
