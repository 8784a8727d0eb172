/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * import.h - reads published tables of kernel times as points
 *
 *  deepbench   Baidu's DeepBench results as CSV: products and convolutions of the training suite; times from the
 *              host, launch included, truncated to whole us
 *  vidur-mlp   microsoft/vidur's profiles of linear layers and element-wise kernels (kernel time only, whole us);
 *              cross-validated by model
 *  vidur-net   its collectives
 *  nccl        tables of nccl-tests, out of place
 *  copy        bandwidth by size of host and device copies
 *  mamf        the fastest product found on a device (stas00/ml-engineering), one point each
 *
 * Rows with a time of 0 (truncated) and suites that are not listed here are skipped.
 */
#ifndef ORR_CALIB_IMPORT_H
#define ORR_CALIB_IMPORT_H

#include "calib/points.h"

/*
 * Adds the rows whose device (or GPU, or fabric) begins with `select` (case ignored); NULL: all rows. Returns ORR_EINPUT for a
 * bad row, or if no row was found; the message names file and line.
 */
int import_points(const char *kind, const char *file, const char *select, struct points *out, struct orr_error *err);

#endif
