/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/svg.h"

#include "base/mem.h"
#include "plots/html.h"
#include "plots/svg_frame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- ranges ---- */

static void widen(struct svg_axis *a, double v)
{
	if (!isfinite(v) || (a->is_log && v <= 0))
		return;
	a->from = fmin(a->from, v);
	a->to = fmax(a->to, v);
}

static bool is_shown(const struct chart *c, const struct chart_point *p)
{
	return isfinite(p->x) && isfinite(p->y) && (!c->log_x || p->x > 0) && (!c->log_y || p->y > 0);
}

/* Sets the ranges of both axes. Returns false if no point is shown. */
static bool set_ranges(const struct chart *c, struct svg_axis *x, struct svg_axis *y)
{
	*x = (struct svg_axis){ .from = INFINITY, .to = -INFINITY, .is_log = c->log_x };
	*y = (struct svg_axis){ .from = INFINITY, .to = -INFINITY, .is_log = c->log_y };
	for (size_t i = 0; i < c->n_series; i++)
		for (size_t k = 0; k < c->series[i].n; k++) {
			const struct chart_point *p = &c->series[i].point[k];
			if (!is_shown(c, p))
				continue;
			widen(x, p->x);
			widen(y, p->y);
			widen(y, c->series[i].has_bounds ? NAN : p->low); /* bounds are clipped */
			widen(y, c->series[i].has_bounds ? NAN : p->high);
		}
	if (!(x->from <= x->to))
		return false;
	if (!c->log_y)
		widen(y, 0);
	if (c->kind == CHART_CDF)
		widen(y, 1);
	if (c->y_max > c->y_min || isfinite(c->y_min) != isfinite(c->y_max)) {
		y->from = isfinite(c->y_min) ? c->y_min : y->from;
		y->to = isfinite(c->y_max) ? c->y_max : y->to;
	}
	return y->from <= y->to;
}

static bool has_interval(const struct chart *c, const struct chart_point *p)
{
	return is_shown(c, p) && isfinite(p->low) && isfinite(p->high) && (!c->log_y || p->low > 0);
}

/* ---- lines ---- */

enum { MOST_MARKED = 80 };

static void put_line(struct sbuf *out, const struct chart *c, size_t i, size_t style, const struct svg_axis *x, const struct svg_axis *y)
{
	const struct chart_series *s = &c->series[i];
	bool is_open = false, has_line = false;
	double last = 0;
	sbuf_printf(out, "<path class=\"line\" stroke=\"%s\" stroke-dasharray=\"%s\" d=\"", svg_colour(style), svg_dash(style));
	for (size_t k = 0; k < s->n && !s->marks_alone; k++) {
		const struct chart_point *p = &s->point[k];
		if (!is_shown(c, p)) {
			is_open = false;
			continue;
		}
		double px = svg_at(x, p->x), py = svg_at(y, p->y);
		if (is_open && (c->kind == CHART_TIMELINE || c->kind == CHART_CDF))
			sbuf_printf(out, "L%.1f %.1f", px, last);
		sbuf_printf(out, "%c%.1f %.1f", is_open ? 'L' : 'M', px, py);
		has_line |= is_open;
		is_open = true;
		last = py;
	}
	sbuf_puts(out, "\"><title>");
	html_text(out, s->label);
	sbuf_puts(out, "</title></path>\n");
	bool is_dense = s->n > MOST_MARKED && !s->marks_alone; /* marks would hide the line */
	if ((c->kind != CHART_LINES || is_dense) && has_line)
		return;
	for (size_t k = 0; k < s->n; k++)
		if (is_shown(c, &s->point[k]))
			svg_mark(out, svg_at(x, s->point[k].x), svg_at(y, s->point[k].y), style, s->marks_alone ? svg_colour(style) : NULL);
}

static void put_band(struct sbuf *out, const struct chart *c, size_t i, size_t style, const struct svg_axis *x, const struct svg_axis *y)
{
	const struct chart_series *s = &c->series[i];
	size_t n = 0;
	struct sbuf back = { 0 }, path = { 0 };
	for (size_t k = 0; k < s->n; k++)
		if (has_interval(c, &s->point[k])) {
			sbuf_printf(&path, "%c%.1f %.1f", n++ ? 'L' : 'M', svg_at(x, s->point[k].x), svg_at(y, s->point[k].high));
			sbuf_printf(out, "<line class=\"interval\" stroke=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
				svg_colour(style), svg_at(x, s->point[k].x), svg_at(x, s->point[k].x), svg_at(y, s->point[k].low),
				svg_at(y, s->point[k].high));
		}
	for (size_t k = s->n; k-- > 0;)
		if (has_interval(c, &s->point[k]))
			sbuf_printf(&back, "L%.1f %.1f", svg_at(x, s->point[k].x), svg_at(y, s->point[k].low));
	if (n > 1)
		sbuf_printf(out, "<path class=\"band\" fill=\"%s\" d=\"%s%sZ\"/>\n", svg_colour(style), sbuf_text(&path), sbuf_text(&back));
	sbuf_free(&back);
	sbuf_free(&path);
}

/* Draws the bounds of a series as shades (are_crosses: those missed as crosses). */
static void put_bounds(
	struct sbuf *out, const struct chart *c, size_t i, const struct svg_axis *x, const struct svg_axis *y, bool are_crosses)
{
	const struct chart_series *s = &c->series[i];
	for (size_t k = 0; k < s->n && s->has_bounds; k++) {
		const struct chart_point *p = &s->point[k];
		if (!is_shown(c, p) || (isnan(p->low) && isnan(p->high)))
			continue;
		double px = svg_at(x, p->x);
		if (!are_crosses)
			svg_bounds(out, y, px - 7, px + 7, p->low, p->high);
		else if (chart_misses(c, i, k))
			svg_cross(out, px, svg_at(y, p->y));
	}
}

static void put_categories(struct sbuf *out, const struct chart *c, const struct svg_axis *x, double y)
{
	size_t every = (c->n_categories + 7) / 8, most = c->n_categories > 4 ? 8 : 14;
	for (size_t k = 0; k < c->n_categories; k += every)
		svg_text(out, svg_at(x, (double)k), y, "middle", c->category[k], most);
}

bool svg_lines(struct sbuf *out, const char *title, const struct chart *c)
{
	struct svg_axis x, y;
	if (!set_ranges(c, &x, &y))
		return false;
	bool is_wide = c->kind == CHART_TIMELINE;
	double width = is_wide ? SVG_WIDE : SVG_WIDTH, plot = is_wide ? 220 : 240;
	size_t *shade = mem_zalloc(c->n_series + 1, sizeof *shade);
	struct svg_entry *entry = mem_zalloc(c->n_series + 2, sizeof *entry);
	chart_shades(c, shade);
	for (size_t i = 0; i < c->n_series; i++)
		entry[i] = (struct svg_entry){ c->series[i].label, shade[i],
			c->series[i].marks_alone ? SVG_HOLLOW_SAMPLE
			: c->kind == CHART_LINES ? SVG_MARKED_LINE_SAMPLE
						 : SVG_LINE_SAMPLE };
	size_t n_entries = svg_bounds_entries(c, entry, c->n_series), rows = n_entries > 1 ? svg_legend_rows(entry, n_entries, width) : 0;
	double top = (double)rows * SVG_LINE + 30, height = top + plot + 42;
	if (!is_wide && !c->category)
		svg_round_range(&x, 6);
	if (c->category) {
		x.from = -0.4;
		x.to = (double)c->n_categories - 0.6;
	}
	svg_round_range(&y, 5);
	if (is_wide && x.to <= x.from)
		x.to = x.from + 1;
	x.begin = 58;
	x.end = width - 16;
	y.begin = top + plot;
	y.end = top;
	svg_open(out, title, width, height, is_wide, is_wide);
	if (rows)
		svg_legend(out, entry, n_entries, width, 0);
	svg_text(out, 6, top - 11, "start", c->y_label, 60);
	svg_put_y(out, &x, &y, 5);
	if (c->category)
		put_categories(out, c, &x, y.begin + 17);
	else
		svg_put_x(out, &x, &y, is_wide ? 8 : 6, !is_wide);
	svg_text(out, (x.begin + x.end) / 2, height - 6, "middle", c->x_label, 70);
	if (is_wide)
		svg_open_view(out, &x, top, plot);
	struct svg_axis vx = x, vy = y;
	if (is_wide) {
		vx.end -= vx.begin;
		vx.begin = 0;
		vy.begin = plot;
		vy.end = 0;
	}
	for (size_t i = 0; i < c->n_series; i++)
		put_bounds(out, c, i, &vx, &vy, false);
	for (size_t i = 0; i < c->n_series; i++)
		if (!c->series[i].has_bounds)
			put_band(out, c, i, shade[i], &vx, &vy);
	for (size_t i = 0; i < c->n_series; i++)
		put_line(out, c, i, shade[i], &vx, &vy);
	for (size_t i = 0; i < c->n_series; i++)
		put_bounds(out, c, i, &vx, &vy, true);
	if (is_wide)
		sbuf_puts(out, "</svg>\n");
	sbuf_printf(out, "<path class=\"frame\" d=\"M%.1f %.1fV%.1fH%.1f\"/>", x.begin, y.end, y.begin, x.end);
	svg_close(out);
	mem_free(entry);
	mem_free(shade);
	return true;
}

/* ---- dots ---- */

static double widest(const char *const *name, size_t n, size_t most)
{
	double w = 0;
	for (size_t i = 0; i < n; i++)
		w = fmax(w, svg_text_width(name[i], most));
	return w;
}

bool svg_dots(struct sbuf *out, const char *title, const struct chart *c)
{
	enum { NAME = 28, ROW = 24 };
	struct svg_axis x = { .from = INFINITY, .to = -INFINITY };
	const struct chart_point *p = c->series[0].point;
	for (size_t k = 0; k < c->n_categories; k++) {
		if (!isfinite(p[k].y))
			continue;
		widen(&x, p[k].y);
		widen(&x, p[k].low);
		widen(&x, p[k].high);
	}
	if (!(x.from <= x.to))
		return false;
	widen(&x, 0);
	svg_round_range(&x, 5);
	double plot = ROW * (double)c->n_categories + 8, height = plot + 46;
	struct svg_axis y = { .begin = plot, .end = 4 };
	x.begin = widest(c->category, c->n_categories, NAME) + 14;
	x.end = SVG_WIDTH - 24;
	svg_open(out, title, SVG_WIDTH, height, false, false);
	svg_put_x(out, &x, &y, 5, true);
	for (size_t k = 0; k < c->n_categories; k++) {
		double at = ROW * ((double)k + 0.5) + 6;
		svg_text(out, x.begin - 8, at + 4, "end", c->category[k], NAME);
		if (!isfinite(p[k].y))
			continue;
		if (isfinite(p[k].low) && isfinite(p[k].high))
			sbuf_printf(out, "<line class=\"interval\" stroke=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
				svg_colour(0), svg_at(&x, p[k].low), svg_at(&x, p[k].high), at, at);
		sbuf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" fill=\"%s\"/>\n", svg_at(&x, p[k].y), at, svg_colour(0));
	}
	sbuf_printf(out, "<path class=\"frame\" d=\"M%.1f %.1fV%.1fH%.1f\"/>", x.begin, y.end, y.begin, x.end);
	svg_text(out, (x.begin + x.end) / 2, height - 6, "middle", c->y_label, 60);
	svg_close(out);
	return true;
}

/* ---- rows over time ---- */

static void put_bar(struct sbuf *out, const struct svg_bar *b, const struct svg_axis *x, double row)
{
	double from = svg_at(x, b->from), to = svg_at(x, b->to), top = row * (double)b->row;
	if (b->is_line)
		sbuf_printf(out, "<line class=\"wait\" x1=\"%.2f\" x2=\"%.2f\" y1=\"%.1f\" y2=\"%.1f\"/>", from, to, top + row / 2,
			top + row / 2);
	else
		sbuf_printf(out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\"/>", from, top + row * 0.15,
			fmax(to - from, 0.05), row * 0.7, svg_colour(b->kind));
}

bool svg_gantt(struct sbuf *out, const char *title, const struct svg_rows *r)
{
	enum { NAME = 24 };
	static const double row = 18;
	struct svg_axis x = { .from = INFINITY, .to = -INFINITY }, y = { 0 };
	for (size_t i = 0; i < r->n_bars; i++) {
		widen(&x, r->bar[i].from);
		widen(&x, r->bar[i].to);
	}
	if (!(x.from < x.to) || !r->n_rows)
		return false;
	struct svg_entry *entry = mem_zalloc(r->n_kinds + 1, sizeof *entry);
	for (size_t k = 0; k < r->n_kinds; k++)
		entry[k] = (struct svg_entry){ r->kind[k], k, SVG_BAR_SAMPLE };
	double top = (double)svg_legend_rows(entry, r->n_kinds, SVG_WIDE) * SVG_LINE + 8, plot = row * (double)r->n_rows;
	double height = top + plot + 42;
	x.begin = widest(r->name, r->n_rows, NAME) + 14;
	x.end = SVG_WIDE - 20;
	y.begin = top + plot;
	y.end = top;
	svg_open(out, title, SVG_WIDE, height, true, true);
	svg_legend(out, entry, r->n_kinds, SVG_WIDE, 0);
	mem_free(entry);
	svg_put_x(out, &x, &y, 8, false);
	for (size_t k = 0; k < r->n_rows; k++)
		svg_text(out, x.begin - 8, top + row * ((double)k + 0.5) + 4, "end", r->name[k], NAME);
	svg_text(out, (x.begin + x.end) / 2, height - 6, "middle", r->x_label, 70);
	svg_open_view(out, &x, top, plot);
	struct svg_axis vx = x;
	vx.end -= vx.begin;
	vx.begin = 0;
	for (size_t i = 0; i < r->n_bars; i++)
		if (r->bar[i].is_line)
			put_bar(out, &r->bar[i], &vx, row);
	for (size_t i = 0; i < r->n_bars; i++)
		if (!r->bar[i].is_line)
			put_bar(out, &r->bar[i], &vx, row);
	sbuf_puts(out, "</svg>\n");
	sbuf_printf(out, "<path class=\"frame\" d=\"M%.1f %.1fV%.1fH%.1f\"/>", x.begin, y.end, y.begin, x.end);
	svg_close(out);
	return true;
}

/* ---- heat map ---- */

/* Colours from light to dark, distinct for all kinds of colour vision: five points of Cividis (Nunez, Anderton and Renslow, 2018). */
static void put_heat_colour(struct sbuf *out, double share)
{
	static const int point[5][3] = { { 255, 234, 70 }, { 188, 175, 111 }, { 124, 123, 120 }, { 67, 78, 108 }, { 0, 32, 77 } };
	double at = fmin(fmax(share, 0), 1) * 4;
	int i = at >= 4 ? 3 : (int)at;
	double part = at - i;
	sbuf_printf(out, "#%02x%02x%02x", (int)(point[i][0] + part * (point[i + 1][0] - point[i][0])),
		(int)(point[i][1] + part * (point[i + 1][1] - point[i][1])), (int)(point[i][2] + part * (point[i + 1][2] - point[i][2])));
}

bool svg_heat(struct sbuf *out, const char *title, const struct svg_map *m)
{
	enum { NAME = 18, ROW = 26 };
	struct svg_axis v = { .from = INFINITY, .to = -INFINITY };
	for (size_t i = 0; i < m->n_x * m->n_y; i++)
		widen(&v, m->value[i]);
	if (!(v.from <= v.to))
		return false;
	double left = widest(m->y, m->n_y, NAME) + 14, cell = (SVG_WIDTH - 16 - left) / (double)m->n_x;
	double top = 22, plot = ROW * (double)m->n_y, height = top + plot + 42;
	size_t most = cell / 7 > 3 ? (size_t)(cell / 7) : 3;
	svg_open(out, title, SVG_WIDTH, height, false, false);
	svg_text(out, 6, 14, "start", m->y_label, 60);
	for (size_t k = 0; k < m->n_y; k++)
		svg_text(out, left - 8, top + ROW * ((double)k + 0.5) + 4, "end", m->y[k], NAME);
	for (size_t k = 0; k < m->n_x; k++)
		svg_text(out, left + cell * ((double)k + 0.5), top + plot + 17, "middle", m->x[k], most);
	for (size_t i = 0; i < m->n_x * m->n_y; i++) {
		if (!isfinite(m->value[i]))
			continue;
		double share = v.to > v.from ? (m->value[i] - v.from) / (v.to - v.from) : 0;
		double x = left + cell * (double)(i % m->n_x), y = top + ROW * (double)(i / m->n_x);
		sbuf_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"", x, y, cell - 1, ROW - 1);
		put_heat_colour(out, share);
		sbuf_printf(out, "\"><title>%.6g</title></rect>", m->value[i]);
		if (cell >= 30)
			sbuf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" style=\"fill:%s\">%.3g</text>\n", x + cell / 2,
				y + ROW * 0.5 + 4, share > 0.535 ? "#ffffff" : "#000000", m->value[i]);
	}
	svg_text(out, left + (SVG_WIDTH - 16 - left) / 2, height - 6, "middle", m->x_label, 60);
	svg_close(out);
	return true;
}
