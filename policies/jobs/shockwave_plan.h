/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shockwave_plan.h - the market of shockwave: how many of the next rounds each job has
 *
 *	maximise  sum w log(U + offset) / sum w - lambda H / H0      under sum g n <= GPUs x window
 *
 * U: share of the job's work done after n rounds; H: the largest of the rounds left of each job, and of the GPU rounds left over all GPUs;
 * H0: H for n = 0. Each logarithm is replaced by `pieces` chords of equal length, so that the program is linear.
 */
#ifndef ORR_POLICIES_SHOCKWAVE_PLAN_H
#define ORR_POLICIES_SHOCKWAVE_PLAN_H

#include <orrery/api.h>

struct shockwave_market {
	double gpus, round_s, offset, lambda;
	int window, pieces;
};

struct shockwave_job {
	double gpus, alone_s, left_s, weight; /* run time alone, at least left_s; left_s above 0 */
	double rounds;                        /* the answer: from 0 to min(window, ceil(left_s / round_s)), not always whole */
};

/* Sets `rounds` of each job. Returns ORR_EFAIL if the solver fails. */
int shockwave_plan(const struct shockwave_market *m, struct shockwave_job *job, size_t n, struct orr_error *err);

#endif
