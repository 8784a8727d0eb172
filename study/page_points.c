/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics over the axes of a set of runs. */
#include "study/page_parts.h"

#include "base/mem.h"
#include "plots/html.h"
#include "plots/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_METRICS = 6, MOST_PANELS = 12, MOST_ROWS = 40, MOST_MARKS = 2000, MOST_CELLS = 20, MOST_MAPS = 6 };

/* One metric of a set. */
struct metric_view {
	const struct page_set *s;
	const struct report_column *c;
	struct report_scale unit;
	char *title;            /* title of the column, with the unit */
	struct interval *value; /* value of each point, in this unit */
};

static const struct page_run *run_of(const struct page_set *s, size_t point)
{
	return &s->run[s->order[s->point[point]]];
}

static bool open_view(struct metric_view *v, const struct page_set *s, const struct report_column *c)
{
	*v = (struct metric_view){ .s = s, .c = c };
	if (!page_set_scale(s, c, &v->unit))
		return false;
	struct sbuf title = { 0 };
	page_put_title(&title, c->title, v->unit.unit);
	v->title = sbuf_steal(&title);
	v->value = mem_zalloc(s->n_points, sizeof *v->value);
	for (size_t i = 0; i < s->n_points; i++) {
		struct interval x = page_set_value(s, i, c->metric);
		double by = v->unit.divisor;
		v->value[i] = (struct interval){ x.mean / by, x.low / by, x.high / by };
	}
	return true;
}

static void close_view(struct metric_view *v)
{
	mem_free(v->title);
	mem_free(v->value);
}

/* Returns the axis for x: the numeric axis with the largest number of values, else any axis with the largest number. */
static size_t choose_x(const struct page_set *s)
{
	size_t best = 0;
	for (size_t k = 1; k < s->n_axes; k++) {
		const struct page_axis *a = &s->axis[k], *b = &s->axis[best];
		if (a->is_number != b->is_number ? a->is_number : a->n > b->n)
			best = k;
	}
	return best;
}

/* ---- dots ---- */

static void put_dots(struct sbuf *out, const struct metric_view *v)
{
	size_t n = v->s->n_points < MOST_ROWS ? v->s->n_points : MOST_ROWS;
	struct chart_point *p = mem_zalloc(n, sizeof *p);
	const char **name = mem_zalloc(n, sizeof *name);
	for (size_t i = 0; i < n; i++) {
		p[i] = (struct chart_point){ .y = v->value[i].mean, .low = v->value[i].low, .high = v->value[i].high };
		name[i] = run_of(v->s, i)->name;
	}
	struct chart_series series = { .label = v->title, .point = p, .n = n };
	struct chart c = { .kind = CHART_BARS, .y_label = v->title, .category = name, .n_categories = n, .series = &series, .n_series = 1 };
	svg_dots(out, v->c->title, &c);
	mem_free(name);
	mem_free(p);
}

/* ---- lines ---- */

/* Returns whether two points agree in all axes but x. */
static bool are_together(const struct page_set *s, size_t a, size_t b, size_t x)
{
	for (size_t k = 0; k < s->n_axes; k++)
		if (k != x && run_of(s, a)->value[k] != run_of(s, b)->value[k])
			return false;
	return true;
}

/* Sets panel[i] to the panel of each point. Returns the number of panels. */
static size_t find_panels(const struct page_set *s, size_t x, size_t *panel, size_t *first)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n_points; i++) {
		size_t k = 0;
		while (k < n && !are_together(s, first[k], i, x))
			k++;
		if (k == n && n <= MOST_PANELS)
			first[n++] = i;
		panel[i] = k;
	}
	return n;
}

static void put_panel_title(struct sbuf *title, const struct page_set *s, size_t point, size_t x)
{
	for (size_t k = 0; k < s->n_axes; k++) {
		const struct page_axis *a = &s->axis[k];
		size_t value = run_of(s, point)->value[k];
		if (k != x)
			sbuf_printf(title, ", %s = %s", a->path, a->text[value]);
	}
	for (size_t i = 0; i < title->len; i++)
		if (title->text[i] == '\x1f')
			title->text[i] = '.';
}

static int by_x(const void *a, const void *b)
{
	double x = ((const struct chart_point *)a)->x, y = ((const struct chart_point *)b)->x;
	return (x > y) - (x < y);
}

/* Draws the points of a panel; panel NULL: all points, as marks. */
static void put_lines(struct sbuf *out, const struct metric_view *v, size_t x, const size_t *panel, size_t which, const char *title)
{
	const struct page_set *s = v->s;
	const struct page_axis *a = &s->axis[x];
	struct chart_series *series = mem_zalloc(s->n_labels, sizeof *series);
	struct chart_point **point = mem_zalloc(s->n_labels, sizeof *point);
	size_t every = panel ? 1 : (s->n_points + MOST_MARKS - 1) / MOST_MARKS;
	struct chart c = { .kind = CHART_LINES, .x_label = a->title, .y_label = v->title, .series = series };
	for (size_t l = 0; l < s->n_labels; l++) {
		point[l] = mem_zalloc(s->n_points, sizeof **point);
		struct chart_series *one = &series[c.n_series];
		*one = (struct chart_series){ .label = s->label[l], .point = point[l], .marks_alone = !panel };
		for (size_t i = 0; i < s->n_points; i += every) {
			const struct page_run *r = run_of(s, i);
			if (r->label != l || (panel && panel[i] != which))
				continue;
			double at = a->is_number ? a->number[r->value[x]] : (double)r->value[x];
			point[l][one->n++] =
				(struct chart_point){ at, v->value[i].mean, panel ? v->value[i].low : NAN, panel ? v->value[i].high : NAN };
		}
		qsort(point[l], one->n, sizeof **point, by_x);
		c.n_series += one->n > 0;
	}
	if (!a->is_number) {
		c.category = (const char *const *)a->text;
		c.n_categories = a->n;
	} else {
		c.log_x = a->n > 2 && a->number[0] > 0 && a->number[a->n - 1] / a->number[0] >= 50;
	}
	svg_lines(out, title, &c);
	for (size_t l = 0; l < s->n_labels; l++)
		mem_free(point[l]);
	mem_free(point);
	mem_free(series);
}

static void put_panels(struct sbuf *out, const struct metric_view *v, size_t x, const size_t *panel, const size_t *first, size_t n)
{
	for (size_t k = 0; k < n && k < MOST_PANELS; k++) {
		struct sbuf title = { 0 };
		sbuf_puts(&title, v->c->title);
		put_panel_title(&title, v->s, first[k], x);
		put_lines(out, v, x, panel, k, sbuf_text(&title));
		sbuf_free(&title);
	}
}

/* ---- heat maps ---- */

/* Returns the values of an axis as texts, the numbers without the common parts that its title has. */
static char **short_names(const struct page_axis *a)
{
	char **name = mem_zalloc(a->n, sizeof *name);
	for (size_t i = 0; i < a->n; i++) {
		struct sbuf b = { 0 };
		if (a->is_number)
			sbuf_printf(&b, "%.10g", a->number[i]);
		else
			sbuf_puts(&b, a->text[i]);
		name[i] = sbuf_steal(&b);
	}
	return name;
}

static void free_names(char **name, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mem_free(name[i]);
	mem_free(name);
}

static void put_map(struct sbuf *out, const struct metric_view *v, size_t x, size_t y, size_t label)
{
	const struct page_set *s = v->s;
	const struct page_axis *ax = &s->axis[x], *ay = &s->axis[y];
	double *value = mem_zalloc(ax->n * ay->n, sizeof *value);
	for (size_t i = 0; i < ax->n * ay->n; i++)
		value[i] = NAN;
	for (size_t i = 0; i < s->n_points; i++) {
		const struct page_run *r = run_of(s, i);
		if (r->label == label)
			value[r->value[y] * ax->n + r->value[x]] = v->value[i].mean;
	}
	char **names[2] = { short_names(ax), short_names(ay) };
	struct svg_map m = { (const char *const *)names[0], (const char *const *)names[1], ax->n, ay->n, value, ax->title, ay->title,
		v->title };
	struct sbuf title = { 0 };
	sbuf_printf(&title, "%s under %s", v->title, s->label[label]);
	svg_heat(out, sbuf_text(&title), &m);
	sbuf_free(&title);
	free_names(names[0], ax->n);
	free_names(names[1], ay->n);
	mem_free(value);
}

static void put_maps(struct sbuf *out, const struct metric_view *v, size_t x)
{
	const struct page_set *s = v->s;
	if (s->n_axes != 2 || s->axis[0].n > MOST_CELLS || s->axis[1].n > MOST_CELLS)
		return;
	for (size_t l = 0; l < s->n_labels && l < MOST_MAPS; l++)
		put_map(out, v, x, 1 - x, l);
}

/* ---- all ---- */

/* Returns whether the metric is 0 at all points, so that a figure would show nothing. */
static bool is_zero(const struct metric_view *v)
{
	for (size_t i = 0; i < v->s->n_points; i++)
		if (isfinite(v->value[i].mean) && v->value[i].mean != 0)
			return false;
	return true;
}

static void put_metric(struct sbuf *out, const struct metric_view *v, size_t x, const size_t *panel, const size_t *first, size_t n)
{
	const struct page_set *s = v->s;
	if (!s->n_axes && s->n_points == 1)
		return; /* the table has the same values */
	if (!s->n_axes)
		put_dots(out, v);
	else if (n > MOST_PANELS)
		put_lines(out, v, x, NULL, 0, v->c->title);
	else
		put_panels(out, v, x, panel, first, n);
}

void page_points(struct sbuf *out, const struct page_set *s)
{
	const struct report_form *form = report_form_of(s->world);
	size_t x = s->n_axes ? choose_x(s) : 0, drawn = 0;
	size_t *panel = mem_zalloc(s->n_points, sizeof *panel), first[MOST_PANELS + 1];
	size_t panels = s->n_axes ? find_panels(s, x, panel, first) : 1;
	size_t most = panels > 4 ? 2 : MOST_METRICS;
	sbuf_puts(out, "<div class=\"plots\">\n");
	for (const struct report_column *c = form ? form->columns : NULL; c && c->metric && drawn < most; c++) {
		struct metric_view v;
		if (!open_view(&v, s, c))
			continue;
		if (is_zero(&v)) {
			close_view(&v);
			continue;
		}
		put_metric(out, &v, x, panel, first, panels);
		if (!drawn++)
			put_maps(out, &v, x);
		close_view(&v);
	}
	sbuf_puts(out, "</div>\n");
	if (!s->n_axes && s->n_points > MOST_ROWS)
		sbuf_printf(out, "<p class=\"note\">The figures show the first %d policies; the table has all.</p>\n", MOST_ROWS);
	if (s->n_axes && panels > MOST_PANELS)
		sbuf_printf(out,
			"<p class=\"note\">Each mark is a point of the study; the scenarios differ in further values, which the table "
			"lists.%s</p>\n",
			s->n_points > MOST_MARKS ? " The figures have a sample of about 2,000 points." : "");
	mem_free(panel);
}
