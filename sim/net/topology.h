/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * topology.h - links of a cluster's network, and the route of a flow
 *
 * Endpoints: first every GPU of the cluster in its order (node by node), then one host (CPU and memory) per node. Invariant:
 * topo_route() returns consecutive links that join the two endpoints, uses no link twice, and depends only on its arguments.
 *
 * Inside a node each GPU has a link out and a link in (NVLink through a switch, or PCIe through a root that all share).
 * Each node has one or more NICs; GPU g of n uses NIC floor(g * nics / n). The network proper joins the NICs.
 * Each direction of a cable is a separate link.
 *
 * Sources: fat tree, Al-Fares, Loukissas, Vahdat, "A Scalable, Commodity Data Center Network Architecture", SIGCOMM 2008;
 * D-mod-k, Zahavi, "D-Mod-K Routing Providing Non-Blocking Traffic for Shift Permutations on Real Life Fat Trees", CCIT
 * 776, 2010.
 */
#ifndef ORR_NET_TOPOLOGY_H
#define ORR_NET_TOPOLOGY_H

#include <orrery/param.h>

#include "cluster/cluster.h"
#include "net/flow.h"

enum { TOPO_MAX_HOPS = 64 };

enum topo_routing { TOPO_D_MOD_K, TOPO_ECMP };

struct topo_link {
	struct flow_link flow;
	uint32_t from, to; /* vertices */
	char *name;        /* "host3.up", "leaf1-spine0", ... */
};

struct topo {
	struct topo_link *link;
	uint32_t n_links;
	uint32_t n_gpus, n_nodes; /* numbers of GPUs and nodes; n_gpus + n_nodes endpoints */
	enum topo_routing routing;
	uint64_t seed;            /* seed of the ECMP hash */
	struct topo_shape *shape; /* private */
	char hash[65];            /* SHA-256 of the canonical form in hex */
};

/*
 * Loads a topology. spec is KIND[:option=value,..] or the name of a JSON file. Kinds: star (one switch), racks (hosts per rack
 * or the cluster's own racks, oversubscription), leaf-spine (leaves, spines), fat-tree (k), torus (dims=4x4x4), full-mesh,
 * ring. Options of all kinds: bw and lat (of a NIC), nics (per node), gpu_bw, gpu_lat, gpu_link (nvlink or pcie), host_bw,
 * routing (d-mod-k or ecmp). Rates are texts such as 10Gbps (bits) or 12.5GBps (bytes), latencies such as 5us.
 * docs/models/net.md lists defaults.
 *
 * The JSON form is {"switches": [..], "links": [{"from", "to", "bw", "lat", "both": true}], ..}. Errors name the option or
 * the JSON path.
 */
struct topo *topo_load(const struct cluster *c, const char *spec, uint64_t seed, struct orr_error *err);

/* Links of the GPUs of each type of the cluster from the devices' data, if the options give none (bandwidth 0: unknown). */
struct topo_gpu_link {
	double bandwidth_Bps; /* each direction */
	double latency_s;     /* latency of a message from GPU to GPU in a node */
};
/* gpu: by type of the cluster; NULL: all unknown. */
struct topo *topo_load_with(
	const struct cluster *c, const char *spec, uint64_t seed, const struct topo_gpu_link *gpu, struct orr_error *err);
/* Parses the contents of a JSON file; path is for messages. */
struct topo *topo_parse(const struct cluster *c, const char *path, const char *text, size_t n, uint64_t seed,
	const struct topo_gpu_link *gpu, struct orr_error *err);
/* Parses "10Gbps" (bits) or "12.5GBps" (bytes) to bytes/s; prefixes k M G T. */
bool topo_rate(const char *text, size_t n, double *out_Bps);
void topo_free(struct topo *t);

static inline uint32_t topo_endpoints(const struct topo *t)
{
	return t->n_gpus + t->n_nodes;
}
static inline uint32_t topo_host(const struct topo *t, uint32_t node)
{
	return t->n_gpus + node;
}

/* Returns the node of an endpoint. */
uint32_t topo_node(const struct topo *t, uint32_t endpoint);
uint32_t topo_nics(const struct topo *t); /* per node */
/* Returns the NIC that an endpoint uses towards a peer on another node, numbered over all nodes. */
uint32_t topo_port(const struct topo *t, uint32_t endpoint, uint32_t peer);

/* Part of a route's key: the flow leaves its node by the NIC with the same index as the receiver's NIC (NCCL's PXN), if it exists. */
#define TOPO_RAIL (UINT64_C(1) << 63)

/* Writes the links from endpoint src to endpoint dst in order and returns their number (0 if src == dst). key distinguishes flows of
 * a pair under TOPO_ECMP; D-mod-k ignores it. out must have TOPO_MAX_HOPS entries. */
uint32_t topo_route(const struct topo *t, uint32_t src, uint32_t dst, uint64_t key, uint32_t *out);

/* Returns the link over which an endpoint sends (out) to the network outside its node, or receives from it; UINT32_MAX if its node
 * has none. */
uint32_t topo_nic(const struct topo *t, uint32_t endpoint, bool out);

/* Writes the links from an endpoint over its NIC to the top of the network (racks: the core; leaf-spine: a spine; fat tree: a core
 * switch; others: the switch of the NIC) and returns their number; 0: its node has no NIC. */
enum { TOPO_MAX_UP = 3 };
uint32_t topo_up(const struct topo *t, uint32_t endpoint, uint32_t out[TOPO_MAX_UP]);

/* Return nominal values of the route: the smallest capacity; the sum of latencies. */
double topo_bandwidth(const struct topo *t, uint32_t src, uint32_t dst);
double topo_latency(const struct topo *t, uint32_t src, uint32_t dst);

/* Returns whether messages inside nodes have equal links in two topologies of the same cluster. */
bool topo_is_same_inside(const struct topo *a, const struct topo *b);

/* Returns a new flownet with these links. */
struct flownet *topo_flownet(const struct topo *t, enum flow_fairness fairness);

#endif
