/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * compare.h - comparison of the policies of one scenario over its replications: the keys compare and equal_within
 *
 * The primary columns of the table and the metrics that equal_within names are compared. Comparisons depend on which policies a
 * scenario has, so they are made from the stored replications each time and are not part of a run.
 */
#ifndef ORR_STUDY_COMPARE_H
#define ORR_STUDY_COMPARE_H

#include "results/report_compare.h"
#include "world/scenario.h"

/* Returns the comparisons of runs of one scenario, and adds metrics of their ranking to each run (docs/reference/schema.md). Empty
 * without replications or with a single policy. Free it with report_comparisons_free(). */
struct report_comparisons *compare_policies(const struct scenario *s, struct run_result *const *runs, size_t n);

#endif
