/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step/setting.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "hwmodel/profile.h"
#include "results/result.h"
#include "step/step.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const struct orr_param step_cost_options[] = {
	ORR_PARAM_BOOL("measured", false, "scale to a measured step time of device, model, batch and precision, if one is known"),
	ORR_PARAM_BOOL("fused_attention", false, "attention scores never leave the chip (FlashAttention)"),
	ORR_PARAM_BOOL("fused_elementwise", false, "activations, biases and residual sums are fused into the preceding product"),
	ORR_PARAM_BOOL("dropout", false, "transformers have dropout masks after softmax and in residual sums"),
	ORR_PARAM_TEXT("setup", "", "use only measured step times whose setup contains this text (such as TensorFlow); empty: the first"),
	ORR_PARAM_REAL("efficiency", "0", 0, 1, "share of the peak that matrix products reach; 0: the share in the device's file"),
	ORR_PARAM_END
};

/* ---- profiles ---- */

/* Returns whether the profile names the device, or a device whose profiles apply to it. */
static bool names_device(const struct profile *p, const struct device *d)
{
	return !strcasecmp(p->device, d->name) || !strcasecmp(p->device, d->profile_of);
}

/*
 * Returns whether the profile is of measured hardware that the catalogue lacks: "AMD EPYC" is the name that a processor
 * reports, not a device's. Such a profile applies to the device that the user names, if both or neither are processors.
 */
static bool is_of_unlisted(const struct profile *p, const struct device *d)
{
	struct device *known = strpbrk(p->device, "/.") ? NULL : device_load(p->device, NULL);
	bool is_listed = known != NULL;
	device_free(known);
	return !is_listed && p->is_measured_here && !strcmp(p->backend, "cpu") == !strcmp(d->architecture, "CPU");
}

/* A named profile must belong to a device of the cluster and agree with its data sheet. */
static int take_profile(const struct scenario *base, struct setting *s, struct orr_error *err)
{
	bool is_used = false;
	struct profile *p = NULL;
	int rc = ORR_OK;
	for (uint32_t t = 0; !rc && t < base->cluster->n_types; t++) {
		const struct device *d = s->device[t];
		if (!p && !(p = profile_load(s->profile_spec, err)))
			return ORR_EINPUT;
		if (!d || (!names_device(p, d) && !(base->cluster->n_types == 1 && is_of_unlisted(p, d))))
			continue;
		rc = profile_check(p, d, err);
		s->profile[t] = p;
		p = NULL;
		is_used = true;
	}
	if (!rc && !is_used)
		rc = orr_fail(err, ORR_EINPUT,
			"profile %.100s: its device is %.60s: expected a profile of %.60s, another --device, or --profile none",
			s->profile_spec, p ? p->device : "", s->device[0] ? s->device[0]->name : "the catalogue");
	profile_free(p);
	return rc;
}

static int resolve_profiles(const struct scenario *base, struct setting *s, struct orr_error *err)
{
	int rc = ORR_OK;
	s->profile_spec = orr_arg_text(base->keys, "profile");
	if (!strcmp(s->profile_spec, "none"))
		return ORR_OK;
	if (strcmp(s->profile_spec, "auto"))
		return take_profile(base, s, err);
	for (uint32_t t = 0; !rc && t < base->cluster->n_types; t++) {
		const char *name = s->device[t] ? profile_for_device(s->device[t]->profile_of) : NULL;
		if (name && !(s->profile[t] = profile_load(name, err)))
			rc = ORR_EINPUT;
	}
	return rc;
}

/* Draws without laws would give intervals of width 0, so they are refused. */
static int check_samples(const struct scenario *base, const struct setting *s, struct orr_error *err)
{
	for (uint32_t t = 0; t < base->cluster->n_types; t++)
		if (s->profile[t])
			return ORR_OK;
	return s->cost_samples ? orr_fail(err, ORR_EINPUT,
					 "cost_samples: device %.60s has no profile, so there are no laws to draw (--profile FILE)",
					 s->device[0]->name)
			       : ORR_OK;
}

/* If the network's text does not state the link between the GPUs of a node, it is that of the node's device. */
static struct topo *load_network(const struct scenario *base, const struct setting *s, const char *spec, struct orr_error *err)
{
	struct topo_gpu_link gpu[CLUSTER_MAX_TYPES] = { { 0, 0 } };
	for (uint32_t t = 0; t < base->cluster->n_types; t++)
		if (s->device[t])
			gpu[t] = (struct topo_gpu_link){ s->device[t]->link_Bps, s->device[t]->link_latency_s };
	return topo_load_with(base->cluster, spec, base->seed, gpu, err);
}

struct topo *setting_default_network(const struct scenario *base, const struct setting *s, struct orr_error *err)
{
	return load_network(base, s, SETTING_DEFAULT_NETWORK, err);
}

bool setting_links_change(const struct setting *s, const struct scenario *base)
{
	struct topo *plain = setting_default_network(base, s, NULL);
	bool changes = !plain || !s->topo || !topo_is_same_inside(s->topo, plain);
	topo_free(plain);
	return changes;
}

static bool is_same(double a, double b)
{
	return !(a < b) && !(a > b);
}

bool setting_routes_change(const struct setting *s, const struct scenario *base)
{
	struct topo *plain = setting_default_network(base, s, NULL);
	bool changes = !plain || !s->topo;
	for (uint32_t i = 1; !changes && i < plain->n_gpus; i++)
		changes = !is_same(topo_bandwidth(s->topo, 0, i), topo_bandwidth(plain, 0, i)) ||
			  !is_same(topo_latency(s->topo, 0, i), topo_latency(plain, 0, i));
	topo_free(plain);
	return changes;
}

static int resolve_network(const struct scenario *base, struct setting *s, struct orr_error *err)
{
	s->network_spec = orr_arg_text(base->keys, "network");
	s->topo = load_network(base, s, s->network_spec, err);
	return s->topo ? ORR_OK : ORR_EINPUT;
}

struct cost_options setting_costs(const struct setting *s, uint32_t type, uint32_t sample)
{
	return (struct cost_options){ .precision = s->precision,
		.use_measured = orr_arg_bool(s->cost_args, "measured"),
		.fused_attention = orr_arg_bool(s->cost_args, "fused_attention"),
		.fused_elementwise = orr_arg_bool(s->cost_args, "fused_elementwise"),
		.efficiency = orr_arg_real(s->cost_args, "efficiency"),
		.dropout = orr_arg_bool(s->cost_args, "dropout"),
		.setup = *orr_arg_text(s->cost_args, "setup") ? orr_arg_text(s->cost_args, "setup") : NULL,
		.profile = s->profile[type],
		.sample = sample,
		.seed = s->seed };
}

/* Sets the option of this name to its default. */
static void cost_default(struct cost_options *o, const char *name)
{
	o->use_measured &= strcmp(name, "measured") != 0;
	o->fused_attention &= strcmp(name, "fused_attention") != 0;
	o->fused_elementwise &= strcmp(name, "fused_elementwise") != 0;
	o->dropout &= strcmp(name, "dropout") != 0;
	if (!strcmp(name, "efficiency"))
		o->efficiency = 0;
}

static bool have_same_times(const struct cost *a, const struct cost *b, uint32_t layers, double batch)
{
	static const enum dnn_pass passes[] = { DNN_FORWARD, DNN_BACKWARD_DATA, DNN_BACKWARD_WEIGHT };
	for (uint32_t l = 0; l < layers; l++)
		for (size_t p = 0; p < sizeof passes / sizeof *passes; p++) {
			double x = cost_layer_s(a, l, passes[p], batch, 1, false), y = cost_layer_s(b, l, passes[p], batch, 1, false);
			if (x < y || x > y)
				return false;
		}
	return true;
}

static struct profile *default_profile(const struct setting *s, uint32_t type)
{
	const char *name = s->device[type] ? profile_for_device(s->device[type]->profile_of) : NULL;
	return name ? profile_load(name, NULL) : NULL;
}

bool setting_costs_change(
	const struct setting *s, const struct cluster *c, const struct dnn *dnn, const struct cost *const *cost, const char *name)
{
	bool changes = false;
	for (uint32_t t = 0; !changes && t < c->n_types; t++) {
		struct cost_options o = setting_costs(s, t, 0);
		struct profile *usual = strcmp(name, "profile") ? NULL : default_profile(s, t);
		cost_default(&o, name);
		o.profile = strcmp(name, "profile") ? o.profile : usual;
		struct cost *plain = cost_new(dnn, s->device[t], &o, NULL);
		changes = !plain || !have_same_times(cost[t], plain, dnn->n_layers, s->batch);
		cost_free(plain);
		profile_free(usual);
	}
	return changes;
}

bool setting_profile_changes(const struct setting *s, const struct cluster *c)
{
	bool changes = false;
	for (uint32_t t = 0; !changes && t < c->n_types; t++) {
		struct profile *p = default_profile(s, t);
		changes = !p != !s->profile[t] || (p && strcmp(p->hash, s->profile[t]->hash) != 0);
		profile_free(p);
	}
	return changes;
}

/* Returns the device of a type, which may have a price suffix: "a100-spot" is an a100. */
static const char *device_name(const struct setting *s, const struct cluster *c, uint32_t t, char out[64])
{
	snprintf(out, 64, "%s", s->device_spec ? s->device_spec : c->type_name[t]);
	size_t n = strlen(out), tail = strlen("-spot");
	if (!s->device_spec && n > tail && !strcmp(out + n - tail, "-spot"))
		out[n - tail] = 0;
	return s->device_spec ? s->device_spec : out;
}

bool setting_device_changes(const struct setting *s, const struct cluster *c)
{
	struct setting plain = { 0 };
	bool changes = false;
	for (uint32_t t = 0; !changes && s->device_spec && t < c->n_types; t++) {
		char text[64];
		struct device *d = device_load(device_name(&plain, c, t, text), NULL);
		changes = !d || !s->device[t] || strcmp(d->hash, s->device[t]->hash) != 0;
		device_free(d);
	}
	return changes;
}

static int resolve_devices(const struct scenario *base, struct setting *s, struct orr_error *err)
{
	const struct cluster *c = base->cluster;
	int rc = ORR_OK;
	if (!c->gpus)
		rc = orr_fail(err, ORR_EINPUT, "cluster %.80s: expected at least one GPU", base->cluster_spec);
	for (uint32_t t = 0; !rc && t < c->n_types; t++) {
		char text[64];
		const char *name = device_name(s, c, t, text);
		if (!*name)
			rc = orr_fail(
				err, ORR_EINPUT, "cluster %.80s: expected a GPU type, as in 4x8:v100, or --device", base->cluster_spec);
		else if (!(s->device[t] = device_load(name, err)))
			rc = ORR_EINPUT;
	}
	return rc;
}

/* Reads precision and device, which serving also has. */
static void read_common(const struct scenario *base, struct setting *s)
{
	const char *device = orr_arg_text(base->keys, "device");
	precision_named(orr_arg_text(base->keys, "precision"), &s->precision);
	s->device_spec = *device ? device : NULL;
	s->seed = base->seed;
}

int setting_resolve_values(const struct scenario *base, struct setting *s, struct orr_error *err)
{
	read_common(base, s);
	s->batch = orr_arg_real(base->keys, "batch");
	s->cost_samples = (uint32_t)orr_arg_int(base->keys, "cost_samples");
	if (s->cost_samples && base->replications > 1)
		return orr_fail(err, ORR_EINPUT,
			"scenario: $.replications: expected 1 with cost_samples: intervals are computed either from replications or from "
			"draws of the costs");
	if (s->cost_samples == 1)
		return orr_fail(err, ORR_EINPUT, "scenario: $.cost_samples: expected 0, or at least 2 draws, found \"1\"");
	if (!(s->options = scenario_args_at(base->given, "step", step_options, "step", err)))
		return ORR_EINPUT;
	return (s->cost_args = scenario_args_at(base->given, "cost", step_cost_options, "cost", err)) ? ORR_OK : ORR_EINPUT;
}

int setting_refuse_checkpoints(const struct setting *s, const char *remedy, struct orr_error *err)
{
	int64_t every = orr_arg_int(s->options, "checkpoint_every");
	return every ? orr_fail(err, ORR_EINPUT, "step.checkpoint_every: expected 0 here, or %s, found %lld", remedy, (long long)every)
		     : ORR_OK;
}

int setting_resolve_hardware(const struct scenario *base, struct setting *s, struct orr_error *err)
{
	int rc = resolve_devices(base, s, err);
	if (!rc)
		rc = resolve_profiles(base, s, err);
	if (!rc)
		rc = check_samples(base, s, err);
	return rc ? rc : resolve_network(base, s, err);
}

int setting_resolve_serving(const struct scenario *base, struct setting *s, struct orr_error *err)
{
	const struct cluster *c = base->cluster;
	int rc = ORR_OK;
	read_common(base, s);
	for (uint32_t t = 0; !rc && t < c->n_types; t++) {
		struct orr_error unknown = { 0 };
		char text[64];
		const char *name = device_name(s, c, t, text);
		s->device[t] = *name ? device_load(name, &unknown) : NULL;
		if (!s->device[t] && s->device_spec)
			rc = orr_fail(err, unknown.code, "device: %s", unknown.text);
	}
	if (!rc)
		rc = resolve_profiles(base, s, err);
	if (!rc && strcmp(orr_arg_text(base->keys, "network"), "none") != 0)
		rc = resolve_network(base, s, err);
	return rc;
}

char *setting_source(const struct setting *s, const struct cluster *c)
{
	struct sbuf b = { 0 };
	for (uint32_t t = 0; t < c->n_types; t++) {
		char *summary = s->profile[t] ? profile_summary(s->profile[t]) : NULL;
		sbuf_printf(&b, "%s%s%s", b.len ? "; " : "", c->n_types > 1 ? c->type_name[t] : "", c->n_types > 1 ? ": " : "");
		if (summary)
			sbuf_printf(&b, "profile %s; the data sheet for kernels without a law", summary);
		if (summary && !names_device(s->profile[t], s->device[t]))
			sbuf_printf(&b, "; it was measured on \"%s\", which the catalogue lacks, and is used for %s", s->profile[t]->device,
				s->device[t]->name);
		if (!summary)
			sbuf_printf(&b, "data sheet only: roofline of %s", s->device[t]->name);
		mem_free(summary);
	}
	return sbuf_steal(&b);
}

/* Loads devices with their profiles. */
static void add_devices(const struct setting *s, const struct scenario *base, cJSON *o)
{
	if (s->device_spec)
		cJSON_AddStringToObject(o, "device", s->device_spec);
	cJSON *list = cJSON_AddArrayToObject(o, "devices");
	for (uint32_t t = 0; t < base->cluster->n_types; t++)
		cJSON_AddItemToArray(list, cJSON_CreateString(s->device[t] ? s->device[t]->hash : ""));
	cJSON_AddStringToObject(o, "profile", s->profile_spec);
	list = cJSON_AddArrayToObject(o, "profiles");
	for (uint32_t t = 0; t < base->cluster->n_types; t++)
		cJSON_AddItemToArray(list, cJSON_CreateString(s->profile[t] ? s->profile[t]->hash : ""));
}

/* Without checkpoints, their options appear only if they are set, so that the hashes of such runs do not depend on them. */
static cJSON *step_json(const struct setting *s)
{
	cJSON *all = scenario_args_json(s->options, step_options);
	bool is_of_checkpoints = false, has_checkpoints = orr_arg_int(s->options, "checkpoint_every") > 0;
	for (const struct orr_param *p = step_options; p->name && !has_checkpoints; p++) {
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(all, p->name);
		is_of_checkpoints |= !strcmp(p->name, "checkpoint_every");
		if (is_of_checkpoints && cJSON_IsString(value) && !strcmp(value->valuestring, p->def))
			cJSON_DeleteItemFromObjectCaseSensitive(all, p->name);
	}
	return all;
}

void setting_describe(const struct setting *s, const struct scenario *base, cJSON *o)
{
	char number[40];
	cJSON_AddStringToObject(o, "network", s->network_spec);
	cJSON_AddStringToObject(o, "network_sha256", s->topo->hash);
	add_devices(s, base, o);
	snprintf(number, sizeof number, "%u", s->cost_samples);
	cJSON_AddStringToObject(o, "cost_samples", number);
	cJSON_AddStringToObject(o, "precision", precision_name(s->precision));
	snprintf(number, sizeof number, "%.17g", s->batch);
	cJSON_AddStringToObject(o, "batch", number);
	cJSON_AddItemToObject(o, "step", step_json(s));
	cJSON_AddItemToObject(o, "cost", scenario_args_json(s->cost_args, step_cost_options));
	cJSON *files = scenario_files_json(s->options, step_options);
	if (files)
		cJSON_AddItemToObject(o, "step_files_sha256", files);
}

void setting_describe_serving(const struct setting *s, const struct scenario *base, cJSON *o)
{
	if (s->topo) {
		cJSON_AddStringToObject(o, "network", s->network_spec);
		cJSON_AddStringToObject(o, "network_sha256", s->topo->hash);
	}
	add_devices(s, base, o);
	cJSON_AddStringToObject(o, "precision", precision_name(s->precision));
}

void setting_free(struct setting *s)
{
	for (uint32_t t = 0; t < CLUSTER_MAX_TYPES; t++)
		device_free(s->device[t]);
	for (uint32_t t = 0; t < CLUSTER_MAX_TYPES; t++)
		profile_free(s->profile[t]);
	topo_free(s->topo);
	args_free(s->options);
	args_free(s->cost_args);
	*s = (struct setting){ 0 };
}

void setting_note_network(const struct setting *s, unsigned used, struct run_result *r)
{
	if (used & STEP_USED_NETWORK && !strcmp(s->network_spec, SETTING_DEFAULT_NETWORK))
		result_note(r, "assumption",
			"messages between nodes: each node has one NIC of 10 Gbps to one switch (the default of --network)");
}
