/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * warmup.h - removal of the initial transient from the values of one run
 *
 * MSER-5 (White, An effective truncation heuristic for bias reduction in simulation output, Simulation 69, 1997; Hoad, Robinson
 * and Davies, Automating warm-up length estimation, Journal of the Operational Research Society 61, 2010): removes the first d
 * batches of five values, with the d that minimises the estimated squared error of the mean of the others. If the minimum lies
 * in the second half, the run is too short, and nothing is removed.
 */
#ifndef ORR_RESULTS_WARMUP_H
#define ORR_RESULTS_WARMUP_H

#include "results/result.h"
#include "results/stats.h"

enum warmup_kind { WARMUP_NONE, WARMUP_MSER5, WARMUP_TIME };

struct warmup {
	enum warmup_kind kind;
	int64_t time_ns; /* WARMUP_TIME: values of jobs or requests that arrive before this time after the first arrival are removed */
};

/* Returns the number of values that MSER-5 removes from the first of v[0..n) on. Sets *is_determined to false if the minimum lies in the
 * second half, or n < 50; the number is then 0. */
size_t warmup_mser5(const double *v, size_t n, bool *is_determined);

/* The first values of a run that are removed. */
struct warmup_cut {
	uint64_t first;     /* lowest index that is kept */
	size_t removed;     /* number of values with a smaller index */
	bool is_determined; /* false: nothing can be removed */
};
/*
 * Returns the cut for a run. h: values by index in which the transient is visible (waits). Above a million values the order is
 * unknown, so nothing is removed. by_time: number of arrivals before WARMUP_TIME.
 */
struct warmup_cut warmup_find(const struct warmup *w, const struct hist *h, uint64_t by_time);
/* Removes the values below c->first from *h and, unless b is NULL, from its blocks. Indices then begin at 0. */
void warmup_apply(const struct warmup_cut *c, struct hist **h, struct blocks *b);
/* Adds the metrics warmup_removed and warmup_determined (0 or 1), unless w is WARMUP_NONE. */
void warmup_put(const struct warmup *w, const struct warmup_cut *c, struct run_result *r);

#endif
