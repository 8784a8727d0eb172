/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The linear programs of gavel against brute force, their ties, and errors of GLPK. */
#include "policies/jobs/gavel_lp.h"
#include "policies/jobs/lexlp.h"

#include "base/rng.h"
#include "tests/tap.h"

#include <stdlib.h>

enum { MAX_JOBS = 3, MAX_TYPES = 3, MAX_DIM = MAX_JOBS * MAX_TYPES + 1, MAX_ROWS = 2 * MAX_DIM + MAX_JOBS + MAX_TYPES + 1 };

/* ---- brute force: the best vertex of { x : a x <= b }, over every set of tight rows ---- */

struct poly {
	int dim, n;
	double a[MAX_ROWS][MAX_DIM], b[MAX_ROWS], goal[MAX_DIM];
};

static double *add_row(struct poly *p, double b)
{
	memset(p->a[p->n], 0, sizeof p->a[p->n]);
	p->b[p->n] = b;
	return p->a[p->n++];
}

/* Solves by Gaussian elimination with row pivots; returns false if the matrix is singular. */
static bool solve_square(const struct poly *p, const int *tight, double *x)
{
	double m[MAX_DIM][MAX_DIM + 1];
	int d = p->dim;
	for (int i = 0; i < d; i++) {
		memcpy(m[i], p->a[tight[i]], (size_t)d * sizeof m[i][0]);
		m[i][d] = p->b[tight[i]];
	}
	for (int c = 0; c < d; c++) {
		int best = c;
		for (int i = c + 1; i < d; i++)
			if (fabs(m[i][c]) > fabs(m[best][c]))
				best = i;
		if (fabs(m[best][c]) < 1e-9)
			return false;
		for (int k = 0; k <= d; k++) {
			double swap = m[c][k];
			m[c][k] = m[best][k];
			m[best][k] = swap;
		}
		for (int i = 0; i < d; i++) {
			double factor = i == c ? 0 : m[i][c] / m[c][c];
			for (int k = c; k <= d && factor != 0; k++)
				m[i][k] -= factor * m[c][k];
		}
	}
	for (int i = 0; i < d; i++)
		x[i] = m[i][d] / m[i][i];
	return true;
}

static double value_at(const struct poly *p, const double *x)
{
	double value = 0;
	for (int r = 0; r < p->n; r++) {
		double sum = 0;
		for (int i = 0; i < p->dim; i++)
			sum += p->a[r][i] * x[i];
		if (sum > p->b[r] + 1e-9)
			return -INFINITY;
	}
	for (int i = 0; i < p->dim; i++)
		value += p->goal[i] * x[i];
	return value;
}

static double best_vertex(const struct poly *p)
{
	int tight[MAX_DIM];
	double best = -INFINITY, x[MAX_DIM];
	for (int i = 0; i < p->dim; i++)
		tight[i] = i;
	for (;;) {
		if (solve_square(p, tight, x))
			best = fmax(best, value_at(p, x));
		int i = p->dim - 1;
		while (i >= 0 && tight[i] == p->n - p->dim + i)
			i--;
		if (i < 0)
			return best;
		tight[i]++;
		for (int k = i + 1; k < p->dim; k++)
			tight[k] = tight[k - 1] + 1;
	}
}

/* Returns the throughput; 0 if the job requests more GPUs than the type has. */
static double counted(const struct gavel_problem *g, int j, int t)
{
	return g->job[j].gpus <= g->gpus_of_type[t] ? g->job[j].throughput[t] : 0;
}

/* Returns the highest throughput of job 0 over all optimal vertices: the second stage. */
static double best_then_first(struct poly *p, const struct gavel_problem *g)
{
	double best = best_vertex(p), *row = add_row(p, -best + 1e-9);
	for (int i = 0; i < p->dim; i++) {
		row[i] = -p->goal[i];
		p->goal[i] = i < (int)g->n_types ? counted(g, 0, i) : 0;
	}
	return best_vertex(p);
}

/* Writes the constraints on every allocation (OSDI 2020, section 3.1), with `extra` further columns. */
static void allocation_rows(struct poly *p, const struct gavel_problem *g, int extra)
{
	int m = (int)g->n_jobs, k = (int)g->n_types;
	*p = (struct poly){ .dim = m * k + extra };
	for (int i = 0; i < p->dim; i++)
		add_row(p, 0)[i] = -1;
	for (int j = 0; j < m; j++) {
		double *row = add_row(p, 1);
		for (int t = 0; t < k; t++)
			row[j * k + t] = 1;
	}
	for (int t = 0; t < k; t++) {
		double *row = add_row(p, g->gpus_of_type[t]);
		for (int j = 0; j < m; j++)
			row[j * k + t] = g->job[j].gpus;
	}
}

/* Returns the maximum over X of the minimum over jobs of thr(m, X) / unit[m]; *first (may be NULL): the throughput of job 0 at this
 * optimum. */
static double brute_min(const struct gavel_problem *g, const double *unit, double *first)
{
	struct poly p;
	int k = (int)g->n_types, y = (int)g->n_jobs * k;
	allocation_rows(&p, g, 1);
	for (int j = 0; j < (int)g->n_jobs; j++) {
		double *row = add_row(&p, 0);
		for (int t = 0; t < k; t++)
			row[j * k + t] = -counted(g, j, t) / unit[j];
		row[y] = 1;
	}
	p.goal[y] = 1;
	double best = best_vertex(&p);
	if (first)
		*first = best_then_first(&p, g);
	return best;
}

static double brute_max_min(const struct gavel_problem *g, double *first)
{
	double unit[MAX_JOBS], all = 0;
	for (size_t t = 0; t < g->n_types; t++)
		all += g->gpus_of_type[t];
	for (int j = 0; j < (int)g->n_jobs; j++) {
		unit[j] = 0;
		for (int t = 0; t < (int)g->n_types; t++)
			unit[j] += counted(g, j, t) * g->gpus_of_type[t] / all;
		unit[j] *= g->job[j].weight / g->job[j].gpus;
	}
	return brute_min(g, unit, first);
}

static double brute_max_sum(const struct gavel_problem *g, double *first)
{
	struct poly p;
	int k = (int)g->n_types;
	allocation_rows(&p, g, 0);
	for (int i = 0; i < p.dim; i++)
		p.goal[i] = counted(g, i / k, i % k);
	double best = best_vertex(&p);
	*first = best_then_first(&p, g);
	return best;
}

/* Returns the optimum by bisection on rho. A value of rho is feasible if all jobs can have the throughputs that this value requires. */
static double brute_finish_time(const struct gavel_problem *g, double *first)
{
	double low = 0, high = 1, x[MAX_DIM], unit[MAX_JOBS];
	gavel_isolated(g, x);
	for (int j = 0; j < (int)g->n_jobs; j++) {
		double alone = g->job[j].steps_left / gavel_throughput(g, (size_t)j, x);
		high = fmax(high, (g->job[j].elapsed_s + alone) / (g->job[j].isolated_s + alone));
		low = fmax(low, g->job[j].elapsed_s / (g->job[j].isolated_s + alone));
	}
	for (int i = 0; i < 40; i++) {
		double rho = (low + high) / 2;
		for (int j = 0; j < (int)g->n_jobs; j++) {
			const struct gavel_job *job = &g->job[j];
			double whole = job->isolated_s + job->steps_left / gavel_throughput(g, (size_t)j, x);
			unit[j] = job->steps_left / (rho * whole - job->elapsed_s);
		}
		if (brute_min(g, unit, NULL) >= 1)
			high = rho;
		else
			low = rho;
	}
	*first = NAN; /* NAN: the optimal face that bisection leaves is too small to compare */
	return high;
}

/* ---- random small problems; every job can run on the first type ---- */

struct problem {
	struct gavel_problem g;
	struct gavel_job job[MAX_JOBS];
	double throughput[MAX_JOBS][MAX_TYPES], gpus[MAX_TYPES];
};

static void draw(struct problem *p, struct rng *r, size_t jobs, size_t types)
{
	p->g = (struct gavel_problem){ p->job, jobs, p->gpus, types };
	for (size_t t = 0; t < types; t++)
		p->gpus[t] = (double)(1 + rng_below(r, 4));
	p->gpus[0] = 4;
	for (size_t j = 0; j < jobs; j++) {
		for (size_t t = 0; t < types; t++)
			p->throughput[j][t] = t && !rng_below(r, 5) ? 0 : 0.1 + 10 * rng_uniform(r);
		p->job[j] = (struct gavel_job){ .gpus = (double)(UINT64_C(1) << rng_below(r, 3)),
			.weight = 1 + (double)rng_below(r, 3),
			.throughput = p->throughput[j],
			.elapsed_s = 1e4 * rng_uniform(r),
			.isolated_s = 1e4 * rng_uniform(r),
			.steps_left = 10 + 1e4 * rng_uniform(r) };
	}
}

/* Returns the largest violation of the constraints on an allocation by X. */
static double broken_by(const struct gavel_problem *g, const double *x)
{
	double worst = 0;
	for (size_t t = 0; t < g->n_types; t++) {
		double used = 0;
		for (size_t j = 0; j < g->n_jobs; j++) {
			used += x[j * g->n_types + t] * g->job[j].gpus;
			worst = fmax(worst, -x[j * g->n_types + t]);
		}
		worst = fmax(worst, used - g->gpus_of_type[t]);
	}
	for (size_t j = 0; j < g->n_jobs; j++) {
		double sum = 0;
		for (size_t t = 0; t < g->n_types; t++)
			sum += x[j * g->n_types + t];
		worst = fmax(worst, sum - 1);
	}
	return worst;
}

static void against_brute_force(
	enum gavel_goal goal, double (*brute)(const struct gavel_problem *, double *first), int cases, const char *name)
{
	struct rng r;
	rng_init(&r, 7, name, 0);
	struct orr_error err = { 0 };
	double off = 0, off_first = 0, broken = 0;
	int failed = 0;
	for (int i = 0; i < cases; i++) {
		struct problem p;
		double x[MAX_DIM], value, first;
		draw(&p, &r, 2 + (size_t)i % 2, i % 5 ? 2 : 1);
		failed += gavel_lp_solve(goal, &p.g, x, &value, &err) != ORR_OK;
		double want = brute(&p.g, &first);
		off = fmax(off, fabs(value - want) / fmax(1, fabs(want)));
		off_first = fmax(off_first, fabs(gavel_throughput(&p.g, 0, x) - first)); /* fmax() ignores NAN */
		broken = fmax(broken, broken_by(&p.g, x));
	}
	ok(!failed && off <= 1e-6, "%s: %d small cases are within 1e-6 of the best vertex (worst %.1e) %s", name, cases, off, err.text);
	if (goal != GAVEL_FINISH_TIME)
		ok(off_first <= 1e-6, "%s: the optimum with the highest throughput of the first job (worst %.1e)", name, off_first);
	ok(broken <= 1e-8, "%s: the answer is an allocation", name);
}

/* ---- ties ---- */

static void ties(void)
{
	static const double one[] = { 1, 1 }, gpus[] = { 1, 1 };
	struct gavel_job job[3];
	struct gavel_problem g = { job, 3, gpus, 2 };
	struct orr_error err = { 0 };
	double x[6];
	for (int j = 0; j < 3; j++)
		job[j] = (struct gavel_job){ 1, 1, one, 0, 0, 100 };
	/* Three equal jobs on two equal types get 2/3 each. The first job takes as much of the first type as it may. */
	static const double fair[] = { 2. / 3, 0, 1. / 3, 1. / 3, 0, 2. / 3 }, first[] = { 1, 0, 0, 1, 0, 0 };
	double worst = gavel_lp_solve(GAVEL_MAX_MIN, &g, x, NULL, &err);
	for (int i = 0; i < 6; i++)
		worst = fmax(worst, fabs(x[i] - fair[i]));
	ok(worst < 2e-9, "three equal jobs on two equal GPUs: equal shares, the first types in job order");
	worst = gavel_lp_solve(GAVEL_FINISH_TIME, &g, x, NULL, &err);
	for (int i = 0; i < 6; i++)
		worst = fmax(worst, fabs(x[i] - fair[i]));
	ok(worst < 2e-9, "finish-time fairness gives the same shares to three equal jobs");
	worst = gavel_lp_solve(GAVEL_MAX_SUM, &g, x, NULL, &err);
	for (int i = 0; i < 6; i++)
		worst = fmax(worst, fabs(x[i] - first[i]));
	ok(worst < 2e-9, "max-sum throughput: the first two of three equal jobs run");
	job[0].gpus = 5;
	ok(gavel_lp_solve(GAVEL_MAX_MIN, &g, x, NULL, &err) == ORR_OK && x[0] == 0 && fabs(x[2] - 1) < 1e-9 && fabs(x[5] - 1) < 1e-9,
		"a job that asks for more GPUs than a type has gets none and blocks no other");
}

/* A degenerate program with its rows and columns in several orders. Small whole coefficients cause ties. All columns are goals, in
 * the same order each time, so the solution must be the same. */
enum { ROWS = 8, COLS = 10 };

static void shuffle(struct rng *r, int *v, int n)
{
	for (int i = 0; i < n; i++)
		v[i] = i;
	for (int i = n - 1; i > 0; i--) {
		int k = (int)rng_below(r, (uint64_t)i + 1), swap = v[i];
		v[i] = v[k];
		v[k] = swap;
	}
}

static int solve_permuted(int a[ROWS][COLS], const int *row, const int *col, double *x, struct orr_error *err)
{
	struct lexlp *p = lexlp_new();
	double permuted[COLS];
	int place[COLS];
	for (int i = 0; i < ROWS; i++)
		lexlp_row(p, -INFINITY, 6);
	for (int c = 0; c < COLS; c++) {
		lexlp_col(p, 0, 2);
		place[col[c]] = c;
	}
	for (int i = 0; i < ROWS; i++)
		for (int c = 0; c < COLS; c++)
			if (a[row[i]][col[c]])
				lexlp_set(p, i, c, a[row[i]][col[c]]);
	int sum = lexlp_goal(p);
	for (int c = 0; c < COLS; c++)
		lexlp_goal_set(p, sum, c, 1);
	for (int c = 0; c < COLS; c++)
		lexlp_goal_set(p, lexlp_goal(p), place[c], 1);
	int rc = lexlp_solve(p, permuted, err);
	for (int c = 0; c < COLS; c++)
		x[col[c]] = permuted[c];
	lexlp_free(p);
	return rc;
}

static void permutations(void)
{
	struct rng r;
	rng_init(&r, 7, "permutations", 0);
	struct orr_error err = { 0 };
	double worst = 0;
	int failed = 0;
	for (int i = 0; i < 200; i++) {
		int a[ROWS][COLS], row[ROWS], col[COLS];
		double x[COLS], y[COLS];
		for (int k = 0; k < ROWS * COLS; k++)
			a[k / COLS][k % COLS] = (int)rng_below(&r, 3);
		memcpy(a[1], a[0], sizeof a[0]); /* a duplicate row */
		for (int k = 0; k < ROWS; k++)
			row[k] = k;
		for (int k = 0; k < COLS; k++)
			col[k] = k;
		failed += solve_permuted(a, row, col, x, &err);
		shuffle(&r, row, ROWS);
		shuffle(&r, col, COLS);
		failed += solve_permuted(a, row, col, y, &err);
		for (int k = 0; k < COLS; k++)
			worst = fmax(worst, fabs(x[k] - y[k]));
	}
	ok(!failed && worst < 1e-7, "rows and columns in another order: the same answer (worst %.1e) %s", worst, err.text);
}

/* ---- GLPK's errors ---- */

static void errors(void)
{
	struct orr_error err = { 0 };
	double x[2];
	struct lexlp *p = lexlp_new();
	lexlp_row(p, -INFINITY, 1);
	lexlp_col(p, 0, INFINITY);
	lexlp_set(p, 99, 0, 1); /* GLPK would call abort() for this row, which does not exist */
	ok(lexlp_solve(p, x, &err) == ORR_EFAIL && strstr(err.text, "GLPK") && strstr(err.text, "row index"),
		"a malformed program is an error with GLPK's words: %s", err.text);
	lexlp_free(p);
	p = lexlp_new();
	lexlp_col(p, 0, INFINITY);
	lexlp_goal_set(p, lexlp_goal(p), 0, 1);
	ok(lexlp_solve(p, x, &err) == ORR_EFAIL && strstr(err.text, "unbounded"), "an unbounded program: %s", err.text);
	int row = lexlp_row(p, 2, 1);
	ok(lexlp_solve(p, x, &err) == ORR_EFAIL, "a lower bound above the upper bound: %s", err.text);
	lexlp_free(p);
	p = lexlp_new();
	row = lexlp_row(p, 3, INFINITY);
	lexlp_set(p, row, lexlp_col(p, 0, 2), 1);
	ok(lexlp_solve(p, x, &err) == ORR_EFAIL && strstr(err.text, "infeasible"), "an infeasible program: %s", err.text);
	lexlp_set(p, row, 0, NAN);
	ok(lexlp_solve(p, x, &err) == ORR_EFAIL, "a coefficient that is not finite: %s", err.text);
	lexlp_free(p);
	ties(); /* the solver still works after these errors */
}

/* Policies run in parallel: GLPK's environment is per thread, or protected by a lock. */
static void threads(void)
{
	enum { RUNS = 16 };
	double x[RUNS][MAX_DIM];
	int failed = 0;
	struct problem p;
	struct rng r;
	rng_init(&r, 7, "threads", 0);
	draw(&p, &r, 3, 3);
#pragma omp parallel for num_threads(4) reduction(+ : failed)
	for (int i = 0; i < RUNS; i++) {
		struct orr_error err;
		failed += gavel_lp_solve(GAVEL_FINISH_TIME, &p.g, x[i], NULL, &err);
	}
	for (int i = 1; i < RUNS; i++)
		failed += memcmp(x[0], x[i], 9 * sizeof x[0][0]) != 0;
	ok(!failed, "sixteen solutions in four threads: the same bytes");
}

/* Tests that max-min fairness is relative to each job's own speed: on one type with half as many GPUs as jobs, each job gets half of
 * the time at any speed. */
static void many_jobs(void)
{
	enum { JOBS = 200 };
	static double throughput[JOBS], x[JOBS];
	static struct gavel_job job[JOBS];
	double gpus = JOBS / 2., worst = 0;
	struct gavel_problem g = { job, JOBS, &gpus, 1 };
	struct orr_error err = { 0 };
	for (int j = 0; j < JOBS; j++) {
		throughput[j] = 1 + j;
		job[j] = (struct gavel_job){ 1, 1, &throughput[j], 0, 0, 100 };
	}
	int rc = gavel_lp_solve(GAVEL_MAX_MIN, &g, x, NULL, &err);
	for (int j = 0; j < JOBS; j++)
		worst = fmax(worst, fabs(x[j] - 0.5));
	ok(!rc && worst < 1e-8, "200 jobs on 100 GPUs: half of the time each");
}

int main(void)
{
	ties();
	permutations();
	against_brute_force(GAVEL_MAX_MIN, brute_max_min, 40, "max-min fairness");
	against_brute_force(GAVEL_MAX_SUM, brute_max_sum, 40, "max-sum throughput");
	against_brute_force(GAVEL_FINISH_TIME, brute_finish_time, 10, "finish-time fairness");
	errors();
	threads();
	many_jobs();
	return done();
}
