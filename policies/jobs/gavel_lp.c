/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gavel_lp.h"

#include "lexlp.h"

#include <math.h>

static bool may_run(const struct gavel_problem *p, size_t job, size_t type)
{
	return p->job[job].throughput[type] > 0 && p->job[job].gpus <= p->gpus_of_type[type];
}

double gavel_throughput(const struct gavel_problem *p, size_t job, const double *x)
{
	double sum = 0;
	for (size_t t = 0; t < p->n_types; t++)
		sum += p->job[job].throughput[t] * x[job * p->n_types + t];
	return sum;
}

void gavel_isolated(const struct gavel_problem *p, double *x)
{
	for (size_t m = 0; m < p->n_jobs; m++) {
		double sum = 0, *row = x + m * p->n_types;
		for (size_t t = 0; t < p->n_types; t++) {
			row[t] = may_run(p, m, t) ? p->gpus_of_type[t] / (double)p->n_jobs / p->job[m].gpus : 0;
			sum += row[t];
		}
		for (size_t t = 0; sum > 1 && t < p->n_types; t++)
			row[t] /= sum;
	}
}

/* Returns the throughput of a job that spreads all its time over the types in proportion to their GPUs. */
static double equal_throughput(const struct gavel_problem *p, size_t m)
{
	double sum = 0, all = 0;
	for (size_t t = 0; t < p->n_types; t++) {
		all += p->gpus_of_type[t];
		if (may_run(p, m, t))
			sum += p->job[m].throughput[t] * p->gpus_of_type[t];
	}
	return all > 0 ? sum / all : 0;
}

static double best_throughput(const struct gavel_problem *p, size_t m)
{
	double best = 0;
	for (size_t t = 0; t < p->n_types; t++)
		if (may_run(p, m, t))
			best = fmax(best, p->job[m].throughput[t]);
	return best;
}

/* ---- columns and constraints of the linear program common to all objectives ---- */

struct model {
	const struct gavel_problem *p;
	struct lexlp *lp;
	int *col;     /* column by [job * n_types + type]; -1: none */
	double *unit; /* divisor of throughputs by job; 0: the job is left out */
	double *best; /* x of all columns, as returned by the solver */
	int extra;    /* the column added by the goal; -1: none */
};

static void model_free(struct model *m)
{
	lexlp_free(m->lp);
	orr_free(m->col);
	orr_free(m->best);
	orr_free(m);
}

/* Adds the columns and the constraints of every allocation. */
static struct model *model_new(const struct gavel_problem *p, double *unit)
{
	struct model *m = orr_alloc(1, sizeof *m);
	*m = (struct model){ .p = p, .lp = lexlp_new(), .unit = unit, .extra = -1 };
	m->col = orr_alloc(p->n_jobs * p->n_types + 1, sizeof *m->col);
	m->best = orr_alloc(p->n_jobs * p->n_types + 2, sizeof *m->best);
	for (size_t j = 0; j < p->n_jobs; j++) {
		int row = unit[j] > 0 ? lexlp_row(m->lp, -INFINITY, 1) : -1;
		for (size_t t = 0; t < p->n_types; t++) {
			int *col = &m->col[j * p->n_types + t];
			*col = row >= 0 && may_run(p, j, t) ? lexlp_col(m->lp, 0, INFINITY) : -1;
			if (*col >= 0)
				lexlp_set(m->lp, row, *col, 1);
		}
	}
	for (size_t t = 0; t < p->n_types; t++) {
		int row = lexlp_row(m->lp, -INFINITY, 1);
		for (size_t j = 0; j < p->n_jobs; j++)
			if (m->col[j * p->n_types + t] >= 0)
				lexlp_set(m->lp, row, m->col[j * p->n_types + t], p->job[j].gpus / p->gpus_of_type[t]);
	}
	return m;
}

/* Returns the coefficient of x[j][t] in the job's throughput, in its unit. */
static double coefficient(const struct model *m, size_t j, size_t t)
{
	return m->p->job[j].throughput[t] / m->unit[j];
}

static void put_throughput(struct model *m, int row, size_t j)
{
	for (size_t t = 0; t < m->p->n_types; t++)
		if (m->col[j * m->p->n_types + t] >= 0)
			lexlp_set(m->lp, row, m->col[j * m->p->n_types + t], coefficient(m, j, t));
}

/* Adds the second stage: each job's throughput, in job order. */
static void put_job_order(struct model *m)
{
	for (size_t j = 0; j < m->p->n_jobs; j++) {
		if (!(m->unit[j] > 0))
			continue;
		int goal = lexlp_goal(m->lp);
		for (size_t t = 0; t < m->p->n_types; t++)
			if (m->col[j * m->p->n_types + t] >= 0)
				lexlp_goal_set(m->lp, goal, m->col[j * m->p->n_types + t], coefficient(m, j, t));
	}
}

static int model_solve(struct model *m, double *x, struct orr_error *err)
{
	int rc = lexlp_solve(m->lp, m->best, err);
	for (size_t i = 0; !rc && i < m->p->n_jobs * m->p->n_types; i++)
		x[i] = m->col[i] >= 0 ? fmax(0, m->best[m->col[i]]) : 0;
	return rc;
}

/* ---- max-min: max y with thr(m, X) / unit >= y ---- */

static double max_min_value(const struct gavel_problem *p, const double *unit, const double *x)
{
	double least = INFINITY;
	for (size_t j = 0; j < p->n_jobs; j++)
		if (unit[j] > 0)
			least = fmin(least, gavel_throughput(p, j, x) / unit[j]);
	return least;
}

static int solve_max_min(const struct gavel_problem *p, double *unit, double *x, struct orr_error *err)
{
	struct model *m = model_new(p, unit);
	m->extra = lexlp_col(m->lp, 0, INFINITY);
	lexlp_goal_set(m->lp, lexlp_goal(m->lp), m->extra, 1);
	for (size_t j = 0; j < p->n_jobs; j++) {
		if (!(unit[j] > 0))
			continue;
		int row = lexlp_row(m->lp, 0, INFINITY);
		put_throughput(m, row, j);
		lexlp_set(m->lp, row, m->extra, -1);
	}
	put_job_order(m);
	int rc = model_solve(m, x, err);
	model_free(m);
	return rc;
}

/* ---- max-sum ---- */

static int solve_max_sum(const struct gavel_problem *p, double *unit, double *x, struct orr_error *err)
{
	double largest = 0;
	for (size_t j = 0; j < p->n_jobs; j++)
		largest = fmax(largest, unit[j]);
	struct model *m = model_new(p, unit);
	int goal = lexlp_goal(m->lp);
	for (size_t j = 0; j < p->n_jobs; j++)
		for (size_t t = 0; t < p->n_types; t++)
			if (m->col[j * p->n_types + t] >= 0)
				lexlp_goal_set(m->lp, goal, m->col[j * p->n_types + t], p->job[j].throughput[t] / largest);
	put_job_order(m);
	int rc = model_solve(m, x, err);
	model_free(m);
	return rc;
}

/*
 * ---- finish-time fairness ----
 *
 * With u = thr(m, X) / thr(m, X isolated), T = isolated + left / thr(m, X isolated),
 * a = elapsed / T and b = left / thr(m, X isolated) / T: rho = a + b / u. The goal is to minimise the largest of these ratios
 * of linear functions of X. The method is Dinkelbach's for such programs, with denominators scaled by their last values
 * (Crouzeix,
 * Ferland and Schaible, "An algorithm for generalized fractional programs", JOTA 47, 1985, and their note in JOTA 50, 1986):
 * from
 * X', whose largest ratio is rho, solve
 *	max y  with  u - y u' / (rho - a) >= b / (rho - a)
 * and repeat from the new X until y is 0. It starts from X isolated, where u is 1. rho decreases superlinearly.
 */
struct fairness {
	double a, b, u;
};

enum { MAX_PASSES = 100 };
static const double PROGRESS = 1e-12;

static double largest_rho(const struct gavel_problem *p, const double *unit, const double *x, struct fairness *f)
{
	double largest = 0;
	for (size_t j = 0; j < p->n_jobs; j++) {
		if (!(unit[j] > 0))
			continue;
		const struct gavel_job *job = &p->job[j];
		double left_s = job->steps_left / unit[j], whole_s = job->isolated_s + left_s;
		double u = gavel_throughput(p, j, x) / unit[j];
		struct fairness of = { job->elapsed_s / whole_s, left_s / whole_s, u };
		if (f)
			f[j] = of;
		largest = fmax(largest, of.a + of.b / u);
	}
	return largest;
}

/* Performs one pass from the last X, which f describes; is_last: with the second stage. */
static int finish_time_pass(
	const struct gavel_problem *p, double *unit, const struct fairness *f, double rho, bool is_last, double *x, struct orr_error *err)
{
	struct model *m = model_new(p, unit);
	m->extra = lexlp_col(m->lp, 0, INFINITY);
	lexlp_goal_set(m->lp, lexlp_goal(m->lp), m->extra, 1);
	for (size_t j = 0; j < p->n_jobs; j++) {
		if (!(unit[j] > 0))
			continue;
		double room = rho - f[j].a;
		int row = lexlp_row(m->lp, f[j].b / room, INFINITY);
		put_throughput(m, row, j);
		lexlp_set(m->lp, row, m->extra, -f[j].u / room);
	}
	if (is_last)
		put_job_order(m);
	int rc = model_solve(m, x, err);
	model_free(m);
	return rc;
}

static int finish_time(const struct gavel_problem *p, double *unit, struct fairness *f, double *x, struct orr_error *err)
{
	double rho = largest_rho(p, unit, x, f), before = INFINITY;
	for (int pass = 0; pass < MAX_PASSES && rho < before * (1 - PROGRESS); pass++) {
		int rc = finish_time_pass(p, unit, f, rho, false, x, err);
		if (rc)
			return rc;
		before = rho;
		rho = fmin(rho, largest_rho(p, unit, x, f));
	}
	return finish_time_pass(p, unit, f, rho, true, x, err);
}

static int solve_finish_time(const struct gavel_problem *p, double *unit, double *x, struct orr_error *err)
{
	struct fairness *f = orr_alloc(p->n_jobs + 1, sizeof *f);
	gavel_isolated(p, x);
	int rc = finish_time(p, unit, f, x, err);
	orr_free(f);
	return rc;
}

/* ---- any goal ---- */

static bool any_can_run(const struct gavel_problem *p)
{
	for (size_t j = 0; j < p->n_jobs; j++)
		if (best_throughput(p, j) > 0)
			return true;
	return false;
}

/* Gives each job all of its time on its fastest type (ties: the first). Returns whether this is a valid allocation; if so, it is
 * optimal for every goal, also with respect to ties. */
static bool all_at_best(const struct gavel_problem *p, double *left, double *x)
{
	for (size_t t = 0; t < p->n_types; t++)
		left[t] = p->gpus_of_type[t];
	for (size_t i = 0; i < p->n_jobs * p->n_types; i++)
		x[i] = 0;
	for (size_t j = 0; j < p->n_jobs; j++) {
		double best = best_throughput(p, j);
		size_t t = 0;
		while (t < p->n_types && !(may_run(p, j, t) && p->job[j].throughput[t] == best))
			t++;
		if (t == p->n_types)
			continue;
		x[j * p->n_types + t] = 1;
		left[t] -= p->job[j].gpus;
		if (left[t] < 0)
			return false;
	}
	return true;
}

static double value_of(enum gavel_goal goal, const struct gavel_problem *p, const double *unit, const double *x)
{
	double sum = 0;
	switch (goal) {
	case GAVEL_MAX_MIN:
		return max_min_value(p, unit, x);
	case GAVEL_FINISH_TIME:
		return largest_rho(p, unit, x, NULL);
	case GAVEL_MAX_SUM:
		break;
	}
	for (size_t j = 0; j < p->n_jobs; j++)
		sum += gavel_throughput(p, j, x);
	return sum;
}

/* Sets the unit of each job's throughput for the goal; 0: the job is left out. */
static void fill_units(enum gavel_goal goal, const struct gavel_problem *p, double *unit, double *scratch)
{
	gavel_isolated(p, scratch);
	for (size_t j = 0; j < p->n_jobs; j++)
		switch (goal) {
		case GAVEL_MAX_MIN:
			unit[j] = equal_throughput(p, j) * p->job[j].weight / p->job[j].gpus;
			break;
		case GAVEL_MAX_SUM:
			unit[j] = best_throughput(p, j);
			break;
		case GAVEL_FINISH_TIME:
			unit[j] = gavel_throughput(p, j, scratch);
			break;
		}
}

static int solve_program(enum gavel_goal goal, const struct gavel_problem *p, double *unit, double *x, struct orr_error *err)
{
	static int (*const solvers[])(const struct gavel_problem *p, double *unit, double *x, struct orr_error *err) = {
		[GAVEL_MAX_MIN] = solve_max_min,
		[GAVEL_MAX_SUM] = solve_max_sum,
		[GAVEL_FINISH_TIME] = solve_finish_time,
	};
	int rc = solvers[goal](p, unit, x, err);
	for (size_t i = 0; !rc && i < p->n_jobs * p->n_types; i++)
		x[i] = rint(x[i] * 1e9) / 1e9;
	return rc;
}

int gavel_lp_solve(enum gavel_goal goal, const struct gavel_problem *p, double *x, double *value, struct orr_error *err)
{
	double *unit = orr_alloc(p->n_jobs + p->n_types + 1, sizeof *unit), *left = unit + p->n_jobs;
	fill_units(goal, p, unit, x);
	int rc = ORR_OK;
	if (!all_at_best(p, left, x))
		rc = solve_program(goal, p, unit, x, err);
	if (!rc && value)
		*value = any_can_run(p) ? value_of(goal, p, unit, x) : 0;
	orr_free(unit);
	return rc;
}
