/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * table.h - rows of named fields from lines, and checked values from fields
 *
 * A reader declares its columns and then reads values by the index of the column.
 * With TABLE_HEADER, the header names the columns, in any order; otherwise they
 * have the declared order.
 *
 * Errors are sticky within a row: the first wrong value is reported with file, line and column, and later calls return zeros. A
 * reader therefore reads all values and then checks table_status().
 *
 * Quoting follows RFC 4180: a field that starts with '"' ends at the next single
 * '"'; '""' inside stands for one; the field may contain separators and line ends.
 * Blank lines are skipped.
 *
 * Texts belong to the table and are valid until its next row.
 */
#ifndef ORR_TRACES_TABLE_H
#define ORR_TRACES_TABLE_H

#include <orrery/api.h>

#include "traces/lines.h"

enum { TABLE_MAX_FIELDS = 256, TABLE_MAX_COLUMNS = 64 };

struct table_column {
	const char *name;
	bool is_needed; /* the header must have the column; its fields may be empty */
};

enum table_flags {
	TABLE_HEADER = 1,        /* the first row names the columns */
	TABLE_KNOWN_COLUMNS = 2, /* undeclared columns are errors */
	TABLE_BLANKS = 4,        /* fields are separated by blanks; no quotes */
	TABLE_TABS = 8,          /* fields are separated by tabs; no quotes */
	TABLE_EXTRA_FIELDS = 16, /* rows may have more fields than columns */
	TABLE_BARS = 32,         /* fields are separated by '|'; no quotes */
	TABLE_SEMICOLONS = 64,   /* fields are separated by ';' */
	TABLE_NO_QUOTES = 128    /* a '"' is part of its field */
};

struct table;

/* Returns the flag of the separator of a header line: the most frequent of comma (0), tab, semicolon and bar outside quotes. */
int table_separator(const char *header);

/* Opens a table. columns ends with a NULL name. With TABLE_HEADER, reads the header. Returns NULL on error. The table borrows in and
 * columns. */
struct table *table_new(struct lines *in, const struct table_column *columns, int flags, struct orr_error *err);
void table_free(struct table *t);

/* Reads the next row. Returns 1: a row, 0: the end, -1: an error. skip (may be NULL) is called for each line before it is split;
 * true skips the line. */
int table_next(struct table *t, bool (*skip)(void *ctx, const char *line, size_t n), void *ctx, struct orr_error *err);
/* Returns 1, or -1 if a value of this row was invalid; err of table_next() holds the message. */
int table_status(const struct table *t);
/* Marks the row as invalid: "FILE:LINE: COLUMN: expected EXPECTED, found ...". */
void table_refuse(struct table *t, size_t column, const char *expected);

bool table_has(const struct table *t, size_t column); /* returns whether the column exists and the field is not empty */
bool table_has_column(const struct table *t, size_t column);
size_t table_fields(const struct table *t); /* number of fields of this row */
struct lines *table_lines(const struct table *t);
/* Returns the text, NUL-terminated; "" for a missing column. n may be NULL. */
const char *table_text(const struct table *t, size_t column, size_t *n);
/* Returns the text; NULL if it is empty. */
const char *table_text_or_null(const struct table *t, size_t column);
int64_t table_int(struct table *t, size_t column, int64_t lo, int64_t hi);
/* Returns an integer, written as "8" or "8.0". */
int64_t table_count(struct table *t, size_t column, int64_t lo, int64_t hi);
double table_real(struct table *t, size_t column, double lo, double hi);
/* Converts seconds to ns; bounds in seconds. */
int64_t table_seconds(struct table *t, size_t column, double lo, double hi);
/* Converts milliseconds to ns; bounds in milliseconds. */
int64_t table_milliseconds(struct table *t, size_t column, double lo, double hi);

#endif
