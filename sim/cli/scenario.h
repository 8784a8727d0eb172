/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scenario.h - what a run is: one JSON object, from a file or from flags
 *
 * Flags and files come to the same object, `--set path=value` edits it, and
 * jobs_scenario_resolve() turns it into checked values with every default filled in.
 * Unknown keys are errors that name the nearest known one. The keys are those of
 * docs/scenario.schema.json:
 *
 *	{ "world": "jobs",
 *	  "trace": "FILE or generator", "format": "auto", "trace_options": {"NAME": VALUE},
 *	  "cluster": "SPEC or FILE", "placement": "count", "throughputs": "FILE",
 *	  "policies": ["fifo", "./mine.so@label", {"policy", "label", "set": {..}}],
 *	  "jobs": {..options..}, "failures": {"trace", "mtbf", "mttr"},
 *	  "seed": 1, "until": "30d", "drop_unfit": false, "record": "all",
 *	  "policy_timeout": 60 }
 */
#ifndef ORR_CLI_SCENARIO_H
#define ORR_CLI_SCENARIO_H

#include "base/param.h"
#include "cli/registry.h"
#include "cluster/failures.h"
#include "jobs/jobs.h"

#include <cjson/cJSON.h>

struct scenario_policy {
	struct registry_entry entry;
	char *label, *spec;
	struct orr_args *args;
};

enum scenario_record { RECORD_SUMMARY, RECORD_SAMPLE, RECORD_ALL };

struct jobs_scenario {
	char *source, *cluster_spec, *throughputs_path, *failures_path;
	struct jobset *jobs;
	struct cluster *cluster;
	const struct placement *placement;
	struct throughput *throughput;
	struct failures *failures;
	struct orr_args *options, *failure_options;
	struct scenario_policy *policy;
	size_t n_policies;
	uint64_t seed;
	int64_t until_ns;
	bool drop_unfit;
	enum scenario_record record;
	double policy_timeout_s;
	cJSON *resolved; /* without the policies: every default filled in, hashes of inputs */
};

/* From a file; NULL on error. */
cJSON *scenario_read(const char *path, struct orr_error *err);
/* "jobs.start_cost=30s", "policy.srtf.rules=helios", "seed=2". */
int scenario_set(cJSON *scenario, const char *pair, struct orr_error *err);

/* Loads everything that the scenario names. with_inputs false: only checks and fills in
 * (scenario show). */
int jobs_scenario_resolve(const cJSON *scenario, struct jobs_scenario *out, struct orr_error *err);
void jobs_scenario_free(struct jobs_scenario *s);

/* The canonical text of one policy's run and its hash (over contents of inputs, parameters
 * and the program's version). Free the text with mem_free. */
char *jobs_scenario_text(const struct jobs_scenario *s, size_t policy, char hash[65]);
/* Everything, for scenario show; free with mem_free. */
char *jobs_scenario_show(const struct jobs_scenario *s);

#endif
