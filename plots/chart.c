/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/chart.h"

#include "base/mem.h"
#include "plots/gnuplot.h"

#include <math.h>
#include <string.h>

enum { LABEL_BYTES = 40, TEXT_BYTES = 80, ROW_BYTES = 28 };

static bool has_points(const struct chart *c)
{
	for (size_t i = 0; i < c->n_series; i++)
		for (size_t k = 0; k < c->series[i].n; k++)
			if (isfinite(c->series[i].point[k].y))
				return true;
	return false;
}

static void put_real(struct sbuf *b, double v)
{
	if (isfinite(v))
		sbuf_printf(b, "%.9g ", v);
	else
		sbuf_puts(b, "NaN ");
}

/* Stacks a point: low and high become the ends of a piece. */
static struct chart_point on_top_of(const struct chart_point *p, double *below)
{
	struct chart_point at = *p;
	at.low = *below;
	*below += p->y > 0 ? p->y : 0;
	at.high = *below;
	return at;
}

static void put_data(struct sbuf *b, const struct chart *c)
{
	double *below = mem_zalloc(c->n_categories + 1, sizeof *below);
	sbuf_puts(b, "$data << EOD\n");
	for (size_t i = 0; i < c->n_series; i++) {
		const struct chart_series *s = &c->series[i];
		for (size_t k = 0; k < s->n; k++) {
			bool is_stacked = c->kind == CHART_STACKED && k < c->n_categories;
			struct chart_point p = is_stacked ? on_top_of(&s->point[k], &below[k]) : s->point[k];
			put_real(b, c->category ? (double)k + 1 : p.x);
			put_real(b, p.y);
			put_real(b, p.low);
			put_real(b, p.high);
			sbuf_putc(b, '\n');
		}
		if (!s->n)
			sbuf_puts(b, "NaN NaN NaN NaN\n");
		sbuf_puts(b, "\n\n"); /* ends gnuplot's block */
	}
	sbuf_puts(b, "EOD\n");
	mem_free(below);
}

/* Adds an axis label; splits a label that is longer than the plot at the blank nearest to its middle. */
static void put_text(struct sbuf *b, const char *name, const char *text)
{
	size_t n = strlen(text), at = 0;
	for (size_t i = 1; n > ROW_BYTES && i < n; i++)
		if (text[i] == ' ' && (!at || (i > n / 2 ? i - n / 2 : n / 2 - i) < (at > n / 2 ? at - n / 2 : n / 2 - at)))
			at = i;
	sbuf_printf(b, "%s = ", name);
	if (at) {
		struct sbuf first = { 0 };
		sbuf_add(&first, text, at);
		gnuplot_quote(b, sbuf_text(&first), TEXT_BYTES);
		sbuf_puts(b, ".\"\\n\".");
		sbuf_free(&first);
		at++;
	}
	gnuplot_quote(b, text + at, TEXT_BYTES);
	sbuf_putc(b, '\n');
}

/* Lines and bars get colours in order; the k-th series of marks gets the colour of the k-th line or bar. */
static void put_colours(struct sbuf *b, const struct chart *c)
{
	size_t n[2] = { 0, 0 }, drawn = 0;
	for (size_t i = 0; i < c->n_series; i++)
		drawn += !c->series[i].marks_alone;
	size_t slots = drawn >= c->n_series - drawn
			       ? drawn
			       : c->n_series; /* if there are more series of marks than of bars, each series of marks has its own slot */
	sbuf_printf(b, "slots = %zu\narray shade[%zu]\n", slots, c->n_series);
	for (size_t i = 0; i < c->n_series; i++) {
		size_t k = ++n[c->series[i].marks_alone];
		sbuf_printf(b, "shade[%zu] = %zu\n", i + 1, c->series[i].marks_alone && k > drawn ? drawn + k : k);
	}
}

/* Adds a tic. gnuplot treats its text as a format: "%%" is a per cent sign. */
static void put_tic(struct sbuf *b, size_t i, const char *text)
{
	struct sbuf quoted = { 0 };
	gnuplot_quote(&quoted, text, LABEL_BYTES);
	sbuf_printf(b, "category[%zu] = ", i + 1);
	for (const char *s = sbuf_text(&quoted); *s; s++)
		sbuf_puts(b, *s == '%' ? "%%" : (const char[]){ *s, '\0' });
	sbuf_putc(b, '\n');
	sbuf_free(&quoted);
}

/* Returns whether the names of the positions fit in one row. In points: the page, a character of 9 pt type. */
static bool have_room(const struct chart *c)
{
	static const double page = 210, character = 5.4;
	size_t longest = 0;
	for (size_t i = 0; c->category && i < c->n_categories; i++) {
		size_t len = strlen(c->category[i]);
		longest = len > longest ? len : longest;
	}
	return character * (double)(longest + 1) * (double)c->n_categories <= page;
}

static size_t put_variables(struct sbuf *b, const struct chart *c)
{
	size_t longest = 0;
	sbuf_printf(b, "n = %zu\narray label[%zu]\narray marks[%zu]\n", c->n_series, c->n_series, c->n_series);
	for (size_t i = 0; i < c->n_series; i++) {
		const char *label = c->series[i].label;
		size_t len = strlen(label);
		longest = len > longest ? len : longest;
		sbuf_printf(b, "label[%zu] = ", i + 1);
		gnuplot_quote(b, label, LABEL_BYTES);
		sbuf_printf(b, "\nmarks[%zu] = %d\n", i + 1, c->series[i].marks_alone);
	}
	put_colours(b, c);
	put_text(b, "x_label", c->x_label);
	put_text(b, "y_label", c->y_label);
	sbuf_printf(b, "log_x = %d\nlog_y = %d\n", c->log_x, c->log_y);
	sbuf_printf(b, "categories = %zu\n", c->category ? c->n_categories : 0);
	if (c->category && c->n_categories) {
		sbuf_printf(b, "array category[%zu]\n", c->n_categories);
		for (size_t i = 0; i < c->n_categories; i++)
			put_tic(b, i, c->category[i]);
	}
	sbuf_printf(b, "tics_turned = %d\n", !have_room(c));
	sbuf_puts(b, "y_min = '*'\ny_max = '*'\n");
	if (isfinite(c->y_min) || !c->log_y)
		sbuf_printf(b, "y_min = '%.9g'\n", isfinite(c->y_min) ? c->y_min : 0);
	if (isfinite(c->y_max))
		sbuf_printf(b, "y_max = '%.9g'\n", c->y_max);
	return longest < LABEL_BYTES ? longest : LABEL_BYTES;
}

int chart_add(struct album *a, const struct chart *c, struct orr_error *err)
{
	if (!has_points(c))
		return ORR_OK;
	put_data(&a->script, c);
	size_t longest = put_variables(&a->script, c), named = 0;
	for (size_t i = 0; i < c->n_series; i++)
		named += *c->series[i].label != '\0';
	static const char *const template[] = {
		[CHART_LINES] = "lines", [CHART_BARS] = "bars", [CHART_CDF] = "cdf", [CHART_STACKED] = "stacked", [CHART_TIMELINE] = "steps"
	};
	return album_add(a, c->file, template[c->kind], album_layout(named, longest, 2.1), err);
}
