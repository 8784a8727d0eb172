/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/svg_frame.h"

#include "base/utf8.h"
#include "plots/html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEGEND_NAME = 40 };
static const double character = 7.6; /* mean width of a character at 13 units, the size on a narrow page, in a wide font */

/* As in plots/style.gp. */
static const char *const colours[] = { "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9" };
static const char *const dashes[] = { "none", "12 4", "3 3", "12 3 3 3", "20 4 3 4 3 4", "6 6", "2 6" };
enum { STYLES = sizeof colours / sizeof *colours };

const char *svg_colour(size_t i)
{
	return colours[i % STYLES];
}

/* After the last colour, the first colour gets the second dash, so that 49 pairs differ. */
const char *svg_dash(size_t i)
{
	return dashes[(i + i / STYLES) % STYLES];
}

double svg_at(const struct svg_axis *a, double v)
{
	double share = a->is_log ? log(v / a->from) / log(a->to / a->from) : (v - a->from) / (a->to - a->from);
	return a->begin + share * (a->end - a->begin);
}

/* Returns 1, 2 or 5 times a power of ten, at least span / n. */
static double tic_step(double span, int n)
{
	double raw = span / n, power = pow(10, floor(log10(raw)));
	return power * (raw <= power * 1.0000001 ? 1 : raw <= 2 * power ? 2 : raw <= 5 * power ? 5 : 10);
}

void svg_round_range(struct svg_axis *a, int tics)
{
	if (a->is_log) {
		a->from = pow(10, floor(log10(a->from) + 1e-9));
		a->to = fmax(pow(10, ceil(log10(a->to) - 1e-9)), 10 * a->from);
		return;
	}
	if (a->to - a->from <= 1e-9 * fabs(a->to)) {
		double half = a->to != 0 ? 0.5 * fabs(a->to) : 0.5;
		a->from = a->from == 0 ? 0 : a->from - half;
		a->to += half;
	}
	double d = tic_step(a->to - a->from, tics);
	a->from = floor(a->from / d + 1e-9) * d;
	a->to = ceil(a->to / d - 1e-9) * d;
}

static void each_log_tic(const struct svg_axis *a, void (*tic)(void *, double), void *ctx)
{
	double decades = log10(a->to / a->from);
	double every = decades > 8 ? ceil(decades / 6) : 1;
	for (double e = floor(log10(a->from)); e <= log10(a->to) + 1e-9; e += every)
		for (int k = 1; k < 10; k++) {
			double v = k * pow(10, e);
			bool is_shown = k == 1 || (decades < 2.2 && (k == 2 || k == 5));
			if (is_shown && v >= a->from * 0.9999999 && v <= a->to * 1.0000001)
				tic(ctx, v);
		}
}

void svg_each_tic(const struct svg_axis *a, int tics, void (*tic)(void *, double), void *ctx)
{
	if (a->is_log) {
		each_log_tic(a, tic, ctx);
		return;
	}
	double d = tic_step(a->to - a->from, tics);
	for (double i = ceil(a->from / d - 1e-9); i * d <= a->to + d * 1e-9; i++)
		tic(ctx, i == 0 ? 0 : i * d);
}

void svg_open(struct sbuf *out, const char *title, double width, double height, bool is_wide, bool is_zoomed)
{
	sbuf_printf(out, "<figure class=\"plot%s%s\"><figcaption>", is_wide ? " wide" : "", is_zoomed ? " zoom" : "");
	html_text(out, title);
	sbuf_printf(out, "</figcaption>\n<svg viewBox=\"0 0 %g %g\" role=\"img\">", width, height);
	html_element(out, "title", title);
}

void svg_close(struct sbuf *out)
{
	sbuf_puts(out, "</svg></figure>\n");
}

/* Returns the number of bytes of the first `most` characters. */
static size_t cut(const char *s, size_t most)
{
	size_t n = strlen(s), at = 0;
	for (size_t i = 0; i < most && at < n; i++) {
		size_t bytes = utf8_length(s + at, n - at);
		at += bytes ? bytes : 1;
	}
	return at;
}

void svg_text(struct sbuf *out, double x, double y, const char *anchor, const char *s, size_t most)
{
	size_t whole = strlen(s), n = cut(s, most);
	sbuf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	if (n < whole) {
		struct sbuf part = { 0 };
		sbuf_add(&part, s, cut(s, most - 1));
		sbuf_puts(&part, "…");
		html_text(out, sbuf_text(&part));
		html_element(out, "title", s);
		sbuf_free(&part);
	} else {
		html_text(out, s);
	}
	sbuf_puts(out, "</text>\n");
}

double svg_text_width(const char *s, size_t most)
{
	size_t n = 0;
	for (size_t i = 0, end = cut(s, most); i < end; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return (double)n * character;
}

void svg_mark(struct sbuf *out, double x, double y, size_t i, const char *colour)
{
	/* Corners around (0, 0). The first shape is a circle. */
	static const char *const shape[] = { NULL, "-3,-3 3,-3 3,3 -3,3", "0,-4.4 4.4,0 0,4.4 -4.4,0", "0,-4 3.8,3 -3.8,3",
		"0,4 3.8,-3 -3.8,-3", "-1.2,-4 1.2,-4 1.2,-1.2 4,-1.2 4,1.2 1.2,1.2 1.2,4 -1.2,4 -1.2,1.2 -4,1.2 -4,-1.2 -1.2,-1.2",
		"0,-4.2 4,-1.3 2.5,3.4 -2.5,3.4 -4,-1.3" };
	const char *corners = shape[i % STYLES];
	if (!corners)
		sbuf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\"", x, y);
	else
		sbuf_printf(out, "<polygon transform=\"translate(%.1f %.1f)\" points=\"%s\"", x, y, corners);
	sbuf_printf(
		out, colour ? " fill=\"#ffffff\" stroke=\"%s\" stroke-width=\"1.6\"/>" : " fill=\"%s\"/>", colour ? colour : svg_colour(i));
}

void svg_bounds(struct sbuf *out, const struct svg_axis *y, double left, double right, double low, double high)
{
	double from = isnan(low) ? y->from : fmin(fmax(low, y->from), y->to), to = isnan(high) ? y->to : fmin(fmax(high, y->from), y->to);
	sbuf_printf(out, "<rect class=\"bounds\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>bounds", left, svg_at(y, to),
		right - left, fabs(svg_at(y, from) - svg_at(y, to)));
	if (!isnan(low))
		sbuf_printf(out, " from %.6g", low);
	if (!isnan(high))
		sbuf_printf(out, " to %.6g", high);
	sbuf_puts(out, "</title></rect>\n");
}

void svg_cross(struct sbuf *out, double x, double y)
{
	sbuf_printf(out, "<path class=\"missed\" d=\"M%.1f %.1fl9 9m-9 0l9 -9\"/>", x - 4.5, y - 4.5);
}

size_t svg_bounds_entries(const struct chart *c, struct svg_entry *entry, size_t n)
{
	bool has_bounds, has_missed;
	chart_bounds_shown(c, &has_bounds, &has_missed);
	if (has_bounds)
		entry[n++] = (struct svg_entry){ CHART_BOUNDS_NAME, 0, SVG_BOUNDS_SAMPLE };
	if (has_missed)
		entry[n++] = (struct svg_entry){ CHART_MISSED_NAME, 0, SVG_MISSED_SAMPLE };
	return n;
}

static void put_sample(struct sbuf *out, const struct svg_entry *e, double x, double at)
{
	switch (e->sample) {
	case SVG_BAR_SAMPLE:
		sbuf_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"26\" height=\"9\" fill=\"%s\"/>", x, at - 8, svg_colour(e->style));
		break;
	case SVG_LINE_SAMPLE:
	case SVG_MARKED_LINE_SAMPLE:
		sbuf_printf(out,
			"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\"/>",
			x, x + 28, at - 4, at - 4, svg_colour(e->style), svg_dash(e->style));
		if (e->sample == SVG_MARKED_LINE_SAMPLE)
			svg_mark(out, x + 14, at - 4, e->style, NULL);
		break;
	case SVG_BOUNDS_SAMPLE:
		sbuf_printf(out, "<rect class=\"bounds\" x=\"%.1f\" y=\"%.1f\" width=\"26\" height=\"9\"/>", x, at - 8);
		break;
	case SVG_MISSED_SAMPLE:
		svg_cross(out, x + 14, at - 4);
		break;
	default:
		svg_mark(out, x + 14, at - 4, e->style,
			e->sample == SVG_HOLLOW_SAMPLE  ? svg_colour(e->style)
			: e->sample == SVG_BLACK_SAMPLE ? "#000000"
							: NULL);
	}
}

/* Places the entries of a legend; returns the number of rows. out NULL: only counts. */
static size_t lay_legend(struct sbuf *out, const struct svg_entry *entry, size_t n, double width, double y)
{
	double x = 8;
	size_t row = 0, placed = 0;
	for (size_t i = 0; i < n; i++) {
		if (!*entry[i].name)
			continue;
		double w = 36 + svg_text_width(entry[i].name, LEGEND_NAME) + 14;
		if (x > 8 && x + w > width) {
			x = 8;
			row++;
		}
		double at = y + (double)row * SVG_LINE + 12;
		if (out) {
			put_sample(out, &entry[i], x, at);
			svg_text(out, x + 34, at, "start", entry[i].name, LEGEND_NAME);
		}
		x += w;
		placed++;
	}
	return placed ? row + 1 : 0;
}

size_t svg_legend_rows(const struct svg_entry *entry, size_t n, double width)
{
	return lay_legend(NULL, entry, n, width, 0);
}

void svg_legend(struct sbuf *out, const struct svg_entry *entry, size_t n, double width, double y)
{
	lay_legend(out, entry, n, width, y);
}

struct tics {
	struct sbuf *out;
	const struct svg_axis *x, *y;
	bool has_grid;
};

static void put_number(struct tics *t, double x, double y, const char *anchor, double v)
{
	sbuf_printf(t->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%.10g</text>\n", x, y, anchor, v);
}

static void put_x_tic(void *ctx, double v)
{
	struct tics *t = ctx;
	double x = svg_at(t->x, v);
	if (t->has_grid)
		sbuf_printf(t->out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", x, x, t->y->begin, t->y->end);
	put_number(t, x, fmax(t->y->begin, t->y->end) + 17, "middle", v);
}

static void put_y_tic(void *ctx, double v)
{
	struct tics *t = ctx;
	double y = svg_at(t->y, v);
	sbuf_printf(t->out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", t->x->begin, t->x->end, y, y);
	put_number(t, t->x->begin - 6, y + 4, "end", v);
}

void svg_put_x(struct sbuf *out, const struct svg_axis *x, const struct svg_axis *y, int tics, bool has_grid)
{
	struct tics t = { out, x, y, has_grid };
	sbuf_printf(out, "<g class=\"tics-x\" data-y=\"%.1f\">\n", fmax(y->begin, y->end) + 17);
	svg_each_tic(x, tics, put_x_tic, &t);
	sbuf_puts(out, "</g>\n");
}

void svg_put_y(struct sbuf *out, const struct svg_axis *x, const struct svg_axis *y, int tics)
{
	struct tics t = { out, x, y, false };
	svg_each_tic(y, tics, put_y_tic, &t);
}

void svg_open_view(struct sbuf *out, const struct svg_axis *x, double top, double height)
{
	double width = x->end - x->begin;
	sbuf_printf(out,
		"<svg class=\"view\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" viewBox=\"0 0 %.1f %.1f\" "
		"preserveAspectRatio=\"none\" data-from=\"%.10g\" data-to=\"%.10g\">\n",
		x->begin, top, width, height, width, height, x->from, x->to);
	sbuf_printf(out, "<rect width=\"%.1f\" height=\"%.1f\" fill=\"transparent\"/>\n", width, height);
}
