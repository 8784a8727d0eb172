/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of a book: published, simulated and closed-form values. */
#include "study/figures.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "base/outfile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct row {
	char *id, *what;
	const char *source;
	double published, low, high, closed, simulated;
};

struct listing {
	const cJSON *entry; /* of $.table */
	char where[40];
	struct row *row;
	size_t n, cap;
};

static int number_at(struct book *b, const cJSON *o, const char *key, const char *where, double *out, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	*out = NAN;
	return v ? book_number(b, v, where, out, err) : ORR_OK;
}

/* Finds the row of published.csv for the entry; *out is NULL if the entry has none. */
static int find_published(struct book *b, const struct listing *t, const char *id, const struct book_published **out, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(t->entry, "published");
	char *text = NULL;
	*out = NULL;
	if (cJSON_IsFalse(v))
		return ORR_OK;
	if (cJSON_IsString(v) && !(text = book_text(b, v->valuestring, t->where, err)))
		return ORR_EINPUT;
	*out = book_find_published(b, text ? text : id);
	int rc = *out ? ORR_OK
		      : book_fail(b, t->where, err, "published.csv has no row \"%.80s\": expected such a row, or \"published\": false",
				text ? text : id);
	mem_free(text);
	return rc;
}

static int add_row(struct book *b, void *ctx, struct orr_error *err)
{
	struct listing *t = ctx;
	const struct book_published *p = NULL;
	const char *id = book_string(b, t->entry, "id", t->where, err), *what = book_string(b, t->entry, "what", t->where, err);
	double is_wanted = 1;
	int rc = ORR_OK;
	if (!id)
		return book_fail(b, t->where, err, "\"id\": expected a string");
	if (cJSON_GetObjectItemCaseSensitive(t->entry, "where"))
		rc = number_at(b, t->entry, "where", t->where, &is_wanted, err);
	if (rc || is_wanted == 0 || isnan(is_wanted))
		return rc;
	MEM_GROW(t->row, t->n, t->cap);
	struct row *r = &t->row[t->n++];
	*r = (struct row){ .published = NAN, .low = NAN, .high = NAN, .id = book_text(b, id, t->where, err) };
	rc = r->id ? find_published(b, t, r->id, &p, err) : ORR_EINPUT;
	if (p) {
		r->published = p->value;
		r->low = p->low;
		r->high = p->high;
		r->source = p->source;
	}
	if (!rc && !(r->what = what ? book_text(b, what, t->where, err) : mem_strdup(p ? p->what : "")))
		rc = ORR_EINPUT;
	if (!rc)
		rc = number_at(b, t->entry, "simulated", t->where, &r->simulated, err);
	return rc ? rc : number_at(b, t->entry, "closed", t->where, &r->closed, err);
}

static double error_of(double simulated, double reference)
{
	double e = simulated == reference ? 0 : simulated / reference - 1;
	return fabs(e) < 1e-12 ? 0 : e; /* rounding */
}

/* Returns "yes", "no", or "" without bounds. */
static const char *is_within(const struct row *r)
{
	if ((isnan(r->low) && isnan(r->high)) || isnan(r->simulated))
		return "";
	return (isnan(r->low) || r->simulated >= r->low) && (isnan(r->high) || r->simulated <= r->high) ? "yes" : "no";
}

/* ---- CSV and JSON ---- */

enum { FIELDS = 11, FIRST_REAL = 2, REALS = 7 };
static const char *const fields[FIELDS] = { "id", "what", "published", "low", "high", "closed", "simulated", "error", "error_closed",
	"within", "source" };

static void reals_of(const struct row *r, double v[REALS])
{
	const double all[REALS] = { r->published, r->low, r->high, r->closed, r->simulated, error_of(r->simulated, r->published),
		error_of(r->simulated, r->closed) };
	memcpy(v, all, sizeof all);
}

static int write_csv(const struct listing *t, const char *dir, struct orr_error *err)
{
	struct outfile f;
	int rc = outfile_open(&f, dir, "table", ".csv", err);
	if (rc)
		return rc;
	for (size_t c = 0; c < FIELDS; c++)
		fprintf(f.file, "%s%s", c ? "," : "", fields[c]);
	putc('\n', f.file);
	for (size_t i = 0; i < t->n; i++) {
		const struct row *r = &t->row[i];
		double v[REALS];
		reals_of(r, v);
		book_put_text(f.file, r->id);
		putc(',', f.file);
		book_put_text(f.file, r->what);
		for (size_t k = 0; k < REALS; k++)
			book_put_real(f.file, v[k]);
		fprintf(f.file, ",%s,", is_within(r));
		book_put_text(f.file, r->source);
		putc('\n', f.file);
	}
	return outfile_close(&f, false, err);
}

/* ---- text ---- */

enum { COLUMNS = 9, PRINTED = 8 }; /* the last, the source, is not printed */

static char *real_text(double v, const char *format)
{
	struct sbuf b = { 0 };
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (isfinite(v))
		sbuf_printf(&b, format, v); /* format: a constant of the callers below */
	else
		sbuf_putc(&b, '-');
#pragma GCC diagnostic pop
	return sbuf_steal(&b);
}

static char *bounds_text(const struct row *r)
{
	struct sbuf b = { 0 };
	char *low = real_text(r->low, "%.6g"), *high = real_text(r->high, "%.6g");
	if (isnan(r->low) && isnan(r->high))
		sbuf_putc(&b, '-');
	else
		sbuf_printf(&b, "[%s, %s]%s", low, high, strcmp(is_within(r), "no") ? "" : " no");
	mem_free(low);
	mem_free(high);
	return sbuf_steal(&b);
}

/* Truncates to the width of the column; table.csv has the whole text. */
static char *shortened(const char *s)
{
	enum { MOST = 64 };
	size_t n = 0;
	for (size_t w = 0; s[n] && w < MOST; n++)
		w += ((unsigned char)s[n + 1] & 0xc0) != 0x80; /* whole characters */
	struct sbuf b = { 0 };
	sbuf_add(&b, s, n);
	sbuf_puts(&b, s[n] ? "…" : "");
	return sbuf_steal(&b);
}

static void fill_cells(char **cell, const struct row *r, bool is_whole)
{
	cell[0] = mem_strdup(r->id);
	cell[1] = is_whole ? mem_strdup(r->what) : shortened(r->what);
	cell[2] = real_text(r->published, "%.6g");
	cell[3] = real_text(r->simulated, "%.6g");
	cell[4] = real_text(100 * error_of(r->simulated, r->published), "%+.2f %%");
	cell[5] = bounds_text(r);
	cell[6] = real_text(r->closed, "%.6g");
	cell[7] = real_text(100 * error_of(r->simulated, r->closed), "%.2g %%");
	cell[8] = mem_strdup(r->source ? r->source : "");
}

/* Returns whether the column has a value in any row. */
static bool says(const struct grid *g, size_t column)
{
	for (size_t i = 1; i < g->rows; i++)
		if (strcmp(*grid_cell(g, i, column), "-") && **grid_cell(g, i, column))
			return true;
	return false;
}

/* Returns the first `columns` columns of the listing without empty ones. */
static struct grid grid_of(const struct listing *t, size_t columns, bool is_whole)
{
	static const char *const titles[COLUMNS] = { "id", "what", "published", "simulated", "error", "bounds", "closed form", "deviation",
		"source" };
	struct grid all = grid_new(t->n + 1, COLUMNS, 2), g;
	size_t n = 0, keys = 0, shown[COLUMNS];
	for (size_t c = 0; c < COLUMNS; c++)
		*grid_cell(&all, 0, c) = mem_strdup(titles[c]);
	for (size_t i = 0; i < t->n; i++)
		fill_cells(grid_cell(&all, i + 1, 0), &t->row[i], is_whole);
	for (size_t c = 0; c < columns; c++)
		if (says(&all, c)) {
			keys += c < 2;
			shown[n++] = c;
		}
	g = grid_new(t->n + 1, n, keys);
	for (size_t i = 0; i <= t->n; i++)
		for (size_t c = 0; c < n; c++)
			*grid_cell(&g, i, c) = mem_strdup(*grid_cell(&all, i, shown[c]));
	for (size_t c = 0; c < n; c++)
		g.is_text[c] = shown[c] < 2 || shown[c] >= PRINTED;
	grid_free(&all);
	return g;
}

/* Returns the columns and values of table.csv; missing values are empty cells. */
static struct grid fields_of(const struct listing *t)
{
	struct grid g = grid_new(t->n + 1, FIELDS, FIRST_REAL);
	for (size_t c = 0; c < FIELDS; c++) {
		*grid_cell(&g, 0, c) = mem_strdup(fields[c]);
		g.is_text[c] = c < FIRST_REAL || c >= FIRST_REAL + REALS;
	}
	for (size_t i = 0; i < t->n; i++) {
		const struct row *r = &t->row[i];
		char **cell = grid_cell(&g, i + 1, 0);
		double v[REALS];
		reals_of(r, v);
		cell[0] = mem_strdup(r->id);
		cell[1] = mem_strdup(r->what);
		for (size_t k = 0; k < REALS; k++)
			cell[FIRST_REAL + k] = isfinite(v[k]) ? real_text(v[k], "%.17g") : NULL;
		cell[FIRST_REAL + REALS] = mem_strdup(is_within(r));
		cell[FIRST_REAL + REALS + 1] = mem_strdup(r->source ? r->source : "");
	}
	return g;
}

static void put_listing(struct sbuf *out, const struct listing *t, struct report_style style)
{
	bool has_all = style.format == GRID_CSV || style.format == GRID_JSON;
	struct grid g = has_all ? fields_of(t) : grid_of(t, PRINTED, false);
	grid_put(out, &g, style.format, style.width);
	grid_free(&g);
}

static int write_text(const char *dir, const char *text, struct orr_error *err)
{
	struct outfile f;
	int rc = outfile_open(&f, dir, "table", ".txt", err);
	if (rc)
		return rc;
	fputs(text, f.file);
	return outfile_close(&f, false, err);
}

static int read_listing(struct book *b, struct listing *t, struct orr_error *err)
{
	static const char *const known[] = { "id", "what", "each", "where", "simulated", "closed", "published", NULL };
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(b->json, "table");
	int rc = list && !cJSON_IsArray(list) ? book_fail(b, "$.table", err, "expected a list") : ORR_OK, i = 0;
	cJSON_ArrayForEach(t->entry, list)
	{
		snprintf(t->where, sizeof t->where, "$.table[%d]", i++);
		if (!rc)
			rc = book_check_keys(b, t->entry, t->where, known, err);
		if (!rc)
			rc = book_each(b, cJSON_GetObjectItemCaseSensitive(t->entry, "each"), t->where, add_row, t, err);
	}
	return rc;
}

static void free_listing(struct listing *t)
{
	for (size_t k = 0; k < t->n; k++) {
		mem_free(t->row[k].id);
		mem_free(t->row[k].what);
	}
	mem_free(t->row);
}

int book_table_grid(struct book *b, struct grid *out, struct orr_error *err)
{
	struct listing t = { 0 };
	int rc = read_listing(b, &t, err);
	*out = grid_of(&t, COLUMNS, true);
	free_listing(&t);
	return rc;
}

int book_tables(struct book *b, const char *out_dir, struct report_style style, struct sbuf *out, struct orr_error *err)
{
	struct listing t = { 0 };
	int rc = read_listing(b, &t, err);
	if (!rc && t.n) {
		struct sbuf text = { 0 };
		put_listing(&text, &t, (struct report_style){ 0 });
		rc = write_csv(&t, out_dir, err);
		if (!rc)
			rc = write_text(out_dir, sbuf_text(&text), err);
		put_listing(out, &t, style);
		sbuf_free(&text);
	}
	free_listing(&t);
	return rc;
}
