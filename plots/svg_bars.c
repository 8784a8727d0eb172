/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bars and stacks of bars of an HTML page. */
#include "plots/svg.h"

#include "base/mem.h"
#include "plots/html.h"
#include "plots/svg_frame.h"

#include <math.h>

enum { MOST_NAME = 22, MOST_NARROW = 24 };

struct bars {
	const struct chart *c;
	struct sbuf *out;
	size_t *shade, slots;
	struct svg_axis x, y;
	bool is_stacked;
};

static const struct chart_point *point_of(const struct chart *c, size_t series, size_t category)
{
	const struct chart_series *s = &c->series[series];
	return category < s->n && isfinite(s->point[category].y) ? &s->point[category] : NULL;
}

static void widen(struct svg_axis *a, double v)
{
	if (!isfinite(v) || (a->is_log && v <= 0))
		return;
	a->from = fmin(a->from, v);
	a->to = fmax(a->to, v);
}

/* Sets the range of y; returns false without data. */
static bool set_range(struct bars *b)
{
	const struct chart *c = b->c;
	b->y = (struct svg_axis){ .from = INFINITY, .to = -INFINITY, .is_log = c->log_y };
	for (size_t k = 0; k < c->n_categories; k++) {
		double sum = 0;
		for (size_t i = 0; i < c->n_series; i++) {
			const struct chart_point *p = point_of(c, i, k);
			if (!p)
				continue;
			sum += b->is_stacked ? fmax(p->y, 0) : 0;
			widen(&b->y, b->is_stacked ? sum : p->y);
			widen(&b->y, c->series[i].has_bounds ? NAN : p->low); /* bounds are clipped */
			widen(&b->y, c->series[i].has_bounds ? NAN : p->high);
		}
	}
	if (!(b->y.from <= b->y.to))
		return false;
	if (!c->log_y)
		widen(&b->y, 0);
	if (isfinite(c->y_min))
		b->y.from = c->y_min;
	if (isfinite(c->y_max))
		b->y.to = c->y_max;
	return b->y.from <= b->y.to;
}

static void put_rect(const struct bars *b, double middle, double width, double from, double to, size_t style, const char *label, double v)
{
	double top = svg_at(&b->y, fmax(from, to)), bottom = svg_at(&b->y, fmin(from, to));
	sbuf_printf(b->out, "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"><title>",
		middle - width / 2, top, width, bottom - top, svg_colour(style));
	html_text(b->out, label);
	sbuf_printf(b->out, ": %.6g</title></rect>\n", v);
}

static void put_stack(const struct bars *b, size_t category, double width)
{
	double below = 0;
	for (size_t i = 0; i < b->c->n_series; i++) {
		const struct chart_point *p = point_of(b->c, i, category);
		if (!p || !(p->y > 0))
			continue;
		put_rect(b, svg_at(&b->x, (double)category), width, below, below + p->y, i, b->c->series[i].label, p->y);
		below += p->y;
	}
}

static void put_interval(const struct bars *b, const struct chart_point *p, double x)
{
	if (!isfinite(p->low) || !isfinite(p->high) || (b->y.is_log && !(p->low > 0)))
		return;
	sbuf_printf(b->out, "<line class=\"interval\" stroke=\"#555555\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", x, x,
		svg_at(&b->y, p->low), svg_at(&b->y, p->high));
}

static double place_of(const struct bars *b, size_t category, size_t i, double width)
{
	return svg_at(&b->x, (double)category) + width * ((double)b->shade[i] - (double)(b->slots - 1) / 2);
}

/* Returns the position of a mark: the middle of the category if its bounds are compared with all bars. */
static double mark_place(const struct bars *b, size_t category, size_t i, double width)
{
	return b->c->series[i].has_bounds && chart_compares_all(b->c) ? svg_at(&b->x, (double)category) : place_of(b, category, i, width);
}

/* Draws the bounds of one category as shades over the slot, or the category (are_crosses: those missed as crosses). */
static void put_bounds(const struct bars *b, size_t category, double width, bool are_crosses)
{
	const struct chart *c = b->c;
	for (size_t i = 0; i < c->n_series; i++) {
		const struct chart_point *p = point_of(c, i, category);
		if (!p || !c->series[i].has_bounds || (isnan(p->low) && isnan(p->high)) || (c->log_y && !(p->y > 0)))
			continue;
		double x = mark_place(b, category, i, width), half = width * (chart_compares_all(c) ? (double)b->slots : 1) / 2;
		if (!are_crosses)
			svg_bounds(b->out, &b->y, x - half, x + half, p->low, p->high);
		else if (chart_misses(c, i, category))
			svg_cross(b->out, x, svg_at(&b->y, p->y));
	}
}

/* Draws the bars of one category, then its marks, which lie on the bars. */
static void put_group(const struct bars *b, size_t category, double width)
{
	const struct chart *c = b->c;
	double base = fmin(fmax(0, b->y.from), b->y.to);
	put_bounds(b, category, width, false);
	for (int are_marks = 0; are_marks < 2; are_marks++)
		for (size_t i = 0; i < c->n_series; i++) {
			const struct chart_point *p = point_of(c, i, category);
			if (!p || c->series[i].marks_alone != are_marks || (c->log_y && !(p->y > 0)))
				continue;
			double x = mark_place(b, category, i, width);
			if (!are_marks && !c->log_y)
				put_rect(b, x, width * 0.9, base, p->y, b->shade[i], c->series[i].label, p->y);
			if (!c->series[i].has_bounds)
				put_interval(b, p, x);
			if (are_marks || c->log_y)
				svg_mark(b->out, x, svg_at(&b->y, p->y), b->shade[i], are_marks ? "#000000" : NULL);
		}
	put_bounds(b, category, width, true);
}

/* Returns whether the names of the categories fit side by side. */
static bool have_room(const struct chart *c, double each)
{
	for (size_t k = 0; k < c->n_categories; k++)
		if (svg_text_width(c->category[k], MOST_NAME) > each - 4)
			return false;
	return true;
}

static void put_names(const struct bars *b, double y, double angle)
{
	for (size_t k = 0; k < b->c->n_categories; k++) {
		double x = svg_at(&b->x, (double)k);
		if (angle > 0)
			sbuf_printf(b->out, "<g transform=\"translate(%.1f %.1f) rotate(-%g)\">", x + 4, y - 4, angle);
		svg_text(b->out, angle > 0 ? 0 : x, angle > 0 ? 0 : y, angle > 0 ? "end" : "middle", b->c->category[k], MOST_NAME);
		if (angle > 0)
			sbuf_puts(b->out, "</g>\n");
	}
}

bool svg_bars(struct sbuf *out, const char *title, const struct chart *c)
{
	struct bars b = { .c = c, .out = out, .is_stacked = c->kind == CHART_STACKED };
	if (!set_range(&b))
		return false;
	b.shade = mem_zalloc(c->n_series + 1, sizeof *b.shade);
	b.slots = chart_shades(c, b.shade);
	struct svg_entry *entry = mem_zalloc(c->n_series + 2, sizeof *entry);
	for (size_t i = 0; i < c->n_series; i++)
		entry[i] = (struct svg_entry){ c->series[i].label, b.shade[i],
			c->series[i].marks_alone ? SVG_BLACK_SAMPLE
			: c->log_y               ? SVG_MARK_SAMPLE
						 : SVG_BAR_SAMPLE };
	bool is_wide = c->n_categories * (b.is_stacked ? 2 : b.slots) > MOST_NARROW;
	double width = is_wide ? SVG_WIDE : SVG_WIDTH, plot = 240, each = (width - 74) / (double)c->n_categories;
	size_t n_entries = svg_bounds_entries(c, entry, c->n_series);
	double top = (double)svg_legend_rows(entry, n_entries, width) * SVG_LINE + 30;
	/* Names without room are turned, more so where lines of text at 30 degrees would overlap. */
	double angle = have_room(c, each) ? 0 : each < 26 ? 60 : 30, names = 0, begin = 58;
	for (size_t k = 0; k < c->n_categories && angle > 0; k++) {
		double name = svg_text_width(c->category[k], MOST_NAME), share = ((double)k + 0.5) / (double)c->n_categories;
		names = fmax(names, sin(angle / 57.29578) * name);
		begin = fmax(begin, (cos(angle / 57.29578) * name - share * (width - 16)) / (1 - share));
	}
	each = (width - 16 - begin) / (double)c->n_categories;
	double height = top + plot + 42 + names;
	svg_round_range(&b.y, 5);
	b.x = (struct svg_axis){ .from = -0.5, .to = (double)c->n_categories - 0.5, .begin = begin, .end = width - 16 };
	b.y.begin = top + plot;
	b.y.end = top;
	svg_open(out, title, width, height, is_wide, false);
	svg_legend(out, entry, n_entries, width, 0);
	svg_text(out, 6, top - 11, "start", c->y_label, 60);
	svg_put_y(out, &b.x, &b.y, 5);
	for (size_t k = 0; k < c->n_categories; k++)
		if (b.is_stacked)
			put_stack(&b, k, each * 0.64);
		else
			put_group(&b, k, each * 0.8 / (double)b.slots);
	sbuf_printf(out, "<path class=\"frame\" d=\"M%.1f %.1fV%.1fH%.1f\"/>", b.x.begin, b.y.end, b.y.begin, b.x.end);
	put_names(&b, b.y.begin + 17, angle);
	svg_text(out, (b.x.begin + b.x.end) / 2, height - 6, "middle", c->x_label, 70);
	svg_close(out);
	mem_free(entry);
	mem_free(b.shade);
	return true;
}
