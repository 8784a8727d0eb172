/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * batches.h - confidence intervals from a single run
 *
 * Values of one run are autocorrelated, so the interval of their mean is computed from eight batch means (Law and Kelton, Simulation
 * Modeling and Analysis, 9.5.3). A run has an interval only if
 *  - the run is long: at least 600 times the integrated autocorrelation time, estimated by the initial monotone sequence (Geyer,
 *    Practical Markov chain Monte Carlo, Statistical Science 7, 1992, 3.3);
 *  - it shows no drift: the Cramer-von Mises statistic of the bridge of partial sums (Schruben, Detecting initialization bias in
 *    simulation output, Operations Research 30, 1982) is at most 0.347;
 *  - a few blocks do not dominate the mean: its skewness, from blocks and batches, is at most 0.15.
 * Otherwise the ends of the interval are NaN. Near these limits intervals are widened by up to 20 %. estimate_interval() computes the
 * interval. Formulas and measured coverage: docs/models/statistics.md.
 */
#ifndef ORR_RESULTS_BATCHES_H
#define ORR_RESULTS_BATCHES_H

#include "results/estimate.h"
#include "results/stats.h"
#include "results/timeline.h"

/*
 * Returns level if the waits of a run have an interval or are all equal; otherwise NaN. Waits show earlier than other metrics
 * that a queue is not in its steady state. Fewer than 4,000 waits have no interval: bursts that such a run lacks by chance leave no trace
 * in it. With a level of NaN the functions below return no interval. *mean: the mean wait over all values.
 */
double batches_level(const struct blocks *waits, double level, struct interval *mean);

/* Returns the mean of the values. The first blocks, a share `skip` (0..1), are excluded as warm-up. */
struct interval batches_mean(const struct blocks *b, double skip, enum estimate_range range, double level);
/*
 * Returns the mean of (a - b) per value, and sets *mean_b to the mean of these values of b. skip: as above. Excludes blocks in which a and
 * b have different numbers of values, because a job that ended in only one of the runs cannot be paired.
 */
struct interval batches_paired(const struct blocks *a, const struct blocks *b, double skip, double level, double *mean_b);
/* Returns the quantile p of values from hist_add_at() with Woodruff's interval (Journal of the American Statistical Association 47,
 * 1952). First the interval of the share of values above the quantile is computed. The quantiles at its ends bound the result. */
struct interval batches_quantile(struct hist *h, double p, double level);
/* Returns the time average, multiplied by scale. */
struct interval batches_timeline(const struct timeline *t, double scale, enum estimate_range range, double level);

#endif
