/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/stats.h"

#include "tests/tap.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <stdlib.h>

static gsl_rng *rng;

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Computes a quantile by its definition: linear interpolation at (n-1)p. */
static double definition(const double *sorted, size_t n, double p)
{
	double at = (double)(n - 1) * p;
	size_t k = (size_t)floor(at);
	return k + 1 < n ? sorted[k] + (at - (double)k) * (sorted[k + 1] - sorted[k]) : sorted[n - 1];
}

/* Numbers of values on both sides of each choice of a sort; some values differ only in their last bits, some are equal. Compared with
 * qsort(). */
static void sorts(void)
{
	static const int sizes[] = { 1, 2, 99, 100, 101, 500, 999, 1000, 1001, 3000 };
	enum { MOST = 3000 };
	static double v[MOST];
	double worst = 0;
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (int kind = 0; kind < 3; kind++) {
			int n = sizes[s];
			struct hist *h = hist_new();
			for (int i = 0; i < n; i++) {
				v[i] = kind == 0   ? gsl_ran_lognormal(rng, 3, 9)
				       : kind == 1 ? 1e6 + 1e-9 * gsl_rng_uniform(rng)
						   : floor(3 * gsl_rng_uniform(rng));
				hist_add(h, v[i]);
			}
			qsort(v, (size_t)n, sizeof *v, by_value);
			for (int i = 0; i < n; i++)
				worst = fmax(
					worst, fabs(hist_quantile(h, i / fmax(n - 1, 1)) - definition(v, (size_t)n, i / fmax(n - 1, 1))));
			hist_free(h);
		}
	ok(worst == 0, "quantiles of 1 to 3,000 values are those of the sorted values");
}

static void small_hist(void)
{
	enum { N = 1001 };
	double v[N], worst = 0, sum = 0;
	struct hist *h = hist_new();
	ok(isnan(hist_quantile(h, 0.5)) && isnan(hist_mean(h)), "an empty histogram has no quantile and no mean");
	for (int i = 0; i < N; i++) {
		v[i] = gsl_ran_lognormal(rng, 3, 2);
		hist_add(h, v[i]);
	}
	qsort(v, N, sizeof *v, by_value);
	for (int i = 0; i <= 1000; i++)
		worst = fmax(worst, fabs(hist_quantile(h, i / 1000.0) - definition(v, N, i / 1000.0)));
	ok(worst == 0, "quantiles of few values are those of the sorted values");
	for (int i = 0; i < N; i++)
		sum += v[i];
	near_to(hist_mean(h), sum / N, 1e-14, "the mean");
	ok(hist_max(h) == v[N - 1] && hist_count(h) == N, "maximum and count");
	hist_free(h);
}

/* The sum of 1e16, 1 and 1 is 1e16 in doubles when the numbers are added in
 * this order; the rounded exact sum is 10000000000000002. */
static void exact_mean(void)
{
	struct hist *h = hist_new();
	hist_add(h, 1e16);
	hist_add(h, 1);
	hist_add(h, 1);
	ok(hist_mean(h) == 10000000000000002.0 / 3, "small values are not lost beside large ones");
	hist_free(h);
	/* The result is that of Python's math.fsum(). 1e16 + 1 is a tie between two doubles and is rounded to the even one, unless
	 * there is a remainder. */
	h = hist_new();
	hist_add(h, 1e16);
	hist_add(h, 1);
	ok(hist_mean(h) == 1e16 / 2, "a tie goes to the even double");
	hist_add(h, 1e-18);
	ok(hist_mean(h) == 10000000000000002.0 / 3, "the smallest rest decides a tie");
	hist_free(h);
}

/* Sums are exact over the whole range of double. Adding a value n times in one call equals n additions. */
static void exact_everywhere(void)
{
	struct hist *h = hist_new();
	for (int i = 0; i < 3; i++)
		hist_add(h, 0x1p-1074);
	ok(hist_mean(h) * 3 == 3 * 0x1p-1074, "the smallest doubles are summed exactly");
	hist_add(h, 0x1p900);
	ok(hist_mean(h) == 0x1p898, "the smallest doubles are summed exactly beside a very large one");
	hist_free(h);
	struct hist *one = hist_new(), *many = hist_new(), *backwards = hist_new();
	static const double v[] = { 0.1, 1e-300, 3e17, 7, 0x1.fffffffffffffp+1, 1e200, 0 };
	for (int i = 0; i < 7; i++) {
		hist_add_n(many, v[i], 1000);
		for (int k = 0; k < 1000; k++) {
			hist_add(one, v[i]);
			hist_add(backwards, v[6 - i]);
		}
	}
	ok(hist_mean(one) == hist_mean(many) && hist_mean(one) == hist_mean(backwards), "a thousand at once, one by one, and backwards");
	ok(hist_count(many) == 7000 && hist_quantile(many, 0.5) == hist_quantile(one, 0.5), "values added n at once are counted n times");
	hist_free(one);
	hist_free(many);
	hist_free(backwards);
	/* 0.1 + .. + 0.1, ten times, is 0.9999999999999999 in doubles; the exact sum rounds to 1. */
	h = hist_new();
	hist_add_n(h, 0.1, 10);
	ok(hist_mean(h) == 1.0 / 10, "ten times 0.1 is 1");
	hist_add_n(h, 3, 2000000);
	ok(hist_count(h) == 2000010 && hist_quantile(h, 0.5) == 3,
		"a value added more often than values are kept exactly"); /* the quantile asked for is the maximum, 3, which is exact */
	hist_free(h);
}

enum { MANY = 1500000 };

static void large_hist(void)
{
	double *v = malloc(MANY * sizeof *v);
	struct hist *one = hist_new(), *back = hist_new();
	for (size_t i = 0; i < MANY; i++) {
		v[i] = i % 1000 ? gsl_ran_lognormal(rng, 0, 4) : 0;
		hist_add(one, v[i]);
	}
	for (size_t i = MANY; i-- > 0;)
		hist_add(back, v[i]);
	bool same = hist_mean(one) == hist_mean(back);
	qsort(v, MANY, sizeof *v, by_value);
	double worst = 0;
	for (int i = 0; i <= 1000; i++) {
		double p = i / 1000.0, got = hist_quantile(one, p), want = definition(v, MANY, p);
		same = same && got == hist_quantile(back, p);
		worst = fmax(worst, want > 0 ? fabs(got / want - 1) : got);
	}
	ok(same, "the order of the values changes no bit");
	ok(worst <= 0.005, "quantiles of many values are within 0.5 %% (worst %.3f %%)", 100 * worst);
	ok(hist_quantile(one, 0) == v[0] && hist_quantile(one, 1) == v[MANY - 1], "the smallest and the largest value are exact");
	hist_free(one);
	hist_free(back);
	free(v);
}

static void folding(void)
{
	struct blocks b;
	double sum = 0, total = 0;
	uint64_t count = 0;
	blocks_init(&b);
	for (uint64_t i = 0; i < 5000; i++) {
		blocks_add(&b, i, (double)(i % 17));
		sum += (double)(i % 17);
	}
	for (size_t k = 0; k < b.n; k++) {
		total += blocks_sum(&b, k);
		count += b.count[k];
	}
	ok(b.width == 4 && b.n == 1250 && total == sum && count == 5000, "folding loses nothing (5000 values, width 4)");
	double first = 0;
	for (int i = 0; i < 4; i++)
		first += i % 17;
	ok(blocks_sum(&b, 0) == first && b.count[0] == 4, "a block holds consecutive values");
}

/* Tests the number of values above a limit, counted by definition in blocks of 4 numbers (5000 numbers, at most 2048 blocks), before
 * and after the quantiles are known. */
static void counting(void)
{
	double above[BLOCKS_MAX], all[BLOCKS_MAX];
	struct hist *h = hist_new(), *plain = hist_new(), *few = hist_new_exact_to(100);
	for (uint64_t i = 5000; i-- > 0;) {
		hist_add_at(h, i, (double)(i % 17));
		hist_add(plain, 1);
		hist_add_at(few, i, 1);
	}
	size_t n = hist_count_above(h, 12, above, all);
	bool is_right = n == 1250;
	for (size_t k = 0; k < n; k++) {
		double count = 0;
		for (size_t i = 4 * k; i < 4 * k + 4; i++)
			count += i % 17 > 12;
		is_right = is_right && above[k] == count && all[k] == 4;
	}
	ok(is_right, "values above a limit by block");
	ok(hist_quantile(h, 0.5) == 8 && hist_count_above(h, 12, above, all) == 1250 && above[3] == 3,
		"sorting leaves their numbers alone");
	hist_add_at(h, 5000, 40);
	ok(hist_quantile(h, 1) == 40 && hist_quantile(h, 0.5) == 8, "values may follow a quantile");
	ok(!hist_count_above(plain, 0, above, all) && !hist_count_above(few, 0, above, all),
		"no blocks for values without numbers, or for too many values");
	hist_free(h);
	hist_free(plain);
	hist_free(few);
}

/* Tests the number of values above a limit and quantiles. Above three values, a value counts as the middle of its bucket, but as at least
 * 1 and at most 5, the smallest and the largest value: 2 as 2 + 1/128, because the bucket from 2 is 1/64 wide. */
static void limits(void)
{
	static const double v[] = { 5, 2, 1, 2 };
	struct hist *exact = hist_new(), *few = hist_new_exact_to(3);
	ok(!hist_above(exact, 0), "no value is above a limit in an empty histogram");
	for (int i = 0; i < 4; i++) {
		hist_add(exact, v[i]);
		hist_add(few, v[i]);
	}
	ok(hist_above(exact, 0.5) == 4 && hist_above(exact, 1) == 3 && hist_above(exact, 1.5) == 3 && hist_above(exact, 2) == 1 &&
			hist_above(exact, 5) == 0,
		"values above a limit");
	ok(hist_above(few, 0.5) == 4 && hist_above(few, 1.5) == 3 && hist_above(few, 2.007) == 3 && hist_above(few, 2.008) == 1 &&
			hist_above(few, 4.99) == 1 && hist_above(few, 5) == 0,
		"values above a limit, by buckets");
	ok(hist_quantile(few, 0.5) == 2 + 1.0 / 128 && hist_quantile(few, 0) == 1 && hist_quantile(few, 1) == 5,
		"quantiles by buckets: the middle of a bucket between exact ends");
	ok(hist_quantile(exact, 0.25) == 1.75 && hist_quantile(exact, 0.75) == 2.75,
		"quantiles at 0.75 and 2.25: between 1 and 2, 2 and 5");
	ok(isnan(hist_quantile(exact, -0.01)) && isnan(hist_quantile(exact, 1.01)) && isnan(hist_quantile(exact, NAN)),
		"no quantile below 0 or above 1");
	hist_add(exact, -1);
	hist_add(exact, NAN);
	ok(hist_quantile(exact, 0.2) == 0 && hist_count(exact) == 6, "negative values and NaN count as 0");
	hist_free(exact);
	hist_free(few);
}

int main(void)
{
	rng = gsl_rng_alloc(gsl_rng_mt19937);
	gsl_rng_set(rng, 20240501);
	small_hist();
	exact_mean();
	exact_everywhere();
	large_hist();
	folding();
	counting();
	sorts();
	limits();
	gsl_rng_free(rng);
	return done();
}
