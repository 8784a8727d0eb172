/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shape.h - the GPUs that a job holds, in the order of its workers, and what is the same for like places
 *
 * Workers are numbered rack by rack, the rack with most of the job's GPUs first, in a rack
 * node by node, the node with most first; ties by number. (As a launcher that sorts its
 * hosts by the network would do it: a ring then leaves each rack and each node once.)
 *
 * Invariant: places with equal keys have GPUs of the same type, equally many on each node, nodes
 * in racks alike, and routes alike (net/topology_part.h): a training step takes the same time
 * on both, to the bit. On a star or under racks of one size that is: the same multiset, for
 * each rack, of GPUs per node. Where the route depends on the destination (leaf-spine, fat
 * tree) nodes whose routes collide differently are different places.
 */
#ifndef ORR_JOBS_SHAPE_H
#define ORR_JOBS_SHAPE_H

#include "cluster/cluster.h"
#include "net/topology_part.h"

/* What all places are on. */
struct ground {
	const struct cluster *cluster;
	const struct topo *topo;
	uint32_t *first_gpu; /* of each node, and the number of GPUs at the end */
	uint8_t *is_private; /* of each link: no two jobs can share it */
};

struct place_node {
	uint32_t node, gpus, rack, in_rack; /* in_rack: of the job's GPUs */
};

struct place {
	uint32_t type, n_nodes;
	struct place_node *node; /* in the order of the workers */
	struct topo_part part;
	char key[65];
};

void ground_init(struct ground *g, const struct cluster *c, const struct topo *t);
void ground_free(struct ground *g);

/*
 * gpus GPUs on each of n nodes (a node may occur twice). is_taken: GPUs that others hold; on a node the lowest free ones
 * are used; NULL: all are free. local: as topo_part_init() wants it.
 */
struct place *place_new(const struct ground *g, const struct place_node *node, uint32_t n, const uint8_t *is_taken, uint32_t *local);
void place_free(struct place *p);

/*
 * Where a job would be if the cluster were empty and it had as few nodes of the type and then as few racks as possible;
 * nodes of the lowest numbers. NULL: the type has too few GPUs.
 */
struct place *place_reference(const struct ground *g, uint32_t gpus, uint32_t type);

#endif
