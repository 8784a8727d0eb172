/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mutate.h - systematic damage to a JSON text, for tests that damaged files never crash a reader
 *
 * Each token is replaced by hostile tokens and by other tokens of the same text, removed, and doubled. The text is truncated after
 * every byte.
 */
#ifndef ORR_TESTS_MUTATE_H
#define ORR_TESTS_MUTATE_H

#include "base/sbuf.h"

#include <string.h>

typedef void mutate_parse(const char *text, size_t n);

static const char *const mutate_hostile[] = { "", "null", "true", "-1", "0", "4", "99", "1.5", "-0", "1e999", "-1e999", "1e308", "1e-320",
	"4294967296", "9007199254740993", "18446744073709551616", "0x1", "01", "1e", "nan", "\"\"", "\"x\"", "\"layers\"", "\"a\\u0000b\"",
	"\"\\n\"", "\"\xff\"", "\"%s%n\"", "\"", "[]", "[[]]", "{}", "[0,0]", "{\"\":0}", "}", "]", ",", ":", "[[[[[[[[[[", "/**/",
	"\"gpt:hidden=1e9\"" };
enum { MUTATE_N_HOSTILE = sizeof mutate_hostile / sizeof *mutate_hostile, MUTATE_MAX_TOKENS = 400, MUTATE_OTHERS = 12 };

static size_t mutate_tokens(const char *text, size_t *at)
{
	size_t n = 0;
	for (size_t i = 0; text[i];) {
		size_t len = 1;
		if (text[i] == '"')
			len = strcspn(text + i + 1, "\"") + 2;
		else if (!strchr("{}[],:", text[i]))
			len = strcspn(text + i, "{}[],:");
		at[n++] = i;
		i += len;
	}
	at[n] = strlen(text);
	return n;
}

static void mutate_with(const char *text, size_t from, size_t to, const char *token, size_t len, mutate_parse *parse)
{
	static struct sbuf b;
	sbuf_clear(&b);
	sbuf_add(&b, text, from);
	sbuf_add(&b, token, len);
	sbuf_puts(&b, text + to);
	parse(b.text, b.len);
}

static void mutate(const char *text, mutate_parse *parse)
{
	static size_t at[MUTATE_MAX_TOKENS + 1];
	size_t n = mutate_tokens(text, at);
	for (size_t i = 0; i < n; i++) {
		for (int h = 0; h < MUTATE_N_HOSTILE; h++)
			mutate_with(text, at[i], at[i + 1], mutate_hostile[h], strlen(mutate_hostile[h]), parse);
		for (size_t k = 1; k <= MUTATE_OTHERS; k++) { /* values spread over the file */
			size_t other = (i * 7 + k * 31) % n;
			mutate_with(text, at[i], at[i + 1], text + at[other], at[other + 1] - at[other], parse);
		}
		mutate_with(text, at[i], at[i], text + at[i], at[i + 1] - at[i], parse);
	}
	for (size_t i = 0; text[i]; i++)
		parse(text, i);
}

#endif
