/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The step world's descriptor. Its scenarios:
 *
 *	{ "world": "step", "model": "NAME, FILE or kind:dimensions", "cluster", (keys of step/setting.h), "policies",
 *	  "learn": {..options..}, "seed", "policy_timeout" }
 *
 * With "learn", the schedule is also applied to real SGD. With "graph", an execution trace is run instead (step/replay_world.h).
 */
#include "base/limits.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/sbuf.h"
#include "base/outfile.h"
#include "results/summary.h"
#include "step/learning.h"
#include "step/effects.h"
#include "step/export.h"
#include "step/scenario.h"
#include "step/trace_event.h"
#include "world/cost_samples.h"
#include "world/isolate.h"
#include "world/gpu_types.h"
#include "world/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Number of iterations in the timeline figure, counted back from the end. */
enum { SPANS = 2 };

/* ---- from the scenario to a run ---- */

static void configure(const struct scenario *s, struct step_state *t)
{
	const struct world_output *o = s->output;
	for (uint32_t i = 0; i < CLUSTER_MAX_TYPES; i++) {
		t->costs[i] = t->cost[i];
		t->device[i] = t->set.device[i];
	}
	t->config = (struct step_config){ .cluster = s->cluster,
		.topo = t->set.topo,
		.dnn = t->dnn,
		.cost = t->costs,
		.device = t->device,
		.options = t->set.options,
		.batch = t->set.batch,
		.precision = t->set.precision,
		.seed = s->seed,
		.policy_timeout_s = s->policy_timeout_s,
		.check = o->check,
		.paths = s->record == RECORD_EXPLAIN && o->db,
		.spans = o->db || o->out_dir || o->has_spans || world_extra(o, "timeline") ? SPANS : 0 };
}

/* Adds all values that determine the result: defaults filled in, inputs with their hashes. */
static void describe(struct scenario *s, const struct step_state *t)
{
	cJSON *o = s->resolved = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "world", "step");
	cJSON_AddStringToObject(o, "model", orr_arg_text(s->keys, "model"));
	cJSON_AddStringToObject(o, "model_sha256", t->dnn->hash);
	cJSON_AddStringToObject(o, "cluster", s->cluster_spec);
	cJSON_AddStringToObject(o, "cluster_sha256", s->cluster->hash);
	setting_describe(&t->set, s, o);
	if (t->learn)
		cJSON_AddItemToObject(o, "learn", scenario_args_json(t->learn, learn_options));
	const cJSON *plan = cJSON_GetObjectItemCaseSensitive(s->given, "plan");
	if (plan)
		cJSON_AddItemToObject(o, "plan", cJSON_Duplicate(plan, 1));
	scenario_add_seed(o, s);
	if (s->record != RECORD_ALL)
		scenario_add_record(o, s);
}

/* Compares the time that a plan's search predicted with the time of its run. */
static void compare_plan(const struct scenario *s, struct run_result *r)
{
	const cJSON *plan = cJSON_GetObjectItemCaseSensitive(s->given, "plan");
	const cJSON *predicted = plan ? cJSON_GetObjectItemCaseSensitive(plan, "predicted_iteration_s") : NULL;
	const struct metric *m = result_find(r, "iteration_s");
	if (!cJSON_IsNumber(predicted) || !m)
		return;
	result_metric(r, "predicted_iteration_s", predicted->valuedouble, NAN, NAN);
	result_metric(r, "prediction_error", predicted->valuedouble / m->value - 1, NAN, NAN);
}

static int load(struct scenario *s, struct step_state *t, struct orr_error *err)
{
	const char *model = orr_arg_text(s->keys, "model");
	if (!*model)
		return orr_fail(err, ORR_EINPUT, "scenario: expected a model (orrery step resnet50, or a file)");
	int rc = setting_resolve_values(s, &t->set, err);
	if (rc)
		return rc;
	if (cJSON_GetObjectItemCaseSensitive(s->given, "learn") &&
		!(t->learn = scenario_args_at(s->given, "learn", learn_options, "learn", err)))
		return ORR_EINPUT;
	if (!(t->dnn = dnn_load(model, err)))
		return ORR_EINPUT;
	if (t->learn && t->dnn->has_attention && !strcmp(orr_arg_text(t->learn, "problem"), "gcn"))
		return orr_fail(err, ORR_EINPUT, "learn.problem=gcn: %.80s has attention: expected a GCN, such as gcn_amazon", model);
	rc = gpu_types_refuse_speeds(s->cluster, "step", err);
	if (!rc)
		rc = setting_resolve_hardware(s, &t->set, err);
	for (uint32_t i = 0; !rc && i < s->cluster->n_types; i++) {
		struct cost_options options = setting_costs(&t->set, i, 0);
		if (!(t->cost[i] = cost_new(t->dnn, t->set.device[i], &options, err)))
			return ORR_EINPUT;
	}
	return rc ? rc : storage_check(t->set.options, s->cluster, (const struct device *const *)t->set.device, err);
}

/* Keys that only execution traces have. */
static const char *const trace_keys[] = { "groups", "system" };

static bool needs_cluster(const struct scenario *s)
{
	return !replay_is_named(s);
}

static int open_step(struct scenario *s, struct orr_error *err)
{
	struct step_state *t = s->state = mem_zalloc(1, sizeof *t);
	if (replay_is_named(s)) {
		t->used = mem_zalloc(s->n_policies, sizeof *t->used);
		return (t->replay = replay_open(s, err)) ? ORR_OK : ORR_EINPUT;
	}
	for (size_t i = 0; i < sizeof trace_keys / sizeof *trace_keys; i++)
		if (*orr_arg_text(s->keys, trace_keys[i]))
			return orr_fail(err, ORR_EINPUT, "scenario: $.%s: expected this key only together with \"graph\"", trace_keys[i]);
	int rc = load(s, t, err);
	if (rc)
		return rc;
	describe(s, t);
	t->timeline = mem_zalloc(s->n_policies, sizeof *t->timeline);
	t->used = mem_zalloc(s->n_policies, sizeof *t->used);
	configure(s, t);
	return ORR_OK;
}

static void close_step(struct scenario *s)
{
	struct step_state *t = s->state;
	replay_close(t->replay);
	for (size_t i = 0; t->timeline && i < s->n_policies; i++)
		sbuf_free(&t->timeline[i]);
	for (uint32_t i = 0; i < CLUSTER_MAX_TYPES; i++)
		cost_free(t->cost[i]);
	setting_free(&t->set);
	dnn_free(t->dnn);
	args_free(t->learn);
	mem_free(t->timeline);
	mem_free(t->used);
	mem_free(t);
}

/* ---- draws of the costs ---- */

static void run_sample(const struct scenario *s, const struct scenario_policy *p, uint32_t sample, double *rate, double *iteration_s,
	struct orr_error *err)
{
	const struct step_state *t = s->state;
	struct cost *drawn[CLUSTER_MAX_TYPES] = { NULL };
	const struct cost *cost[CLUSTER_MAX_TYPES] = { NULL };
	struct step_config config = t->config;
	struct step_result result = { 0 };
	config.cost = cost;
	config.spans = 0;
	config.paths = config.check = false;
	for (uint32_t i = 0; !err->code && i < s->cluster->n_types; i++) {
		struct cost_options o = setting_costs(&t->set, i, sample);
		cost[i] = drawn[i] = cost_new(t->dnn, t->set.device[i], &o, err);
	}
	if (!err->code && !step_run(&config, p->entry.policy, p->args, p->label, &result, err)) {
		*rate = result.samples_per_s;
		*iteration_s = result.iteration_s;
	}
	step_result_free(&result);
	for (uint32_t i = 0; i < s->cluster->n_types; i++)
		cost_free(drawn[i]);
}

/* Fills in the intervals of samples_per_s and iteration_s of r. */
static int run_samples(const struct scenario *s, const struct scenario_policy *p, struct run_result *r, struct orr_error *err)
{
	long n = ((const struct step_state *)s->state)->set.cost_samples;
	double *rate = mem_zalloc((size_t)n, sizeof *rate), *iteration_s = mem_zalloc((size_t)n, sizeof *iteration_s);
	struct orr_error *e = mem_zalloc((size_t)n, sizeof *e);
#pragma omp parallel for schedule(dynamic, 1) num_threads(limits_threads(world_threads(s->output), (size_t)n))
	for (long k = 0; k < n; k++)
		run_sample(s, p, (uint32_t)k + 1, &rate[k], &iteration_s[k], &e[k]);
	int rc = ORR_OK;
	for (long k = 0; k < n && !rc; k++)
		if (e[k].code)
			rc = orr_fail(err, e[k].code, "draw %ld of the costs: %s", k + 1, e[k].text);
	if (!rc) {
		cost_samples_put(r, "samples_per_s", rate, (uint32_t)n);
		cost_samples_put(r, "iteration_s", iteration_s, (uint32_t)n);
		result_metric(r, "cost_samples", (double)n, NAN, NAN);
	}
	mem_free(rate);
	mem_free(iteration_s);
	mem_free(e);
	return rc;
}

/* ---- runs ---- */

static bool is_step_random(const struct scenario *s)
{
	const struct step_state *t = s->state;
	if (t->replay)
		return false;
	return t->learn || step_draws(t->set.options);
}

/* Returns iterations times GPUs; the number of nodes of an execution trace. */
static double size_of_training(const struct scenario *s)
{
	const struct step_state *t = s->state;
	if (t->replay)
		return (double)t->replay->trace->nodes;
	return (double)orr_arg_int(t->set.options, "iterations") * s->cluster->gpus;
}

/* --export chakra:DIR. Returns the folder; NULL: not requested, or an error. */
static const char *export_folder(const struct scenario *s, struct orr_error *err)
{
	const char *text = world_extra(s->output, "export"), *folder = text;
	if (!text)
		return NULL;
	if (!strcmp(text, "chakra"))
		return "chakra";
	folder = strncmp(text, "chakra:", 7) || !text[7] ? NULL : text + 7;
	if (!folder)
		orr_fail(err, ORR_EINPUT, "--export: expected chakra:DIR or chakra, found \"%.60s\"", text);
	return folder;
}

static int write_trace(struct scenario *s, size_t i, const char *folder, struct orr_error *err)
{
	const struct step_state *t = s->state;
	const struct scenario_policy *p = &s->policy[i];
	struct export_counts n;
	struct sbuf dir = { 0 };
	sbuf_printf(&dir, "%s/%s", folder, p->label);
	int rc = export_chakra(&t->config, p->entry.policy, p->args, p->label, sbuf_text(&dir), p->label, &n, err);
	if (!rc && !s->output->quiet) {
		fprintf(stderr, "orrery: %s: %u ranks, %llu nodes written to %s", p->label, n.ranks, (unsigned long long)n.nodes,
			sbuf_text(&dir));
		if (n.messages)
			fprintf(stderr, "; %llu dependencies between ranks became messages of 1 byte", (unsigned long long)n.messages);
		fputc('\n', stderr);
	}
	sbuf_free(&dir);
	return rc;
}

/* Exports the steps of a plugin where it is loaded: in the child that has run it. */
static void export_here(struct scenario *s, size_t i, struct orr_error *err)
{
	const char *folder = s->output->in_process || !*s->policy[i].entry.plugin_hash ? NULL : export_folder(s, err);
	if (folder)
		write_trace(s, i, folder, err);
}

static bool is_rows(const char *path)
{
	size_t n = strlen(path);
	return n > 4 && !strcmp(path + n - 4, ".csv");
}

static void keep_timeline(const struct scenario *s, size_t i, const struct step_result *r)
{
	const char *path = world_extra(s->output, "timeline");
	struct sbuf *text = &((struct step_state *)s->state)->timeline[i];
	if (path && is_rows(path))
		trace_rows_add(text, r, s->policy[i].label);
	else if (path)
		trace_event_add(text, r, s->policy[i].label, (uint32_t)i);
}

/* Dorylus takes the cluster's devices as graph servers or as GPUs, whatever they are. */
static void note_servers(const struct step_state *t, const char *policy, const struct step_result *x, struct run_result *r)
{
	bool wants_gpus = strstr(x->choice, "tensor tasks on GPUs");
	char text[240];
	for (uint32_t i = 0; !strcmp(policy, "dorylus") && i < t->config.cluster->n_types; i++) {
		const struct device *d = t->set.device[i];
		if (!d || !strcmp(d->architecture, "CPU") != wants_gpus)
			continue;
		snprintf(text, sizeof text,
			wants_gpus ? "mode=gpu: %.60s is no GPU; tensor tasks have its times, and copies over PCIe: expected GPUs, such as "
				     "v100"
				   : "graph servers have the times, memory and price of %.60s, a GPU: expected servers, such as "
				     "c5n.2xlarge, or mode=gpu",
			d->name);
		result_note(r, "remark", text);
		return;
	}
}

/* Without training, throughput is the only measure of policies that take other steps than synchronous SGD. */
static void note_progress(const struct step_result *x, struct run_result *r)
{
	if (x->has_workers || x->has_own_parameters)
		result_note(r, "assumption",
			"workers compute with parameters of their own, or with old ones, and may need more samples for a loss than "
			"synchronous "
			"training; samples/s does not show this (learn.target=.. compares times to a loss)");
}

static int run_step(
	struct scenario *s, size_t i, uint32_t k, struct run_result *r, world_progress progress, void *ctx, struct orr_error *err)
{
	struct step_state *t = s->state;
	const struct scenario_policy *p = &s->policy[i];
	struct step_config config = t->config;
	unsigned used = 0;
	struct step_result result = { 0 };
	(void)progress, (void)ctx;
	if (t->replay) {
		int rc = replay_policy(s, t->replay, i, r, err);
		if (!rc && result_find(r, "messages")->value > 0)
			atomic_fetch_or(&t->used[i], STEP_USED_MESSAGES | STEP_USED_NETWORK);
		return rc;
	}
	config.seed = rng_seed_of(s->seed, k);
	if (k) {
		config.spans = 0;
		config.paths = false;
	}
	if (!step_run(&config, p->entry.policy, p->args, p->label, &result, err)) {
		if (t->set.cost_samples)
			cost_samples_say(t->set.cost_samples, result.cost_source, sizeof result.cost_source);
		step_metrics(&result, r);
		path_parts(result.paths, r);
		note_servers(t, p->entry.policy->name, &result, r);
		atomic_fetch_or(&t->used[i], result.used);
		compare_plan(s, r);
		if (isnan(result_find(r, "iteration_s")->ci_low) && !t->set.cost_samples && scenario_is_random(s))
			result_note(r, "remark", SUMMARY_NO_INTERVAL);
		if (t->set.cost_samples)
			run_samples(s, p, r, err);
	}
	config.paths = false;
	if (!err->code && !t->learn)
		note_progress(&result, r);
	if (!err->code && t->learn)
		step_learning.run(&config, t->learn, p->entry.policy, p->args, p->label, s->output->threads, r, &used, err);
	atomic_fetch_or(&t->used[i], used);
	setting_note_network(&t->set, atomic_load(&t->used[i]), r);
	if (!k && !err->code)
		keep_timeline(s, i, &result);
	if (!k && !err->code)
		export_here(s, i, err);
	step_result_free(&result);
	return err->code;
}

static void give_step(const struct scenario *s, size_t i, struct sbuf *out)
{
	const struct step_state *t = s->state;
	isolate_give_bits(&t->used[i], out);
	sbuf_add(out, t->timeline[i].text, t->timeline[i].len);
}

static bool take_step(struct scenario *s, size_t i, const char *bytes, size_t n)
{
	struct step_state *t = s->state;
	size_t bits = sizeof(unsigned);
	if (n < bits || !isolate_take_bits(&t->used[i], bytes, bits))
		return false;
	sbuf_add(&t->timeline[i], bytes + bits, n - bits);
	return true;
}

/* --timeline FILE */
static int write_timeline(const struct scenario *s, const char *path, struct run_result *const *runs, size_t n, struct orr_error *err)
{
	const struct step_state *t = s->state;
	struct sbuf text = { 0 };
	(is_rows(path) ? trace_rows_open : trace_event_open)(&text);
	for (size_t i = 0; i < n; i++) {
		const struct sbuf *part = &t->timeline[scenario_policy_of(s, runs[i])];
		sbuf_add(&text, part->text, part->len);
	}
	if (!is_rows(path))
		trace_event_close(&text);
	int rc = outfile_put(path, text.text, text.len, err);
	sbuf_free(&text);
	return rc;
}

static int finish_step(struct scenario *s, struct run_result *const *runs, size_t n, struct orr_error *err)
{
	const char *timeline = world_extra(s->output, "timeline"), *folder = export_folder(s, err);
	for (size_t i = 0; folder && i < s->n_policies && !err->code; i++)
		if (!isolate_has(&s->policy[i]))
			write_trace(s, i, folder, err);
	if (err->code)
		return err->code;
	return timeline ? write_timeline(s, timeline, runs, n, err) : ORR_OK;
}

/* ---- the descriptor ---- */

#define ORR_BUILTIN_POLICY(ident) extern const struct orr_policy orr_policy_##ident;
#include "policies/step/policies.def"
#undef ORR_BUILTIN_POLICY
#define ORR_BUILTIN_POLICY(ident) &orr_policy_##ident,
static const struct orr_policy *const policies[] = {
#include "policies/step/policies.def"
	NULL
};

static const struct world_function functions[] = { WORLD_FUNCTION(orr_step_ops, create), WORLD_FUNCTION(orr_step_ops, destroy),
	WORLD_FUNCTION(orr_step_ops, build), { NULL, 0 } };

extern const struct embedded_file step_template[];

/* clang-format off */
static const struct orr_param keys[] = {
	ORR_PARAM_TEXT("model", "", "a name, a transformer by its dimensions (gpt:hidden=12288,layers=96,..) or a JSON file"),
	SCENARIO_KEY_CLUSTER,
	SETTING_KEYS("fp32"),
	ORR_PARAM_TEXT("graph", "", "a Chakra execution trace in place of a model: its folder, or DIR/NAME of the files NAME.RANK.et"),
	ORR_PARAM_TEXT("groups", "", "graph: JSON file of the groups of ranks; empty: groups.json in the folder of the trace, if it exists"),
	ORR_PARAM_TEXT("system", "", "graph: JSON file of ASTRA-sim's system layer"),
	ORR_PARAM_CHOICE("record", "all", "all|metrics|explain",
		"rows that are kept; metrics: metrics and notes only; explain: all, and the critical path of each iteration"),
	ORR_PARAM_END
};
static const struct world_object objects[] = {
	SETTING_OBJECTS, { "learn", learn_options, "options of real SGD under the schedule", NULL },
	{ "plan", NULL, "of a plan file: the stages of the plan, and the time that its search predicted", "{\"type\": \"object\"}" },
	{ NULL, NULL, NULL, NULL }
};
static const char *const shown[] = { "model_sha256", "cluster_sha256", SETTING_SHOWN, "graph_sha256", "system_sha256", NULL };
static const struct world_input inputs[] = {
	{ "model", NULL }, { "cluster", NULL }, { "network", NULL }, { "device", NULL }, { "graph", "graph_sha256" },
	{ "groups", NULL }, { "system", "system_sha256" }, { NULL, NULL }
};
static const struct world_flag flags[] = {
	{ "cluster", "C", WORLD_FLAG_KEY, "cluster", NULL, "NODESxGPUS:TYPE[:racks=N],.. or a CSV or JSON file; TYPE is a device" },
	{ "batch", "N", WORLD_FLAG_KEY, "batch", NULL, "samples per GPU and iteration (default 32)" },
	SETTING_FLAGS_HARDWARE,
	{ "cost-samples", "N", WORLD_FLAG_KEY, "cost_samples", NULL,
		"draw the profile's laws N times from their covariance, for 95 % intervals of\nthroughput and iteration time" },
	{ "plan", "FILE", WORLD_FLAG_SCENARIO, NULL, NULL, "a plan written by orrery plan -o FILE: model, cluster, policy and their\nparameters; options given here take precedence" },
	{ "graph", "DIR", WORLD_FLAG_KEY, "graph", NULL, "run a Chakra execution trace by ASTRA-sim's rules, in place of MODEL: the\nfolder, or DIR/NAME, of its files NAME.RANK.et; with --network FILE.yml and\n--system FILE.json; policies congestion-unaware (default), congestion-aware" },
	{ "groups", "FILE", WORLD_FLAG_KEY, "groups", NULL, "groups of ranks of --graph (default: groups.json in its folder)" },
	{ "system", "FILE", WORLD_FLAG_KEY, "system", NULL, "system of --graph, ASTRA-sim's JSON" },
	{ "record", "WHAT", WORLD_FLAG_KEY, "record", NULL, "rows kept: all (default), metrics (metrics and notes only) or explain, which adds\ncritical paths (orrery explain)" },
	{ "export", "chakra:DIR", WORLD_FLAG_EXTRA, NULL, NULL, "write the first iteration of each policy as a Chakra execution trace, which\n--graph and ASTRA-sim run, to DIR/POLICY (chakra: the folder \"chakra\")" },
	{ "timeline", "FILE", WORLD_FLAG_EXTRA, NULL, NULL, "write the last iterations in Trace Event format, for ui.perfetto.dev; a FILE.csv:\nthe ops of each device as rows, with start and end" },
	{ NULL, NULL, 0, NULL, NULL, NULL }
};
/* clang-format on */

static const struct report_file files[] = { { "iterations", false, true }, { "devices", false, true }, { "ranks", false, true },
	{ NULL, false } };

/* Columns of the table, in order. docs/reference/schema.md defines the metrics. */
static const struct report_column columns[] = {
	{ "samples_per_s", "samples/s", REPORT_NUMBER, NULL, true, true },
	{ "iteration_s", "iteration", REPORT_SHORT_TIME, NULL, true },
	{ "compute_s", "compute", REPORT_SHORT_TIME, NULL },
	{ "exposed_s", "exposed comm.", REPORT_SHORT_TIME, NULL },
	{ "bubble_s", "bubble", REPORT_SHORT_TIME, NULL },
	{ "optimizer_s", "optimizer", REPORT_SHORT_TIME, NULL },
	{ "codec_s", "codec", REPORT_SHORT_TIME, NULL },
	{ "makespan_s", "makespan", REPORT_SHORT_TIME, NULL },
	{ "longest_stage_s", "longest stage", REPORT_SHORT_TIME, NULL },
	{ "checkpoint_pause_s", "pause", REPORT_SHORT_TIME, NULL },
	{ "checkpoint_share", "checkpoint share", REPORT_FRACTION, NULL },
	{ "peak_memory_bytes", "peak memory", REPORT_GIBIBYTES, NULL },
	{ "usd", "USD", REPORT_NUMBER, NULL },
	{ "ranks", "ranks", REPORT_NUMBER, NULL },
	{ "nodes", "nodes", REPORT_NUMBER, NULL },
	{ "messages", "messages", REPORT_NUMBER, NULL },
	{ "value", "value 1/(USD s)", REPORT_NUMBER, NULL },
	{ "predicted_iteration_s", "predicted", REPORT_SHORT_TIME, NULL },
	{ "time_to_target_s", "time to target", REPORT_TIME, NULL },
	{ "final_loss", "final loss", REPORT_NUMBER, NULL },
	{ "accuracy", "accuracy", REPORT_NUMBER, NULL },
	{ "epochs_to_best", "epochs to best", REPORT_NUMBER, NULL },
	{ "ghost_staleness", "ghost staleness", REPORT_NUMBER, NULL },
	{ "learn_samples", "after samples", REPORT_NUMBER, NULL },
	{ NULL, NULL, REPORT_NUMBER, NULL },
};

const struct world world_step = { .name = "step",
	.doc = "run training iterations of a model under several step policies",
	.policies = policies,
	.ops_size = sizeof(struct orr_step_ops),
	.functions = functions,
	.oracle = "the future",
	.template = step_template,
	.example = "step resnet50 --cluster 4x1:v100 --policy allreduce",
	.keys = keys,
	.objects = objects,
	.shown = shown,
	.inputs = inputs,
	.usage = "orrery step MODEL --cluster SPEC|FILE --policy A[,B..] [OPTIONS]\n"
		 "       orrery step --graph DIR --network FILE.yml --system FILE.json [OPTIONS]",
	.source_key = "graph",
	.default_policy = replay_default_policy,
	.needs_cluster = needs_cluster,
	.about = "Runs training iterations of a deep neural network under each step policy (how workers\n"
		 "synchronise, overlap and split the work) and compares them.",
	.source = "MODEL",
	.source_hint = "resnet50, or a file",
	.source_doc = "a name (resnet50, bert-large, ..), a transformer by its dimensions\n"
		      "(gpt:hidden=12288,layers=96,heads=96,seq=2048,vocab=51200) or a file",
	.flags = flags,
	.examples = "Examples: policies on four nodes with 10 Gb/s between them; an execution trace in two modes:\n"
		    "  orrery step vgg16 --cluster 4x1:v100 --network star:bw=10Gbps \\\n"
		    "    --policy parameter-server,allreduce --timeline vgg16.json\n"
		    "  orrery step vgg16 --cluster 4x1:v100 --network full-mesh:bw=10Gbps --policy allreduce \\\n"
		    "    --export chakra:et\n"
		    "  orrery step --graph et/allreduce --network et/allreduce/network.yml \\\n"
		    "    --system et/allreduce/system.json \\\n"
		    "    --policy congestion-unaware,congestion-aware\n",
	.form = { .columns = columns, .files = files, .counted = "iterations", .series_if_any = true, .listed = "ranks" },
	.open = open_step,
	.is_random = is_step_random,
	.size = size_of_training,
	.run = run_step,
	.give = give_step,
	.take = take_step,
	.effects = step_effects,
	.used = step_used,
	.finish = finish_step,
	.close = close_step };
