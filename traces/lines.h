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

/* Opens a file; path "-" is standard input. Returns NULL on error. */
struct lines *lines_open(const char *path, struct orr_error *err);
/* Opens a text in memory, which the caller keeps until lines_close(). name replaces the file name in messages. */
struct lines *lines_open_memory(const char *name, const void *data, size_t n);
void lines_close(struct lines *l);

/* Reads the next line. Returns 1: a line, 0: the end, -1: an error. */
int lines_next(struct lines *l, char **text, size_t *n, struct orr_error *err);
/* Returns the first block of the file; only before the first lines_next(). */
void lines_peek(struct lines *l, const char **head, size_t *n);

/* Returns the rest of the file as one text of n bytes and a NUL, with lines of any length; free with mem_free(). NULL: an error. Then
 * lines_number() is 0 until lines_at(). */
char *lines_rest(struct lines *l, size_t *n, struct orr_error *err);
/* Sets the number of the current line, for readers of lines_rest(). */
void lines_at(struct lines *l, uint64_t number);

/* Marks that no row can be read after an error, because the rows after it cannot be found. lines_next() marks its own errors. */
void lines_break(struct lines *l);
bool lines_are_broken(const struct lines *l);

const char *lines_name(const struct lines *l);
/* Returns the number of the last line from lines_next(), from 1. */
uint64_t lines_number(const struct lines *l);
/* Returns the SHA-256 of the file on disk in hex; "" before its end is reached. */
const char *lines_hash(const struct lines *l);

/* Sets the error "NAME:LINE: MESSAGE"; returns ORR_EINPUT. */
int lines_fail(const struct lines *l, struct orr_error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
