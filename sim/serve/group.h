/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * group.h - messages among the GPUs of a replica that is on several nodes (group.c)
 *
 * Times are those of the step world for the same collective, cluster and network (step/once.h), alone on the network. Sizes are
 * in steps of a quarter octave, each computed at first use; times in between are interpolated linearly.
 */
#ifndef ORR_SERVE_GROUP_H
#define ORR_SERVE_GROUP_H

#include "serve/replica.h"

struct group_net;

/* Returns the index of GPU i of a replica within its node, and sets *node. The replica must have GPUs. Replicas on one node take its GPUs
 * in the order of their numbers. */
uint32_t replica_gpu(const struct orr_serve *w, uint32_t replica, uint32_t i, uint32_t *node);

/* The GPUs of a group: GPU i is number index[i] of node[i], i = stage * tp + rank. */
struct group_place {
	const struct cluster *cluster;
	const struct topo *topo;
	const struct dnn *dnn;
	const struct device *const *device; /* devices by GPU type */
	const struct profile *profile;
	enum precision precision;
	uint32_t type, tp, pp;
	const uint32_t *node, *index;
};

/* Makes the network of a group; all but node and index must outlive it. Returns NULL without an error if all GPUs are on one node. */
struct group_net *group_net_at(const struct group_place *p, struct orr_error *err);
/* Makes the network of a replica. Returns NULL without an error if all GPUs are on one node, no network is known, or the model is
 * not by layers. */
struct group_net *group_net_new(const struct orr_serve *w, uint32_t replica, struct orr_error *err);
void group_net_free(struct group_net *g);
const struct served_net *group_net_served(const struct group_net *g); /* NULL for NULL */
/* Returns the first error of a message; code 0: none. */
const struct orr_error *group_net_error(const struct group_net *g);

#endif
