/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/scenario.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "results/report.h"
#include "world/equal.h"

#include <stdio.h>
#include <string.h>

const struct orr_param scenario_keys[] = { ORR_PARAM_INT("seed", "1", 0, 9e18, "seed of every random stream"),
	ORR_PARAM_INT("replications", "1", 1, 1e6,
		"number of replications; metrics become means with intervals; with until_precision: the maximum (1 means 1000)"),
	ORR_PARAM_REAL("until_precision", "0", 0, 1,
		"add replications until the half-width of every interval is at most this share of its mean; 0: off"),
	ORR_PARAM_TEXT("precision_of", "", "with until_precision: metrics separated by commas (default: the first primary column)"),
	ORR_PARAM_CHOICE("compare", "all", "all|first|best",
		"with replications: statements whose p-values and intervals hold simultaneously: about all pairs of policies, each policy "
		"and the first, or each policy and the best"),
	ORR_PARAM_TEXT("equal_within", "",
		"with replications: bound of a difference that counts as equal: 2%, 30s, a number, or METRIC=BOUND,.. (default: no test)"),
	ORR_PARAM_REAL("policy_timeout", "60", 0.1, 1e9, "limit on the duration of one policy call, in seconds"), ORR_PARAM_END };

int scenario_world(const cJSON *scenario, const struct world **out, struct orr_error *err)
{
	char *name;
	int rc = scenario_text_at(scenario, "world", worlds[0]->name, &name, err);
	if (rc)
		return rc;
	*out = world_named(name);
	if (!*out) {
		struct sbuf names = { 0 };
		world_names(&names, false, "\"");
		rc = orr_fail(err, ORR_EINPUT, "scenario: $.world: expected %s, found \"%.60s\"", sbuf_text(&names), name);
		sbuf_free(&names);
	}
	mem_free(name);
	return rc;
}

/* ---- keys ---- */

static size_t count(const struct orr_param *table)
{
	size_t n = 0;
	while (table && table[n].name)
		n++;
	return n;
}

static int check_keys(const struct scenario *s, struct orr_error *err)
{
	enum { MOST = 128 };
	const char *known[MOST + 1] = { NULL };
	const struct world *w = s->world;
	size_t n = 0;
	for (const struct orr_param *p = w->keys; p && p->name && n < MOST; p++)
		known[n++] = p->name;
	for (const struct world_object *o = w->objects; o && o->key && n < MOST; o++)
		known[n++] = o->key;
	for (const struct orr_param *p = scenario_keys; p->name && n < MOST; p++)
		known[n++] = p->name;
	for (const char *const *k = w->shown; k && *k && n < MOST; k++)
		known[n++] = *k;
	if (w->options && n < MOST)
		known[n++] = w->name;
	if (n + 2 <= MOST) {
		known[n++] = "world";
		known[n++] = "policies";
	}
	return scenario_check_keys_at(s->given, "", known, err);
}

static bool declares(const struct scenario *s, const char *key)
{
	for (const struct orr_param *p = s->world->keys; p && p->name; p++)
		if (!strcmp(p->name, key))
			return true;
	return false;
}

/* Writes the error "a, b or c" for "a|b|c", with the choice nearest to text. */
static int refuse_choice(const struct orr_param *p, const char *text, struct orr_error *err)
{
	enum { MOST = 32 };
	const char *names[MOST + 1] = { NULL };
	char *list = mem_strdup(p->choices);
	struct sbuf all = { 0 };
	size_t n = 0;
	for (char *s = list, *end; s && n < MOST; s = end) {
		names[n++] = s;
		if ((end = strchr(s, '|')))
			*end++ = '\0';
	}
	for (size_t i = 0; i < n; i++)
		sbuf_printf(&all, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", names[i]);
	const char *near = nearest_name(text, names);
	int rc = orr_fail(err, ORR_EINPUT, "scenario: $.%s: expected %s, found \"%.60s\"%s%s%s", p->name, sbuf_text(&all), text,
		near ? ": did you mean \"" : "", near ? near : "", near ? "\"?" : "");
	sbuf_free(&all);
	mem_free(list);
	return rc;
}

/* Sets one key; messages give its JSON path. */
static int set_key(struct orr_args *keys, const struct orr_param *p, const char *text, struct orr_error *err)
{
	struct orr_error why = { 0 };
	if (!args_set(keys, p->name, text, &why))
		return ORR_OK;
	if (p->kind == ORR_KIND_CHOICE)
		return refuse_choice(p, text, err);
	return orr_fail(err, why.code, "scenario: $.%s", why.text + strlen("scenario: "));
}

static int read_until(struct scenario *s, struct orr_error *err)
{
	const char *until = orr_arg_text(s->keys, "until");
	s->until_ns = ORR_NEVER;
	if (*until && (!num_duration_ns(until, strlen(until), &s->until_ns) || s->until_ns < 0))
		return orr_fail(err, ORR_EINPUT, "scenario: $.until: expected a time such as 30d, found \"%.60s\"", until);
	return ORR_OK;
}

static int read_warm_up(struct scenario *s, struct orr_error *err)
{
	const char *text = declares(s, "warm_up") ? orr_arg_text(s->keys, "warm_up") : "none";
	if (!strcmp(text, "none"))
		return ORR_OK;
	s->warm_up.kind = strcmp(text, "mser5") ? WARMUP_TIME : WARMUP_MSER5;
	if (s->warm_up.kind == WARMUP_TIME && (!num_duration_ns(text, strlen(text), &s->warm_up.time_ns) || s->warm_up.time_ns <= 0))
		return orr_fail(err, ORR_EINPUT, "scenario: $.warm_up: expected none, mser5 or a time such as 2h, found \"%.60s\"", text);
	return ORR_OK;
}

static int check_precision_of(const struct world *w, const char *names, struct orr_error *err)
{
	char metric[64];
	for (const char *at = names; *at;) {
		size_t n = strcspn(at, ",");
		snprintf(metric, sizeof metric, "%.*s", (int)(n < 60 ? n : 60), at);
		if (!report_column_of(w->name, metric))
			return orr_fail(err, ORR_EINPUT,
				"scenario: $.precision_of: expected metrics that are columns of the table, separated by commas, found "
				"\"%.60s\"",
				metric);
		at += n + (at[n] == ',');
	}
	return ORR_OK;
}

static int read_precision(struct scenario *s, struct orr_error *err)
{
	const char *names = orr_arg_text(s->keys, "precision_of");
	s->until_precision = orr_arg_real(s->keys, "until_precision");
	if (!(s->until_precision > 0))
		return *names ? orr_fail(err, ORR_EINPUT,
					"scenario: $.precision_of: expected this key only together with \"until_precision\"")
			      : ORR_OK;
	if (s->replications == 1)
		s->replications = SCENARIO_MOST_REPLICATIONS;
	if (s->replications < SCENARIO_LEAST_REPLICATIONS)
		return orr_fail(err, ORR_EINPUT,
			"scenario: $.replications: expected at least %d together with \"until_precision\", found \"%u\"",
			SCENARIO_LEAST_REPLICATIONS, s->replications);
	return check_precision_of(s->world, names, err);
}

/* A world may declare only some of the values. */
static enum scenario_record record_of(const char *text)
{
	static const char *const names[] = { "summary", "sample", "all", "metrics", "explain" };
	int i = 0;
	while (strcmp(names[i], text) != 0)
		i++;
	return (enum scenario_record)i;
}

static int read_keys(struct scenario *s, struct orr_error *err)
{
	const struct world *w = s->world;
	size_t n = count(scenario_keys), own = count(w->keys);
	s->key_table = mem_zalloc(n + own + 1, sizeof *s->key_table);
	memcpy(s->key_table, scenario_keys, n * sizeof *s->key_table);
	memcpy(s->key_table + n, w->keys, own * sizeof *s->key_table);
	if (!(s->keys = args_new(s->key_table, "scenario", err)))
		return ORR_EINPUT;
	for (const struct orr_param *p = s->key_table; p->name; p++) {
		char *text = NULL;
		int rc = scenario_text_at(s->given, p->name, NULL, &text, err);
		if (!rc && text)
			rc = set_key(s->keys, p, text, err);
		mem_free(text);
		if (rc)
			return rc;
	}
	s->seed = (uint64_t)orr_arg_int(s->keys, "seed");
	s->policy_timeout_s = orr_arg_real(s->keys, "policy_timeout");
	s->replications = (uint32_t)orr_arg_int(s->keys, "replications");
	int rc = read_precision(s, err);
	if (rc)
		return rc;
	if ((rc = read_warm_up(s, err)))
		return rc;
	s->record = record_of(declares(s, "record") ? orr_arg_text(s->keys, "record") : "all");
	return read_until(s, err);
}

static int read_cluster(struct scenario *s, struct orr_error *err)
{
	if (!declares(s, "cluster"))
		return ORR_OK;
	s->cluster_spec = mem_strdup(orr_arg_text(s->keys, "cluster"));
	if (!*s->cluster_spec && s->world->needs_cluster && !s->world->needs_cluster(s))
		return ORR_OK;
	if (!*s->cluster_spec)
		return orr_fail(err, ORR_EINPUT, "scenario: expected a cluster (--cluster 64x8:v100, or a file)");
	char name[120];
	snprintf(name, sizeof name, "cluster %.100s", s->cluster_spec);
	limits_begin_input(name); /* the world builds its network from it while the scenario is opened */
	s->cluster = cluster_load(s->cluster_spec, err);
	return s->cluster ? ORR_OK : ORR_EINPUT;
}

/* ---- policies ---- */

/* Returns whether plugins run in this process. */
static bool runs_here(const struct scenario *s)
{
	return s->output->in_process || !s->world->give;
}

static int resolve_policy(const cJSON *o, struct scenario *s, struct orr_error *err)
{
	struct scenario_policy *p = &s->policy[s->n_policies++];
	const cJSON *label = cJSON_GetObjectItemCaseSensitive(o, "label");
	char where[160];
	if (!cJSON_IsObject(o))
		return orr_fail(err, ORR_EINPUT, "scenario: $.policies[%zu]: expected a name or an object", s->n_policies - 1);
	for (const cJSON *m = o->child; m; m = m->next)
		if (strcmp(m->string, "policy") && strcmp(m->string, "label") && strcmp(m->string, "set") &&
			strcmp(m->string, "plugin_sha256") && strcmp(m->string, "files_sha256"))
			return orr_fail(err, ORR_EINPUT,
				"scenario: $.policies[%zu]: unknown key \"%.60s\": expected \"policy\", \"label\" or \"set\"",
				s->n_policies - 1, m->string);
	int rc = scenario_text_at(o, "policy", "", &p->spec, err);
	if (!rc)
		rc = (runs_here(s) ? registry_find : registry_describe)(p->spec, s->world, &p->entry, err);
	if (rc)
		return rc;
	p->label = mem_strdup(cJSON_IsString(label) && *label->valuestring ? label->valuestring : p->entry.name);
	for (size_t i = 0; i + 1 < s->n_policies; i++)
		if (!strcmp(s->policy[i].label, p->label))
			return orr_fail(err, ORR_EINPUT, "two policies have the label \"%.60s\": expected %.60s@LABEL for one of them",
				p->label, p->spec);
	snprintf(where, sizeof where, "policy %.100s", p->label);
	p->args = scenario_args_at(o, "set", p->entry.policy->params, where, err);
	return p->args ? ORR_OK : ORR_EINPUT;
}

static int no_policy(const struct world *w, struct orr_error *err)
{
	char name[2][64] = { "", "" };
	for (int i = 0; i < 2 && w->policies[i]; i++)
		registry_display_name(w->policies[i]->name, name[i], sizeof name[i]);
	return orr_fail(err, ORR_EINPUT, "expected a policy, such as --policy %s%s%s; 'orrery policy list' shows all policies", name[0],
		*name[1] ? "," : "", name[1]);
}

static int read_policies(struct scenario *s, struct orr_error *err)
{
	if (!s->world->policies)
		return ORR_OK; /* read by the world's parts */
	const char *usual = s->world->default_policy ? s->world->default_policy(s) : NULL;
	if (usual && !cJSON_GetObjectItemCaseSensitive(s->given, "policies"))
		cJSON_AddItemToArray(cJSON_AddArrayToObject(s->given, "policies"), cJSON_CreateString(usual));
	scenario_spell_out_policies(s->given);
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(s->given, "policies");
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
	if (!n)
		return no_policy(s->world, err);
	if (n > SCENARIO_MOST_POLICIES)
		return orr_fail(err, ORR_EINPUT, "scenario: $.policies: %d policies: expected at most %d; orrery sweep runs more", n,
			SCENARIO_MOST_POLICIES);
	s->policy = mem_zalloc((size_t)n, sizeof *s->policy);
	for (int i = 0; i < n; i++) {
		int rc = resolve_policy(cJSON_GetArrayItem(list, i), s, err);
		if (rc)
			return rc;
	}
	return ORR_OK;
}

/* ---- all of it ---- */

static int check_extras(const struct world *w, const struct world_output *o, struct orr_error *err)
{
	for (size_t i = 0; i < o->n_extras; i++) {
		const struct world *const *of = worlds;
		if (world_flag(w, o->extra[i].name))
			continue;
		while (*of && !world_flag(*of, o->extra[i].name))
			of++;
		return orr_fail(err, ORR_EINPUT, "--%s: this option belongs to 'orrery %s': expected an option of this command",
			o->extra[i].name, *of ? (*of)->name : "run");
	}
	return ORR_OK;
}

bool scenario_is_random(const struct scenario *s)
{
	for (size_t i = 0; i < s->n_policies; i++)
		if (s->policy[i].entry.policy->flags & ORR_DRAWS || *s->policy[i].entry.plugin_hash)
			return true;
	return !s->world->is_random || s->world->is_random(s);
}

static int refuse_equal_runs(const struct scenario *s, struct orr_error *err)
{
	if (s->replications == 1 || scenario_is_random(s))
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT,
		"scenario: $.replications: no input is random, so %u replications would be %u equal runs: expected 1%s", s->replications,
		s->replications, declares(s, "resample") ? ", or --resample day, which draws days of the trace" : "");
}

/* Keys of the comparison do not belong to a run. So the resolved scenario lacks them, and runs have no remarks on them. */
static int check_comparison(const struct scenario *s, struct orr_error *err)
{
	const char *within = orr_arg_text(s->keys, "equal_within"), *with = orr_arg_text(s->keys, "compare");
	bool is_given = *within || strcmp(with, "all") != 0;
	if (is_given && (s->replications == 1 || s->n_policies == 1))
		return orr_fail(err, ORR_EINPUT,
			"scenario: $.%s: expected this key only together with at least two policies, and \"replications\" or "
			"\"until_precision\"",
			*within ? "equal_within" : "compare");
	if (*within && !strcmp(with, "best"))
		return orr_fail(
			err, ORR_EINPUT, "scenario: $.equal_within: expected \"compare\" to be \"all\" or \"first\", found \"best\"");
	return equal_within_check(s->world, within, err);
}

static void add_replications(struct scenario *s)
{
	char most[32];
	snprintf(most, sizeof most, "%u", s->replications);
	cJSON_AddStringToObject(s->resolved, "replications", most);
	if (!(s->until_precision > 0))
		return;
	cJSON_AddStringToObject(s->resolved, "until_precision", orr_arg_text(s->keys, "until_precision"));
	cJSON_AddStringToObject(s->resolved, "precision_of", orr_arg_text(s->keys, "precision_of"));
}

static int open_world(struct scenario *s, struct orr_error *err)
{
	const struct world *w = s->world;
	int rc = check_extras(w, s->output, err);
	if (!rc)
		rc = check_keys(s, err);
	if (!rc)
		rc = read_keys(s, err);
	if (!rc && w->options && !(s->options = scenario_args_at(s->given, w->name, w->options, w->name, err)))
		rc = ORR_EINPUT;
	if (!rc)
		rc = read_policies(s, err);
	if (!rc)
		rc = read_cluster(s, err);
	if (!rc)
		rc = w->open(s, err);
	if (!rc)
		add_replications(s);
	if (!rc)
		rc = check_comparison(s, err);
	if (!rc && s->warm_up.kind != WARMUP_NONE && orr_arg_real(s->options, "warmup") > 0)
		rc = orr_fail(err, ORR_EINPUT, "scenario: $.warm_up: expected \"none\" together with %s.warmup", s->world->name);
	return rc ? rc : refuse_equal_runs(s, err);
}

struct scenario *scenario_open(const cJSON *scenario, const struct world_output *o, struct orr_error *err)
{
	struct orr_error why = { 0 };
	struct scenario *s = mem_zalloc(1, sizeof *s);
	s->output = o;
	s->given = cJSON_Duplicate(scenario, 1);
	int rc = scenario_world(scenario, &s->world, &why);
	if (!rc)
		rc = open_world(s, &why);
	limits_begin_input("");
	if (!rc)
		return s;
	scenario_close(s);
	orr_fail(err, why.code ? why.code : rc, "%s", why.text);
	return NULL;
}

void scenario_close(struct scenario *s)
{
	if (!s)
		return;
	if (s->state)
		s->world->close(s);
	for (size_t i = 0; i < s->n_policies; i++) {
		mem_free(s->policy[i].label);
		mem_free(s->policy[i].spec);
		args_free(s->policy[i].args);
	}
	mem_free(s->policy);
	cluster_free(s->cluster);
	mem_free(s->cluster_spec);
	args_free(s->keys);
	args_free(s->options);
	mem_free(s->key_table);
	cJSON_Delete(s->given);
	cJSON_Delete(s->resolved);
	mem_free(s);
}

/* ---- for resolved scenarios ---- */

void scenario_add_options(cJSON *o, const struct scenario *s)
{
	char key[64];
	cJSON_AddItemToObject(o, s->world->name, scenario_args_json(s->options, s->world->options));
	cJSON *files = scenario_files_json(s->options, s->world->options);
	snprintf(key, sizeof key, "%.40s_files_sha256", s->world->name);
	if (files)
		cJSON_AddItemToObject(o, key, files);
}

void scenario_add_seed(cJSON *o, const struct scenario *s)
{
	char number[32];
	snprintf(number, sizeof number, "%llu", (unsigned long long)s->seed);
	cJSON_AddStringToObject(o, "seed", number);
}

void scenario_add_until(cJSON *o, const struct scenario *s)
{
	char until[NUM_SECONDS_MAX];
	num_put_seconds(until, s->until_ns);
	cJSON_AddStringToObject(o, "until", s->until_ns == ORR_NEVER ? "" : until);
}

void scenario_add_warm_up(cJSON *o, const struct scenario *s)
{
	if (s->warm_up.kind != WARMUP_NONE)
		cJSON_AddStringToObject(o, "warm_up", orr_arg_text(s->keys, "warm_up"));
}

void scenario_add_record(cJSON *o, const struct scenario *s)
{
	cJSON_AddStringToObject(o, "record", orr_arg_text(s->keys, "record"));
}
