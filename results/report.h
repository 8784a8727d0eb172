/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * report.h - results as a table, as JSON and as CSV files
 *
 * Reports compare the other runs with runs[0]. Metrics are found by name (docs/reference/schema.md lists them); a missing
 * metric has an empty cell. Times are in seconds, except in the table, whose units are s, min, h or d. Intervals are the 95 %
 * intervals in the metrics. Reports do not depend on wall time, host or number of threads.
 */
#ifndef ORR_RESULTS_REPORT_H
#define ORR_RESULTS_REPORT_H

#include <orrery/api.h>

#include "base/sbuf.h"
#include "results/form.h"
#include "results/grid.h"
#include "results/report_compare.h"
#include "results/result.h"

/* The printed table: its form, and its width for a terminal. */
struct report_style {
	enum grid_format format;
	size_t width; /* maximum number of characters of a line of text if labels allow it (further columns go into another table); 0: no
			 limit */
};

/* Appends the table, one line per run, then the paired differences of mean JCT to the first run, the comparisons x over replications
 * (NULL: none), and the choices of a step policy.
 * Assumptions and remarks follow: once if all runs have them, else after the names of the runs that have them. Columns without a
 * value in any run are left out. A column has one unit: beside each value in text, in the title in Markdown and LaTeX. CSV has the
 * metrics' names, the units of the database, and ends of intervals as separate columns; CSV has no comparisons and remarks. Rows that
 * the world's form lists follow the runs; in CSV they replace them. */
void report_table(
	struct sbuf *out, const struct run_result *const *runs, size_t n, const struct report_comparisons *x, struct report_style style);

/* Returns the column of that metric in the table of a world's runs; NULL: none. */
const struct report_column *report_column_of(const char *world, const char *metric);

/* Appends one object: {"runs": [{"label": .., "assumptions": [TEXT], "remarks": [TEXT],
 * "metrics": {NAME: {"value", "ci_low", "ci_high"}}, and the rows that the form lists}]}, and "comparisons" (docs/reference/schema.md)
 * unless x is NULL or empty; numbers have the fewest of 15, 16 or 17 digits that read back as the same number, missing values are null. */
void report_json(struct sbuf *out, const struct run_result *const *runs, size_t n, const struct report_comparisons *x);

/* Creates dir with its parents. Writes summary.csv, notes.csv (assumptions and remarks) and files per run. Jobs: LABEL.jobs.csv and
 * LABEL.series.csv. Training step: LABEL.iterations.csv and LABEL.devices.csv. Serving: LABEL.requests.csv and LABEL.series.csv.
 * Spot capacity: LABEL.iterations.csv, LABEL.nodes.csv and LABEL.accounts.csv. Each file is replaced atomically. */
int report_out_dir(const char *dir, const struct run_result *const *runs, size_t n, struct orr_error *err);

/* Writes dir/comparisons.csv: a row for each metric and pair of policies. With the family "best", a row for each metric and policy, whose
 * pair is the policy and the best of the others. Writes no file if x is empty. */
int report_comparisons_csv(
	const char *dir, const struct report_comparisons *x, const struct run_result *const *runs, struct orr_error *err);

/* Makes file names: name[i] (from mem_alloc) is the label of runs[i]. Characters unfit for a file name become '_', and equal names
 * get a number. */
void report_file_names(const struct run_result *const *runs, size_t n, char **name);

#endif
