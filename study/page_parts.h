/* SPDX-License-Identifier: GPL-3.0-or-later */
/* page_parts.h - parts of the page of orrery report */
#ifndef ORR_STUDY_PAGE_PARTS_H
#define ORR_STUDY_PAGE_PARTS_H

#include "study/page_set.h"

/* Appends figures of the metrics over the axes: lines, heat maps, or dots where no scenario differs. */
void page_points(struct sbuf *out, const struct page_set *s);
/* Appends figures and a table of the rows of runs: distributions, series over time, the jobs that waited longest, spans. name: of the
 * runs. most_rows: limit of the table. Appends nothing, and returns false, if the runs have no rows. */
bool page_rows(struct sbuf *out, const struct run_result *const *runs, const char *const *name, size_t n, size_t most_rows);
/* Appends a number for readers: four significant digits, and no exponent for large numbers. */
void page_put_number(struct sbuf *out, double v);

#endif
