/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * topology_part.h - a part of a topology: some GPUs, the hosts of their nodes, and the links between them
 *
 * Invariant: two parts with the same signature are equal except for the names of nodes and links. Every route uses links of the
 * same local numbers, with the same capacity and latency, so results of one part hold for the other bit for bit. Hashed routes
 * (ECMP) are not known before a message is sent; the signature then names the GPUs.
 */
#ifndef ORR_NET_TOPOLOGY_PART_H
#define ORR_NET_TOPOLOGY_PART_H

#include "base/sbuf.h"
#include "net/topology.h"

struct topo_part {
	uint32_t n_gpus, n_nodes;
	uint32_t *endpoint; /* endpoints of the whole: GPUs, then the hosts of their nodes in the order of the GPUs */
	uint32_t *link;     /* links of the whole: local number i is link[i] */
	uint32_t n_links;
};

/*
 * Makes a part. gpu: in the order of their numbers in the part; GPUs of a node are consecutive. local: one entry per link of
 * the whole, all UINT32_MAX on entry and on return. The signature is appended as bytes.
 */
void topo_part_init(
	struct topo_part *p, const struct topo *whole, const uint32_t *gpu, uint32_t n, uint32_t *local, struct sbuf *signature);
void topo_part_free(struct topo_part *p);

/*
 * Returns the part as a separate topology, whose link i is link[i] of the whole. Capacities are divided by stretch, except
 * those of links that serve a single GPU. The whole must outlive the part.
 */
struct topo *topo_part_view(const struct topo *whole, const struct topo_part *p, const uint32_t *link, uint32_t n_links, double stretch);

/* Sets is_private[l]: link l serves a single GPU or host. */
void topo_private_links(const struct topo *whole, uint8_t *is_private);

#endif
