/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spot.h - the spot world: one policy's run of one elastic job over preemptible capacity
 *
 * spot_run() shares no state between runs: any number of threads may run over one availset, job and policy.
 */
#ifndef ORR_SPOT_SPOT_H
#define ORR_SPOT_SPOT_H

#include <orrery/spot.h>

#include "base/param.h"
#include "hwmodel/elastic.h"
#include "results/result.h"
#include "traces/avail.h"

#include <stdatomic.h>

/* Inputs that a run depended on. */
enum spot_use {
	SPOT_USED_NOTICE = 1,           /* the policy acted on a notice, or read the length of notices */
	SPOT_USED_NOTICE_ACT = 1 << 14, /* the policy acted on a notice */
	SPOT_USED_PRICE = 1 << 1,       /* an instance was taken at spot.price */
	SPOT_USED_PRICES = 1 << 2,      /* an instance was taken at a price of the price rows */
	SPOT_USED_TARGET = 1 << 3,      /* spot.target declined an offer */
	SPOT_USED_QUOTA = 1 << 4,       /* spot.quota declined an offer */
	SPOT_USED_ON_DEMAND_QUOTA = 1 << 5,
	SPOT_USED_MAX_PRICE = 1 << 6,     /* spot.max_price declined an offer, also one in an oracle's future */
	SPOT_USED_STORAGE = 1 << 7,       /* the time of a checkpoint differs from that under the default of spot.storage_Bps */
	SPOT_USED_NODE_BPS = 1 << 8,      /* the time of a checkpoint differs from that under the default of spot.node_Bps */
	SPOT_USED_STORAGE_NOT = 1 << 12,  /* the time of a checkpoint is that under the default of spot.storage_Bps */
	SPOT_USED_NODE_BPS_NOT = 1 << 13, /* the time of a checkpoint is that under the default of spot.node_Bps */
	SPOT_USED_CHECKPOINT = 1 << 11,   /* the policy queried the time of a checkpoint */
	SPOT_USED_EGRESS = 1 << 9,        /* bytes were sent between zones */
	SPOT_USED_BILLING = 1 << 10       /* an instance ended before the end of an hour that it had started */
};

struct spot_config {
	const struct availset *capacity;
	const struct availset *prices; /* second set, with prices; NULL: prices of `capacity` and of the options */
	uint64_t replication;          /* index of the random streams */
	const struct elastic *job;
	const struct orr_args *options; /* of spot_options */
	uint64_t seed;
	int64_t until_ns; /* the run stops before this instant; ORR_NEVER: the run stops at the end of the job or, for an endless job, of
			     the trace */
	bool exact;       /* each step is a separate event */
	bool check;       /* check the conservation laws at run time */
	bool record_iterations, record_nodes; /* fill in result->iterations; fill in result->nodes, result->events and result->series */
	bool explain;                         /* fill in result->parts */
	uint64_t max_rows;
	double policy_timeout_s;
	atomic_uint *used; /* receives bits of enum spot_use; may be NULL */
	void (*progress)(void *ctx, double part);
	void *progress_ctx;
};

/* Parameters of `--set spot.NAME=VALUE`. */
extern const struct orr_param spot_options[];

/* Returns the number of steps of the job under these options; 0: unlimited. */
static inline uint64_t spot_job_steps(const struct elastic *job, const struct orr_args *options)
{
	return orr_arg_bool(options, "endless") ? 0 : job->steps;
}

int spot_run(const struct spot_config *c, const struct orr_policy *policy, const struct orr_args *policy_args, const char *label,
	struct run_result *result, struct orr_error *err);

#endif
