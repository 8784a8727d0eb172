/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/batches.h"

#include "tests/tap.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>

static gsl_rng *rng;

/* ---- by hand ---- */

static void by_hand(void)
{
	struct blocks b;
	double batch[8] = { 0 };
	blocks_init(&b);
	for (uint64_t i = 0; i < 1024; i++) {
		double v = 10 + gsl_ran_gaussian(rng, 1);
		v = rint(v * 1024) / 1024; /* v is rounded so that sums are exact in units of 2^-40 */
		blocks_add(&b, i, v);
		batch[i / 128] += v / 128;
	}
	double mean = 0, squares = 0;
	for (int i = 0; i < 8; i++)
		mean += batch[i] / 8;
	for (int i = 0; i < 8; i++)
		squares += (batch[i] - mean) * (batch[i] - mean);
	/* Intervals of 1024 independent values from 8 batches. Their half-width grows by a factor of 1 + 0.2 x 600 / 1024, at most
	 * 1.2. The quantiles are t(0.99, 7) = 2.997952 on the side of the tail and t(0.975, 7) = 2.364624 on the other side. */
	double error = sqrt(squares / 7 / 8);
	struct interval i = batches_mean(&b, 0, ESTIMATE_REAL, 0.95);
	near_to(i.mean, mean, 1e-12, "the mean of 1024 values");
	double near = fmin(i.high - mean, mean - i.low) / error, far = fmax(i.high - mean, mean - i.low) / error;
	ok(near >= 1.117 * 2.364624 && near <= 1.25 * 2.364624 && far >= 1.117 * 2.997952 && far <= 1.25 * 2.997952,
		"eight batch means, Student's t, widened: %g and %g standard errors", near, far);
	struct interval later = batches_mean(&b, 0.5, ESTIMATE_REAL, 0.95);
	double half_mean = (batch[4] + batch[5] + batch[6] + batch[7]) / 4;
	near_to(later.mean, half_mean, 1e-12, "warm-up is left out");
	ok(isnan(batches_mean(&b, 0.5, ESTIMATE_REAL, 0.95).low), "512 values are too few for an interval");
	blocks_init(&b);
	ok(isnan(batches_mean(&b, 0, ESTIMATE_REAL, 0.95).mean), "no values, no mean");
	for (uint64_t k = 0; k < 5000; k++)
		blocks_add(&b, k, 7);
	i = batches_mean(&b, 0, ESTIMATE_REAL, 0.95);
	ok(i.mean == 7 && isnan(i.low) && isnan(i.high), "equal values have no interval");
}

/* ---- coverage ---- */

/* Returns the next wait of M/M/1 by Lindley's recursion. */
static double wait(double was, double load)
{
	return fmax(0, was + gsl_ran_exponential(rng, load) - gsl_ran_exponential(rng, 1));
}

struct kind {
	const char *name;
	int what; /* kind of series: 0 is M/M/1 with a load; 1 AR(1) around 10 with a coefficient; 2 lognormal with a sigma; 3 M/M/1
		   * whose load goes from 0 to twice the given one */
	double x;
	uint64_t n;
	double mean, p99; /* expected values; NAN: not checked */
};

static void draw(const struct kind *kind, struct blocks *b, struct hist *h, struct timeline *t)
{
	double v = 0, x = 0, work = 0;
	blocks_init(b);
	timeline_begin(t, 0);
	if (kind->what == 1)
		x = gsl_ran_gaussian(rng, 1 / sqrt(1 - kind->x * kind->x));
	for (uint64_t i = 0; i < kind->n; i++) {
		switch (kind->what) {
		case 0:
			v = work = wait(work, kind->x);
			break;
		case 1:
			x = kind->x * x + gsl_ran_gaussian(rng, 1);
			v = 10 + x;
			break;
		case 2:
			v = gsl_ran_lognormal(rng, 0, kind->x);
			break;
		default:
			v = work = wait(work, 2 * kind->x * (double)i / (double)kind->n);
		}
		blocks_add(b, i, v);
		hist_add_at(h, i, v);
		timeline_set(t, (int64_t)i * 1000000000, (uint64_t)(v * 1000));
	}
	timeline_set(t, (int64_t)kind->n * 1000000000, 0);
}

static void count_one(struct interval i, double want, int *given, int *hits)
{
	*given += !isnan(i.low);
	*hits += i.low <= want && want <= i.high;
}

/* Checks how often intervals contain the true value. With 200 runs, a share of 95 % has a standard deviation of 1.5 points. least,
 * most: limits on the number of runs with an interval. */
static void coverage(const struct kind *kind, int least, int most)
{
	enum { REPETITIONS = 200 };
	int given[3] = { 0 }, hits[3] = { 0 }, negative = 0;
	static struct blocks b;
	static struct timeline t;
	for (int r = 0; r < REPETITIONS; r++) {
		struct hist *h = hist_new();
		draw(kind, &b, h, &t);
		struct interval mean = batches_mean(&b, 0, ESTIMATE_NON_NEGATIVE, 0.95);
		negative += mean.low < 0;
		count_one(mean, kind->mean, &given[0], &hits[0]);
		count_one(batches_quantile(h, 0.99, 0.95), kind->p99, &given[1], &hits[1]);
		count_one(batches_timeline(&t, 1e-3, ESTIMATE_NON_NEGATIVE, 0.95), kind->mean, &given[2], &hits[2]);
		hist_free(h);
	}
	static const char *const what[] = { "means", "99th percentiles", "means over time" };
	for (int k = 0; k < 3; k++) {
		bool is_enough = given[k] <= most && (k == 1 || given[k] >= least);
		bool holds = given[k] < 20 || isnan(k == 1 ? kind->p99 : kind->mean) || (hits[k] >= 0.9 * given[k] && !negative);
		ok(is_enough && holds, "%s, %llu values, %s: %d of 200 runs have an interval, %d hold the truth", kind->name,
			(unsigned long long)kind->n, what[k], given[k], hits[k]);
	}
}

/* ---- pairs ---- */

static void pairing(void)
{
	enum { N = 5000, REPETITIONS = 200 };
	static struct blocks a, b;
	int given = 0, hits = 0;
	double base;
	for (int r = 0; r < REPETITIONS; r++) {
		blocks_init(&a);
		blocks_init(&b);
		double x = 0;
		for (uint64_t i = 0; i < N; i++) {
			x = 0.99 * x + gsl_ran_gaussian(rng, 1);
			blocks_add(&a, i, 100 + x + gsl_ran_gaussian(rng, 1));
			blocks_add(&b, i, 102 + x + gsl_ran_gaussian(rng, 1));
		}
		count_one(batches_paired(&b, &a, 0, 0.95, &base), 2, &given, &hits);
	}
	ok(given >= 120 && hits >= 0.9 * given, "differences of jobs whose common part is slow: %d of 200 have an interval, %d hold 2",
		given, hits);
	struct interval d = batches_paired(&b, &a, 0, 0.95, &base), back = batches_paired(&a, &b, 0, 0.95, &base);
	ok(back.mean == -d.mean && ((isnan(d.low) && isnan(back.high)) || fabs(back.low + d.high) < 1e-9),
		"swapping the runs changes the sign");
	ok(isnan(batches_mean(&a, 0, ESTIMATE_REAL, 0.95).low), "each run by itself has no interval");
	blocks_init(&a);
	ok(isnan(batches_paired(&a, &b, 0, 0.95, &base).mean), "nothing to pair with, no difference");
	blocks_init(&b);
	for (uint64_t i = 0; i < 20; i++) { /* the first job is long and completes in only one of the two runs */
		blocks_add(&a, i, i ? 10 : 1000);
		if (i)
			blocks_add(&b, i, 7);
	}
	ok(batches_paired(&a, &b, 0, 0.95, &base).mean == 3 && base == 7, "a job that ended in one run alone is in no difference");
	blocks_add(&a, 20, 43);
	blocks_add(&b, 20, 18);
	ok(batches_paired(&a, &b, 0.5, 0.95, &base).mean == 5 && base == 8, "of 21 values the first ten are warm-up");
}

/* Tests that there is no interval if most values equal the quantile, where its width would be zero. */
static void atoms(void)
{
	int among = 0, given = 0, hits = 0;
	for (int r = 0; r < 100; r++) {
		struct hist *h = hist_new();
		for (uint64_t i = 0; i < 20000; i++)
			hist_add_at(h, i, gsl_rng_uniform(rng) < 0.8 ? 0 : gsl_ran_exponential(rng, 1));
		among += !isnan(batches_quantile(h, 0.5, 0.95).low);
		count_one(batches_quantile(h, 0.9, 0.95), log(2), &given, &hits);
		hist_free(h);
	}
	ok(!among, "a quantile among equal values has no interval");
	ok(given >= 50 && hits >= 0.9 * given, "a quantile above the equal values: %d of 100 have an interval, %d contain log 2", given,
		hits);
}

/* Tests that the number of waits decides, with independent values, most of which pass the other tests. */
static void number_of_waits(void)
{
	static struct blocks b;
	struct interval mean;
	int before = 0, after = 0;
	for (int r = 0; r < 50; r++) {
		blocks_init(&b);
		for (uint64_t i = 0; i < 3999; i++)
			blocks_add(&b, i, gsl_rng_uniform(rng));
		before += !isnan(batches_level(&b, 0.95, &mean)) || !isnan(mean.low) || !isnan(mean.high);
		blocks_add(&b, 3999, 0.5);
		after += batches_level(&b, 0.95, &mean) == 0.95 && mean.low < mean.high;
	}
	ok(!before && after > 25, "of 50 runs, %d have an interval with 3,999 waits and %d with 4,000", before, after);
	blocks_init(&b);
	for (uint64_t i = 0; i < 10; i++)
		blocks_add(&b, i, 2);
	ok(batches_level(&b, 0.95, &mean) == 0.95 && isnan(mean.low), "ten equal waits do not exclude other intervals");
}

int main(void)
{
	rng = gsl_rng_alloc(gsl_rng_mt19937);
	gsl_rng_set(rng, 20261122);
	by_hand();
	/* In M/M/1 the mean wait is rho / (1 - rho) service times; its p quantile is log(rho / (1 - p)) / (1 - rho). */
	coverage(&(struct kind){ "M/M/1 at 0.5", 0, 0.5, 1000, 0.5, NAN }, 0, 10);
	coverage(&(struct kind){ "M/M/1 at 0.5", 0, 0.5, 100000, 0.5, 0.5 * log(50) / 0.5 }, 100, 200);
	coverage(&(struct kind){ "M/M/1 at 0.8", 0, 0.8, 3000, 3.2, NAN }, 0, 2);
	coverage(&(struct kind){ "AR(1) of 0.9", 1, 0.9, 30000, 10, 10 + 2.326348 / sqrt(0.19) }, 100, 200);
	coverage(&(struct kind){ "AR(1) of 0.999", 1, 0.999, 30000, 10, NAN }, 0, 2);
	coverage(&(struct kind){ "lognormal of 1", 2, 1, 20000, exp(0.5), exp(2.326348) }, 60, 200);
	coverage(&(struct kind){ "lognormal of 2.5", 2, 2.5, 2000, exp(3.125), NAN }, 0, 40);
	coverage(&(struct kind){ "M/M/1 of rising load", 3, 0.7, 30000, NAN, NAN }, 0, 4);
	pairing();
	atoms();
	number_of_waits();
	gsl_rng_free(rng);
	return done();
}
