/* SPDX-License-Identifier: GPL-3.0-or-later */
/* time_left.h - the time that a job still needs, from its iterations or an estimate of its run time */
#ifndef ORR_POLICIES_TIME_LEFT_H
#define ORR_POLICIES_TIME_LEFT_H

#include <orrery/jobs.h>

/* Returns the work left, as time at rate 1, s: iterations left x time of one. Without iterations: the user's limit, or the true work of a
 * job without a limit, minus the work done; 1 s for a job that runs longer than its limit. */
double time_left_s(struct orr_jobs *w, orr_job j);

/* Returns the job's rate on the GPU type that it holds; while it waits, on the slowest type on which it may run. 1: a job without GPUs. */
double rate_of_type(struct orr_jobs *w, orr_job j);

#endif
