/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * depend.h - jobs.dependencies=on: a job whose user waited for a preceding job is submitted at the end of that job plus the think time
 *
 * (Standard Workload Format, fields 17 and 18.) The recorded submit time of such a job is not used. If the trace lacks the preceding job,
 * the recorded submit time is used.
 */
#ifndef ORR_JOBS_DEPEND_H
#define ORR_JOBS_DEPEND_H

#include "jobs/job.h"
#include "traces/trace.h"

struct depend {
	uint32_t *first, *next; /* by row: row + 1 of the first job that waits for this row, and of the next job in the list; 0: none */
	bool *waits;            /* by row */
	uint64_t n_held;        /* rows that have not been submitted */
};

/* Returns ORR_OK, or an error at the first row that names a later job or itself. */
int depend_check(const struct jobset *s, struct orr_error *err);
void depend_begin(struct orr_jobs *w);
void depend_free(struct orr_jobs *w);
/* Returns whether the row is submitted later, by depend_ended(). */
bool depend_holds(const struct orr_jobs *w, const struct job_rec *row);
/* Submits the jobs that waited for the job with this number, after their think time. Called at the end of an instant. With a think time of
 * 0 such a job arrives at the same time, after all decisions. */
void depend_ended(struct orr_jobs *w, uint64_t number);

#endif
