/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "document.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TEXT = 200 };

/* ---- documents ---- */

static int fail_at(const char *file, const char *text, const char *at, const char *what, struct orr_error *err)
{
	size_t line = 1, column = 1;
	for (const char *c = text; c < at; c++) {
		column = *c == '\n' ? 1 : column + 1;
		line += *c == '\n';
	}
	return orr_fail(err, ORR_EINPUT, "%.200s:%zu:%zu: %s", file, line, column, what);
}

int document_open(struct document *d, const char *file, const char *text, size_t n, struct orr_error *err)
{
	const char *nul = memchr(text, '\0', n), *stop = text;
	*d = (struct document){ .file = file, .err = err };
	if (nul)
		return fail_at(file, text, nul, "contains a NUL byte: expected text", err);
	d->root = cJSON_ParseWithLengthOpts(text, n, &stop, false);
	while (d->root && stop < text + n && strchr(" \t\r\n", *stop))
		stop++;
	if (d->root && stop == text + n) {
		if (cJSON_IsObject(d->root))
			return ORR_OK;
		document_close(d);
		return orr_fail(err, ORR_EINPUT, "%.200s: $: expected an object", file);
	}
	document_close(d);
	return fail_at(file, text, stop, "invalid JSON: expected an object", err);
}

void document_close(struct document *d)
{
	cJSON_Delete(d->root);
	d->root = NULL;
}

/* ---- places ---- */

struct place place_root(const struct document *d)
{
	return (struct place){ .doc = d, .value = d->root, .path = "$" };
}

struct place place_key(const struct place *p, const char *key)
{
	struct place out = { .doc = p->doc, .value = cJSON_GetObjectItemCaseSensitive(p->value, key) };
	snprintf(out.path, sizeof out.path, "%.120s.%.60s", p->path, key);
	return out;
}

struct place place_item(const struct place *p, const cJSON *item, size_t number)
{
	struct place out = { .doc = p->doc, .value = item };
	snprintf(out.path, sizeof out.path, "%.160s[%zu]", p->path, number);
	return out;
}

bool place_has(const struct place *p, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(p->value, key) != NULL;
}

int place_fail(const struct place *p, const char *format, ...)
{
	char what[420];
	va_list ap;
	va_start(ap, format);
	vsnprintf(what, sizeof what, format, ap);
	va_end(ap);
	return orr_fail(p->doc->err, ORR_EINPUT, "%.200s: %s: %s", p->doc->file, p->path, what);
}

/* ---- values ---- */

/* Fails with "expected .., found ..". */
static int unexpected(const struct place *p, const char *expected)
{
	const cJSON *v = p->value;
	if (!v)
		return place_fail(p, "expected %s, found nothing", expected);
	if (cJSON_IsNumber(v))
		return place_fail(p, "expected %s, found %.15g", expected, v->valuedouble);
	if (cJSON_IsString(v))
		return place_fail(p, "expected %s, found \"%.60s\"", expected, v->valuestring);
	return place_fail(p, "expected %s, found %s", expected,
		cJSON_IsArray(v)    ? "a list"
		: cJSON_IsObject(v) ? "an object"
		: cJSON_IsNull(v)   ? "null"
				    : "a boolean");
}

int place_keys(const struct place *p, const char *const *known)
{
	if (!cJSON_IsObject(p->value))
		return unexpected(p, "an object");
	for (const cJSON *v = p->value->child; v; v = v->next) {
		const char *const *k = known;
		while (*k && strcmp(*k, v->string))
			k++;
		const char *near = *k ? NULL : orr_nearest_name(v->string, known);
		if (!*k && near)
			return place_fail(p, "unknown key \"%.60s\": did you mean \"%s\"?", v->string, near);
		if (!*k && *known)
			return place_fail(p, "unknown key \"%.60s\": expected %s or another known key", v->string, *known);
		if (!*k)
			return place_fail(p, "unknown key \"%.60s\": expected {}", v->string);
		for (const cJSON *w = v->next; w; w = w->next)
			if (!strcmp(w->string, v->string))
				return place_fail(p, "duplicate key \"%.60s\": expected it once", v->string);
	}
	return ORR_OK;
}

int place_list(const struct place *p, const char *what)
{
	char expected[120];
	snprintf(expected, sizeof expected, "a list of %.100s", what);
	return cJSON_IsArray(p->value) ? ORR_OK : unexpected(p, expected);
}

static int own_number(const struct place *p, double min, double max, bool is_whole, double *out)
{
	const cJSON *v = p->value;
	char expected[120];
	if (cJSON_IsNumber(v) && v->valuedouble >= min && v->valuedouble <= max && (!is_whole || v->valuedouble == floor(v->valuedouble))) {
		*out = v->valuedouble;
		return ORR_OK;
	}
	snprintf(expected, sizeof expected, "a %snumber from %.15g to %.15g", is_whole ? "whole " : "", min, max);
	return unexpected(p, expected);
}

int place_real(const struct place *p, const char *key, double min, double max, bool is_needed, double *out)
{
	struct place v = place_key(p, key);
	return v.value || is_needed ? own_number(&v, min, max, false, out) : ORR_OK;
}

int place_whole(const struct place *p, const char *key, double min, double max, bool is_needed, double *out)
{
	struct place v = place_key(p, key);
	return v.value || is_needed ? own_number(&v, min, max, true, out) : ORR_OK;
}

int place_own_whole(const struct place *p, double min, double max, uint32_t *out)
{
	double v;
	int rc = own_number(p, min, max, true, &v);
	if (!rc)
		*out = (uint32_t)v;
	return rc;
}

int place_bool(const struct place *p, const char *key, bool *out)
{
	struct place v = place_key(p, key);
	if (!v.value)
		return ORR_OK;
	*out = cJSON_IsTrue(v.value);
	return cJSON_IsBool(v.value) ? ORR_OK : unexpected(&v, "true or false");
}

static bool is_plain(const char *s)
{
	size_t n = strlen(s);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			return false;
	return n > 0 && n <= MAX_TEXT;
}

int place_own_text(const struct place *p, const char **out)
{
	char expected[60];
	if (cJSON_IsString(p->value) && is_plain(p->value->valuestring)) {
		*out = p->value->valuestring;
		return ORR_OK;
	}
	snprintf(expected, sizeof expected, "a string of 1 to %d bytes on one line", MAX_TEXT);
	return unexpected(p, expected);
}

int place_text(const struct place *p, const char *key, bool is_needed, const char **out)
{
	struct place v = place_key(p, key);
	return v.value || is_needed ? place_own_text(&v, out) : ORR_OK;
}

int place_choice(const struct place *p, const char *key, const char *const *names, bool is_needed, int *out)
{
	struct place v = place_key(p, key);
	char expected[200] = "one of ";
	if (!v.value && !is_needed)
		return ORR_OK;
	for (int i = 0; names[i]; i++) {
		size_t at = strlen(expected);
		snprintf(expected + at, sizeof expected - at, "%s%s", i ? ", " : "", names[i]);
		if (cJSON_IsString(v.value) && !strcmp(v.value->valuestring, names[i])) {
			*out = i;
			return ORR_OK;
		}
	}
	const char *near = cJSON_IsString(v.value) ? orr_nearest_name(v.value->valuestring, names) : NULL;
	if (near)
		return place_fail(&v, "found \"%.60s\": did you mean \"%s\"?", v.value->valuestring, near);
	return unexpected(&v, expected);
}
