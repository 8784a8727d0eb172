/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * summary.h - turns the counters of a run into metrics and series
 *
 * batches.h computes the intervals. A run without intervals gets a remark. level: confidence level of the intervals, such as
 * 0.95.
 */
#ifndef ORR_RESULTS_SUMMARY_H
#define ORR_RESULTS_SUMMARY_H

#include "results/result.h"
#include "results/stats.h"
#include "results/timeline.h"

/* Text of the remark. Ten is ESTIMATE_LEAST. */
#define SUMMARY_NO_INTERVAL                                                                                      \
	"no interval if a run has too few values or their correlation extends too far: --replications 10 gives " \
	"intervals (of a "                                                                                       \
	"trace from a file with --resample)"

/* Adds a metric that never has an interval within one run. */
void summary_put(struct run_result *r, const char *name, double value);
/* Adds a mean. warmup: share of the first blocks that is excluded. */
void summary_mean(struct run_result *r, const char *name, const struct blocks *b, double warmup, double level);
/* Adds a mean that batches_level() returned; without its interval if level is NaN. */
void summary_interval(struct run_result *r, const char *name, struct interval mean, double level);
/* Returns whether the warm-up changes the mean or its interval. */
bool summary_depends_on_warmup(const char *name, const struct blocks *b, double warmup, double level);
void summary_quantile(struct run_result *r, const char *name, struct hist *h, double p, double level);
/* Adds the mean over time, multiplied by scale. */
void summary_timeline(struct run_result *r, const char *name, const struct timeline *t, double scale, double level);
void summary_series(struct run_result *r, const char *name, const struct timeline *t, double scale);

#endif
