/* SPDX-License-Identifier: GPL-3.0-or-later */
/* flow_run.h - runs a flow, given as JSON, under one policy with --check, for the tests of flows */
#ifndef ORR_TESTS_FLOW_RUN_H
#define ORR_TESTS_FLOW_RUN_H

#include "base/mem.h"
#include "base/param.h"
#include "base/sbuf.h"
#include "jobs/jobs.h"
#include "results/result.h"
#include "tests/tap.h"
#include "traces/flow.h"
#include "traces/trace.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_mdf, orr_policy_fifo, orr_policy_branch_parallel, orr_policy_successive_halving, orr_policy_asha;

static struct orr_error flow_error;
static bool flow_records; /* whether the result has rows of stages */

/* Runs a flow. options: "name=value name=value" for jobs_options and, after "policy:", for the policy. The caller frees the result. Returns
 * NULL and sets flow_error if the run fails. */
__attribute__((unused)) static struct run_result *flow_run(const char *json, const char *cluster, const struct orr_policy *policy,
	enum dataset_rule memory, bool unshared, const char *options)
{
	static struct jobs_blocks blocks;
	struct orr_args *set = args_new(jobs_options, "jobs", &flow_error), *args = args_new(policy->params, "policy", &flow_error);
	char text[300], *save = NULL;
	int rc = 0;
	flow_error = (struct orr_error){ 0 };
	snprintf(text, sizeof text, "%s", options);
	for (char *pair = strtok_r(text, " ", &save); pair && !rc; pair = strtok_r(NULL, " ", &save))
		rc = strncmp(pair, "policy:", 7) ? args_set_pair(set, pair, &flow_error) : args_set_pair(args, pair + 7, &flow_error);
	struct trace *t = trace_open_memory("flow.json", json, strlen(json), "auto", NULL, &flow_error);
	struct jobset *jobs = t ? jobset_from(t, "flow.json", &flow_error) : NULL;
	struct cluster *c = cluster_load(cluster, &flow_error);
	struct flowset *own = NULL;
	if (jobs && unshared) {
		own = mem_zalloc(1, sizeof *own);
		struct flow *f = flow_unshared(jobset_flows(jobs)->flow[0], "flow.json", &flow_error);
		if (f)
			flowset_add(own, f);
		else
			rc = -1;
	}
	struct run_result *r = result_new();
	if (!rc && jobs && c) {
		struct jobs_config config = { .jobs = jobs,
			.flows = own ? own : jobset_flows(jobs),
			.memory = memory,
			.cluster = c,
			.placement = placement_find("count"),
			.options = set,
			.seed = 1,
			.until_ns = ORR_NEVER,
			.check = true,
			.record_jobs = flow_records,
			.max_rows = 1000,
			.policy_timeout_s = 600 };
		rc = jobs_run(&config, policy, args, "tested", r, &blocks, &flow_error);
	} else {
		rc = -1;
	}
	flowset_free(own);
	jobset_free(jobs);
	cluster_free(c);
	args_free(set);
	args_free(args);
	if (!rc)
		return r;
	printf("# %s\n", flow_error.text);
	result_free(r);
	return NULL;
}

__attribute__((unused)) static double flow_metric(const struct run_result *r, const char *name)
{
	const struct metric *m = r ? result_find(r, name) : NULL;
	return m ? m->value : NAN;
}

#endif
