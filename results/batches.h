/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * batches.h - intervals from the values of one run, if the run allows them
 *
 * Values of one run depend on their neighbours, so an interval of their mean comes from eight batch means (Law and Kelton,
 * Simulation
 * Modeling and Analysis, 9.5.3), and only if
 *  - the run is long relative to the dependence: at least 600 times the integrated autocorrelation time, estimated by the
 *    initial
 *    monotone sequence (Geyer, Practical Markov chain Monte Carlo, Statistical Science 7, 1992, 3.3);
 *  - it shows no drift: the Cramer-von Mises statistic of the bridge of partial sums (Schruben, Detecting initialization bias
 *    in
 *    simulation output, Operations Research 30, 1982) is below 0.347;
 *  - the mean does not depend on a few blocks: its skewness, from blocks and batches, is below 0.15.
 * In all other runs the interval's ends are NaN. Near these limits intervals are longer by up to 20 %. estimate_interval()
 * computes the interval. docs/models/statistics.md has the formulas and the coverage measured.
 */
#ifndef ORR_RESULTS_BATCHES_H
#define ORR_RESULTS_BATCHES_H

#include "results/estimate.h"
#include "results/stats.h"
#include "results/timeline.h"

/* Returns level if the waits of a run allow an interval, or nothing waits; else NaN. If a queue is
 * not in a steady state, waits show it before other metrics do. With a level of NaN, no function
 * below gives an interval. *mean: the mean wait, without warm-up. */
double batches_level(const struct blocks *waits, double level, struct interval *mean);

/* Returns the mean of the values. The first blocks, a share `skip` (0..1), are excluded as warm-up. */
struct interval batches_mean(const struct blocks *b, double skip, enum estimate_range range, double level);
/* Returns the mean of (a - b) per value, over the blocks in which a and b have equally many values. A job that ended in only one of
 * the runs has no partner. */
struct interval batches_paired(const struct blocks *a, const struct blocks *b, double level);
/* Returns the quantile p of values from hist_add_at() with Woodruff's interval (Journal of the American Statistical Association 47,
 * 1952). Its ends are the quantiles at the ends of the interval of the share of values beyond the quantile. */
struct interval batches_quantile(struct hist *h, double p, double level);
/* Returns the mean over time, multiplied by scale. */
struct interval batches_timeline(const struct timeline *t, double scale, enum estimate_range range, double level);

#endif
