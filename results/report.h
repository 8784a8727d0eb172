/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * report.h - results as a table, as JSON and as CSV files
 *
 * runs[0] is the one that the others are compared with. Metrics are found by their
 * names (docs/reference/schema.md lists them); one that is missing leaves its place empty.
 * Times are in seconds in every form but the table, which picks s, min, h or d.
 * Intervals are the 95 % intervals that the world put into the metrics. Nothing
 * here depends on wall time, host or the number of threads.
 */
#ifndef ORR_RESULTS_REPORT_H
#define ORR_RESULTS_REPORT_H

#include <orrery/api.h>

#include "base/sbuf.h"
#include "results/result.h"

/* One line per run, then the paired differences of mean JCT to the first run, and what a step policy
 * chose. Columns of which no run knows anything are left out.
 * Lines are at most `width` columns long where the labels allow it (columns that
 * don't fit go into a further table); 0: no limit. */
void report_table(struct sbuf *out, const struct run_result *const *runs, size_t n, int width);

/* One object: {"runs": [{"label": .., "metrics": {NAME: {"value", "ci_low", "ci_high"}}}]};
 * numbers with 17 significant digits, null for what is not there. */
void report_json(struct sbuf *out, const struct run_result *const *runs, size_t n);

/* Makes dir with its parents and writes summary.csv, and for each run LABEL.jobs.csv and
 * LABEL.series.csv, or LABEL.iterations.csv and LABEL.devices.csv of a training step, or LABEL.requests.csv and
 * LABEL.series.csv of serving, or LABEL.iterations.csv, LABEL.nodes.csv and LABEL.accounts.csv of spot capacity. A file is there whole or
 * as it was before. */
int report_out_dir(const char *dir, const struct run_result *const *runs, size_t n, struct orr_error *err);

/* File names: name[i] (from mem_alloc) is runs[i]'s label with whatever a file name
 * should not hold replaced by '_', and a number added where two would be equal. */
void report_file_names(const struct run_result *const *runs, size_t n, char **name);

#endif
