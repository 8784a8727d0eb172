/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_rows.h - rows of a table of columns.def that the report of a world lists (report_form.listed) */
#ifndef ORR_RESULTS_REPORT_ROWS_H
#define ORR_RESULTS_REPORT_ROWS_H

#include "results/report.h"

#include <cjson/cJSON.h>

/* Maximum number of rows of all runs that text, Markdown and LaTeX list. */
enum { REPORT_MOST_ROWS = 128 };

/* Returns the table that the form of runs[0] lists, if any run has rows of it; else NULL. */
const char *report_rows_of(const struct run_result *const *runs, size_t n);
/* Appends the rows of all runs, with the label of the run and the columns of the CSV file. Times are exact: in text, us with three
 * decimals; in CSV, seconds with nine. */
void report_rows(struct sbuf *out, const struct run_result *const *runs, size_t n, const char *table, struct report_style style);
/* Returns the rows of a run as an array of objects with the names and units of the CSV file. */
cJSON *report_rows_json(const struct run_result *r, const char *table);

#endif
