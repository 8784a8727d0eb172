/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rates.h - the speed of a job by GPU type and by size
 *
 * Rates are relative to the reference type and to the requested size. They come from the throughput table, from the
 * speed-up column of the trace, from the type's speed (type_speed.h), or, for jobs that train, from the step world (training.h).
 */
#ifndef ORR_JOBS_RATES_H
#define ORR_JOBS_RATES_H

#include "jobs/job.h"
#include "traces/trace.h"

/* One size of an elastic job's speed-up table. */
struct speed {
	uint32_t gpus;
	double rate;
};
struct speedup {
	bool is_parsed;
	uint32_t n;
	struct speed *size; /* ascending */
};
struct speedups {
	struct speedup *of; /* [string number] */
	uint32_t n;
};

/* Models of the class by their names in the trace (type_speed.h). */
struct class_models {
	uint32_t *of; /* by number of the name: model + 2; 1: the class mean applies; 0: not searched yet */
	uint32_t n;
};

/* Finds the source of an arriving job's speeds by GPU type, and counts it. */
void rates_arrive(struct orr_jobs *w, struct job *job, const struct job_rec *r);
/* Returns the work of a job, ns at rate 1; -1 with w->error set if it is unknown. */
int64_t work_of(struct orr_jobs *w, const struct job_rec *r);
double rate_on_type(const struct orr_jobs *w, const struct job *job, uint32_t type);
/* Writes the GPU types in the order in which a job tries them (jobs.type_order); returns their number. */
uint32_t rates_order(const struct orr_jobs *w, const struct job *job, uint32_t type[CLUSTER_MAX_TYPES]);
/* Returns iterations per second; the relative rate if the job states no iterations. */
double throughput_on_type(const struct orr_jobs *w, const struct job *job, uint32_t type);
/* Returns the speed on this number of GPUs, relative to the requested number; 0 if the job does not offer this size. */
double rate_at_size(struct orr_jobs *w, const struct job *job, uint32_t gpus);
/* Returns the largest number of GPUs of one job by the limit of its user (limits.h); UINT32_MAX: no limit. */
uint32_t rates_gpu_limit(const struct orr_jobs *w, const struct job *job);
/* Returns the largest number of GPUs that an elastic job offers; 0 if the job is not elastic. */
uint32_t rates_most_gpus(const struct orr_jobs *w, const struct job *job);
/* Returns the row's request to the pool, restricted to the types whose rate is known and positive. */
struct pool_request request_of_row(struct orr_jobs *w, const struct job_rec *r);
/* Parses the row's speed-up table, once per distinct text. Returns false with w->error set on error. */
bool speedup_load(struct orr_jobs *w, const struct job_rec *r);
void rates_free(struct orr_jobs *w);

#endif
