/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hwmodel/json.h"

#include "base/json_text.h"
#include "base/param.h"
#include "base/sbuf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

cJSON *json_parse(const char *path, const char *text, size_t n, struct orr_error *err)
{
	const char *stop = text;
	cJSON *root = cJSON_ParseWithLengthOpts(text, n, &stop, false);
	const char *at = stop;
	while (root && at < text + n && *at && strchr(" \t\r\n", *at))
		at++;
	if (root && at == text + n) {
		if (!json_text_check(path, text, n, err))
			return root;
		cJSON_Delete(root);
		return NULL;
	}
	int line = 1, column = 1;
	for (const char *c = text; c < text + n && c < at; c++) {
		column = *c == '\n' ? 1 : column + 1;
		line += *c == '\n';
	}
	cJSON_Delete(root);
	orr_fail(err, ORR_EINPUT, "%.300s:%d:%d: invalid JSON: expected an object", path, line, column);
	return NULL;
}

static int unknown_key(const char *path, const char *where, const cJSON *object, const char *key, const char *near, const char *const *keys,
	struct orr_error *err)
{
	if (!strcmp(where, "$") && cJSON_GetObjectItemCaseSensitive(object, "sha256")) /* only descriptions have the hash of their file */
		return orr_fail(err, ORR_EINPUT,
			"%.200s: $: a description, as \"orrery model show NAME --json\" prints it: "
			"expected a file, as \"orrery model show NAME --file\" prints it",
			path);
	struct sbuf known = { 0 };
	for (size_t i = 0; keys[i]; i++)
		sbuf_printf(&known, "%s%s", i ? ", " : "", keys[i]);
	int code = orr_fail(err, ORR_EINPUT, "%.200s: %s: unknown key \"%.60s\": %s%s%s", path, where, key,
		near ? "did you mean \"" : "expected one of ", near ? near : sbuf_text(&known), near ? "\"?" : "");
	sbuf_free(&known);
	return code;
}

int json_keys(const char *path, const char *where, const cJSON *object, const char *const *keys, struct orr_error *err)
{
	if (!cJSON_IsObject(object))
		return orr_fail(err, ORR_EINPUT, "%.200s: %s: expected an object", path, where);
	const cJSON *v;
	cJSON_ArrayForEach(v, object)
	{
		size_t i = 0;
		while (keys[i] && strcmp(keys[i], v->string))
			i++;
		const char *near = keys[i] ? NULL : nearest_name(v->string, keys);
		if (!keys[i])
			return unknown_key(path, where, object, v->string, near, keys, err);
	}
	return ORR_OK;
}

int json_real(const char *path, const char *where, const cJSON *object, const char *key, double low, double high, bool is_needed,
	double *out, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, key);
	if (!v && !is_needed)
		return ORR_OK;
	if (!cJSON_IsNumber(v) || !isfinite(v->valuedouble) || v->valuedouble < low || v->valuedouble > high) {
		char found[40] = "nothing";
		if (cJSON_IsNumber(v))
			snprintf(found, sizeof found, "%.10g", v->valuedouble);
		else if (v)
			snprintf(found, sizeof found, "%s", "something else");
		return orr_fail(
			err, ORR_EINPUT, "%.200s: %s.%s: expected a number from %g to %g, found %s", path, where, key, low, high, found);
	}
	*out = v->valuedouble;
	return ORR_OK;
}

int json_text(
	const char *path, const char *where, const cJSON *object, const char *key, bool is_needed, const char **out, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, key);
	if (!v && !is_needed)
		return ORR_OK;
	if (!cJSON_IsString(v) || !*v->valuestring)
		return orr_fail(err, ORR_EINPUT, "%.200s: %s.%s: expected a string", path, where, key);
	*out = v->valuestring;
	return ORR_OK;
}

int json_wrong(const char *path, const char *at, const char *expected, const cJSON *found, struct orr_error *err)
{
	char text[80] = "nothing";
	if (cJSON_IsNumber(found))
		snprintf(text, sizeof text, "%.15g", found->valuedouble);
	else if (cJSON_IsString(found))
		snprintf(text, sizeof text, "\"%.60s\"", found->valuestring);
	else if (found)
		snprintf(text, sizeof text, "%s", cJSON_IsArray(found) ? "a list" : cJSON_IsObject(found) ? "an object" : "something else");
	return orr_fail(err, ORR_EINPUT, "%.200s: %s: expected %s, found %s", path, at, expected, text);
}
