/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * precision.h - replications until intervals are narrow enough: the keys until_precision and precision_of
 *
 * All policies of a scenario have the same number of replications, 10, 20, 40, .. up to the limit `replications`, and stop at the first
 * of these at which, as at the one before, the half-width of the interval, relative to the mean, is at most until_precision for every
 * policy and metric (Law and Kelton, Simulation Modeling and Analysis, 9.4.1). Stopping when an interval happens to be narrow lowers
 * its coverage; two looks in succession, few looks and a least number keep that small (docs/models/statistics.md).
 */
#ifndef ORR_WORLD_PRECISION_H
#define ORR_WORLD_PRECISION_H

#include "results/stats.h"
#include "world/scenario.h"

/* The interval of a metric of policy i so far. */
typedef struct interval (*precision_interval)(const void *ctx, size_t i, const char *metric);

/* Number of replications in all after n; n: enough. n 0: the first ones. was_precise: whether the intervals of the look before were
 * narrow enough, false at first; set to whether those of n are. */
uint32_t precision_next(const struct scenario *s, uint32_t n, precision_interval interval, const void *ctx, bool *was_precise);
/* Adds to all runs of the scenario a remark on how many replications there were and how narrow the widest interval is. */
void precision_remark(const struct scenario *s, struct run_result *const *runs, size_t n);

#endif
