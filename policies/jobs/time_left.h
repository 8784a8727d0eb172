/* SPDX-License-Identifier: GPL-3.0-or-later */
/* time_left.h - the time that a job still needs, from its iterations or an estimate of its run time */
#ifndef ORR_POLICIES_TIME_LEFT_H
#define ORR_POLICIES_TIME_LEFT_H

#include <orrery/jobs.h>

/* Returns the time left on the requested GPUs, s: iterations left x time of one. Without iterations: the user's limit of the run, or
 * the true work of a job without a limit, minus the work done at the present rate; 1 s for a job that runs longer than its limit. */
double time_left_s(struct orr_jobs *w, orr_job j);

#endif
