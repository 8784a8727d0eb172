/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/estimate.h"

#include "tests/tap.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>

static gsl_rng *rng;

enum { N_MAX = 40 };

/* ---- single samples ---- */

static void few_or_equal(void)
{
	const double v[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, same[] = { 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1 };
	struct interval i = estimate_mean(v, ESTIMATE_LEAST - 1, ESTIMATE_NON_NEGATIVE, 0.95);
	ok(i.mean == 5 && isnan(i.low) && isnan(i.high), "too few values: a mean without an interval");
	i = estimate_mean(v, 10, ESTIMATE_NON_NEGATIVE, 0.95);
	ok(i.mean == 5.5 && i.low < 5.5 && i.high > 5.5, "enough of them have one");
	i = estimate_mean(same, 10, ESTIMATE_NON_NEGATIVE, 0.95);
	ok(fabs(i.mean - 0.1) < 1e-15 && isnan(i.low) && isnan(i.high), "equal values have no interval");
	ok(isnan(estimate_mean(v, 0, ESTIMATE_REAL, 0.95).mean), "an empty sample has no mean");
	ok(estimate_least_of("jct_p50") == 20 && estimate_least_of("jobs.wait_p50") == 20 && estimate_least_of("stranded_gpus") == 320 &&
			estimate_least_of("queue_p99") == 40 && estimate_least_of("jct_mean") == 10 &&
			estimate_least_of_ratio("wait_mean") == 20,
		"some metrics need more replications");
	i = estimate_ratio(v, v, 10, 0.95);
	ok(i.mean == 1 && isnan(i.low), "a ratio that is equal in all replications has no interval");
	i = estimate_difference(v, v, 10, 0.95);
	ok(i.mean == 0 && isnan(i.low), "a difference that is equal in all replications has no interval");
}

/* Tests that there is no interval if fewer than five values differ from the most frequent one. */
static void rare(void)
{
	double v[10] = { 5, 5, 5, 5, 5, 5, 5, 5, 7, 8 }, close[10] = { 5, 5.001, 5.002, 5.003, 5.004, 5, 5, 5, 7, 8 };
	ok(estimate_others(v, 10, ESTIMATE_REAL) == 2 && isnan(estimate_mean(v, 10, ESTIMATE_NON_NEGATIVE, 0.95).low),
		"two of ten that differ decide the mean: no interval");
	v[7] = 6;
	v[6] = 4;
	ok(estimate_others(v, 10, ESTIMATE_REAL) == 4 && isnan(estimate_mean(v, 10, ESTIMATE_NON_NEGATIVE, 0.95).low), "four give none");
	v[5] = 6;
	ok(estimate_others(v, 10, ESTIMATE_REAL) == 5 && estimate_mean(v, 10, ESTIMATE_NON_NEGATIVE, 0.95).low < 5.6, "five give one");
	ok(estimate_others(close, 10, ESTIMATE_NON_NEGATIVE) == 2 && estimate_others(close, 10, ESTIMATE_REAL) == 6,
		"values within 1 in 1000 are equal, differences are not");
	const double a[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 12 }, b[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 10, 10 };
	ok(isnan(estimate_difference(a, b, 10, 0.95).low) && isnan(estimate_ratio(a, b, 10, 0.95).low),
		"pairs that are equal in eight of ten replications");
	const double shares[10] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 0 };
	ok(estimate_mean(shares, 10, ESTIMATE_FRACTION, 0.95).low > 0.5, "yes and no needs one of each");
	ok(estimate_range_of("ftf_mean") == ESTIMATE_NO_MEAN && estimate_range_of("jobs.ftf_max") == ESTIMATE_NO_MEAN &&
			isnan(estimate_mean(a, 10, ESTIMATE_NO_MEAN, 0.95).low),
		"a ratio whose expected value may be infinite has no interval");
}

/* Tests the upper end for the values 1, e, .. e^9, by hand. The logarithms have mean 4.5 and variance 55/6. Cox's upper end at 99 %
 * is exp(4.5 + 55/12 + 2.821438 sqrt(55/60 + (55/6)^2/18)). The longer tail adds 4 ((e^9 - median) - (median - 1)) / 10, with the
 * median (e^4 + e^5) / 2. */
static void lognormal_end(void)
{
	double v[10];
	for (int k = 0; k < 10; k++)
		v[k] = exp(k);
	double cox = 4.5 + 55. / 12 + 2.821438 * sqrt(55. / 60 + 55. / 6 * 55 / 6 / 18);
	double want = log(exp(cox) + 0.4 * (v[9] + v[0] - v[4] - v[5]));
	struct interval i = estimate_mean(v, 10, ESTIMATE_NON_NEGATIVE, 0.95);
	near_to(log(i.high), want, 1e-5, "values over powers of e: the end of Cox's interval and the longer tail");
	v[0] = 0;
	i = estimate_mean(v, 10, ESTIMATE_NON_NEGATIVE, 0.95);
	ok(log(i.high) < want, "0 has no logarithm: no such end");
}

/* Tests that the interval extends further on the side of the longer tail. */
static void longer_tail(void)
{
	const double even[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, right[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 20 };
	struct estimate e = { 6.5, NAN, NAN, 9, 0.7 };
	double squares = 0, cubes = 0;
	for (int k = 0; k < 10; k++) {
		squares += pow(right[k] - e.value, 2);
		cubes += pow(right[k] - e.value, 3);
	}
	e.error = sqrt(squares / 90);
	e.skewness = cubes / pow(squares, 1.5) * sqrt(90) / 8;
	struct interval plain = estimate_interval(&e, ESTIMATE_REAL, 0.95), i = estimate_mean(right, 10, ESTIMATE_REAL, 0.95);
	double right_end = plain.high;
	/* The longer tail adds 4 ((20 - 5.5) - (5.5 - 1)) / 10 = 4 to the upper end. */
	ok(fabs(i.high - plain.high - 4) < 1e-9 && fabs(i.low - plain.low) < 1e-9, "the end on the side of the longer tail moves by 4");
	e = (struct estimate){ 5.5, sqrt(82.5 / 90), 0, 9, 0.7 };
	plain = estimate_interval(&e, ESTIMATE_REAL, 0.95);
	i = estimate_mean(even, 10, ESTIMATE_REAL, 0.95);
	ok(fabs(i.high - plain.high) < 1e-9 && fabs(i.low - plain.low) < 1e-9, "equal tails: neither end moves");
	double one[10], turned[10];
	for (int k = 0; k < 10; k++) {
		one[k] = 1;
		turned[k] = 21 - right[k];
	}
	struct interval up = estimate_ratio(right, one, 10, 0.95), down = estimate_ratio(turned, one, 10, 0.95);
	ok(up.high > right_end + 3.9, "a ratio with a long tail to the right is longer to the right");
	struct interval mean = estimate_mean(turned, 10, ESTIMATE_NON_NEGATIVE, 0.95);
	ok(down.low < mean.low - 3.9 && down.low > 0, "a ratio with a long tail to the left is longer to the left");
}

/* Tests one long value among small ones: the mean is 10.9, the standard error 9.9. */
static void skewed(void)
{
	const double v[] = { 1, 1.1, 0.9, 1, 1.1, 0.9, 1, 1, 1, 100 };
	struct interval i = estimate_mean(v, 10, ESTIMATE_NON_NEGATIVE, 0.95);
	ok(i.low > 0 && i.high > 10.9 + 2.262157 * 9.9, "a long tail to the right: longer than Student's to the right, [%g, %g]", i.low,
		i.high);
	struct interval real = estimate_mean(v, 10, ESTIMATE_REAL, 0.95);
	ok(real.low < -11 && real.high > 33, "a difference may be negative");
	double turned[10];
	for (int k = 0; k < 10; k++)
		turned[k] = -v[k];
	i = estimate_mean(turned, 10, ESTIMATE_REAL, 0.95);
	ok(fabs(i.low + real.high) < 1e-9 && fabs(i.high + real.low) < 1e-9, "the interval of -x is that of x, turned");
	static const char *const names[] = { "closed_form_error", "prediction_error", "auc_change", "jct_diff" };
	for (int k = 0; k < 4; k++) {
		i = estimate_mean(turned, 10, estimate_range_of(names[k]), 0.95);
		ok(i.low < i.mean && i.mean < i.high, "%s may be negative: its interval contains its mean", names[k]);
	}
}

/* Tests Wilson's interval by hand: p = 0.9, n = 10, with t(0.975, 9) = 2.262157 in place of z. With u = t^2 / n = 0.5117355, the
 * middle is (0.9 + u / 2) / (1 + u) = 0.7645965 and the half-width sqrt(0.09 u + u^2 / 4) / (1 + u) = 0.2209069. */
static void fractions(void)
{
	const double v[] = { 1, 1, 1, 0, 1, 1, 1, 1, 1, 1 }, high[] = { 1, 1, 0.999, 0.9, 1, 0.99, 0.7, 1, 0.97, 0.98 };
	struct interval i = estimate_mean(v, 10, ESTIMATE_FRACTION, 0.95);
	near_to(i.low, 0.7645965 - 0.2209069, 1e-6, "yes and no: Wilson's lower end");
	near_to(i.high, 0.7645965 + 0.2209069, 1e-6, "yes and no: Wilson's upper end");
	i = estimate_mean(high, 10, ESTIMATE_FRACTION, 0.95);
	ok(i.high <= 1 && i.low > 0 && i.low < i.mean, "no fraction above 1");
}

/* Tests the interval of a given estimate by hand. With one degree of freedom, Student's quantiles are tangents: at an error of 1/4 it is
 * 1, at 1/8 tan(3 pi / 8) = 1 + sqrt(2). With the skewness 1.5, a = 1/2, and Hall's ends are those of
 * t = ((1 + 1.5 (y - 1/4))^(1/3) - 1) / a. */
static void given_estimate(void)
{
	struct estimate e = { 10, 2, 1.5, 1, 1 };
	struct interval i = estimate_interval(&e, ESTIMATE_REAL, 0.5);
	/* y = -1: 1 - 1.5 * 1.25 = -0.875. y = 1: Hall's end is 10 - 2 * 2 (2.125^(1/3) - 1) = 8.86, Student's 8. */
	near_to(i.high, 10 + 4 * (1 + cbrt(0.875)), 1e-9, "Hall's upper end");
	near_to(i.low, 8, 1e-9, "the lower of Student's end and Hall's");
	e.skewness = -1.5;
	i = estimate_interval(&e, ESTIMATE_REAL, 0.5);
	near_to(i.low, 10 - 4 * (1 + cbrt(0.875)), 1e-9, "a negative skewness turns the interval");
	near_to(i.high, 12, 1e-9, "at both ends");
	e.skewness = 0;
	e.tail_share = 0.5;
	i = estimate_interval(&e, ESTIMATE_REAL, 0.5);
	near_to(i.low, 8, 1e-9, "no skewness: Student's end");
	near_to(i.high, 10 + 2 * (1 + sqrt(2)), 1e-9, "the smaller error on the side of the tail");
	e.skewness = -1e-12;
	i = estimate_interval(&e, ESTIMATE_REAL, 0.5);
	near_to(i.low, 10 - 2 * (1 + sqrt(2)), 1e-9, "a tail to the left");
	near_to(i.high, 12, 1e-9, "and the other end");
	i = estimate_interval(&e, ESTIMATE_NON_NEGATIVE, 0.5);
	near_to(i.high, 10 * exp(0.2 * (1 + sqrt(2))), 1e-9, "of values that are never negative, the tail is on the right, in logarithms");
	near_to(i.low, 8, 1e-9, "below 10 exp(-0.2) = 8.19");
	e = (struct estimate){ 1, 2, 0, 1, 1 };
	i = estimate_interval(&e, ESTIMATE_NON_NEGATIVE, 0.5);
	near_to(i.low, exp(-2), 1e-9, "an end below 0 is replaced by that of the logarithm");
	e = (struct estimate){ 0.9, 0.3, 0, 1, 1 };
	i = estimate_interval(&e, ESTIMATE_FRACTION, 0.5);
	ok(i.high == 1 && fabs(i.low - 0.6) < 1e-9, "a share is at most 1");
	e = (struct estimate){ -1, 2, 0, 1, 1 };
	i = estimate_interval(&e, ESTIMATE_NON_NEGATIVE, 0.5);
	ok(i.low == 0, "an estimate below 0 has a lower end of 0");
	e = (struct estimate){ 10, 1e-11, 0, 1, 1 };
	ok(isnan(estimate_interval(&e, ESTIMATE_REAL, 0.5).low), "an error of a few ulps is none");
	e = (struct estimate){ 10, 2, 0, 0, 1 };
	ok(isnan(estimate_interval(&e, ESTIMATE_REAL, 0.5).low), "no interval without degrees of freedom");
	e = (struct estimate){ 10, INFINITY, 0, 1, 1 };
	ok(isnan(estimate_interval(&e, ESTIMATE_REAL, 0.5).low), "no interval with an infinite error");
}

/* Tests Student's interval. Two values have one degree of freedom; with two, the quantile at p is (2p - 1) / sqrt(2p (1 - p)), at 0.75
 * sqrt(2/3). 1, 2 and 6 have mean 3 and variance 7, and sqrt(2/3 7/3) = sqrt(14) / 3. */
static void student(void)
{
	static const double v[] = { 1, 2, 6 };
	struct interval i = estimate_student(v, 3, 0.5);
	near_to(i.mean, 3, 1e-12, "the mean");
	near_to(i.low, 3 - sqrt(14) / 3, 1e-9, "Student's lower end");
	near_to(i.high, 3 + sqrt(14) / 3, 1e-9, "Student's upper end");
	i = estimate_student(v, 2, 0.5);
	near_to(i.low, 1, 1e-9, "1 and 2: 1.5 - 0.5");
	i = estimate_student(v, 1, 0.5);
	ok(i.mean == 1 && isnan(i.low) && isnan(i.high), "one value has no interval");
	ok(isnan(estimate_student(v, 0, 0.5).mean), "no value has no mean");
	/* P(T > t) with two degrees of freedom is 1/2 - t / (2 sqrt(2 + t^2)); here t = 3 / sqrt(7/3), t^2 = 27/7. */
	near_to(estimate_student_above(v, 3), 0.5 - 0.5 * sqrt(27.0 / 41), 1e-9, "the p-value of a mean above 0");
}

static void ranges(void)
{
	ok(estimate_range_of("utilisation") == ESTIMATE_FRACTION && estimate_range_of("useful_part") == ESTIMATE_FRACTION &&
			estimate_range_of("serve.attainment") == ESTIMATE_FRACTION &&
			estimate_range_of("attainment.opt") == ESTIMATE_FRACTION,
		"shares are fractions, those of a part of a mixed run too");
	ok(estimate_range_of("jct_mean") == ESTIMATE_NON_NEGATIVE && estimate_range_of("jct_diff") == ESTIMATE_REAL,
		"times are never negative, differences may be");
}

/* ---- coverage ---- */

static double normal(void)
{
	return 10 + 3 * gsl_ran_gaussian(rng, 1);
}
static double exponential(void)
{
	return gsl_ran_exponential(rng, 1);
}
static double mirrored(void)
{
	return 10 - gsl_ran_exponential(rng, 1);
}
static double lognormal(void)
{
	return gsl_ran_lognormal(rng, 0, 0.8);
}
static double heavy(void)
{
	return gsl_ran_lognormal(rng, 0, 1.5);
}
static double pareto(void)
{
	return gsl_ran_pareto(rng, 2, 1);
}
/* Returns a normal value; one value in 20 is longer, by 10 standard deviations on average. */
static double bursts(void)
{
	return normal() + (gsl_rng_uniform(rng) < 0.05 ? 30 * gsl_ran_exponential(rng, 1) : 0);
}
/* Returns a value; three in 100 are longer by Pareto's law of index 1.5, whose mean is 3. This resembles ttft_p90 of a language
 * model near saturation. */
static double few_decide(void)
{
	double body = 0.8 + 0.2 * gsl_ran_exponential(rng, 1);
	return body + (gsl_rng_uniform(rng) < 0.03 ? gsl_ran_pareto(rng, 1.5, 1) : 0);
}
static double sparse(void)
{
	return gsl_rng_uniform(rng) < 0.7 ? 0 : gsl_ran_exponential(rng, 1);
}
static double count(void)
{
	return gsl_ran_poisson(rng, 2);
}

/* Counts the intervals of 1,000 samples that contain the mean. At 95 % the share has a standard deviation of 0.7 points. Intervals of
 * a long lognormal law are too long, because Cox's upper end and the correction for the longer tail add up. */
static void coverage(const char *name, double (*draw)(void), double mean, size_t n)
{
	enum { REPETITIONS = 1000 };
	double v[N_MAX];
	int hits = 0, below = 0, given = 0;
	for (int r = 0; r < REPETITIONS; r++) {
		for (size_t k = 0; k < n; k++)
			v[k] = draw();
		struct interval i = estimate_mean(v, n, ESTIMATE_NON_NEGATIVE, 0.95);
		given += !isnan(i.low);
		hits += i.low <= mean && mean <= i.high;
		below += i.low < 0;
	}
	double share = (double)hits / given;
	ok(given >= 900 && share >= 0.9 && share <= 0.996 && !below,
		"%s, %zu values: %d of %d intervals contain the mean, none starts below 0", name, n, hits, given);
}

/* With common random numbers, a and b share most of their variation. */
static void pairs(void)
{
	enum { REPETITIONS = 1000, N = 10 };
	int ratios = 0, differences = 0;
	for (int r = 0; r < REPETITIONS; r++) {
		double a[N], b[N];
		for (int k = 0; k < N; k++) {
			double common = gsl_ran_lognormal(rng, 0, 0.8);
			a[k] = 2 * common * gsl_ran_lognormal(rng, -0.005, 0.1);
			b[k] = common * gsl_ran_lognormal(rng, -0.005, 0.1);
		}
		struct interval q = estimate_ratio(a, b, N, 0.95), d = estimate_difference(a, b, N, 0.95);
		double mean = exp(0.32);
		ratios += q.low <= 2 && 2 <= q.high;
		differences += d.low <= mean && mean <= d.high;
	}
	ok(ratios >= 905 && ratios <= 985, "ratios of 10 pairs: %d of 1000 intervals contain the ratio of the means", ratios);
	ok(differences >= 905 && differences <= 985, "differences of 10 pairs: %d of 1000 hold the difference", differences);
}

int main(void)
{
	rng = gsl_rng_alloc(gsl_rng_mt19937);
	gsl_rng_set(rng, 20261122);
	few_or_equal();
	rare();
	lognormal_end();
	longer_tail();
	skewed();
	fractions();
	given_estimate();
	student();
	ranges();
	coverage("normal", normal, 10, 10);
	coverage("exponential", exponential, 1, 10);
	coverage("exponential", exponential, 1, 40);
	coverage("a long tail to the left", mirrored, 9, 10);
	coverage("lognormal", lognormal, exp(0.32), 10);
	coverage("lognormal", lognormal, exp(0.32), 20);
	coverage("a long lognormal law", heavy, exp(1.125), 10);
	coverage("a long lognormal law", heavy, exp(1.125), 40);
	coverage("Pareto's law of index 2", pareto, 2, 10);
	coverage("bursts", bursts, 11.5, 10);
	coverage("mostly zero", sparse, 0.3, 40);
	coverage("few runs decide", few_decide, 1.09, 20);
	coverage("few runs decide", few_decide, 1.09, 40);
	coverage("small counts", count, 2, 10);
	pairs();
	gsl_rng_free(rng);
	return done();
}
