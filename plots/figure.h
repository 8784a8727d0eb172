/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * figure.h - figures of results, drawn by gnuplot
 *
 * Figures, each as PDF, SVG and PNG at the width of a printed column (3.5 in):
 *   jct-cdf        share of jobs completed within a time; jobs that never end keep it below 1
 *   utilisation    share of GPUs in use over time
 *   queue-length   jobs waiting over time
 *   gantt-LABEL    the first FIGURE_GANTT_JOBS jobs of each run: running and waiting
 *   latency-cdf    share of requests completed within a time of their arrival; ttft-cdf: first token there
 *   in-system      requests that have arrived and not ended, over time
 *   throughput     samples/s of training, with intervals
 *   value          samples/s per USD/h of spot capacity, with intervals
 *   node-hours, dollars    where the time of instances and the money went: a bar for each run, a piece for each account
 *   throughput-over-time   samples/s over time
 *   instances-LABEL        instances over time: live, ready, with a stage
 *   loss           loss of training over time
 *   timeline-LABEL what the first FIGURE_DEVICES devices did in the last iterations of each run
 * A figure whose data no run has is left out. What a figure looks like is in
 * plots/NAME.gp, looked for in $ORRERY_DATADIR, where `make install` puts it, and
 * the source tree. No text of the user's is ever a gnuplot or shell command: labels
 * go through gnuplot_quote(), and gnuplot runs in the output directory with file
 * names made by report_file_names().
 */
#ifndef ORR_PLOTS_FIGURE_H
#define ORR_PLOTS_FIGURE_H

#include <orrery/api.h>

#include "results/result.h"

enum { FIGURE_GANTT_JOBS = 30, FIGURE_DEVICES = 16 };

/* Makes dir where needed. ORR_EDEVICE: there is no gnuplot (the text says what to
 * install); the caller may take that for a warning. */
int figures_write(const char *dir, const struct run_result *const *runs, size_t n, struct orr_error *err);

#endif
