/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sia_choose.h - the integer program of Sia (Jayaram Subramanya et al., "Sia: Heterogeneity-aware, goodput-optimized ML-cluster
 * scheduling", SOSP 2023; rules of its published code, siasosp23/artifacts aaf7a0d)
 *
 * A job has options: GPUs of one type on some nodes. S is the goodput of an option over the smallest goodput of the job's options, times
 *the restart factor if the job has GPUs and the option is not its present one. With x in {0, 1}:
 *
 *	minimise  sum A x + lambda (jobs - sum x),  A = S^p        subject to  sum of x <= 1 per job, GPUs of a type <= those it has
 */
#ifndef ORR_POLICIES_SIA_CHOOSE_H
#define ORR_POLICIES_SIA_CHOOSE_H

#include <orrery/api.h>

struct sia_option {
	uint32_t type, gpus;
	double s;    /* goodput, by sia_normalise() over the job's least; 0: not allowed */
	double cost; /* A; set by sia_costs() */
};

struct sia_job {
	struct sia_option *option;
	size_t n;
	double restart_factor;
	size_t present; /* its present option; SIZE_MAX: none */
	bool is_pinned; /* keeps the present option */
	size_t chosen;  /* by sia_choose(); SIZE_MAX: none */
};

struct sia_problem {
	struct sia_job *job;
	size_t n_jobs;
	const double *gpus_of_type;
	size_t n_types;
	double power, lambda;
	double gap;      /* relative distance from the optimum at which branch and bound may end; 0: the optimum */
	bool is_rounded; /* rules=sia: A in float32, rounded to 2 decimals, at most 3000; an option that is not allowed has S = 1e-4 */
};

/* Divides the goodputs of a job's options by the smallest of those that are allowed. */
void sia_normalise(const struct sia_problem *p, struct sia_job *job);
/* Sets the costs of a job's options. */
void sia_costs(const struct sia_problem *p, struct sia_job *job);
/* Chooses an option for each job, or none. Among optima of equal cost the one with the fewest GPUs is chosen, then present options, then
 * the first jobs. Programs of up to 2^25 = (jobs + 16) x product of (GPUs + 1) are solved exactly by knapsack.h, others by branch and
 * bound. *objective (may be NULL) receives the minimum. Costs must be set. */
int sia_choose(struct sia_problem *p, double *objective, struct orr_error *err);

#endif
