/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replications.h - a run repeated N times with different random numbers: means with intervals, differences and ratios of two
 * policies
 *
 * The values of each replication are stored in the result as series ("replications:completion_mean"; point k, at k seconds, is
 * replication k), so stored runs can be paired like new runs. All policies see the same replications, so that differences are
 * due to the policies (common random numbers; Law and Kelton, Simulation Modeling and Analysis, 11.2).
 */
#ifndef ORR_WORLD_REPLICATIONS_H
#define ORR_WORLD_REPLICATIONS_H

#include "results/result.h"
#include "results/stats.h"

struct replications;
struct replications *replications_new(void);
void replications_free(struct replications *x);
/* Adds the metrics and accounts of replication k. Called once per replication, from any thread. The numbers of all replications are 0, 1,
 * .. without gaps. */
void replications_add(struct replications *x, uint32_t k, const struct run_result *r);
/* Returns the mean of a metric over the replications that have it, with its interval. The ends are -INFINITY and INFINITY for a
 * metric that varies but has no interval, NAN for a metric that does not vary. */
struct interval replications_of(const struct replications *x, const char *metric, double level);
/* Like replications_mean(), for a result of replications_put() and a metric that is a column of the world's table. */
struct interval replications_interval(const struct run_result *r, const char *metric);
/* Returns the values of such a metric, point k of replication k, NAN if it has none; NULL: no series. */
const struct series *replications_series(const struct run_result *r, const char *metric);
/* Turns r, which holds replication 0, into the result of all replications. Each metric becomes the mean over the replications that
 * have it, with an interval (results/estimate.h); each account becomes the mean over all. The metric "replications" is their number.
 * Metrics that are columns of the world's table get a series. */
void replications_put(const struct replications *x, double level, struct run_result *r);

/* Adds two metrics for each common series to each run except the first: diff_NAME, the mean of its values minus those of the first
 * run, and ratio_NAME, the first run's sum / this run's sum. */
void replications_compare(struct run_result *const *runs, size_t n, double level);

#endif
