/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The plan world's descriptor. Its scenarios:
 *
 *	{ "world": "plan", "model": "NAME, FILE or kind:dimensions", "cluster", "global_batch", (keys of step/setting.h), "policies",
 *	  "plan": {..options..}, "step": {..}, "cost": {..}, "seed", "policy_timeout" }
 *
 * Each policy searches for a plan; the executor of the step world runs the best ones. A plan is a scenario of the step world.
 */
#include "base/mem.h"
#include "base/param.h"
#include "base/sbuf.h"
#include "plan/scenario.h"
#include "base/cleanup.h"
#include "base/outfile.h"
#include "world/gpu_types.h"
#include "world/isolate.h"
#include "world/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_text(cJSON *o, const char *key, const char *value)
{
	if (*value)
		cJSON_AddStringToObject(o, key, value);
}

/* Adds the options that differ from their defaults, in canonical form: runs with equal hashes have equal plan files. */
static void add_changed(cJSON *o, const char *key, const struct orr_args *a)
{
	const struct orr_param *table = args_table(a);
	struct orr_args *plain = args_new(table, key, NULL);
	cJSON *changed = scenario_args_json(a, table);
	for (size_t i = 0; table[i].name; i++)
		if (!strcmp(args_value(a, i), args_value(plain, i)))
			cJSON_DeleteItemFromObjectCaseSensitive(changed, table[i].name);
	if (changed->child)
		cJSON_AddItemToObject(o, key, changed);
	else
		cJSON_Delete(changed);
	args_free(plain);
}

/* Returns the header of all plan files of the scenario. */
static cJSON *header_of(const struct scenario *s, const struct plan_state *t)
{
	cJSON *o = cJSON_CreateObject();
	char batch[40];
	snprintf(batch, sizeof batch, "%.17g", t->set.batch);
	cJSON_AddStringToObject(o, "world", "step");
	add_text(o, "model", orr_arg_text(s->keys, "model"));
	add_text(o, "cluster", s->cluster_spec);
	add_text(o, "network", orr_arg_text(s->keys, "network"));
	add_text(o, "device", orr_arg_text(s->keys, "device"));
	add_text(o, "profile", orr_arg_text(s->keys, "profile"));
	add_text(o, "precision", orr_arg_text(s->keys, "precision"));
	add_text(o, "batch", batch);
	add_changed(o, "step", t->set.options);
	add_changed(o, "cost", t->set.cost_args);
	return o;
}

static void configure(struct scenario *s, struct plan_state *t)
{
	for (uint32_t i = 0; i < CLUSTER_MAX_TYPES; i++) {
		t->costs[i] = t->cost[i];
		t->device[i] = t->set.device[i];
	}
	t->header = header_of(s, t);
	t->problem = (struct plan_problem){ .config = { .cluster = s->cluster,
						    .topo = t->set.topo,
						    .dnn = t->dnn,
						    .cost = t->costs,
						    .device = t->device,
						    .options = t->set.options,
						    .batch = t->set.batch,
						    .precision = t->set.precision,
						    .seed = s->seed,
						    .policy_timeout_s = 0,
						    .check = s->output->check },
		.global_batch = t->set.batch * s->cluster->gpus,
		.micro_batch = orr_arg_real(s->keys, "micro_batch"),
		.budget = (uint64_t)orr_arg_int(s->options, "budget"),
		.checked = (uint32_t)orr_arg_int(s->options, "checked"),
		.seed = s->seed,
		.policy_timeout_s = s->policy_timeout_s,
		.header = t->header };
	t->problem.global_batch =
		orr_arg_real(s->keys, "global_batch") > 0 ? orr_arg_real(s->keys, "global_batch") : t->problem.global_batch;
}

static void describe(struct scenario *s, const struct plan_state *t)
{
	cJSON *o = s->resolved = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "world", "plan");
	cJSON_AddStringToObject(o, "model", orr_arg_text(s->keys, "model"));
	cJSON_AddStringToObject(o, "model_sha256", t->dnn->hash);
	cJSON_AddStringToObject(o, "cluster", s->cluster_spec);
	cJSON_AddStringToObject(o, "cluster_sha256", s->cluster->hash);
	/* As given: a remark depends on it. */
	cJSON_AddNumberToObject(o, "global_batch", orr_arg_real(s->keys, "global_batch"));
	cJSON_AddNumberToObject(o, "micro_batch", t->problem.micro_batch);
	setting_describe(&t->set, s, o);
	scenario_add_options(o, s);
	scenario_add_seed(o, s);
}

static int load(struct scenario *s, struct plan_state *t, struct orr_error *err)
{
	const char *model = orr_arg_text(s->keys, "model");
	double global = orr_arg_real(s->keys, "global_batch");
	if (!*model)
		return orr_fail(err, ORR_EINPUT,
			"scenario: no problem is named: expected a model (orrery plan bert-large), embeddings:.., or a file");
	int rc = setting_resolve_values(s, &t->set, err);
	if (!rc)
		rc = setting_refuse_checkpoints(&t->set, "orrery step --plan FILE with this option", err);
	if (rc)
		return rc;
	if (!(t->dnn = dnn_load(model, err)))
		return ORR_EINPUT;
	rc = gpu_types_refuse_speeds(s->cluster, "plan", err);
	if (!rc)
		rc = setting_resolve_hardware(s, &t->set, err);
	t->set.batch = (global > 0 ? global : 32. * s->cluster->gpus) / s->cluster->gpus;
	for (uint32_t i = 0; !rc && i < s->cluster->n_types; i++) {
		struct cost_options options = setting_costs(&t->set, i, 0);
		if (!(t->cost[i] = cost_new(t->dnn, t->set.device[i], &options, err)))
			return ORR_EINPUT;
	}
	return rc;
}

static int find_executor(struct plan_state *t, struct orr_error *err)
{
	struct registry_entry e;
	int rc = registry_find("dapple", world_named("step"), &e, err);
	t->problem.dapple = rc ? NULL : e.policy;
	if (!rc)
		rc = registry_find("megatron", world_named("step"), &e, err);
	t->problem.megatron = rc ? NULL : e.policy;
	return rc;
}

/* Refuses policies for the other kind of problem before anything runs. */
static int check_policies(const struct scenario *s, bool is_embeddings, struct orr_error *err)
{
	for (size_t i = 0; i < s->n_policies; i++) {
		const struct orr_policy *p = s->policy[i].entry.policy;
		if (!(p->flags & ORR_PLANS_EMBEDDINGS) == is_embeddings)
			return orr_fail(err, ORR_EINPUT, "policy %.100s: %s", s->policy[i].label,
				is_embeddings
					? "this policy plans training steps: expected a policy that compresses embeddings, such as saec"
					: "this policy compresses embeddings: expected the problem embeddings:.., or a policy such as "
					  "dapple");
	}
	return ORR_OK;
}

static bool needs_cluster(const struct scenario *s)
{
	return !embeddings_named(orr_arg_text(s->keys, "model"));
}

/* Loads the device of the lookups. With -o, the plan file is a served model, which contains the times of lookups. */
static int open_server(struct scenario *s, struct plan_state *t, struct orr_error *err)
{
	const char *device = orr_arg_text(s->keys, "device");
	bool is_written = world_extra(s->output, "output") != NULL;
	if (is_written && !*device)
		return orr_fail(err, ORR_EINPUT, "-o: a served model needs the times of lookups: expected --device NAME");
	if (is_written && s->n_policies > 1)
		return orr_fail(err, ORR_EINPUT,
			"-o: %zu policies give %zu served models: expected one policy, or --out DIR, which writes all", s->n_policies,
			s->n_policies);
	return *device && !(t->server = device_load(device, err)) ? ORR_EINPUT : ORR_OK;
}

static int open_embeddings(struct scenario *s, struct plan_state *t, struct orr_error *err)
{
	const char *problem = orr_arg_text(s->keys, "model");
	if (s->cluster)
		return orr_fail(err, ORR_EINPUT, "cluster: the compression of embeddings uses no cluster: expected no cluster");
	int rc = open_server(s, t, err);
	if (rc)
		return rc;
	if (!(t->table = embeddings_open(problem, &t->is_held, err)))
		return ORR_EINPUT;
	uint32_t samples = (uint32_t)orr_arg_int(s->options, "samples");
	t->problem = (struct plan_problem){ .budget = (uint64_t)orr_arg_int(s->options, "budget"),
		.seed = s->seed,
		.policy_timeout_s = s->policy_timeout_s,
		.table = t->table,
		.server = t->server,
		.indirection_s = (double)orr_arg_time_ns(s->options, "indirection_cost") / 1e9,
		.task = { .train = samples, .test = samples, .epochs = 3, .batch = 32, .rate = 0.1, .gain = 2, .seed = s->seed } };
	cJSON *o = s->resolved = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "world", "plan");
	cJSON_AddStringToObject(o, "model", problem);
	cJSON_AddStringToObject(o, "model_sha256", embed_table_hash(t->table));
	if (t->server) {
		cJSON_AddStringToObject(o, "device", orr_arg_text(s->keys, "device"));
		cJSON_AddStringToObject(o, "device_sha256", t->server->hash);
	}
	scenario_add_options(o, s);
	scenario_add_seed(o, s);
	return ORR_OK;
}

static int open_plan(struct scenario *s, struct orr_error *err)
{
	struct plan_state *t = s->state = mem_zalloc(1, sizeof *t);
	bool is_embeddings = embeddings_named(orr_arg_text(s->keys, "model"));
	t->used = mem_zalloc(s->n_policies, sizeof *t->used);
	if (check_policies(s, is_embeddings, err))
		return ORR_EINPUT;
	if (is_embeddings)
		return open_embeddings(s, t, err);
	int rc = load(s, t, err);
	if (rc)
		return rc;
	configure(s, t);
	describe(s, t);
	return find_executor(t, err);
}

static void close_plan(struct scenario *s)
{
	struct plan_state *t = s->state;
	for (uint32_t i = 0; i < CLUSTER_MAX_TYPES; i++)
		cost_free(t->cost[i]);
	embed_table_free(t->table);
	device_free(t->server);
	setting_free(&t->set);
	dnn_free(t->dnn);
	cJSON_Delete(t->header);
	mem_free(t->used);
	mem_free(t);
}

/* ---- plan files ---- */

static int write_plan(const struct run_result *r, const char *path, struct orr_error *err)
{
	const char *note = result_find_note(r, "plan-file");
	cJSON *o = note ? cJSON_Parse(note) : NULL;
	if (!o)
		return orr_fail(err, ORR_EFAIL, "%.200s: policy %.100s found no plan: expected a plan to write", path, r->label);
	struct sbuf text = { 0 };
	char *json = cJSON_Print(o);
	sbuf_printf(&text, "%s\n", json);
	int rc = outfile_put(path, text.text, text.len, err);
	sbuf_free(&text);
	cJSON_free(json);
	cJSON_Delete(o);
	return rc;
}

static double iteration_of(const struct run_result *r)
{
	const struct metric *m = result_find(r, "iteration_s");
	return m ? m->value : INFINITY;
}

/*
 * Writes plan files. -o FILE: the plan with the shortest iteration; --out DIR: LABEL.plan.json of each policy. For embedding
 * tables: the served model; LABEL.model.json of each policy.
 */
static int finish_plan(struct scenario *s, struct run_result *const *runs, size_t n, struct orr_error *err)
{
	const char *path = world_extra(s->output, "output");
	const struct run_result *best = runs[0];
	int rc = ORR_OK;
	for (size_t i = 0; i < n; i++) {
		struct sbuf b = { 0 };
		best = iteration_of(runs[i]) < iteration_of(best) ? runs[i] : best;
		sbuf_printf(&b, "%s/%s.%s.json", s->output->out_dir ? s->output->out_dir : "", runs[i]->label,
			needs_cluster(s) ? "plan" : "model");
		if (!rc && s->output->out_dir)
			rc = result_find_note(runs[i], "plan-file") ? write_plan(runs[i], b.text, err) : ORR_OK;
		sbuf_free(&b);
	}
	return rc || !path ? rc : write_plan(best, path, err);
}

/* ---- runs ---- */

/* Writes the best plan so far. The run is not stored, because an interrupted search cannot be repeated exactly. */
static int keep_interrupted(const struct scenario *s, const struct run_result *r, struct orr_error *err)
{
	const char *path = world_extra(s->output, "output");
	const struct metric *used = result_find(r, "evaluations");
	int rc = path ? write_plan(r, path, err) : ORR_OK;
	if (rc)
		return rc;
	return orr_fail(err, CLEANUP_INTERRUPTED, "%.100s: interrupted after %.0f evaluations: the best plan so far takes %.6g s%s%.200s",
		r->label, used ? used->value : 0, iteration_of(r), path ? " and is in " : " (-o FILE keeps it)", path ? path : "");
}

static int run_plan(
	struct scenario *s, size_t i, uint32_t k, struct run_result *r, world_progress progress, void *ctx, struct orr_error *err)
{
	const struct plan_state *t = s->state;
	const struct scenario_policy *p = &s->policy[i];
	unsigned used = 0;
	/* A scenario book opens all of its scenarios before it runs them. */
	if (t->is_held)
		embed_table_hold(t->table);
	int rc = plan_run(&t->problem, p->entry.policy, p->args, p->label, k, r, &used, progress, ctx, err);
	if (t->is_held)
		embed_table_release(t->table);
	atomic_fetch_or(&t->used[i], used);
	if (!rc)
		setting_note_network(&t->set, used & (PLAN_USED_NETWORK | STEP_USED_NETWORK) ? STEP_USED_NETWORK : 0, r);
	if (!search_is_interrupted())
		return rc;
	if (rc)
		return orr_fail(err, CLEANUP_INTERRUPTED, "%.100s: interrupted before it found a plan", p->label);
	return keep_interrupted(s, r, err);
}

static void give_plan(const struct scenario *s, size_t i, struct sbuf *out)
{
	isolate_give_bits(&((const struct plan_state *)s->state)->used[i], out);
}

static bool take_plan(struct scenario *s, size_t i, const char *bytes, size_t n)
{
	return isolate_take_bits(&((struct plan_state *)s->state)->used[i], bytes, n);
}

static const struct world_interrupt interrupt = { interrupt_begin, interrupt_end, search_is_interrupted };

static bool is_plan_random(const struct scenario *s)
{
	(void)s;
	return false; /* policies that draw random numbers declare ORR_DRAWS */
}

/* ---- the descriptor ---- */

#define ORR_BUILTIN_POLICY(ident) extern const struct orr_policy orr_policy_##ident;
#include "policies/plan/policies.def"
#undef ORR_BUILTIN_POLICY
#define ORR_BUILTIN_POLICY(ident) &orr_policy_##ident,
static const struct orr_policy *const policies[] = {
#include "policies/plan/policies.def"
	NULL
};

static const struct world_function functions[] = { WORLD_FUNCTION(orr_plan_ops, search), { NULL, 0 } };

extern const struct embedded_file plan_template[];

/* clang-format off */
static const struct orr_param keys[] = {
	ORR_PARAM_TEXT("model", "", "a name, dimensions (gpt:hidden=12288,layers=96,..), a JSON file, or measured layers (FILE.csv:batch=32)"),
	SCENARIO_KEY_CLUSTER,
	ORR_PARAM_REAL("global_batch", "0", 0, 1e9, "samples per iteration, over all GPUs; 0: 32 per GPU"),
	ORR_PARAM_REAL("micro_batch", "0", 0, 1e9, "samples of a micro-batch, over all replicas of a stage; 0: chosen by the policy"),
	SETTING_KEYS_HARDWARE("star", "fp32"),
	ORR_PARAM_END
};
static const struct orr_param options[] = {
	ORR_PARAM_INT("budget", "1000000", 1, 1e12, "evaluations that a search may use"),
	ORR_PARAM_INT("samples", "20000", 0, 1e8, "embeddings: samples to train the logistic model, and the same number to test it; 0: no model"),
	ORR_PARAM_TIME("indirection_cost", "0", "embeddings, with a device: time to read an id from the map, in addition to its bytes"),
	ORR_PARAM_INT("checked", "1", 0, 1000, "number of best plans (by the closed form) that the executor runs at the end; 0: none"),
	ORR_PARAM_END
};
static const struct world_object objects[] = {
	SETTING_OBJECTS, { NULL, NULL, NULL, NULL }
};
static const char *const shown[] = { "model_sha256", "cluster_sha256", "device_sha256", "batch", "cost_samples", SETTING_SHOWN, NULL };
static const struct world_input inputs[] = {
	{ "model", NULL }, { "cluster", NULL }, { "network", NULL }, { "device", NULL }, { NULL, NULL }
};
static const struct world_flag flags[] = {
	{ "cluster", "C", WORLD_FLAG_KEY, "cluster", NULL, "NODESxGPUS:TYPE[:racks=N],.. or a CSV or JSON file; TYPE is a device" },
	{ "global-batch", "N", WORLD_FLAG_KEY, "global_batch", NULL, "samples per iteration, over all GPUs (default 32 per GPU)" },
	{ "micro-batch", "N", WORLD_FLAG_KEY, "micro_batch", NULL,
		"samples of a micro-batch, over all replicas of a stage (default: the\npolicy's choice)" },
	SETTING_FLAGS_HARDWARE,
	{ "output", "FILE", WORLD_FLAG_EXTRA, NULL, NULL,
		"(or -o) write the plan with the shortest iteration, for orrery step\n--plan FILE; Ctrl-C writes the best plan so far. For embeddings: write\nthe served model, for orrery serve --model FILE" },
	{ NULL, NULL, 0, NULL, NULL, NULL }
};
/* clang-format on */

static const struct report_file files[] = { { "iterations", false }, { "devices", false }, { NULL, false } };

static const struct report_column columns[] = {
	{ "samples_per_s", "samples/s", REPORT_NUMBER, NULL, true, true },
	{ "iteration_s", "iteration", REPORT_SHORT_TIME, NULL, true },
	{ "closed_form_s", "closed form", REPORT_SHORT_TIME, NULL },
	{ "own_s", "own cost", REPORT_SHORT_TIME, NULL },
	{ "speedup", "speed-up", REPORT_NUMBER, NULL },
	{ "own_speedup", "by own cost", REPORT_NUMBER, NULL },
	{ "plan_stages", "stages", REPORT_NUMBER, NULL },
	{ "plan_gpus", "GPUs", REPORT_NUMBER, NULL },
	{ "memory_share", "memory", REPORT_FRACTION, NULL },
	{ "code_bytes", "memory", REPORT_BYTES, NULL },
	{ "compression", "compression", REPORT_NUMBER, NULL },
	{ "vectors", "vectors", REPORT_NUMBER, NULL },
	{ "plain_error", "plain error", REPORT_PRECISE, NULL },
	{ "weighted_error", "weighted error", REPORT_PRECISE, NULL },
	{ "cluster_madds", "multiply-adds", REPORT_PRECISE, NULL },
	{ "auc", "AUC", REPORT_PRECISE, NULL },
	{ "auc_change", "change of AUC", REPORT_PRECISE, NULL },
	{ "evaluations", "evaluations", REPORT_NUMBER, NULL },
	{ NULL, NULL, REPORT_NUMBER, NULL },
};

const struct world world_plan = { .name = "plan",
	.doc = "search a distributed training plan of a model on a cluster",
	.policies = policies,
	.ops_size = sizeof(struct orr_plan_ops),
	.functions = functions,
	.oracle = "nothing",
	.template = plan_template,
	.example = "plan bert-large --cluster 2x8:v100 --policy data-parallel",
	.keys = keys,
	.objects = objects,
	.options = options,
	.shown = shown,
	.inputs = inputs,
	.usage = "orrery plan PROBLEM [--cluster SPEC|FILE] --policy A[,B..] [-o PLAN.json] [OPTIONS]",
	.about = "Searches for a distributed plan of a training step: stages of a pipeline, the GPUs of each,\n"
		 "and how they split the work. Each plan policy is a search algorithm; the executor of\norrery step runs the plans found, "
		 "and the report compares them. For embedding tables, policies\ncompress the tables; the report has bytes, work, error and "
		 "the accuracy of a model that reads them.",
	.source = "PROBLEM",
	.source_hint = "a model such as bert-large, or a file",
	.source_doc = "a model: a name (orrery model list), a transformer by its dimensions\n"
		      "(gpt:hidden=8192,layers=48,..), a JSON file, or a table of measured\n"
		      "layers (FILE.csv:batch=32: 32 samples were measured); or embedding tables,\n"
		      "embeddings:features=100000,fields=10,dim=32,.. or embeddings:file=FILE.csv,\n"
		      "without cluster",
	.flags = flags,
	.examples = "Example: a plan for BERT-Large on 16 V100, the step that it describes, and compressed embedding tables:\n"
		    "  orrery plan bert-large --cluster 2x8:v100 --network star:bw=25Gbps --global-batch 256 \\\n"
		    "    --policy data-parallel,dapple,pipedream -o plan.json\n"
		    "  orrery step --plan plan.json\n"
		    "  orrery plan embeddings:features=100000,fields=10 --policy saec,kmeans,hashing\n",
	.form = { .columns = columns, .files = files, .counted = "iterations", .series_if_any = true },
	.open = open_plan,
	.needs_cluster = needs_cluster,
	.is_random = is_plan_random,
	.run = run_plan,
	.give = give_plan,
	.take = take_plan,
	.interrupt = &interrupt,
	.effects = plan_effects,
	.used = plan_used,
	.finish = finish_plan,
	.close = close_plan };
