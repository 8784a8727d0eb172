/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/estimate.h"

#include "base/mem.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
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
		"_use_max", "is_complete", "deadline_kept" };
	for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
		if (ends_with(name, shares[i]))
			return ESTIMATE_FRACTION;
	/* A metric of one model: "attainment.NAME". */
	if (!strncmp(name, "attainment.", strlen("attainment.")))
		return ESTIMATE_FRACTION;
	return ends_with(name, "_diff") ? ESTIMATE_REAL : ESTIMATE_NON_NEGATIVE;
}

/* ---- one estimate ---- */

/* Hall's transformation g(t) = t + a t^2 + a^2 t^3 / 3 + s / 6 with a = s / 3, s the skewness of the estimate, solved for t. */
static double untransformed(double y, double s)
{
	double a = s / 3, z = y - s / 6;
	return fabs(a) < 1e-9 ? z : (cbrt(1 + 3 * a * z) - 1) / a;
}

struct interval estimate_interval(const struct estimate *e, enum estimate_range range, double level)
{
	struct interval i = { e->value, NAN, NAN };
	/* Rounding leaves an error of a few ulps where all values are equal. */
	if (!(e->error > 1e-12 * fabs(e->value)) || !(e->df > 0) || !isfinite(e->error))
		return i;
	double t = gsl_cdf_tdist_Pinv(0.5 + level / 2, e->df);
	i.low = e->value - e->error * untransformed(t, e->skewness);
	i.high = e->value - e->error * untransformed(-t, e->skewness);
	if (range == ESTIMATE_REAL || !(e->value > 0)) {
		i.low = fmin(i.low, e->value - t * e->error);
		i.high = fmax(i.high, e->value + t * e->error);
	} else {
		double low = e->value * exp(-t * e->error / e->value);
		i.low = i.low > 0 ? fmin(i.low, low) : low; /* Hall's end may lie below 0 */
		i.high = fmax(i.high, e->value * exp(t * e->error / e->value));
	}
	if (range != ESTIMATE_REAL)
		i.low = fmax(i.low, 0);
	if (range == ESTIMATE_FRACTION)
		i.high = fmin(i.high, 1);
	return i;
}

/* ---- over replications ---- */

/* The estimate whose value is centre + the mean of v[0..n) / scale. */
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
	/* The skewness of the sample, without its bias under a normal law (Fisher's G1), over sqrt(n). */
	double skewness = squares > 0 ? cubes / pow(squares, 1.5) * sqrt(count * (count - 1)) / (count - 2) : 0;
	return (struct estimate){ centre + mean / scale, error / fabs(scale), scale < 0 ? -skewness : skewness, count - 1 };
}

/* All values are 0 or 1: Wilson's interval (Journal of the American Statistical Association 22, 1927) with Student's quantile. */
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
	if (n < ESTIMATE_LEAST)
		return (struct interval){ e.value, NAN, NAN };
	if (range == ESTIMATE_FRACTION && e.error > 0 && is_binary(v, n))
		return of_share(e.value, n, level);
	return estimate_interval(&e, range, level);
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
		rest[k] = a[k] - ratio * b[k];
	struct estimate e = of_values(rest, n, ratio, sum_b / (double)n);
	mem_free(rest);
	e.value = ratio; /* the residuals add up to 0 up to rounding */
	return estimate_interval(&e, ratio > 0 ? ESTIMATE_NON_NEGATIVE : ESTIMATE_REAL, level);
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
