/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Removal of the warm-up: MSER-5 by hand, the cut of values by index, and the bias that it removes from the waits of an M/M/1 queue.
 */
#include "results/batches.h"
#include "results/warmup.h"

#include "base/mem.h"
#include "base/rng.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>

enum { CUSTOMERS = 10000 };

static double v[CUSTOMERS], w[CUSTOMERS];

/* The definition: the d <= all but five batches that minimises the sum of squares of batches d.. / their number squared. */
static size_t by_definition(const double *x, size_t n)
{
	size_t batches = n / 5, best = 0;
	double least = INFINITY;
	for (size_t d = 0; d + 5 < batches; d++) {
		double mean = 0, sum = 0, count = (double)(batches - d);
		for (size_t k = 5 * d; k < 5 * batches; k++)
			mean += x[k] / 5 / count;
		for (size_t b = d; b < batches; b++) {
			double y = 0;
			for (size_t k = 5 * b; k < 5 * b + 5; k++)
				y += x[k] / 5;
			sum += (y - mean) * (y - mean);
		}
		if (sum / count / count < least) {
			least = sum / count / count;
			best = d;
		}
	}
	return best;
}

static void by_hand(void)
{
	bool is_determined;
	struct rng rng;
	rng_init(&rng, 1, "mser", 0);
	for (int k = 0; k < 100; k++)
		v[k] = k < 20 ? 50 : k % 2;
	ok(warmup_mser5(v, 100, &is_determined) == 20 && is_determined, "a step after 20 values is cut off");
	for (int k = 0; k < 100; k++)
		v[k] = k < 73 ? 50 : k % 2;
	ok(warmup_mser5(v, 100, &is_determined) == 0 && !is_determined, "a step in the second half is not");
	for (int k = 0; k < 100; k++)
		v[k] = 3;
	ok(warmup_mser5(v, 100, &is_determined) == 0 && is_determined, "equal values are all kept");
	ok(warmup_mser5(v, 49, &is_determined) == 0 && !is_determined, "49 values are too few");
	int equal = 0;
	for (int i = 0; i < 50; i++) {
		size_t n = 50 + (size_t)rng_below(&rng, 200);
		for (size_t k = 0; k < n; k++)
			v[k] = 1e6 + rng_uniform(&rng) + 5 * exp(-(double)k / (1 + i));
		size_t d = by_definition(v, n), got = warmup_mser5(v, n, &is_determined);
		equal += 2 * d <= n / 5 ? got == 5 * d && is_determined : !got && !is_determined;
	}
	ok(equal == 50, "50 series: as by the definition (%d)", equal);
}

/* Values arrive in another order than that of their indices; two indices are missing. */
static void cuts(void)
{
	struct hist *h = hist_new();
	struct blocks *b = mem_zalloc(1, sizeof *b);
	blocks_init(b);
	for (uint64_t k = 100; k-- > 0;) {
		if (k == 7 || k == 50)
			continue;
		hist_add_at(h, k, k < 20 ? 50 : (double)(k % 2));
		blocks_add(b, k, k < 20 ? 50 : (double)(k % 2));
	}
	struct warmup mser5 = { .kind = WARMUP_MSER5 }, time = { .kind = WARMUP_TIME, .time_ns = 1 }, none = { .kind = WARMUP_NONE };
	struct warmup_cut c = warmup_find(&mser5, h, 0);
	ok(c.is_determined && c.removed == 20 && c.first == 21, "the cut is at an index: 19 high values, and one to fill a batch");
	struct warmup_cut t = warmup_find(&time, h, 60), n = warmup_find(&none, h, 60);
	ok(t.first == 60 && t.removed == 58 && !n.removed, "58 values have indices below 60");
	warmup_apply(&c, &h, b);
	struct interval mean = batches_mean(b, 0, ESTIMATE_NON_NEGATIVE, NAN);
	ok(hist_count(h) == 78 && hist_max(h) == 1 && fabs(hist_mean(h) - 40. / 78) < 1e-12 && fabs(mean.mean - 40. / 78) < 1e-12,
		"the rest has a mean, a maximum and blocks of its own");
	warmup_apply(&n, &h, b);
	ok(hist_count(h) == 78, "a cut of nothing keeps all");
	hist_free(h);
	h = hist_new_exact_to(10);
	for (uint64_t k = 0; k < 100; k++)
		hist_add_at(h, k, 1);
	c = warmup_find(&mser5, h, 0);
	ok(!c.is_determined && !c.removed, "values in buckets have no order");
	hist_free(h);
	mem_free(b);
}

/* Lindley's recursion: waits in the queue, load 0.8, mean service 1, first wait w0. */
static void waits(struct rng *rng, double w0, double *other)
{
	double x = w0, y = 0;
	for (int k = 0; k < CUSTOMERS; k++) {
		v[k] = x;
		other[k] = y;
		double step = rng_exponential(rng, 1) - rng_exponential(rng, 1.25);
		x = fmax(x + step, 0);
		y = fmax(y + step, 0);
	}
}

static double mean_from(const double *x, size_t from)
{
	double sum = 0;
	for (size_t k = from; k < CUSTOMERS; k++)
		sum += x[k];
	return sum / (double)(CUSTOMERS - from);
}

/* The mean wait in the queue is rho / (1 - rho) x mean service = 4. The first customer waits 20 times as long. */
static void bias(int runs)
{
	static const double mean = 4;
	double raw = 0, cut = 0, squares = 0, plain = 0, removed = 0;
	int without = 0;
	for (int i = 0; i < runs; i++) {
		struct rng rng;
		bool is_determined;
		rng_init(&rng, 11, "bias", (uint64_t)i);
		waits(&rng, 20 * mean, w);
		size_t d = warmup_mser5(v, CUSTOMERS, &is_determined);
		double x = mean_from(v, d) - mean;
		raw += mean_from(v, 0) - mean;
		plain += mean_from(w, 0) - mean;
		cut += x;
		squares += x * x;
		removed += (double)d;
		without += !is_determined;
	}
	raw /= runs;
	cut /= runs;
	double error = sqrt((squares / runs - cut * cut) / runs), left = (fabs(cut) + 2.576 * error) / raw;
	printf("# %d runs: bias %.4f; after MSER-5 %.4f, standard error %.4f; from an empty queue %.4f; %.0f customers removed, none in %d "
	       "runs\n",
		runs, raw, cut, error, plain / runs, removed / runs, without);
	ok(raw > 0.5 && left <= 0.1, "MSER-5 removes at least %.1f %% of the bias of a start at 20 times the mean wait (99 %% confidence)",
		100 * (1 - left));
}

int main(void)
{
	const char *runs = getenv("ORRERY_WARMUP_RUNS");
	by_hand();
	cuts();
	bias(runs ? atoi(runs) : 2000);
	return done();
}
