/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * jobs.h - the jobs world: one policy's replay of a trace of jobs on a cluster
 *
 * Each run has its own state, so parallel threads may run one jobset, cluster and policy.
 *
 * Progress is work done at a rate. Work is counted in ns at rate 1, the speed at which the trace's duration was measured. After
 * the start cost, a time dt at rate r completes r * dt of work. With a throughput table, the rate is the ratio of
 * throughput(model, GPU type) to that of the reference type; without one, type_speed.h gives it. The rate of an elastic job is
 * multiplied by the speed-up of its size. A job that names a model and a strategy has a rate from the step world (steprate.h):
 * samples/s in its place, while other jobs share its links, over samples/s on the reference place (shape.h). This rate may
 * change while the job runs.
 */
#ifndef ORR_JOBS_JOBS_H
#define ORR_JOBS_JOBS_H

#include <orrery/jobs.h>

#include "base/param.h"
#include "cluster/cluster.h"
#include "cluster/datasets.h"
#include "cluster/pool.h"
#include "jobs/interference.h"
#include "results/result.h"
#include "results/stats.h"
#include "results/warmup.h"
#include "traces/trace.h"

#include <stdatomic.h>

struct engine;
struct flowset;
struct throughput;
struct type_speeds;
struct type_draw;
struct failures;
struct steprate;
struct capacity_config;
struct adapt;
struct quota_set;

/* Effect of shared links on jobs that train: none; a slowdown by a formula (share.h); joint simulation in the step world. */
enum jobs_sharing { JOBS_SHARING_OFF, JOBS_SHARING_ANALYTIC, JOBS_SHARING_SIMULATED };

enum jobs_on_failure { JOBS_REQUEUE, JOBS_KILL };

/* Inputs that a run depended on. The bits below are those of enum step_use, for jobs that train. */
enum jobs_use {
	JOBS_USED_PLACEMENT = 1 << 16,    /* the default placement rule would have chosen other GPUs */
	JOBS_USED_SPEEDS = 1 << 17,       /* a rate other than 1 of a job that ran, or in an answer to the policy */
	JOBS_USED_TYPE_ORDER = 1 << 18,   /* jobs.type_order=fastest put a type before an earlier type of the cluster */
	JOBS_USED_REPEAT = 1 << 19,       /* the run was longer than the trace of instances */
	JOBS_USED_CHECKPOINT = 1 << 20,   /* a job that lost a node continued from a checkpoint */
	JOBS_USED_WARMUP = 1 << 21,       /* a mean differs without jobs.warmup */
	JOBS_USED_DEPENDENCIES = 1 << 23, /* a job was submitted at another time than recorded */
	JOBS_USED_INTERFERENCE = 1 << 24, /* jobs shared GPUs, or the policy asked for their rates */
	JOBS_USED_STAGES = 1 << 25,       /* the period of interleaved stages was used or asked for */
	JOBS_USED_TRIES = 1 << 29,        /* a start on any type tried several GPU types in order, or the policy asked for that order */
	JOBS_USED_GANTT = 1 << 28,        /* a job started that only one of jobs.gantt and its default covers */
	JOBS_USED_SHARING = 1 << 22 /* jobs slowed each other down on a link; with sharing=off: two jobs had routes over the same link */
};

enum { JOBS_GANTT = 200 }; /* default of jobs.gantt */

struct jobs_config {
	const struct jobset *jobs;
	const struct cluster *cluster;
	const struct placement *placement;
	const struct throughput *throughput;    /* NULL: none */
	const struct type_speeds *speeds;       /* speeds by GPU type of jobs without a rate in the table; NULL: every rate is 1 */
	const struct type_draw *draw;           /* draw of these speeds; NULL: the class mean */
	const struct adapt *adapt;              /* jobs that adapt their batch (adapt.h); NULL: none */
	const struct failures *failures;        /* NULL: nodes never fail */
	const struct capacity_config *capacity; /* lent nodes; NULL: all nodes are always present; excludes failures */
	const struct quota_set *partitions;     /* quotas by queue; NULL: none */
	const struct flowset *flows;            /* flows that rows of the trace name; NULL: none */
	enum dataset_rule memory;               /* rule for data sets of flows */
	enum interference interference;         /* speed of jobs that share their GPUs */
	const double *gpu_mem_mib;              /* memory of a GPU by type, MiB; 0: unknown; NULL: all unknown */
	bool dependencies;                      /* rows wait for their preceding job: --set jobs.dependencies=on */
	struct steprate *rates;                 /* rates of jobs that name a strategy; NULL: strategies are ignored. Shared by runs */
	enum jobs_sharing sharing;
	const struct orr_args *options; /* values of jobs_options: --set jobs.NAME=VALUE */
	uint64_t seed;
	uint64_t replication;  /* index of the random streams */
	int64_t until_ns;      /* end of the run; ORR_NEVER: none */
	struct warmup warm_up; /* values excluded from means and quantiles over jobs */
	bool drop_unfit;       /* omit jobs that can never fit; false: such a job is an error */
	bool completed_only;   /* exclude from all means the jobs whose recorded status is known and is not completed */
	bool check;            /* check the conservation laws at run time */
	bool metrics_only;     /* no events of jobs and nodes, no series: the result keeps metrics and notes only */
	bool record_jobs;      /* fill in result->jobs: all rows up to max_rows, then a sample */
	const char *decisions; /* file that receives the policy's decisions (decisions.h); NULL: none */
	bool explain;          /* fill in result->parts (--record explain) */
	uint64_t max_rows;     /* default a million; tests lower it */
	double policy_timeout_s;
	const struct placement *compare; /* rule for pool_compare(): the default rule; NULL: none */
	atomic_uint *used;               /* receives bits of enum jobs_use and step_use; may be NULL */
	/* Called repeatedly with the completed share (0..1), in the run's thread. May be NULL. */
	void (*progress)(void *ctx, double part);
	void *progress_ctx;
};

extern const struct orr_param jobs_options[];

/* Sums by block of job number, for paired differences between runs. */
struct jobs_blocks {
	struct blocks jct, wait, slowdown;
};

/* Runs one policy. policy_args: values of the policy's own table. label: for messages and the result. Error codes: ORR_EINPUT for
 * the trace or the cluster, ORR_EFAIL for the policy. */
int jobs_run(const struct jobs_config *c, const struct orr_policy *policy, const struct orr_args *policy_args, const char *label,
	struct run_result *result, struct jobs_blocks *blocks, struct orr_error *err);

/*
 * ---- on a shared clock ---- Several worlds share an engine and a pool. At each instant the owner of the clock calls
 * jobs_begin_instant(). It runs the events and calls jobs_after_event() after each. It calls jobs_decide() until no world has a
 * call due now, and then jobs_end_instant(). Failures of the config are ignored: the owner reports nodes by jobs_node().
 */
struct jobs_host {
	struct engine *engine;
	struct pool *pool;           /* pool of the config's cluster and placement */
	const int64_t *others_milli; /* GPUs that other worlds use, 1/1000 */
};
/* Begins a run. After an error jobs_is_over() is true, and jobs_end() returns the error; jobs_end() must be called in any case. */
struct orr_jobs *jobs_begin(const struct jobs_config *c, const struct jobs_host *host, const struct orr_policy *policy,
	const struct orr_args *policy_args, const char *label, struct run_result *result, struct jobs_blocks *blocks);
void jobs_begin_instant(struct orr_jobs *w, int64_t t);
void jobs_after_event(struct orr_jobs *w);
bool jobs_decide(struct orr_jobs *w); /* returns true if it must be called again at this instant */
void jobs_end_instant(struct orr_jobs *w);
bool jobs_is_over(const struct orr_jobs *w);
bool jobs_has_failed(const struct orr_jobs *w);
bool jobs_is_due(const struct orr_jobs *w);      /* returns whether a call of the policy is due */
uint64_t jobs_given(const struct orr_jobs *w);   /* number of times that a job has released GPUs; if it has increased, GPUs may be
						  * free */
double jobs_part_done(const struct orr_jobs *w); /* returns 0..1; 0 if the trace has no known length */
void jobs_starving(struct orr_jobs *w); /* fails the run with an error that names the policy, because jobs wait and no event is left */
/*
 * To be called before each instant. Returns whether nothing but timers of the policy can start a job, and a great number of them in a row
 * have started none. others: number of pending events that start no job. may_be_short: jobs may wait for nodes that never return; if
 * false, the run fails with an error that names the policy.
 */
bool jobs_is_futile(struct orr_jobs *w, uint64_t others, bool may_be_short);
void jobs_capacity(struct orr_jobs *w); /* reports that another world took or freed GPUs */
/* For --record explain: another world has taken GPUs, or is about to free them. Waits are blamed on the holder, a text that outlives the
 * run, such as "replicas". Returns the hold, for the second function. Both do nothing if the run records no parts. */
uint32_t jobs_others_take(struct orr_jobs *w, const struct pool_alloc *alloc, const char *holder);
void jobs_others_give(struct orr_jobs *w, const struct pool_alloc *alloc, uint32_t hold);
/* Reports that a node goes down or comes up. Evicts its jobs; the caller calls pool_node_down() or pool_node_up() afterwards. why:
 * reason in the rows of events, "node-failed", "preempted" (a lent node left) or "notice" (it left after its notice); NULL: the node
 * comes up. */
void jobs_node(struct orr_jobs *w, uint32_t node, const char *why);
/* Evicts running jobs to make room for r, as if their nodes had failed. Candidates are the smallest sufficient number of jobs,
 * latest start first. Of these, each job that is not needed keeps its GPUs, longest run first. Jobs on the nodes `but` (may be NULL)
 * are exempt. Returns the number of evicted jobs; 0, without effect, if all candidates do not suffice. */
uint32_t jobs_reclaim(struct orr_jobs *w, const struct pool_request *r, const struct bitset *but);
/* Returns the allocations of the n running jobs. The caller frees the array, not its elements. */
const struct pool_alloc **jobs_allocs(const struct orr_jobs *w, size_t *n);
int jobs_end(struct orr_jobs *w, struct orr_error *err); /* frees the world */

/* Counts the jobs that do not fit on the empty cluster, and returns the first of them. Reads at most two million jobs. */
int jobs_find_unfit(const struct jobs_config *c, uint64_t *count, struct job_rec *first, struct orr_error *err);

#endif
