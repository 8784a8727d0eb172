/* SPDX-License-Identifier: GPL-3.0-or-later */
/* time_left.h - the time that a job still needs, from its iterations or an estimate of its run time */
#ifndef ORR_POLICIES_TIME_LEFT_H
#define ORR_POLICIES_TIME_LEFT_H

#include <orrery/jobs.h>

/* Returns the work left, as time at rate 1, s: iterations left x time of one. Without iterations: the user's limit, or the true work of a
 * job without a limit, minus the work done; 1 s for a job that runs longer than its limit. Costs of starts are not included. */
double time_left_s(struct orr_jobs *w, orr_job j);

/* Returns an estimate of ns nanoseconds at a rate, s. Of it, start_ns are start cost (orr_job_estimate_start_ns()), which takes the same
 * time at any rate. */
double time_at_rate_s(int64_t ns, int64_t start_ns, double rate);

/* Returns the job's rate on the GPU type that it holds; while it waits, on the slowest type on which it may run. 1: a job without GPUs. */
double rate_of_type(struct orr_jobs *w, orr_job j);

#endif
