/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * jobs.h - the jobs world: one policy's replay of a trace of jobs on a cluster
 *
 * Each run has its own state, so parallel threads may run one jobset, cluster and policy.
 *
 * Progress is work done at a rate. Work is counted in ns at rate 1, the speed at which the trace's duration was measured. After the
 * start cost, a time dt at rate r does r * dt of it. With a throughput table, the rate is throughput(model, GPU type) / that of
 * the reference type; without one it is that of type_speed.h. For an elastic job it is multiplied by the speed-up of its size. A job that
 * names a model and a strategy has the rate of the step world (steprate.h): samples/s in its place, beside the jobs that share its links,
 * over samples/s on the reference place (shape.h). Such a rate may change while the job runs.
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

#include <stdatomic.h>

struct engine;
struct throughput;
struct type_speeds;
struct type_draw;
struct failures;
struct steprate;
struct capacity_config;

/* Jobs that train and share links: unaffected; slowed by a formula (share.h); simulated together in the step world. */
enum jobs_sharing { JOBS_SHARING_OFF, JOBS_SHARING_ANALYTIC, JOBS_SHARING_SIMULATED };

enum jobs_on_failure { JOBS_REQUEUE, JOBS_KILL };

/* Inputs that a run depended on; the bits below are those of enum step_use, of jobs that train. */
enum jobs_use {
	JOBS_USED_PLACEMENT = 1 << 16,  /* the default rule would have chosen other GPUs */
	JOBS_USED_SPEEDS = 1 << 17,     /* a rate other than 1, of a job that ran or in an answer to the policy */
	JOBS_USED_TYPE_ORDER = 1 << 18, /* jobs.type_order=fastest put a type before an earlier one of the cluster */
	JOBS_USED_REPEAT = 1 << 19,     /* the run outlasted the trace of instances */
	JOBS_USED_CHECKPOINT = 1 << 20, /* a job that lost a node continued from a checkpoint */
	JOBS_USED_WARMUP = 1 << 21,     /* a mean differs without jobs.warmup */
	JOBS_USED_SHARING = 1 << 22     /* jobs slowed each other on a link; with sharing=off: two jobs had routes over a link */
};

struct jobs_config {
	const struct jobset *jobs;
	const struct cluster *cluster;
	const struct placement *placement;
	const struct throughput *throughput;    /* NULL: none */
	const struct type_speeds *speeds;       /* by GPU type, of jobs without a rate in the table; NULL: every rate is 1 */
	const struct type_draw *draw;           /* of these speeds; NULL: the class mean */
	const struct failures *failures;        /* NULL: nodes never fail */
	const struct capacity_config *capacity; /* NULL: all nodes are present all the time; excludes failures */
	struct steprate *rates;                 /* of jobs that name a strategy; NULL: strategies are ignored. Shared by runs */
	enum jobs_sharing sharing;
	const struct orr_args *options; /* of jobs_options: --set jobs.NAME=VALUE */
	uint64_t seed;
	uint64_t replication; /* index of the random streams */
	int64_t until_ns;     /* end of the run; ORR_NEVER: none */
	bool drop_unfit;      /* leave out jobs that can never fit; false: they are an error */
	bool completed_only;  /* jobs whose recorded status is known and is not completed are in no mean */
	bool check;           /* check conservation laws at run time */
	bool record_jobs;     /* fill in result->jobs: up to max_rows, then a sample */
	uint64_t max_rows;    /* a million; tests lower it */
	double policy_timeout_s;
	const struct placement *compare; /* pool_compare(): the default rule; NULL: none */
	atomic_uint *used;               /* bits of enum jobs_use and step_use are set; may be NULL */
	/* Called repeatedly with the part done (0..1), in the run's thread. May be NULL. */
	void (*progress)(void *ctx, double part);
	void *progress_ctx;
};

extern const struct orr_param jobs_options[];

/* Sums by block of job number, for paired differences between runs. */
struct jobs_blocks {
	struct blocks jct, wait, slowdown;
};

/* Runs one policy. policy_args: of the policy's own table. label: for messages and the result. Error codes: ORR_EINPUT for the trace
 * or the cluster, ORR_EFAIL for the policy. */
int jobs_run(const struct jobs_config *c, const struct orr_policy *policy, const struct orr_args *policy_args, const char *label,
	struct run_result *result, struct jobs_blocks *blocks, struct orr_error *err);

/*
 * ---- on a shared clock ----
 * Several worlds share an engine and a pool. At each instant the owner of the clock calls jobs_begin_instant(), runs the events and
 * calls jobs_after_event() after each, calls jobs_decide() until no world has anything due now, and then jobs_end_instant().
 * Failures of the config are ignored: the owner reports nodes by jobs_node().
 */
struct jobs_host {
	struct engine *engine;
	struct pool *pool;           /* of the config's cluster and placement */
	const int64_t *others_milli; /* used by other worlds, in 1/1000 GPU */
};
/* After an error jobs_is_over() is true and jobs_end(), which must always be called, returns it. */
struct orr_jobs *jobs_begin(const struct jobs_config *c, const struct jobs_host *host, const struct orr_policy *policy,
	const struct orr_args *policy_args, const char *label, struct run_result *result, struct jobs_blocks *blocks);
void jobs_begin_instant(struct orr_jobs *w, int64_t t);
void jobs_after_event(struct orr_jobs *w);
bool jobs_decide(struct orr_jobs *w); /* true: call again at this instant */
void jobs_end_instant(struct orr_jobs *w);
bool jobs_is_over(const struct orr_jobs *w);
bool jobs_has_failed(const struct orr_jobs *w);
bool jobs_is_due(const struct orr_jobs *w);      /* a call of the policy is due */
uint64_t jobs_given(const struct orr_jobs *w);   /* number of times that a job has released GPUs: if it grew, GPUs may be free */
double jobs_part_done(const struct orr_jobs *w); /* 0..1; 0 if the trace has no known length */
void jobs_starving(struct orr_jobs *w);          /* jobs wait and no event is left: fails the run, naming the policy */
void jobs_capacity(struct orr_jobs *w);          /* another world took or freed GPUs */
/* A node goes down or comes up. Its jobs are evicted; the caller calls pool_node_down() or pool_node_up() afterwards. why: reason in
 * the rows of events, "node-failed", "preempted" (a lent node left) or "notice" (it left after its notice); NULL: comes up. */
void jobs_node(struct orr_jobs *w, uint32_t node, const char *why);
/* Evicts running jobs to make room for r, as if their nodes had failed. Candidates are the fewest jobs, latest start first, that
 * suffice; then each one that is not needed keeps its GPUs, longest run first. Jobs on the nodes `but` (may be NULL) are exempt. Returns
 * the number of evicted jobs; 0, with nothing changed, if all of them do not suffice. */
uint32_t jobs_reclaim(struct orr_jobs *w, const struct pool_request *r, const struct bitset *but);
/* The allocations of the n running jobs; the caller frees the array, not its elements. */
const struct pool_alloc **jobs_allocs(const struct orr_jobs *w, size_t *n);
int jobs_end(struct orr_jobs *w, struct orr_error *err); /* frees the world */

/* Counts the jobs that do not fit on the empty cluster, and returns the first. Reads at most two million jobs. */
int jobs_find_unfit(const struct jobs_config *c, uint64_t *count, struct job_rec *first, struct orr_error *err);

#endif
