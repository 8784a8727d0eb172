/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scenario_mixed.h - scenarios of jobs and serving on one cluster
 *
 *	{ "world": "mixed",
 *	  "cluster", "placement": "consolidate",
 *	  "jobs":  {..a scenario of the jobs world without world, cluster, placement, policies, failures, seed, until..},
 *	  "serve": {..likewise of the serving world..},
 *	  "policies": ["fifo+vllm", {"policy": "fifo", "serve": "vllm", "label", "set": {..}, "serve_set": {..}}],
 *	  "first": "nobody" or "serve",     (who may take GPUs from whom)
 *	  "failures": {"trace", "mtbf", "mttr", "types"}, "prices": "auto", "seed", "until", "record", "policy_timeout" }
 *
 * Policy i of base is the one for jobs, its `beside` the one for requests. One of jobs and serve may be left out; then policies are
 * of the other alone.
 */
#ifndef ORR_CLI_SCENARIO_MIXED_H
#define ORR_CLI_SCENARIO_MIXED_H

#include "study/inputs_capacity.h"
#include "study/scenario_jobs.h"
#include "study/scenario_serve.h"

struct mixed_scenario {
	struct scenario base;         /* cluster and policies of the jobs, moved here */
	cJSON *of_jobs, *of_serve;    /* scenarios of the two worlds, as they would stand by themselves; NULL: none */
	struct serve_scenario priced; /* no more than prices, where nothing is served */
	struct failures *failures;
	struct inputs_capacity capacity;
	struct orr_args *failure_options;
	bool serve_first;
	enum scenario_record record;
	int64_t until_ns;
};

/* Splits it; to be freed on an error as well. */
int mixed_scenario_resolve(const cJSON *scenario, struct mixed_scenario *out, struct orr_error *err);
/* Where nothing is served. */
int mixed_scenario_prices(const cJSON *scenario, struct mixed_scenario *m, struct orr_error *err);
/* Once the halves that there are have been resolved (the other NULL): policies and what the hash goes by come into base. */
void mixed_scenario_join(struct mixed_scenario *m, const struct jobs_scenario *j, const struct serve_scenario *s);
void mixed_scenario_free(struct mixed_scenario *m);

#endif
