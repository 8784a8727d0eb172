/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/scenario.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/num.h"

#include "config.h"

#include <stdio.h>
#include <string.h>

/* ---- JSON as texts ---- */

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
		return orr_fail(err, ORR_EINPUT, "scenario: $.%s: expected a text or number", key);
	return ORR_OK;
}

int scenario_check_keys(const cJSON *o, const char *const *known, struct orr_error *err)
{
	return scenario_check_keys_at(o, "", known, err);
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
		return orr_fail(err, ORR_EINPUT, "scenario: %s%.*s%sunknown key \"%.60s\"; %s%s", n ? "$." : "", n ? n - 1 : 0, where,
			n ? ": " : "", m->string, near ? "did you mean " : "the first known is ", near ? near : known[0]);
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
	mem_free(text);
	if (!o)
		orr_fail(err, ORR_EINPUT, "%s:%zu: is not valid JSON from here on", path, line);
	else if (!cJSON_IsObject(o))
		orr_fail(err, ORR_EINPUT, "%s: expected a JSON object", path);
	if (o && !cJSON_IsObject(o)) {
		cJSON_Delete(o);
		return NULL;
	}
	return o;
}

/* ---- --set ---- */

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

/* '-' and '_' are one letter in names of policies. */
static bool same_name(const char *s, size_t n, const char *name, size_t len)
{
	if (n != len)
		return false;
	for (size_t i = 0; i < n; i++)
		if (s[i] != name[i] && !((s[i] == '_' || s[i] == '-') && (name[i] == '_' || name[i] == '-')))
			return false;
	return true;
}

/* Does the policy that the entry has at key go by this name? A plugin goes by its file's name and by its policy's. */
static bool is_policy(const cJSON *entry, const char *key, const char *name, size_t len)
{
	const cJSON *policy = cJSON_GetObjectItemCaseSensitive(entry, key);
	const char *s = cJSON_IsString(policy) ? policy->valuestring : "", *slash = strrchr(s, '/');
	const char *file = slash ? slash + 1 : s;
	size_t n = strlen(file);
	bool is_file = slash || (n > 3 && !strcmp(file + n - 3, ".so"));
	if (n > 3 && !strcmp(file + n - 3, ".so"))
		n -= 3;
	struct registry_entry plugin;
	return same_name(file, n, name, len) ||
	       (is_file && !registry_find(s, NULL, &plugin, NULL) && same_name(plugin.name, strlen(plugin.name), name, len));
}

/* Does the entry of "policies" go by this name: its label, else the policy's name? */
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

void scenario_spell_out_pair(cJSON *entry)
{
	const cJSON *policy = cJSON_GetObjectItemCaseSensitive(entry, "policy");
	const char *pair = cJSON_IsString(policy) ? policy->valuestring : "", *plus = strchr(pair, '+');
	if (!plus || cJSON_GetObjectItemCaseSensitive(entry, "serve"))
		return;
	char *jobs = mem_strndup(pair, (size_t)(plus - pair));
	cJSON_AddStringToObject(entry, "serve", plus + 1);
	cJSON_ReplaceItemInObjectCaseSensitive(entry, "policy", cJSON_CreateString(jobs));
	mem_free(jobs);
}

static bool is_mixed(const cJSON *scenario)
{
	const cJSON *world = cJSON_GetObjectItemCaseSensitive(scenario, "world");
	return cJSON_IsString(world) && !strcmp(world->valuestring, "mixed");
}

/* In a mixed world an entry is a pair, and what is set is set for the one of it that is called so. */
static bool set_entry(cJSON *entry, bool is_pair, const char *name, size_t len, const char *param, const char *value)
{
	if (is_pair)
		scenario_spell_out_pair(entry);
	bool is_for_requests = is_pair && is_policy(entry, "serve", name, len);
	if (!is_for_requests && !is_called(entry, name, len) && !(is_pair && is_policy(entry, "policy", name, len)))
		return false;
	put_text(object_at(entry, is_for_requests ? "serve_set" : "set"), param, value);
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
	cJSON_ArrayForEach(entry, list) found |= set_entry(entry, is_mixed(scenario), path, (size_t)(dot - path), dot + 1, value);
	if (!found)
		return orr_fail(err, ORR_EINPUT, "--set policy.%.80s: none of the policies of this run is called \"%.*s\"", path,
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
		char *further = is_mixed(scenario) ? strchr(dot + 1, '.') : NULL; /* serve.serve.NAME: in a half */
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

/* ---- resolving ---- */

int scenario_kind(const cJSON *scenario, const char **out, struct orr_error *err)
{
	char *world;
	int rc = scenario_text_at(scenario, "world", "jobs", &world, err);
	if (rc)
		return rc;
	*out = strcmp(world, "mixed") ? registry_kind_named(world) : SCENARIO_MIXED;
	if (!*out)
		rc = orr_fail(err, ORR_EINPUT,
			"scenario: $.world: expected \"jobs\", \"step\", \"serve\", \"spot\" or \"mixed\", found \"%.60s\"", world);
	mem_free(world);
	return rc;
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
			  : orr_fail(err, ORR_EINPUT, "scenario: $.%s.%.60s: expected a text, number or truth value", key, m->string);
		mem_free(text);
	}
	if (!rc)
		return a;
	args_free(a);
	return NULL;
}

static int resolve_policy(const cJSON *o, const char *kind, struct scenario *s, struct orr_error *err)
{
	struct scenario_policy *p = &s->policy[s->n_policies++];
	const cJSON *label = cJSON_GetObjectItemCaseSensitive(o, "label");
	char where[160];
	if (!cJSON_IsObject(o))
		return orr_fail(err, ORR_EINPUT, "scenario: $.policies[%zu]: expected a name or an object", s->n_policies - 1);
	for (const cJSON *m = o->child; m; m = m->next)
		if (strcmp(m->string, "policy") && strcmp(m->string, "label") && strcmp(m->string, "set") &&
			strcmp(m->string, "plugin_sha256") && strcmp(m->string, "files_sha256"))
			return orr_fail(err, ORR_EINPUT, "scenario: $.policies[%zu]: unknown key \"%.60s\"; known are policy, label, set",
				s->n_policies - 1, m->string);
	int rc = scenario_text_at(o, "policy", "", &p->spec, err);
	if (!rc)
		rc = registry_find(p->spec, kind, &p->entry, err);
	if (rc)
		return rc;
	p->label = mem_strdup(cJSON_IsString(label) && *label->valuestring ? label->valuestring : p->entry.name);
	for (size_t i = 0; i + 1 < s->n_policies; i++)
		if (!strcmp(s->policy[i].label, p->label))
			return orr_fail(err, ORR_EINPUT, "two policies are labelled \"%.60s\"; write %.60s@LABEL to tell them apart",
				p->label, p->spec);
	snprintf(where, sizeof where, "policy %.100s", p->label);
	p->args = scenario_args_at(o, "set", p->entry.policy->params, where, err);
	return p->args ? ORR_OK : ORR_EINPUT;
}

int scenario_resolve_policies(cJSON *o, const char *kind, struct scenario *s, struct orr_error *err)
{
	scenario_spell_out_policies(o);
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "policies");
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
	if (!n)
		return orr_fail(err, ORR_EINPUT, "no policy is named (--policy A,B; orrery policy list --kind %s shows all)", kind);
	s->policy = mem_zalloc((size_t)n, sizeof *s->policy);
	for (int i = 0; i < n; i++) {
		int rc = resolve_policy(cJSON_GetArrayItem(list, i), kind, s, err);
		if (rc)
			return rc;
	}
	return ORR_OK;
}

cJSON *scenario_args_json(const struct orr_args *a, const struct orr_param *table)
{
	cJSON *o = cJSON_CreateObject();
	for (size_t i = 0; table && table[i].name; i++)
		cJSON_AddStringToObject(o, table[i].name, args_value(a, i));
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

int scenario_resolve_seed(const cJSON *o, struct scenario *s, struct orr_error *err)
{
	char *seed = NULL, *timeout = NULL;
	int64_t v = 0;
	int rc = scenario_text_at(o, "seed", "1", &seed, err);
	if (!rc)
		rc = scenario_text_at(o, "policy_timeout", "60", &timeout, err);
	if (!rc && (!num_int(seed, strlen(seed), &v) || v < 0))
		rc = orr_fail(err, ORR_EINPUT, "seed: expected a whole number from 0 on, found \"%.60s\"", seed);
	if (!rc && (!num_real(timeout, strlen(timeout), &s->policy_timeout_s) || s->policy_timeout_s < 0.1))
		rc = orr_fail(err, ORR_EINPUT, "policy_timeout: expected seconds from 0.1 on, found \"%.60s\"", timeout);
	s->seed = (uint64_t)v;
	mem_free(seed);
	mem_free(timeout);
	return rc;
}

int scenario_resolve_cluster(const cJSON *o, struct scenario *s, struct orr_error *err)
{
	int rc = scenario_text_at(o, "cluster", NULL, &s->cluster_spec, err);
	if (!rc && !s->cluster_spec)
		rc = orr_fail(err, ORR_EINPUT, "scenario: no cluster is named (--cluster 64x8:v100, or a file)");
	if (!rc && !(s->cluster = cluster_load(s->cluster_spec, err)))
		rc = ORR_EINPUT;
	return rc;
}

void scenario_add_seed(cJSON *o, const struct scenario *s)
{
	char number[32];
	snprintf(number, sizeof number, "%llu", (unsigned long long)s->seed);
	cJSON_AddStringToObject(o, "seed", number);
}

void scenario_free(struct scenario *s)
{
	for (size_t i = 0; i < s->n_policies; i++) {
		mem_free(s->policy[i].label);
		mem_free(s->policy[i].spec);
		args_free(s->policy[i].args);
	}
	mem_free(s->policy);
	cluster_free(s->cluster);
	mem_free(s->cluster_spec);
	cJSON_Delete(s->resolved);
	*s = (struct scenario){ 0 };
}

/* The keys of a policy, and of the second of a pair. */
static const struct policy_keys {
	const char *policy, *label, *plugin, *set, *files;
} keys_of[] = { { "policy", "label", "plugin_sha256", "set", "files_sha256" },
	{ "serve", NULL, "serve_plugin_sha256", "serve_set", "serve_files_sha256" } };

static void put_policy(cJSON *o, const struct scenario_policy *p, const struct policy_keys *k)
{
	cJSON_AddStringToObject(o, k->policy, *p->entry.plugin_hash ? p->spec : p->entry.name);
	if (k->label)
		cJSON_AddStringToObject(o, k->label, p->label);
	if (*p->entry.plugin_hash)
		cJSON_AddStringToObject(o, k->plugin, p->entry.plugin_hash);
	cJSON_AddItemToObject(o, k->set, scenario_args_json(p->args, p->entry.policy->params));
	cJSON *files = scenario_files_json(p->args, p->entry.policy->params);
	if (files)
		cJSON_AddItemToObject(o, k->files, files);
}

static cJSON *policy_json(const struct scenario_policy *p)
{
	cJSON *o = cJSON_CreateObject();
	put_policy(o, p, &keys_of[0]);
	if (p->beside)
		put_policy(o, p->beside, &keys_of[1]);
	return o;
}

static char *printed(cJSON *o, bool pretty)
{
	char *text = pretty ? cJSON_Print(o) : cJSON_PrintUnformatted(o);
	char *copy = mem_strdup(text);
	cJSON_free(text);
	cJSON_Delete(o);
	return copy;
}

static void drop_files(cJSON *set, const cJSON *files)
{
	const cJSON *file;
	cJSON_ArrayForEach(file, files) cJSON_DeleteItemFromObjectCaseSensitive(set, file->string);
}

/* The label is not part of what runs; of a plugin only its contents are. */
static void drop_policy_names(cJSON *policy)
{
	cJSON_DeleteItemFromObjectCaseSensitive(policy, "label");
	for (size_t i = 0; i < sizeof keys_of / sizeof *keys_of; i++) {
		const struct policy_keys *k = &keys_of[i];
		if (cJSON_GetObjectItemCaseSensitive(policy, k->plugin))
			cJSON_DeleteItemFromObjectCaseSensitive(policy, k->policy);
		drop_files(cJSON_GetObjectItemCaseSensitive(policy, k->set), cJSON_GetObjectItemCaseSensitive(policy, k->files));
	}
}

/* The names of files are for the reader; the hash goes by their contents. */
static void drop_names(cJSON *o)
{
	static const char *const names[] = { "trace", "cluster", "throughputs", "model", "models", "network", "device", NULL };
	static const char *const halves[] = { "jobs", "serve", NULL };
	for (int i = 0; names[i]; i++)
		cJSON_DeleteItemFromObjectCaseSensitive(o, names[i]);
	cJSON_DeleteItemFromObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(o, "failures"), "trace");
	static const char *const lent[][2] = { { "trace", "capacity_sha256" }, { "prices", "capacity_prices_sha256" } };
	for (size_t i = 0; i < sizeof lent / sizeof *lent; i++)
		if (cJSON_GetObjectItemCaseSensitive(o, lent[i][1]))
			cJSON_DeleteItemFromObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(o, "capacity"), lent[i][0]);
	drop_files(cJSON_GetObjectItemCaseSensitive(o, "step"), cJSON_GetObjectItemCaseSensitive(o, "step_files_sha256"));
	drop_files(cJSON_GetObjectItemCaseSensitive(o, "serve"), cJSON_GetObjectItemCaseSensitive(o, "serve_files_sha256"));
	drop_files(cJSON_GetObjectItemCaseSensitive(o, "spot"), cJSON_GetObjectItemCaseSensitive(o, "spot_files_sha256"));
	if (cJSON_GetObjectItemCaseSensitive(o, "job_sha256"))
		cJSON_DeleteItemFromObjectCaseSensitive(o, "job");
	if (cJSON_GetObjectItemCaseSensitive(o, "prices_sha256"))
		cJSON_DeleteItemFromObjectCaseSensitive(o, "prices");
	drop_policy_names(cJSON_GetObjectItemCaseSensitive(o, "policy"));
	for (int i = 0; is_mixed(o) && halves[i]; i++) /* scenarios themselves */
		if (cJSON_GetObjectItemCaseSensitive(o, halves[i]))
			drop_names(cJSON_GetObjectItemCaseSensitive(o, halves[i]));
}

char *scenario_text(const struct scenario *s, size_t i, char hash[65])
{
	cJSON *o = cJSON_Duplicate(s->resolved, 1);
	cJSON_AddItemToObject(o, "policy", policy_json(&s->policy[i]));
	cJSON *hashed = cJSON_Duplicate(o, 1);
	drop_names(hashed);
	cJSON_AddStringToObject(hashed, "version", PACKAGE_VERSION);
	char *text = printed(hashed, false);
	bytes_hash_text(text, strlen(text), hash);
	mem_free(text);
	return printed(o, false);
}

char *scenario_show(const struct scenario *s)
{
	cJSON *o = cJSON_Duplicate(s->resolved, 1);
	cJSON *list = cJSON_AddArrayToObject(o, "policies");
	for (size_t i = 0; i < s->n_policies; i++)
		cJSON_AddItemToArray(list, policy_json(&s->policy[i]));
	return printed(o, true);
}
