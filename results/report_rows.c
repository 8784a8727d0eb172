/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/report_rows.h"

#include "base/mem.h"
#include "base/num.h"
#include "results/columns.h"
#include "results/report_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *report_rows_of(const struct run_result *const *runs, size_t n)
{
	const struct report_form *form = report_form_of(runs[0]->world);
	const struct row_table *t = form && form->listed ? row_table_find(form->listed) : NULL;
	for (size_t i = 0; t && i < n; i++)
		if (rows_count(t, runs[i]))
			return form->listed;
	return NULL;
}

static bool is_time(const struct column *c)
{
	return c->type == COLUMN_TIME || c->type == COLUMN_CLOCK;
}

/* Appends a cell: times in us if is_text, else in seconds, both exact. */
static void put_cell(struct sbuf *out, const struct column *c, const void *row, bool is_text)
{
	const char *at = (const char *)row + c->at;
	if (is_time(c)) {
		int64_t ns;
		char text[NUM_SECONDS_MAX];
		memcpy(&ns, at, sizeof ns);
		if (is_text)
			sbuf_printf(out, "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
		else
			sbuf_add(out, text, num_put_seconds(text, ns));
	} else if (c->type == COLUMN_REAL || c->type == COLUMN_SECONDS) {
		double v;
		char text[NUM_REAL_MAX];
		memcpy(&v, at, sizeof v);
		if (!isnan(v))
			sbuf_add(out, text, num_put_real(text, v));
	} else if (c->type == COLUMN_COUNT || c->type == COLUMN_INDEX) {
		uint32_t v;
		memcpy(&v, at, sizeof v);
		sbuf_printf(out, "%" PRIu32, v);
	} else if (c->type == COLUMN_NUMBER || c->type == COLUMN_COUNT64) {
		uint64_t v;
		memcpy(&v, at, sizeof v);
		sbuf_printf(out, "%" PRIu64, v);
	} else if (c->type == COLUMN_TEXT || c->type == COLUMN_NAME) {
		const char *text;
		memcpy(&text, at, sizeof text);
		report_put_plain(out, text ? text : "");
	}
}

/* The title: finish_ns is "finish (us)" in text, finish_s in CSV; bytes have their unit in the name. */
static char *title_of(const struct row_table *t, const struct column *c, bool is_text)
{
	struct sbuf b = { 0 };
	if (!is_text)
		column_csv_name(&b, t, c);
	else if (is_time(c))
		sbuf_printf(&b, "%.*s (us)", (int)strlen(c->name) - 3, c->name);
	else
		sbuf_puts(&b, c->name);
	for (char *s = b.text; is_text && s && *s; s++)
		*s = *s == '_' ? ' ' : *s;
	return sbuf_steal(&b);
}

static void fill(struct grid *g, const struct run_result *const *runs, size_t n, const struct row_table *t, bool is_text)
{
	size_t line = 0, column = 1;
	struct sbuf b = { 0 };
	*grid_cell(g, 0, 0) = mem_strdup("policy");
	for (size_t k = 0; k < t->n_columns; k++)
		if (t->columns[k].csv)
			*grid_cell(g, 0, column++) = title_of(t, &t->columns[k], is_text);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < rows_count(t, runs[i]) && line + 1 < g->rows; j++) {
			*grid_cell(g, ++line, 0) = is_text ? report_name_of(runs[i]) : mem_strdup(runs[i]->label ? runs[i]->label : "");
			column = 1;
			for (size_t k = 0; k < t->n_columns; k++) {
				if (!t->columns[k].csv)
					continue;
				put_cell(&b, &t->columns[k], rows_get(t, runs[i], j), is_text);
				*grid_cell(g, line, column++) = sbuf_steal(&b);
			}
		}
}

void report_rows(struct sbuf *out, const struct run_result *const *runs, size_t n, const char *table, struct report_style style)
{
	const struct row_table *t = row_table_find(table);
	bool is_text = style.format != GRID_CSV;
	size_t rows = 0, columns = 1, shown;
	for (size_t i = 0; i < n; i++)
		rows += rows_count(t, runs[i]);
	for (size_t k = 0; k < t->n_columns; k++)
		columns += t->columns[k].csv != 0;
	shown = is_text && rows > REPORT_MOST_ROWS ? REPORT_MOST_ROWS : rows;
	struct grid g = grid_new(shown + 1, columns, 2);
	g.is_text[0] = true;
	fill(&g, runs, n, t, is_text);
	if (is_text)
		sbuf_putc(out, '\n');
	grid_put(out, &g, style.format, style.width);
	grid_free(&g);
	if (shown < rows) {
		struct sbuf note = { 0 };
		sbuf_printf(&note, "%zu of %zu %s are listed; --table csv, --json and --out DIR have all of them\n", shown, rows, t->name);
		grid_put_notes(out, sbuf_text(&note), style.format, style.width);
		sbuf_free(&note);
	}
}

cJSON *report_rows_json(const struct run_result *r, const char *table)
{
	const struct row_table *t = row_table_find(table);
	cJSON *list = cJSON_CreateArray();
	struct sbuf name = { 0 }, cell = { 0 };
	for (size_t j = 0; j < rows_count(t, r); j++) {
		cJSON *o = cJSON_CreateObject();
		for (size_t k = 0; k < t->n_columns; k++) {
			const struct column *c = &t->columns[k];
			if (!c->csv)
				continue;
			sbuf_clear(&name);
			sbuf_clear(&cell);
			column_csv_name(&name, t, c);
			put_cell(&cell, c, rows_get(t, r, j), false);
			if (c->type == COLUMN_TEXT || c->type == COLUMN_NAME)
				cJSON_AddStringToObject(o, sbuf_text(&name), sbuf_text(&cell));
			else
				cJSON_AddRawToObject(o, sbuf_text(&name), cell.len ? sbuf_text(&cell) : "null");
		}
		cJSON_AddItemToArray(list, o);
	}
	sbuf_free(&name);
	sbuf_free(&cell);
	return list;
}
