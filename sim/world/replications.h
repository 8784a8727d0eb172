/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replications.h - one run N times over with other random numbers: means with intervals, and ratios of two policies
 *
 * The values of each replication stay with the result as series ("replications:completion_mean", point k is replication k, at
 * k seconds), so that a run from the database can be paired with another as well as one that was just made. All policies
 * see the same replications, so the difference between two is that of the policies (common random numbers; Law and
 * Kelton, Simulation Modeling and Analysis, 11.2).
 */
#ifndef ORR_WORLD_REPLICATIONS_H
#define ORR_WORLD_REPLICATIONS_H

#include "results/result.h"
#include "results/stats.h"

struct replications;
/* For n runs. */
struct replications *replications_new(uint32_t n);
void replications_free(struct replications *x);
/* Run k's metrics; run 0 first, which settles which metrics there are, then each once, from any thread. */
void replications_add(struct replications *x, uint32_t k, const struct run_result *r);
/* r, which holds replication 0, becomes what stands for all: each metric the mean over the replications that have it, with
 * a t-interval; "replications" their number; and the series. */
void replications_put(const struct replications *x, double level, struct run_result *r);

/* The mean of v[0..n) with a t-interval. */
struct interval replications_mean(const double *v, uint32_t n, double level);
/* sum a / sum b over pairs, with the interval of the ratio estimator (Cochran, Sampling Techniques, 6.3): residuals
 * a - R b have a t-interval, over the mean of b. */
struct interval replications_ratio(const double *a, const double *b, uint32_t n, double level);

/* For each run but the first: metrics ratio_NAME, the first policy's value over its own, for each series of both. */
void replications_compare(struct run_result *const *runs, size_t n, double level);

#endif
