/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * utf8.h - text from inputs that goes to a terminal or into a document
 */
#ifndef ORR_BASE_UTF8_H
#define ORR_BASE_UTF8_H

#include <stddef.h>

struct sbuf;

/* Returns the number of bytes (1 to 4) of the character at s, which has at most n bytes; 0: no valid UTF-8. */
size_t utf8_length(const char *s, size_t n);

/* Appends s for a terminal: control characters except newline and tab, and bytes that are not UTF-8, become \xNN. */
void utf8_put_shown(struct sbuf *out, const char *s, size_t n);

/* Returns s for one line of a terminal: as utf8_put_shown(), and newline and tab become \xNN too. Valid until UTF8_SHOWN further calls of
 * this thread. NULL gives "". */
enum { UTF8_SHOWN = 16 };
const char *utf8_shown(const char *s);

/* Appends s with U+FFFD for each byte that is not UTF-8, for JSON and HTML. */
void utf8_put_valid(struct sbuf *out, const char *s, size_t n);

#endif
