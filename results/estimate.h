/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * estimate.h - intervals of a mean, a ratio and a paired difference over independent replications
 *
 * Student's interval is too short on the side of a long tail, where most of its misses occur. This interval
 *  - is the hull of Hall's (Hall, On the removal of skewness by transformation, JRSS B 54, 1992), which inverts a cubic
 *    transformation of Student's t that removes the skewness, and Student's on the scale of the quantity: logarithmic for a
 *    quantity that is never negative, linear for any other;
 *  - has a smaller chance of error on the side of the tail than on the other;
 *  - reaches up to the end of Cox's interval for a lognormal law if all values are positive (Olsson, Confidence intervals for
 *    the mean of a log-normal distribution, Journal of Statistics Education 13, 2005);
 *  - is longer on the side of the longer tail, because a few replications rarely contain the largest values.
 * The ends never leave the range of the quantity. docs/models/statistics.md has the formulas and the coverage measured.
 */
#ifndef ORR_RESULTS_ESTIMATE_H
#define ORR_RESULTS_ESTIMATE_H

#include "results/stats.h"

#include <stddef.h>

/* Minimum number of replications for an interval, and minimum number of values that differ from the most frequent value. With fewer, a
 * rare event decides the mean. */
enum { ESTIMATE_LEAST = 10, ESTIMATE_LEAST_OTHER = 5 };

/* Values of a non-negative quantity count as equal if their relative difference is at most this, about the precision of three digits. */
#define ESTIMATE_EQUAL 1e-3

enum estimate_range {
	ESTIMATE_REAL,
	ESTIMATE_NON_NEGATIVE,
	ESTIMATE_FRACTION,
	ESTIMATE_NO_MEAN, /* a quantity whose expected value may be infinite: no interval */
};

/* Returns the range of the metric called name: a fraction, any real number, or (most metrics) ESTIMATE_NON_NEGATIVE. */
enum estimate_range estimate_range_of(const char *name);

/* Return the smallest number of replications for an interval of this metric, or of its ratio between two policies. Medians of completion
 * and waiting times, ratios of waits, 90 % quantiles of times to first tokens, and stranded GPUs need more than ESTIMATE_LEAST:
 * with fewer, less than 90 % of their intervals contained the mean (docs/models/statistics.md). */
size_t estimate_least_of(const char *metric);
size_t estimate_least_of_ratio(const char *metric);

/* An estimate and the inputs of its interval. */
struct estimate {
	double value, error; /* error: standard error */
	double skewness;     /* skewness of the estimate: skewness of one value / sqrt(n) */
	double df;           /* degrees of freedom of the standard error */
	double tail_share;   /* error probability at the end on the side of the tail, as a share of that at the other end */
};
/* Returns the interval of an estimate, clamped to range; no interval if the error is 0 or NaN. */
struct interval estimate_interval(const struct estimate *e, enum estimate_range range, double level);

/* Returns the number of values that differ from the most frequent one. */
size_t estimate_others(const double *v, size_t n, enum estimate_range range);

/*
 * All three functions give no interval for fewer than ESTIMATE_LEAST values, or for fewer than ESTIMATE_LEAST_OTHER values that
 * differ from the most frequent one. Exception: fractions that are all 0 or 1 have an interval unless all are equal.
 */

/* Returns the mean of v[0..n). */
struct interval estimate_mean(const double *v, size_t n, enum estimate_range range, double level);
/* Returns the mean of v[0..n) with Student's interval, without the conditions above; n < 2: no interval. */
struct interval estimate_student(const double *v, size_t n, double level);
/* Returns sum a / sum b over pairs (Cochran, Sampling Techniques, 6.3). */
struct interval estimate_ratio(const double *a, const double *b, size_t n, double level);
/* Returns the mean of a - b over pairs. */
struct interval estimate_difference(const double *a, const double *b, size_t n, double level);

/* Both functions return the p-value of the hypothesis that the mean is at most 0, against a mean above 0. */

/* Inverts estimate_mean() of range ESTIMATE_REAL: the p-value is half of 1 - level at the level at which the lower end is 0. NAN: no
 * interval. */
double estimate_p_above(const double *v, size_t n);
/* Student's one-sided test; NAN if n < 2 or all values are equal. */
double estimate_student_above(const double *v, size_t n);

#endif
