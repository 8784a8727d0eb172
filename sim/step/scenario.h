/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario.h - an open scenario of the step world, and its options without effect (effects.c) */
#ifndef ORR_STEP_SCENARIO_H
#define ORR_STEP_SCENARIO_H

#include "step/replay_world.h"
#include "step/setting.h"

#include <stdatomic.h>

struct step_state {
	struct replay_inputs
		*replay; /* an execution trace in place of iterations, which leaves the fields up to `used` empty; NULL: none */
	struct setting set;
	struct dnn *dnn;
	struct cost *cost[CLUSTER_MAX_TYPES]; /* costs by GPU type of the cluster */
	struct orr_args *learn;               /* NULL: no learning */
	const struct cost *costs[CLUSTER_MAX_TYPES];
	const struct device *device[CLUSTER_MAX_TYPES];
	struct step_config config;
	struct sbuf *timeline; /* events or rows of --timeline, by policy */
	atomic_uint *used;     /* inputs used, by policy, over all replications: enum step_use */
};

extern const struct world_effect step_effects[];
unsigned step_used(const struct scenario *s, size_t i);

#endif
