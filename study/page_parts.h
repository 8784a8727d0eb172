/* SPDX-License-Identifier: GPL-3.0-or-later */
/* page_parts.h - parts of the page of orrery report */
#ifndef ORR_STUDY_PAGE_PARTS_H
#define ORR_STUDY_PAGE_PARTS_H

#include "plots/html.h"
#include "study/figures.h"
#include "study/page_set.h"

/* Appends figures of the metrics over the axes: lines, heat maps, or dots where no scenario differs. */
void page_points(struct sbuf *out, const struct page_set *s);
/* Appends figures and a table of the rows of runs: distributions, series over time, the jobs that waited longest, spans. name[i]: name of
 * runs[i]. most_rows: limit of the table. Appends nothing, and returns false, if the runs have no rows. */
bool page_rows(struct sbuf *out, const struct run_result *const *runs, const char *const *name, size_t n, size_t most_rows);
/* Appends the operations of the devices of one run. */
void page_spans(struct sbuf *out, const struct run_result *r, const char *name);
/* Appends tables of the differences of the policies of each point, as the run prints them; over seeds, if there are several. Nothing for
 * a single policy. */
void page_pairs(struct sbuf *out, const struct page_set *s, struct store *store);
/* Appends the cell of a value of an axis. */
void page_put_axis_cell(struct html_table *t, const struct page_axis *a, size_t value);
/* Append the table of published values and the figures of a book that has its results. */
int page_published(struct sbuf *out, struct book *b, struct orr_error *err);
int page_figures(struct sbuf *out, struct book *b, struct orr_error *err);
/* Appends a number for readers: four significant digits, and no exponent for large numbers. */
void page_put_number(struct sbuf *out, double v);

#endif
