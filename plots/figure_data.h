/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * figure_data.h - results as data blocks and variables for plots/NAME.gp
 *
 * Each function adds to the script: $data, with one block per run in the order of runs; the variables n and label[1..n]; the
 * variables named at the top of its template. Without data it adds nothing and returns 0. Long curves are thinned to the
 * resolution of a printed column; a time series becomes means over equal intervals, with the same integral.
 */
#ifndef ORR_PLOTS_FIGURE_DATA_H
#define ORR_PLOTS_FIGURE_DATA_H

#include "base/sbuf.h"
#include "plots/chart.h"
#include "results/result.h"

enum { FIGURE_LABEL_BYTES = 32, FIGURE_KINDS = 8 };

/* Adds the label of a run in the legend. */
void figure_put_label(struct sbuf *b, const struct run_result *r);
/* Range of the axis of x, and its unit. */
struct figure_span {
	double from, to;
	const char *unit;
};
bool figure_data_jct(struct sbuf *script, const struct run_result *const *runs, size_t n, struct figure_span *span);
/* Adds times of requests from arrival to completion, or to the first token. */
bool figure_data_latency(struct sbuf *script, const struct run_result *const *runs, size_t n, struct figure_span *span);
bool figure_data_ttft(struct sbuf *script, const struct run_result *const *runs, size_t n, struct figure_span *span);
bool figure_data_series(struct sbuf *script, const struct run_result *const *runs, size_t n, const char *name, struct figure_span *span);
/* Returns the jobs of a run, the longest wait first; the caller frees the array. */
const struct job_row **figure_jobs_by_wait(const struct run_result *r);
/* Returns the jobs that waited longest, at most `most`, in order of their numbers; *n: their number. all: those that did not wait may
 * follow them. The caller frees the array. */
const struct job_row **figure_jobs_waited(const struct run_result *r, size_t most, bool all, size_t *n);
/* Of a figure of rows: rows drawn, characters of the longest name of a row, and the entries of the legend. */
struct figure_rows {
	size_t rows, name_length, n;
	const char *unit; /* unit of time */
	struct chart_series key[FIGURE_KINDS];
};
/* Adds a Gantt chart of the jobs that waited longest: at most max_jobs rows. */
struct figure_rows figure_data_gantt(struct sbuf *script, const struct run_result *r, size_t max_jobs);
/* Adds a timeline of at most max_devices rows. $data has one block for each of kind[1..kinds]. */
struct figure_rows figure_data_timeline(struct sbuf *script, const struct run_result *r, size_t max_devices);

#endif
