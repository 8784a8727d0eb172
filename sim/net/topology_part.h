/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * topology_part.h - some GPUs of a topology, the hosts of their nodes, and the links that lie between them
 *
 * Invariant: two parts with the same signature are the same network but for the names of
 * nodes and links: every route takes links of the same local numbers, with the same
 * capacity and latency. So what was simulated on one holds for the other, to the bit.
 * Where routes are hashed (ECMP) they are not known before a message is sent; then the
 * signature names the GPUs themselves.
 */
#ifndef ORR_NET_TOPOLOGY_PART_H
#define ORR_NET_TOPOLOGY_PART_H

#include "base/sbuf.h"
#include "net/topology.h"

struct topo_part {
	uint32_t n_gpus, n_nodes;
	uint32_t *endpoint; /* of the whole: GPUs, then the hosts of their nodes in the order of the GPUs */
	uint32_t *link;     /* of the whole: local number i is link[i] */
	uint32_t n_links;
};

/*
 * gpu: in the order in which they are to be numbered; those of a node follow one another. local: room for a number
 * per link of the whole, all UINT32_MAX, and left so. The signature is appended as bytes.
 */
void topo_part_init(
	struct topo_part *p, const struct topo *whole, const uint32_t *gpu, uint32_t n, uint32_t *local, struct sbuf *signature);
void topo_part_free(struct topo_part *p);

/*
 * The part as a topology of its own, whose link i is link[i] of the whole (all that the part needs and perhaps others);
 * capacities are divided by stretch, those of links that serve one GPU alone aside. Needs the whole until topo_free().
 */
struct topo *topo_part_view(const struct topo *whole, const struct topo_part *p, const uint32_t *link, uint32_t n_links, double stretch);

/* is_private[l]: no two GPUs or hosts of the whole share link l. */
void topo_private_links(const struct topo *whole, uint8_t *is_private);

#endif
