/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/items.h"

#include "base/json_text.h"
#include "base/mem.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct items {
	struct lines *in;
	char *text;
	const char *s, *end;
	uint64_t line;
	cJSON *item;
	bool is_list; /* the items are elements of a list; else the document is the item */
	bool is_member, is_first, is_over;
};

/* ---- the document ---- */

static void skip_blanks(struct items *it)
{
	for (; it->s < it->end && strchr(" \t\r\n", *it->s); it->s++)
		it->line += *it->s == '\n';
}

static int refuse(struct items *it, const char *expected, struct orr_error *err)
{
	skip_blanks(it);
	size_t left = 0, all = (size_t)(it->end - it->s);
	while (left < all && left < 40 && it->s[left] != '\n')
		left++;
	lines_at(it->in, it->line);
	lines_break(it->in);
	lines_fail(it->in, err, "expected %s, found %s%.*s%s", expected, left ? "\"" : "the end of the file", (int)left, it->s,
		left ? "\"" : "");
	it->is_over = true;
	return -1;
}

static bool take(struct items *it, char c)
{
	skip_blanks(it);
	if (it->s == it->end || *it->s != c)
		return false;
	it->s++;
	return true;
}

/* Moves past a string, whose first quote is at s. */
static bool skip_string(struct items *it)
{
	for (it->s++; it->s < it->end && *it->s != '"'; it->s++) {
		it->line += *it->s == '\n';
		if (*it->s == '\\' && it->s + 1 < it->end)
			it->s++;
	}
	if (it->s >= it->end)
		return false;
	it->s++;
	return true;
}

/* Moves past a value, by counting brackets outside strings. */
static bool skip_value(struct items *it)
{
	size_t depth = 0;
	skip_blanks(it);
	const char *start = it->s;
	while (it->s < it->end) {
		char c = *it->s;
		if (c == '"') {
			if (!skip_string(it))
				return false;
			if (!depth)
				return true;
			continue;
		}
		if ((c == ',' || c == '}' || c == ']') && !depth)
			return it->s > start;
		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
		it->line += c == '\n';
		it->s++;
		if (!depth && (c == '}' || c == ']'))
			return true;
	}
	return !depth && it->s > start;
}

/* Moves to the list in the member of the object at s; *is_there: the object has such a member. */
static int find_member(struct items *it, const char *member, bool *is_there, struct orr_error *err)
{
	size_t length = strlen(member);
	*is_there = false;
	take(it, '{');
	if (take(it, '}'))
		return 0;
	do {
		skip_blanks(it);
		const char *name = it->s;
		if (it->s == it->end || *it->s != '"' || !skip_string(it))
			return refuse(it, "the name of a member in quotes", err);
		bool is_it = (size_t)(it->s - name) == length + 2 && !memcmp(name + 1, member, length);
		if (!take(it, ':'))
			return refuse(it, "':' after the name of a member", err);
		if (is_it && take(it, '[')) {
			*is_there = true;
			return 0;
		}
		if (!skip_value(it))
			return refuse(it, "a value", err);
	} while (take(it, ','));
	return take(it, '}') ? 0 : refuse(it, "',' or '}'", err);
}

struct items *items_new(struct lines *in, const char *member, struct orr_error *err)
{
	struct items *it = mem_zalloc(1, sizeof *it);
	size_t n;
	it->in = in;
	it->text = lines_rest(in, &n, err);
	if (!it->text) {
		items_free(it);
		return NULL;
	}
	it->s = it->text;
	it->end = it->text + n;
	it->line = 1;
	it->is_first = true;
	it->is_list = take(it, '[');
	int rc = 0;
	if (!it->is_list && it->s < it->end && *it->s == '{') {
		const char *start = it->s;
		uint64_t line = it->line;
		rc = find_member(it, member, &it->is_member, err);
		it->is_list = it->is_member;
		if (!it->is_member) {
			it->s = start;
			it->line = line;
		}
	} else if (!it->is_list) {
		rc = refuse(it, "JSON: a list, or an object with a list", err);
	}
	lines_at(in, it->line);
	if (!rc)
		return it;
	items_free(it);
	return NULL;
}

void items_free(struct items *it)
{
	if (!it)
		return;
	cJSON_Delete(it->item);
	mem_free(it->text);
	mem_free(it);
}

/* ---- items ---- */

/* Reads what follows the list. */
static int end_list(struct items *it, struct orr_error *err)
{
	while (it->is_member && take(it, ',')) {
		if (!take(it, '"'))
			return refuse(it, "the name of a member in quotes", err);
		it->s--;
		if (!skip_string(it) || !take(it, ':') || !skip_value(it))
			return refuse(it, "':' and a value", err);
	}
	if (it->is_member && !take(it, '}'))
		return refuse(it, "',' or '}'", err);
	skip_blanks(it);
	if (it->s != it->end)
		return refuse(it, "the end of the file", err);
	it->is_over = true;
	return 0;
}

/* Names the line in the file instead of that in the item. */
static void move_line(const struct items *it, uint64_t line, struct orr_error *err)
{
	size_t name = strlen("item:");
	char *rest;
	if (!err || strncmp(err->text, "item:", name))
		return;
	unsigned long within = strtoul(err->text + name, &rest, 10);
	char text[sizeof err->text];
	snprintf(text, sizeof text, "%s", rest + strspn(rest, ": "));
	lines_at(it->in, line + (within ? within - 1 : 0));
	lines_fail(it->in, err, "%s", text);
}

static int parse(struct items *it, const char *start, uint64_t line, struct orr_error *err)
{
	size_t n = (size_t)(it->s - start);
	const char *stop = NULL;
	lines_at(it->in, line);
	it->item = cJSON_ParseWithLengthOpts(start, n, &stop, 0);
	if (it->item && json_text_check("item", start, n, err)) {
		move_line(it, line, err);
		return -1;
	}
	if (it->item)
		return 1;
	uint64_t at = line;
	for (const char *s = start; stop && s < stop && s < it->s; s++)
		at += *s == '\n';
	lines_at(it->in, at);
	lines_fail(it->in, err, "expected a JSON value, found something else near \"%.*s\"",
		stop ? (int)strcspn(stop, "\n") > 40 ? 40 : (int)strcspn(stop, "\n") : 0, stop ? stop : "");
	return -1;
}

int items_next(struct items *it, const struct cJSON **item, struct orr_error *err)
{
	cJSON_Delete(it->item);
	it->item = NULL;
	if (it->is_over)
		return 0;
	if (it->is_list && take(it, ']'))
		return end_list(it, err);
	if (!it->is_list && !it->is_first)
		return end_list(it, err);
	if (it->is_list && !it->is_first && !take(it, ','))
		return refuse(it, "',' or ']' after an item", err);
	it->is_first = false;
	skip_blanks(it);
	const char *start = it->s;
	uint64_t line = it->line;
	if (!skip_value(it))
		return refuse(it, "an item of the list", err);
	int rc = parse(it, start, line, err);
	*item = it->item;
	return rc;
}

const struct cJSON *items_get(const struct cJSON *o, const char *name)
{
	const cJSON *v = cJSON_IsObject(o) ? cJSON_GetObjectItemCaseSensitive(o, name) : NULL;
	return cJSON_IsNull(v) ? NULL : v;
}

const char *items_text(const struct cJSON *o, const char *name)
{
	const cJSON *v = items_get(o, name);
	return cJSON_IsString(v) ? v->valuestring : "";
}
