/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rates.h - the speed of a job by GPU type and by size
 *
 * Rates are relative to the reference type and to the size that the job asks for. They come from the throughput table, from the
 * speed-up column of the trace, or, for jobs that train, from the step world (training.h).
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

/* Returns the work of a job in ns at rate 1; -1 with w->error set if it is unknown. */
int64_t work_of(struct orr_jobs *w, const struct job_rec *r);
double rate_on_type(const struct orr_jobs *w, const struct job *job, uint32_t type);
/* Iterations per second; the relative rate if the job states no iterations. */
double throughput_on_type(const struct orr_jobs *w, const struct job *job, uint32_t type);
/* Relative speed at a size; 0: the job does not offer that size. */
double rate_at_size(struct orr_jobs *w, const struct job *job, uint32_t gpus);
/* The row's request to the pool, restricted to the types where its rate is known and positive. */
struct pool_request request_of_row(struct orr_jobs *w, const struct job_rec *r);
/* Parses the row's speed-up table, once per distinct text. False: w->error is set. */
bool speedup_load(struct orr_jobs *w, const struct job_rec *r);
void rates_free(struct orr_jobs *w);

#endif
