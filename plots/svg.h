/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * svg.h - figures of an HTML page: inline SVG with a title, written without gnuplot
 *
 * Each function appends a <figure> with a caption and an <svg> whose <title> is the caption. Without finite data it appends nothing and
 * returns false. Colours and dashes are those of plots/style.gp. Texts are shown verbatim.
 */
#ifndef ORR_PLOTS_SVG_H
#define ORR_PLOTS_SVG_H

#include "base/sbuf.h"
#include "plots/chart.h"

#include <stdbool.h>

/* Draws lines with bands from low to high; CHART_CDF as lines, CHART_TIMELINE as steps that the reader can zoom. The range of y starts
 * at 0 unless y is negative or logarithmic; a logarithmic axis leaves out values that are not positive. */
bool svg_lines(struct sbuf *out, const char *title, const struct chart *c);
/* Draws bars side by side in each category, or stacks of them; published values are marks, and on a logarithmic axis marks replace all
 * bars. */
bool svg_bars(struct sbuf *out, const char *title, const struct chart *c);
/* Draws the values of the first series as dots on one row for each category, with intervals from low to high. y_label: of the values. */
bool svg_dots(struct sbuf *out, const char *title, const struct chart *c);

/* A piece of a row from `from` to `to`. kind: index into names. is_line: a dashed line instead of a bar. */
struct svg_bar {
	double from, to;
	size_t row, kind;
	bool is_line;
};
struct svg_rows {
	const char *const *name; /* names of the rows, top first */
	size_t n_rows;
	const struct svg_bar *bar;
	size_t n_bars;
	const char *const *kind; /* names for the legend */
	size_t n_kinds;
	const char *x_label;
};
/* Draws a Gantt chart or a timeline of devices, which the reader can zoom. */
bool svg_gantt(struct sbuf *out, const char *title, const struct svg_rows *r);

/* value[row * n_x + column]; NaN: no value. */
struct svg_map {
	const char *const *x, *const *y; /* names of the columns and rows */
	size_t n_x, n_y;
	const double *value;
	const char *x_label, *y_label, *value_label;
};
/* Draws a heat map with the values as text. */
bool svg_heat(struct sbuf *out, const char *title, const struct svg_map *m);

#endif
