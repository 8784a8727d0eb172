/* SPDX-License-Identifier: GPL-3.0-or-later */
/* time_left.h - the time that a job still needs, as its iterations or an estimate of its run time tell */
#ifndef ORR_POLICIES_TIME_LEFT_H
#define ORR_POLICIES_TIME_LEFT_H

#include <orrery/jobs.h>

/* Returns the time left on the requested GPUs, s: iterations left x time of one; of a job without iterations, the user's limit of its run
 * (without one, its true work), less what a running job has done at its present rate. Of a job that runs longer than its limit, 1 s. */
double time_left_s(struct orr_jobs *w, orr_job j);

#endif
