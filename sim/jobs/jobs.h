/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * jobs.h - the jobs world: one policy's replay of a trace of jobs on a cluster
 *
 * jobs_run() makes everything anew for one run, so any number of runs may go on in
 * parallel threads over one jobset, cluster and policy.
 *
 * Progress is work done at a rate. Work is counted in ns at rate 1 (what the trace's
 * duration was measured on); a run of dt at rate r does r * dt of it, less the start
 * cost. Rates: 1, times throughput(model, GPU type) over that of the reference type
 * where there is a throughput table, times the speed-up of an elastic job's size. A job that names a
 * model and a strategy goes at the rate of the step world (steprate.h): samples/s where it is, beside those that
 * share its links, over samples/s on the reference place (shape.h). Such a rate changes while the job runs.
 */
#ifndef ORR_JOBS_JOBS_H
#define ORR_JOBS_JOBS_H

#include <orrery/policy.h>

#include "base/param.h"
#include "cluster/cluster.h"
#include "cluster/pool.h"
#include "results/result.h"
#include "results/stats.h"
#include "traces/trace.h"

struct throughput;
struct failures;
struct steprate;

/* Jobs that train and use the same links: not looked at; slowed by arithmetic (share.h); simulated together. */
enum jobs_sharing { JOBS_SHARING_OFF, JOBS_SHARING_ANALYTIC, JOBS_SHARING_SIMULATED };

enum jobs_on_failure { JOBS_REQUEUE, JOBS_KILL };

/* What `--set jobs.NAME=VALUE` sets, as data: the table is jobs_options. */
struct jobs_config {
	const struct jobset *jobs;
	const struct cluster *cluster;
	const struct placement *placement;
	const struct throughput *throughput; /* NULL: every rate is 1 */
	const struct failures *failures;     /* NULL: nodes never fail */
	struct steprate *rates;              /* of jobs that name a strategy; NULL: strategies are ignored. Shared by runs */
	enum jobs_sharing sharing;
	const struct orr_args *options;      /* of jobs_options */
	uint64_t seed;
	int64_t until_ns;     /* stop there; ORR_NEVER */
	bool drop_unfit;      /* leave out jobs that can never fit, instead of refusing the run */
	bool check;           /* prove conservation laws as it goes */
	bool record_jobs;     /* fill in result->jobs (up to a million, then a sample) */
	uint64_t max_rows;    /* the million; tests lower it */
	double policy_timeout_s;
	/* Called now and then with the part done (0..1), from the run's thread. May be NULL. */
	void (*progress)(void *ctx, double part);
	void *progress_ctx;
};

extern const struct orr_param jobs_options[];

/* Sums by block of job number, for paired differences between runs. */
struct jobs_blocks {
	struct blocks jct, wait, slowdown;
};

/* policy_args: of the policy's own table. label: for messages and the result. On an error the
 * code says whose fault it was (ORR_EINPUT: trace or cluster; ORR_EFAIL: the policy's). */
int jobs_run(const struct jobs_config *c, const struct orr_policy *policy,
	const struct orr_args *policy_args, const char *label, struct run_result *result,
	struct jobs_blocks *blocks, struct orr_error *err);

/* Jobs that can never be placed on the empty cluster: how many, and which is the first.
 * Generators are run through, up to two million jobs. */
int jobs_find_unfit(const struct jobs_config *c, uint64_t *count, struct job_rec *first, struct orr_error *err);

#endif
