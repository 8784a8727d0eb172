/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * figure.h - figures of results, drawn by gnuplot
 *
 * Each figure is a PDF, an SVG and a PNG with the width of a printed column (3.5 in):
 *   jct-cdf        share of jobs completed within a time; unfinished jobs keep it below 1
 *   utilisation    share of GPUs in use over time
 *   queue-length   jobs waiting over time
 *   gantt-LABEL    the FIGURE_GANTT_JOBS jobs of each run that waited longest: running and waiting
 *   latency-cdf    share of requests completed within a time of their arrival; ttft-cdf: with their first token
 *   in-system      requests in the system over time
 *   throughput     samples/s of training, with intervals
 *   value          samples/s per USD/h of spot capacity, with intervals
 *   node-hours, dollars    instance time and money by account: a bar per run, a piece per account
 *   throughput-over-time   samples/s over time
 *   instances-LABEL        instances over time: live, ready, in use
 *   loss           loss of training over time
 *   timeline-LABEL activity of the first FIGURE_DEVICES devices, or rows that the policy names, in the last iterations of each run
 * A figure without data is omitted. plots/NAME.gp defines the appearance of a figure; it is searched in
 * $ORRERY_DATADIR, in the folder of `make install`, and in the source tree. Neither gnuplot nor a shell executes user text:
 * gnuplot_quote() quotes labels, and gnuplot runs in the output directory with file names from report_file_names().
 */
#ifndef ORR_PLOTS_FIGURE_H
#define ORR_PLOTS_FIGURE_H

#include <orrery/api.h>

#include "plots/album.h"
#include "results/result.h"

enum { FIGURE_GANTT_JOBS = 30, FIGURE_DEVICES = 16 };

/* Adds the timeline of one run as `file`; no-op if the run has no spans. */
int figures_timeline(struct album *a, const struct run_result *r, const char *file, struct orr_error *err);
/* Writes the figures; creates dir if needed. ORR_EDEVICE: gnuplot is not installed (the text names the remedy); the caller may treat
 * this as a warning. */
int figures_write(const char *dir, const struct run_result *const *runs, size_t n, struct orr_error *err);

#endif
