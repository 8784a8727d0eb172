/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/scenario_mixed.h"

#include "base/mem.h"
#include "base/num.h"

#include <stdio.h>
#include <string.h>

static const char *const known_keys[] = { "jobs", "serve", "policies", "cluster", "placement", "first", "failures", "capacity", "prices",
	"seed", "until", "record", "policy_timeout", "world",
	/* what a resolved scenario has beside */
	"cluster_sha256", "failures_sha256", "capacity_sha256", "capacity_prices_sha256", NULL };

/* What the whole scenario says, so its halves may not. */
static const char *const shared_keys[] = { "world", "cluster", "cluster_sha256", "placement", "policies", "failures", "failures_sha256",
	"capacity", "capacity_sha256", "capacity_prices_sha256", "prices", "seed", "until", "record", "policy_timeout", NULL };
/* Of those, what both halves are told. */
static const char *const handed_keys[] = { "cluster", "placement", "seed", "until", "record", "policy_timeout", NULL };

/* ---- policies: pairs ---- */

static const char *text_at(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	return cJSON_IsString(v) ? v->valuestring : NULL;
}

static void add_copy(cJSON *to, const char *key, const cJSON *from, const char *from_key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(from, from_key);
	if (v)
		cJSON_AddItemToObject(to, key, cJSON_Duplicate(v, 1));
}

/* An entry with both policies; *jobs and *serve are what each half is told. */
static int split_pair(const cJSON *o, int i, cJSON *jobs, cJSON *serve, struct orr_error *err)
{
	static const char *const known[] = { "policy", "serve", "label", "set", "serve_set", "plugin_sha256", "files_sha256",
		"serve_plugin_sha256", "serve_files_sha256", NULL };
	const char *policy = text_at(o, "policy"), *other = text_at(o, "serve"), *named = text_at(o, "label");
	char label[200], where[32];
	snprintf(where, sizeof where, "policies[%d].", i);
	if (!policy || !*policy || !other || !*other)
		return orr_fail(err, ORR_EINPUT,
			"scenario: $.policies[%d]: expected JOBS+SERVE, as in fifo+vllm, or an object with policy and serve", i);
	int rc = scenario_check_keys_at(o, where, known, err);
	if (rc)
		return rc;
	snprintf(label, sizeof label, "%.90s+%.90s", policy, other);
	cJSON_AddStringToObject(jobs, "policy", policy);
	cJSON_AddStringToObject(serve, "policy", other);
	cJSON_AddStringToObject(jobs, "label", named ? named : label);
	cJSON_AddStringToObject(serve, "label", named ? named : label);
	add_copy(jobs, "set", o, "set");
	add_copy(serve, "set", o, "serve_set");
	return ORR_OK;
}

static int split_policies(const cJSON *list, struct mixed_scenario *m, struct orr_error *err)
{
	cJSON *jobs = cJSON_AddArrayToObject(m->of_jobs, "policies"), *serve = cJSON_AddArrayToObject(m->of_serve, "policies");
	cJSON *all = cJSON_CreateObject(), *entry;
	int rc = ORR_OK, i = 0;
	cJSON_AddItemToObject(all, "policies", cJSON_Duplicate(list, 1));
	scenario_spell_out_policies(all);
	cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(all, "policies"))
	{
		cJSON *a = cJSON_CreateObject(), *b = cJSON_CreateObject();
		cJSON_AddItemToArray(jobs, a);
		cJSON_AddItemToArray(serve, b);
		scenario_spell_out_pair(entry);
		if (!rc)
			rc = split_pair(entry, i++, a, b, err);
	}
	cJSON_Delete(all);
	return rc;
}

static int resolve_policies(const cJSON *o, struct mixed_scenario *m, struct orr_error *err)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "policies");
	if (!cJSON_IsArray(list) || !cJSON_GetArraySize(list))
		return orr_fail(err, ORR_EINPUT, "scenario: $.policies: expected a list of %s",
			m->of_jobs && m->of_serve ? "pairs such as [\"fifo+vllm\"]" : "policies of the world that there is");
	if (m->of_jobs && m->of_serve)
		return split_policies(list, m, err);
	cJSON_AddItemToObject(m->of_jobs ? m->of_jobs : m->of_serve, "policies", cJSON_Duplicate(list, 1));
	return ORR_OK;
}

/* ---- halves ---- */

/* The scenario of that world as it would stand by itself; *out stays NULL where there is none. */
static int half(const cJSON *o, const char *world, cJSON **out, struct orr_error *err)
{
	const cJSON *part = cJSON_GetObjectItemCaseSensitive(o, world);
	if (!part)
		return ORR_OK;
	if (!cJSON_IsObject(part))
		return orr_fail(err, ORR_EINPUT, "scenario: $.%s: expected an object, the scenario of that world", world);
	for (int i = 0; shared_keys[i]; i++)
		if (cJSON_GetObjectItemCaseSensitive(part, shared_keys[i]))
			return orr_fail(err, ORR_EINPUT, "scenario: $.%s.%s: belongs to the whole scenario, as $.%s", world, shared_keys[i],
				shared_keys[i]);
	*out = cJSON_Duplicate(part, 1);
	cJSON_AddStringToObject(*out, "world", world);
	for (int i = 0; handed_keys[i]; i++)
		add_copy(*out, handed_keys[i], o, handed_keys[i]);
	if (!cJSON_GetObjectItemCaseSensitive(*out, "placement"))
		cJSON_AddStringToObject(*out, "placement", "consolidate");
	return ORR_OK;
}

/* The service has to know that nodes give notice, as it has room for replicas beside those that drain. */
static void hand_notice(const struct mixed_scenario *m)
{
	int64_t notice_ns = m->capacity.is_given ? m->capacity.config.notice_ns : 0;
	char text[NUM_SECONDS_MAX];
	cJSON *options = cJSON_GetObjectItemCaseSensitive(m->of_serve, "serve");
	if (!m->of_serve || !notice_ns || (options && cJSON_GetObjectItemCaseSensitive(options, "notice")))
		return;
	num_put_seconds(text, notice_ns);
	cJSON_AddStringToObject(options ? options : cJSON_AddObjectToObject(m->of_serve, "serve"), "notice", text);
}

static int resolve_halves(const cJSON *o, struct mixed_scenario *m, struct orr_error *err)
{
	int rc = half(o, "jobs", &m->of_jobs, err);
	if (!rc)
		rc = half(o, "serve", &m->of_serve, err);
	if (!rc && !m->of_jobs && !m->of_serve)
		rc = orr_fail(
			err, ORR_EINPUT, "scenario: expected $.jobs, $.serve or both: the scenarios of the worlds that share the cluster");
	if (!rc && m->of_serve)
		add_copy(m->of_serve, "prices", o, "prices");
	if (!rc)
		hand_notice(m);
	return rc;
}

static int resolve_first(const cJSON *o, struct mixed_scenario *m, struct orr_error *err)
{
	char *first = NULL;
	int rc = scenario_text_at(o, "first", "nobody", &first, err);
	m->serve_first = !rc && !strcmp(first, "serve");
	if (!rc && !m->serve_first && strcmp(first, "nobody"))
		rc = orr_fail(err, ORR_EINPUT, "scenario: $.first: expected nobody or serve, found \"%.60s\"", first);
	mem_free(first);
	return rc;
}

int mixed_scenario_resolve(const cJSON *scenario, struct mixed_scenario *m, struct orr_error *err)
{
	*m = (struct mixed_scenario){ 0 };
	int rc = scenario_check_keys(scenario, known_keys, err);
	if (!rc)
		rc = scenario_resolve_seed(scenario, &m->base, err);
	if (!rc)
		rc = resolve_first(scenario, m, err);
	if (!rc)
		rc = inputs_until(scenario, &m->until_ns, err);
	if (!rc)
		rc = inputs_record(scenario, &m->record, err);
	if (!rc)
		rc = scenario_resolve_cluster(scenario, &m->base, err);
	if (!rc)
		rc = inputs_failures(scenario, m->base.cluster, &m->failure_options, &m->failures, err);
	if (!rc)
		rc = inputs_capacity(scenario, m->base.cluster, m->base.seed, m->failures, &m->capacity, err);
	if (!rc && m->capacity.is_given && (m->capacity.config.repeats || !availset_has_end(m->capacity.set)) && m->until_ns == ORR_NEVER)
		rc = orr_fail(err, ORR_EINPUT,
			"scenario: $.capacity.trace: instances come and go without end; give it a length and no repeat, or until");
	if (!rc)
		rc = resolve_halves(scenario, m, err);
	return rc ? rc : resolve_policies(scenario, m, err);
}

/* ---- both together ---- */

static void take_policies(struct mixed_scenario *m, const struct scenario *first, const struct scenario *beside)
{
	m->base.n_policies = first->n_policies;
	m->base.policy = mem_zalloc(first->n_policies, sizeof *m->base.policy);
	for (size_t i = 0; i < first->n_policies; i++) {
		m->base.policy[i] = first->policy[i];
		m->base.policy[i].beside = beside ? &beside->policy[i] : NULL;
	}
}

/* What a half is beside what the whole says. */
static cJSON *own_part(const cJSON *resolved)
{
	cJSON *o = cJSON_Duplicate(resolved, 1);
	for (int i = 0; shared_keys[i]; i++)
		cJSON_DeleteItemFromObjectCaseSensitive(o, shared_keys[i]);
	return o;
}

void mixed_scenario_join(struct mixed_scenario *m, const struct jobs_scenario *j, const struct serve_scenario *s)
{
	cJSON *o = m->base.resolved = cJSON_CreateObject();
	take_policies(m, j ? &j->base : &s->base, j && s ? &s->base : NULL);
	cJSON_AddStringToObject(o, "world", "mixed");
	cJSON_AddStringToObject(o, "cluster", m->base.cluster_spec);
	cJSON_AddStringToObject(o, "cluster_sha256", m->base.cluster->hash);
	cJSON_AddStringToObject(o, "placement", j ? j->placement->name : s->placement->name);
	if (j)
		cJSON_AddItemToObject(o, "jobs", own_part(j->base.resolved));
	if (s)
		cJSON_AddItemToObject(o, "serve", own_part(s->base.resolved));
	cJSON_AddStringToObject(o, "first", m->serve_first ? "serve" : "nobody");
	cJSON_AddItemToObject(o, "failures", scenario_args_json(m->failure_options, inputs_failure_params));
	if (m->failures)
		cJSON_AddStringToObject(o, "failures_sha256", failures_hash(m->failures));
	inputs_add_capacity(o, &m->capacity);
	cJSON_AddItemToObject(o, "prices", serve_scenario_price_list(s ? s : &m->priced));
	scenario_add_seed(o, &m->base);
	inputs_add_until(o, m->until_ns);
	cJSON_AddStringToObject(o, "record", inputs_record_name(m->record));
}

int mixed_scenario_prices(const cJSON *scenario, struct mixed_scenario *m, struct orr_error *err)
{
	m->priced.base.cluster = m->base.cluster;
	return serve_scenario_prices(scenario, &m->priced, err);
}

void mixed_scenario_free(struct mixed_scenario *m)
{
	mem_free(m->priced.price_note);
	mem_free(m->base.policy); /* what is in it belongs to the half */
	m->base.policy = NULL;
	m->base.n_policies = 0;
	scenario_free(&m->base);
	failures_free(m->failures);
	inputs_capacity_free(&m->capacity);
	args_free(m->failure_options);
	cJSON_Delete(m->of_jobs);
	cJSON_Delete(m->of_serve);
	*m = (struct mixed_scenario){ 0 };
}
