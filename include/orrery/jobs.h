/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * jobs.h - the interface between the jobs world and a scheduling policy
 *
 * Jobs arrive, request GPUs (and optionally CPUs, memory and GPU types), run and end. A policy is a table of functions (struct
 * orr_jobs_ops) and an object that it creates and frees in each run. Runs execute in parallel threads: keep no state in static
 * variables.
 *
 * At each instant with a change or a timer of the policy, the world calls finish() for each job that ended, then evict() for
 * each job that lost its node, then arrive() for each submitted job, and then schedule() once. Only schedule() may act (start,
 * stop, ...). Its actions take effect at once.
 *
 * A policy sees what a real scheduler sees: neither the true duration of a job nor the future. A policy that declares
 * ORR_NEEDS_ORACLE sees true durations and is marked *oracle* in every table.
 *
 * An impossible action (starting a running job, or on GPUs in use) ends the run with an error that names the policy, the job and
 * the time. After such an error all actions are no-ops, so a policy need not check for it.
 *
 * Jobs are identified by handles with a generation. The handle of an ended job is invalid; it never refers to another job.
 *
 * Times: int64_t ns. Attained service: GPU seconds as a double.
 */
#ifndef ORRERY_JOBS_H
#define ORRERY_JOBS_H

#include <orrery/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

struct orr_jobs;          /* the world */
typedef uint64_t orr_job; /* handle of a job; 0: no job */

enum orr_job_state { ORR_JOB_WAITING, ORR_JOB_RUNNING, ORR_JOB_ENDED };
/* ORR_END_PRUNED: a stage of a flow whose branch lost or was pruned; it may have been waiting. */
enum orr_job_end { ORR_END_COMPLETED, ORR_END_KILLED, ORR_END_OVERRUN, ORR_END_NODE_FAILED, ORR_END_PRUNED };

/* Properties of a job that a policy can read. */
struct orr_job_info {
	uint64_t number; /* number of the job: 0, 1, ... in order of submission */
	enum orr_job_state state;
	int64_t submit_ns;     /* submission time; for a stage, the time at which its inputs were ready */
	int64_t limit_ns;      /* the user's time limit; -1: no limit */
	int64_t started_ns;    /* time of the last start; -1: never started */
	int64_t attained_ns;   /* running time so far, ns */
	double attained_gpu_s; /* running time x GPUs held; for a shared GPU, the job's share of it */
	int64_t deadline_ns;   /* latest acceptable end; -1: none */
	double priority;       /* priority in the trace; 0: none */
	uint32_t gpus;         /* requested */
	uint32_t gpus_held;    /* number of GPUs that the job runs on; 0: it waits */
	uint32_t gpu_milli;    /* share of each GPU in 1/1000; 1000: whole GPUs */
	int64_t cpu_milli, mem_mib;
	uint64_t gpu_types; /* bit t set: may run on GPU type t */
	uint32_t gpu_type;  /* type of the GPUs held; UINT32_MAX: none held */
	uint32_t shape;     /* number of the job's shape, 0, 1, ..: equal for jobs with equal requests that are all rigid or all elastic */
	uint32_t user, queue, model; /* numbers of the names, 0: unknown; equal names have equal numbers (orr_name()) */
	uint32_t preemptions;        /* so far */
	bool is_elastic;             /* the job offers several sizes, see orr_job_rate_at() */
};

/* ---- queries ---- */
ORR_API int64_t orr_now(const struct orr_jobs *w);
/* Fills in *info; returns false if no live job has this handle. The queries of one property below then return 0. */
ORR_API bool orr_job_get(const struct orr_jobs *w, orr_job j, struct orr_job_info *out);
ORR_API uint32_t orr_job_gpus(const struct orr_jobs *w, orr_job j); /* requested */
ORR_API uint32_t orr_job_shape(const struct orr_jobs *w, orr_job j);
ORR_API int64_t orr_job_submit_ns(const struct orr_jobs *w, orr_job j);
ORR_API uint64_t orr_job_number(const struct orr_jobs *w, orr_job j);
ORR_API bool orr_job_is_running(const struct orr_jobs *w, orr_job j);
ORR_API int64_t orr_job_attained_ns(const struct orr_jobs *w, orr_job j);
/* Returns the job's name in the trace ("" if it has none), or the name of a user, queue or model by its number. Valid until the job
 * ends. */
ORR_API const char *orr_job_name(const struct orr_jobs *w, orr_job j);
ORR_API const char *orr_name(const struct orr_jobs *w, uint32_t number);

/* Returns the remaining true work, as time at rate 1, or the total true work. Ends the run unless the policy declares
 * ORR_NEEDS_ORACLE. */
ORR_API int64_t orr_job_remaining_ns(struct orr_jobs *w, orr_job j);
ORR_API int64_t orr_job_duration_ns(struct orr_jobs *w, orr_job j);

/* An estimate of the total run time. LIMIT: the user's limit in the trace; if there is none, the truth. EXACT: the truth times a
 * factor (a predictor with a stated error). The truth is the duration plus the start cost of the present run, or of the next run of a
 * waiting job; if that has run before, it counts as a move to other nodes. A run that used the truth is marked *oracle* in every table. */
enum orr_estimate { ORR_ESTIMATE_LIMIT, ORR_ESTIMATE_EXACT };
ORR_API int64_t orr_job_estimate_ns(struct orr_jobs *w, orr_job j, enum orr_estimate how, double factor);
/* An estimate of the present run, or of the next run of a waiting job: as above, but the truth is the work that remained, or remains, at
 * the start of that run plus the start cost. It is below the duration after a preemption, or if a checkpoint survived a node failure. After
 * a restart the whole limit of the user applies again, as under Slurm. */
ORR_API int64_t orr_job_estimate_run_ns(struct orr_jobs *w, orr_job j, enum orr_estimate how, double factor);
/* Returns the start cost in the above estimates: it takes this time at any rate, while the rest is work at rate 1. 0 of a limit. */
ORR_API int64_t orr_job_estimate_start_ns(const struct orr_jobs *w, orr_job j, enum orr_estimate how, double factor);
/* Returns the training iterations of the job as the user states them; 0: unknown. */
ORR_API double orr_job_iterations(struct orr_jobs *w, orr_job j);
/* Returns the iterations left, as a running job reports them; 0: unknown. */
ORR_API double orr_job_iterations_left(const struct orr_jobs *w, orr_job j);
/* Returns the work done and not lost, as time at rate 1, as the job reports it. Costs added to the work are subtracted. */
ORR_API int64_t orr_job_done_ns(const struct orr_jobs *w, orr_job j);
/* Returns iterations per second on a GPU type; the relative rate if the job states no iterations. */
ORR_API double orr_job_throughput(const struct orr_jobs *w, orr_job j, uint32_t gpu_type);

/* Returns the speed of the job on a GPU type relative to the type on which its duration was measured; 0: it may not or cannot run on
 * this type. */
ORR_API double orr_job_rate_on(const struct orr_jobs *w, orr_job j, uint32_t gpu_type);
/* Returns the speed of an elastic job on `gpus` GPUs relative to the requested number; 0: a size that it does not offer. */
ORR_API double orr_job_rate_at(const struct orr_jobs *w, orr_job j, uint32_t gpus);

/* Jobs that adapt their batch (--applications; docs/models/jobs-goodput.md). Returns the goodput in samples/s on `gpus` GPUs of `nodes`
 * nodes, with the batch that the job would choose in its present epoch, by the model that it believes (option `belief`): useful samples,
 * throughput x statistical efficiency. 0: the job does not adapt, or cannot run there. Such a job is elastic; orr_start_at() gives it any
 * GPUs up to orr_job_most_gpus(). */
ORR_API double orr_job_goodput(const struct orr_jobs *w, orr_job j, uint32_t nodes, uint32_t gpus);
/* As above, on GPUs of one type: by the application's own model of the type, or by its first model times the type's rate. */
ORR_API double orr_job_goodput_on(const struct orr_jobs *w, orr_job j, uint32_t gpu_type, uint32_t nodes, uint32_t gpus);
/* Returns the largest number of GPUs on which a job that adapts can run; of another job, its request. */
ORR_API uint32_t orr_job_most_gpus(const struct orr_jobs *w, orr_job j);

/* ---- jobs that share GPUs (docs/models/jobs-packing.md) ----
 * Several jobs may run on the same whole GPUs: orr_start_beside(). Their speeds follow from --interference. Each has an equal part of the
 * GPU time. */
#define ORR_MOST_SHARING 8
/* Writes at most `most` of the jobs that share the GPUs of a running job; returns their number. */
ORR_API size_t orr_job_mates(const struct orr_jobs *w, orr_job j, orr_job *mate, size_t most);
/* Returns the rate of the job when it shares GPUs of this type with n other jobs, relative to its rate alone; 0: they cannot share GPUs. */
ORR_API double orr_job_rate_beside(struct orr_jobs *w, orr_job j, const orr_job *others, size_t n, uint32_t gpu_type);
/* Returns whether orr_start_beside(w, j, other) would succeed now. */
ORR_API bool orr_fits_beside(struct orr_jobs *w, orr_job j, orr_job other);
/* Writes the seconds of the storage, GPU and network stages of an iteration; returns false if they are unknown. */
ORR_API bool orr_job_stages(struct orr_jobs *w, orr_job j, double seconds[3]);
/* Returns the seconds in which each of n jobs makes one iteration if their stages are interleaved on the same GPUs, regardless of
 * --interference; of one job, its iteration time alone. 0: unknown. */
ORR_API double orr_interleaved_iteration_s(struct orr_jobs *w, const orr_job *jobs, size_t n);

/* Iterate over live jobs in order of submission; return 0 at the end. */
ORR_API orr_job orr_job_first(const struct orr_jobs *w);
ORR_API orr_job orr_job_next(const struct orr_jobs *w, orr_job j);

/* Return the capacity. GPU types are 0 .. orr_gpu_types()-1, in the cluster's order. */
ORR_API uint32_t orr_gpu_types(const struct orr_jobs *w);
ORR_API const char *orr_gpu_type_name(const struct orr_jobs *w, uint32_t gpu_type);
/* Writes at most `most` GPU types in the order in which orr_try_start() tries them for this job. Option jobs.type_order sets that
 * order: the cluster's, or the fastest for the job first. Returns the number of types written. */
ORR_API uint32_t orr_job_type_order(const struct orr_jobs *w, orr_job j, uint32_t *type, uint32_t most);
ORR_API uint32_t orr_total_gpus(const struct orr_jobs *w); /* number of GPUs on nodes that are up */
ORR_API uint32_t orr_free_gpus(const struct orr_jobs *w);  /* whole GPUs */
ORR_API uint32_t orr_total_gpus_of(const struct orr_jobs *w, uint32_t gpu_type);
ORR_API uint32_t orr_free_gpus_of(const struct orr_jobs *w, uint32_t gpu_type);
ORR_API uint32_t orr_nodes(const struct orr_jobs *w);
struct orr_node_info {
	const char *name;
	bool is_up;
	uint32_t gpu_type, gpus, gpus_free;                       /* gpus_free: whole GPUs */
	int64_t cpu_milli, cpu_milli_free, mem_mib, mem_mib_free; /* INT64_MAX: unlimited */
	uint32_t rack;
};
/* Fills in *info; returns false if no node has this number. */
ORR_API bool orr_node_get(const struct orr_jobs *w, uint32_t node, struct orr_node_info *out);
/* Lent nodes (--capacity) join and leave, may be given notice before they leave, and have a price. No job starts on a node given
 * notice: its GPUs do not count as free. Jobs on it run until they are stopped, resized or evicted. Without --capacity no node is
 * given notice and prices are NAN. */
ORR_API int64_t orr_node_goes_ns(const struct orr_jobs *w, uint32_t node);        /* time at which the node leaves; ORR_NEVER: no
										   * notice */
ORR_API uint32_t orr_going_gpus(const struct orr_jobs *w);                        /* number of GPUs on nodes given notice, part of
										   * orr_total_gpus() */
ORR_API uint32_t orr_job_going_gpus(const struct orr_jobs *w, orr_job j);         /* number of the job's GPUs on nodes given notice */
ORR_API double orr_gpu_usd_per_hour(const struct orr_jobs *w, uint32_t gpu_type); /* current mean price per GPU and hour over the
										   * nodes that are up */
/* Returns whether orr_try_start(w, j) would succeed now. */
ORR_API bool orr_fits(struct orr_jobs *w, orr_job j);
/* Returns whether the job would fit (on that GPU type; ORR_ANY_TYPE for any) if the listed running jobs were stopped. Stops none. */
#define ORR_ANY_TYPE UINT32_MAX
ORR_API bool orr_fits_without(struct orr_jobs *w, orr_job j, uint32_t gpu_type, const orr_job *stopped, size_t n);

/* ---- flows ----
 * A stage is a job that waited for others of its flow: it arrives when its inputs are ready. A branch is one combination of values of
 * the explores around a stage. The world drops branches that lose and prunes those that a choose no longer needs; finish() is called
 * for their stages with ORR_END_PRUNED. docs/models/jobs-flows.md. */
struct orr_stage {
	uint64_t flow;            /* 0, 1, ... in order of submission */
	uint64_t order;           /* position in a depth-first walk of the flow from its sink, the branches of an explore in order */
	const char *op;           /* name of the operator; valid as long as the run */
	uint32_t depth;           /* number of explores around the stage */
	uint64_t branch, explore; /* numbers of the innermost branch around the stage and of the explore of this branch, unique in the run;
				     0: none */
	uint32_t index, branches; /* position of the innermost branch in its explore, and number of branches of this explore; 0 and
				      1 outside explores */
	double value;             /* value of the innermost branch */
	double parallel;          /* product of the numbers of branches of all explores around it */
	uint32_t rung;            /* number of scored stages before the stage in its branch */
	bool is_scored, is_last;  /* is_scored: the stage gives a score; is_last: the choose of the innermost explore
				   * selects branches by this score */
	bool is_lower_better;     /* the choose of the innermost explore prefers lower scores */
};
/* Fills in *info; returns false if the job is not a stage of a flow. */
ORR_API bool orr_stage_get(const struct orr_jobs *w, orr_job j, struct orr_stage *out);
/* Returns the score of a stage that has ended. May be called in finish(). Ends the run if the stage has not completed or gives no score. */
ORR_API double orr_stage_score(struct orr_jobs *w, orr_job j);
/* Returns the bytes of the stage's inputs on a node, in the memory or on the disk of the node. */
ORR_API int64_t orr_stage_bytes_on(const struct orr_jobs *w, orr_job j, uint32_t node);

/* ---- actions, in schedule() only ---- */

/* Drops the innermost branch of a waiting or running stage: its stages end with ORR_END_PRUNED, and the choose continues without it. */
ORR_API void orr_prune_branch(struct orr_jobs *w, orr_job j);

/* Starts a waiting job on the nodes that the placement rule of the run chooses. Returns false if the job does not fit. */
ORR_API bool orr_try_start(struct orr_jobs *w, orr_job j);
/* Like orr_try_start(), restricted to one GPU type. */
ORR_API bool orr_try_start_on_type(struct orr_jobs *w, orr_job j, uint32_t gpu_type);
/* Starts an elastic job at a size that the job offers. Returns false if it does not fit. */
ORR_API bool orr_try_start_sized(struct orr_jobs *w, orr_job j, uint32_t gpus);
/* Starts a waiting job on n nodes, gpus[i] whole GPUs on node[i]. The GPUs must be free and add up to the job's request (of an
 * elastic job: to a size that it offers). With --partitions and several GPU types, a start that the quota does not allow has no
 * effect: the job waits (orr_job_is_running()). */
ORR_API void orr_start_at(struct orr_jobs *w, orr_job j, const uint32_t *node, const uint32_t *gpus, size_t n);
/* As orr_start_at(), but returns false, without effect, if the free GPUs, CPUs or memory of these nodes, or the quota of its partition,
 * do not suffice. */
ORR_API bool orr_try_start_at(struct orr_jobs *w, orr_job j, const uint32_t *node, const uint32_t *gpus, size_t n);
/* Starts a waiting job on the GPUs of a running one, with the same number of GPUs; both may have further jobs beside them. */
ORR_API void orr_start_beside(struct orr_jobs *w, orr_job j, orr_job other);
/* Lets a running job work only this part of its time, 0 < part <= 1, until it stops. */
ORR_API void orr_set_slice(struct orr_jobs *w, orr_job j, double part);
/* Stops a running job, which waits again and keeps its completed work. */
ORR_API void orr_stop(struct orr_jobs *w, orr_job j);
/* Stops a running job and adds cost_ns >= 0 to its remaining work (for example, the time to read a checkpoint). */
ORR_API void orr_stop_with_cost(struct orr_jobs *w, orr_job j, int64_t cost_ns);
/* Ends a running or waiting job, which counts as killed. After schedule() returns, the world calls finish() and then schedule()
 * again. */
ORR_API void orr_kill(struct orr_jobs *w, orr_job j);
/* Adds work to a job (an emulated cost); work_ns >= 0. */
ORR_API void orr_add_work(struct orr_jobs *w, orr_job j, int64_t work_ns);
/* Sets the remaining work of a waiting job, left_ns >= 0, and marks the run *oracle*: for a policy that restates another simulator's model
 * of jobs, whose work changes while they run. */
ORR_API void orr_set_left(struct orr_jobs *w, orr_job j, int64_t left_ns);
/* Changes the size of a running elastic job by a stop and a start. Returns false, without effect, if the new size does not fit. */
ORR_API bool orr_resize(struct orr_jobs *w, orr_job j, uint32_t gpus);
/* Requests a schedule() call at that time; a past time counts as now. A timer does not replace another one. The number of calls at
 * one instant is limited (jobs.max_calls_per_instant). */
ORR_API void orr_timer(struct orr_jobs *w, int64_t at_ns);
/* Ends the run with the policy's message. j: the job named in the message, or 0. */
ORR_API void orr_give_up(struct orr_jobs *w, orr_job j, const char *message);

/* ---- reasons, for orrery explain ----
 * States why waiting jobs that would fit do not start. The reason holds until the next one, so a policy repeats it in each schedule() or
 * states it once. Optional; free of effects on the run, and free of cost unless the run has --record explain.
 *	ORR_WHY_NONE      no reason any more
 *	ORR_WHY_ORDER     jobs start strictly in order; blamed: the first (0: none waits)
 *	ORR_WHY_RESERVED  free resources are kept for the job `blamed`
 *	ORR_WHY_HELD      `text` says why jobs are held back: "next round"
 * text: a literal, or a text that outlives the run; NULL except with ORR_WHY_HELD. */
enum orr_why_kind { ORR_WHY_NONE, ORR_WHY_ORDER, ORR_WHY_RESERVED, ORR_WHY_HELD };
ORR_API void orr_why(struct orr_jobs *w, enum orr_why_kind kind, orr_job blamed, const char *text);

/* ---- a queue for policies ----
 * Waiting jobs in order of (key, tie, job number), grouped by shape. A pass that starts the jobs that fit and skips the others costs
 * O(log n) per job started plus O(1) per shape. Holds each job at most once.
 *
 *	struct orr_walk walk;
 *	orr_walk_begin(q, &walk);
 *	for (orr_job j; (j = orr_walk_next(&walk)); )
 *		if (orr_try_start(w, j))
 *			orr_queue_remove(q, j);   // the walk continues after it
 *		else
 *			orr_walk_skip_shape(&walk); // no other job of this shape fits now
 *	orr_walk_end(&walk);
 *
 * During a walk, add no job and remove only the job returned last.
 */
struct orr_queue;
struct orr_walk {
	struct orr_queue *queue;
	void *state;
	orr_job at;
};
ORR_API struct orr_queue *orr_queue_new(const struct orr_jobs *w);
ORR_API void orr_queue_free(struct orr_queue *q); /* a queue that is left when destroy() returns is an error of a plugin */
/* Adds a job that is not in the queue; for another key, remove it first. */
ORR_API void orr_queue_add(struct orr_queue *q, orr_job j, int64_t key, int64_t tie);
/* Adds a job with a second number, which does not affect the order; orr_walk_limit_shape() skips jobs by it. orr_queue_add() sets it
 * to 0. */
ORR_API void orr_queue_add2(struct orr_queue *q, orr_job j, int64_t key, int64_t tie, int64_t second);
ORR_API bool orr_queue_remove(struct orr_queue *q, orr_job j); /* returns false if the job was not in the queue */
ORR_API bool orr_queue_has(const struct orr_queue *q, orr_job j);
ORR_API size_t orr_queue_size(const struct orr_queue *q);
ORR_API orr_job orr_queue_first(struct orr_queue *q); /* 0: empty */
/* Return the numbers with which j was added; 0 if it is not in the queue. */
ORR_API int64_t orr_queue_key(const struct orr_queue *q, orr_job j);
ORR_API int64_t orr_queue_tie(const struct orr_queue *q, orr_job j);
ORR_API int64_t orr_queue_second(const struct orr_queue *q, orr_job j);
ORR_API void orr_walk_begin(struct orr_queue *q, struct orr_walk *walk);
ORR_API orr_job orr_walk_next(struct orr_walk *walk);    /* returns 0 at the end */
ORR_API orr_job orr_walk_peek(struct orr_walk *walk);    /* returns the job that orr_walk_next() would return */
ORR_API void orr_walk_skip_shape(struct orr_walk *walk); /* skips all jobs of the shape of the job returned last */
/* Restricts the rest of the walk, for the shape of the job returned last, to jobs with second <= max_second. Backfilling uses it to
 * find the first job that is short enough. O(log n), regardless of the number of skipped jobs. The last limit of a shape applies. A
 * walk only moves forward. */
ORR_API void orr_walk_limit_shape(struct orr_walk *walk, int64_t max_second);
ORR_API void orr_walk_end(struct orr_walk *walk);

/* ---- rounds, for policies that decide every N seconds ----
 * At each decision the policy lists what runs until the next one. Jobs that already run as listed keep their GPUs (their lease is
 * renewed); all other running jobs are stopped, and then the rest of the list starts, the largest requests first. A job listed at
 * another size than it has, for which there is no room, also keeps its GPUs if they stay free.
 *
 *	if (orr_round_is_due(r)) {
 *		orr_round_begin(r);
 *		orr_round_add(r, jobs, n, 0, ORR_ANY_TYPE); // for each job, or group of jobs on the same GPUs
 *		orr_round_apply(r);
 *	}
 */
struct orr_round;
ORR_API struct orr_round *orr_round_new(struct orr_jobs *w, int64_t period_ns); /* period 0: a decision at each change */
ORR_API void orr_round_free(struct orr_round *r);
/* Returns whether a period has passed since the last decision, or no job runs; otherwise schedule() will be called when it has. After a
 * decision schedule() is called again a period later, while jobs are live. */
ORR_API bool orr_round_is_due(struct orr_round *r);
ORR_API void orr_round_begin(struct orr_round *r);
/* Lists n jobs that run together, on `gpus` GPUs (0: the request) of a type (ORR_ANY_TYPE: any). A job is listed at most once. */
ORR_API void orr_round_add(struct orr_round *r, const orr_job *jobs, size_t n, uint32_t gpus, uint32_t gpu_type);
/* Makes the running jobs those of the list. Returns the number of listed jobs that wait because they do not fit. */
ORR_API size_t orr_round_apply(struct orr_round *r);

/* ---- callbacks of a policy ---- */
struct orr_jobs_ops {
	/* Returns the policy's object; NULL with *err filled in if the parameters are invalid. */
	void *(*create)(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err);
	void (*destroy)(void *self);
	void (*arrive)(void *self, struct orr_jobs *w, orr_job j);
	/* The job has ended; its handle is valid until this returns. */
	void (*finish)(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how);
	/* The job lost its node and waits again. NULL: the world calls finish() and arrive() instead. */
	void (*evict)(void *self, struct orr_jobs *w, orr_job j);
	void (*schedule)(void *self, struct orr_jobs *w);
	/* Called before schedule() if nodes joined, left, were given notice or changed price. May be NULL. */
	void (*capacity)(void *self, struct orr_jobs *w);
};

/* Declares a policy of the jobs world: see policy.h. ORR_NEEDS_ORACLE: the policy sees true durations. */
#define ORR_POLICY_JOBS_FLAGS(ident, doc, flags, params, ops) \
	ORR_POLICY_DECLARE(ident, ident, doc, "jobs", flags, params, struct orr_jobs_ops, ops)
#define ORR_POLICY_JOBS(ident, doc, params, ops) ORR_POLICY_JOBS_FLAGS(ident, doc, 0u, params, ops)
#define ORR_POLICY_JOBS_ORACLE(ident, doc, params, ops) ORR_POLICY_JOBS_FLAGS(ident, doc, ORR_NEEDS_ORACLE, params, ops)

#ifdef __cplusplus
}
#endif
#endif
