/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * causes.h - divides the wait and the run time of each job by cause (--record explain)
 *
 * A wait is divided when it ends, backwards, from three records that all jobs share: the class of each request over time (causes_line),
 * the order of the policy (orr_why()), and the runs that held each node (causes_run). Cost: O(requests with waiting jobs) per instant
 * in which the pool changed, O(nodes of the job) per start and stop, at most MOST_STRETCHES steps per wait. Nothing per waiting job.
 *
 * A job that starts at once and only computes has no parts. Invariant: the parts of any other job cover [submission, end] without gaps.
 * Parts that wait add up to its wait, the others to its run time. docs/howto/explain.md states the rules.
 */
#ifndef ORR_JOBS_CAUSES_H
#define ORR_JOBS_CAUSES_H

#include <orrery/jobs.h>

#include "jobs/job.h"

/* All functions return at once if the run records no parts. */
void causes_begin(struct orr_jobs *w);
/* Divides what is left at the end of the run; moves the parts to the result. Called after metrics_end(), which orders the rows. */
void causes_end(struct orr_jobs *w);
void causes_free(struct orr_jobs *w);

void causes_arrives(struct orr_jobs *w, const struct job *job);
/* The policy learns of a job that a limit of its user held back. */
void causes_admitted(struct orr_jobs *w, const struct job *job);
/* The job has its GPUs and starts now. */
void causes_starts(struct orr_jobs *w, const struct job *job);
/* The job is about to release its GPUs. done, kept: work of this run, and the part of it that is not lost. */
void causes_leaves(struct orr_jobs *w, const struct job *job, int64_t done, int64_t kept);
/* The job waits again. work: work that a stop added. */
void causes_waits(struct orr_jobs *w, const struct job *job, int64_t work, bool is_evicted);
void causes_adds_work(struct orr_jobs *w, const struct job *job, int64_t work);
/* The job has ended. Under --check compares the sums of its parts with its times. was_waiting: it never ran, or waited when it ended. */
void causes_ends(struct orr_jobs *w, const struct job *job, bool was_waiting);
void causes_node(struct orr_jobs *w, uint32_t node, bool is_up);
void causes_instant(struct orr_jobs *w); /* at the end of an instant */

#endif
