/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replay_world.h - scenarios of execution traces in the step world
 *
 *	{ "world": "step", "graph": "FOLDER or prefix", "groups": "FILE", "network": "FILE.yml", "system": "FILE.json",
 *	  "policies": ["congestion-unaware", "congestion-aware"] }
 */
#ifndef ORR_STEP_REPLAY_WORLD_H
#define ORR_STEP_REPLAY_WORLD_H

#include "step/replay.h"
#include "world/scenario.h"

/* Inputs of a scenario. */
struct replay_inputs {
	struct chakra *trace;
	struct astra_network network;
	struct astra_system system;
};

/* Returns whether the scenario, whose keys are read, names an execution trace. */
bool replay_is_named(const struct scenario *s);
/* The policy of a scenario that names none; NULL: the scenario names no execution trace. */
const char *replay_default_policy(const struct scenario *s);

/* Reads the inputs and fills in s->resolved. Keys of training iterations are refused. Returns NULL on error. */
struct replay_inputs *replay_open(struct scenario *s, struct orr_error *err);
void replay_close(struct replay_inputs *x);

/* Runs policy i; fills in metrics, notes and rows. */
int replay_policy(const struct scenario *s, const struct replay_inputs *x, size_t i, struct run_result *r, struct orr_error *err);

#endif
