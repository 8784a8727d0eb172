/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gavel_lp.h - allocations as linear programs (Narayanan et al., "Heterogeneity-Aware
 * Cluster Scheduling Policies for Deep Learning Workloads", OSDI 2020, section 4)
 *
 * An allocation X gives job m the part X[m][j] of the time on GPU type j; its throughput is
 *	thr(m, X) = sum_j throughput[m][j] X[m][j]                         (section 3.1)
 * and every X satisfies (section 3.1, equations 1 to 3)
 *	X[m][j] >= 0,  sum_j X[m][j] <= 1,  sum_m gpus[m] X[m][j] <= gpus_of_type[j].
 * X[m][j] is 0 if the job has no throughput on the type, or requests more GPUs than the type has.
 *
 * Goals:
 *	max-min     max min_m  thr(m, X) / thr(m, X equal) * gpus[m] / weight[m]     (4.1)
 *	            X equal: each job all of its time, spread over the types in proportion to their GPUs
 *	max-sum     max sum_m thr(m, X)                                              (4.2)
 *	finish-time min max_m  rho(m, X) = (elapsed + left / thr(m, X))
 *	                       / (isolated + left / thr(m, X isolated))              (4.2)
 *	            rho is Themis' (Mahajan et al., NSDI 2020); `isolated` is the time that
 *	            the steps done so far would have taken on an equal share
 *	min-duration max min_m  thr(m, X) / left                                     (makespan; its inverse is the makespan)
 *	water-filling as max-min; then, with the jobs that cannot get more kept at their value, the smallest of the others is maximised, and
 *	            so on, until no job can get more: the lexicographic max-min
 *
 * Ties: of all optima, the one with the highest throughput of job 0, then of job 1, and so on; then the one with the most time on
 * the first types, again in job order.
 */
#ifndef ORR_POLICIES_GAVEL_LP_H
#define ORR_POLICIES_GAVEL_LP_H

#include <orrery/api.h>

enum gavel_goal { GAVEL_MAX_MIN, GAVEL_MAX_SUM, GAVEL_FINISH_TIME, GAVEL_MIN_DURATION, GAVEL_WATER_FILLING };

struct gavel_job {
	double gpus;                              /* number of requested GPUs, Gavel's scale factor; > 0 */
	double weight;                            /* weight > 0; max-min only */
	const double *throughput;                 /* throughput by type, steps/s; 0: cannot run there */
	double elapsed_s, isolated_s, steps_left; /* finish-time; min-duration: steps_left; > 0 */
};

struct gavel_problem {
	const struct gavel_job *job; /* jobs in the order of the caller */
	size_t n_jobs;
	const double *gpus_of_type;
	size_t n_types;
};

/* Fills in x[job * n_types + type], and the value of the goal (may be NULL; of min-duration, the
 * makespan in s; of water-filling, the least value). A job that can run on no type gets zeros and is left
 * out of the goal. Values are rounded to 1e-9. */
int gavel_lp_solve(enum gavel_goal goal, const struct gavel_problem *p, double *x, double *value, struct orr_error *err);

/* Computes an equal share of each type: gpus_of_type / (n_jobs * gpus), scaled down to at most all of the job's time (X isolated of
 * section 4.2, as in the published code). */
void gavel_isolated(const struct gavel_problem *p, double *x);

/* Returns thr(m, x); x: the allocation of all jobs. */
double gavel_throughput(const struct gavel_problem *p, size_t job, const double *x);

#endif
