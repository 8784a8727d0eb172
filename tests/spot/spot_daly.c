/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checkpoint and restart against theory: one instance with exponential lifetimes of mean M, replaced at once.
 *
 *  - mean wall time of work W: M e^(R/M) (e^((t+c)/M) - 1) W / t (Daly, Future Generation Computer Systems 22, 2006), inside the
 *    program's own 99 % interval, at five intervals t;
 *  - the best interval, by common random numbers and a parabola in ln t through simulated means: Daly's higher-order formula within 5 %;
 * - Young's formula (CACM 17(9), 1974), which omits terms of higher order in c / M: its error is printed.
 *
 * M = 1000 s. About four million failures in all; a twentieth of them under the sanitizers.
 */
#include "policies/spot/daly.h"
#include "tests/spot/spot_trial.h"
#include "tests/tap.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_multifit.h>
#include <stdlib.h>

extern const struct orr_policy orr_policy_spot_checkpoint;

static struct orr_error err;

enum { M = 1000, SEED = 1, REPLICATIONS = 16 };

struct sought {
	double t, c, r;
	double failures;      /* expected */
	const char *interval; /* NULL: t */
};

static double failures_wanted(double n)
{
	return getenv("ORR_SANITIZED") ? n / 20 : n;
}

/* Returns the work for this number of failures, in whole intervals of steps of 1 s. */
static uint64_t work_of(const struct sought *x)
{
	double wall = x->failures * M, segment = daly_wall_time(x->t, x->t, x->c, x->r, M);
	return (uint64_t)(ceil(wall / segment) * x->t);
}

static struct run_result *simulate(const struct sought *x, uint64_t work, uint64_t replication)
{
	char job[300], settings[200];
	snprintf(job, sizeof job, "{\"name\":\"one\",\"source\":\"theory\",\"samples_per_step\":1,\"steps\":%llu,\"points\":[[1,1,1000]]}",
		(unsigned long long)work);
	snprintf(settings, sizeof settings, "interval=%s every=%.9g cost=%.9g restart=%.9g mtbf=%d", x->interval ? x->interval : "time",
		x->t, x->c, x->r, M);
	/* 3.6 failures per hour give M = 1000 s. */
	struct spot_trial trial = { .policy = &orr_policy_spot_checkpoint,
		.generator = "churn:slots=1,rate=3.6,delay=0,delays=fixed,length=0",
		.job = job,
		.settings = settings,
		.seed = SEED,
		.replication = replication };
	struct run_result *r = spot_try(&trial, &err);
	if (!r)
		printf("# %s\n", err.text);
	return r;
}

static double wall_time(const struct sought *x, uint64_t work, uint64_t replication, double *losses)
{
	struct run_result *r = simulate(x, work, replication);
	double wall = spot_metric(r, "makespan_s");
	if (losses)
		*losses += spot_metric(r, "losses");
	result_free(r);
	return wall;
}

static double total_losses;

static void mean_wall_time(double t, double failures)
{
	struct sought x = { .t = t, .c = 20, .r = 50, .failures = failures_wanted(failures) / REPLICATIONS };
	uint64_t work = work_of(&x);
	double sum = 0, squares = 0, want = daly_wall_time((double)work, t, x.c, x.r, M);
	for (uint64_t i = 0; i < REPLICATIONS; i++) {
		double wall = wall_time(&x, work, i, &total_losses) / want;
		sum += wall;
		squares += wall * wall;
	}
	double mean = sum / REPLICATIONS, variance = (squares - sum * mean) / (REPLICATIONS - 1);
	double half = gsl_cdf_tdist_Pinv(0.995, REPLICATIONS - 1) * sqrt(variance / REPLICATIONS);
	printf("# t = %g s: wall time %.5f times W, theory %.5f: %+.3f %%, 99 %% interval +-%.3f %%\n", t, mean * want / (double)work,
		want / (double)work, 100 * (mean - 1), 100 * half);
	ok(half < (getenv("ORR_SANITIZED") ? 0.015 : 0.003), "t = %g s: the interval is narrow", t);
	ok(fabs(mean - 1) < half, "t = %g s: mean wall time is Daly's", t);
}

/* ---- the best interval ---- */

enum { POINTS = 7 };

/* Returns x of the minimum of the parabola through (x, y). */
static double vertex(const double *x, const double *y)
{
	gsl_matrix *a = gsl_matrix_alloc(POINTS, 3), *cov = gsl_matrix_alloc(3, 3);
	gsl_vector *b = gsl_vector_alloc(POINTS), *k = gsl_vector_alloc(3);
	gsl_multifit_linear_workspace *work = gsl_multifit_linear_alloc(POINTS, 3);
	double chisq;
	for (size_t i = 0; i < POINTS; i++) {
		gsl_matrix_set(a, i, 0, 1);
		gsl_matrix_set(a, i, 1, x[i]);
		gsl_matrix_set(a, i, 2, x[i] * x[i]);
		gsl_vector_set(b, i, y[i]);
	}
	gsl_multifit_linear(a, b, k, cov, &chisq, work);
	double at = -gsl_vector_get(k, 1) / (2 * gsl_vector_get(k, 2));
	gsl_multifit_linear_free(work);
	gsl_matrix_free(a);
	gsl_matrix_free(cov);
	gsl_vector_free(b);
	gsl_vector_free(k);
	return at;
}

static void best_interval(double c)
{
	double around = daly_interval(c, M), x[POINTS], y[POINTS], theory[POINTS], losses = 0;
	struct sought s = { .t = around, .c = c, .r = 50, .failures = failures_wanted(300000.0 / POINTS) };
	uint64_t work = work_of(&s);
	for (int i = 0; i < POINTS; i++) {
		s.t = round(around * exp(0.15 * (i - POINTS / 2)));
		x[i] = log(s.t / around);
		y[i] = wall_time(&s, work, 0, &losses) / (double)work;
		theory[i] = daly_wall_time(1, s.t, c, s.r, M);
	}
	total_losses += losses;
	double found = around * exp(vertex(x, y)), parabola = around * exp(vertex(x, theory)), exact = exact_interval(c, M);
	double young = young_interval(c, M);
	printf("# c/M = %g: best interval simulated %.1f s, exact %.1f (parabola through theory %.1f), Daly %.1f (%+.2f %% of exact), "
	       "Young %.1f (%+.1f %%)\n",
		c / M, found, exact, parabola, around, 100 * (around / exact - 1), young, 100 * (young / exact - 1));
	ok(fabs(found / around - 1) < 0.05, "c/M = %g: the best interval simulated is Daly's within 5 %%", c / M);
	ok(fabs(exact / around - 1) < 0.005, "c/M = %g: Daly's interval equals the exact one within 0.5 %%", c / M);
}

/* Compares costs with common random numbers. By theory, the ratio is f(Young's interval) / f(Daly's interval) with f(t) =
 * (e^((t+c)/M) - 1) / t. */
static void young_costs_more(double c)
{
	struct sought s = { .t = round(daly_interval(c, M)), .c = c, .r = 50, .failures = failures_wanted(60000), .interval = "daly" };
	double young = young_interval(c, M), want = daly_wall_time(1, round(young), c, 50, M) / daly_wall_time(1, s.t, c, 50, M);
	uint64_t work = work_of(&s);
	struct run_result *d = simulate(&s, work, 0);
	s.interval = "young";
	struct run_result *y = simulate(&s, work, 0);
	double ratio = spot_metric(y, "makespan_s") / spot_metric(d, "makespan_s");
	near_to(spot_metric(d, "checkpoint_interval_s"), daly_interval(c, M), 1e-9, "interval=daly is Daly's formula");
	near_to(spot_metric(y, "checkpoint_interval_s"), young, 1e-9, "interval=young is Young's");
	printf("# c/M = %g: Young's interval costs %+.2f %% of Daly's wall time, theory %+.2f %%\n", c / M, 100 * (ratio - 1),
		100 * (want - 1));
	ok(fabs(ratio - want) < (getenv("ORR_SANITIZED") ? 0.012 : 0.003) && (getenv("ORR_SANITIZED") || c < 50 || ratio > 1),
		"c/M = %g: the additional cost of Young's interval equals theory", c / M);
	total_losses += spot_metric(d, "losses") + spot_metric(y, "losses");
	result_free(d);
	result_free(y);
}

/* Tests the estimate of M from losses. The mean of n exponential times has a standard deviation of M / sqrt(n). */
static void seen(void)
{
	char job[] = "{\"name\":\"one\",\"source\":\"theory\",\"samples_per_step\":1,\"steps\":30000000,\"points\":[[1,1,1000]]}";
	struct spot_trial trial = { .policy = &orr_policy_spot_checkpoint,
		.generator = "churn:slots=1,rate=3.6,delay=0,delays=fixed,length=0",
		.job = job,
		.settings = "interval=daly cost=20 restart=50",
		.seed = SEED };
	struct run_result *r = spot_try(&trial, &err);
	double n = spot_metric(r, "losses"), m = spot_metric(r, "mtbf_seen_s");
	near_to(m, M, 4 / sqrt(n), "the mean time between losses is estimated");
	near_to(spot_metric(r, "checkpoint_interval_s"), daly_interval(20, m), 1e-3,
		"the interval follows from the estimated mean time between losses");
	total_losses += n;
	result_free(r);
}

int main(void)
{
	/* By hand, Young's formula gives sqrt(2 x 2 x 100) = 20 and Daly's equation gives 20 (1 + 0.1 / 3 + 0.01 / 9) - 2. */
	near_to(young_interval(2, 100), 20, 1e-12, "Young's interval by hand");
	near_to(daly_interval(2, 100), 20 * (1 + 0.1 / 3 + 0.01 / 9) - 2, 1e-12, "Daly's interval by hand");
	near_to(daly_interval(300, 100), 100, 0, "Daly's interval where checkpoints cost more than twice M");
	static const double intervals[] = { 50, 100, 200, 400, 800 }, failures[] = { 2e5, 4e5, 6e5, 8e5, 1e6 }, costs[] = { 10, 30, 100 };
	for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++)
		mean_wall_time(intervals[i], failures[i]);
	for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
		best_interval(costs[i]);
		young_costs_more(costs[i]);
	}
	seen();
	printf("# %.0f failures\n", total_losses);
	return done();
}
