/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * placement.h - the placement rules (see struct placement in pool.h)
 *
 *   count        only the number of free GPUs matters; fills nodes in order
 *                (Tiresias' simulator, scheme "count")
 *   consolidate  a job that fits on one node goes to the fullest node with room,
 *                lowest number first; a larger one takes whole empty nodes and the
 *                fullest node with room for the rest (HeliosArtifact, "consolidate")
 *   spread       one GPU at a time on the node with the most free GPUs
 *   best-fit     the node with the least left over, counting GPUs, CPUs and memory
 *                as shares of the node (Kubernetes' MostAllocated); larger jobs as
 *                consolidate
 *   topology     consolidates in the rack that the job fills best; a larger job takes as few racks as possible
 *   fgd          the node whose expected fragmentation grows least (Weng et al., "Beware
 *                of Fragmentation", USENIX ATC 2023, section 4); larger jobs as
 *                consolidate
 *
 * A request for a part of a GPU takes the shared GPU with the smallest sufficient room on the chosen node. If there is none, it
 * opens a whole GPU.
 */
#ifndef ORR_CLUSTER_PLACEMENT_H
#define ORR_CLUSTER_PLACEMENT_H

#include "cluster/pool.h"

/* placement_fgd.c */
extern const struct placement placement_fgd;

#endif
