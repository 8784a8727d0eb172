/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * csv.h - reads rows of named fields from a CSV text in memory
 *
 * The first row names the columns. Quoting follows RFC 4180 within a line. Empty lines are skipped. Invariant: after csv_next()
 * returned 1, the row has as many fields as the header. Errors name file, line and column. Returned strings are valid until the
 * next row.
 */
#ifndef ORR_CALIB_CSV_H
#define ORR_CALIB_CSV_H

#include <orrery/api.h>

enum { CSV_MAX_COLUMNS = 64, CSV_MAX_BYTES = 256 << 20 };

struct csv {
	const char *path;
	char *text, *end, *at; /* copy of the text, split in place */
	char *name[CSV_MAX_COLUMNS], *field[CSV_MAX_COLUMNS];
	int n;
	uint64_t line; /* line number of the last row from csv_next() */
};

/* Copies the text and reads the header. Keeps the pointer `path`. The caller must call csv_close(), also after an error. */
int csv_open(struct csv *c, const char *path, const char *text, size_t n, struct orr_error *err);
/* Opens a file, compressed (.gz, .zst) or not. */
int csv_open_file(struct csv *c, const char *path, struct orr_error *err);
void csv_close(struct csv *c);

int csv_next(struct csv *c, struct orr_error *err); /* returns 1: a row, 0: the end, -1: an error */
/* Checks that every name of the list (ends with NULL) is a column. */
int csv_need(const struct csv *c, const char *const *names, struct orr_error *err);
/* Returns the field; "" if there is no such column. */
const char *csv_text(const struct csv *c, const char *name);
/* Reads a number from low to high. An empty field or a missing column gives `missing`; it is an error if `missing` is NAN. */
int csv_real(const struct csv *c, const char *name, double low, double high, double missing, double *out, struct orr_error *err);
/* Sets "FILE:LINE: COLUMN: expected WHAT, found .." and returns ORR_EINPUT. */
int csv_refuse(const struct csv *c, const char *name, const char *expected, struct orr_error *err);

#endif
