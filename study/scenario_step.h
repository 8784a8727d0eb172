/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scenario_step.h - scenarios of the step world
 *
 *	{ "world": "step",
 *	  "model": "NAME, FILE or kind:dimensions", "cluster", "network": "star",
 *	  "device": "NAME or FILE",     (of all GPUs; if absent, each type of the cluster names its own)
 *	  "precision": "fp32", "batch": 32,
 *	  "policies", "step": {..options..}, "cost": {..options..},
 *	  "learn": {..options..},       (if there: the schedule is applied to real SGD as well)
 *	  "seed", "policy_timeout" }
 */
#ifndef ORR_CLI_SCENARIO_STEP_H
#define ORR_CLI_SCENARIO_STEP_H

#include "study/setting.h"

struct step_scenario {
	struct scenario base;
	struct setting set;
	char *model_spec;
	struct dnn *dnn;
	struct cost *cost[CLUSTER_MAX_TYPES]; /* by GPU type of the cluster */
	struct orr_args *learn;               /* NULL: nothing is learned */
};

/* Loads everything that the scenario names. To be freed on an error as well. */
int step_scenario_resolve(const cJSON *scenario, struct step_scenario *out, struct orr_error *err);
void step_scenario_free(struct step_scenario *s);

#endif
