/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/schema.h"

#include "base/mem.h"
#include "base/num.h"
#include "world/scenario.h"

#include <stdio.h>
#include <string.h>

static cJSON *reference(const char *format, const char *a, const char *b)
{
	char text[160];
	cJSON *o = cJSON_CreateObject();
	snprintf(text, sizeof text, format, a, b);
	cJSON_AddStringToObject(o, "$ref", text);
	return o;
}

static cJSON *definition(const char *name)
{
	return reference("#/$defs/%s%s", name, "");
}

static void describe(cJSON *o, const char *doc)
{
	if (doc)
		cJSON_AddStringToObject(o, "description", doc);
}

/* Returns "a|b|c" as a list of texts. */
static cJSON *choices_of(const char *text)
{
	cJSON *list = cJSON_CreateArray();
	for (const char *s = text; *s;) {
		size_t n = strcspn(s, "|");
		char *word = mem_strndup(s, n);
		cJSON_AddItemToArray(list, cJSON_CreateString(word));
		mem_free(word);
		s += n + (s[n] == '|');
	}
	return list;
}

static cJSON *of_param(const struct orr_param *p)
{
	double number;
	const char *def = p->def ? p->def : "";
	cJSON *o = p->kind == ORR_KIND_CHOICE ? cJSON_CreateObject() : definition(p->kind == ORR_KIND_TIME ? "time" : "scalar");
	if (p->kind == ORR_KIND_CHOICE)
		cJSON_AddItemToObject(o, "enum", choices_of(p->choices));
	if (p->kind == ORR_KIND_BOOL)
		cJSON_AddBoolToObject(o, "default", !strcmp(def, "true"));
	else if ((p->kind == ORR_KIND_INT || p->kind == ORR_KIND_REAL) && num_real(def, strlen(def), &number))
		cJSON_AddNumberToObject(o, "default", number);
	else if (*def)
		cJSON_AddStringToObject(o, "default", def);
	describe(o, p->doc);
	return o;
}

static cJSON *closed_object(cJSON **properties)
{
	cJSON *o = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "type", "object");
	cJSON_AddFalseToObject(o, "additionalProperties");
	*properties = cJSON_AddObjectToObject(o, "properties");
	return o;
}

static void put_params(cJSON *properties, const struct orr_param *table)
{
	for (const struct orr_param *p = table; p && p->name; p++)
		cJSON_AddItemToObject(properties, p->name, of_param(p));
}

static cJSON *of_table(const struct orr_param *table, const char *doc)
{
	cJSON *properties, *o = closed_object(&properties);
	put_params(properties, table);
	describe(o, doc);
	return o;
}

static cJSON *values(const char *doc)
{
	cJSON *o = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "type", "object");
	cJSON_AddItemToObject(o, "additionalProperties", definition("scalar"));
	describe(o, doc);
	return o;
}

/* Returns whether this is a key of the world or a key of all worlds. */
static bool has_key(const struct world *w, const char *key)
{
	bool is_own = !strcmp(key, "world") || !strcmp(key, "policies");
	for (const struct orr_param *p = w->keys; p && p->name; p++)
		is_own |= !strcmp(p->name, key);
	for (const struct orr_param *p = scenario_keys; p->name; p++)
		is_own |= !strcmp(p->name, key);
	for (const struct world_object *o = w->objects; o && o->key; o++)
		is_own |= !strcmp(o->key, key);
	for (const char *const *k = w->shown; k && *k; k++)
		is_own |= !strcmp(*k, key);
	return is_own;
}

static void put_reference(cJSON *properties, const struct world *whole, const struct world *part, const char *key)
{
	if (!has_key(whole, key) || !strcmp(key, part->name))
		cJSON_AddItemToObject(properties, key, reference("#/$defs/%s/properties/%s", part->name, key));
}

/* Returns the scenario of a part, without the keys of the whole. */
static cJSON *of_part(const struct world *whole, const struct world *part)
{
	cJSON *properties, *o = closed_object(&properties);
	for (const struct orr_param *p = part->keys; p && p->name; p++)
		put_reference(properties, whole, part, p->name);
	for (const struct world_object *x = part->objects; x && x->key; x++)
		put_reference(properties, whole, part, x->key);
	if (part->options)
		put_reference(properties, whole, part, part->name);
	for (const char *const *k = part->shown; k && *k; k++)
		put_reference(properties, whole, part, *k);
	describe(o, "a scenario of that world, without the keys of the mixed scenario");
	return o;
}

static bool is_part(const struct world *w, const char *key)
{
	for (size_t i = 0; w->parts && w->parts[i]; i++)
		if (!strcmp(w->parts[i], key))
			return true;
	return false;
}

static cJSON *of_object(const struct world *w, const struct world_object *x)
{
	if (is_part(w, x->key))
		return of_part(w, world_named(x->key));
	if (x->table)
		return of_table(x->table, x->doc);
	cJSON *o = x->schema ? cJSON_Parse(x->schema) : values(NULL);
	describe(o, x->doc);
	return o;
}

static void put_policy(cJSON *properties, const struct world *w, int part)
{
	struct scenario_policy_keys k = scenario_policy_keys(w, part);
	cJSON_AddItemToObject(properties, k.policy, cJSON_Parse("{\"type\": \"string\"}"));
	cJSON_AddItemToObject(properties, k.set, values("parameters (orrery policy show NAME)"));
	cJSON_AddItemToObject(properties, k.plugin, definition("sha256"));
	cJSON_AddItemToObject(properties, k.files, definition("hashes"));
}

static cJSON *of_policies(const struct world *w)
{
	cJSON *properties, *entry = closed_object(&properties);
	put_policy(properties, w, 0);
	cJSON_AddItemToObject(properties, "label", cJSON_Parse("{\"type\": \"string\"}"));
	if (w->parts)
		put_policy(properties, w, 1);
	cJSON_AddItemToObject(entry, "required", cJSON_Parse("[\"policy\"]"));
	cJSON *list = cJSON_Parse("{\"type\": \"array\", \"minItems\": 1, \"items\": {\"oneOf\": [{\"type\": \"string\"}]}}");
	cJSON_AddItemToArray(cJSON_GetObjectItem(cJSON_GetObjectItem(list, "items"), "oneOf"), entry);
	describe(list, w->parts ? "FIRST+SECOND or FIRST+SECOND@LABEL, or an object"
				: "NAME, NAME@LABEL, ./plugin.so or ./plugin.so@LABEL, or an object");
	return list;
}

/* Returns the required keys: the source and the cluster have no defaults. The default world need not be named. */
static cJSON *required_by(const struct world *w)
{
	cJSON *list = cJSON_CreateArray();
	if (w != worlds[0])
		cJSON_AddItemToArray(list, cJSON_CreateString("world"));
	for (const struct orr_param *p = w->keys; p && p->name; p++)
		if (!*p->def && (p == w->keys || !strcmp(p->name, "cluster")))
			cJSON_AddItemToArray(list, cJSON_CreateString(p->name));
	cJSON_AddItemToArray(list, cJSON_CreateString("policies"));
	return list;
}

static cJSON *of_world(const struct world *w)
{
	cJSON *properties, *o = closed_object(&properties), *name = cJSON_CreateObject();
	cJSON_AddStringToObject(name, "const", w->name);
	cJSON_AddItemToObject(properties, "world", name);
	put_params(properties, w->keys);
	for (const struct world_object *x = w->objects; x && x->key; x++)
		cJSON_AddItemToObject(properties, x->key, of_object(w, x));
	if (w->options)
		cJSON_AddItemToObject(properties, w->name, of_table(w->options, "options of the world"));
	cJSON_AddItemToObject(properties, "policies", of_policies(w));
	put_params(properties, scenario_keys);
	for (const char *const *k = w->shown; k && *k; k++)
		cJSON_AddItemToObject(properties, *k, definition("hashes"));
	cJSON_AddItemToObject(o, "required", required_by(w));
	describe(o, w->doc);
	return o;
}

char *scenario_schema(void)
{
	static const char shared[] =
		"{\"scalar\": {\"type\": [\"string\", \"number\", \"boolean\"]},"
		" \"time\": {\"type\": [\"string\", \"number\"], \"description\": \"seconds, or a number with ns us ms s m h d\"},"
		" \"sha256\": {\"type\": \"string\", \"pattern\": \"^([0-9a-f]{64})?$\"},"
		" \"hashes\": {\"description\": \"of the contents of inputs; written by scenario show, for the reader\","
		" \"oneOf\": [{\"$ref\": \"#/$defs/sha256\"}, {\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/sha256\"}},"
		" {\"type\": \"object\", \"additionalProperties\": {\"$ref\": \"#/$defs/sha256\"}}]}}";
	cJSON *o = cJSON_CreateObject(), *one, *all = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "$schema", "https://json-schema.org/draft/2020-12/schema");
	cJSON_AddStringToObject(o, "title", "orrery scenario");
	cJSON_AddStringToObject(o, "description",
		"Scenarios that `orrery run` runs and `orrery scenario show` prints; written by `orrery scenario schema`. Scalars may be "
		"texts, as on the command line: \"30s\", \"true\", \"0.5\".");
	one = cJSON_AddArrayToObject(o, "oneOf");
	for (const struct world *const *w = worlds; *w; w++) {
		cJSON_AddItemToArray(one, definition((*w)->name));
		cJSON_AddItemToObject(all, (*w)->name, of_world(*w));
	}
	cJSON *rest = cJSON_Parse(shared);
	while (rest->child) {
		cJSON *m = cJSON_DetachItemViaPointer(rest, rest->child);
		cJSON_AddItemToObject(all, m->string, m);
	}
	cJSON_Delete(rest);
	cJSON_AddItemToObject(o, "$defs", all);
	char *text = cJSON_Print(o), *copy = mem_strdup(text);
	cJSON_free(text);
	cJSON_Delete(o);
	return copy;
}
