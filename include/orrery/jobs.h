/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * jobs.h - the jobs world as a scheduling policy sees it
 *
 * Jobs arrive, ask for GPUs (and, if they like, CPUs, memory and GPU types), run
 * and end. A policy is a table of functions (struct orr_jobs_ops) over an object
 * that it makes and frees per run; several runs go on in parallel threads, so
 * keep nothing in static variables.
 *
 * Once per instant at which something changed, or for which the policy set a
 * timer, the world calls finish() for each job that ended, evict() for each that
 * lost its node, arrive() for each that was submitted, and then schedule() once.
 * Only schedule() may act (start, stop, ...); what it does takes effect at once.
 *
 * A policy sees what a real scheduler would: not the true duration of a job, nor
 * the future. One that declares ORR_NEEDS_ORACLE is told, and is marked so in
 * every table.
 *
 * An impossible request (start a job that runs, or on GPUs that are taken) ends
 * the run with an error that names the policy, the job and the time. After such
 * an error every further action is refused, so a policy need not check.
 *
 * Jobs are named by handles with a generation. The handle of a job that has
 * ended is refused, not misread as another job.
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
typedef uint64_t orr_job; /* a job; 0 is none */

enum orr_job_state { ORR_JOB_WAITING, ORR_JOB_RUNNING, ORR_JOB_ENDED };
enum orr_job_end { ORR_END_COMPLETED, ORR_END_KILLED, ORR_END_OVERRUN, ORR_END_NODE_FAILED };

/* What is known of a job. Texts are good until the job ends. */
struct orr_job_info {
	uint64_t number; /* 0, 1, ... in order of submission */
	enum orr_job_state state;
	int64_t submit_ns;
	int64_t limit_ns;      /* the user's limit; -1 none */
	int64_t started_ns;    /* when it last started; -1 never */
	int64_t attained_ns;   /* time running so far */
	double attained_gpu_s; /* the same times GPUs held (a shared one by its part) */
	double priority;       /* from the trace; 0 unless it has one */
	uint32_t gpus;         /* asked for */
	uint32_t gpus_held;    /* running on now; 0 when waiting */
	uint32_t gpu_milli;    /* of each GPU, 1000 = whole */
	int64_t cpu_milli, mem_mib;
	uint64_t gpu_types;          /* bit t set: may run on GPU type t */
	uint32_t gpu_type;           /* runs on that type now; UINT32_MAX: waits, or has no GPU */
	uint32_t shape;              /* equal for jobs that ask for the same; small */
	uint32_t user, queue, model; /* equal numbers, equal names; 0 unknown */
	uint32_t preemptions;        /* so far */
	bool is_elastic;             /* has a rate at several sizes: orr_job_rate_at() */
};

/* ---- asking ---- */
ORR_API int64_t orr_now(const struct orr_jobs *w);
/* False if the handle is of no live job. */
ORR_API bool orr_job_get(const struct orr_jobs *w, orr_job j, struct orr_job_info *out);
ORR_API uint32_t orr_job_gpus(const struct orr_jobs *w, orr_job j); /* asked for */
ORR_API uint32_t orr_job_shape(const struct orr_jobs *w, orr_job j);
ORR_API int64_t orr_job_submit_ns(const struct orr_jobs *w, orr_job j);
ORR_API uint64_t orr_job_number(const struct orr_jobs *w, orr_job j);
ORR_API bool orr_job_is_running(const struct orr_jobs *w, orr_job j);
ORR_API int64_t orr_job_attained_ns(const struct orr_jobs *w, orr_job j);
/* The job's name in the trace; user, queue and model names by their numbers. */
ORR_API const char *orr_job_name(const struct orr_jobs *w, orr_job j);
ORR_API const char *orr_name(const struct orr_jobs *w, uint32_t number);

/* Oracle only (0 otherwise, and the run ends): true work left, as the time it would
 * take at rate 1; and the true total. */
ORR_API int64_t orr_job_remaining_ns(struct orr_jobs *w, orr_job j);
ORR_API int64_t orr_job_duration_ns(struct orr_jobs *w, orr_job j);

/* An estimate of the total run time. LIMIT: the user's limit, from the trace; where the
 * trace has none, the truth. EXACT: the truth times a factor (a predictor with a stated
 * error). The truth is the duration and the run's start cost. A run in which the truth was used is marked oracle in every table. */
enum orr_estimate { ORR_ESTIMATE_LIMIT, ORR_ESTIMATE_EXACT };
ORR_API int64_t orr_job_estimate_ns(struct orr_jobs *w, orr_job j, enum orr_estimate how, double factor);
/* Training iterations of the job, as the user states them (0 unknown), and iterations per
 * second on a GPU type (without a throughput table: the relative rate). */
ORR_API double orr_job_iterations(struct orr_jobs *w, orr_job j);
/* How many of them the job has yet to do, as it reports while it runs (0 unknown). */
ORR_API double orr_job_iterations_left(const struct orr_jobs *w, orr_job j);
ORR_API double orr_job_throughput(const struct orr_jobs *w, orr_job j, uint32_t gpu_type);

/* Relative speed of the job on GPU type t (1 = what its duration was measured on);
 * 0 if it may not or cannot run there. */
ORR_API double orr_job_rate_on(const struct orr_jobs *w, orr_job j, uint32_t gpu_type);
/* Relative speed of an elastic job on that many GPUs (1 = what it asked for);
 * 0 for sizes it does not offer. */
ORR_API double orr_job_rate_at(const struct orr_jobs *w, orr_job j, uint32_t gpus);

/* Live jobs in order of submission: orr_job_first(), then orr_job_next(); 0 at the end. */
ORR_API orr_job orr_job_first(const struct orr_jobs *w);
ORR_API orr_job orr_job_next(const struct orr_jobs *w, orr_job j);

/* Capacity. GPU types are 0 .. orr_gpu_types()-1, in the cluster's order. */
ORR_API uint32_t orr_gpu_types(const struct orr_jobs *w);
ORR_API const char *orr_gpu_type_name(const struct orr_jobs *w, uint32_t gpu_type);
ORR_API uint32_t orr_total_gpus(const struct orr_jobs *w); /* on nodes that are up */
ORR_API uint32_t orr_free_gpus(const struct orr_jobs *w);  /* whole ones */
ORR_API uint32_t orr_total_gpus_of(const struct orr_jobs *w, uint32_t gpu_type);
ORR_API uint32_t orr_free_gpus_of(const struct orr_jobs *w, uint32_t gpu_type);
ORR_API uint32_t orr_nodes(const struct orr_jobs *w);
struct orr_node_info {
	const char *name;
	bool is_up;
	uint32_t gpu_type, gpus, gpus_free; /* whole ones free */
	int64_t cpu_milli, cpu_milli_free, mem_mib, mem_mib_free;
	uint32_t rack;
};
ORR_API bool orr_node_get(const struct orr_jobs *w, uint32_t node, struct orr_node_info *out);
/* Nodes that are lent (--capacity) come and go, may be noticed before they go, and have a price. Nothing starts on one that is
 * noticed: none of its GPUs count as free; what runs there runs until it is stopped, resized or evicted. Elsewhere no node is
 * ever noticed and prices are NAN. */
ORR_API int64_t orr_node_goes_ns(const struct orr_jobs *w, uint32_t node);        /* ORR_NEVER: not noticed */
ORR_API uint32_t orr_going_gpus(const struct orr_jobs *w);                        /* of orr_total_gpus(), those on noticed nodes */
ORR_API uint32_t orr_job_going_gpus(const struct orr_jobs *w, orr_job j);         /* of those that it holds */
ORR_API double orr_gpu_usd_per_hour(const struct orr_jobs *w, uint32_t gpu_type); /* now, mean of the nodes that are up */
/* Would orr_try_start(w, j) succeed now? */
ORR_API bool orr_fits(struct orr_jobs *w, orr_job j);
/* Would it (on that GPU type; ORR_ANY_TYPE for any) if these running jobs were stopped
 * first? Stops nothing. */
#define ORR_ANY_TYPE UINT32_MAX
ORR_API bool orr_fits_without(struct orr_jobs *w, orr_job j, uint32_t gpu_type, const orr_job *stopped, size_t n);

/* ---- acting, in schedule() only ---- */

/* Starts a waiting job where the run's placement puts it; false if there is no room. */
ORR_API bool orr_try_start(struct orr_jobs *w, orr_job j);
/* The same, restricted to one GPU type. */
ORR_API bool orr_try_start_on_type(struct orr_jobs *w, orr_job j, uint32_t gpu_type);
/* Starts an elastic job on a number of GPUs that it offers; false if there is no room. */
ORR_API bool orr_try_start_sized(struct orr_jobs *w, orr_job j, uint32_t gpus);
/* Starts a waiting job on n nodes, gpus[i] whole GPUs on node[i]: they must be free and
 * add up to what the job asks for (an elastic job: to a size it offers). */
ORR_API void orr_start_at(struct orr_jobs *w, orr_job j, const uint32_t *node, const uint32_t *gpus, size_t n);
/* Takes a running job off its GPUs; it waits again, with its work kept. */
ORR_API void orr_stop(struct orr_jobs *w, orr_job j);
/* The same, and adds to the work left (a checkpoint to read back, say). */
ORR_API void orr_stop_with_cost(struct orr_jobs *w, orr_job j, int64_t cost_ns);
/* Ends a job for good, running or waiting; it counts as killed. finish() is called after
 * schedule() returns, and schedule() again. */
ORR_API void orr_kill(struct orr_jobs *w, orr_job j);
/* Adds work to a job (an emulated cost); work_ns >= 0. */
ORR_API void orr_add_work(struct orr_jobs *w, orr_job j, int64_t work_ns);
/* Gives a running elastic job another size; false (and nothing changed) if no room. */
ORR_API bool orr_resize(struct orr_jobs *w, orr_job j, uint32_t gpus);
/* Asks for a schedule() call at that time (now or later). Timers do not replace each
 * other; calls at one instant are limited (jobs.max_calls_per_instant). */
ORR_API void orr_timer(struct orr_jobs *w, int64_t at_ns);
/* Ends the run with a message of the policy's own. */
ORR_API void orr_give_up(struct orr_jobs *w, orr_job j, const char *message);

/* ---- a queue for policies ----
 * Waiting jobs in order of (key, tie), grouped by shape, so that a pass that starts
 * what fits and skips what does not costs O(log n) per job started plus O(1) per
 * shape, however many jobs wait. Holds each job at most once.
 *
 *	struct orr_walk walk;
 *	orr_walk_begin(q, &walk);
 *	for (orr_job j; (j = orr_walk_next(&walk)); )
 *		if (orr_try_start(w, j))
 *			orr_queue_remove(q, j);   // the walk goes on behind it
 *		else
 *			orr_walk_skip_shape(&walk); // none of this shape will fit now
 *	orr_walk_end(&walk);
 *
 * During a walk, remove none but the job given last, and add none.
 */
struct orr_queue;
struct orr_walk {
	struct orr_queue *queue;
	void *state;
	orr_job at;
};
ORR_API struct orr_queue *orr_queue_new(const struct orr_jobs *w);
ORR_API void orr_queue_free(struct orr_queue *q);
ORR_API void orr_queue_add(struct orr_queue *q, orr_job j, int64_t key, int64_t tie);
/* The same with a number beside the order, by which a walk can pass over jobs:
 * orr_walk_limit_shape(). orr_queue_add() gives 0. */
ORR_API void orr_queue_add2(struct orr_queue *q, orr_job j, int64_t key, int64_t tie, int64_t second);
ORR_API bool orr_queue_remove(struct orr_queue *q, orr_job j); /* false: was not in */
ORR_API bool orr_queue_has(const struct orr_queue *q, orr_job j);
ORR_API size_t orr_queue_size(const struct orr_queue *q);
ORR_API orr_job orr_queue_first(struct orr_queue *q); /* 0: empty */
/* The key and tie that j was added with; j must be in the queue. */
ORR_API int64_t orr_queue_key(const struct orr_queue *q, orr_job j);
ORR_API int64_t orr_queue_tie(const struct orr_queue *q, orr_job j);
ORR_API int64_t orr_queue_second(const struct orr_queue *q, orr_job j);
ORR_API void orr_walk_begin(struct orr_queue *q, struct orr_walk *walk);
ORR_API orr_job orr_walk_next(struct orr_walk *walk);    /* 0: the end */
ORR_API orr_job orr_walk_peek(struct orr_walk *walk);    /* what next would give */
ORR_API void orr_walk_skip_shape(struct orr_walk *walk); /* the shape of the last one given */
/* From here on, of the shape of the last one given, only jobs with second <= max_second:
 * O(log n), however many are passed over. Backfilling asks so for the first job that is
 * short enough. The shape's last limit counts; it never leads back. */
ORR_API void orr_walk_limit_shape(struct orr_walk *walk, int64_t max_second);
ORR_API void orr_walk_end(struct orr_walk *walk);

/* ---- what a policy gives ---- */
struct orr_jobs_ops {
	/* The object; NULL with *err filled in if the parameters make no sense. */
	void *(*create)(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err);
	void (*destroy)(void *self);
	void (*arrive)(void *self, struct orr_jobs *w, orr_job j);
	/* The job is no more; its handle still answers until this returns. */
	void (*finish)(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how);
	/* A node failed; the job waits again. NULL: treated as finish and arrive. */
	void (*evict)(void *self, struct orr_jobs *w, orr_job j);
	void (*schedule)(void *self, struct orr_jobs *w);
	/* Capacity joined or left, was noticed, or changed its price, before this schedule() call. May be NULL. */
	void (*capacity)(void *self, struct orr_jobs *w);
};

/* A policy of this world: see policy.h. ORR_NEEDS_ORACLE: sees true durations. */
#define ORR_POLICY_JOBS_FLAGS(ident, doc, flags, params, ops) \
	ORR_POLICY_DECLARE(ident, ident, doc, "jobs", flags, params, struct orr_jobs_ops, ops)
#define ORR_POLICY_JOBS(ident, doc, params, ops) ORR_POLICY_JOBS_FLAGS(ident, doc, 0u, params, ops)
#define ORR_POLICY_JOBS_ORACLE(ident, doc, params, ops) ORR_POLICY_JOBS_FLAGS(ident, doc, ORR_NEEDS_ORACLE, params, ops)

#ifdef __cplusplus
}
#endif
#endif
