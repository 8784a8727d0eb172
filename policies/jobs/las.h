/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * las.h - common part of las and las-gpu: queues by attained service (Gu et al., "Tiresias", NSDI 2019, section 3.2: discretised
 * two-dimensional LAS)
 *
 * Queue i holds jobs whose attained service is below limits[i]; the last queue has no limit. A pass gives GPUs to the queues
 * from the first to the last, and to the jobs of a queue in order, skipping jobs that do not fit. All other running jobs are
 * victims (gpu_budget.h). A job moves down at most one queue per pass, to the tail. After the pass, the running jobs of a queue
 * precede its waiting jobs.
 *
 * With `promote`, a job that waits this long after its last stop returns to the tail of the first queue, and its service counts from 0
 * again: else it would move down at once.
 *
 * Each queue is an array of running jobs, in order, followed by an orr_queue of waiting jobs. Keys of the waiting jobs count down
 * at the front (jobs that ran until now) and up at the tail. Their tie is their wait in all up to the last stop or promotion, their second
 * key is from_ns. A pass costs O(running + started log waiting + shapes).
 */
#ifndef ORR_POLICIES_LAS_H
#define ORR_POLICIES_LAS_H

#include "gpu_budget.h"

struct las_job {
	orr_job job;
	uint64_t number;
	int64_t milli;   /* GPUs in 1/1000 */
	int64_t from_ns; /* service counts from this attained running time on: that at the last promotion */
	uint32_t gpus, type;
	bool stays; /* the job was chosen in this pass */
};

struct las_list {
	struct las_job *v;
	size_t n, cap;
};

struct las_queue {
	struct las_list running, tail; /* tail: jobs moved down from the queue above in this pass */
	struct orr_queue *waiting;
	int64_t front, back;
};

struct las {
	bool counts_gpus;   /* service counts GPUs: time x GPUs */
	bool is_tiresias;   /* the time of the next check mixes units, like Tiresias' simulator */
	int64_t promote_ns; /* 0: never */
	size_t n;           /* queues */
	double *limit;      /* n - 1 limits, in seconds or GPU-seconds */
	struct las_queue *queue;
	struct las_list chosen; /* waiting jobs to be started */
	struct victims out;
	struct gpu_budget budget;
	int64_t next_look; /* time at which a running job next reaches a limit */
	bool is_due;       /* the state has changed since the last pass */
};

#define LAS_PARAMS                                                                                       \
	ORR_PARAM_LIST("limits", "3250s,7200s", "attained service at which a job moves one queue down"), \
		ORR_PARAM_TIME("promote", "0",                                                           \
			"wait since the last stop after which a job returns to the first queue, and its service to 0; 0: never")

/* Functions for struct orr_jobs_ops. */
void *las_create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err);
void las_destroy(void *self);
void las_arrive(void *self, struct orr_jobs *w, orr_job j);
void las_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how);
void las_evict(void *self, struct orr_jobs *w, orr_job j);
void las_capacity(void *self, struct orr_jobs *w);
void las_schedule(void *self, struct orr_jobs *w);

#endif
