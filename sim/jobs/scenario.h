/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scenario.h - a scenario of the jobs world and its loaded inputs
 *
 *	{ "world": "jobs",
 *	  "trace": "FILE or generator", "format": "auto", "trace_options": {"NAME": VALUE},
 *	  "cluster", "placement": "count", "throughputs": "FILE", "policies",
 *	  "partitions": "NAME=GPUS,..",
 *	  "sharing": "analytic",        (for jobs that name a strategy, like the keys of step/setting.h)
 *	  "jobs": {..options..}, "failures": {"trace", "mtbf", "mttr"},
 *	  "capacity": {..},             (instead of failures: world/inputs_capacity.h)
 *	  "seed", "until": "30d", "drop_unfit": false, "completed_only": false, "record": "all", "policy_timeout" }
 */
#ifndef ORR_JOBS_SCENARIO_H
#define ORR_JOBS_SCENARIO_H

#include "jobs/jobs.h"
#include "step/setting.h"
#include "world/inputs.h"
#include "world/inputs_capacity.h"

/* The state of an open scenario. Read-only except for the blocks: threads may run policies in parallel. */
enum { STEP_COUNTS = 5 };
struct jobs_state {
	struct jobset *jobs;
	struct flowset *unshared; /* jobs.unshared: replaces the flows of the jobset; NULL: it has them */
	const struct placement *placement;
	struct throughput *throughput;
	struct adapt *adapt;
	struct quota_set *partitions;          /* NULL: none */
	double gpu_mem_mib[CLUSTER_MAX_TYPES]; /* memory of a GPU by type; 0: unknown */
	struct failures *failures;
	struct inputs_capacity capacity;
	struct orr_args *failure_options;
	struct type_speeds *speeds;    /* speeds by GPU type, for jobs that do not train */
	struct type_draw **speed_draw; /* set.cost_samples draws of the speeds, if there is a class mean */
	struct setting set;            /* settings of jobs that name a strategy; precision, batch and draws apply to the class mean too */
	struct steprate *rates;        /* rates of these jobs; NULL: no job names a strategy */
	struct steprate **drawn;       /* set.cost_samples rates with drawn laws (world/cost_samples.h) */
	enum jobs_sharing sharing;
	struct jobs_config config;
	struct jobs_blocks **blocks; /* blocks by policy, if there are several policies; NULL: the run has none */
	size_t n_blocks;
	_Atomic(uint64_t) step_count[STEP_COUNTS]; /* step times simulated for runs in separate processes (descriptor.c) */
	atomic_uint *used;                         /* inputs used, by policy: enum jobs_use */
};

/* Loads inputs and fills in s->resolved. */
int jobs_state_load(struct scenario *s, struct jobs_state *t, struct orr_error *err);
void jobs_state_free(struct jobs_state *t);

#endif
