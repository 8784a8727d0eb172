/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A resolved scenario as text, and the hash of a run. */
#include "world/scenario.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/sources.h"

#include "config.h"

#include <stdio.h>
#include <string.h>

struct scenario_policy_keys scenario_policy_keys(const struct world *w, int part)
{
	struct scenario_policy_keys k = { "policy", "set", "plugin_sha256", "files_sha256" };
	const char *name = part && w && w->parts ? w->parts[part] : NULL;
	if (name) {
		snprintf(k.policy, sizeof k.policy, "%.30s", name);
		snprintf(k.set, sizeof k.set, "%.30s_set", name);
		snprintf(k.plugin, sizeof k.plugin, "%.30s_plugin_sha256", name);
		snprintf(k.files, sizeof k.files, "%.30s_files_sha256", name);
	}
	return k;
}

static void put_policy(cJSON *o, const struct scenario_policy *p, const struct scenario_policy_keys *k, bool has_label)
{
	cJSON_AddStringToObject(o, k->policy, *p->entry.plugin_hash ? p->spec : p->entry.name);
	if (has_label)
		cJSON_AddStringToObject(o, "label", p->label);
	if (*p->entry.plugin_hash)
		cJSON_AddStringToObject(o, k->plugin, p->entry.plugin_hash);
	cJSON_AddItemToObject(o, k->set, scenario_args_json(p->args, p->entry.policy->params));
	cJSON *files = scenario_files_json(p->args, p->entry.policy->params);
	if (files)
		cJSON_AddItemToObject(o, k->files, files);
}

static cJSON *policy_json(const struct scenario *s, size_t i)
{
	const struct scenario_policy *p = &s->policy[i];
	struct scenario_policy_keys first = scenario_policy_keys(s->world, 0), second = scenario_policy_keys(s->world, 1);
	cJSON *o = cJSON_CreateObject();
	put_policy(o, p, &first, true);
	if (p->beside)
		put_policy(o, p->beside, &second, false);
	return o;
}

static char *printed(const cJSON *o, bool pretty)
{
	enum { USUAL = 8192 }; /* bytes of most scenarios */
	char *text = cJSON_PrintBuffered(o, USUAL, pretty);
	char *copy = mem_strdup(text);
	cJSON_free(text);
	return copy;
}

/* ---- the hash ---- */

static void drop_files(cJSON *set, const cJSON *files)
{
	const cJSON *file;
	cJSON_ArrayForEach(file, files) cJSON_DeleteItemFromObjectCaseSensitive(set, file->string);
}

/* Removes the label and the name of a plugin's file, which have no effect on the run. */
static void drop_policy_names(cJSON *policy, const struct world *w)
{
	cJSON_DeleteItemFromObjectCaseSensitive(policy, "label");
	for (int i = 0; i < (w->parts ? 2 : 1); i++) {
		struct scenario_policy_keys k = scenario_policy_keys(w, i);
		if (cJSON_GetObjectItemCaseSensitive(policy, k.plugin))
			cJSON_DeleteItemFromObjectCaseSensitive(policy, k.policy);
		drop_files(cJSON_GetObjectItemCaseSensitive(policy, k.set), cJSON_GetObjectItemCaseSensitive(policy, k.files));
	}
}

static void drop_path(cJSON *o, const char *path)
{
	const char *dot = strchr(path, '.');
	char *first = mem_strndup(path, dot ? (size_t)(dot - path) : strlen(path));
	cJSON_DeleteItemFromObjectCaseSensitive(dot ? cJSON_GetObjectItemCaseSensitive(o, first) : o, dot ? dot + 1 : path);
	mem_free(first);
}

/* Removes the parameters of "OBJECT" whose files "OBJECT_files_sha256" lists. */
static void drop_parameter_files(cJSON *o)
{
	static const char tail[] = "_files_sha256";
	for (const cJSON *m = o->child; m; m = m->next) {
		size_t n = strlen(m->string), t = sizeof tail - 1;
		if (n <= t || strcmp(m->string + n - t, tail) != 0)
			continue;
		char *key = mem_strndup(m->string, n - t);
		drop_files(cJSON_GetObjectItemCaseSensitive(o, key), m);
		mem_free(key);
	}
}

/* Removes the names of inputs: the hash covers their contents. */
static void drop_names(cJSON *o, const struct world *w)
{
	for (const struct world_input *i = w->inputs; i && i->path; i++)
		if (!i->hash || cJSON_GetObjectItemCaseSensitive(o, i->hash))
			drop_path(o, i->path);
	drop_parameter_files(o);
	for (size_t i = 0; w->parts && w->parts[i]; i++)
		if (cJSON_GetObjectItemCaseSensitive(o, w->parts[i]))
			drop_names(cJSON_GetObjectItemCaseSensitive(o, w->parts[i]), world_named(w->parts[i]));
}

/* Adds all policies, because the number of replications depends on them. */
static void add_all_policies(cJSON *hashed, const struct scenario *s)
{
	cJSON *list = cJSON_AddArrayToObject(hashed, "policies");
	for (size_t i = 0; i < s->n_policies; i++) {
		cJSON *policy = policy_json(s, i);
		drop_policy_names(policy, s->world);
		cJSON_AddItemToArray(list, policy);
	}
}

char *scenario_text(const struct scenario *s, size_t i, char hash[65])
{
	cJSON *o = cJSON_Duplicate(s->resolved, 1);
	cJSON_AddItemToObject(o, "policy", policy_json(s, i));
	char *text = printed(o, false);
	drop_names(o, s->world);
	drop_policy_names(cJSON_GetObjectItemCaseSensitive(o, "policy"), s->world);
	if (s->until_precision > 0)
		add_all_policies(o, s);
	cJSON_AddStringToObject(o, "version", PACKAGE_VERSION);
	cJSON_AddStringToObject(o, "sources", sources_hash);
	char *hashed = printed(o, false);
	bytes_hash_text(hashed, strlen(hashed), hash);
	mem_free(hashed);
	cJSON_Delete(o);
	return text;
}

char *scenario_show(const struct scenario *s)
{
	cJSON *o = cJSON_Duplicate(s->resolved, 1);
	cJSON *list = cJSON_AddArrayToObject(o, "policies");
	for (size_t i = 0; i < s->n_policies; i++)
		cJSON_AddItemToArray(list, policy_json(s, i));
	char *text = printed(o, true);
	cJSON_Delete(o);
	return text;
}
