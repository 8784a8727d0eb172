/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The serving world's descriptor: policies on one trace of requests. */
#include "base/mem.h"
#include "results/batches.h"
#include "serve/find_rate.h"
#include "serve/find_replicas.h"
#include "serve/router.h"
#include "serve/speculate.h"
#include "serve/scenario.h"
#include "traces/trace.h"
#include "world/isolate.h"
#include "world/registry.h"
#include "world/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ROWS = 1000000 };

/* ---- from the scenario to a run ---- */

static void configure(const struct scenario *s, struct serve_state *t)
{
	const struct world_output *o = s->output;
	for (uint32_t i = 0; i < CLUSTER_MAX_TYPES; i++) {
		t->device[i] = t->set.device[i];
		t->profile[i] = t->set.profile[i];
	}
	/* A comparison of several policies reads rows, and figures may read them. */
	bool wants_rows = o->db || o->out_dir || o->is_series || s->n_policies > 1;
	t->config = (struct serve_config){ .requests = t->requests,
		.cluster = s->cluster,
		.placement = t->placement,
		.compare = t->placement == placement_find("consolidate") ? NULL : placement_find("consolidate"),
		.topo = t->set.topo,
		.group_topo = t->set.topo ? t->set.topo : t->default_topo,
		.placed = t->placed,
		.model = t->model,
		.n_models = t->n_models,
		.device = t->device,
		.profile = t->profile,
		.precision = t->set.precision,
		.deployment = t->deployment,
		.n_deployments = t->n_deployments,
		.failures = t->failures,
		.options = s->options,
		.quality = t->quality,
		.usd_per_gpu_hour = t->prices.is_known ? t->prices.usd_per_gpu_hour : NULL,
		.seed = s->seed,
		.until_ns = s->until_ns,
		.warm_up = s->warm_up,
		.check = o->check,
		.record_requests = scenario_keeps_rows(s) && wants_rows,
		.explain = s->record == RECORD_EXPLAIN && wants_rows,
		.max_rows = s->record == RECORD_SAMPLE ? SERVE_SAMPLE_ROWS : MAX_ROWS,
		.policy_timeout_s = s->policy_timeout_s };
}

static void close_serve(struct scenario *s)
{
	serve_state_free(s->state);
}

/* ---- roles ---- */

/* Appends the names of the policies with a flag: "splitwise". */
static void names_with(const struct world *world, unsigned flag, struct sbuf *b)
{
	char name[64];
	for (const struct orr_policy *const *p = world->policies; *p; p++) {
		if (!((*p)->flags & flag))
			continue;
		registry_display_name((*p)->name, name, sizeof name);
		sbuf_printf(b, "%s%s", b->len ? ", " : "", name);
	}
}

/* A policy without an accepted flag would leave decode replicas idle. */
static int refuse_roles(
	const struct scenario *s, const struct scenario_policy *p, uint32_t deployment, unsigned accepted, struct orr_error *err)
{
	struct sbuf names = { 0 };
	bool lacks_prefill = p->entry.policy->flags & ORR_SERVE_HANDS_OFF;
	names_with(s->world, accepted, &names);
	int rc = orr_fail(err, ORR_EINPUT,
		lacks_prefill
			? "policy %.80s: $.deployments[%u] has a role, but no deployment has the role prefill, from whose replicas "
			  "requests are sent on: expected a deployment with this role, a policy that sends requests on itself (%s), "
			  "or \"role\": \"both\""
			: "policy %.80s: the policy treats all replicas alike, but $.deployments[%u] has a role: expected a policy with "
			  "roles (%s), a plugin with the flag ORR_SERVE_ROLES or ORR_SERVE_HANDS_OFF, or \"role\": \"both\"",
		p->label, deployment, sbuf_text(&names));
	sbuf_free(&names);
	return rc;
}

/* Each model needs replicas for its prompts and for its decodes. */
static int check_pools(const struct serve_state *t, uint32_t model, struct orr_error *err)
{
	bool prefills = false, decodes = false;
	for (uint32_t d = 0; d < t->n_deployments; d++) {
		const struct serve_deployment *x = &t->deployment[d];
		if (x->model != model && x->model != UINT32_MAX)
			continue;
		prefills |= x->role != ORR_ROLE_DECODE;
		decodes |= x->role != ORR_ROLE_PREFILL;
	}
	if (prefills == decodes)
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT,
		"scenario: $.deployments: model %.80s has replicas for %s only: expected also replicas with the role %s or both",
		t->model[model]->name, prefills ? "prefill" : "decode", prefills ? "decode" : "prefill");
}

static int check_roles(const struct scenario *s, struct orr_error *err)
{
	const struct serve_state *t = s->state;
	uint32_t first = 0;
	while (first < t->n_deployments && t->deployment[first].role == ORR_ROLE_BOTH)
		first++;
	if (first == t->n_deployments)
		return ORR_OK;
	unsigned accepting = ORR_SERVE_ROLES;
	for (uint32_t d = 0; d < t->n_deployments; d++)
		accepting |= t->deployment[d].role == ORR_ROLE_PREFILL ? ORR_SERVE_HANDS_OFF
								       : 0; /* without prefill replicas no request is sent */
	for (size_t i = 0; i < s->n_policies; i++)
		if (!(s->policy[i].entry.policy->flags & accepting))
			return refuse_roles(s, &s->policy[i], first, accepting, err);
	int rc = ORR_OK;
	for (uint32_t m = 0; m < t->n_models && !rc; m++)
		rc = check_pools(t, m, err);
	return rc;
}

/* The replicas of a language model serve no other model, so with several models each deployment names one. */
static int check_own_replicas(const struct serve_state *t, struct orr_error *err)
{
	uint32_t m = 0;
	while (m < t->n_models && t->model[m]->kind != SERVED_LLM)
		m++;
	for (uint32_t d = 0; d < t->n_deployments && m < t->n_models && t->n_models > 1; d++)
		if (t->deployment[d].model == UINT32_MAX)
			return orr_fail(err, ORR_EINPUT,
				"scenario: $.deployments[%u] serves any model, but replicas of the language model %.80s serve no other: "
				"expected a "
				"scenario with replicas for each model, \"deployments\": [{\"model\": \"%.80s\", \"replicas\": 1}, ..]",
				d, t->model[m]->name, t->model[m]->name);
	return ORR_OK;
}

/* A policy without ORR_SERVE_STAGES lists no members of micro-batches. */
static int check_stages(const struct scenario *s, struct orr_error *err)
{
	const struct serve_state *t = s->state;
	uint32_t deepest = 1;
	for (uint32_t d = 0; d < t->n_deployments; d++) {
		const struct serve_deployment *x = &t->deployment[d];
		bool is_llm = x->model != UINT32_MAX && t->model[x->model]->kind == SERVED_LLM;
		deepest = is_llm && x->pp > deepest ? x->pp : deepest;
	}
	if (deepest == 1 || !strcmp(orr_arg_text(s->options, "pipeline"), "serial"))
		return ORR_OK;
	for (size_t i = 0; i < s->n_policies; i++) {
		if (s->policy[i].entry.policy->flags & ORR_SERVE_STAGES)
			continue;
		struct sbuf names = { 0 };
		names_with(s->world, ORR_SERVE_STAGES, &names);
		int rc = orr_fail(err, ORR_EINPUT,
			"policy %.80s: the policy forms no micro-batches, but serve.pipeline=micro-batches and a replica has %u "
			"stages: expected a policy with micro-batches (%s), a plugin with the flag ORR_SERVE_STAGES, or "
			"serve.pipeline=serial",
			s->policy[i].label, deepest, sbuf_text(&names));
		sbuf_free(&names);
		return rc;
	}
	return ORR_OK;
}

/* A plugin that routes runs in another process, as a policy does. */
static void isolate_router(struct scenario *s, const struct serve_state *t)
{
	for (size_t i = 0; i < s->n_policies; i++)
		s->policy[i].is_isolated = registry_is_described(&t->router.entry);
}

static int check_speculation(const struct scenario *s, struct orr_error *err)
{
	struct serve_config c = { .options = s->options };
	struct speculation *x = speculation_new(&c, err);
	speculation_free(x);
	return x ? ORR_OK : ORR_EINPUT;
}

static int open_serve(struct scenario *s, struct orr_error *err)
{
	struct serve_state *t = s->state = mem_zalloc(1, sizeof *t);
	int rc = serve_state_load(s, t, err);
	if (!rc)
		rc = check_own_replicas(t, err);
	if (!rc)
		rc = check_roles(s, err);
	if (!rc)
		rc = check_speculation(s, err);
	if (!rc)
		rc = check_stages(s, err);
	if (!rc && strcmp(orr_arg_text(s->options, "autoscale"), "none") && !orr_arg_time_ns(s->options, "scale_interval"))
		rc = orr_fail(err, ORR_EINPUT, "serve.scale_interval: expected a time above 0 together with serve.autoscale, found 0");
	if (rc || s->output->is_shown)
		return rc;
	if (reqset_count(t->requests) == UINT64_MAX && s->until_ns == ORR_NEVER)
		return orr_fail(err, ORR_EINPUT, "%.200s: this trace has no end: expected a number of requests (n=..) or --until",
			reqset_source(t->requests));
	const char *first;
	uint64_t repaired = reqset_repaired(t->requests, &first);
	if (repaired && !s->output->quiet)
		inputs_tell_repaired(reqset_source(t->requests), repaired, first);
	t->used = mem_zalloc(s->n_policies, sizeof *t->used);
	isolate_router(s, t);
	configure(s, t);
	return ORR_OK;
}

static bool has_random_options(const struct orr_args *o)
{
	bool thinks = orr_arg_int(o, "clients") || strcmp(orr_arg_text(o, "sessions"), "none");
	return orr_arg_real(o, "loss") > 0 ||
	       (thinks && orr_arg_time_ns(o, "think") && !strcmp(orr_arg_text(o, "think_law"), "exponential"));
}

static bool is_serve_random(const struct scenario *s)
{
	const struct serve_state *t = s->state;
	bool is_random = !reqset_is_loaded(t->requests) || reqset_blocks(t->requests) || failures_are_random(t->failures) ||
			 has_random_options(s->options);
	const struct registry_entry *router = &t->router.entry;
	is_random |= (router->policy->flags & ORR_DRAWS) || *router->plugin_hash;
	for (uint32_t m = 0; m < t->n_models; m++)
		is_random |= t->model[m]->noise != SERVED_EXACT;
	return is_random;
}

static double size_of_requests(const struct scenario *s)
{
	uint64_t n = reqset_count(((const struct serve_state *)s->state)->requests);
	return n == UINT64_MAX ? 0 : (double)n;
}

static int run_serve(
	struct scenario *s, size_t i, uint32_t k, struct run_result *r, world_progress progress, void *ctx, struct orr_error *err)
{
	const struct serve_state *t = s->state;
	const struct scenario_policy *p = &s->policy[i];
	struct serve_config config = t->config;
	config.replication = k;
	config.record_requests &= !k;
	config.explain &= !k;
	config.progress = progress;
	config.progress_ctx = ctx;
	config.used = &t->used[i];
	int rc = serve_run(&config, p->entry.policy, p->args, p->label, r, err);
	if (!rc)
		result_note(r, "cost-source", t->times_note);
	if (!rc && t->prices.note)
		result_note(r, "prices", t->prices.note);
	return rc;
}

static void give_serve(const struct scenario *s, size_t i, struct sbuf *out)
{
	isolate_give_bits(&((const struct serve_state *)s->state)->used[i], out);
}

static bool take_serve(struct scenario *s, size_t i, const char *bytes, size_t n)
{
	return isolate_take_bits(&((struct serve_state *)s->state)->used[i], bytes, n);
}

/* Fills the blocks of completion times of the requests; returns false if some rows are missing. */
static bool blocks_of(const struct run_result *r, struct blocks *b)
{
	blocks_init(b);
	for (size_t i = 0; i < r->n_requests; i++) {
		const struct request_row *q = &r->requests[i];
		if (q->status == REQUEST_COMPLETED)
			blocks_add(b, q->number, q->completed_s - q->arrival_s);
	}
	return r->n_requests == r->rows_total && r->n_requests;
}

/* Adds the differences to the first policy of this command, without the warm-up; they are not stored. */
static void add_differences(const struct scenario *s, struct run_result *const *runs, size_t n)
{
	const struct serve_state *t = s->state;
	double warmup = orr_arg_real(t->config.options, "warmup");
	struct blocks *first = mem_zalloc(1, sizeof *first), *other = mem_zalloc(1, sizeof *other);
	bool is_complete = n > 1 && s->replications == 1 && s->warm_up.kind == WARMUP_NONE && blocks_of(runs[0], first);
	for (size_t i = 1; is_complete && i < n; i++) {
		if (!blocks_of(runs[i], other))
			continue;
		double base;
		struct interval d = batches_paired(other, first, warmup, scenario_level(s), &base);
		result_metric(runs[i], "completion_diff", d.mean, d.low, d.high);
		result_metric(runs[i], "base_completion_diff", base, NAN, NAN);
	}
	mem_free(first);
	mem_free(other);
}

static int finish_serve(struct scenario *s, struct run_result *const *runs, size_t n, struct orr_error *err)
{
	(void)err;
	add_differences(s, runs, n);
	return ORR_OK;
}

/* --find-rate, --find-replicas */
static int instead(struct scenario *s, struct sbuf *out, bool *did, struct orr_error *err)
{
	const char *rate = world_extra(s->output, "find-rate"), *replicas = world_extra(s->output, "find-replicas");
	const char *attainment = world_extra(s->output, "attainment"), *flag = rate ? "find-rate" : "find-replicas";
	if (attainment && !rate && !replicas)
		return orr_fail(
			err, ORR_EINPUT, "serve: --attainment: expected this option only together with --find-rate or --find-replicas");
	if (rate && replicas)
		return orr_fail(err, ORR_EINPUT, "serve: --find-rate and --find-replicas exclude each other: expected one of them");
	*did = rate || replicas;
	if (!*did)
		return ORR_OK;
	if (s->until_precision > 0)
		return orr_fail(err, ORR_EINPUT, "serve: --%s and --until-precision exclude each other: expected --replications N", flag);
	if (s->warm_up.kind != WARMUP_NONE)
		return orr_fail(err, ORR_EINPUT, "serve: --%s counts all requests: expected no --warm-up", flag);
	if (s->output->db || s->output->out_dir)
		return orr_fail(err, ORR_EINPUT, "serve: --%s stores no runs: expected neither --db nor --out", flag);
	return rate ? find_rate(s, rate, attainment, out, err) : find_replicas(s, replicas, attainment, out, err);
}

/* ---- the descriptor ---- */

#define ORR_BUILTIN_POLICY(ident) extern const struct orr_policy orr_policy_##ident;
#include "policies/serve/policies.def"
#undef ORR_BUILTIN_POLICY
#define ORR_BUILTIN_POLICY(ident) &orr_policy_##ident,
static const struct orr_policy *const policies[] = {
#include "policies/serve/policies.def"
	NULL
};

static const struct world_function functions[] = { WORLD_FUNCTION(orr_serve_ops, create), WORLD_FUNCTION(orr_serve_ops, destroy),
	WORLD_FUNCTION(orr_serve_ops, arrive), WORLD_FUNCTION(orr_serve_ops, schedule), { NULL, 0 } };

extern const struct embedded_file serve_template[];

/* clang-format off */
static const struct orr_param keys[] = {
	ORR_PARAM_TEXT("trace", "", "a file (gzip and zstd are decompressed), - for standard input, or a generator: NAME[:param=value,..]"),
	ORR_PARAM_TEXT("format", "auto", "auto, a format ('orrery trace list' shows all) or, as scenario show prints it, the name of a generator"),
	ORR_PARAM_REAL("compress", "1", 1e-6, 1e6, "divisor of arrival times: 2 doubles the load"),
	INPUTS_KEY_RESAMPLE,
	SCENARIO_KEY_CLUSTER,
	SCENARIO_KEY_PLACEMENT("consolidate"),
	SETTING_KEYS_HARDWARE("none", "fp16"),
	ORR_PARAM_CHOICE("weights", "auto", WEIGHT_FORMATS, "format of the weights of linear layers: auto (that of precision), or fp8, int8 or int4, computed with in precision"),
	ORR_PARAM_CHOICE("kv_precision", "auto", KV_FORMATS, "precision of the KV cache; auto: fp16, or fp32 with precision fp32 or tf32"),
	ORR_PARAM_TEXT("replicas", "", "number of replicas of every deployment; overrides the deployment's own"),
	ORR_PARAM_TEXT("tp", "", "GPUs of a tensor-parallel group, of every deployment"),
	ORR_PARAM_TEXT("pp", "", "pipeline stages, of every deployment"),
	ORR_PARAM_TEXT("kv_blocks", "", "blocks of KV cache of a replica, of every deployment"),
	SCENARIO_KEY_UNTIL,
	SCENARIO_KEY_WARM_UP,
	SCENARIO_KEY_RECORD,
	ORR_PARAM_END
};
static const struct world_object objects[] = {
	{ "trace_options", NULL, "parameters of the format (docs/traces.md)", NULL },
	{ "models", NULL, "a list of names, files and served models, or names separated by commas",
		"{\"oneOf\": [{\"type\": \"string\"}, {\"type\": \"array\", \"minItems\": 1, \"items\": {\"type\": [\"string\", \"object\"]}}]}" },
	{ "deployments", NULL, "a list of objects: model, replicas, tp, pp, role, gpu_types, kv_blocks, least, most", serve_deployment_schema },
	{ "failures", inputs_failure_params, "nodes that fail and are repaired", NULL },
	{ "prices", NULL, "USD per GPU and hour: auto, none, TYPE=USD,.. or an object with such keys",
		"{\"oneOf\": [{\"type\": \"string\"}, {\"type\": \"object\", \"additionalProperties\": {\"$ref\": \"#/$defs/scalar\"}}]}" },
	{ NULL, NULL, NULL, NULL }
};
static const char *const shown[] = { "trace_sha256", "cluster_sha256", "network_sha256", "devices", "profiles", "models_sha256",
	"failures_sha256", "serve_files_sha256", "router", "router_files_sha256", NULL };
static const struct world_input inputs[] = {
	{ "trace", NULL }, { "cluster", NULL }, { "models", NULL }, { "network", NULL }, { "device", NULL },
	{ "failures.trace", NULL }, { "serve.router", "router" }, { NULL, NULL }
};
static void put_formats(struct sbuf *out)
{
	trace_format_names(TRACE_REQUESTS, out);
}
static const struct world_flag flags[] = {
	{ "format", "F", WORLD_FLAG_KEY, "format", NULL, NULL, put_formats },
	{ "model", "LIST", WORLD_FLAG_LIST, "models", NULL, "served models: names, files (docs/served-model.schema.json), or networks\nsuch as vit:width=384,image=192" },
	{ "map", "LIST", WORLD_FLAG_KEY, "trace_options.map", NULL,
		"columns of any CSV or TSV, OURS=THEIRS,..: arrival=time,prompt_tokens=in\n(the error about an unknown file suggests a list)" },
	{ "repair", NULL, WORLD_FLAG_KEY, "trace_options.repair", "all",
		"leave wrong rows of the trace out and count them; without it they\nare errors" },
	{ "resample", "BLOCK", WORLD_FLAG_KEY, "resample", NULL,
		"draw blocks of the trace file with replacement, of length day, hour or a\ntime such as 10m; each replication draws different blocks" },
	{ "cluster", "C", WORLD_FLAG_KEY, "cluster", NULL, "NODESxGPUS:TYPE[:racks=N],.. or a CSV or JSON file" },
	{ "tp", "N", WORLD_FLAG_KEY, "tp", NULL, "GPUs of a tensor-parallel group; of every deployment" },
	{ "pp", "N", WORLD_FLAG_KEY, "pp", NULL, "pipeline stages; of every deployment" },
	{ "replicas", "N", WORLD_FLAG_KEY, "replicas", NULL, "replicas of every deployment (default: as many as fit the cluster)" },
	{ "kv-blocks", "N", WORLD_FLAG_KEY, "kv_blocks", NULL, "blocks of KV cache of a replica (default: as its memory allows)" },
	{ "placement", "P", WORLD_FLAG_KEY, "placement", NULL,
		"placement of a replica's GPUs: count, consolidate, spread, best-fit, topology\nor fgd" },
	{ "router", "R", WORLD_FLAG_KEY, "serve.router", NULL,
		"router: auto (default), jsq, round-robin, prefix-aware, .. or a plugin, with\nparameters: NAME:param=value,.. ('orrery policy list --kind serve --router')" },
	{ "network", "N", WORLD_FLAG_KEY, "network", NULL,
		"network of KV caches and of replicas on several nodes: star, racks,\nleaf-spine, fat-tree, .. with options, or a JSON file (default: none for\nKV caches, transfers at serve.kv_Bps; star for replicas)" },
	{ "device", "NAME", WORLD_FLAG_KEY, "device", NULL, "device of every GPU, overriding its type: a name or a file" },
	{ "profile", "P", WORLD_FLAG_KEY, "profile", NULL, "fitted laws of kernel times: auto (default), none, a name or a file" },
	{ "precision", "P", WORLD_FLAG_KEY, "precision", NULL, "precision of weights and arithmetic: fp32, tf32, fp16, bf16 or fp8" },
	{ "weights", "F", WORLD_FLAG_KEY, "weights", NULL, "format of the weights of linear layers: auto (that of --precision), fp8, int8\nor int4, computed with in --precision" },
	{ "kv-precision", "P", WORLD_FLAG_KEY, "kv_precision", NULL, "precision of the KV cache: auto (fp16; fp32 with fp32 or tf32), fp32, fp16, bf16,\nfp8, int8 or int4" },
	{ "compress", "X", WORLD_FLAG_KEY, "compress", NULL, "divide arrival times by X: 2 doubles the load" },
	{ "slo", "T", WORLD_FLAG_KEY, "serve.slo", NULL, "deadline of a request, from its arrival, unless the trace states one;\noverrides that of the model" },
	{ "slo-ttft", "T", WORLD_FLAG_KEY, "serve.slo_ttft", NULL, "limit of the time to the first token, for goodput" },
	{ "slo-tpot", "T", WORLD_FLAG_KEY, "serve.slo_tpot", NULL, "limit of the time per output token, for goodput" },
	{ "find-rate", "SLO", WORLD_FLAG_VERB, NULL, NULL,
		"find the largest arrival rate at which enough requests meet the SLO:\none or more of ttft=1s,tpot=100ms,e2e=30s; neither runs nor files are written" },
	{ "find-replicas", "SLO", WORLD_FLAG_VERB, NULL, NULL,
		"find the smallest number of replicas with which enough requests meet the\nSLO, up to --replicas, and its cost; neither runs nor files are written" },
	{ "attainment", "X", WORLD_FLAG_VERB, NULL, NULL, "with --find-rate and --find-replicas: required share of the requests\n(default 0.9)" },
	{ "failures", "FILE", WORLD_FLAG_OBJECT, "failures.trace", NULL, "nodes that fail and are repaired: time_s,node,event" },
	{ "prices", "P", WORLD_FLAG_KEY, "prices", NULL,
		"USD per GPU and hour: auto (default: published on-demand prices), none or\nTYPE=USD,.." },
	SCENARIO_FLAG_WARM_UP,
	{ "until", "TIME", WORLD_FLAG_KEY, "until", NULL, "end of the simulation (30d, 12h, ...)" },
	{ "record", "WHAT", WORLD_FLAG_KEY, "record", NULL, "rows kept: metrics, summary, sample, all (default; up to a million) or explain\n(all, and parts of times by cause)" },
	{ NULL, NULL, 0, NULL, NULL, NULL }
};
/* clang-format on */

static const struct report_file files[] = { { "requests", false }, { "replicas", false }, { NULL, false } };

/* Columns of the table, in order. docs/reference/schema.md defines the metrics. */
static const struct report_column columns[] = {
	{ "requests_completed", "completed", REPORT_NUMBER, NULL },
	{ "throughput", "requests/s", REPORT_NUMBER, NULL },
	{ "completion_mean", "end-to-end mean", REPORT_SHORT_TIME, NULL, true },
	{ "completion_p50", "median", REPORT_SHORT_TIME, NULL },
	{ "completion_p99", "p99", REPORT_SHORT_TIME, NULL },
	{ "sample_completion_mean", "per sample", REPORT_SHORT_TIME, "completion_mean" },
	{ "ttft_mean", "TTFT mean", REPORT_SHORT_TIME, NULL },
	{ "ttft_p99", "TTFT p99", REPORT_SHORT_TIME, NULL },
	{ "tpot_mean", "TPOT mean", REPORT_SHORT_TIME, NULL },
	{ "tpot_p99", "TPOT p99", REPORT_SHORT_TIME, NULL },
	{ "attainment", "SLO kept", REPORT_FRACTION, NULL },
	{ "goodput", "goodput/s", REPORT_NUMBER, "throughput" },
	{ "tokens_per_second", "tokens/s", REPORT_NUMBER, NULL },
	{ "usd_per_million_tokens", "USD/M tokens", REPORT_NUMBER, NULL },
	{ "utilisation", "utilisation", REPORT_FRACTION, NULL },
	{ "preemptions", "preemptions", REPORT_NUMBER, NULL },
	{ "usd", "USD", REPORT_NUMBER, NULL },
	{ NULL, NULL, REPORT_NUMBER, NULL },
};

static const struct world_policy_flag policy_flags[] = { { ORR_SERVE_ROLES,
								 "roles: runs prompts on prefill replicas and decodes on decode replicas" },
	{ ORR_SERVE_STAGES, "stages: keeps several micro-batches in flight on replicas with pipeline stages" },
	{ ORR_SERVE_HANDS_OFF, "hands off: at the end of its prompt, a request moves from a prefill replica to a decode replica" },
	{ ORR_SERVE_BY_STAGE, "by stage: starts the work of each pipeline stage itself" }, { 0, NULL } };

const struct world world_serve = { .name = "serve",
	.doc = "serve a trace of inference requests under several policies",
	.policies = policies,
	.ops_size = sizeof(struct orr_serve_ops),
	.policy_flags = policy_flags,
	.functions = functions,
	.routers = &serve_routers,
	.oracle = "true output lengths",
	.template = serve_template,
	.example = "serve poisson:rate=40,n=500 --model MODEL --cluster 1x1 --policy fifo",
	.keys = keys,
	.objects = objects,
	.options = serve_options,
	.shown = shown,
	.inputs = inputs,
	.usage = "orrery serve TRACE --model NAME|FILE[,..] --cluster SPEC|FILE --policy A[,B..] [OPTIONS]\n"
		 "       orrery serve TRACE .. --find-rate SLO | --find-replicas SLO [OPTIONS]",
	.about = "Serves a trace of inference requests on replicas of models under each policy and compares them.",
	.source = "TRACE",
	.source_hint = "a file, or a generator such as poisson:rate=2,n=500",
	.source_doc = "a file (gzip and zstd too, - is standard input) or a generator of requests:\n"
		      "poisson:rate=..,n=.. and others (orrery trace list)",
	.flags = flags,
	.examples = "Example: two policies that serve Llama 2 7B on an A100, then the largest rate of the first:\n"
		    "  orrery serve poisson:rate=2,n=500,prompt=500,output=100 --model llama2-7b --cluster 1x1:a100 \\\n"
		    "    --policy vllm,sarathi\n"
		    "  orrery serve poisson:rate=2,n=500,prompt=500,output=100 --model llama2-7b --cluster 1x1:a100 \\\n"
		    "    --policy vllm --find-rate ttft=1s,tpot=100ms\n",
	.form = { .columns = columns, .files = files, .counted = "requests", .cost_title = "times of models" },
	.effects = serve_effects,
	.used = serve_used,
	.note = serve_note,
	.open = open_serve,
	.is_random = is_serve_random,
	.size = size_of_requests,
	.run = run_serve,
	.give = give_serve,
	.take = take_serve,
	.finish = finish_serve,
	.close = close_serve,
	.instead = instead };
