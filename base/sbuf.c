/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/sbuf.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void reserve(struct sbuf *b, size_t more)
{
	if (b->len + more + 1 <= b->cap)
		return;
	size_t cap = b->cap ? b->cap : 64;
	while (cap < b->len + more + 1)
		cap *= 2;
	b->text = mem_realloc(b->text, cap, 1);
	b->cap = cap;
}

void sbuf_add(struct sbuf *b, const char *s, size_t n)
{
	reserve(b, n);
	if (n) /* else s may be NULL */
		memcpy(b->text + b->len, s, n);
	b->len += n;
	b->text[b->len] = '\0';
}

void sbuf_puts(struct sbuf *b, const char *s)
{
	sbuf_add(b, s, strlen(s));
}

void sbuf_putc(struct sbuf *b, char c)
{
	sbuf_add(b, &c, 1);
}

void sbuf_printf(struct sbuf *b, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n > 0) {
		reserve(b, (size_t)n);
		vsnprintf(b->text + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

void sbuf_clear(struct sbuf *b)
{
	b->len = 0;
	if (b->text)
		b->text[0] = '\0';
}

void sbuf_free(struct sbuf *b)
{
	mem_free(b->text);
	*b = (struct sbuf){ 0 };
}

const char *sbuf_text(const struct sbuf *b)
{
	return b->text ? b->text : "";
}

char *sbuf_steal(struct sbuf *b)
{
	char *s = b->text ? b->text : mem_strdup("");
	*b = (struct sbuf){ 0 };
	return s;
}
