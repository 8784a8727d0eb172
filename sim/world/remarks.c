/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/remarks.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct orr_param *param_in(const struct orr_param *table, const char *name)
{
	for (const struct orr_param *p = table; p && p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

static const struct world_object *object_of(const struct world *w, const char *key)
{
	for (const struct world_object *o = w->objects; o && o->key; o++)
		if (!strcmp(o->key, key))
			return o;
	return NULL;
}

/* Returns the parameter at OBJECT.NAME, or at NAME if object is NULL. NULL: the key has no default. */
static const struct orr_param *param_at(const struct world *w, const char *object, const char *name)
{
	if (object && !strcmp(object, w->name))
		return param_in(w->options, name);
	if (object) {
		const struct world_object *o = object_of(w, object);
		return o ? param_in(o->table, name) : NULL;
	}
	const struct orr_param *p = param_in(w->keys, name);
	return p ? p : param_in(scenario_keys, name);
}

/* Returns whether a value differs from the default in more than its spelling. */
static bool differs(const struct orr_param *p, const char *text)
{
	if (p->kind == ORR_KIND_FILE || p->kind == ORR_KIND_TEXT)
		return strcmp(text, p->def ? p->def : "") != 0;
	const struct orr_param table[] = { *p, ORR_PARAM_END };
	struct orr_args *given = args_new(table, "", NULL), *other = args_new(table, "", NULL);
	bool is_other = !given || args_set(given, p->name, text, NULL) || strcmp(args_value(given, 0), args_value(other, 0)) != 0;
	args_free(given);
	args_free(other);
	return is_other;
}

/* Returns whether a key of a part is a key of the mixed scenario. */
static bool is_of_whole(const struct scenario *s, const char *object, const char *name)
{
	const char *first = object ? object : name;
	if (!s->whole || !strcmp(first, s->world->name))
		return false;
	return param_in(s->whole->world->keys, first) || param_in(scenario_keys, first) || object_of(s->whole->world, first);
}

/* Splits "OBJECT.NAME" at its first dot; *object NULL: no dot. Both point into the result, which the caller frees. */
static char *split(const char *key, const char **object, const char **name)
{
	char *copy = mem_strdup(key), *dot = strchr(copy, '.');
	*object = dot ? copy : NULL;
	*name = dot ? dot + 1 : copy;
	if (dot)
		*dot = '\0';
	return copy;
}

static bool is_part(const struct world *w, const char *name)
{
	for (size_t i = 0; w->parts && w->parts[i]; i++)
		if (!strcmp(w->parts[i], name))
			return true;
	return false;
}

static bool is_set_in(const struct world *w, const cJSON *given, const char *key)
{
	const char *object, *name;
	char *copy = split(key, &object, &name), *text = NULL;
	const cJSON *o = object ? cJSON_GetObjectItemCaseSensitive(given, object) : given;
	bool is_set;
	if (object && is_part(w, object)) {
		is_set = is_set_in(world_named(object), o, name);
	} else {
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(o, name);
		const struct orr_param *p = param_at(w, object, name);
		text = value && p ? scenario_scalar(value) : NULL;
		is_set = value && (!text || differs(p, text));
	}
	mem_free(text);
	mem_free(copy);
	return is_set;
}

bool remark_is_set(const struct scenario *s, const char *key)
{
	const char *object, *name;
	char *copy = split(key, &object, &name);
	const struct scenario *of = is_of_whole(s, object, name) ? s->whole : s;
	mem_free(copy);
	return is_set_in(of->world, of->given, key);
}

void remark_no_effect(const struct scenario *s, struct run_result *r, const char *key, const char *why)
{
	if (!remark_is_set(s, key))
		return;
	const char *object, *name;
	char *copy = split(key, &object, &name);
	bool has_prefix = s->whole && !is_of_whole(s, object, name);
	struct sbuf text = { 0 };
	sbuf_printf(&text, "%s%s%s has no effect: %s", has_prefix ? s->world->name : "", has_prefix ? "." : "", key, why);
	result_note(r, "remark", sbuf_text(&text));
	sbuf_free(&text);
	mem_free(copy);
}

double remark_metric(const struct scenario *s, const struct run_result *r, const char *metric)
{
	char name[160];
	snprintf(name, sizeof name, "%.60s%s%.90s", s->whole ? s->world->name : "", s->whole ? "." : "", metric);
	const struct metric *m = result_find(r, name);
	if (!m && s->whole)
		m = result_find(r, metric);
	return m && isfinite(m->value) ? m->value : 0;
}

void remarks_add(const struct scenario *s, size_t i, struct run_result *r)
{
	for (const struct world_effect *e = s->world->effects; e && e->key; e++)
		if (!(remark_metric(s, r, e->metric) > 0))
			remark_no_effect(s, r, e->key, e->why);
	if (s->world->note)
		s->world->note(s, i, r);
}
