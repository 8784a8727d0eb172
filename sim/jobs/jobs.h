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

#include <orrery/jobs.h>

#include "base/param.h"
#include "cluster/cluster.h"
#include "cluster/pool.h"
#include "results/result.h"
#include "results/stats.h"
#include "traces/trace.h"

struct engine;
struct throughput;
struct failures;
struct steprate;
struct capacity_config;

/* Jobs that train and use the same links: not looked at; slowed by arithmetic (share.h); simulated together. */
enum jobs_sharing { JOBS_SHARING_OFF, JOBS_SHARING_ANALYTIC, JOBS_SHARING_SIMULATED };

enum jobs_on_failure { JOBS_REQUEUE, JOBS_KILL };

/* What `--set jobs.NAME=VALUE` sets, as data: the table is jobs_options. */
struct jobs_config {
	const struct jobset *jobs;
	const struct cluster *cluster;
	const struct placement *placement;
	const struct throughput *throughput;    /* NULL: every rate is 1 */
	const struct failures *failures;        /* NULL: nodes never fail */
	const struct capacity_config *capacity; /* NULL: all nodes are there all the time; excludes failures */
	struct steprate *rates;                 /* of jobs that name a strategy; NULL: strategies are ignored. Shared by runs */
	enum jobs_sharing sharing;
	const struct orr_args *options; /* of jobs_options */
	uint64_t seed;
	int64_t until_ns;  /* stop there; ORR_NEVER */
	bool drop_unfit;   /* leave out jobs that can never fit, instead of refusing the run */
	bool check;        /* prove conservation laws as it goes */
	bool record_jobs;  /* fill in result->jobs (up to a million, then a sample) */
	uint64_t max_rows; /* the million; tests lower it */
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
int jobs_run(const struct jobs_config *c, const struct orr_policy *policy, const struct orr_args *policy_args, const char *label,
	struct run_result *result, struct jobs_blocks *blocks, struct orr_error *err);

/*
 * ---- on a clock that is not its own ----
 * Several worlds share an engine and a pool. At each instant whoever owns the clock calls jobs_begin_instant(), lets the
 * events happen with jobs_after_event() after each, then jobs_decide() until no world has anything due now, and
 * jobs_end_instant(). Failures of the config are ignored: the owner tells of nodes.
 */
struct jobs_host {
	struct engine *engine;
	struct pool *pool;           /* of the config's cluster and placement */
	const int64_t *others_milli; /* what others hold of it, in 1/1000 GPU */
};
/* An error that it meets is told by jobs_end(), which is to be called in any case; jobs_is_over() is true then. */
struct orr_jobs *jobs_begin(const struct jobs_config *c, const struct jobs_host *host, const struct orr_policy *policy,
	const struct orr_args *policy_args, const char *label, struct run_result *result, struct jobs_blocks *blocks);
void jobs_begin_instant(struct orr_jobs *w, int64_t t);
void jobs_after_event(struct orr_jobs *w);
bool jobs_decide(struct orr_jobs *w); /* true: something is due at this instant still */
void jobs_end_instant(struct orr_jobs *w);
bool jobs_is_over(const struct orr_jobs *w);
bool jobs_has_failed(const struct orr_jobs *w);
bool jobs_is_due(const struct orr_jobs *w);      /* something has happened that the policy has not been asked about */
uint64_t jobs_given(const struct orr_jobs *w);   /* how often a job has given GPUs back: grows when some may have become free */
double jobs_part_done(const struct orr_jobs *w); /* 0..1, as far as is known */
void jobs_starving(struct orr_jobs *w);          /* nothing will ever happen and jobs wait: the run fails, naming the policy */
void jobs_capacity(struct orr_jobs *w);          /* GPUs became free, or were taken, by somebody else */
/* A node goes (its jobs are evicted; pool_node_down() is the caller's, afterwards) or is there again. */
void jobs_node(struct orr_jobs *w, uint32_t node, bool is_up);
/* Running jobs lose their GPUs as if a node had failed: of the fewest that started last and would do, those without which it would
 * not (the one that has run longest is spared first). Jobs on the nodes `but` are left alone (NULL: none). How many lost them; 0, and
 * nothing has changed: all of them are not enough. */
uint32_t jobs_reclaim(struct orr_jobs *w, const struct pool_request *r, const struct bitset *but);
/* What the running jobs hold, n of them; the caller frees the array, not what it points to. */
const struct pool_alloc **jobs_allocs(const struct orr_jobs *w, size_t *n);
int jobs_end(struct orr_jobs *w, struct orr_error *err); /* frees the world */

/* Jobs that can never be placed on the empty cluster: how many, and which is the first.
 * Generators are run through, up to two million jobs. */
int jobs_find_unfit(const struct jobs_config *c, uint64_t *count, struct job_rec *first, struct orr_error *err);

#endif
