/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/estimate.h"

#include "base/mem.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranges ---- */

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);
	return n >= m && !strcmp(name + n - m, end);
}

enum estimate_range estimate_range_of(const char *name)
{
	static const char *const shares[] = { "utilisation", "attainment", "fragmentation", "jain_slowdown", "_share", "_part", "_use_mean",
		"_use_max", "is_complete", "deadline_kept", "accuracy" };
	for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
		if (ends_with(name, shares[i]))
			return ESTIMATE_FRACTION;
	/* The denominator of finish-time fairness is the job's duration without other jobs, which may be arbitrarily short. */
	if (ends_with(name, "ftf_mean") || ends_with(name, "ftf_max"))
		return ESTIMATE_NO_MEAN;
	/* A metric of one model, such as "attainment.NAME". */
	if (!strncmp(name, "attainment.", strlen("attainment.")))
		return ESTIMATE_FRACTION;
	static const char *const real[] = { "_diff", "closed_form_error", "prediction_error", "auc_change" };
	for (size_t i = 0; i < sizeof real / sizeof *real; i++)
		if (ends_with(name, real[i]))
			return ESTIMATE_REAL;
	return ESTIMATE_NON_NEGATIVE;
}

size_t estimate_least_of(const char *metric)
{
	static const char *const twenty[] = { "jct_p50", "wait_p50", "ttft_p90" };
	for (size_t i = 0; i < sizeof twenty / sizeof *twenty; i++)
		if (ends_with(metric, twenty[i]))
			return 20;
	if (ends_with(metric, "queue_p99"))
		return 40;
	return ends_with(metric, "stranded_gpus") ? 320 : ESTIMATE_LEAST;
}

size_t estimate_least_of_ratio(const char *metric)
{
	return ends_with(metric, "wait_mean") ? 20 : estimate_least_of(metric);
}

/* ---- one estimate ---- */

/* Inverts Hall's transformation g(t) = t + a t^2 + a^2 t^3 / 3 + s / 6 with a = s / 3: returns t. s: skewness of the estimate. */
static double untransformed(double y, double s)
{
	double a = s / 3, z = y - s / 6;
	return fabs(a) < 1e-9 ? z : (cbrt(1 + 3 * a * z) - 1) / a;
}

static double student(double error, double df)
{
	return gsl_cdf_tdist_Pinv(1 - error, df);
}

struct interval estimate_interval(const struct estimate *e, enum estimate_range range, double level)
{
	struct interval i = { e->value, NAN, NAN };
	/* If all values are equal, rounding leaves an error of a few ulps. */
	if (!(e->error > 1e-12 * fabs(e->value)) || !(e->df > 0) || !isfinite(e->error) || range == ESTIMATE_NO_MEAN)
		return i;
	bool is_log = range != ESTIMATE_REAL && e->value > 0, is_left = range != ESTIMATE_NON_NEGATIVE && e->skewness < 0;
	double near = student((1 - level) / 2, e->df), far = student(e->tail_share * (1 - level) / 2, e->df);
	double down = is_left ? far : near, up = is_left ? near : far;
	double low = is_log ? e->value * exp(-down * e->error / e->value) : e->value - down * e->error;
	i.low = e->value - e->error * untransformed(down, e->skewness);
	i.low = is_log && !(i.low > 0) ? low : fmin(i.low, low); /* Hall's end may lie below 0 */
	i.high = e->value - e->error * untransformed(-up, e->skewness);
	i.high = fmax(i.high, is_log ? e->value * exp(up * e->error / e->value) : e->value + up * e->error);
	if (range != ESTIMATE_REAL)
		i.low = fmax(i.low, 0);
	if (range == ESTIMATE_FRACTION)
		i.high = fmin(i.high, 1);
	return i;
}

/* ---- over replications ---- */

/* Error probability at the end on the side of the tail, as a share of the one-sided probability, (1 - level) / 2. */
static const double tail_share = 0.7;

/* Returns the estimate whose value is centre + the mean of v[0..n) / scale. */
static struct estimate of_values(const double *v, size_t n, double centre, double scale)
{
	double sum = 0, squares = 0, cubes = 0, count = (double)n;
	for (size_t k = 0; k < n; k++)
		sum += v[k];
	double mean = sum / count;
	for (size_t k = 0; k < n; k++) {
		double off = v[k] - mean;
		squares += off * off;
		cubes += off * off * off;
	}
	double error = sqrt(squares / (count - 1) / count);
	/* Skewness of the sample, unbiased under a normal law (Fisher's G1), over sqrt(n). */
	double skewness = squares > 0 ? cubes / pow(squares, 1.5) * sqrt(count * (count - 1)) / (count - 2) : 0;
	return (struct estimate){ centre + mean / scale, error / fabs(scale), scale < 0 ? -skewness : skewness, count - 1, tail_share };
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double *sorted_copy(const double *v, size_t n)
{
	double *sorted = mem_alloc((n + 1) * sizeof *sorted);
	memcpy(sorted, v, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, by_value);
	return sorted;
}

size_t estimate_others(const double *v, size_t n, enum estimate_range range)
{
	double *sorted = sorted_copy(v, n);
	double largest = n ? fmax(fabs(sorted[0]), fabs(sorted[n - 1])) : 0;
	size_t most = 0;
	for (size_t from = 0, to = 0; from < n; from++) {
		double equal = range == ESTIMATE_REAL ? 1e-9 * largest : ESTIMATE_EQUAL * fabs(sorted[from]);
		while (to < n && sorted[to] - sorted[from] <= equal)
			to++;
		most = to - from > most ? to - from : most;
	}
	mem_free(sorted);
	return n - most;
}

/* An end of the interval moves by REACH (length of the longer tail - length of the other) / n, on the side of the longer tail. */
#define REACH 4.0

/*
 * Returns the correction of the mean for values above the sample's maximum (positive) or below its minimum (negative). The next
 * value exceeds the largest with a probability of 1 / (n + 1). A longer tail gives a larger correction.
 */
static double beyond(const double *v, size_t n)
{
	double *sorted = sorted_copy(v, n), middle = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
	double longer = sorted[n - 1] - middle - (middle - sorted[0]);
	mem_free(sorted);
	return REACH * longer / (double)n;
}

/* Moves one end of the interval by a shift, in the direction of the shift, inside range. */
static void widen(struct interval *i, double shift, enum estimate_range range)
{
	if (isnan(i->low))
		return;
	i->high += fmax(shift, 0);
	i->low += fmin(shift, 0);
	if (range != ESTIMATE_REAL)
		i->low = fmax(i->low, 0);
	if (range == ESTIMATE_FRACTION)
		i->high = fmin(i->high, 1);
}

/* Error probability of the upper end of Cox's interval, as a share of the one-sided probability, (1 - level) / 2. */
static const double cox_share = 0.4;
/*
 * Limit of the negative skewness of the logarithms, in standard errors, sqrt(6 / n). Beyond this limit the tail is shorter than
 * that of a lognormal law, and Cox's end would be too high.
 */
static const double most_left = 4;

/* Returns the upper end of Cox's interval for the mean of a lognormal law, with Student's quantile (Olsson 2005); 0 if a value is
 * not positive or the tail is shorter. */
static double cox_high(const double *v, size_t n, double level)
{
	double *logs = mem_alloc((n + 1) * sizeof *logs), count = (double)n;
	bool is_positive = true;
	for (size_t k = 0; k < n; k++) {
		is_positive = is_positive && v[k] > 0;
		logs[k] = is_positive ? log(v[k]) : 0;
	}
	struct estimate e = of_values(logs, n, 0, 1);
	mem_free(logs);
	if (!is_positive || e.skewness * sqrt(count) < -most_left * sqrt(6 / count))
		return 0;
	double variance = e.error * e.error * count, error = sqrt(variance / count + variance * variance / 2 / (count - 1));
	return exp(e.value + variance / 2 + student(cox_share * (1 - level) / 2, count - 1) * error);
}

/* Returns whether all values are 0 or 1. Such values have Wilson's interval (Journal of the American Statistical Association 22,
 * 1927) with Student's quantile. */
static bool is_binary(const double *v, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (v[k] != 0 && v[k] != 1)
			return false;
	return true;
}

static struct interval of_share(double p, size_t n, double level)
{
	double t = gsl_cdf_tdist_Pinv(0.5 + level / 2, (double)n - 1), u = t * t / (double)n;
	double middle = (p + u / 2) / (1 + u), half = sqrt(u * p * (1 - p) + u * u / 4) / (1 + u);
	return (struct interval){ p, fmax(middle - half, 0), fmin(middle + half, 1) };
}

struct interval estimate_mean(const double *v, size_t n, enum estimate_range range, double level)
{
	struct estimate e = n ? of_values(v, n, 0, 1) : (struct estimate){ .value = NAN };
	struct interval none = { e.value, NAN, NAN };
	if (n < ESTIMATE_LEAST)
		return none;
	if (range == ESTIMATE_FRACTION && e.error > 0 && is_binary(v, n))
		return of_share(e.value, n, level);
	if (estimate_others(v, n, range) < ESTIMATE_LEAST_OTHER)
		return none;
	struct interval i = estimate_interval(&e, range, level);
	double shift = beyond(v, n);
	if (range == ESTIMATE_NON_NEGATIVE) {
		i.high = isnan(i.high) ? NAN : fmax(i.high, cox_high(v, n, level));
		shift = fmax(shift, 0);
	}
	widen(&i, shift, range);
	return i;
}

struct interval estimate_ratio(const double *a, const double *b, size_t n, double level)
{
	double sum_a = 0, sum_b = 0;
	for (size_t k = 0; k < n; k++) {
		sum_a += a[k];
		sum_b += b[k];
	}
	double ratio = sum_b != 0 ? sum_a / sum_b : NAN;
	if (n < ESTIMATE_LEAST || !isfinite(ratio))
		return (struct interval){ ratio, NAN, NAN };
	double *rest = mem_zalloc(n, sizeof *rest);
	for (size_t k = 0; k < n; k++)
		rest[k] = b[k] != 0 ? a[k] / b[k] : 0;
	size_t others = estimate_others(rest, n, ESTIMATE_REAL);
	for (size_t k = 0; k < n; k++)
		rest[k] = a[k] - ratio * b[k];
	struct estimate e = of_values(rest, n, ratio, sum_b / (double)n);
	double shift = beyond(rest, n) * (double)n / sum_b;
	mem_free(rest);
	e.value = ratio; /* the residuals sum to 0 within rounding */
	if (others < ESTIMATE_LEAST_OTHER)
		return (struct interval){ ratio, NAN, NAN };
	enum estimate_range range = ratio > 0 ? ESTIMATE_NON_NEGATIVE : ESTIMATE_REAL;
	struct interval i = estimate_interval(&e, range, level);
	/* The long tail of a ratio of non-negative values may be on either side. The lower end stays above 0. */
	if (range == ESTIMATE_REAL || i.low + shift > 0)
		widen(&i, shift, range);
	return i;
}

struct interval estimate_difference(const double *a, const double *b, size_t n, double level)
{
	double *d = mem_zalloc(n + 1, sizeof *d);
	for (size_t k = 0; k < n; k++)
		d[k] = a[k] - b[k];
	struct interval i = estimate_mean(d, n, ESTIMATE_REAL, level);
	mem_free(d);
	return i;
}

/* ---- p-values ---- */

/* Hall's transformation, the inverse of untransformed(). */
static double transformed(double t, double s)
{
	double a = s / 3;
	return (fabs(a) < 1e-9 ? t : (pow(1 + a * t, 3) - 1) / (3 * a)) + s / 6;
}

double estimate_p_above(const double *v, size_t n)
{
	if (n < ESTIMATE_LEAST || estimate_others(v, n, ESTIMATE_REAL) < ESTIMATE_LEAST_OTHER)
		return NAN;
	struct estimate e = of_values(v, n, 0, 1);
	/* The lower end is 0 at the smaller of the quantiles at which Student's and Hall's ends are 0. */
	double t = (e.value + fmin(beyond(v, n), 0)) / e.error;
	double p = gsl_cdf_tdist_Q(fmin(t, transformed(t, e.skewness)), e.df);
	return fmin(e.skewness < 0 ? p / e.tail_share : p, 1);
}

double estimate_student_above(const double *v, size_t n)
{
	struct estimate e = n > 1 ? of_values(v, n, 0, 1) : (struct estimate){ .error = 0 };
	return e.error > 1e-12 * fabs(e.value) ? gsl_cdf_tdist_Q(e.value / e.error, e.df) : NAN;
}

struct interval estimate_student(const double *v, size_t n, double level)
{
	double mean = 0, squares = 0;
	for (size_t i = 0; i < n; i++)
		mean += v[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (v[i] - mean) * (v[i] - mean);
	if (n < 2)
		return (struct interval){ n ? mean : NAN, NAN, NAN };
	double half = gsl_cdf_tdist_Pinv(0.5 + level / 2, (double)n - 1) * sqrt(squares / (double)(n - 1) / (double)n);
	return (struct interval){ mean, mean - half, mean + half };
}
