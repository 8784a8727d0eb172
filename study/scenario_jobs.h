/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scenario_jobs.h - scenarios of the jobs world
 *
 *	{ "world": "jobs",
 *	  "trace": "FILE or generator", "format": "auto", "trace_options": {"NAME": VALUE},
 *	  "cluster", "placement": "count", "throughputs": "FILE", "policies",
 *	  "sharing": "analytic",        (of jobs that name a strategy, as are the keys of setting.h)
 *	  "jobs": {..options..}, "failures": {"trace", "mtbf", "mttr"},
 *	  "capacity": {..},             (instead of failures: inputs_capacity.h)
 *	  "seed", "until": "30d", "drop_unfit": false, "record": "all", "policy_timeout" }
 */
#ifndef ORR_CLI_SCENARIO_JOBS_H
#define ORR_CLI_SCENARIO_JOBS_H

#include "study/inputs.h"
#include "study/inputs_capacity.h"
#include "study/setting.h"
#include "jobs/jobs.h"

struct jobs_scenario {
	struct scenario base;
	char *source, *throughputs_path;
	struct jobset *jobs;
	const struct placement *placement;
	struct throughput *throughput;
	struct failures *failures;
	struct inputs_capacity capacity;
	struct orr_args *options, *failure_options;
	int64_t until_ns;
	bool drop_unfit;
	enum scenario_record record;
	bool has_training; /* some job names a strategy: then there are */
	struct setting set;
	struct steprate *rates;
	struct steprate **drawn; /* set.cost_samples of them, with laws drawn (cli/cost_samples.h) */
	enum jobs_sharing sharing;
};

/* Loads everything that the scenario names. To be freed on an error as well. */
int jobs_scenario_resolve(const cJSON *scenario, struct jobs_scenario *out, struct orr_error *err);
void jobs_scenario_free(struct jobs_scenario *s);

#endif
