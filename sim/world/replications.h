/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replications.h - a run repeated N times with different random numbers: means with intervals, differences and ratios of two
 * policies
 *
 * The values of each replication stay with the result as series ("replications:completion_mean", point k is replication k, at
 * k seconds), so that a stored run can be paired with another in the same way as a new run. All policies see the same
 * replications, so that differences are due to the policies (common random numbers; Law and
 * Kelton, Simulation Modeling and Analysis, 11.2).
 */
#ifndef ORR_WORLD_REPLICATIONS_H
#define ORR_WORLD_REPLICATIONS_H

#include "results/result.h"
#include "results/stats.h"

struct replications;
struct replications *replications_new(void);
void replications_free(struct replications *x);
/* Adds the metrics and accounts of replication k, once, from any thread. Runs have numbers 0, 1, .. without gaps once all are added. */
void replications_add(struct replications *x, uint32_t k, const struct run_result *r);
/* The mean of a metric over the replications that have it, with its interval. A metric that varies but has no interval has the ends
 * -INFINITY and INFINITY; one that does not vary has NAN. */
struct interval replications_of(const struct replications *x, const char *metric, double level);
/* The same of a result of replications_put(), for a metric that is a column of the world's table. */
struct interval replications_interval(const struct run_result *r, const char *metric);
/* Turns r, which holds replication 0, into the result of all: each metric becomes the mean over the replications that have it,
 * with an interval (results/estimate.h), and each account the mean over all; the metric "replications" is their number; metrics that are
 * columns of the world's table get a series. */
void replications_put(const struct replications *x, double level, struct run_result *r);

/* Adds to each run but the first, for each common series, the metrics diff_NAME, the mean of its values minus those of the first
 * run, and ratio_NAME, the first run's sum / this run's sum. */
void replications_compare(struct run_result *const *runs, size_t n, double level);

#endif
