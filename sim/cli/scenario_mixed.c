/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/scenario_mixed.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static const char *const known_keys[] = { "jobs", "serve", "policies", "cluster", "placement", "first", "failures", "prices", "seed", "until",
	"record", "policy_timeout", "world",
	/* what a resolved scenario has beside */
	"cluster_sha256", "failures_sha256", NULL };

/* What the whole scenario says, so its halves may not. */
static const char *const shared_keys[] = { "world", "cluster", "placement", "policies", "failures", "seed", "until", "record",
	"policy_timeout", NULL };
/* Of those, what both halves are told. */
static const char *const handed_keys[] = { "cluster", "placement", "seed", "until", "record", "policy_timeout", NULL };

/* ---- policies: pairs ---- */

/* "fifo+vllm" or an object; *jobs and *serve are what each half is told. */
static int split_pair(const cJSON *o, int i, cJSON *jobs, cJSON *serve, struct orr_error *err)
{
	static const char *const known[] = { "policy", "serve", "label", "set", "serve_set", NULL };
	char label[200];
	if (cJSON_IsString(o)) {
		const char *text = o->valuestring, *plus = strchr(text, '+');
		char name[160];
		if (!plus || !plus[1] || (size_t)(plus - text) >= sizeof name)
			return orr_fail(err, ORR_EINPUT, "scenario: $.policies[%d]: expected JOBS+SERVE, as fifo+vllm, found \"%.60s\"", i, text);
		snprintf(name, sizeof name, "%.*s", (int)(plus - text), text);
		cJSON_AddStringToObject(jobs, "policy", name);
		cJSON_AddStringToObject(serve, "policy", plus + 1);
		cJSON_AddStringToObject(jobs, "label", text);
		cJSON_AddStringToObject(serve, "label", text);
		return ORR_OK;
	}
	const cJSON *policy = cJSON_GetObjectItemCaseSensitive(o, "policy"), *other = cJSON_GetObjectItemCaseSensitive(o, "serve");
	const cJSON *named = cJSON_GetObjectItemCaseSensitive(o, "label"), *set = cJSON_GetObjectItemCaseSensitive(o, "set");
	const cJSON *serve_set = cJSON_GetObjectItemCaseSensitive(o, "serve_set");
	if (!cJSON_IsObject(o) || !cJSON_IsString(policy) || !cJSON_IsString(other))
		return orr_fail(err, ORR_EINPUT, "scenario: $.policies[%d]: expected \"JOBS+SERVE\" or an object with policy and serve", i);
	int rc = scenario_check_keys(o, known, err);
	if (rc)
		return rc;
	snprintf(label, sizeof label, "%.90s+%.90s", policy->valuestring, other->valuestring);
	cJSON_AddStringToObject(jobs, "policy", policy->valuestring);
	cJSON_AddStringToObject(serve, "policy", other->valuestring);
	cJSON_AddStringToObject(jobs, "label", cJSON_IsString(named) ? named->valuestring : label);
	cJSON_AddStringToObject(serve, "label", cJSON_IsString(named) ? named->valuestring : label);
	if (set)
		cJSON_AddItemToObject(jobs, "set", cJSON_Duplicate(set, 1));
	if (serve_set)
		cJSON_AddItemToObject(serve, "set", cJSON_Duplicate(serve_set, 1));
	return ORR_OK;
}

static int split_policies(const cJSON *o, struct mixed_scenario *m, struct orr_error *err)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "policies");
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0, rc = ORR_OK;
	if (!n)
		return orr_fail(err, ORR_EINPUT, "scenario: $.policies: expected a list of pairs such as [\"fifo+vllm\"]");
	cJSON *jobs = cJSON_AddArrayToObject(m->of_jobs, "policies"), *serve = cJSON_AddArrayToObject(m->of_serve, "policies");
	for (int i = 0; i < n && !rc; i++) {
		cJSON *a = cJSON_CreateObject(), *b = cJSON_CreateObject();
		cJSON_AddItemToArray(jobs, a);
		cJSON_AddItemToArray(serve, b);
		rc = split_pair(cJSON_GetArrayItem(list, i), i, a, b, err);
	}
	return rc;
}

/* ---- halves ---- */

static cJSON *half(const cJSON *o, const char *world, struct orr_error *err)
{
	const cJSON *part = cJSON_GetObjectItemCaseSensitive(o, world);
	if (!cJSON_IsObject(part)) {
		orr_fail(err, ORR_EINPUT, "scenario: $.%s: expected an object, the scenario of that world", world);
		return NULL;
	}
	for (int i = 0; shared_keys[i]; i++)
		if (cJSON_GetObjectItemCaseSensitive(part, shared_keys[i])) {
			orr_fail(err, ORR_EINPUT, "scenario: $.%s.%s: belongs to the whole scenario, as $.%s", world, shared_keys[i], shared_keys[i]);
			return NULL;
		}
	cJSON *copy = cJSON_Duplicate(part, 1);
	cJSON_AddStringToObject(copy, "world", world);
	for (int i = 0; handed_keys[i]; i++) {
		const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, handed_keys[i]);
		if (v)
			cJSON_AddItemToObject(copy, handed_keys[i], cJSON_Duplicate(v, 1));
	}
	return copy;
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
	if (!rc && !((m->of_jobs = half(scenario, "jobs", err)) && (m->of_serve = half(scenario, "serve", err))))
		rc = ORR_EINPUT;
	const cJSON *prices = cJSON_GetObjectItemCaseSensitive(scenario, "prices");
	if (!rc && prices)
		cJSON_AddItemToObject(m->of_serve, "prices", cJSON_Duplicate(prices, 1));
	return rc ? rc : split_policies(scenario, m, err);
}

/* The policies of requests go with the whole scenario into the hash, those of jobs run by run. */
void mixed_scenario_join(struct mixed_scenario *m, const struct jobs_scenario *j, const struct serve_scenario *s)
{
	cJSON *o = m->base.resolved = cJSON_CreateObject();
	size_t n = j->base.n_policies;
	m->base.policy = mem_zalloc(n, sizeof *m->base.policy);
	for (size_t i = 0; i < n; i++) {
		m->base.policy[i] = j->base.policy[i];
		m->base.policy[i].beside = &s->base.policy[i];
	}
	m->base.n_policies = n;
	cJSON_AddStringToObject(o, "world", "mixed");
	cJSON_AddStringToObject(o, "cluster", m->base.cluster_spec);
	cJSON_AddStringToObject(o, "cluster_sha256", m->base.cluster->hash);
	cJSON_AddItemToObject(o, "jobs", cJSON_Duplicate(j->base.resolved, 1));
	cJSON_AddItemToObject(o, "serve", cJSON_Duplicate(s->base.resolved, 1));
	cJSON_AddStringToObject(o, "first", m->serve_first ? "serve" : "nobody");
	cJSON_AddItemToObject(o, "failures", scenario_args_json(m->failure_options, inputs_failure_params));
	if (m->failures)
		cJSON_AddStringToObject(o, "failures_sha256", failures_hash(m->failures));
	scenario_add_seed(o, &m->base);
	inputs_add_until(o, m->until_ns);
	cJSON_AddStringToObject(o, "record", inputs_record_name(m->record));
}

void mixed_scenario_free(struct mixed_scenario *m)
{
	mem_free(m->base.policy); /* what is in it belongs to the half */
	m->base.policy = NULL;
	m->base.n_policies = 0;
	scenario_free(&m->base);
	failures_free(m->failures);
	args_free(m->failure_options);
	cJSON_Delete(m->of_jobs);
	cJSON_Delete(m->of_serve);
	*m = (struct mixed_scenario){ 0 };
}
