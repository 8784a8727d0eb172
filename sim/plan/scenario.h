/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario.h - an open scenario of the plan world, and its options without effect (effects.c) */
#ifndef ORR_PLAN_SCENARIO_H
#define ORR_PLAN_SCENARIO_H

#include "plan/world.h"
#include "step/setting.h"

#include <stdatomic.h>

struct plan_state {
	struct setting set;
	struct dnn *dnn;
	struct cost *cost[CLUSTER_MAX_TYPES];
	const struct cost *costs[CLUSTER_MAX_TYPES];
	const struct device *device[CLUSTER_MAX_TYPES];
	struct plan_problem problem;
	struct embed_table *table; /* embeddings only; the members above are then NULL, except budget and seed of the problem */
	bool is_held;              /* runs hold the vectors of the table in memory */
	struct device *server;     /* embeddings only: device of the lookups; NULL: none is given */
	cJSON *header;
	atomic_uint *used; /* inputs that a policy used, over all replications: enum plan_use and enum step_use */
};

extern const struct world_effect plan_effects[];
unsigned plan_used(const struct scenario *s, size_t i);

#endif
