/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/scenario_step.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/num.h"
#include "learn/learn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const known_keys[] = { "model", "world", "cluster", "network", "device", "precision", "batch",
	"policies", "step", "cost", "learn", "seed", "policy_timeout",
	/* what scenario show adds, so that its output is a scenario again */
	"model_sha256", "cluster_sha256", "network_sha256", "devices", "link_changes_sha256", NULL };

const struct orr_param step_cost_options[] = {
	ORR_PARAM_BOOL("measured", true, "use a measured step time of (device, model, batch, precision) where there is one"),
	ORR_PARAM_BOOL("fused_attention", false, "attention scores never leave the chip (FlashAttention)"),
	ORR_PARAM_BOOL("fused_elementwise", false, "activations, biases and residual sums are part of the product before them"),
	ORR_PARAM_BOOL("dropout", false, "transformers: masks after softmax and in residual sums"),
	ORR_PARAM_TEXT("setup", "", "of the measured step times only those whose setup contains this (TensorFlow); empty: the first"),
	ORR_PARAM_REAL("efficiency", "0", 0, 1, "share of the peak that products reach; 0: as the device's file says"),
	ORR_PARAM_END
};

static int resolve_precision(const cJSON *o, struct step_scenario *s, struct orr_error *err)
{
	char *text = NULL;
	const char *names[PRECISION_COUNT + 1] = { NULL };
	int rc = scenario_text_at(o, "precision", "fp32", &text, err);
	if (!rc && !precision_named(text, &s->precision)) {
		for (int p = 0; p < PRECISION_COUNT; p++)
			names[p] = precision_name((enum precision)p);
		const char *near = nearest_name(text, names);
		rc = orr_fail(err, ORR_EINPUT, "precision: expected fp32, tf32, fp16, bf16 or fp8, found \"%.60s\"%s%s", text,
			near ? "; did you mean " : "", near ? near : "");
	}
	mem_free(text);
	return rc;
}

static int resolve_batch(const cJSON *o, struct step_scenario *s, struct orr_error *err)
{
	char *text = NULL;
	int rc = scenario_text_at(o, "batch", "32", &text, err);
	if (!rc && (!num_real(text, strlen(text), &s->batch) || !(s->batch > 0) || s->batch > 1e9))
		rc = orr_fail(err, ORR_EINPUT, "batch: expected samples per GPU, a number above 0, found \"%.60s\"", text);
	mem_free(text);
	return rc;
}

static int resolve_model(const cJSON *o, struct step_scenario *s, struct orr_error *err)
{
	int rc = scenario_text_at(o, "model", NULL, &s->model_spec, err);
	if (!rc && !s->model_spec)
		rc = orr_fail(err, ORR_EINPUT, "scenario: no model is named (orrery step resnet50, or a file)");
	if (!rc && !(s->dnn = dnn_load(s->model_spec, err)))
		rc = ORR_EINPUT;
	return rc;
}

/* Where the network's text does not say what joins the GPUs of a node: the slowest of the devices' own links. */
static int resolve_network(const cJSON *o, struct step_scenario *s, struct orr_error *err)
{
	struct topo_gpu_link gpu = { .bandwidth_Bps = s->device[0]->link_Bps, .latency_s = s->device[0]->link_latency_s };
	for (uint32_t t = 1; t < s->base.cluster->n_types; t++) {
		gpu.bandwidth_Bps = fmin(gpu.bandwidth_Bps, s->device[t]->link_Bps);
		gpu.latency_s = fmax(gpu.latency_s, s->device[t]->link_latency_s);
	}
	int rc = scenario_text_at(o, "network", "star", &s->network_spec, err);
	if (!rc && !(s->topo = topo_load_with(s->base.cluster, s->network_spec, s->base.seed, &gpu, err)))
		rc = ORR_EINPUT;
	return rc;
}

/* The file of capacities that vary counts by its contents. */
static int hash_link_changes(struct step_scenario *s, struct orr_error *err)
{
	const char *path = orr_arg_text(s->options, "link_changes");
	size_t n;
	if (!*path)
		return ORR_OK;
	char *text = bytes_read_file(path, 1u << 28, &n, s->link_changes_hash, err);
	mem_free(text);
	return text ? ORR_OK : ORR_EINPUT;
}

static int resolve_devices(const cJSON *o, struct step_scenario *s, struct orr_error *err)
{
	const struct cluster *c = s->base.cluster;
	struct cost_options options = { .precision = s->precision,
		.use_measured = orr_arg_bool(s->cost_args, "measured"),
		.fused_attention = orr_arg_bool(s->cost_args, "fused_attention"),
		.fused_elementwise = orr_arg_bool(s->cost_args, "fused_elementwise"),
		.efficiency = orr_arg_real(s->cost_args, "efficiency"),
		.dropout = orr_arg_bool(s->cost_args, "dropout"),
		.setup = *orr_arg_text(s->cost_args, "setup") ? orr_arg_text(s->cost_args, "setup") : NULL };
	int rc = scenario_text_at(o, "device", NULL, &s->device_spec, err);
	if (!rc && !c->gpus)
		rc = orr_fail(err, ORR_EINPUT, "cluster %.80s: has no GPUs to train on", s->base.cluster_spec);
	for (uint32_t t = 0; !rc && t < c->n_types; t++) {
		const char *name = s->device_spec ? s->device_spec : c->type_name[t];
		if (!*name)
			rc = orr_fail(err, ORR_EINPUT, "cluster %.80s: names no type of GPU; write one, as in 4x8:v100, or give --device",
				s->base.cluster_spec);
		else if (!(s->device[t] = device_load(name, err)) ||
			!(s->cost[t] = cost_new(s->dnn, s->device[t], &options, err)))
			rc = ORR_EINPUT;
	}
	return rc;
}

/* Every value that decides the result, defaults filled in, inputs with their hashes. */
static void describe(struct step_scenario *s)
{
	char number[40];
	cJSON *o = s->base.resolved = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "world", "step");
	cJSON_AddStringToObject(o, "model", s->model_spec);
	cJSON_AddStringToObject(o, "model_sha256", s->dnn->hash);
	cJSON_AddStringToObject(o, "cluster", s->base.cluster_spec);
	cJSON_AddStringToObject(o, "cluster_sha256", s->base.cluster->hash);
	cJSON_AddStringToObject(o, "network", s->network_spec);
	cJSON_AddStringToObject(o, "network_sha256", s->topo->hash);
	if (s->device_spec)
		cJSON_AddStringToObject(o, "device", s->device_spec);
	cJSON *list = cJSON_AddArrayToObject(o, "devices");
	for (uint32_t t = 0; t < s->base.cluster->n_types; t++)
		cJSON_AddItemToArray(list, cJSON_CreateString(s->device[t]->hash));
	cJSON_AddStringToObject(o, "precision", precision_name(s->precision));
	snprintf(number, sizeof number, "%.17g", s->batch);
	cJSON_AddStringToObject(o, "batch", number);
	cJSON_AddItemToObject(o, "step", scenario_args_json(s->options, step_options));
	cJSON_AddItemToObject(o, "cost", scenario_args_json(s->cost_args, step_cost_options));
	if (s->learn)
		cJSON_AddItemToObject(o, "learn", scenario_args_json(s->learn, learn_options));
	if (*s->link_changes_hash)
		cJSON_AddStringToObject(o, "link_changes_sha256", s->link_changes_hash);
	scenario_add_seed(o, &s->base);
}

int step_scenario_resolve(const cJSON *scenario, struct step_scenario *s, struct orr_error *err)
{
	*s = (struct step_scenario){ 0 };
	cJSON *o = cJSON_Duplicate(scenario, 1);
	enum orr_policy_kind kind;
	int rc = scenario_check_keys(o, known_keys, err);
	if (!rc)
		rc = scenario_kind(o, &kind, err);
	if (!rc && kind != ORR_POLICY_KIND_STEP)
		rc = orr_fail(err, ORR_EINPUT, "scenario: $.world: expected \"step\"");
	if (!rc)
		rc = scenario_resolve_seed(o, &s->base, err);
	if (!rc)
		rc = resolve_precision(o, s, err);
	if (!rc)
		rc = resolve_batch(o, s, err);
	if (!rc && !(s->options = scenario_args_at(o, "step", step_options, "step", err)))
		rc = ORR_EINPUT;
	if (!rc && !(s->cost_args = scenario_args_at(o, "cost", step_cost_options, "cost", err)))
		rc = ORR_EINPUT;
	if (!rc && cJSON_GetObjectItemCaseSensitive(o, "learn") &&
		!(s->learn = scenario_args_at(o, "learn", learn_options, "learn", err)))
		rc = ORR_EINPUT;
	if (!rc)
		rc = scenario_resolve_policies(o, ORR_POLICY_KIND_STEP, &s->base, err);
	if (!rc)
		rc = hash_link_changes(s, err);
	if (!rc)
		rc = resolve_model(o, s, err);
	if (!rc)
		rc = scenario_resolve_cluster(o, &s->base, err);
	if (!rc)
		rc = resolve_devices(o, s, err);
	if (!rc)
		rc = resolve_network(o, s, err);
	if (!rc)
		describe(s);
	cJSON_Delete(o);
	return rc;
}

void step_scenario_free(struct step_scenario *s)
{
	for (uint32_t t = 0; t < CLUSTER_MAX_TYPES; t++) {
		if (s->cost[t])
			cost_free(s->cost[t]);
		if (s->device[t])
			device_free(s->device[t]);
	}
	if (s->topo)
		topo_free(s->topo);
	if (s->dnn)
		dnn_free(s->dnn);
	args_free(s->options);
	args_free(s->cost_args);
	args_free(s->learn);
	mem_free(s->model_spec);
	mem_free(s->network_spec);
	mem_free(s->device_spec);
	scenario_free(&s->base);
	*s = (struct step_scenario){ 0 };
}
