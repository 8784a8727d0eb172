/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sbuf.h - a growing string
 *
 * Invariant: text is NUL-terminated at text[len] whenever it is not NULL. A struct sbuf of zeros is an empty string;
 * sbuf_free() restores that state.
 */
#ifndef ORR_BASE_SBUF_H
#define ORR_BASE_SBUF_H

#include <stddef.h>

struct sbuf {
	char *text;
	size_t len, cap;
};

void sbuf_add(struct sbuf *b, const char *s, size_t n);
void sbuf_puts(struct sbuf *b, const char *s);
void sbuf_putc(struct sbuf *b, char c);
void sbuf_printf(struct sbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sbuf_clear(struct sbuf *b); /* makes the string empty and keeps its memory */
void sbuf_free(struct sbuf *b);
const char *sbuf_text(const struct sbuf *b); /* never NULL */
char *sbuf_steal(struct sbuf *b);            /* returns the text, which the caller frees with mem_free(); b becomes empty */

#endif
