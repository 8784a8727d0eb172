/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * inputs_capacity.h - nodes that are lent: the key `capacity` of a scenario with preemptible nodes
 *
 *	{ "capacity": {"trace": "FILE or generator", "format": "auto", "options": "start=3h,scale=2",
 *	               "startup": "2m", "notice": "2m", "price": 1.2, "prices": "FILE or generator"} }
 */
#ifndef ORR_WORLD_INPUTS_CAPACITY_H
#define ORR_WORLD_INPUTS_CAPACITY_H

#include "cluster/capacity.h"
#include "world/inputs.h"

struct inputs_capacity {
	bool is_given;
	struct orr_args *args;
	struct availset *set, *prices;
	struct capacity_config config; /* config, which refers to set and prices */
};

extern const struct orr_param inputs_capacity_params[];
/* Reads the key. The caller frees *out, also on error. has_failures: the scenario has failures, which exclude lent nodes. */
int inputs_capacity(
	const cJSON *o, const struct cluster *c, uint64_t seed, bool has_failures, struct inputs_capacity *out, struct orr_error *err);
/* Returns whether instances or prices come from a generator. */
bool inputs_capacity_is_random(const struct inputs_capacity *x);
void inputs_capacity_free(struct inputs_capacity *x);
/* Adds the values, with defaults, and hashes; nothing if no nodes are lent. */
void inputs_add_capacity(cJSON *o, const struct inputs_capacity *x);

/* Returns whether the set adds any instance; a series of prices adds none. */
bool inputs_has_instances(const struct availset *s);

/* Lists the changes by repair=.. on standard error. */
void inputs_tell_repairs(const struct availset *a);

#endif
