/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * chart_parts.h - parts of charts, for the files chart*.c alone
 *
 * Lengths are inches at 8 pt, unless a name says points.
 */
#ifndef ORR_PLOTS_CHART_PARTS_H
#define ORR_PLOTS_CHART_PARTS_H

#include "plots/chart.h"

enum { CHART_LABEL_BYTES = 44, CHART_TEXT_BYTES = 80, CHART_NUMBER_BYTES = 40 };

/* The data have at least 0.6 of a figure. */
#define CHART_DATA_SHARE 0.61

/* ---- axes ---- */

/* Ranges of the values that are drawn. */
struct chart_ranges {
	double x[2], y[2];
};
struct chart_ranges chart_ranges(const struct chart *c);

/* Returns the blank at which the first of that many lines of about equal length ends; 0 if there is none. */
size_t chart_cut(const char *text, size_t lines);
/* Adds an axis label in at most that many lines. */
void chart_put_lines(struct sbuf *b, const char *name, const char *text, size_t lines);
/* Adds an axis label, in two lines if it is longer than this. */
void chart_put_text(struct sbuf *b, const char *name, const char *text, size_t most);
/* Returns an estimate of the width of a text in Sans of 8 pt, in points. */
double chart_text_width(const char *s);
/* Returns 1, 2 or 5 times a power of ten so that the span has at most n steps. */
double chart_tic_step(double span, double n);
size_t chart_digits(double v);
/* Writes a number, with a prefix (k, M, ..) if has_prefix; returns its characters. */
size_t chart_number(double v, bool has_prefix, char text[CHART_NUMBER_BYTES]);
/* Returns whether the numbers of an axis are so large that prefixes are shorter. */
bool chart_is_large(bool is_log, const double range[2]);
/* Returns the distance of the numbers at a linear axis of y; 0: chosen by gnuplot. */
double chart_y_step(const double range[2]);
/* Returns the largest number of characters of a number at the y axis. */
size_t chart_widest_tic(const struct chart *c);

/* ---- panels ---- */

/* Returns the number of panels, one for each line, if there are so many; without lines, for each series of marks. Otherwise 0. */
size_t chart_count_panels(const struct chart *c);
/* Returns whether series i is that of a panel. */
bool chart_has_panel(const struct chart *c, size_t i);
/* Returns the width of a figure. */
double chart_page(const struct look *l);
/* Returns the height that the figure must have; 0: it is as high as it needs. */
double chart_fixed_height(const struct look *l);
/* Adds the variables of plots/panels.gp; returns the layout. legend_rows: of the legend of marks. */
struct layout chart_put_panels(struct album *a, const struct chart *c, size_t panels, size_t legend_rows);

#endif
