/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scenario book on the page: published and simulated values side by side, and the figures of the book. */
#include "study/page_parts.h"

#include "base/mem.h"
#include "plots/svg.h"
#include "results/grid.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 600 };

/* ---- published values ---- */

static bool ends_in(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);
	return n >= k && !strcmp(s + n - k, suffix);
}

/* Returns whether all values of a column are percentages, whose unit belongs to the heading. */
static bool is_percentage(const struct grid *g, size_t column)
{
	bool has_any = false;
	for (size_t i = 1; i < g->rows; i++) {
		const char *s = *grid_cell(g, i, column);
		if (!*s || !strcmp(s, "-"))
			continue;
		if (!ends_in(s, " %"))
			return false;
		has_any = true;
	}
	return has_any;
}

static size_t column_named(const struct grid *g, const char *name)
{
	size_t k = 0;
	while (k < g->columns && strcmp(*grid_cell(g, 0, k), name) != 0)
		k++;
	return k;
}

/* Says how many values lie within their bounds. */
static void put_count(struct sbuf *out, const struct grid *g)
{
	size_t bounds = column_named(g, "bounds"), published = column_named(g, "published"), n = 0, beyond = 0, compared = 0;
	for (size_t i = 1; i < g->rows; i++) {
		const char *s = bounds < g->columns ? *grid_cell(g, i, bounds) : "-";
		compared += published < g->columns && strcmp(*grid_cell(g, i, published), "-") != 0;
		n += *s == '[';
		beyond += ends_in(s, " no");
	}
	sbuf_printf(out, "<p>%zu value%s, %zu of them published.", g->rows - 1, g->rows == 2 ? "" : "s", compared);
	if (n)
		sbuf_printf(out, " %zu have bounds; %zu lie%s outside, which the column of bounds marks with \"no\".", n, beyond,
			beyond == 1 ? "s" : "");
	sbuf_puts(out, "</p>\n");
}

static void put_cell(struct html_table *t, const char *s, bool is_share)
{
	struct sbuf b = { 0 };
	sbuf_add(&b, s, strlen(s) - (is_share && ends_in(s, " %") ? 2 : 0));
	html_table_cell(t, strcmp(s, "-") ? sbuf_text(&b) : "");
	sbuf_free(&b);
}

static void put_grid(struct sbuf *out, const struct grid *g)
{
	struct html_table t = { .caption = "Published and simulated values" };
	size_t bounds = column_named(g, "bounds");
	bool *is_share = mem_zalloc(g->columns + 1, sizeof *is_share);
	for (size_t k = 0; k < g->columns; k++) {
		struct sbuf title = { 0 };
		is_share[k] = is_percentage(g, k);
		page_put_title(&title, *grid_cell(g, 0, k), is_share[k] ? "%" : "");
		html_table_column(&t, sbuf_text(&title), !g->is_text[k] && k != bounds, false);
		sbuf_free(&title);
	}
	for (size_t i = 1; i < g->rows; i++)
		for (size_t k = 0; k < g->columns; k++)
			put_cell(&t, *grid_cell(g, i, k), is_share[k]);
	html_table_put(out, &t);
	mem_free(is_share);
}

int page_published(struct sbuf *out, struct book *b, struct orr_error *err)
{
	struct grid g;
	int rc = book_table_grid(b, &g, err);
	html_section(out, "published", "Published and simulated values");
	if (g.rows < 2) {
		html_element(out, "p", "This book has no table.");
	} else {
		put_count(out, &g);
		put_grid(out, &g);
	}
	grid_free(&g);
	return rc;
}

/* ---- figures ---- */

static const char *text_or(const char *s, const char *otherwise)
{
	return s && *s ? s : otherwise;
}

/* Thins a series to about MOST_POINTS points, the last among them, and numbers categories from 0. */
static struct chart_point *thin(const struct chart *c, const struct chart_series *s, size_t *n)
{
	size_t every = c->category ? 1 : (s->n + MOST_POINTS - 1) / MOST_POINTS;
	struct chart_point *p = mem_zalloc(s->n + 1, sizeof *p);
	*n = 0;
	for (size_t i = 0; i < s->n; i++) {
		if (i % every && i + 1 < s->n)
			continue;
		p[*n] = s->point[i];
		p[*n].x = c->category ? (double)i : p[*n].x;
		++*n;
	}
	return p;
}

static void put_chart(void *ctx, const char *name, const struct chart *from)
{
	struct sbuf *out = ctx, title = { 0 };
	struct chart c = *from;
	struct chart_series *series = mem_zalloc(c.n_series + 1, sizeof *series);
	struct chart_point **point = mem_zalloc(c.n_series + 1, sizeof *point);
	for (size_t i = 0; i < c.n_series; i++) {
		series[i] = from->series[i];
		point[i] = thin(from, &from->series[i], &series[i].n);
		series[i].point = point[i];
	}
	c.series = series;
	sbuf_printf(&title, "%s: %s", name, text_or(c.y_label, "values"));
	if (c.kind == CHART_BARS || c.kind == CHART_STACKED)
		svg_bars(out, sbuf_text(&title), &c);
	else
		svg_lines(out, sbuf_text(&title), &c);
	for (size_t i = 0; i < c.n_series; i++)
		mem_free(point[i]);
	mem_free(point);
	mem_free(series);
	sbuf_free(&title);
}

static void put_spans(void *ctx, const char *name, const struct run_result *r)
{
	page_spans(ctx, r, name);
}

int page_figures(struct sbuf *out, struct book *b, struct orr_error *err)
{
	struct book_canvas canvas = { put_chart, put_spans, out };
	html_section(out, "figures", "Figures of the book");
	sbuf_puts(out, "<p class=\"note\">Hollow marks are published values; grey shades are the bounds within which a simulated value "
		       "counts as reproduced.</p>\n<div class=\"plots\">\n");
	int rc = book_draw_on(b, &canvas, err);
	sbuf_puts(out, "</div>\n");
	return rc;
}
