/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * curves.h - figures with a curve for each run, and their legends
 */
#ifndef ORR_PLOTS_CURVES_H
#define ORR_PLOTS_CURVES_H

#include <orrery/api.h>

#include "plots/album.h"
#include "results/result.h"

enum curves_of { CURVES_JCT, CURVES_LATENCY, CURVES_TTFT };

/* Add nothing if no run has such data. More than 7 runs have a panel each. */
/* Adds distribution functions of job completion times, of times of requests to completion, or to the first token. */
int curves_cdf(struct album *a, const struct run_result *const *runs, size_t n, enum curves_of of, struct orr_error *err);
/* Adds a series of each run over time. is_smooth: drawn as lines that need not begin at 0, instead of steps. */
int curves_series(struct album *a, const struct run_result *const *runs, size_t n, const char *name, const char *file, const char *y_label,
	bool is_smooth, struct orr_error *err);

#endif
