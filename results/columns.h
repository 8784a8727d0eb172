/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * columns.h - the tables of columns.def as data, for the store, the digest and the CSV files
 *
 * Invariant: row_tables[] lists every TABLE of columns.def in order, and its columns[] every column in order. Cells are read and
 * written through column->at, the offset in the row.
 */
#ifndef ORR_RESULTS_COLUMNS_H
#define ORR_RESULTS_COLUMNS_H

#include "base/sbuf.h"
#include "results/result.h"

enum column_type {
	COLUMN_NUMBER,
	COLUMN_ID,
	COLUMN_TEXT,
	COLUMN_NAME,
	COLUMN_TIME,
	COLUMN_CLOCK,
	COLUMN_COUNT,
	COLUMN_COUNT64,
	COLUMN_INDEX,
	COLUMN_REAL,
	COLUMN_SECONDS,
	COLUMN_JOB_STATUS,
	COLUMN_REQUEST_STATUS,
	COLUMN_DIFF,
	COLUMN_SQL
};

struct column {
	const char *name;
	enum column_type type;
	size_t at;                /* offset of the field in the row; stored columns only */
	const char *left, *right; /* DIFF: names of the two TIME columns of the table */
	const char *sql;          /* SQL: the expression; `t` is the table */
	unsigned csv;             /* position in the CSV file, from 1; 0: not in CSV */
	const char *unit, *doc;
};

enum row_key {
	KEY_PACKED,   /* run and number in one integer */
	KEY_POSITION, /* run and position */
	KEY_FIRST,    /* run and the first column */
	KEY_LISTED    /* as KEY_POSITION, but the table is a view of lists of rows (lists.h). The columns have the types NAME, TEXT, CLOCK
		       * and COUNT64: a group, a subject, numbers, texts. */
};

struct row_table {
	const char *name, *digest, *doc;
	const char *stored; /* table of the database that stores the rows; LISTED: that stores the lists */
	enum row_key key;
	size_t row_size, rows_at, n_at; /* size of a row; offsets of the array and of its length in struct run_result */
	const struct column *columns;
	size_t n_columns;
};

extern const struct row_table row_tables[];
extern const size_t n_row_tables;
/* Returns the table called name, or NULL. */
const struct row_table *row_table_find(const char *name);

/* Returns the number of rows of a run. */
static inline size_t rows_count(const struct row_table *t, const struct run_result *r)
{
	return *(const size_t *)(const void *)((const char *)r + t->n_at);
}
/* Not for parts, see rows_copy(). */
const void *rows_get(const struct row_table *t, const struct run_result *r, size_t i);
/* Copies n rows from row i on. */
void rows_copy(const struct row_table *t, const struct run_result *r, size_t i, size_t n, void *out);
/* Sets the array and its length. rows comes from mem_alloc(); r then owns it. */
void rows_set(const struct row_table *t, struct run_result *r, void *rows, size_t n);

/* Returns the array and removes it from r; the caller frees it. */
void *rows_steal(const struct row_table *t, struct run_result *r);

/* Returns true if the rows of a run are numbered by `position`. */
static inline bool has_position(const struct row_table *t)
{
	return t->key == KEY_POSITION || t->key == KEY_LISTED;
}

/* Returns true if the database stores the column. */
static inline bool column_is_stored(const struct column *c)
{
	return c->type != COLUMN_DIFF && c->type != COLUMN_SQL;
}

/* The value of a stored column as SQLite returns it: NaN is NULL, and zeros have no sign. */
enum cell_kind { CELL_NULL, CELL_INTEGER, CELL_REAL, CELL_TEXT };
struct cell {
	enum cell_kind kind;
	int64_t integer;
	double real;
	const char *text; /* belongs to the row */
};
struct cell column_cell(const struct column *c, const char *row);

/* Appends the column's name in CSV files and views: times in ns are renamed to seconds. */
void column_csv_name(struct sbuf *out, const struct row_table *t, const struct column *c);
/* Returns the words of a status type, NULL-terminated; NULL: not a status type. */
const char *const *column_words(enum column_type type);

/* Appends all tables and columns as Markdown, the text of docs/reference/columns.md. */
void columns_markdown(struct sbuf *out);

#endif
