/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * precision.h - replications until intervals are narrow enough: the keys until_precision and precision_of
 *
 * All policies of a scenario have the same number of replications: 10, 20, 40, .. up to the limit `replications`. An interval
 * is precise if its half-width, relative to the mean, is at most until_precision (Law and Kelton, Simulation Modeling and
 * Analysis, 9.4.1). Replications stop when the intervals of all policies and metrics are precise at two successive numbers.
 * Stopping at an interval that is narrow by chance lowers the coverage. This effect is small because two successive numbers
 * must pass, few numbers are tested, and the first number is not small (docs/models/statistics.md).
 */
#ifndef ORR_WORLD_PRECISION_H
#define ORR_WORLD_PRECISION_H

#include "results/stats.h"
#include "world/scenario.h"

/* Returns the interval of a metric of run i so far. */
typedef struct interval (*precision_interval)(const void *ctx, size_t i, const char *metric);

/*
 * runs: number of runs that have intervals, at most one per policy. Returns the total number of replications to run after n; n:
 * enough. n 0: returns the initial number. was_precise: whether the intervals at the previous look were narrow enough, false at
 * first; set to the result for n.
 */
uint32_t precision_next(const struct scenario *s, size_t runs, uint32_t n, precision_interval interval, const void *ctx, bool *was_precise);
/* Adds a remark to each run of the scenario: number of replications, width of the widest interval. */
void precision_remark(const struct scenario *s, struct run_result *const *runs, size_t n);
/* Returns whether a run has that remark and its replications ended at their limit. */
bool precision_was_missed(const struct run_result *r);

#endif
