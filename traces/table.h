/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * table.h - rows of named fields out of lines, and checked values out of fields
 *
 * A reader declares the columns it knows and then asks for values by the index of
 * the column. Columns are found by the header's names, in any order (with
 * TABLE_HEADER), or stand in the declared order.
 *
 * Errors are sticky within a row: a value that is wrong is reported once, with
 * file, line and column, and later calls return zeros. So a reader asks for all
 * it wants and ends with table_status().
 *
 * Quoting is RFC 4180: a field that starts with '"' ends at the next single '"';
 * '""' inside it is one; it may hold separators and line ends. Lines of nothing
 * but blanks are skipped.
 *
 * Texts belong to the table and are good until its next row.
 */
#ifndef ORR_TRACES_TABLE_H
#define ORR_TRACES_TABLE_H

#include <orrery/api.h>

#include "traces/lines.h"

enum { TABLE_MAX_FIELDS = 256, TABLE_MAX_COLUMNS = 64 };

struct table_column {
	const char *name;
	bool is_needed; /* a header must name it; whether a field may be empty is the reader's affair */
};

enum table_flags {
	TABLE_HEADER = 1,        /* the first row names the columns */
	TABLE_KNOWN_COLUMNS = 2, /* a column that is not declared is an error */
	TABLE_BLANKS = 4,        /* fields are separated by blanks; no quotes */
	TABLE_TABS = 8,          /* fields are separated by tabs; no quotes */
	TABLE_EXTRA_FIELDS = 16  /* rows may have more fields than there are columns */
};

struct table;

/* columns ends with a NULL name. Reads the header, if there is to be one; NULL if
 * that fails. The table borrows in and columns. */
struct table *table_new(struct lines *in, const struct table_column *columns, int flags, struct orr_error *err);
void table_free(struct table *t);

/* 1 a row, 0 the end, -1 error. For a line that is not to be split, skip is asked
 * first (it may be NULL): true leaves the line out. */
int table_next(struct table *t, bool (*skip)(void *ctx, const char *line, size_t n), void *ctx, struct orr_error *err);
/* 1, or -1 if a value of this row was wrong (err of table_next() then says so). */
int table_status(const struct table *t);
/* Marks the row as wrong: "FILE:LINE: COLUMN: expected EXPECTED, found ...". */
void table_refuse(struct table *t, size_t column, const char *expected);

bool table_has(const struct table *t, size_t column); /* the column is there and the field not empty */
bool table_has_column(const struct table *t, size_t column);
size_t table_fields(const struct table *t); /* how many this row has */
struct lines *table_lines(const struct table *t);
/* NUL-terminated; "" for a column that is not there. n may be NULL. */
const char *table_text(const struct table *t, size_t column, size_t *n);
/* The text, or NULL if it is empty. */
const char *table_text_or_null(const struct table *t, size_t column);
int64_t table_int(struct table *t, size_t column, int64_t lo, int64_t hi);
/* An integer as "8" or "8.0". */
int64_t table_count(struct table *t, size_t column, int64_t lo, int64_t hi);
double table_real(struct table *t, size_t column, double lo, double hi);
/* Seconds to ns; bounds in seconds. */
int64_t table_seconds(struct table *t, size_t column, double lo, double hi);
/* Milliseconds to ns; bounds in milliseconds. */
int64_t table_milliseconds(struct table *t, size_t column, double lo, double hi);

#endif
