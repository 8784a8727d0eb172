/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scenario_spot.h - scenarios of the spot world
 *
 *	{ "world": "spot",
 *	  "trace": "FILE or generator", "format": "auto", "trace_options": {"NAME": VALUE},
 *	  "prices": "FILE or generator of prices",    (default: those of the trace, if any, and the options')
 *	  "job": "NAME or FILE.json" or {..an elastic job..},
 *	  "spot": {..options..},
 *	  "policies", "seed", "replications": 1, "until", "record": "all", "policy_timeout" }
 */
#ifndef ORR_CLI_SCENARIO_SPOT_H
#define ORR_CLI_SCENARIO_SPOT_H

#include "study/inputs.h"
#include "spot/spot.h"

struct spot_scenario {
	struct scenario base;
	char *source, *price_source;
	struct availset *capacity, *prices; /* prices: NULL where none are named */
	cJSON *given_job;                   /* as given: a name, a file, an object */
	const struct elastic *job;          /* elastic_cache.h's */
	const char *steps_hash;
	struct orr_args *options;
	uint32_t replications;
	int64_t until_ns;
	enum scenario_record record;
};

/* Loads everything that the scenario names. To be freed on an error as well. */
int spot_scenario_resolve(const cJSON *scenario, struct spot_scenario *out, struct orr_error *err);
void spot_scenario_free(struct spot_scenario *s);

#endif
