/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small multiples: a panel for each of many series. */
#include "plots/chart_parts.h"

#include "plots/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_TOGETHER = 7, COLUMNS = 3, MOST_COLUMNS = 6, TITLE_LINES = 3, TITLE_BYTES = 40 };

/* Between panels, at the right of the last, and below the last; log: the first number of a logarithmic axis stands left of its panel. */
static const double gap_in = 0.045, log_gap_in = 0.06, edge_in = 0.05, below_in = 0.38, foot_in = 0.03, least_panel_in = 0.45,
		    second_line_in = 0.16;

static size_t count(const struct chart *c, bool marks)
{
	size_t n = 0;
	for (size_t i = 0; i < c->n_series; i++)
		n += c->series[i].marks_alone == marks;
	return n;
}

bool chart_has_panel(const struct chart *c, size_t i)
{
	return !c->series[i].marks_alone || !count(c, false);
}

size_t chart_count_panels(const struct chart *c)
{
	size_t lines = count(c, false), n = lines ? lines : count(c, true);
	return n > MOST_TOGETHER && c->kind != CHART_STACKED ? n : 0;
}

/* Sets the step of the tics of x; -1: tics at both ends, because the range has fewer than two steps. */
static void put_panel_step(struct sbuf *b, const double range[2])
{
	double step = chart_tic_step(range[1] - range[0], 3), n = floor(range[1] / step + 1e-9) - ceil(range[0] / step - 1e-9) + 1;
	sbuf_printf(b, "x_step = %.9g\n", n < 2 ? -1 : step);
}

/* Sets the tics of panels, which have room for few: of x if it is a number, and of y. */
static void put_tics(struct sbuf *b, const struct chart *c)
{
	struct chart_ranges r = chart_ranges(c);
	bool is_log = c->log_x && !c->category && r.x[0] > 0;
	double decades = is_log ? ceil(log10(r.x[1])) - floor(log10(r.x[0])) : 0;
	sbuf_printf(b, "x_step = 0\ny_step = 0\nx_from = %.9g\nx_to = %.9g\nx_decades = %g\neach_power = %d\n", r.x[0], r.x[1],
		fmax(1, ceil(decades / 3)), decades <= 2);
	if (c->kind == CHART_BARS && !isfinite(c->y_max) && !c->log_y) /* a panel has the bars of one series alone */
		sbuf_printf(b, "y_max = '%.9g'\n", 1.05 * r.y[1]);
	if (!c->category && !c->log_x && r.x[1] > r.x[0])
		put_panel_step(b, r.x);
	if (!c->log_y && r.y[1] > r.y[0])
		sbuf_printf(b, "y_step = %.9g\n", chart_tic_step(r.y[1] - r.y[0], 4));
}

/* Returns the number of bytes of the next line of a title of at most `most` bytes, where blanks and hyphens permit. */
static size_t line_of(const char *text, size_t most)
{
	size_t n = strlen(text), at = 0;
	for (size_t i = 1; n > most && i < n && (!at || i <= most); i++)
		at = text[i] == ' ' || text[i - 1] == '-' ? i : at;
	return at ? at : n;
}

/* Returns the number of lines of a title; adds them as a variable unless b is NULL. */
static size_t wrap(struct sbuf *b, const char *name, const char *text, size_t most)
{
	size_t lines = 1, n;
	if (b)
		sbuf_printf(b, "%s = ", name);
	for (; lines < TITLE_LINES && (n = line_of(text, most)) < strlen(text); lines++) {
		struct sbuf line = { 0 };
		sbuf_add(&line, text, n);
		if (b) {
			gnuplot_quote(b, sbuf_text(&line), TITLE_BYTES);
			sbuf_puts(b, ".\"\\n\".");
		}
		sbuf_free(&line);
		text += n + (text[n] == ' ');
	}
	if (b) {
		gnuplot_quote(b, text, most + 3);
		sbuf_putc(b, '\n');
	}
	return lines;
}

double chart_page(const struct look *l)
{
	return look_width_in(l) * 8 / look_font_pt(l);
}

double chart_fixed_height(const struct look *l)
{
	double height = l->height_in > 0 ? l->height_in : l->is_slide ? 4.5 : 0;
	return height * 8 / look_font_pt(l);
}

/* Sizes of a grid of panels. */
struct grid {
	double page, left, legend, below, gap; /* width of the page; margins beside, above and below the panels; gap between columns */
	size_t columns, rows, title_bytes;
	double title, panel, height; /* heights: above a panel; a panel; the figure */
};

/* Sets what follows from the number of columns. */
static void set_columns(struct grid *g, const struct chart *c, size_t panels, size_t columns)
{
	double across = (g->page - edge_in - g->left) / (double)columns;
	size_t lines = 1, n;
	g->columns = columns;
	g->rows = (panels + columns - 1) / columns;
	g->title_bytes = (size_t)fmax(6, across * 72 / 5);
	for (size_t i = 0; i < c->n_series; i++)
		if (chart_has_panel(c, i) && (n = wrap(NULL, "", c->series[i].label, g->title_bytes)) > lines)
			lines = n;
	g->title = 0.13 * (double)lines + 0.05;
}

/* Sets the heights of the panels so that the data have their share of the figure; fixed: height of the figure, or 0. */
static void set_heights(struct grid *g, size_t panels, double fixed)
{
	static const double lowest_in = 0.95, highest_in = 1.6, most_page_in = 7.6;
	double rows = (double)g->rows, around = rows * g->title + g->legend + g->below;
	double across = (g->page - edge_in - g->left) / (double)g->columns - g->gap;
	double share = (double)panels * across / g->page; /* share of the whole width for each inch of a panel's height */
	/* share (panel - foot) = CHART_DATA_SHARE (rows panel + around) */
	double needed = share > CHART_DATA_SHARE * rows ? (CHART_DATA_SHARE * around + share * foot_in) / (share - CHART_DATA_SHARE * rows)
							: highest_in;
	g->panel = fmax(fmin(needed, fmin(highest_in, (most_page_in - around) / rows)), lowest_in);
	g->height = fixed > 0 ? fixed : rows * g->panel + around;
	if (g->height < rows * least_panel_in + around) /* many panels need a higher figure than requested */
		g->height = rows * least_panel_in + around;
}

/* Returns the number of columns of panels on paper that leaves few places empty. */
static size_t columns_for(size_t panels)
{
	return panels % COLUMNS && panels <= 10 && panels % 2 == 0 ? 2 : COLUMNS;
}

struct layout chart_put_panels(struct album *a, const struct chart *c, size_t panels, size_t legend_rows)
{
	struct sbuf *b = &a->script;
	double names = 0, fixed = chart_fixed_height(&a->look), legend = legend_rows ? 0.08 + 0.15 * (double)legend_rows : 0;
	bool is_log = c->log_x && !c->category;
	for (size_t i = 0; c->category && i < c->n_categories; i++)
		names = fmax(names, 0.55 * chart_text_width(c->category[i]) / 72);
	struct grid g = { .page = chart_page(&a->look),
		.left = 0.08 + (*c->y_label ? 0.16 : 0) + 0.072 * (double)chart_widest_tic(c),
		.legend = legend,
		.below = below_in + names,
		.gap = is_log ? log_gap_in : gap_in };
	set_columns(&g, c, panels, columns_for(panels));
	while (fixed > 0 && g.columns < MOST_COLUMNS && fixed < (double)g.rows * (least_panel_in + g.title) + g.legend + g.below)
		set_columns(&g, c, panels, g.columns + 1);
	set_heights(&g, panels, fixed);
	size_t y_most = CHART_TEXT_BYTES;
	if (chart_text_width(c->y_label) > 72 * (g.height - g.legend)) { /* a second line takes some of the width */
		y_most = strlen(c->y_label) - 1;
		g.left += second_line_in;
		set_columns(&g, c, panels, g.columns);
		set_heights(&g, panels, fixed);
	}

	sbuf_printf(b, "panels = %zu\narray panel_label[%zu]\narray is_panel[%zu]\nis_steps = %d\nis_cdf = %d\n", panels, c->n_series,
		c->n_series, c->kind == CHART_CDF || c->kind == CHART_TIMELINE, c->kind == CHART_CDF);
	chart_put_text(b, "y_label", c->y_label, y_most);
	put_tics(b, c);
	for (size_t i = 0; i < c->n_series; i++) {
		char name[40];
		snprintf(name, sizeof name, "panel_label[%zu]", i + 1);
		wrap(b, name, c->series[i].label, g.title_bytes);
		sbuf_printf(b, "is_panel[%zu] = %d\n", i + 1, chart_has_panel(c, i));
	}
	sbuf_printf(b, "panel_columns = %zu\npanel_left = %.4f\npanel_gap = %.4f\npanel_edge = %.4f\npanel_foot = %.4f\n", g.columns,
		g.left, g.gap, edge_in, foot_in);
	sbuf_printf(b, "panel_title = %.6f\npanel_below = %.6f\npanel_top = %.6f\n", g.title / g.height, g.below / g.height,
		g.legend / g.height);
	return (struct layout){
		.plot_in = g.height - 0.12 - 0.15 * (double)legend_rows, .rows = legend_rows, .has_places = true, .is_panels = true
	};
}
