/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * chart.h - lines, bars, stacks, timelines and distribution functions of any numbers, drawn by gnuplot
 *
 * A point whose y is NaN is a gap; low and high, the ends of an interval, may be NaN.
 * Texts are shown verbatim: gnuplot never interprets them.
 */
#ifndef ORR_PLOTS_CHART_H
#define ORR_PLOTS_CHART_H

#include <orrery/api.h>

#include "plots/album.h"

enum chart_kind {
	CHART_LINES,
	CHART_BARS,
	CHART_CDF,
	CHART_STACKED, /* bars; the series of a category are stacked in order */
	CHART_TIMELINE /* steps: each value is valid until the next point */
};

struct chart_point {
	double x, y, low, high;
};
struct chart_series {
	const char *label;
	const struct chart_point *point; /* points; bars: one per category; cdf: a value and the share of values up to it */
	size_t n;
	bool marks_alone;   /* marks without a line: published values next to simulated ones */
	bool has_bounds;    /* marks: a value between low and high counts as reproduced; one bound may be NaN */
	const char *colour; /* NULL: the colour of its place */
	bool is_thin;       /* its sample in the legend is a thin dashed line */
};

struct chart {
	const char *file; /* file name without suffix and folder */
	enum chart_kind kind;
	const char *x_label, *y_label;
	bool log_x, log_y;
	bool is_calendar;            /* CHART_CDF: times of seconds to years, instead of microseconds to hours */
	const char *title;           /* a text before the legend; NULL: none */
	double y_min, y_max;         /* NaN: the range is chosen from the data; bars and lines start at 0 */
	const char *const *category; /* names of the x positions; NULL: x is a number */
	size_t n_categories;
	const struct chart_series *series;
	size_t n_series;
};

/* Sets shade[i], from 0, to the place of each series among the colours: lines and bars in order; the k-th series of marks has the colour
 * of the k-th line or bar. Returns the number of bars side by side. */
size_t chart_shades(const struct chart *c, size_t *shade);

/* Returns whether the marks of the chart are compared with all of its lines or bars. With as many series of marks as of lines, each is
 * compared with the line of its colour. */
bool chart_compares_all(const struct chart *c);
/* Returns whether point k of a series with bounds is missed: at least one value is drawn there, and none lies within the bounds. */
bool chart_misses(const struct chart *c, size_t series, size_t k);
/* Sets which of the two entries of the legend are needed: bounds, and missed bounds. */
void chart_bounds_shown(const struct chart *c, bool *has_bounds, bool *has_missed);
#define CHART_BOUNDS_NAME "bounds"
#define CHART_MISSED_NAME "none within bounds"

/* Adds a figure of curves whose data blocks are in the script, drawn by a separate template; panels draw many curves. Of the points only
 * the ranges matter. y_scale: factor of the values. */
int chart_add_curves(struct album *a, const struct chart *c, const char *template, double y_scale, struct orr_error *err);
/* Adds a figure whose data are in the script, as rows that need rows_in inches together, with margins on the left and below, in inches at 8
 * pt. The series are the entries of the legend. */
int chart_add_rows(
	struct album *a, const struct chart *c, const char *template, double left, double below, double rows_in, struct orr_error *err);
/* Adds a chart; no-op if no series has a point. */
int chart_add(struct album *a, const struct chart *c, struct orr_error *err);

#endif
