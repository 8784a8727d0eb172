/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/scenario.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/sbuf.h"
#include "world/gpu_types.h"

#include <stdio.h>
#include <string.h>

enum { MAX_MODELS = 4096 };

/* ---- models ---- */

static int add_model(struct serve_state *s, const cJSON *v, struct orr_error *err)
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
			int rc = orr_fail(
				err, ORR_EINPUT, "%s: duplicate name \"%.60s\" (of model %u): expected a unique name", where, m->name, i);
			served_free(m);
			return rc;
		}
	s->model[s->n_models++] = m;
	return ORR_OK;
}

/* Reads "A,B" of --set into a list of names. */
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

/* Rejoins networks that split_models() has split at the commas between their dimensions: "vit:width=384", "image=192". */
static void join_dimensions(cJSON *list)
{
	for (cJSON *v = list ? list->child : NULL, *after; v; v = after) {
		after = v->next;
		const char *name = cJSON_GetStringValue(v), *next = after ? cJSON_GetStringValue(after) : NULL;
		if (!name || !next || !strchr(name, ':') || !strchr(next, '=') || memchr(next, ':', strcspn(next, "=")))
			continue;
		struct sbuf b = { 0 };
		sbuf_printf(&b, "%s,%s", name, next);
		cJSON_SetValuestring(v, sbuf_text(&b));
		sbuf_free(&b);
		cJSON_Delete(cJSON_DetachItemViaPointer(list, after));
		after = v; /* more dimensions may follow */
	}
}

static int resolve_models(cJSON *o, struct serve_state *s, struct orr_error *err)
{
	split_models(o);
	join_dimensions(cJSON_GetObjectItemCaseSensitive(o, "models"));
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "models"), *v;
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : -1, rc = ORR_OK;
	if (!list)
		return orr_fail(err, ORR_EINPUT, "scenario: expected a model (--model NAME or FILE.json)");
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

static int resample(const struct scenario *s, struct reqset *r, struct orr_error *err)
{
	int64_t block_ns;
	int rc = inputs_resample(s, &block_ns, err);
	if (!rc && block_ns && strcmp(orr_arg_text(s->options, "sessions"), "none") != 0)
		rc = orr_fail(err, ORR_EINPUT,
			"scenario: $.resample: expected no resampling with serve.sessions, because the blocks of resampling would cut "
			"sessions");
	return rc || !block_ns ? rc : reqset_resample(r, block_ns, s->seed, err);
}

/* Loads the trace. o: the scenario, as given or resolved, for trace_options. */
static struct reqset *load_trace(const struct scenario *s, const cJSON *o, double compress, struct orr_error *err)
{
	char *options[INPUTS_MOST_OPTIONS + 1] = { NULL };
	struct reqset *r = NULL;
	if (!inputs_trace_options(o, options, err))
		r = reqset_load(
			orr_arg_text(s->keys, "trace"), orr_arg_text(s->keys, "format"), (const char *const *)options, s->seed, err);
	if (r && compress != 1)
		reqset_compress(r, compress);
	inputs_options_free(options);
	if (r && resample(s, r, err)) {
		reqset_free(r);
		return NULL;
	}
	return r;
}

struct reqset *serve_state_trace(const struct scenario *s, double factor, struct orr_error *err)
{
	if (!strcmp(orr_arg_text(s->keys, "trace"), "-")) {
		orr_fail(err, ORR_EINPUT, "trace -: standard input can be read only once: expected a file");
		return NULL;
	}
	return load_trace(s, s->resolved, orr_arg_real(s->keys, "compress") * factor, err);
}

static int unserved(const struct serve_state *s, const struct request_rec *r, struct orr_error *err)
{
	char line[24] = "";
	if (r->line)
		snprintf(line, sizeof line, "%llu:", (unsigned long long)r->line);
	return orr_fail(err, ORR_EINPUT,
		"%.200s:%s request %llu names model \"%.60s\": expected a served model (--model), or serve.any_model=true, which uses the "
		"first one",
		reqset_source(s->requests), line, (unsigned long long)r->number, strtab_text(reqset_strings(s->requests), r->model));
}

/* Refuses a trace with a model that is not served. */
static int check_rows(const struct scenario *x, const struct serve_state *s, struct orr_error *err)
{
	const struct strtab *text = reqset_strings(s->requests);
	uint64_t n = reqset_is_loaded(s->requests) ? reqset_count(s->requests) : 0;
	uint32_t last = 0; /* was served */
	if (orr_arg_bool(x->options, "any_model"))
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

/* Returns the model that serves the row, if it is a language model or its table has lengths; NULL: another model, or none. */
static const struct served *token_model_of(const struct serve_state *s, const struct request_rec *r, bool takes_any)
{
	const struct served *m = s->n_models == 1 || takes_any ? s->model[0] : NULL;
	for (uint32_t i = 0; r->model && i < s->n_models; i++)
		if (!strcmp(s->model[i]->name, strtab_text(reqset_strings(s->requests), r->model)))
			m = s->model[i];
	return m && (m->kind == SERVED_LLM || m->n_lengths) ? m : NULL;
}

static int no_tokens(const struct serve_state *s, const struct served *m, bool has_prompt, bool has_output, struct orr_error *err)
{
	const char *what = has_prompt ? "no output tokens" : has_output ? "no prompt tokens" : "neither prompt nor output tokens";
	return orr_fail(err, ORR_EINPUT, "%.200s: the requests of this trace have %s, but %.80s is a language model: expected %s",
		reqset_source(s->requests), what, m->name,
		reqset_is_loaded(s->requests)
			? "the columns prompt_tokens and output_tokens, or another trace (orrery trace list)"
			: "both options of the generator, as in prompt=500,output=100 or prompt=azure-conv,output=azure-conv");
}

static int no_lengths(const struct serve_state *s, const struct served *m, struct orr_error *err)
{
	return orr_fail(err, ORR_EINPUT,
		"%.200s: the requests of this trace have no prompt tokens, but the latency of %.80s depends on them: %s",
		reqset_source(s->requests), m->name,
		reqset_is_loaded(s->requests) ? "expected the column prompt_tokens"
					      : "expected an option of the generator, as in prompt=100");
}

/* Refuses a trace whose requests for language models all lack prompt tokens, or all lack output tokens, or whose requests for tables with
 * lengths all lack prompt tokens. For a generator, the first rows are representative. */
static int check_tokens(const struct scenario *x, const struct serve_state *s, struct orr_error *err)
{
	enum { GENERATED = 1000 };
	bool takes_any = orr_arg_bool(x->options, "any_model"), has_prompt = false, has_output = false, has_length = false;
	uint64_t most = reqset_is_loaded(s->requests) ? UINT64_MAX : GENERATED;
	const struct served *wants = NULL, *wants_length = NULL;
	struct reqcursor *c = reqset_open(s->requests, 0);
	struct request_rec r;
	for (uint64_t i = 0; i < most && !(has_prompt && has_output && has_length) && reqcursor_next(c, &r); i++) {
		const struct served *m = token_model_of(s, &r, takes_any);
		if (!m)
			continue;
		if (m->kind == SERVED_LLM) {
			wants = m;
			has_prompt |= r.prompt_tokens > 0;
			has_output |= r.output_tokens > 0;
		} else {
			wants_length = m;
			has_length |= r.prompt_tokens > 0;
		}
	}
	reqcursor_close(c);
	if (wants && !(has_prompt && has_output))
		return no_tokens(s, wants, has_prompt, has_output, err);
	return wants_length && !has_length ? no_lengths(s, wants_length, err) : ORR_OK;
}

/* ---- other keys ---- */

static void add_number(cJSON *o, const char *key, double v)
{
	char text[NUM_REAL_MAX];
	num_put_real(text, v);
	cJSON_AddStringToObject(o, key, text);
}

/* Adds the parameters of a router, which then stand for the text of serve.router in the hash of a run, and the hash of a plugin. */
static void add_router(cJSON *o, const struct router_choice *c)
{
	const struct orr_param *table = c->entry.policy->params;
	if (!*c->entry.plugin_hash && (!table || !table->name))
		return;
	cJSON *set = scenario_args_json(c->args, table), *files = scenario_files_json(c->args, table);
	cJSON_AddStringToObject(set, "router", *c->entry.plugin_hash ? c->entry.plugin_hash : c->entry.name);
	cJSON_AddItemToObject(o, "router", set);
	if (files)
		cJSON_AddItemToObject(o, "router_files_sha256", files);
}

/* Writes every value that affects results, with defaults, and hashes of inputs. */
static void describe(struct scenario *s, const struct serve_state *t)
{
	const cJSON *options = cJSON_GetObjectItemCaseSensitive(s->given, "trace_options");
	cJSON *o = s->resolved = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "world", "serve");
	cJSON_AddStringToObject(o, "trace", orr_arg_text(s->keys, "trace"));
	cJSON_AddStringToObject(o, "format", reqset_format(t->requests));
	cJSON_AddStringToObject(o, "trace_sha256", reqset_hash(t->requests));
	if (options)
		cJSON_AddItemToObject(o, "trace_options", cJSON_Duplicate(options, 1));
	inputs_add_resample(o, s);
	add_number(o, "compress", orr_arg_real(s->keys, "compress"));
	cJSON_AddStringToObject(o, "cluster", s->cluster_spec);
	cJSON_AddStringToObject(o, "cluster_sha256", s->cluster->hash);
	cJSON_AddStringToObject(o, "placement", t->placement->name);
	setting_describe_serving(&t->set, s, o);
	cJSON_AddStringToObject(o, "weights", orr_arg_text(s->keys, "weights"));
	cJSON_AddStringToObject(o, "kv_precision", orr_arg_text(s->keys, "kv_precision"));
	cJSON_AddItemToObject(o, "models", cJSON_Duplicate(t->models, 1));
	cJSON *hashes = cJSON_AddArrayToObject(o, "models_sha256");
	for (uint32_t m = 0; m < t->n_models; m++)
		cJSON_AddItemToArray(hashes, cJSON_CreateString(t->model[m]->hash));
	cJSON_AddItemToObject(o, "deployments", serve_state_deployments(s));
	scenario_add_options(o, s);
	add_router(o, &t->router);
	cJSON_AddItemToObject(o, "failures", scenario_args_json(t->failure_options, inputs_failure_params));
	if (t->failures)
		cJSON_AddStringToObject(o, "failures_sha256", failures_hash(t->failures));
	cJSON_AddItemToObject(o, "prices", serve_price_list(&t->prices, s->cluster));
	scenario_add_seed(o, s);
	scenario_add_until(o, s);
	scenario_add_warm_up(o, s);
	scenario_add_record(o, s);
}

static int load_hardware(struct scenario *s, struct serve_state *t, struct orr_error *err)
{
	if (!s->cluster->gpus)
		return orr_fail(err, ORR_EINPUT, "cluster %.80s: expected at least one GPU", s->cluster_spec);
	t->placement = placement_find(orr_arg_text(s->keys, "placement"));
	int rc = setting_resolve_serving(s, &t->set, err);
	if (!rc)
		rc = inputs_failures(s->given, s->cluster, &t->failure_options, &t->failures, err);
	if (!rc)
		rc = serve_prices_read(&t->prices, s->given, s->cluster, t->set.device, err);
	return rc;
}

/* Sets the formats of weights and of KV caches. */
static void set_precisions(const struct scenario *s, struct serve_state *t)
{
	struct quantisation *q = &t->quant;
	q->precision = t->set.precision;
	format_named(orr_arg_text(s->keys, "weights"), &q->weights);
	format_named(orr_arg_text(s->keys, "kv_precision"), &q->kv);
	q->group = (double)orr_arg_int(s->options, "weight_group");
	q->group_bits = orr_arg_real(s->options, "weight_group_bits");
	q->has_head = orr_arg_bool(s->options, "quantised_head");
	for (uint32_t m = 0; m < t->n_models; m++)
		served_set_precision(t->model[m], q);
}

/* Loads the default network, because replicas by layers with several GPUs may be on several nodes. */
static int load_default_network(const struct scenario *s, struct serve_state *t, struct orr_error *err)
{
	bool may_span = false;
	for (uint32_t d = 0; d < t->n_deployments; d++)
		may_span |= t->deployment[d].tp * t->deployment[d].pp > 1;
	bool has_layers = false;
	for (uint32_t m = 0; m < t->n_models; m++)
		has_layers |= served_dnn(t->model[m]) != NULL;
	if (t->set.topo || !may_span || !has_layers || s->cluster->n_nodes < 2)
		return ORR_OK;
	t->default_topo = setting_default_network(s, &t->set, err);
	return t->default_topo ? ORR_OK : ORR_EINPUT;
}

static bool is_deployed_on(const void *ctx, const char *type)
{
	const struct scenario *s = ctx;
	const struct serve_state *t = s->state;
	uint32_t number = cluster_type(s->cluster, type, strlen(type));
	for (uint32_t i = 0; i < t->n_deployments; i++)
		if (t->deployment[i].gpu_types >> number & 1)
			return true;
	return false;
}

static int check_gpu_types(const struct scenario *s, const struct serve_state *t, struct orr_error *err)
{
	return t->set.device_spec
		       ? ORR_OK
		       : gpu_types_check(s->cluster, is_deployed_on, s, ", and a deployment may name other types (gpu_types)", err);
}

int serve_state_load(struct scenario *s, struct serve_state *t, struct orr_error *err)
{
	int rc = resolve_models(s->given, t, err);
	if (!rc)
		rc = load_hardware(s, t, err);
	if (!rc)
		set_precisions(s, t);
	if (!rc)
		rc = serve_state_deploy(s, err);
	if (!rc)
		rc = check_gpu_types(s, t, err);
	if (!rc)
		rc = load_default_network(s, t, err);
	if (!rc)
		rc = serve_state_try_models(s, err);
	if (!rc && !*orr_arg_text(s->keys, "trace"))
		rc = orr_fail(err, ORR_EINPUT, "scenario: expected a trace");
	if (!rc && !(t->requests = load_trace(s, s->given, orr_arg_real(s->keys, "compress"), err)))
		rc = err->code ? err->code : ORR_EINPUT;
	if (!rc && !(t->quality = quality_new(orr_arg_text(s->options, "quality"), err)))
		rc = err->code;
	if (!rc)
		rc = router_choose(orr_arg_text(s->options, "router"), !s->output->in_process, &t->router, err);
	if (!rc)
		rc = check_rows(s, t, err);
	if (!rc)
		rc = check_tokens(s, t, err);
	if (!rc)
		describe(s, t);
	return rc;
}

void serve_state_free(struct serve_state *t)
{
	mem_free(t->used);
	for (uint32_t m = 0; m < t->n_models; m++)
		served_free(t->model[m]);
	mem_free(t->model);
	for (size_t i = 0; i < t->n_placed; i++)
		served_free(t->placed[i]);
	mem_free(t->placed);
	cJSON_Delete(t->models);
	mem_free(t->deployment);
	serve_prices_free(&t->prices);
	quality_free(t->quality);
	router_choice_free(&t->router);
	mem_free(t->times_note);
	mem_free(t->cache_note);
	setting_free(&t->set);
	topo_free(t->default_topo);
	reqset_free(t->requests);
	failures_free(t->failures);
	args_free(t->failure_options);
	mem_free(t);
}
