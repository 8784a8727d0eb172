/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * report_text.h - numbers with units, names and titles of the printed table
 */
#ifndef ORR_RESULTS_REPORT_TEXT_H
#define ORR_RESULTS_REPORT_TEXT_H

#include "base/sbuf.h"
#include "results/form.h"
#include "results/result.h"
#include "results/stats.h"

/* Unit of a value in the table, and the divisor for it. */
struct report_scale {
	const char *unit; /* "": none */
	double divisor;
};
struct report_scale report_scale_for(enum report_kind kind, double value);

/* Appends three significant digits; a whole number without decimals. */
void report_put_number(struct sbuf *b, double v);
/* Magnitudes of the values of a column: the largest, and the smallest other than 0. report_no_range: no value. */
struct report_range {
	double least, largest;
};
extern const struct report_range report_no_range;
void report_range_add(struct report_range *r, double value);
struct report_scale report_scale_within(enum report_kind kind, struct report_range r);
/* Returns the unit of all values of a column: the unit of the largest value, or a smaller one if the smallest value other than 0 would be
 * below 0.1. */
struct report_scale report_scale_of(enum report_kind kind, const struct metric *const *m, size_t n);
/* Appends value and interval, then the unit if has_unit; "-" for a missing metric. */
void report_put_metric(struct sbuf *b, const struct metric *m, enum report_kind kind, struct report_scale by, bool has_unit);
/* Appends a text of a policy or user without control characters, which a terminal would interpret. */
void report_put_plain(struct sbuf *b, const char *s);
/* Returns the width on a terminal, in code points (exact except for East Asian text). */
size_t report_text_width(const char *s);
void report_pad(struct sbuf *b, const char *text, size_t width, bool to_the_right);
/* Returns the label without control characters; free it with mem_free(). */
char *report_name_of(const struct run_result *r);
/* Appends an empty line and the title, with the name of the first run in place of its "%s". */
void report_put_title(struct sbuf *out, const char *title, const struct run_result *first);
/* Appends a difference with sign, unit, interval, and its share of `base` if that is above 0. */
void report_put_difference(struct sbuf *out, const struct interval *d, enum report_kind kind, double base);

#endif
