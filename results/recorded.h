/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * recorded.h - waits that a trace records, next to the waits of a run, over the jobs that completed and whose wait is recorded
 *
 * Quantiles interpolate linearly at index (n-1)p. The rank correlation is Spearman's, ties have their mean rank. Times in seconds.
 */
#ifndef ORR_RESULTS_RECORDED_H
#define ORR_RESULTS_RECORDED_H

#include <orrery/api.h>

#include "base/sbuf.h"
#include "results/grid.h"
#include "results/result.h"

struct recorded_law {
	double mean, p50, p90, p99, max, minute; /* minute: share of jobs that wait at most 60 s */
};
struct recorded_waits {
	size_t jobs; /* 0: the other fields are 0 */
	struct recorded_law recorded, simulated;
	double difference, off, rank; /* mean of simulated - recorded; mean of its absolute value; rank correlation (NAN: none) */
};
struct recorded_waits recorded_of(const struct run_result *r);
/* Makes the metrics of the comparison: compared_jobs, recorded_wait_mean, compared_wait_mean, .. */
void recorded_metrics(struct run_result *r, const struct recorded_waits *w);
/* Makes the table: the recorded waits of runs[0], and those of each run that has the metrics. No rows: no run has them. */
struct grid recorded_grid(const struct run_result *const *runs, size_t n, bool has_units);

#endif
