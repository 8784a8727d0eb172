/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/stats.h"

#include "tests/tap.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <stdlib.h>

static gsl_rng *rng;

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Quantiles by definition: linear interpolation at (n-1)p. */
static double definition(const double *sorted, size_t n, double p)
{
	double at = (double)(n - 1) * p;
	size_t k = (size_t)floor(at);
	return k + 1 < n ? sorted[k] + (at - (double)k) * (sorted[k + 1] - sorted[k]) : sorted[n - 1];
}

static void small_hist(void)
{
	enum { N = 1001 };
	double v[N], worst = 0, sum = 0;
	struct hist *h = hist_new();
	ok(isnan(hist_quantile(h, 0.5)) && isnan(hist_mean(h)), "nothing has no quantile and no mean");
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
	/* Python's math.fsum(): 1e16 + 1 is a tie between two doubles, which goes to the even one unless something is left. */
	h = hist_new();
	hist_add(h, 1e16);
	hist_add(h, 1);
	ok(hist_mean(h) == 1e16 / 2, "a tie goes to the even double");
	hist_add(h, 1e-18);
	ok(hist_mean(h) == 10000000000000002.0 / 3, "the smallest rest decides a tie");
	hist_free(h);
}

/* Sums are exact over the whole range of double, and adding a value n times equals n additions. */
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
		"a value added more often than values are kept exactly"); /* 3 is the maximum, which is exact */
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

/* Student's t by hand: values 1..10 as ten batches of one; mean 5.5, s = sqrt(55/6),
 * t(0.975, 9) = 2.262157 (tables). */
static void t_interval(void)
{
	struct blocks b;
	blocks_init(&b);
	for (uint64_t i = 0; i < 10; i++)
		blocks_add(&b, i, (double)i + 1);
	struct interval x = blocks_mean(&b, 0, 10, 0.95);
	near_to(x.mean, 5.5, 1e-15, "the mean of 1..10");
	near_to(x.high - x.mean, 2.262157 * sqrt(55.0 / 6 / 10), 2e-7, "its t-interval as tables have it");
	near_to(x.mean - x.low, x.high - x.mean, 1e-12, "the t-interval is symmetric");
	struct interval half = blocks_mean(&b, 0.5, 10, 0.95);
	ok(half.mean == 8 && isnan(half.low), "warm-up is left out; too few blocks have no interval");
	blocks_init(&b);
	ok(isnan(blocks_mean(&b, 0, 10, 0.95).mean), "no values have no mean");
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
	ok(b.width == 8 && b.n == 625 && total == sum && count == 5000, "folding loses nothing (5000 values, width 8)");
	double first = 0;
	for (int i = 0; i < 8; i++)
		first += i % 17;
	ok(blocks_sum(&b, 0) == first && b.count[0] == 8, "a block holds consecutive values");
}

/* x[i] = phi x[i-1] + noise, mean 10. */
static void ar1(struct blocks *b, double phi, size_t n, double shift, double own_noise, const double *common)
{
	double x = 0;
	blocks_init(b);
	for (size_t i = 0; i < n; i++) {
		x = phi * x + common[i];
		blocks_add(b, i, 10 + shift + x + own_noise * gsl_ran_gaussian(rng, 1));
	}
}

static void fill_noise(double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = gsl_ran_gaussian(rng, 1);
}

/* A 95 % interval contains the truth in 95 of 100 cases. With 400 repetitions the
 * share has a standard deviation of 1.1 points. Batch means and percentile
 * bootstrap are known to fall short by a few points under long correlation
 * (Law and Kelton 9.5.3), so the bound is 90 %. */
static void coverage(double phi, size_t n)
{
	enum { REPETITIONS = 400 };
	int mean_hits = 0, pair_hits = 0;
	double *u = malloc(n * sizeof *u), *w = malloc(n * sizeof *w);
	for (int r = 0; r < REPETITIONS; r++) {
		struct blocks a, b;
		fill_noise(u, n);
		fill_noise(w, n);
		for (size_t i = 0; i < n; i++)
			w[i] = 0.8 * u[i] + 0.6 * w[i]; /* correlated with u, the same variance */
		ar1(&a, phi, n, 0, 0.5, u);
		ar1(&b, phi, n, 1, 0.5, w);
		struct interval m = blocks_mean(&a, 0.05, 20, 0.95);
		struct interval d = blocks_paired(&b, &a, 400, 0.95, (uint64_t)r);
		mean_hits += m.low <= 10 && 10 <= m.high;
		pair_hits += d.low <= 1 && 1 <= d.high;
	}
	free(u);
	free(w);
	double mean_share = mean_hits / (double)REPETITIONS, pair_share = pair_hits / (double)REPETITIONS;
	ok(mean_share >= 0.90 && mean_share <= 0.99, "batch means, AR(1) phi %g, %zu values: %.1f %% hold the truth", phi, n,
		100 * mean_share);
	ok(pair_share >= 0.89 && pair_share <= 0.99, "paired bootstrap, phi %g, %zu values: %.1f %% hold the truth", phi, n,
		100 * pair_share);
}

static void pairing(void)
{
	enum { N = 3000 };
	struct blocks a, b;
	double *common = malloc(N * sizeof *common);
	fill_noise(common, N);
	ar1(&a, 0.5, N, 0, 0, common);
	ar1(&b, 0.5, N, 2, 0, common);
	struct interval d = blocks_paired(&b, &a, 500, 0.95, 7), same = blocks_paired(&b, &a, 500, 0.95, 7);
	ok(fabs(d.mean - 2) < 1e-9 && d.high - d.low < 1e-9, "variation common to both runs cancels");
	ar1(&b, 0.5, N, 2, 1, common);
	d = blocks_paired(&b, &a, 500, 0.95, 7);
	same = blocks_paired(&b, &a, 500, 0.95, 7);
	struct interval other = blocks_paired(&b, &a, 500, 0.95, 8), back = blocks_paired(&a, &b, 500, 0.95, 7);
	ok(!memcmp(&d, &same, sizeof d), "the same seed gives the same bytes");
	ok(d.low != other.low && d.mean == other.mean, "another seed gives another interval and the same mean");
	ok(back.mean == -d.mean && fabs(back.low + d.high) < 1e-12, "swapping the runs changes the sign");
	blocks_init(&a);
	ok(isnan(blocks_paired(&a, &b, 100, 0.95, 1).mean), "without paired values there is no difference");
	blocks_init(&b);
	for (uint64_t i = 0; i < 20; i++) { /* the first is long, and ends in one of the two runs only */
		blocks_add(&a, i, i ? 10 : 1000);
		if (i)
			blocks_add(&b, i, 7);
	}
	ok(blocks_paired(&a, &b, 100, 0.95, 1).mean == 3, "a job that ended in one run alone is in no difference");
	free(common);
}

int main(void)
{
	rng = gsl_rng_alloc(gsl_rng_mt19937);
	gsl_rng_set(rng, 20240501);
	small_hist();
	exact_mean();
	exact_everywhere();
	large_hist();
	t_interval();
	folding();
	coverage(0, 2000);
	coverage(0.9, 4000);
	coverage(0.5, 300);
	pairing();
	gsl_rng_free(rng);
	return done();
}
