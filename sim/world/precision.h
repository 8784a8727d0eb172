/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * precision.h - replications until intervals are narrow enough: the keys until_precision and precision_of
 *
 * All policies of a scenario have the same number of replications, 10, 20, 40, .. up to the limit `replications`, and stop at the first
 * of these at which the half-width of the interval, relative to the mean, is at most until_precision for every policy and metric
 * (Law and Kelton, Simulation Modeling and Analysis, 9.4.1). Stopping when an interval happens to be narrow lowers its coverage; a
 * least number and few looks keep that small (docs/models/statistics.md).
 */
#ifndef ORR_WORLD_PRECISION_H
#define ORR_WORLD_PRECISION_H

#include "results/stats.h"
#include "world/scenario.h"

/* The interval of a metric of policy i so far. */
typedef struct interval (*precision_interval)(const void *ctx, size_t i, const char *metric);

/* Returns the total number of replications to run next after n; n: no more are needed. n 0: the initial number. */
uint32_t precision_next(const struct scenario *s, uint32_t n, precision_interval interval, const void *ctx);
/* Adds to all runs of the scenario a remark on the number of replications and the half-width of the widest interval. */
void precision_remark(const struct scenario *s, struct run_result *const *runs, size_t n);

#endif
