/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/batches.h"

#include "base/mem.h"

#include <math.h>

/* Limits calibrated on the processes of tests/coverage (docs/models/statistics.md). */
static const double least_effective = 600, most_drift = 0.347, most_skewness = 0.15;
/*
 * Relative widening of the interval at the limits above. Near a limit, mostly runs with little variation pass the checks, and
 * their means are low.
 */
static const double most_widening = 0.2;
enum { LEAST_WAITS = 4000 };
/* Error probability on the side of the longer tail, as a share of the one-sided (1 - level) / 2. */
static const double tail_share = 0.4;

/* Sums and weights (counts, or time) of n consecutive blocks. */
struct stretch {
	size_t n;
	double sum[BLOCKS_MAX], weight[BLOCKS_MAX];
	double total, total_weight, mean;
	double rest[BLOCKS_MAX]; /* sum - mean x weight; set by residuals() */
};

/* Computes totals and mean. Returns false if there are no values. */
static bool complete(struct stretch *s)
{
	s->total = s->total_weight = 0;
	for (size_t k = 0; k < s->n; k++) {
		s->total += s->sum[k];
		s->total_weight += s->weight[k];
	}
	s->mean = s->total_weight > 0 ? s->total / s->total_weight : NAN;
	return s->total_weight > 0;
}

/* Returns n times the sum of the autocovariances at lag and lag + 1. *first: n times the autocovariance at lag. */
static double autocovariances(const struct stretch *s, size_t lag, double *first)
{
	double at = 0, after = 0;
	const double *r = s->rest;
	for (size_t k = 0; k + lag + 1 < s->n; k++) {
		at += r[k] * r[k + lag];
		after += r[k] * r[k + lag + 1];
	}
	*first = at + r[s->n - 1 - lag] * r[s->n - 1];
	return *first + after;
}

/*
 * Returns the effective number of blocks: n / integrated autocorrelation time (at least 1 block). Returns 0 below
 * least_effective. Pairwise sums of autocovariances are added while positive, each capped at the previous sum (Geyer 1992).
 */
static double effective(const struct stretch *s)
{
	double n = (double)s->n, variance = 0, time = -1, last = INFINITY;
	for (size_t lag = 0; lag + 1 < s->n; lag += 2) {
		double first, both = autocovariances(s, lag, &first);
		if (lag == 0)
			variance = first;
		if (!(variance > 0))
			return 0;
		if (!(both > 0))
			break;
		last = fmin(last, both / variance);
		time += 2 * last;
		if (n / fmax(time, 1) < least_effective)
			return 0;
	}
	return n / fmax(time, 1);
}

struct batch_means {
	double variance; /* variance of the mean of all values, for independent batches */
	double skewness; /* skewness of this mean */
};

enum { BATCHES = 8, FINE = 64, MIDDLE = 32 };

/* Sums over the residuals of blocks; set by residuals(). */
struct moments {
	double squares, cubes; /* sums of squares and cubes of single blocks */
	double bridge;         /* sum of squares of partial sums */
	double batch[FINE];    /* sums of FINE batches with the same number of blocks */
};

/* Computes s->rest and returns the sums over it, in one pass. */
static struct moments residuals(struct stretch *s)
{
	struct moments m = { .squares = 0 };
	double mean = s->mean, at = 0;
	for (size_t i = 0, k = 0; i < FINE; i++) {
		double before = at;
		for (size_t end = s->n * (i + 1) / FINE; k < end; k++) {
			double r = s->rest[k] = s->sum[k] - mean * s->weight[k];
			m.squares += r * r;
			m.cubes += r * r * r;
			at += r;
			m.bridge += at * at;
		}
		m.batch[i] = at - before;
	}
	return m;
}

/*
 * Returns the variance and skewness of the mean over n batches. squares, cubes: sums over the batches of the squared and cubed residual
 * sum. For batches of equal weight the variance is s^2 / n, where s^2 is the variance of the batch means. Otherwise it is the variance
 * of the ratio estimator (Cochran, Sampling Techniques, 6.3).
 */
static struct batch_means means_of(const struct stretch *s, size_t n, double squares, double cubes)
{
	double size = s->total_weight / (double)n;
	return (struct batch_means){ squares / (size * size) / (double)(n - 1) / (double)n,
		squares > 0 ? cubes / (squares * sqrt(squares)) : 0 };
}

/* Returns means_of() for n batches; n divides FINE. */
static struct batch_means batch(const struct stretch *s, const struct moments *m, size_t n)
{
	double squares = 0, cubes = 0;
	for (size_t i = 0; i < FINE; i += FINE / n) {
		double sum = 0;
		for (size_t k = i; k < i + FINE / n; k++)
			sum += m->batch[k];
		squares += sum * sum;
		cubes += sum * sum * sum;
	}
	return means_of(s, n, squares, cubes);
}

/* Returns the mean square of the bridge of partial sums, divided by the variance of their end. In a steady state its mean is 1/6, and
 * 10 % of the runs exceed 0.347. */
static double drift(const struct stretch *s, const struct moments *m, double variance)
{
	return m->bridge / (double)s->n / (variance * s->total_weight * s->total_weight);
}

static bool may_have_interval(size_t n, double level)
{
	return (double)n >= least_effective && !isnan(level);
}

static struct interval interval_of(struct stretch *s, enum estimate_range range, double level)
{
	struct interval none = { s->mean, NAN, NAN };
	if (!may_have_interval(s->n, level))
		return none;
	struct moments m = residuals(s);
	struct batch_means blocks = means_of(s, s->n, m.squares, m.cubes), fine = batch(s, &m, FINE), middle = batch(s, &m, MIDDLE);
	double most = fmax(fabs(blocks.skewness), fmax(fabs(fine.skewness), fabs(middle.skewness)));
	double skewness = fmax(blocks.skewness, fmax(fine.skewness, middle.skewness));
	if (range == ESTIMATE_REAL && skewness < most) /* the interval of -x is the mirrored interval of x */
		skewness = -most;
	if (!(most <= most_skewness) || !(drift(s, &m, fine.variance) <= most_drift))
		return none;
	double n = effective(s);
	if (!(n > 0))
		return none;
	double wider = 1 + most_widening * fmax(least_effective / n, pow(most / most_skewness, 2));
	struct estimate e = { s->mean, wider * sqrt(batch(s, &m, BATCHES).variance), skewness, BATCHES - 1, tail_share };
	return estimate_interval(&e, range, level);
}

/* ---- values by index ---- */

double batches_level(const struct blocks *waits, double level, struct interval *mean)
{
	static const double rounding = 1e-9;
	*mean = batches_mean(waits, 0, ESTIMATE_NON_NEGATIVE, level);
	double least = INFINITY, largest = 0;
	uint64_t n = 0;
	for (size_t k = 0; k < waits->n; k++)
		n += waits->count[k];
	if (n < LEAST_WAITS)
		mean->low = mean->high = NAN;
	for (size_t k = 0; k < waits->n; k++) {
		double x = waits->count[k] ? blocks_sum(waits, k) / (double)waits->count[k] : NAN;
		least = fmin(least, x);
		largest = fmax(largest, x);
	}
	return isnan(mean->low) && largest > least * (1 + rounding) ? NAN : level;
}

/* Returns the first of n blocks that is not excluded as warm-up. */
static size_t first_after(size_t n, double skip)
{
	return (size_t)((double)n * fmin(fmax(skip, 0), 1));
}

struct interval batches_mean(const struct blocks *b, double skip, enum estimate_range range, double level)
{
	struct stretch s;
	s.n = 0; /* the arrays are not cleared, because clearing would dominate the run time */
	for (size_t k = first_after(b->n, skip); k < b->n; k++) {
		s.sum[s.n] = blocks_sum(b, k);
		s.weight[s.n++] = (double)b->count[k];
	}
	return complete(&s) ? interval_of(&s, range, level) : (struct interval){ NAN, NAN, NAN };
}

struct interval batches_paired(const struct blocks *a, const struct blocks *b, double skip, double level, double *mean_b)
{
	struct blocks x = *a, y = *b;
	struct stretch s;
	s.n = 0;
	double sum_x = 0, sum_y = 0;
	blocks_align(&x, &y);
	for (size_t k = first_after(x.n > y.n ? x.n : y.n, skip); k < x.n || k < y.n; k++) {
		if (x.count[k] != y.count[k])
			continue;
		sum_x += blocks_sum(&x, k);
		sum_y += blocks_sum(&y, k);
		s.sum[s.n] = blocks_sum(&x, k) - blocks_sum(&y, k);
		s.weight[s.n++] = (double)x.count[k];
	}
	*mean_b = NAN;
	if (!complete(&s))
		return (struct interval){ NAN, NAN, NAN };
	struct interval i = interval_of(&s, ESTIMATE_REAL, level);
	*mean_b = sum_y / s.total_weight;
	i.mean = sum_x / s.total_weight - *mean_b;
	return i;
}

/* ---- quantiles ---- */

/*
 * Returns whether the quantiles around the interval are distinct and about evenly spaced. If not, many values are almost equal,
 * or the distribution has a gap that may contain the expected value of the quantile.
 */
static bool is_smooth(struct hist *h, double from, double p, double to)
{
	enum { STEPS = 4 };
	double first = fmax(p - 2 * (p - from), 0), last = fmin(p + 2 * (to - p), 1), before = -1;
	for (int k = 0; k <= 2 * STEPS; k++) {
		double at = k < STEPS ? first + (p - first) * k / STEPS : p + (last - p) * (k - STEPS) / STEPS;
		double value = hist_quantile(h, at);
		if (!(value > before))
			return false;
		before = value;
	}
	double middle = hist_quantile(h, p), left = middle - hist_quantile(h, from), right = hist_quantile(h, to) - middle;
	return left < 5 * right && right < 5 * left && left + right > ESTIMATE_EQUAL * middle;
}

/*
 * Returns whether the number of values above the quantile p, binomial over n values, is too skewed for an interval. For p =
 * 0.99 this holds below 4,312 values.
 */
static bool is_share_skewed(uint64_t n, double p)
{
	return fabs(1 - 2 * p) > most_skewness * sqrt(p * (1 - p) * (double)n);
}

struct interval batches_quantile(struct hist *h, double p, double level)
{
	struct stretch s;
	s.n = 0;
	struct interval i = { hist_quantile(h, p), NAN, NAN };
	if (!isnan(level) && !is_share_skewed(hist_count(h), p))
		s.n = hist_count_above(h, i.mean, s.sum, s.weight);
	if (!may_have_interval(s.n, level) || !complete(&s))
		return i;
	struct interval beyond = interval_of(&s, ESTIMATE_FRACTION, level);
	double from = p - (beyond.high - beyond.mean), to = p + (beyond.mean - beyond.low);
	if (from > 0 && to < 1 && is_smooth(h, from, p, to)) {
		i.low = hist_quantile(h, from);
		i.high = hist_quantile(h, to);
	}
	return i;
}

/* ---- means over time ---- */

struct interval batches_timeline(const struct timeline *t, double scale, enum estimate_range range, double level)
{
	double span = (double)(t->last - t->start);
	struct interval i = { span > 0 ? (double)t->total / span * scale : 0, NAN, NAN };
	struct stretch s;
	if (!may_have_interval(t->n, level))
		return i;
	s.n = t->n;
	for (size_t k = 0; k < t->n; k++) {
		int64_t from = t->start + (int64_t)k * t->width, left = t->last - from;
		s.weight[k] = (double)(left < t->width ? left : t->width);
		s.sum[k] = (double)t->bucket[k] * scale;
	}
	if (complete(&s)) {
		struct interval found = interval_of(&s, range, level);
		i.low = found.low;
		i.high = found.high;
	}
	return i;
}
