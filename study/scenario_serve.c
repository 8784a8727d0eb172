/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/scenario_serve.h"

#include "base/mem.h"
#include "base/num.h"

#include <stdio.h>
#include <string.h>

enum { MAX_MODELS = 4096, MAX_REPLICATIONS = 1000000 };

static const char *const known_keys[] = { "trace", "world", "format", "trace_options", "compress", "cluster", "placement", "network",
	"device", "profile", "precision", "models", "deployments", "replicas", "tp", "pp", "kv_blocks", "serve", "failures", "prices",
	"policies", "seed", "replications", "until", "record", "policy_timeout",
	/* what scenario show adds, so that its output is a scenario again */
	"trace_sha256", "cluster_sha256", "network_sha256", "devices", "profiles", "models_sha256", "failures_sha256", "serve_files_sha256",
	NULL };

/* ---- models ---- */

static int add_model(struct serve_scenario *s, const cJSON *v, struct orr_error *err)
{
	char where[64];
	struct orr_error why = { 0 };
	struct served *m = NULL;
	snprintf(where, sizeof where, "scenario: $.models[%u]", s->n_models);
	if (cJSON_IsObject(v)) {
		char *text = cJSON_PrintUnformatted(v);
		m = served_parse(where, text, strlen(text), &why);
		cJSON_free(text);
		if (!m)
			return orr_fail(err, why.code, "%s", why.text);
	} else if (!cJSON_IsString(v) || !*v->valuestring) {
		return orr_fail(err, ORR_EINPUT, "%s: expected the name of a model, a file, or a model as an object", where);
	} else if (!(m = served_load(v->valuestring, &why))) {
		return orr_fail(err, why.code, "%s: %s", where, why.text);
	}
	for (uint32_t i = 0; i < s->n_models; i++)
		if (!strcmp(s->model[i]->name, m->name)) {
			int rc = orr_fail(err, ORR_EINPUT, "%s: its name is \"%.60s\", as is that of model %u; each needs one of its own",
				where, m->name, i);
			served_free(m);
			return rc;
		}
	s->model[s->n_models++] = m;
	return ORR_OK;
}

/* "A,B", as flags have it, into a list of names. */
static void split_models(cJSON *o)
{
	cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "models");
	if (!cJSON_IsString(v))
		return;
	cJSON *list = cJSON_CreateArray();
	for (const char *p = v->valuestring; *p;) {
		size_t n = strcspn(p, ",");
		char *name = mem_strndup(p, n);
		cJSON_AddItemToArray(list, cJSON_CreateString(name));
		mem_free(name);
		p += n + (p[n] == ',');
	}
	cJSON_ReplaceItemInObjectCaseSensitive(o, "models", list);
}

static int resolve_models(cJSON *o, struct serve_scenario *s, struct orr_error *err)
{
	split_models(o);
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "models"), *v;
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : -1, rc = ORR_OK;
	if (!list)
		return orr_fail(err, ORR_EINPUT, "scenario: no model is named (--model NAME or FILE.json)");
	if (n < 1 || n > MAX_MODELS)
		return orr_fail(err, ORR_EINPUT, "scenario: $.models: expected a list of 1 to %d models", MAX_MODELS);
	s->models = cJSON_Duplicate(list, 1);
	s->model = mem_zalloc((size_t)n, sizeof(struct served *));
	cJSON_ArrayForEach(v, list)
	{
		if (!rc)
			rc = add_model(s, v, err);
	}
	return rc;
}

/* ---- the trace ---- */

/* Says which scenario it is of. */
static struct reqset *load_trace(const char *source, const cJSON *o, uint64_t seed, double compress, struct orr_error *err)
{
	char *format = NULL, *options[INPUTS_MOST_OPTIONS + 1] = { NULL };
	struct reqset *r = NULL;
	int rc = scenario_text_at(o, "format", "auto", &format, err);
	if (!rc)
		rc = inputs_trace_options(o, options, err);
	if (!rc)
		r = reqset_load(source, format, (const char *const *)options, seed, err);
	if (r && compress != 1)
		reqset_compress(r, compress);
	inputs_options_free(options);
	mem_free(format);
	return r;
}

static int resolve_trace(const cJSON *o, struct serve_scenario *s, struct orr_error *err)
{
	char *compress = NULL;
	int rc = scenario_text_at(o, "trace", NULL, &s->source, err);
	if (!rc && !s->source)
		rc = orr_fail(err, ORR_EINPUT, "scenario: no trace is named");
	if (!rc)
		rc = scenario_text_at(o, "compress", "1", &compress, err);
	if (!rc && (!num_real(compress, strlen(compress), &s->compress) || !(s->compress >= 1e-6) || s->compress > 1e6))
		rc = orr_fail(err, ORR_EINPUT,
			"compress: expected what arrivals are divided by, a number from 1e-6 to 1e6, found \"%.60s\"", compress);
	mem_free(compress);
	if (!rc && !(s->requests = load_trace(s->source, o, s->base.seed, s->compress, err)))
		rc = err && err->code ? err->code : ORR_EINPUT;
	return rc;
}

struct reqset *serve_scenario_trace(const struct serve_scenario *s, double factor, struct orr_error *err)
{
	if (!strcmp(s->source, "-")) {
		orr_fail(err, ORR_EINPUT, "trace -: standard input can be read once only; give a file");
		return NULL;
	}
	return load_trace(s->source, s->base.resolved, s->base.seed, s->compress * factor, err);
}

static int unserved(const struct serve_scenario *s, const struct request_rec *r, struct orr_error *err)
{
	char line[24] = "";
	if (r->line)
		snprintf(line, sizeof line, "%llu:", (unsigned long long)r->line);
	return orr_fail(err, ORR_EINPUT,
		"%.200s:%s request %llu asks for model \"%.60s\", which is not served (--model; serve.any_model=true takes it for the "
		"first)",
		reqset_source(s->requests), line, (unsigned long long)r->number, strtab_text(reqset_strings(s->requests), r->model));
}

/* Every model that the trace names is served, or that is told with its line now. */
static int check_rows(const struct serve_scenario *s, struct orr_error *err)
{
	const struct strtab *text = reqset_strings(s->requests);
	uint64_t n = reqset_is_loaded(s->requests) ? reqset_count(s->requests) : 0;
	uint32_t last = 0; /* was served */
	if (orr_arg_bool(s->options, "any_model"))
		return ORR_OK;
	for (uint64_t i = 0; i < n; i++) {
		const struct request_rec *r = reqset_at(s->requests, i);
		bool is_served = !r->model || r->model == last;
		for (uint32_t m = 0; !is_served && m < s->n_models; m++)
			is_served = !strcmp(s->model[m]->name, strtab_text(text, r->model));
		if (!is_served)
			return unserved(s, r, err);
		last = r->model;
	}
	return ORR_OK;
}

/* ---- the rest ---- */

static int resolve_placement(const cJSON *o, struct serve_scenario *s, struct orr_error *err)
{
	char *name = NULL;
	int rc = scenario_text_at(o, "placement", "consolidate", &name, err);
	if (!rc && !(s->placement = placement_find(name)))
		rc = orr_fail(err, ORR_EINPUT,
			"scenario: $.placement: expected count, consolidate, spread, best-fit, topology or fgd, found \"%.60s\"", name);
	mem_free(name);
	return rc;
}

static int resolve_scalars(const cJSON *o, struct serve_scenario *s, struct orr_error *err)
{
	int64_t replications = 1;
	int rc = inputs_until(o, &s->until_ns, err);
	if (!rc)
		rc = inputs_record(o, &s->record, err);
	if (!rc)
		rc = inputs_int(o, "", "replications", 1, 1, MAX_REPLICATIONS, &replications, err);
	s->replications = (uint32_t)replications;
	return rc;
}

/* "network": "none" is the same as none. */
static void drop_no_network(cJSON *o)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "network");
	if (cJSON_IsString(v) && !strcmp(v->valuestring, "none"))
		cJSON_DeleteItemFromObjectCaseSensitive(o, "network");
}

static int resolve_hardware(cJSON *o, struct serve_scenario *s, struct orr_error *err)
{
	int rc = scenario_resolve_cluster(o, &s->base, err);
	if (!rc && !s->base.cluster->gpus)
		rc = orr_fail(err, ORR_EINPUT, "cluster %.80s: has no GPUs to serve on", s->base.cluster_spec);
	if (!rc)
		rc = resolve_placement(o, s, err);
	drop_no_network(o);
	if (!rc)
		rc = setting_resolve_serving(o, &s->base, &s->set, err);
	if (!rc)
		rc = inputs_failures(o, s->base.cluster, &s->failure_options, &s->failures, err);
	if (!rc)
		rc = serve_scenario_prices(o, s, err);
	return rc;
}

static void add_number(cJSON *o, const char *key, double v)
{
	char text[NUM_REAL_MAX];
	num_put_real(text, v);
	cJSON_AddStringToObject(o, key, text);
}

/* Every value that decides the result, defaults filled in, inputs with their hashes. */
static void describe(const cJSON *given, struct serve_scenario *s)
{
	const cJSON *options = cJSON_GetObjectItemCaseSensitive(given, "trace_options");
	cJSON *o = s->base.resolved = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "world", "serve");
	cJSON_AddStringToObject(o, "trace", s->source);
	cJSON_AddStringToObject(o, "format", reqset_format(s->requests));
	cJSON_AddStringToObject(o, "trace_sha256", reqset_hash(s->requests));
	if (options)
		cJSON_AddItemToObject(o, "trace_options", cJSON_Duplicate(options, 1));
	add_number(o, "compress", s->compress);
	cJSON_AddStringToObject(o, "cluster", s->base.cluster_spec);
	cJSON_AddStringToObject(o, "cluster_sha256", s->base.cluster->hash);
	cJSON_AddStringToObject(o, "placement", s->placement->name);
	setting_describe_serving(&s->set, &s->base, o);
	cJSON_AddItemToObject(o, "models", cJSON_Duplicate(s->models, 1));
	cJSON *hashes = cJSON_AddArrayToObject(o, "models_sha256");
	for (uint32_t m = 0; m < s->n_models; m++)
		cJSON_AddItemToArray(hashes, cJSON_CreateString(s->model[m]->hash));
	cJSON_AddItemToObject(o, "deployments", serve_scenario_deployments(s));
	cJSON_AddItemToObject(o, "serve", scenario_args_json(s->options, serve_options));
	cJSON *files = scenario_files_json(s->options, serve_options);
	if (files)
		cJSON_AddItemToObject(o, "serve_files_sha256", files);
	cJSON_AddItemToObject(o, "failures", scenario_args_json(s->failure_options, inputs_failure_params));
	if (s->failures)
		cJSON_AddStringToObject(o, "failures_sha256", failures_hash(s->failures));
	cJSON_AddItemToObject(o, "prices", serve_scenario_price_list(s));
	scenario_add_seed(o, &s->base);
	add_number(o, "replications", s->replications);
	inputs_add_until(o, s->until_ns);
	cJSON_AddStringToObject(o, "record", inputs_record_name(s->record));
}

int serve_scenario_resolve(const cJSON *scenario, struct serve_scenario *s, struct orr_error *err)
{
	*s = (struct serve_scenario){ 0 };
	cJSON *o = cJSON_Duplicate(scenario, 1);
	const char *kind;
	int rc = scenario_check_keys(o, known_keys, err);
	if (!rc)
		rc = scenario_kind(o, &kind, err);
	if (!rc && strcmp(kind, "serve") != 0)
		rc = orr_fail(err, ORR_EINPUT, "scenario: $.world: expected \"serve\"");
	if (!rc)
		rc = scenario_resolve_seed(o, &s->base, err);
	if (!rc)
		rc = resolve_scalars(o, s, err);
	if (!rc && !(s->options = scenario_args_at(o, "serve", serve_options, "serve", err)))
		rc = ORR_EINPUT;
	if (!rc)
		rc = scenario_resolve_policies(o, "serve", &s->base, err);
	if (!rc)
		rc = resolve_models(o, s, err);
	if (!rc)
		rc = resolve_hardware(o, s, err);
	if (!rc)
		rc = serve_scenario_deploy(o, s, err);
	if (!rc)
		rc = serve_scenario_try_models(s, err);
	if (!rc)
		rc = resolve_trace(o, s, err);
	if (!rc)
		rc = check_rows(s, err);
	if (!rc)
		describe(o, s);
	cJSON_Delete(o);
	return rc;
}

void serve_scenario_free(struct serve_scenario *s)
{
	for (uint32_t m = 0; m < s->n_models; m++)
		served_free(s->model[m]);
	mem_free(s->model);
	cJSON_Delete(s->models);
	mem_free(s->deployment);
	mem_free(s->price_note);
	mem_free(s->times_note);
	setting_free(&s->set);
	reqset_free(s->requests);
	failures_free(s->failures);
	args_free(s->options);
	args_free(s->failure_options);
	mem_free(s->source);
	scenario_free(&s->base);
	*s = (struct serve_scenario){ 0 };
}
