/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lines.h - the lines of a text file, packed or not
 *
 * A line ends with LF or CRLF; the last one may end with the file. A NUL byte, a
 * line of more than LINES_MAX_LENGTH bytes and damaged packing are errors that
 * name file and line. A UTF-8 byte order mark at the start is skipped.
 *
 * Ownership: a line is good until the next lines_next(); it ends with a NUL that
 * is not counted, and the caller may write inside it. LINES_SLACK bytes behind the
 * NUL may be read too (their values mean nothing).
 */
#ifndef ORR_TRACES_LINES_H
#define ORR_TRACES_LINES_H

#include <orrery/api.h>

enum { LINES_MAX_LENGTH = 1 << 20, LINES_SLACK = 15 };

struct lines;

/* path "-" is standard input. NULL on error. */
struct lines *lines_open(const char *path, struct orr_error *err);
/* name stands for the file in messages; the caller keeps data until lines_close(). */
struct lines *lines_open_memory(const char *name, const void *data, size_t n);
void lines_close(struct lines *l);

/* 1 a line, 0 the end, -1 error. */
int lines_next(struct lines *l, char **text, size_t *n, struct orr_error *err);
/* Some bytes from the start of the file; only before the first lines_next(). */
void lines_peek(struct lines *l, const char **head, size_t *n);

const char *lines_name(const struct lines *l);
/* Of the line that lines_next() gave last; the first is 1. */
uint64_t lines_number(const struct lines *l);
/* SHA-256 of the raw file as hex, "" before the end has been reached. */
const char *lines_hash(const struct lines *l);

/* "NAME:LINE: " and the message; always ORR_EINPUT. */
int lines_fail(const struct lines *l, struct orr_error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
