/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/stats.h"

#include "base/hash.h"
#include "base/mem.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fewer blocks do not determine their variance. */
enum { BLOCKS_MIN = 8 };

void blocks_init(struct blocks *b)
{
	*b = (struct blocks){ .width = 1 };
}

/* Doubles the width of the blocks. */
static void fold(struct blocks *b)
{
	size_t half = (b->n + 1) / 2;
	for (size_t k = 0; k < half; k++) {
		bool has_two = 2 * k + 1 < b->n;
		b->sum[k] = b->sum[2 * k] + (has_two ? b->sum[2 * k + 1] : 0);
		b->count[k] = b->count[2 * k] + (has_two ? b->count[2 * k + 1] : 0);
	}
	for (size_t k = half; k < b->n; k++) {
		b->sum[k] = 0;
		b->count[k] = 0;
	}
	b->n = half;
	b->width *= 2;
}

/* Like rint() with ties to even: adds and subtracts a number whose least significant bit has the value 1. */
static inline blocks_total whole(double x)
{
	const double magic = 0x1.8p52;
	if (fabs(x) < 0x1p51)
		return (int64_t)((x + magic) - magic);
	return (blocks_total)rint(x);
}

void blocks_add(struct blocks *b, uint64_t index, double value)
{
	int shift = __builtin_ctzll(b->width); /* a power of two */
	while (index >> shift >= BLOCKS_MAX) {
		fold(b);
		shift++;
	}
	size_t k = (size_t)(index >> shift);
	if (k >= b->n)
		b->n = k + 1;
	b->sum[k] += whole(value * 0x1p40);
	b->count[k]++;
}

static struct interval no_interval(double mean)
{
	return (struct interval){ mean, NAN, NAN };
}

struct interval blocks_mean(const struct blocks *b, double skip, int batches, double level)
{
	size_t first = (size_t)((double)b->n * fmin(fmax(skip, 0), 1));
	size_t n = b->n - first;
	double sum = 0;
	uint64_t count = 0;
	for (size_t k = first; k < b->n; k++) {
		sum += blocks_sum(b, k);
		count += b->count[k];
	}
	if (!count)
		return no_interval(NAN);
	double mean = sum / (double)count;
	if (n < BLOCKS_MIN || batches < 2)
		return no_interval(mean);
	size_t m = (size_t)batches < n ? (size_t)batches : n;
	/* With batches of equal size this is s/sqrt(m) of the batch means; with
	 * unequal ones the ratio estimator (Cochran, Sampling Techniques, 6.3). */
	double squares = 0, size = (double)count / (double)m;
	for (size_t i = 0; i < m; i++) {
		double batch = 0, members = 0;
		for (size_t k = first + n * i / m; k < first + n * (i + 1) / m; k++) {
			batch += blocks_sum(b, k);
			members += (double)b->count[k];
		}
		double off = (batch - mean * members) / size;
		squares += off * off;
	}
	double df = (double)(m - 1);
	double half = gsl_cdf_tdist_Pinv(0.5 + level / 2, df) * sqrt(squares / df / (double)m);
	return (struct interval){ mean, mean - half, mean + half };
}

/* Two sets of blocks over the same indices, as running totals over a circle: the
 * blocks are repeated once, so that a stretch may wrap around the end. */
struct pair {
	size_t n;
	double total_a[2 * BLOCKS_MAX + 1], total_b[2 * BLOCKS_MAX + 1];
	double count_a[2 * BLOCKS_MAX + 1], count_b[2 * BLOCKS_MAX + 1];
};

static struct pair *pair_new(const struct blocks *a, const struct blocks *b)
{
	struct blocks x = *a, y = *b;
	while (x.width < y.width)
		fold(&x);
	while (y.width < x.width)
		fold(&y);
	struct pair *p = mem_zalloc(1, sizeof *p);
	size_t in_both[BLOCKS_MAX];
	for (size_t k = 0; k < x.n || k < y.n; k++)
		if (x.count[k] == y.count[k])
			in_both[p->n++] = k;
	for (size_t k = 0; k < 2 * p->n; k++) {
		size_t from = in_both[k % p->n];
		p->total_a[k + 1] = p->total_a[k] + blocks_sum(&x, from);
		p->total_b[k + 1] = p->total_b[k] + blocks_sum(&y, from);
		p->count_a[k + 1] = p->count_a[k] + (double)x.count[from];
		p->count_b[k + 1] = p->count_b[k] + (double)y.count[from];
	}
	return p;
}

/* Returns the mean difference of one resample: stretches of `length` blocks from random
 * positions on the circle (Kunsch 1989; circular: Politis and Romano 1992). */
static double resample(const struct pair *p, size_t length, uint64_t *state)
{
	double a = 0, b = 0, na = 0, nb = 0;
	__extension__ typedef unsigned __int128 wide;
	for (size_t have = 0; have < p->n; have += length) {
		size_t take = p->n - have < length ? p->n - have : length;
		size_t at = (size_t)((wide)hash_next(state) * p->n >> 64);
		a += p->total_a[at + take] - p->total_a[at];
		b += p->total_b[at + take] - p->total_b[at];
		na += p->count_a[at + take] - p->count_a[at];
		nb += p->count_b[at + take] - p->count_b[at];
	}
	return a / na - b / nb;
}

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;
	return (a > b) - (a < b);
}

static double sorted_quantile(const double *v, size_t n, double p)
{
	double at = (double)(n - 1) * p;
	size_t k = (size_t)at;
	double part = at - (double)k;
	return part > 0 ? v[k] + part * (v[k + 1] - v[k]) : v[k];
}

struct interval blocks_paired(const struct blocks *a, const struct blocks *b, int resamples, double level, uint64_t seed)
{
	struct pair *p = pair_new(a, b);
	size_t n = p->n;
	double mean = p->total_a[n] / p->count_a[n] - p->total_b[n] / p->count_b[n];
	struct interval out = no_interval(mean);
	if (n >= BLOCKS_MIN && resamples >= 2 && isfinite(mean)) {
		/* Stretches of sqrt(n) cover the correlation time of a busy queue better
		 * than n^(1/3), which suits weak dependence (Hall, Horowitz, Jing 1995). */
		size_t length = (size_t)ceil(sqrt((double)n)), kept = 0;
		double *d = mem_zalloc((size_t)resamples, sizeof *d);
		for (int i = 0; i < resamples; i++) {
			double x = resample(p, length, &seed);
			if (isfinite(x)) /* a resample may contain no finished job */
				d[kept++] = x;
		}
		qsort(d, kept, sizeof *d, by_value);
		if (kept >= 2) {
			out.low = sorted_quantile(d, kept, 0.5 - level / 2);
			out.high = sorted_quantile(d, kept, 0.5 + level / 2);
		}
		mem_free(d);
	}
	mem_free(p);
	return out;
}
