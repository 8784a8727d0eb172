/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json_text.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "base/utf8.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A key of an object that is open or has just ended. */
struct key {
	char *text; /* with escapes replaced */
	size_t at;  /* position of the key in the text */
};

struct check {
	const char *name, *text;
	size_t n;
	struct key *key; /* keys of the open objects, those of outer objects first */
	size_t n_keys, cap_keys;
	size_t *first; /* number of the first key of each open object or array */
	size_t n_open, cap_open;
	struct orr_error *err;
};

/* Returns the length of the run of characters at `at` that are in the set. The text need not end in NUL. */
static size_t span(const struct check *c, size_t at, const char *set)
{
	size_t n = 0;
	while (at + n < c->n && c->text[at + n] && strchr(set, c->text[at + n]))
		n++;
	return n;
}

static size_t line_of(const struct check *c, size_t at)
{
	size_t line = 1;
	for (size_t i = 0; i < at; i++)
		line += c->text[i] == '\n';
	return line;
}

static size_t column_of(const struct check *c, size_t at)
{
	size_t first = at;
	while (first && c->text[first - 1] != '\n')
		first--;
	return at - first + 1;
}

static int by_text(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	int order = strcmp(x->text, y->text);
	return order ? order : x->at < y->at ? -1 : 1;
}

/* Returns the position after the string that starts at `at`. */
static size_t string_end(const struct check *c, size_t at)
{
	for (at++; at < c->n && c->text[at] != '"'; at++)
		at += c->text[at] == '\\';
	return at + 1;
}

/* Adds the string from..end to the keys of the innermost object. */
static void add_key(struct check *c, size_t from, size_t end)
{
	cJSON *decoded = memchr(c->text + from, '\\', end - from) ? cJSON_ParseWithLength(c->text + from, end - from) : NULL;
	MEM_GROW(c->key, c->n_keys, c->cap_keys);
	c->key[c->n_keys++] = (struct key){
		decoded && decoded->valuestring ? mem_strdup(decoded->valuestring) : mem_strndup(c->text + from + 1, end - from - 2), from
	};
	cJSON_Delete(decoded);
}

/* Ends the innermost object: sorts its keys, compares neighbours and removes them. */
static int end_object(struct check *c)
{
	size_t first = c->first[--c->n_open], n = c->n_keys - first;
	int rc = ORR_OK;
	if (n > 1)
		qsort(c->key + first, n, sizeof *c->key, by_text);
	for (size_t i = first; i < c->n_keys; i++) {
		if (!rc && i > first && !strcmp(c->key[i - 1].text, c->key[i].text))
			rc = orr_fail(c->err, ORR_EINPUT, "%.300s:%zu:%zu: duplicate key \"%.60s\" (first on line %zu): expected it once",
				c->name, line_of(c, c->key[i].at), column_of(c, c->key[i].at), c->key[i].text,
				line_of(c, c->key[i - 1].at));
	}
	while (c->n_keys > first)
		mem_free(c->key[--c->n_keys].text);
	return rc;
}

/* Checks the number that starts at `at`; *end is the position after it. An integer must be exactly representable as a double. */
static int check_number(const struct check *c, size_t at, size_t *end)
{
	char digits[400], printed[400];
	size_t sign = c->text[at] == '-', n = sign + span(c, at + sign, "+-0123456789.eE");
	*end = at + n;
	bool is_integer = n > 15 + sign && !memchr(c->text + at, '.', n) && !memchr(c->text + at, 'e', n) && !memchr(c->text + at, 'E', n);
	if (!is_integer)
		return ORR_OK;
	snprintf(digits, sizeof digits, "%.*s", n - sign < sizeof digits ? (int)(n - sign) : 1, c->text + at + sign);
	snprintf(printed, sizeof printed, "%.0f", strtod(digits, NULL));
	if (strlen(printed) == n - sign && !memcmp(printed, c->text + at + sign, n - sign))
		return ORR_OK;
	return orr_fail(c->err, ORR_EINPUT,
		"%.300s:%zu:%zu: integer %.*s: expected an integer that a double represents exactly, such as any up to 2^53", c->name,
		line_of(c, at), column_of(c, at), n < 40 ? (int)n : 40, c->text + at);
}

static int check_string(struct check *c, size_t at, size_t end)
{
	for (size_t i = at; i < end; i++) {
		size_t len = utf8_length(c->text + i, end - i);
		if (!len)
			return orr_fail(c->err, ORR_EINPUT, "%.300s:%zu:%zu: byte 0x%02x: expected text in UTF-8", c->name, line_of(c, i),
				column_of(c, i), (unsigned char)c->text[i]);
		i += len - 1;
	}
	size_t next = end + span(c, end, " \t\r\n");
	if (next < c->n && c->text[next] == ':' && c->n_open)
		add_key(c, at, end);
	return ORR_OK;
}

int json_text_check(const char *name, const char *text, size_t n, struct orr_error *err)
{
	struct check c = { .name = name, .text = text, .n = n, .err = err };
	int rc = ORR_OK;
	for (size_t at = 0; at < n && !rc;) {
		char x = text[at];
		size_t end = at + 1;
		if (x == '"') {
			end = string_end(&c, at);
			rc = end <= n ? check_string(&c, at, end) : ORR_OK;
		} else if (x == '{' || x == '[') {
			MEM_GROW(c.first, c.n_open, c.cap_open);
			c.first[c.n_open++] = c.n_keys;
		} else if ((x == '}' || x == ']') && c.n_open) {
			rc = end_object(&c);
		} else if (x == '-' || (x >= '0' && x <= '9')) {
			rc = check_number(&c, at, &end);
		}
		at = end;
	}
	while (c.n_keys)
		mem_free(c.key[--c.n_keys].text);
	mem_free(c.key);
	mem_free(c.first);
	return rc;
}
