/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/scenario.h"

#include "base/bytes.h"
#include "base/json_text.h"
#include "base/mem.h"
#include "base/num.h"

#include <stdio.h>
#include <string.h>

char *scenario_scalar(const cJSON *v)
{
	char buf[40];
	if (cJSON_IsString(v))
		return mem_strdup(v->valuestring);
	if (cJSON_IsBool(v))
		return mem_strdup(cJSON_IsTrue(v) ? "true" : "false");
	if (!cJSON_IsNumber(v))
		return NULL;
	if (v->valuedouble > -1e15 && v->valuedouble < 1e15 && v->valuedouble == (double)(int64_t)v->valuedouble)
		snprintf(buf, sizeof buf, "%lld", (long long)v->valuedouble);
	else
		num_put_real(buf, v->valuedouble);
	return mem_strdup(buf);
}

int scenario_text_at(const cJSON *o, const char *key, const char *def, char **out, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	*out = NULL;
	if (!v) {
		*out = def ? mem_strdup(def) : NULL;
		return ORR_OK;
	}
	if (!(*out = scenario_scalar(v)))
		return orr_fail(err, ORR_EINPUT, "scenario: $.%s: expected a string or a number", key);
	return ORR_OK;
}

int scenario_check_keys_at(const cJSON *o, const char *where, const char *const *known, struct orr_error *err)
{
	int n = (int)strlen(where);
	for (const cJSON *m = o->child; m; m = m->next) {
		const char *const *k = known;
		while (*k && strcmp(*k, m->string))
			k++;
		if (*k)
			continue;
		const char *near = nearest_name(m->string, known);
		return orr_fail(err, ORR_EINPUT, "scenario: %s%.*s%sunknown key \"%.60s\": %s\"%.60s\"%s", n ? "$." : "", n ? n - 1 : 0,
			where, n ? ": " : "", m->string, near ? "did you mean " : "expected ", near ? near : known[0],
			near ? "?" : " or another known key");
	}
	return ORR_OK;
}

cJSON *scenario_read(const char *path, struct orr_error *err)
{
	size_t n;
	char *text = bytes_read_file(path, 64u << 20, &n, NULL, err);
	if (!text)
		return NULL;
	const char *end = NULL;
	cJSON *o = cJSON_ParseWithOpts(text, &end, 1);
	size_t line = 1;
	for (const char *s = text; !o && end && s < end; s++)
		line += *s == '\n';
	int rc = o ? json_text_check(path, text, n, err) : ORR_OK;
	mem_free(text);
	if (rc) {
		cJSON_Delete(o);
		return NULL;
	}
	if (!o)
		orr_fail(err, ORR_EINPUT, "%s:%zu: invalid JSON from this line on: expected a JSON object", path, line);
	else if (!cJSON_IsObject(o))
		orr_fail(err, ORR_EINPUT, "%s: expected a JSON object", path);
	if (o && !cJSON_IsObject(o)) {
		cJSON_Delete(o);
		return NULL;
	}
	return o;
}

struct orr_args *scenario_args_at(
	const cJSON *scenario, const char *key, const struct orr_param *table, const char *where, struct orr_error *err)
{
	struct orr_args *a = args_new(table, where, err);
	const cJSON *o = cJSON_GetObjectItemCaseSensitive(scenario, key);
	if (!a || !o)
		return a;
	int rc = cJSON_IsObject(o) ? ORR_OK : orr_fail(err, ORR_EINPUT, "scenario: $.%s: expected an object", key);
	for (const cJSON *m = o->child; !rc && m; m = m->next) {
		char *text = scenario_scalar(m);
		rc = text ? args_set(a, m->string, text, err)
			  : orr_fail(err, ORR_EINPUT, "scenario: $.%s.%.60s: expected a string, a number, true or false", key, m->string);
		mem_free(text);
	}
	if (!rc)
		return a;
	args_free(a);
	return NULL;
}

cJSON *scenario_args_json(const struct orr_args *a, const struct orr_param *table)
{
	cJSON *o = cJSON_CreateObject();
	for (size_t i = 0; table && table[i].name; i++)
		cJSON_AddItemToObjectCS(o, table[i].name, cJSON_CreateString(args_value(a, i))); /* tables outlive scenarios */
	return o;
}

cJSON *scenario_files_json(const struct orr_args *a, const struct orr_param *table)
{
	cJSON *o = NULL;
	for (size_t i = 0; table && table[i].name; i++)
		if (*args_file_hash(a, i))
			cJSON_AddStringToObject(o ? o : (o = cJSON_CreateObject()), table[i].name, args_file_hash(a, i));
	return o;
}
