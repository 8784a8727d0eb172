/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/lines.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 256 * 1024 }; /* size that fits in the second-level cache */

struct lines {
	struct bytes *in;
	char *name;
	char *buf; /* buf[at..n) is unread; a NUL and the slack fit after cap */
	size_t at, n, cap;
	uint64_t number;
	bool at_end;
	bool has_fault;
	bool is_broken;
	bool has_nul; /* a NUL byte has been read, so later lines are checked for one */
	char hash[BYTES_HASH_SIZE];
};

static struct lines *lines_new(const char *name, struct bytes *in)
{
	struct lines *l = mem_zalloc(1, sizeof *l);
	l->in = in;
	l->name = mem_strdup(name);
	l->cap = BLOCK;
	l->buf = mem_alloc(l->cap + 1 + LINES_SLACK);
	return l;
}

struct lines *lines_open(const char *path, struct orr_error *err)
{
	struct bytes *in = bytes_open(path, err);
	return in ? lines_new(strcmp(path, "-") ? path : "(standard input)", in) : NULL;
}

struct lines *lines_open_memory(const char *name, const void *data, size_t n)
{
	return lines_new(name, bytes_open_memory(data, n));
}

void lines_close(struct lines *l)
{
	if (!l)
		return;
	bytes_close(l->in);
	mem_free(l->name);
	mem_free(l->buf);
	mem_free(l);
}

/* Appends a block to the unread bytes. */
static void fill(struct lines *l)
{
	if (l->at) {
		memmove(l->buf, l->buf + l->at, l->n - l->at);
		l->n -= l->at;
		l->at = 0;
	}
	if (l->n == l->cap) {
		l->cap *= 2;
		l->buf = mem_realloc(l->buf, l->cap + 1 + LINES_SLACK, 1);
	}
	int64_t got = bytes_read(l->in, l->buf + l->n, l->cap - l->n);
	if (got < 0)
		l->has_fault = true;
	if (got == 0) {
		l->at_end = true;
		bytes_hash(l->in, l->hash);
	}
	if (got > 0) {
		l->has_nul = l->has_nul || memchr(l->buf + l->n, '\0', (size_t)got);
		l->n += (size_t)got;
	}
}

static void skip_byte_order_mark(struct lines *l)
{
	if (l->n - l->at >= 3 && !memcmp(l->buf + l->at, "\xef\xbb\xbf", 3))
		l->at += 3;
}

void lines_peek(struct lines *l, const char **head, size_t *n)
{
	if (!l->number && !l->n)
		fill(l);
	skip_byte_order_mark(l);
	*head = l->buf + l->at;
	*n = l->n - l->at;
}

/* Returns the end of the next line; -1: not in the buffer. */
static int64_t find_end(struct lines *l)
{
	size_t seen = 0;
	for (;;) {
		char *end = memchr(l->buf + l->at + seen, '\n', l->n - l->at - seen);
		if (end)
			return end - (l->buf + l->at);
		seen = l->n - l->at;
		if (l->at_end)
			return (int64_t)seen;
		if (l->has_fault || seen > LINES_MAX_LENGTH)
			return -1;
		fill(l);
	}
}

int lines_next(struct lines *l, char **text, size_t *n, struct orr_error *err)
{
	if (!l->number) {
		if (!l->n)
			fill(l);
		skip_byte_order_mark(l);
	}
	int64_t length = find_end(l);
	if (length == 0 && l->at == l->n)
		return 0;
	l->number++;
	l->is_broken = true;
	if (length < 0 && l->has_fault) {
		lines_fail(l, err, "%s", bytes_fault(l->in));
		return -1;
	}
	if (length < 0 || length > LINES_MAX_LENGTH) {
		lines_fail(l, err, "line too long: expected at most %d bytes", LINES_MAX_LENGTH);
		return -1;
	}
	char *s = l->buf + l->at;
	size_t len = (size_t)length;
	l->at += len + (l->at + len < l->n);
	if (l->has_nul && memchr(s, '\0', len)) {
		lines_fail(l, err, "NUL byte: expected a text file");
		return -1;
	}
	l->is_broken = false;
	if (len && s[len - 1] == '\r')
		len--;
	s[len] = '\0';
	*text = s;
	*n = len;
	return 1;
}

char *lines_rest(struct lines *l, size_t *n, struct orr_error *err)
{
	if (!l->n)
		fill(l);
	skip_byte_order_mark(l);
	while (!l->at_end && !l->has_fault)
		fill(l);
	char *text = l->buf + l->at;
	*n = l->n - l->at;
	const char *nul = l->has_nul ? memchr(text, '\0', *n) : NULL;
	if (nul || l->has_fault) {
		const char *stop = nul ? nul : text + *n;
		for (const char *s = text; s < stop; s++)
			l->number += *s == '\n';
		l->number++;
		lines_fail(l, err, "%s", nul ? "NUL byte: expected a text file" : bytes_fault(l->in));
		l->is_broken = true;
		return NULL;
	}
	l->at = l->n;
	return mem_strndup(text, *n);
}

void lines_at(struct lines *l, uint64_t number)
{
	l->number = number;
}

void lines_break(struct lines *l)
{
	l->is_broken = true;
}

bool lines_are_broken(const struct lines *l)
{
	return l->is_broken;
}

const char *lines_name(const struct lines *l)
{
	return l->name;
}

uint64_t lines_number(const struct lines *l)
{
	return l->number;
}

const char *lines_hash(const struct lines *l)
{
	return l->hash;
}

int lines_fail(const struct lines *l, struct orr_error *err, const char *fmt, ...)
{
	char text[sizeof err->text];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	uint64_t line = l->number ? l->number : 1; /* before the first line, messages name line 1 */
	return orr_fail(err, ORR_EINPUT, "%.300s:%" PRIu64 ": %s", l->name, line, text);
}
