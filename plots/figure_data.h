/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * figure_data.h - results as the data blocks and variables that plots/NAME.gp expect
 *
 * Each function adds to the script: $data, with one block per run in the order of
 * runs; n and label[1..n]; and what its template names at its top. It adds nothing
 * and gives 0 where there is nothing to draw. Long curves are thinned to what a
 * column of print can show: a time series to means over equal intervals, which
 * keeps its integral.
 */
#ifndef ORR_PLOTS_FIGURE_DATA_H
#define ORR_PLOTS_FIGURE_DATA_H

#include "base/sbuf.h"
#include "results/result.h"

enum { FIGURE_LABEL_BYTES = 32 };

bool figure_data_jct(struct sbuf *script, const struct run_result *const *runs, size_t n);
/* Of requests: from arrival to completion, and to the first token. */
bool figure_data_latency(struct sbuf *script, const struct run_result *const *runs, size_t n);
bool figure_data_ttft(struct sbuf *script, const struct run_result *const *runs, size_t n);
bool figure_data_series(struct sbuf *script, const struct run_result *const *runs, size_t n, const char *name);
/* The number of rows (jobs) drawn, at most max_jobs. */
size_t figure_data_gantt(struct sbuf *script, const struct run_result *r, size_t max_jobs);
/* The devices drawn, at most max_devices, and in *titles the entries of the legend. Data: one block for each of
 * kind[1..kinds]. */
size_t figure_data_timeline(struct sbuf *script, const struct run_result *r, size_t max_devices, size_t *titles);

#endif
