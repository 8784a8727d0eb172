/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * preemptive.h - the preemptive pass: reallocates all GPUs in the order of a key, skipping jobs
 * that do not fit (Tiresias' simulator: "shortest", "shortest-gpu", "sjf"). It stops and starts
 * only jobs whose allocation changes.
 *
 * A policy embeds struct preemptive as its first member and gives the key of a job. The keys of running jobs may only decrease
 * with time; those of waiting jobs are constant.
 *
 * The order is a stable sort of the previous order: among equal keys jobs keep their order, and arrivals come last. Each job
 * has a tie, which increases with the pass in which the job got its present key, so sorting by (key, tie) is stable. Waiting
 * jobs are in an orr_queue, running jobs in a nearly sorted array. A pass costs O(running + started log waiting + shapes).
 *
 * Quiet passes: a policy that states when the key of a running job can change (`due`) has passes of O((started + changed) log
 * running) while all jobs have room. In such passes the running jobs are in a heap ordered by that time. The array returns
 * after a pass that finds no room for a job, or in which the placement refuses one. Both forms choose the same jobs.
 *
 * A pass chooses jobs by the budget and places them (gpu_budget.h). A job that cannot be placed waits; the victims selected for
 * it continue, and the next jobs in order get the free GPUs. If only the number of GPUs matters, every chosen job has room once
 * the victims are stopped. A waiting job that may run on several GPU types gets, if possible, a type with enough spare GPUs, on
 * which it stops no other job.
 */
#ifndef ORR_POLICIES_PREEMPTIVE_H
#define ORR_POLICIES_PREEMPTIVE_H

#include "gpu_budget.h"

struct preemptive_job {
	orr_job job;
	int64_t key, tie;
	uint32_t type; /* GPU type on which it runs */
	int64_t milli; /* GPUs in 1/1000 */
	bool is_running;
};

/* A running job in the heap. */
struct preemptive_due {
	int64_t at; /* time before which its key does not change */
	struct preemptive_job job;
};

struct preemptive {
	struct orr_queue *waiting;
	struct preemptive_job *list, *next; /* running jobs in order; next: jobs of the coming pass */
	size_t n, n_next, cap;
	bool has_appended; /* the last pass appended jobs to the running jobs, out of order */
	struct victims out;
	struct gpu_budget budget;
	int64_t pass;
	int64_t arrivals; /* number of arrivals since the last pass */
	bool is_static;   /* the keys of the policy are constant: ties are broken by order of submission */
	int64_t (*key)(void *self, struct orr_jobs *w, orr_job j);
	/* Quiet passes. The policy sets `due` after preemptive_new(), and all_changed when keys change for a reason other than the passing
	 * of time. */
	int64_t (*due)(void *self, struct orr_jobs *w, orr_job j); /* returns the time before which the key is constant; NULL: keys
								    * may change at any time */
	bool all_changed;
	bool is_heap;                          /* running jobs are in heap[], else in list[] */
	int quiet;                             /* number of consecutive passes that had room for all */
	struct preemptive_due *heap, *changed; /* changed: scratch */
	size_t n_heap, cap_heap, n_ended;      /* n_ended: number of jobs in the heap that have ended */
	size_t n_changed, cap_changed;
	int64_t *used;             /* GPUs of the running jobs by type, 1/1000; up to date if `due` is set */
	struct orr_queue *running; /* the jobs of the heap, with their types and GPUs (1/1000) as keys */
};

/* Returns an object of `size` bytes that begins with a struct preemptive. */
void *preemptive_new(struct orr_jobs *w, size_t size, bool is_static, int64_t (*key)(void *self, struct orr_jobs *w, orr_job j));

/* Functions for struct orr_jobs_ops. An evicted job waits again like a new one. */
void preemptive_free(void *self);
void preemptive_arrive(void *self, struct orr_jobs *w, orr_job j);
void preemptive_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how);
void preemptive_evict(void *self, struct orr_jobs *w, orr_job j);
void preemptive_schedule(void *self, struct orr_jobs *w);

/* Runs one pass. stop_cost may be NULL. is_eager: stops all victims before it places any job, and offers no GPUs left free by the
 * placement to other jobs. */
void preemptive_pass(void *self, struct orr_jobs *w, bool is_eager, int64_t (*stop_cost)(const struct orr_job_info *info));

#endif
