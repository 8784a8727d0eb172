/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gavel_lp.h"

#include "lexlp.h"

#include <math.h>
#include <stdlib.h>

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

/*
 * ---- water filling ----
 *
 * A round has a floor for each job's normalised throughput: its final value if it is settled, else the level of the last round. It finds
 * the highest common level of the others. An open job is settled if it cannot get above the level while all floors hold. To find these
 * jobs, the sum of what open jobs get above the level is maximised repeatedly, without the jobs found to get more; if it is 0, the jobs
 * that remain are settled. If each of several jobs can get more alone, all can get more together, by the mean of the allocations. So no
 * job is settled too early.
 */
enum filling { SETTLED, OPEN, CAN_GROW };
static const double GAIN = 1e-5;      /* less counts as no gain */
static const double BELOW = 1 - 1e-6; /* floor of a job as a share of its level: keeps the next program feasible in spite of rounding */

struct water {
	enum filling *state;
	double *floor;
};

/* Programs of a round: the highest level; the greatest sum of gains of OPEN jobs above their floors; ties, in job order. */
enum filling_goal { FILL_LEVEL, FILL_GAINS, FILL_TIES };

static void put_gains(struct model *m, const struct water *f, int goal)
{
	for (size_t j = 0; j < m->p->n_jobs; j++)
		for (size_t t = 0; f->state[j] == OPEN && t < m->p->n_types; t++)
			if (m->col[j * m->p->n_types + t] >= 0)
				lexlp_goal_set(m->lp, goal, m->col[j * m->p->n_types + t], coefficient(m, j, t));
}

static int fill_pass(
	const struct gavel_problem *p, double *unit, const struct water *f, enum filling_goal what, double *x, struct orr_error *err)
{
	struct model *m = model_new(p, unit);
	if (what == FILL_LEVEL) {
		m->extra = lexlp_col(m->lp, 0, INFINITY);
		lexlp_goal_set(m->lp, lexlp_goal(m->lp), m->extra, 1);
	}
	for (size_t j = 0; j < p->n_jobs; j++) {
		if (!(unit[j] > 0))
			continue;
		int row = lexlp_row(m->lp, f->floor[j], INFINITY);
		put_throughput(m, row, j);
		if (what != FILL_LEVEL || f->state[j] == SETTLED)
			continue;
		row = lexlp_row(m->lp, 0, INFINITY);
		put_throughput(m, row, j);
		lexlp_set(m->lp, row, m->extra, -1);
	}
	if (what == FILL_GAINS)
		put_gains(m, f, lexlp_goal(m->lp));
	if (what == FILL_TIES)
		put_job_order(m);
	else
		lexlp_end_after_goals(m->lp);
	int rc = model_solve(m, x, err);
	model_free(m);
	return rc;
}

/* Marks the jobs that can get more than their floors; the others remain OPEN. */
static int find_growing(const struct gavel_problem *p, double *unit, struct water *f, double *x, struct orr_error *err)
{
	for (bool any = true; any;) {
		int rc = fill_pass(p, unit, f, FILL_GAINS, x, err);
		if (rc)
			return rc;
		any = false;
		for (size_t j = 0; j < p->n_jobs; j++)
			if (unit[j] > 0 && f->state[j] == OPEN &&
				gavel_throughput(p, j, x) / unit[j] > f->floor[j] + GAIN * fmax(1, f->floor[j])) {
				f->state[j] = CAN_GROW;
				any = true;
			}
	}
	return ORR_OK;
}

static int fill(const struct gavel_problem *p, double *unit, struct water *f, double *x, struct orr_error *err)
{
	for (size_t open = 1; open;) {
		int rc = fill_pass(p, unit, f, FILL_LEVEL, x, err);
		if (rc)
			return rc;
		double level = INFINITY;
		for (size_t j = 0; j < p->n_jobs; j++)
			if (unit[j] > 0 && f->state[j] != SETTLED)
				level = fmin(level, gavel_throughput(p, j, x) / unit[j]);
		for (size_t j = 0; j < p->n_jobs; j++)
			if (f->state[j] != SETTLED)
				f->floor[j] = level * BELOW;
		rc = find_growing(p, unit, f, x, err);
		if (rc)
			return rc;
		size_t settled = 0;
		open = 0;
		for (size_t j = 0; j < p->n_jobs; j++) {
			settled += f->state[j] == OPEN;
			open += f->state[j] == CAN_GROW;
			f->state[j] = f->state[j] == CAN_GROW ? OPEN : SETTLED;
		}
		if (!settled)
			open = 0; /* only rounding is left to gain */
	}
	return fill_pass(p, unit, f, FILL_TIES, x, err);
}

/* A job on the only type: its value y = X gpus / weight is at most `most`, and it takes weight y GPUs. */
struct vessel {
	double most, weight;
	size_t job;
};

static int by_most(const void *x, const void *y)
{
	const struct vessel *a = x, *b = y;
	if (a->most != b->most)
		return a->most < b->most ? -1 : 1;
	return (a->job > b->job) - (a->job < b->job);
}

/* One GPU type: the jobs that reach `most` first leave the rest to the others. */
static void fill_one_type(const struct gavel_problem *p, const double *unit, double *x)
{
	struct vessel *v = orr_alloc(p->n_jobs + 1, sizeof *v);
	double gpus = p->gpus_of_type[0], weights = 0;
	size_t n = 0;
	for (size_t j = 0; j < p->n_jobs; j++) {
		x[j] = 0;
		if (!(unit[j] > 0))
			continue;
		v[n++] = (struct vessel){ p->job[j].gpus / p->job[j].weight, p->job[j].weight, j };
		weights += p->job[j].weight;
	}
	if (n)
		qsort(v, n, sizeof *v, by_most);
	double level = 0;
	size_t i = 0;
	for (; i < n && v[i].most < (level = gpus / weights); i++) {
		x[v[i].job] = 1;
		gpus -= v[i].most * v[i].weight;
		weights -= v[i].weight;
	}
	for (; i < n; i++)
		x[v[i].job] = fmin(1, level / v[i].most);
	orr_free(v);
}

static int solve_water_filling(const struct gavel_problem *p, double *unit, double *x, struct orr_error *err)
{
	if (p->n_types == 1) {
		fill_one_type(p, unit, x);
		return ORR_OK;
	}
	struct water f = { orr_alloc(p->n_jobs + 1, sizeof *f.state), orr_alloc(p->n_jobs + 1, sizeof *f.floor) };
	for (size_t j = 0; j < p->n_jobs; j++)
		f.state[j] = unit[j] > 0 ? OPEN : SETTLED;
	int rc = fill(p, unit, &f, x, err);
	orr_free(f.state);
	orr_free(f.floor);
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

/* Returns a unit in which the rates of min-duration, 1 / time left, are of order 1. */
static double scale_of(const struct gavel_problem *p)
{
	double longest_s = 0;
	for (size_t j = 0; j < p->n_jobs; j++)
		if (best_throughput(p, j) > 0)
			longest_s = fmax(longest_s, p->job[j].steps_left / best_throughput(p, j));
	return longest_s > 0 ? 1 / longest_s : 1;
}

static double value_of(enum gavel_goal goal, const struct gavel_problem *p, const double *unit, const double *x)
{
	double sum = 0;
	switch (goal) {
	case GAVEL_MAX_MIN:
	case GAVEL_WATER_FILLING:
		return max_min_value(p, unit, x);
	case GAVEL_MIN_DURATION:
		return 1 / (max_min_value(p, unit, x) * scale_of(p));
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
		case GAVEL_MIN_DURATION:
			unit[j] = best_throughput(p, j) > 0 ? p->job[j].steps_left * scale_of(p) : 0;
			break;
		case GAVEL_MAX_MIN:
		case GAVEL_WATER_FILLING:
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
		[GAVEL_MIN_DURATION] = solve_max_min,
		[GAVEL_WATER_FILLING] = solve_water_filling,
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
