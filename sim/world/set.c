/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --set PATH=VALUE, and entries of "policies" as objects. */
#include "world/scenario.h"

#include "base/mem.h"

#include <string.h>

static cJSON *object_at(cJSON *o, const char *key)
{
	cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	if (!cJSON_IsObject(v)) {
		cJSON_DeleteItemFromObjectCaseSensitive(o, key);
		v = cJSON_AddObjectToObject(o, key);
	}
	return v;
}

static void put_text(cJSON *o, const char *key, const char *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(o, key);
	cJSON_AddStringToObject(o, key, value);
}

/* Compares names of policies; '-' and '_' are equal. */
static bool same_name(const char *s, size_t n, const char *name, size_t len)
{
	if (n != len)
		return false;
	for (size_t i = 0; i < n; i++)
		if (s[i] != name[i] && !((s[i] == '_' || s[i] == '-') && (name[i] == '_' || name[i] == '-')))
			return false;
	return true;
}

/* Returns whether this names the policy at the entry's key. A plugin has two names: its file and its policy. */
static bool is_policy(const cJSON *entry, const char *key, const char *name, size_t len)
{
	const cJSON *policy = cJSON_GetObjectItemCaseSensitive(entry, key);
	const char *s = cJSON_IsString(policy) ? policy->valuestring : "", *slash = strrchr(s, '/');
	const char *file = slash ? slash + 1 : s;
	size_t n = strlen(file);
	bool has_suffix = n > 3 && (!strcmp(file + n - 3, ".so") || !strcmp(file + n - 3, ".py"));
	bool is_file = slash || has_suffix;
	n -= has_suffix ? 3 : 0;
	struct registry_entry plugin;
	return same_name(file, n, name, len) ||
	       (is_file && !registry_describe(s, NULL, &plugin, NULL) && same_name(plugin.name, strlen(plugin.name), name, len));
}

/* Returns whether this names an entry of "policies": its label, else its policy's name. */
static bool is_called(const cJSON *entry, const char *name, size_t len)
{
	const cJSON *label = cJSON_GetObjectItemCaseSensitive(entry, "label");
	if (cJSON_IsString(label))
		return same_name(label->valuestring, strlen(label->valuestring), name, len);
	return is_policy(entry, "policy", name, len);
}

void scenario_spell_out_policies(cJSON *scenario)
{
	cJSON *list = cJSON_GetObjectItemCaseSensitive(scenario, "policies");
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
	for (int i = 0; i < n; i++) {
		cJSON *v = cJSON_GetArrayItem(list, i);
		if (!cJSON_IsString(v))
			continue;
		cJSON *o = cJSON_CreateObject();
		char *spec = mem_strdup(v->valuestring), *at = strrchr(spec, '@');
		if (at) {
			*at = '\0';
			cJSON_AddStringToObject(o, "label", at + 1);
		}
		cJSON_AddStringToObject(o, "policy", spec);
		mem_free(spec);
		cJSON_ReplaceItemInArray(list, i, o);
	}
}

void scenario_spell_out_pair(cJSON *entry, const struct world *w)
{
	const cJSON *policy = cJSON_GetObjectItemCaseSensitive(entry, "policy");
	const char *pair = cJSON_IsString(policy) ? policy->valuestring : "", *plus = strchr(pair, '+');
	if (!plus || cJSON_GetObjectItemCaseSensitive(entry, w->parts[1]))
		return;
	char *first = mem_strndup(pair, (size_t)(plus - pair));
	cJSON_AddStringToObject(entry, w->parts[1], plus + 1);
	cJSON_ReplaceItemInObjectCaseSensitive(entry, "policy", cJSON_CreateString(first));
	mem_free(first);
}

/* Returns the scenario's world if it is a world of parts. */
static const struct world *of_parts(const cJSON *scenario)
{
	const cJSON *world = cJSON_GetObjectItemCaseSensitive(scenario, "world");
	const struct world *w = cJSON_IsString(world) ? world_named(world->valuestring) : NULL;
	return w && w->parts ? w : NULL;
}

/* Sets a value in an entry. In a world of parts an entry is a pair: the value is set for the policy of that name. */
static bool set_entry(cJSON *entry, const struct world *parts, const char *name, size_t len, const char *param, const char *value)
{
	struct scenario_policy_keys second = scenario_policy_keys(parts, 1);
	if (parts)
		scenario_spell_out_pair(entry, parts);
	bool is_second = parts && is_policy(entry, second.policy, name, len);
	if (!is_second && !is_called(entry, name, len) && !(parts && is_policy(entry, "policy", name, len)))
		return false;
	put_text(object_at(entry, is_second ? second.set : "set"), param, value);
	return true;
}

static int set_policy(cJSON *scenario, const char *path, const char *value, struct orr_error *err)
{
	const char *dot = strrchr(path, '.');
	cJSON *list = cJSON_GetObjectItemCaseSensitive(scenario, "policies"), *entry;
	bool found = false;
	if (!dot || dot == path || !dot[1])
		return orr_fail(err, ORR_EINPUT, "--set policy.%.80s: expected policy.NAME.PARAM=VALUE", path);
	scenario_spell_out_policies(scenario);
	cJSON_ArrayForEach(entry, list) found |= set_entry(entry, of_parts(scenario), path, (size_t)(dot - path), dot + 1, value);
	if (!found)
		return orr_fail(err, ORR_EINPUT, "--set policy.%.80s: expected the label of a policy of this run, found \"%.*s\"", path,
			(int)(dot - path), path);
	return ORR_OK;
}

int scenario_set(cJSON *scenario, const char *pair, struct orr_error *err)
{
	const char *eq = strchr(pair, '=');
	if (!eq || eq == pair)
		return orr_fail(err, ORR_EINPUT, "--set %.100s: expected PATH=VALUE", pair);
	char *path = mem_strndup(pair, (size_t)(eq - pair));
	char *dot = strchr(path, '.');
	int rc = ORR_OK;
	if (!strncmp(path, "policy.", 7)) {
		rc = set_policy(scenario, path + 7, eq + 1, err);
	} else if (!dot) {
		put_text(scenario, path, eq + 1);
	} else {
		char *further = of_parts(scenario) ? strchr(dot + 1, '.') : NULL; /* PART.OBJECT.NAME */
		*dot = '\0';
		cJSON *o = object_at(scenario, path);
		if (further) {
			*further = '\0';
			put_text(object_at(o, dot + 1), further + 1, eq + 1);
		} else {
			put_text(o, dot + 1, eq + 1);
		}
	}
	mem_free(path);
	return rc;
}
