/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives inside a node take the time that the profile's law states for the device's fabric (hwmodel/profile.h). */
#include "step/world.h"

#include "hwmodel/profile.h"

#include <math.h>

static const char *op_name(enum orr_collective_op op)
{
	return op == ORR_ALL_REDUCE       ? "all-reduce"
	       : op == ORR_ALL_GATHER     ? "all-gather"
	       : op == ORR_REDUCE_SCATTER ? "reduce-scatter"
					  : NULL;
}

/* The device of all members, if they are of one type and on one node, and the link between them is the device's own; else NULL. */
static const struct device *device_of(const struct orr_step *s, const uint32_t *member, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (member[i] >= s->facts.gpus || s->node_of[member[i]] != s->node_of[member[0]])
			return NULL; /* nodes have one type */
	const struct device *d = s->config->device[s->type_of[member[0]]];
	return d && d->link_Bps > 0 && topo_bandwidth(s->config->topo, member[0], member[1]) == d->link_Bps ? d : NULL;
}

/* The law of op among n GPUs; *part: the part of its time that op takes. An all-gather or reduce-scatter without a
 * separate law takes half the time of an all-reduce. */
static const struct law *law_of(const struct profile *p, const struct device *d, const char *op, uint32_t n, double *part)
{
	const struct law *l = profile_collective(p, op, d->fabric, n, 1);
	*part = 1;
	if (l)
		return l;
	*part = 0.5;
	return profile_collective(p, "all-reduce", d->fabric, n, 1);
}

const struct law *inside_law(const struct orr_step *s, const uint32_t *member, struct coll_shape *shape)
{
	const char *op = op_name(shape->op);
	if (!op || shape->n < 2 || shape->algorithm != ORR_RING || shape->bytes <= 0)
		return NULL;
	const struct device *d = device_of(s, member, shape->n);
	const struct profile *p = d ? cost_profile(s->config->cost[s->type_of[member[0]]]) : NULL;
	double part, rounds = (shape->op == ORR_ALL_REDUCE ? 2 : 1) * (shape->n - 1.);
	const struct law *l = p ? law_of(p, d, op, shape->n, &part) : NULL;
	if (!l)
		return NULL;
	double small = part * law_time(l, 0, 0, 0, NULL), all = part * law_time(l, 0, 0, shape->bytes, NULL);
	shape->is_measured = true;
	shape->hop_s = small / rounds;
	shape->stretch = (all - small) / (rounds * shape->bytes / shape->n / d->link_Bps);
	return l;
}
