/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptor of jobs and serving on one cluster and one clock, with pairs of policies. Its scenarios:
 *
 *	{ "world": "mixed",
 *	  "cluster", "placement": "consolidate",
 *	  "jobs":  {..a scenario of the jobs world without world, cluster, placement, policies, failures, seed, until..},
 *	  "serve": {..the same for the serving world..},
 *	  "policies": ["fifo+vllm", {"policy": "fifo", "serve": "vllm", "label", "set": {..}, "serve_set": {..}}],
 *	  "first": "nobody" or "serve",     (the world that may reclaim GPUs)
 *	  "failures": {"trace", "mtbf", "mttr", "types"}, "prices": "auto", "seed", "until", "record", "policy_timeout" }
 *
 * Policy i is for jobs, its `beside` is for requests. One of jobs and serve may be left out; policies then belong to the other.
 */
#include "base/mem.h"
#include "base/num.h"
#include "jobs/scenario.h"
#include "mixed/mixed.h"
#include "serve/scenario.h"
#include "world/inputs_capacity.h"
#include "world/isolate.h"
#include "world/remarks.h"

#include <stdio.h>
#include <string.h>

struct mixed_state {
	cJSON *of_jobs, *of_serve;     /* complete scenarios of the two worlds; NULL: none */
	struct scenario *jobs, *serve; /* open; NULL: none */
	struct world_output output;    /* output of the parts */
	struct serve_prices prices;    /* prices if no requests are served */
	struct failures *failures;
	struct inputs_capacity capacity;
	struct orr_args *failure_options;
};

extern const struct world world_mixed;

/* Keys of the mixed scenario that its parts must not have. */
static const char *const shared_keys[] = { "world", "cluster", "cluster_sha256", "placement", "policies", "failures", "failures_sha256",
	"capacity", "capacity_sha256", "capacity_prices_sha256", "prices", "seed", "replications", "until_precision", "precision_of",
	"compare", "equal_within", "until", "record", "policy_timeout", NULL };
/* Keys of the mixed scenario that are copied to both parts. */
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

/* Splits an entry with two policies into one entry for each world. */
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

static int split_policies(const cJSON *list, struct mixed_state *m, struct orr_error *err)
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
		scenario_spell_out_pair(entry, &world_mixed);
		if (!rc)
			rc = split_pair(entry, i++, a, b, err);
	}
	cJSON_Delete(all);
	return rc;
}

static int resolve_policies(const cJSON *o, struct mixed_state *m, struct orr_error *err)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "policies");
	if (!cJSON_IsArray(list) || !cJSON_GetArraySize(list))
		return orr_fail(err, ORR_EINPUT, "scenario: $.policies: expected a list of %s",
			m->of_jobs && m->of_serve ? "pairs such as [\"fifo+vllm\"]" : "policies of the only part");
	if (m->of_jobs && m->of_serve)
		return split_policies(list, m, err);
	cJSON_AddItemToObject(m->of_jobs ? m->of_jobs : m->of_serve, "policies", cJSON_Duplicate(list, 1));
	return ORR_OK;
}

/* ---- halves ---- */

/* Makes a complete scenario of one world; *out stays NULL if the mixed scenario lacks this world. */
static int half(const cJSON *o, const char *world, cJSON **out, struct orr_error *err)
{
	const cJSON *part = cJSON_GetObjectItemCaseSensitive(o, world);
	if (!part)
		return ORR_OK;
	if (!cJSON_IsObject(part))
		return orr_fail(err, ORR_EINPUT, "scenario: $.%s: expected an object, the scenario of that world", world);
	for (int i = 0; shared_keys[i]; i++)
		if (cJSON_GetObjectItemCaseSensitive(part, shared_keys[i]))
			return orr_fail(err, ORR_EINPUT, "scenario: $.%s.%s: this key belongs to the mixed scenario: expected $.%s", world,
				shared_keys[i], shared_keys[i]);
	*out = cJSON_Duplicate(part, 1);
	cJSON_AddStringToObject(*out, "world", world);
	for (int i = 0; handed_keys[i]; i++)
		add_copy(*out, handed_keys[i], o, handed_keys[i]);
	if (!cJSON_GetObjectItemCaseSensitive(*out, "placement"))
		cJSON_AddStringToObject(*out, "placement", "consolidate");
	return ORR_OK;
}

/* With notice, the service places new replicas next to those that drain. */
static void hand_notice(const struct mixed_state *m)
{
	int64_t notice_ns = m->capacity.is_given ? m->capacity.config.notice_ns : 0;
	char text[NUM_SECONDS_MAX];
	cJSON *options = cJSON_GetObjectItemCaseSensitive(m->of_serve, "serve");
	if (!m->of_serve || !notice_ns || (options && cJSON_GetObjectItemCaseSensitive(options, "notice")))
		return;
	num_put_seconds(text, notice_ns);
	cJSON_AddStringToObject(options ? options : cJSON_AddObjectToObject(m->of_serve, "serve"), "notice", text);
}

static int resolve_halves(const cJSON *o, struct mixed_state *m, struct orr_error *err)
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
	return rc ? rc : resolve_policies(o, m, err);
}

/* Adds the path of the part, $.jobs or $.serve, before the path in the message. */
static int blame(const char *half, struct orr_error *err)
{
	static const char before[] = "scenario: ";
	if (strncmp(err->text, before, sizeof before - 1) != 0)
		return err->code;
	struct orr_error inner = *err;
	const char *text = inner.text + sizeof before - 1;
	bool has_place = !strncmp(text, "$.", 2);
	return orr_fail(err, inner.code, "%s$.%s%s%s", before, half, has_place ? "." : ": ", has_place ? text + 2 : text);
}

static int open_halves(const struct scenario *s, struct mixed_state *m, struct orr_error *err)
{
	m->output = *s->output;
	if (m->of_jobs && !(m->jobs = scenario_open(m->of_jobs, &m->output, err)))
		return blame("jobs", err);
	if (!m->of_serve)
		return serve_prices_read(&m->prices, s->given, s->cluster, NULL, err);
	if (!(m->serve = scenario_open(m->of_serve, &m->output, err)))
		return blame("serve", err);
	return ORR_OK;
}

/* ---- both together ---- */

static void take_policies(struct scenario *s, const struct scenario *first, const struct scenario *beside)
{
	s->n_policies = first->n_policies;
	s->policy = mem_zalloc(first->n_policies, sizeof *s->policy);
	for (size_t i = 0; i < first->n_policies; i++) {
		s->policy[i] = first->policy[i];
		s->policy[i].beside = beside ? &beside->policy[i] : NULL;
		s->policy[i].is_isolated |= beside && isolate_has(&beside->policy[i]);
	}
}

/* Returns the part's own scenario, without the keys of the whole scenario. */
static cJSON *own_part(const cJSON *resolved)
{
	cJSON *o = cJSON_Duplicate(resolved, 1);
	for (int i = 0; shared_keys[i]; i++)
		cJSON_DeleteItemFromObjectCaseSensitive(o, shared_keys[i]);
	return o;
}

static const struct serve_prices *prices_of(const struct mixed_state *m)
{
	return m->serve ? &((const struct serve_state *)m->serve->state)->prices : &m->prices;
}

static const char *placement_of(const struct mixed_state *m)
{
	return m->jobs ? ((const struct jobs_state *)m->jobs->state)->placement->name
		       : ((const struct serve_state *)m->serve->state)->placement->name;
}

static void describe(struct scenario *s, const struct mixed_state *m)
{
	cJSON *o = s->resolved = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "world", "mixed");
	cJSON_AddStringToObject(o, "cluster", s->cluster_spec);
	cJSON_AddStringToObject(o, "cluster_sha256", s->cluster->hash);
	cJSON_AddStringToObject(o, "placement", placement_of(m));
	if (m->jobs)
		cJSON_AddItemToObject(o, "jobs", own_part(m->jobs->resolved));
	if (m->serve)
		cJSON_AddItemToObject(o, "serve", own_part(m->serve->resolved));
	cJSON_AddStringToObject(o, "first", orr_arg_text(s->keys, "first"));
	cJSON_AddItemToObject(o, "failures", scenario_args_json(m->failure_options, inputs_failure_params));
	if (m->failures)
		cJSON_AddStringToObject(o, "failures_sha256", failures_hash(m->failures));
	inputs_add_capacity(o, &m->capacity);
	cJSON_AddItemToObject(o, "prices", serve_price_list(prices_of(m), s->cluster));
	scenario_add_seed(o, s);
	scenario_add_until(o, s);
	scenario_add_record(o, s);
}

static int open_mixed(struct scenario *s, struct orr_error *err)
{
	struct mixed_state *m = s->state = mem_zalloc(1, sizeof *m);
	int rc = inputs_failures(s->given, s->cluster, &m->failure_options, &m->failures, err);
	if (!rc)
		rc = inputs_capacity(s->given, s->cluster, s->seed, m->failures, &m->capacity, err);
	if (!rc && m->capacity.is_given && (m->capacity.config.repeats || !availset_has_end(m->capacity.set)) && s->until_ns == ORR_NEVER)
		rc = orr_fail(err, ORR_EINPUT,
			"scenario: $.capacity.trace: the trace of instances has no end: expected a length and no repeat, or $.until");
	if (!rc)
		rc = resolve_halves(s->given, m, err);
	if (!rc)
		rc = open_halves(s, m, err);
	if (rc)
		return rc;
	if (m->jobs)
		m->jobs->whole = s;
	if (m->serve)
		m->serve->whole = s;
	take_policies(s, m->jobs ? m->jobs : m->serve, m->jobs ? m->serve : NULL);
	describe(s, m);
	return ORR_OK;
}

static void close_mixed(struct scenario *s)
{
	struct mixed_state *m = s->state;
	mem_free(s->policy); /* the part owns its contents */
	s->policy = NULL;
	s->n_policies = 0;
	scenario_close(m->jobs);
	scenario_close(m->serve);
	serve_prices_free(&m->prices);
	failures_free(m->failures);
	inputs_capacity_free(&m->capacity);
	args_free(m->failure_options);
	cJSON_Delete(m->of_jobs);
	cJSON_Delete(m->of_serve);
	mem_free(m);
}

/* ---- runs ---- */

static void configure_halves(const struct mixed_state *m, size_t i, struct mixed_config *c)
{
	if (m->jobs) {
		const struct scenario_policy *p = &m->jobs->policy[i];
		const struct jobs_state *jobs = m->jobs->state;
		c->jobs = jobs->config;
		c->jobs.used = &jobs->used[i];
		c->jobs_policy = p->entry.policy;
		c->jobs_args = p->args;
		c->placement = jobs->placement;
	}
	if (m->serve) {
		const struct scenario_policy *p = &m->serve->policy[i];
		const struct serve_state *serve = m->serve->state;
		c->serve = serve->config;
		c->serve.used = &serve->used[i];
		c->serve.failures = m->failures; /* failures of the whole cluster: nodes of the service can fail too */
		c->serve_policy = p->entry.policy;
		c->serve_args = p->args;
		c->placement = serve->placement;
	}
}

static bool is_mixed_random(const struct scenario *s)
{
	const struct mixed_state *m = s->state;
	return (m->jobs && scenario_is_random(m->jobs)) || (m->serve && scenario_is_random(m->serve)) || failures_are_random(m->failures) ||
	       inputs_capacity_is_random(&m->capacity);
}

static double size_of_parts(const struct scenario *s)
{
	const struct mixed_state *m = s->state;
	return (m->jobs ? m->jobs->world->size(m->jobs) : 0) + (m->serve ? m->serve->world->size(m->serve) : 0);
}

static int run_mixed(
	struct scenario *s, size_t i, uint32_t k, struct run_result *r, world_progress progress, void *ctx, struct orr_error *err)
{
	const struct mixed_state *m = s->state;
	const struct serve_prices *prices = prices_of(m);
	struct capacity_config capacity = m->capacity.config;
	struct mixed_config c = { .cluster = s->cluster,
		.failures = m->failures,
		.capacity = m->capacity.is_given ? &capacity : NULL,
		.serve_first = !strcmp(orr_arg_text(s->keys, "first"), "serve"),
		.usd_per_gpu_hour = prices->is_known ? prices->usd_per_gpu_hour : NULL,
		.seed = s->seed,
		.replication = k,
		.until_ns = s->until_ns,
		.check = s->output->check,
		.progress = progress,
		.progress_ctx = ctx };
	if (s->record == RECORD_EXPLAIN && !s->output->db)
		return orr_fail(err, ORR_EINPUT, "record: \"explain\" needs a database for the parts of times: expected --db FILE");
	capacity.replication = k;
	configure_halves(m, i, &c);
	c.compare = c.placement == placement_find("consolidate") ? NULL : placement_find("consolidate");
	c.jobs.replication = c.serve.replication = k;
	c.jobs.record_jobs &= !k;
	c.serve.record_requests &= !k;
	c.jobs.explain &= !k;
	c.serve.explain &= !k;
	int rc = mixed_run(&c, s->policy[i].label, r, err);
	if (!rc && prices->note)
		result_note(r, "prices", prices->note);
	return rc;
}

/* ---- runs in separate processes ---- */

/* Lists the parts. */
static size_t parts_of(const struct scenario *s, struct scenario **part)
{
	const struct mixed_state *m = s->state;
	size_t n = 0;
	if (m->jobs)
		part[n++] = m->jobs;
	if (m->serve)
		part[n++] = m->serve;
	return n;
}

static int load_mixed(struct scenario *s, size_t i, struct orr_error *err)
{
	struct scenario *part[2];
	size_t n = parts_of(s, part);
	int rc = ORR_OK;
	for (size_t k = 0; k < n && !rc; k++)
		rc = registry_find(part[k]->policy[i].spec, part[k]->world, &part[k]->policy[i].entry, err);
	return rc;
}

/* Each part: the number of its bytes, and its bytes. */
static void give_mixed(const struct scenario *s, size_t i, struct sbuf *out)
{
	struct scenario *part[2];
	size_t n = parts_of(s, part);
	for (size_t k = 0; k < n; k++) {
		struct sbuf own = { 0 };
		part[k]->world->give(part[k], i, &own);
		sbuf_add(out, (const char *)&own.len, sizeof own.len);
		sbuf_add(out, own.text, own.len);
		sbuf_free(&own);
	}
}

static bool take_mixed(struct scenario *s, size_t i, const char *bytes, size_t n)
{
	struct scenario *part[2];
	size_t parts = parts_of(s, part), own;
	for (size_t k = 0; k < parts; k++) {
		if (n < sizeof own)
			return false;
		memcpy(&own, bytes, sizeof own);
		bytes += sizeof own;
		n -= sizeof own;
		if (own > n || !part[k]->world->take(part[k], i, bytes, own))
			return false;
		bytes += own;
		n -= own;
	}
	return true;
}

static void note_mixed(const struct scenario *s, size_t i, struct run_result *r)
{
	struct scenario *part[2];
	size_t n = parts_of(s, part);
	remarks_add_parts((const struct scenario *const *)part, n, i, r);
}

/* ---- the descriptor ---- */

static const char *const parts[] = { "jobs", "serve", NULL };

/* clang-format off */
static const struct orr_param keys[] = {
	SCENARIO_KEY_CLUSTER,
	SCENARIO_KEY_PLACEMENT("consolidate"),
	ORR_PARAM_CHOICE("first", "nobody", "nobody|serve", "serve: a replica that lacks free GPUs takes GPUs from jobs; nobody: the replica waits"),
	SCENARIO_KEY_UNTIL,
	SCENARIO_KEY_RECORD,
	ORR_PARAM_END
};
static const struct world_object objects[] = {
	{ "jobs", NULL, "a scenario of the jobs world, without the keys of the mixed scenario", NULL },
	{ "serve", NULL, "a scenario of the serving world, without the keys of the mixed scenario", NULL },
	{ "failures", inputs_failure_params, "nodes that fail and are repaired", NULL },
	{ "capacity", inputs_capacity_params, "nodes that are lent; excludes failures", NULL },
	{ "prices", NULL, "USD per GPU and hour: auto, none, TYPE=USD,.. or an object with such keys",
		"{\"oneOf\": [{\"type\": \"string\"}, {\"type\": \"object\", \"additionalProperties\": {\"$ref\": \"#/$defs/scalar\"}}]}" },
	{ NULL, NULL, NULL, NULL }
};
static const char *const shown[] = { "cluster_sha256", "failures_sha256", "capacity_sha256", "capacity_prices_sha256", NULL };
static const struct world_input inputs[] = {
	{ "cluster", NULL }, { "failures.trace", NULL }, { "capacity.trace", "capacity_sha256" },
	{ "capacity.prices", "capacity_prices_sha256" }, { NULL, NULL }
};
/* clang-format on */

static const struct report_column columns[] = { { "jobs.jct_mean", "JCT mean", REPORT_TIME, NULL, true },
	{ "jobs.jct_p99", "JCT p99", REPORT_TIME, NULL }, { "jobs.restarts", "restarts", REPORT_NUMBER, NULL },
	{ "serve.requests_completed", "requests", REPORT_NUMBER, NULL }, { "serve.ttft_p99", "TTFT p99", REPORT_SHORT_TIME, NULL, true },
	{ "serve.attainment", "SLO kept", REPORT_FRACTION, NULL }, { "jobs_gpu_hours", "GPU h of jobs", REPORT_NUMBER, NULL },
	{ "serve_gpu_hours", "of replicas", REPORT_NUMBER, NULL }, { "idle_gpu_hours", "idle", REPORT_NUMBER, NULL },
	{ "usd", "USD", REPORT_NUMBER, NULL }, { NULL, NULL, REPORT_NUMBER, NULL } };

const struct world world_mixed = { .name = "mixed",
	.doc = "jobs and serving on one cluster and one clock",
	.parts = parts,
	.keys = keys,
	.objects = objects,
	.shown = shown,
	.inputs = inputs,
	.form = { .parts = parts, .columns = columns },
	.open = open_mixed,
	.is_random = is_mixed_random,
	.size = size_of_parts,
	.run = run_mixed,
	.load = load_mixed,
	.give = give_mixed,
	.take = take_mixed,
	.note = note_mixed,
	.close = close_mixed };
