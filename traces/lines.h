/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lines.h - the lines of a text file, compressed or not
 *
 * A line ends with LF or CRLF; the last one may end with the file. A NUL byte, a
 * line of more than LINES_MAX_LENGTH bytes and damaged compression are errors
 * with file and line. A UTF-8 byte order mark at the start is skipped.
 *
 * Ownership: a line is valid until the next lines_next(). It ends with a NUL that
 * is not counted, and the caller may write inside it. LINES_SLACK bytes behind the
 * NUL may be read; their values are undefined.
 */
#ifndef ORR_TRACES_LINES_H
#define ORR_TRACES_LINES_H

#include <orrery/api.h>

enum { LINES_MAX_LENGTH = 1 << 20, LINES_SLACK = 15 };

struct lines;

/* path "-" is standard input. NULL on error. */
struct lines *lines_open(const char *path, struct orr_error *err);
/* name replaces the file name in messages; the caller keeps data until lines_close(). */
struct lines *lines_open_memory(const char *name, const void *data, size_t n);
void lines_close(struct lines *l);

/* 1 a line, 0 the end, -1 error. */
int lines_next(struct lines *l, char **text, size_t *n, struct orr_error *err);
/* The first block of the file; only before the first lines_next(). */
void lines_peek(struct lines *l, const char **head, size_t *n);

const char *lines_name(const struct lines *l);
/* Number of the last line from lines_next(), from 1. */
uint64_t lines_number(const struct lines *l);
/* SHA-256 of the file on disk as hex; "" before its end is reached. */
const char *lines_hash(const struct lines *l);

/* An error with the text "NAME:LINE: MESSAGE"; returns ORR_EINPUT. */
int lines_fail(const struct lines *l, struct orr_error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
