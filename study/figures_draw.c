/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of a book: each a chart and a CSV file of its data. */
#include "study/figures.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "plots/chart.h"
#include "base/outfile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct drawing {
	const cJSON *json; /* limit on the charts of one figure */
	char where[60];
	const char *out_dir;
	struct album *album;
	const struct book_canvas *canvas; /* draws instead of gnuplot; NULL: none */
	bool no_figures;
	/* The current chart. */
	struct chart chart;
	char *x_label, *y_label;
	size_t x_axis;   /* axis of x; SIZE_MAX: x comes from rows */
	bool computes_x; /* series give x as an expression */
	bool has_bounds; /* the series are marks of published values */
	double unit_s;   /* unit of x in a timeline, s */
	struct chart_series *series;
	size_t cap_series;
	const cJSON *one; /* series */
};

/* Reads the number at key, or def if it is missing. */
static int number_or(struct book *b, const cJSON *o, const char *key, double def, const char *where, double *out, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	*out = def;
	return v ? book_number(b, v, where, out, err) : ORR_OK;
}

static void keep_series(struct book *b, struct drawing *d, const struct chart_point *point, size_t n, struct orr_error *err)
{
	const char *label = book_string(b, d->one, "label", d->where, err);
	MEM_GROW(d->series, d->chart.n_series, d->cap_series);
	d->series[d->chart.n_series++] = (struct chart_series){ .label = book_text(b, label ? label : "", d->where, err),
		.point = point,
		.n = n,
		.marks_alone = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(d->one, "marks")),
		.has_bounds = d->has_bounds };
}

/* Returns whether y of the series is one published value, whose bounds its marks then have; "low" and "high" of the series have priority.
 */
static bool is_published(const struct drawing *d)
{
	const char *y = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(d->one, "y"));
	if (!y || strncmp(y, "{published:", 11) != 0 || !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(d->one, "marks")))
		return false;
	int depth = 0;
	for (; *y; y++) {
		depth += (*y == '{') - (*y == '}');
		if (!depth && y[1]) /* an expression of several values */
			return false;
	}
	return !depth && !cJSON_GetObjectItemCaseSensitive(d->one, "low") && !cJSON_GetObjectItemCaseSensitive(d->one, "high");
}

/* Sets the bounds of a published value at the axes bound now. */
static int take_bounds(struct book *b, const struct drawing *d, struct chart_point *point, struct orr_error *err)
{
	char *id = book_text(b, cJSON_GetObjectItemCaseSensitive(d->one, "y")->valuestring + strlen("{published:"), d->where, err);
	if (!id)
		return ORR_EINPUT;
	id[strlen(id) - 1] = '\0';
	const struct book_published *p = book_find_published(b, id);
	point->low = p ? p->low : NAN;
	point->high = p ? p->high : NAN;
	mem_free(id);
	return ORR_OK;
}

/* Returns whether the series of the chart come from rows. */
static bool is_of_rows(const struct drawing *d)
{
	return d->chart.kind == CHART_CDF || d->chart.kind == CHART_TIMELINE;
}

/* Adds a series from rows: a distribution function or a timeline. */
static int add_rows(struct book *b, void *ctx, struct orr_error *err)
{
	struct drawing *d = ctx;
	const char *template = book_string(b, d->one, "rows", d->where, err);
	bool is_cdf = d->chart.kind == CHART_CDF;
	if (!template)
		return book_fail(b, d->where, err, "\"series\": \"rows\": expected RUN.LABEL.COLUMN, such as \"%s\"",
			is_cdf ? "conv.vllm.ttft" : "day.bamboo.live");
	char *text = book_text(b, template, d->where, err);
	struct chart_point *point = NULL;
	size_t n = 0;
	d->has_bounds = false;
	int rc = !text    ? ORR_EINPUT
		 : is_cdf ? book_distribution(b, text, d->where, &point, &n, err)
			  : book_timeline(b, text, d->where, d->unit_s, &point, &n, err);
	mem_free(text);
	keep_series(b, d, point, n, err);
	return rc || d->series[d->chart.n_series - 1].label ? rc : ORR_EINPUT;
}

/* Adds one line or row of bars: x (default: the value of the axis), y, low and high at each value of the axis. Called with the series'
 * own axes bound. */
static int add_series(struct book *b, void *ctx, struct orr_error *err)
{
	struct drawing *d = ctx;
	const struct book_axis *x = &b->axis[d->x_axis];
	size_t before = b->bound[d->x_axis];
	struct chart_point *point = mem_zalloc(x->n, sizeof *point);
	int rc = ORR_OK;
	d->has_bounds = is_published(d);
	for (size_t i = 0; i < x->n && !rc; i++) {
		b->bound[d->x_axis] = i;
		rc = number_or(b, d->one, "x", book_value(x, i)->number, d->where, &point[i].x, err);
		if (!rc)
			rc = number_or(b, d->one, "y", NAN, d->where, &point[i].y, err);
		if (!rc)
			rc = number_or(b, d->one, "low", NAN, d->where, &point[i].low, err);
		if (!rc)
			rc = number_or(b, d->one, "high", NAN, d->where, &point[i].high, err);
		if (!rc && d->has_bounds && isfinite(point[i].y))
			rc = take_bounds(b, d, &point[i], err);
	}
	b->bound[d->x_axis] = before;
	keep_series(b, d, point, x->n, err);
	return rc || d->series[d->chart.n_series - 1].label ? rc : ORR_EINPUT;
}

static int add_all_series(struct book *b, struct drawing *d, struct orr_error *err)
{
	static const char *const known_lines[] = { "label", "y", "low", "high", "each", "marks", NULL }, *const known_marks[] = { "label",
		"x", "y", "each", "marks", NULL };
	static const char *const known_rows[] = { "label", "rows", "each", NULL }, *const known_pieces[] = { "label", "y", "each", NULL };
	d->computes_x = false;
	const char *const *known = is_of_rows(d) ? known_rows : d->chart.kind == CHART_STACKED ? known_pieces : known_lines;
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(d->json, "series");
	int rc = cJSON_GetArraySize(list) ? ORR_OK
					  : book_fail(b, d->where, err, "\"series\": expected a list of objects with \"label\" and \"y\"");
	cJSON_ArrayForEach(d->one, list)
	{
		bool is_computed = d->chart.kind == CHART_LINES && cJSON_GetObjectItemCaseSensitive(d->one, "x");
		d->computes_x |= is_computed;
		if (!rc)
			rc = book_check_keys(b, d->one, d->where, is_computed ? known_marks : known, err);
		if (!rc && is_computed && !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(d->one, "marks")))
			rc = book_fail(b, d->where, err, "\"series\": \"x\": expected also \"marks\": true, because lines follow the axis");
		if (!rc && d->computes_x && !is_computed)
			rc = book_fail(b, d->where, err, "\"series\": \"x\": expected an expression in every series, or in none");
		if (!rc && !is_of_rows(d) && !cJSON_GetObjectItemCaseSensitive(d->one, "y"))
			rc = book_fail(b, d->where, err, "\"series\": \"y\": expected an expression");
		if (!rc)
			rc = book_each(b, cJSON_GetObjectItemCaseSensitive(d->one, "each"), d->where, is_of_rows(d) ? add_rows : add_series,
				d, err);
	}
	return rc;
}

/* Sets the unit of x in a timeline. */
static int set_unit(struct book *b, struct drawing *d, const cJSON *x, const char **label, struct orr_error *err)
{
	static const struct {
		const char *name, *label;
		double s;
	} units[] = { { "s", "time (s)", 1 }, { "min", "time (min)", 60 }, { "h", "time (h)", 3600 }, { "d", "time (d)", 86400 } };
	const char *name = book_string(b, x, "unit", d->where, err);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcmp(units[i].name, name ? name : "h")) {
			d->unit_s = units[i].s;
			*label = units[i].label;
			return ORR_OK;
		}
	return book_fail(b, d->where, err, "\"x\": \"unit\": expected s, min, h or d, found \"%.40s\"", name);
}

static int set_axes(struct book *b, struct drawing *d, struct orr_error *err)
{
	static const char *const known_x[] = { "axis", "label", "log", NULL }, *const known_time[] = { "label", "unit", NULL },
				 *const known_y[] = { "label", "log", "min", "max", NULL };
	const cJSON *x = cJSON_GetObjectItemCaseSensitive(d->json, "x"), *y = cJSON_GetObjectItemCaseSensitive(d->json, "y");
	bool is_timeline = d->chart.kind == CHART_TIMELINE;
	int rc = is_timeline && !x ? ORR_OK : book_check_keys(b, x, d->where, is_timeline ? known_time : known_x, err);
	if (!rc && y)
		rc = book_check_keys(b, y, d->where, known_y, err);
	if (rc)
		return rc;
	const char *of_rows = "seconds";
	if (is_timeline && (rc = set_unit(b, d, x, &of_rows, err)))
		return rc;
	bool is_cdf = d->chart.kind == CHART_CDF;
	const char *axis = is_of_rows(d) ? NULL : book_string(b, x, "axis", d->where, err);
	d->x_axis = axis ? book_axis(b, axis, strlen(axis)) : SIZE_MAX;
	if (!is_of_rows(d) && d->x_axis == SIZE_MAX)
		return book_fail(
			b, d->where, err, "\"x\": \"axis\": expected the name of one of $.axes, found \"%.60s\"", axis ? axis : "");
	const char *x_label = book_string(b, x, "label", d->where, err), *y_label = book_string(b, y, "label", d->where, err);
	d->chart.x_label = d->x_label = book_text(b, x_label ? x_label : axis ? axis : of_rows, d->where, err);
	d->chart.y_label = d->y_label = book_text(b, y_label ? y_label : is_cdf ? "share of requests" : "", d->where, err);
	if (!d->x_label || !d->y_label)
		return ORR_EINPUT;
	d->chart.log_x = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(x, "log"));
	d->chart.log_y = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(y, "log"));
	rc = number_or(b, y, "min", NAN, d->where, &d->chart.y_min, err);
	return rc ? rc : number_or(b, y, "max", NAN, d->where, &d->chart.y_max, err);
}

static int write_data(const struct book *b, const struct drawing *d, struct orr_error *err)
{
	struct outfile f;
	int rc = outfile_open(&f, d->out_dir, d->chart.file, ".csv", err);
	if (rc)
		return rc;
	fputs("series,x,y,low,high\n", f.file);
	for (size_t i = 0; i < d->chart.n_series; i++)
		for (size_t k = 0; k < d->series[i].n; k++) {
			const struct chart_point *p = &d->series[i].point[k];
			book_put_text(f.file, d->series[i].label);
			putc(',', f.file);
			if (d->x_axis == SIZE_MAX || d->computes_x)
				fprintf(f.file, "%.17g", p->x);
			else
				book_put_text(f.file, book_value(&b->axis[d->x_axis], k)->text);
			book_put_real(f.file, p->y);
			book_put_real(f.file, p->low);
			book_put_real(f.file, p->high);
			putc('\n', f.file);
		}
	return outfile_close(&f, false, err);
}

/* Returns the names of the positions on the x axis, for bars or if some x is not a number; NULL: the axis has numbers. */
static const char **categories(const struct book *b, struct drawing *d)
{
	if (is_of_rows(d) || d->computes_x)
		return NULL;
	const struct book_axis *x = &b->axis[d->x_axis];
	bool are_named = d->chart.kind == CHART_BARS || d->chart.kind == CHART_STACKED;
	for (size_t i = 0; i < x->n; i++)
		are_named |= isnan(book_value(x, i)->number);
	if (!are_named)
		return NULL;
	const char **names = mem_zalloc(x->n, sizeof *names);
	for (size_t i = 0; i < x->n; i++)
		names[i] = book_value(x, i)->label;
	d->chart.category = names;
	d->chart.n_categories = x->n;
	return names;
}

static bool is_file_name(const char *s)
{
	return *s && *s != '.' && *s != '-' &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+=-") == strlen(s);
}

static bool kind_named(const char *name, enum chart_kind *out)
{
	static const char *const names[] = { [CHART_LINES] = "lines",
		[CHART_BARS] = "bars",
		[CHART_CDF] = "cdf",
		[CHART_STACKED] = "stacked",
		[CHART_TIMELINE] = "timeline" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i], name)) {
			*out = (enum chart_kind)i;
			return true;
		}
	return false;
}

/* Draws lines, bars or curves of rows. */
static int draw(struct book *b, struct drawing *d, const char *file, struct orr_error *err)
{
	d->series = NULL;
	d->cap_series = 0;
	d->x_label = d->y_label = NULL;
	int rc = set_axes(b, d, err);
	const char **names = NULL;
	if (!rc) {
		d->chart.file = file;
		rc = add_all_series(b, d, err);
		names = categories(b, d);
		d->chart.series = d->series;
	}
	if (!rc && d->out_dir)
		rc = write_data(b, d, err);
	if (!rc && d->canvas)
		d->canvas->chart(d->canvas->ctx, file, &d->chart);
	else if (!rc && !d->no_figures)
		rc = chart_add(d->album, &d->chart, err);
	for (size_t i = 0; i < d->chart.n_series; i++) {
		char *label;
		struct chart_point *point;
		memcpy(&label, &d->series[i].label, sizeof label);
		memcpy(&point, &d->series[i].point, sizeof point);
		mem_free(label);
		mem_free(point);
	}
	mem_free(d->series);
	mem_free(d->x_label);
	mem_free(d->y_label);
	mem_free(names);
	return rc;
}

/* Adds one chart, with the figure's own axes bound. */
static int add_chart(struct book *b, void *ctx, struct orr_error *err)
{
	struct drawing *d = ctx;
	const char *name = book_string(b, d->json, "name", d->where, err), *kind = book_string(b, d->json, "kind", d->where, err);
	if (!name)
		return book_fail(b, d->where, err, "\"name\": expected the name of a file without a suffix");
	bool is_spans = kind && !strcmp(kind, "spans");
	d->chart = (struct chart){ .kind = CHART_LINES };
	if (!is_spans && (!kind || !kind_named(kind, &d->chart.kind)))
		return book_fail(b, d->where, err, "\"kind\": expected lines, bars, stacked, timeline, spans or cdf");
	char *file = book_text(b, name, d->where, err);
	const struct run_result *shown = NULL;
	int rc = !file ? ORR_EINPUT
		 : is_file_name(file)
			 ? ORR_OK
			 : book_fail(b, d->where, err,
				   "\"name\": expected a file name of letters, digits and the characters . _ + = -, found \"%.60s\"", file);
	if (!rc)
		rc = is_spans
			     ? book_spans(b, d->json, d->where, file, d->out_dir, d->no_figures || d->canvas ? NULL : d->album, &shown, err)
			     : draw(b, d, file, err);
	if (!rc && shown && d->canvas)
		d->canvas->spans(d->canvas->ctx, file, shown);
	mem_free(file);
	return rc;
}

static int draw_all(struct book *b, struct drawing d, struct orr_error *err)
{
	static const char *const known[] = { "name", "kind", "each", "x", "y", "series", "title", NULL };
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(b->json, "figures");
	int rc = list && !cJSON_IsArray(list) ? book_fail(b, "$.figures", err, "expected a list") : ORR_OK, i = 0;
	cJSON_ArrayForEach(d.json, list)
	{
		snprintf(d.where, sizeof d.where, "$.figures[%d]", i++);
		const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(d.json, "kind"));
		if (!rc && !(kind && !strcmp(kind, "spans"))) /* book_spans() checks the keys of its kind */
			rc = book_check_keys(b, d.json, d.where, known, err);
		if (!rc)
			rc = book_each(b, cJSON_GetObjectItemCaseSensitive(d.json, "each"), d.where, add_chart, &d, err);
	}
	return rc;
}

int book_draw_on(struct book *b, const struct book_canvas *canvas, struct orr_error *err)
{
	return draw_all(b, (struct drawing){ .canvas = canvas }, err);
}

int book_draw(struct book *b, const char *out_dir, bool no_figures, const struct look *look, struct orr_error *err)
{
	struct album album = { .look = *look };
	int rc = draw_all(b, (struct drawing){ .album = &album, .out_dir = out_dir, .no_figures = no_figures }, err);
	if (!rc)
		rc = album_write(&album, out_dir, err);
	album_free(&album);
	return rc;
}
