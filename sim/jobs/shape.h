/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shape.h - places: the GPUs that a job holds, in the order of its workers, and a key that is equal for equivalent places
 *
 * Workers are numbered rack by rack, the rack with most of the job's GPUs first; in a rack node by node, the node with most
 * GPUs first; ties by number. A launcher that sorts its hosts by network distance has the same order. A ring in this order
 * leaves each rack and each node once.
 *
 * Invariant: places with equal keys have GPUs of the same type, the same number on each node, the same grouping of nodes in racks
 * and equivalent routes (net/topology_part.h). A training step takes exactly the same time on both. On a star, or under racks of one
 * size, equal keys mean the same multiset, for each rack, of GPUs per node. If routes depend on the destination (leaf-spine, fat
 * tree), places whose routes collide differently have different keys.
 */
#ifndef ORR_JOBS_SHAPE_H
#define ORR_JOBS_SHAPE_H

#include "cluster/cluster.h"
#include "net/topology_part.h"

/* Cluster and network common to all places. */
struct ground {
	const struct cluster *cluster;
	const struct topo *topo;
	uint32_t *first_gpu; /* first GPU of each node; last entry: the number of GPUs */
	uint8_t *is_private; /* flag by link: no two jobs can share the link */
};

struct place_node {
	uint32_t node, gpus, rack, in_rack; /* in_rack: number of the job's GPUs in the rack */
};

struct place {
	uint32_t type, n_nodes;
	struct place_node *node; /* nodes in the order of the workers */
	struct topo_part part;
	char key[65];
};

void ground_init(struct ground *g, const struct cluster *c, const struct topo *t);
void ground_free(struct ground *g);

/*
 * Makes a place of n entries, each with a node and its number of GPUs (a node may occur twice). Takes the lowest free GPUs of a
 * node. is_taken: GPUs that other jobs hold; NULL: none. local: scratch of topo_part_init(). The caller frees the place with
 * place_free().
 */
struct place *place_new(const struct ground *g, const struct place_node *node, uint32_t n, const uint8_t *is_taken, uint32_t *local);
void place_free(struct place *p);

/*
 * Returns the place of a job on the empty cluster: the fewest nodes of the type, then the fewest racks, then the lowest node
 * numbers. NULL: the type has too few GPUs.
 */
struct place *place_reference(const struct ground *g, uint32_t gpus, uint32_t type);

#endif
