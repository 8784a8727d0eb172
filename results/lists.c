/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/lists.h"

#include "base/mem.h"
#include "base/num.h"

#include <stdio.h>
#include <string.h>

static const char doing[] = "storing a run";

/* Rows of a list. Short lists let a reader skip more; long ones need fewer rows of SQLite. */
enum { LIST_ROWS = 256, TEXTS = 64 };

void lists_create(struct sbuf *sql, const struct row_table *t)
{
	sbuf_printf(sql,
		"CREATE TABLE IF NOT EXISTS %s(\n  run INTEGER NOT NULL REFERENCES runs(run),\n  position INTEGER NOT NULL,\n"
		"  %s TEXT NOT NULL,\n  lowest INTEGER NOT NULL,\n  highest INTEGER NOT NULL,\n  list TEXT NOT NULL,\n"
		"  PRIMARY KEY(run, position)) WITHOUT ROWID;\n",
		t->stored, t->columns[0].name);
}

/* Returns whether column i is the end of an interval that the column before it begins. A list has the length. */
static bool is_length(const struct row_table *t, size_t i)
{
	return t->columns[i].type == COLUMN_CLOCK && t->columns[i - 1].type == COLUMN_CLOCK;
}

void lists_select(struct sbuf *sql, const struct row_table *t)
{
	size_t at = 0;
	sbuf_printf(sql, "SELECT l.run, l.position + e.key AS position, l.%s", t->columns[0].name);
	for (size_t i = 1; i < t->n_columns; i++) {
		if (!column_is_stored(&t->columns[i]))
			continue;
		sbuf_printf(sql, ", json_extract(e.value, '$[%zu]')", at);
		if (is_length(t, i))
			sbuf_printf(sql, " + json_extract(e.value, '$[%zu]')", at - 1);
		sbuf_printf(sql, " AS %s", t->columns[i].name);
		at++;
	}
	sbuf_printf(sql, " FROM %s l, json_each(l.list) e", t->stored);
}

int lists_exist(const struct store *s, const struct row_table *t, int64_t *has, struct orr_error *err)
{
	return db_has_column(s, t->stored, "list", has, err);
}

void lists_convert(struct sbuf *sql, const struct row_table *t)
{
	const char *group = t->columns[0].name, *subject = t->columns[1].name;
	/* k counts the rows of a group from 0, so position - k is the same for rows that follow one another. */
	sbuf_printf(sql,
		"CREATE TEMP TABLE counted AS SELECT *, row_number() OVER (PARTITION BY run, %s ORDER BY position) - 1 AS k"
		" FROM temp.old_%s;\n"
		"CREATE INDEX temp.counted_key ON counted(run, position);\n"
		"INSERT INTO %s(run, position, %s, lowest, highest, list)"
		" SELECT run, first, %s, lowest, highest, (SELECT json_group_array(json(row)) FROM (SELECT json_array(%s",
		group, t->name, t->stored, group, group, subject);
	for (size_t i = 2; i < t->n_columns; i++)
		if (is_length(t, i))
			sbuf_printf(sql, ", %s - %s", t->columns[i].name, t->columns[i - 1].name);
		else if (column_is_stored(&t->columns[i]))
			sbuf_printf(sql, ", %s", t->columns[i].name);
	sbuf_printf(sql,
		") AS row FROM temp.counted c WHERE c.run = x.run AND c.position BETWEEN first AND last ORDER BY c.position))"
		" FROM (SELECT run, %s, min(position) AS first, max(position) AS last, min(%s) AS lowest, max(%s) AS highest"
		" FROM temp.counted GROUP BY run, %s, position - k, k / %d) x;\n"
		"DROP TABLE temp.counted; DROP TABLE temp.old_%s;\n",
		group, subject, subject, group, LIST_ROWS, t->name);
}

/* ---- writing ---- */

/* The list that is being filled. */
struct list {
	char *text;
	size_t len, cap, rows;
	uint64_t lowest, highest;
	const char *group;
	/* Cache of texts written to this list, because most rows repeat a few texts. A hash selects the place. */
	struct {
		const char *text;
		size_t at, len;
	} seen[TEXTS];
};

static void reserve(struct list *l, size_t more)
{
	if (l->cap - l->len >= more)
		return;
	l->cap = (l->len + more) * 2;
	l->text = mem_realloc(l->text, l->cap, 1);
}

static void put_number(struct list *l, int64_t v)
{
	l->len += num_put_int(l->text + l->len, v);
}

static void escape(struct list *l, const char *s)
{
	size_t n = strlen(s);
	reserve(l, n * 6 + 4); /* the longest escape has six characters */
	char *at = l->text + l->len;
	*at++ = '"';
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c == '"' || c == '\\')
			*at++ = '\\';
		if (c < 0x20)
			at += snprintf(at, 7, "\\u%04x", c);
		else
			*at++ = (char)c;
	}
	*at++ = '"';
	l->len = (size_t)(at - l->text);
}

/* Appends a JSON string. */
static void put_text(struct list *l, const char *s)
{
	size_t i = (size_t)((uint64_t)(uintptr_t)s * 0x9e3779b97f4a7c15u >> 58); /* < TEXTS */
	if (l->seen[i].text == s) {
		reserve(l, l->seen[i].len);
		memcpy(l->text + l->len, l->text + l->seen[i].at, l->seen[i].len);
		l->len += l->seen[i].len;
		return;
	}
	l->seen[i].text = s;
	l->seen[i].at = l->len;
	escape(l, s);
	l->seen[i].len = l->len - l->seen[i].at;
}

/* Appends the nulls that precede a value; those at the end of a row are left out. */
static void put_nulls(struct list *l, size_t n)
{
	reserve(l, n * 5 + 2);
	for (; n; n--) {
		memcpy(l->text + l->len, ",null", 5);
		l->len += 5;
	}
}

/* Appends a row. The types of a listed table are texts and whole numbers of 64 bits. */
static void put_row(struct list *l, const struct row_table *t, const char *row)
{
	size_t nulls = 0;
	reserve(l, 2);
	l->text[l->len++] = l->rows++ ? ',' : '[';
	for (size_t i = 1; i < t->n_columns; i++) {
		const struct column *c = &t->columns[i];
		const void *cell = row + c->at;
		if (!column_is_stored(c))
			continue;
		if (c->type == COLUMN_TEXT || c->type == COLUMN_NAME) {
			const char *text;
			memcpy(&text, cell, sizeof text);
			if (!text) {
				nulls++;
				continue;
			}
			put_nulls(l, nulls);
			nulls = 0;
			l->text[l->len++] = ',';
			put_text(l, text);
		} else {
			put_nulls(l, nulls);
			nulls = 0;
			int64_t before = is_length(t, i) ? *(const int64_t *)(const void *)(row + t->columns[i - 1].at) : 0;
			reserve(l, NUM_INT_MAX + 1);
			l->text[l->len++] = i == 1 ? '[' : ',';
			put_number(l, *(const int64_t *)cell - before);
		}
	}
	reserve(l, 2);
	l->text[l->len++] = ']';
}

/* Fills a list with the rows from `from` on. Returns the position of the next list. */
static size_t fill(struct list *l, const struct row_table *t, const struct run_result *r, size_t from)
{
	size_t n = rows_count(t, r), i = from;
	l->len = l->rows = 0;
	memset(l->seen, 0, sizeof l->seen);
	l->lowest = UINT64_MAX;
	l->highest = 0;
	for (; i < n && l->rows < LIST_ROWS; i++) {
		const char *row = rows_get(t, r, i), *group;
		uint64_t subject = *(const uint64_t *)(const void *)(row + t->columns[1].at);
		memcpy(&group, row + t->columns[0].at, sizeof group);
		if (l->rows && group != l->group && strcmp(group, l->group) != 0)
			break;
		l->group = group;
		l->lowest = subject < l->lowest ? subject : l->lowest;
		l->highest = subject > l->highest ? subject : l->highest;
		put_row(l, t, row);
	}
	l->text[l->len++] = ']'; /* put_row() leaves room for it */
	return i;
}

static int prepare(struct store *s, const struct row_table *t, sqlite3_stmt **st, struct orr_error *err)
{
	char sql[160];
	sqlite3_snprintf(sizeof sql, sql, "INSERT INTO %s(run, position, %s, lowest, highest, list) VALUES(?,?,?,?,?,?)", t->stored,
		t->columns[0].name);
	return db_statement(s, DB_INSERT_ROWS + (int)(t - row_tables), sql, doing, st, err);
}

int lists_write(struct store *s, const struct row_table *t, const struct run_result *r, int64_t run, struct orr_error *err)
{
	struct list l = { .text = NULL };
	sqlite3_stmt *st;
	int code = prepare(s, t, &st, err);
	for (size_t i = 0, next; !code && i < rows_count(t, r); i = next) {
		next = fill(&l, t, r, i);
		sqlite3_bind_int64(st, 1, run);
		sqlite3_bind_int64(st, 2, (int64_t)i);
		db_bind_text(st, 3, l.group);
		sqlite3_bind_int64(st, 4, (int64_t)l.lowest);
		sqlite3_bind_int64(st, 5, (int64_t)l.highest);
		sqlite3_bind_text(st, 6, l.text, (int)l.len, SQLITE_STATIC);
		code = db_run(s, st, doing, err);
	}
	mem_free(l.text);
	return code;
}
