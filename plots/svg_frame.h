/* SPDX-License-Identifier: GPL-3.0-or-later */
/* svg_frame.h - parts of the figures of svg.h: frame, axes, legend. Private to plots/. Lengths are in units of the viewBox. */
#ifndef ORR_PLOTS_SVG_FRAME_H
#define ORR_PLOTS_SVG_FRAME_H

#include "base/sbuf.h"
#include "plots/chart.h"

#include <stdbool.h>
#include <stddef.h>

enum { SVG_WIDTH = 480, SVG_WIDE = 900, SVG_LINE = 17 };

struct svg_axis {
	double from, to;   /* data */
	double begin, end; /* positions of from and to */
	bool is_log;
};
/* Returns the position of a value. */
double svg_at(const struct svg_axis *a, double v);
/* Widens the range to tics, and makes an empty range positive. */
void svg_round_range(struct svg_axis *a, int tics);
/* Calls tic() for each tic of the range. */
void svg_each_tic(const struct svg_axis *a, int tics, void (*tic)(void *ctx, double v), void *ctx);

/* Opens the figure and its svg; height is of the whole drawing. */
void svg_open(struct sbuf *out, const char *title, double width, double height, bool is_wide, bool is_zoomed);
void svg_close(struct sbuf *out);
/* anchor: start, middle or end. Texts longer than most characters are cut and have the whole text as title. */
void svg_text(struct sbuf *out, double x, double y, const char *anchor, const char *s, size_t most);
const char *svg_colour(size_t i);
const char *svg_dash(size_t i);

/* Draws a mark whose shape depends on i, so that series differ without colour. colour: of the edge of a hollow mark, for published
 * values; NULL: a filled mark. */
void svg_mark(struct sbuf *out, double x, double y, size_t i, const char *colour);
/* Draws the shade of bounds from `left` to `right`, clipped to the axis; an end that is NaN is open. */
void svg_bounds(struct sbuf *out, const struct svg_axis *y, double left, double right, double low, double high);
/* Draws the cross of missed bounds. */
void svg_cross(struct sbuf *out, double x, double y);
/* An entry of a legend: `style` is the place among colours, dashes and shapes. An empty name is left out. */
enum svg_sample {
	SVG_LINE_SAMPLE,
	SVG_MARKED_LINE_SAMPLE,
	SVG_BAR_SAMPLE,
	SVG_MARK_SAMPLE,
	SVG_HOLLOW_SAMPLE,
	SVG_BLACK_SAMPLE, /* hollow marks beside bars */
	SVG_BOUNDS_SAMPLE,
	SVG_MISSED_SAMPLE
};
struct svg_entry {
	const char *name;
	size_t style;
	enum svg_sample sample;
};
/* Appends the entries of bounds to n entries of a legend, and returns the new number; there is room for two more. */
size_t svg_bounds_entries(const struct chart *c, struct svg_entry *entry, size_t n);
/* Returns the number of rows that a legend takes in the width. */
size_t svg_legend_rows(const struct svg_entry *entry, size_t n, double width);
/* Draws the legend below y. */
void svg_legend(struct sbuf *out, const struct svg_entry *entry, size_t n, double width, double y);
/* Returns an estimate of the width of a text, cut to most characters. */
double svg_text_width(const char *s, size_t most);

/* Draws tics and grid lines. */
void svg_put_x(struct sbuf *out, const struct svg_axis *x, const struct svg_axis *y, int tics, bool has_grid);
void svg_put_y(struct sbuf *out, const struct svg_axis *x, const struct svg_axis *y, int tics);
/* Opens the nested svg, which clips the data and which the script zooms. Its coordinates start at the frame's corner. */
void svg_open_view(struct sbuf *out, const struct svg_axis *x, double top, double height);

#endif
