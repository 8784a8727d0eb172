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

#include "cli/scenario.h"
#include "step/step.h"

struct step_scenario {
	struct scenario base;
	char *model_spec, *network_spec, *device_spec; /* device_spec NULL: by type */
	struct dnn *dnn;
	struct topo *topo;
	struct device *device[CLUSTER_MAX_TYPES]; /* by GPU type of the cluster */
	struct cost *cost[CLUSTER_MAX_TYPES];
	struct orr_args *options, *cost_args;
	struct orr_args *learn; /* NULL: nothing is learned */
	enum precision precision;
	double batch;
	char link_changes_hash[65]; /* empty: none */
};

/* What --set cost.NAME=VALUE sets. */
extern const struct orr_param step_cost_options[];

/* Loads everything that the scenario names. To be freed on an error as well. */
int step_scenario_resolve(const cJSON *scenario, struct step_scenario *out, struct orr_error *err);
void step_scenario_free(struct step_scenario *s);

#endif
