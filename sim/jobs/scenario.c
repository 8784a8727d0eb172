/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/scenario.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/strtab.h"
#include "hwmodel/device.h"
#include "hwmodel/throughput.h"
#include "jobs/adapt.h"
#include "jobs/quota_set.h"
#include "jobs/steprate.h"
#include "jobs/depend.h"
#include "jobs/type_speed.h"
#include "traces/flow.h"
#include "world/gpu_types.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static int resolve_trace(const struct scenario *s, struct jobs_state *t, struct orr_error *err)
{
	char *options[INPUTS_MOST_OPTIONS + 1] = { NULL };
	const char *source = orr_arg_text(s->keys, "trace");
	int rc = *source ? inputs_trace_options(s->given, options, err) : orr_fail(err, ORR_EINPUT, "scenario: expected a trace");
	if (!rc && !(t->jobs = jobset_load(source, orr_arg_text(s->keys, "format"), (const char *const *)options, s->seed, err)))
		rc = err->code ? err->code : ORR_EINPUT;
	inputs_options_free(options);
	int64_t block_ns = 0;
	if (!rc)
		rc = inputs_resample(s, &block_ns, err);
	if (!rc && block_ns)
		rc = jobset_resample(t->jobs, block_ns, s->seed, err);
	return rc;
}

/* ---- flows ---- */

static int unshare(const struct scenario *s, struct jobs_state *t, struct orr_error *err)
{
	const struct flowset *from = jobset_flows(t->jobs);
	if (!from || !orr_arg_bool(s->options, "unshared"))
		return ORR_OK;
	t->unshared = mem_zalloc(1, sizeof *t->unshared);
	for (uint32_t i = 0; i < from->n; i++) {
		struct flow *f = flow_unshared(from->flow[i], jobset_source(t->jobs), err);
		if (!f)
			return ORR_EINPUT;
		flowset_add(t->unshared, f);
	}
	return ORR_OK;
}

/* Data sets need a limited memory. */
static int check_memory(const struct scenario *s, const struct jobs_state *t, struct orr_error *err)
{
	bool has_outputs = false;
	const struct flowset *set = jobset_flows(t->jobs);
	for (uint32_t i = 0; set && i < set->n; i++)
		for (uint32_t k = 0; k < set->flow[i]->n_ops; k++)
			has_outputs |= set->flow[i]->op[k].bytes.n > 0;
	if (!orr_arg_int(s->keys, "memory") || !has_outputs || orr_arg_real(s->options, "memory_bytes") > 0)
		return ORR_OK;
	for (uint32_t i = 0; i < s->cluster->n_nodes; i++)
		if (s->cluster->node[i].mem_mib <= 0)
			return orr_fail(err, ORR_EINPUT,
				"memory: the memory of node %s is unknown: expected mem=GIB in --cluster, or --set jobs.memory_bytes=BYTES",
				s->cluster->node[i].name);
	return ORR_OK;
}

/* Refuses --decisions unless there is a single run, which the policy `replay` can repeat. */
static int check_decisions(const struct scenario *s, const struct jobs_state *t, struct orr_error *err)
{
	if (!world_extra(s->output, "decisions"))
		return ORR_OK;
	if (s->n_policies != 1 || s->replications > 1)
		return orr_fail(err, ORR_EINPUT, "--decisions: expected one policy and one replication");
	if (t->failures || t->capacity.is_given || jobset_flows(t->jobs))
		return orr_fail(err, ORR_EINPUT, "--decisions: expected a run without failures, without lent nodes and without flows");
	return ORR_OK;
}

static int check_dependencies(const struct scenario *s, const struct jobs_state *t, struct orr_error *err)
{
	if (strcmp(orr_arg_text(s->options, "dependencies"), "on"))
		return ORR_OK;
	if (!jobset_is_loaded(t->jobs) || jobset_blocks(t->jobs) || jobset_flows(t->jobs))
		return orr_fail(err, ORR_EINPUT, "jobs.dependencies=on: expected a trace file of jobs, without --resample");
	return depend_check(t->jobs, err);
}

/* ---- partitions ---- */

/* Refuses what partitions cannot be combined with. */
static int check_partitions(const struct scenario *s, const struct jobs_state *t, struct orr_error *err)
{
	bool borrows = !strcmp(orr_arg_text(s->options, "borrow"), "on");
	if (t->capacity.is_given)
		return orr_fail(err, ORR_EINPUT, "partitions: expected a cluster without lent nodes (capacity)");
	for (size_t i = 0; i < s->n_policies; i++)
		if (s->policy[i].entry.policy->flags & ORR_JOBS_WHOLE)
			return orr_fail(err, ORR_EINPUT, "partitions: policy %s decides for all jobs together: expected another policy",
				s->policy[i].label);
	if (borrows && t->partitions->gpus > s->cluster->gpus)
		return orr_fail(err, ORR_EINPUT,
			"partitions: the quotas sum to %llu GPUs: expected at most %u, those of the cluster, with jobs.borrow=on",
			(unsigned long long)t->partitions->gpus, s->cluster->gpus);
	return ORR_OK;
}

static int resolve_partitions(const struct scenario *s, struct jobs_state *t, struct orr_error *err)
{
	const char *text = orr_arg_text(s->keys, "partitions");
	if (!*text)
		return ORR_OK;
	t->partitions = quota_set_load(text, err);
	return t->partitions ? check_partitions(s, t, err) : ORR_EINPUT;
}

/* ---- GPU types ---- */

/* Returns whether a list such as "V100|T4" contains the type. */
static bool is_in_list(const char *list, const char *type)
{
	size_t len = strlen(type);
	for (const char *s = list; *s; s += strcspn(s, "|"), s += *s == '|')
		if (strcspn(s, "|") == len && !strncasecmp(s, type, len))
			return true;
	return false;
}

static bool is_asked_for(const struct jobset *jobs, const char *type)
{
	enum { MOST = 2000000 };
	struct jobcursor *c = jobset_open(jobs, 0);
	struct job_rec r;
	uint32_t last = 0;
	bool is_found = false;
	for (uint64_t i = 0; i < MOST && !is_found && jobcursor_next(c, &r); i++) {
		if (r.gpu_types && r.gpu_types != last)
			is_found = is_in_list(strtab_text(jobset_strings(jobs), r.gpu_types), type);
		last = r.gpu_types;
	}
	jobcursor_close(c);
	return is_found;
}

static bool is_known_type(const void *ctx, const char *type)
{
	const struct jobs_state *t = ctx;
	return (t->throughput && throughput_has_type(t->throughput, type)) || is_asked_for(t->jobs, type);
}

static int check_gpu_types(const struct scenario *s, const struct jobs_state *t, struct orr_error *err)
{
	if (*orr_arg_text(s->keys, "device"))
		return ORR_OK; /* all types have this device */
	return gpu_types_check(s->cluster, is_known_type, t, ", or TYPE:speed=FACTOR for the speed of another type", err);
}

/* Finds the memory of the GPUs of each type: the memory of --device, or of the device with the name of the type. */
static void find_memory(const struct scenario *s, struct jobs_state *t)
{
	const char *device = orr_arg_text(s->keys, "device");
	for (uint32_t i = 0; i < s->cluster->n_types; i++) {
		struct orr_error unknown = { 0 };
		const char *name = s->cluster->type_name[i];
		struct device *d = *device                     ? device_load(device, &unknown)
				   : gpu_type_is_generic(name) ? NULL
							       : gpu_type_device(name, &unknown);
		t->gpu_mem_mib[i] = d && d->memory_bytes < 1e18 ? d->memory_bytes / 1048576 : 0;
		if (d)
			device_free(d);
	}
}

/* ---- jobs that train ---- */

static int find_step_policy(const char *name, const struct orr_policy **out, char hash[65], struct orr_error *err)
{
	struct registry_entry entry;
	int rc = registry_find(name, world_named("step"), &entry, err);
	if (rc)
		return rc;
	*out = entry.policy;
	snprintf(hash, 65, "%s", entry.plugin_hash);
	return ORR_OK;
}

/* Refuses keys that have no effect unless jobs train. Some of these keys also affect the class mean of speeds by GPU type. */
static int refuse_unused(const cJSON *o, bool has_reference, struct orr_error *err)
{
	static const char *const keys[] = { "precision", "batch", "profile", "cost_samples", "sharing", "network", "device", "step",
		"cost" };
	enum { OF_CLASS = 4 };
	for (size_t i = has_reference ? OF_CLASS : 0; i < sizeof keys / sizeof *keys; i++)
		if (cJSON_GetObjectItemCaseSensitive(o, keys[i]))
			return orr_fail(err, ORR_EINPUT,
				"%s: this option has no effect: expected a trace whose jobs name a strategy%s (docs/traces.md)", keys[i],
				i < OF_CLASS ? ", or jobs.reference_type" : "");
	return ORR_OK;
}

/* Looks up every model and strategy of the trace, so that errors can name the line. */
static int check_rows(const struct jobs_state *s, struct orr_error *err)
{
	enum { MOST = 2000000 };
	const struct strtab *text = jobset_strings(s->jobs);
	struct jobcursor *c = jobset_open(s->jobs, 0);
	struct job_rec r;
	struct orr_error e = { 0 };
	for (uint64_t i = 0; i < MOST && !e.code && jobcursor_next(c, &r); i++) {
		uint32_t class;
		char line[24] = "";
		if (r.line)
			snprintf(line, sizeof line, "%llu:", (unsigned long long)r.line);
		if (r.strategy && steprate_class(s->rates, strtab_text(text, r.model), strtab_text(text, r.strategy), r.batch, &class, &e))
			orr_fail(err, e.code, "%s:%s %s", jobset_source(s->jobs), line, e.text);
	}
	jobcursor_close(c);
	return e.code;
}

static int resolve_training(const struct scenario *s, struct jobs_state *t, struct orr_error *err)
{
	const char *reference = orr_arg_text(s->options, "reference_type");
	if (!jobset_has_strategies(t->jobs))
		return refuse_unused(s->given, *reference, err);
	if (*reference && cluster_type(s->cluster, reference, strlen(reference)) == CLUSTER_NO_TYPE)
		return orr_fail(err, ORR_EINPUT,
			"jobs.reference_type=%.60s: expected a GPU type of the cluster, because jobs name a strategy", reference);
	t->sharing = (enum jobs_sharing)orr_arg_int(s->keys, "sharing");
	int rc = setting_resolve_hardware(s, &t->set, err);
	if (rc)
		return rc;
	struct steprate_config c = { .cluster = s->cluster,
		.topo = t->set.topo,
		.device = t->set.device,
		.options = t->set.options,
		.costs = setting_costs(&t->set, 0, 0),
		.profile = t->set.profile,
		.precision = t->set.precision,
		.batch = t->set.batch,
		.seed = s->seed,
		.link_use = t->sharing != JOBS_SHARING_OFF,
		.tolerance = orr_arg_real(s->options, "sharing_tolerance"),
		.most_iterations = (uint64_t)orr_arg_int(s->options, "sharing_iterations"),
		.most_flows = (uint64_t)orr_arg_int(s->options, "sharing_flows"),
		.find = find_step_policy };
	t->rates = steprate_new(&c, err);
	if (!t->rates)
		return ORR_EINPUT;
	t->drawn = mem_zalloc(t->set.cost_samples + 1u, sizeof *t->drawn);
	for (uint32_t k = 0; k < t->set.cost_samples; k++) {
		c.costs = setting_costs(&t->set, 0, k + 1);
		if (!(t->drawn[k] = steprate_new(&c, err)))
			return ORR_EINPUT;
	}
	return check_rows(t, err);
}

/* ---- speeds by GPU type of jobs that do not train ---- */

static int resolve_speeds(const struct scenario *s, struct jobs_state *t, struct orr_error *err)
{
	int rc = setting_resolve_values(s, &t->set, err);
	if (!rc)
		rc = setting_refuse_checkpoints(&t->set, "orrery step with this option", err);
	struct type_speed_config c = { .cluster = s->cluster,
		.reference = orr_arg_text(s->options, "reference_type"),
		.throughput = t->throughput,
		.profile = orr_arg_text(s->keys, "profile"),
		.precision = t->set.precision,
		.batch = t->set.batch,
		.seed = s->seed };
	if (rc || !(t->speeds = type_speeds_new(&c, err)))
		return err->code ? err->code : ORR_EINPUT;
	if (!type_speeds_has_class(t->speeds))
		return ORR_OK;
	t->speed_draw = mem_zalloc(t->set.cost_samples + 1u, sizeof *t->speed_draw);
	for (uint32_t k = 0; k < t->set.cost_samples; k++)
		if (!(t->speed_draw[k] = type_draw_new(t->speeds, k + 1, err)))
			return ORR_EINPUT;
	return ORR_OK;
}

static void describe_speeds(const struct scenario *s, const struct jobs_state *t, cJSON *o)
{
	const char *device, *profile;
	char number[NUM_REAL_MAX];
	if (!t->rates) {
		cJSON_AddStringToObject(o, "precision", precision_name(t->set.precision));
		cJSON_AddStringToObject(o, "profile", orr_arg_text(s->keys, "profile"));
		snprintf(number, sizeof number, "%u", t->set.cost_samples);
		cJSON_AddStringToObject(o, "cost_samples", number);
		num_put_real(number, t->set.batch);
		cJSON_AddStringToObject(o, "batch", number);
	}
	cJSON *devices = cJSON_AddArrayToObject(o, "speed_devices"), *profiles = cJSON_AddArrayToObject(o, "speed_profiles");
	for (uint32_t i = 0; type_speeds_input(t->speeds, i, &device, &profile); i++) {
		cJSON_AddItemToArray(devices, cJSON_CreateString(device));
		cJSON_AddItemToArray(profiles, cJSON_CreateString(profile));
	}
}

static void describe_training(const struct scenario *s, const struct jobs_state *t, cJSON *o)
{
	const char *name, *hash;
	cJSON_AddStringToObject(o, "sharing", orr_arg_text(s->keys, "sharing"));
	setting_describe(&t->set, s, o);
	cJSON *inputs = cJSON_AddObjectToObject(o, "step_inputs");
	for (size_t i = 0; steprate_input(t->rates, i, &name, &hash); i++)
		cJSON_AddStringToObject(inputs, name, hash);
}

/* Adds all values that determine the result, with defaults, and inputs with their hashes. */
static void describe(struct scenario *s, const struct jobs_state *t)
{
	const cJSON *options = cJSON_GetObjectItemCaseSensitive(s->given, "trace_options");
	cJSON *o = s->resolved = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "world", "jobs");
	cJSON_AddStringToObject(o, "trace", orr_arg_text(s->keys, "trace"));
	cJSON_AddStringToObject(o, "format", jobset_format(t->jobs));
	cJSON_AddStringToObject(o, "trace_sha256", jobset_hash(t->jobs));
	if (options)
		cJSON_AddItemToObject(o, "trace_options", cJSON_Duplicate(options, 1));
	inputs_add_resample(o, s);
	cJSON_AddStringToObject(o, "cluster", s->cluster_spec);
	cJSON_AddStringToObject(o, "cluster_sha256", s->cluster->hash);
	cJSON_AddStringToObject(o, "placement", t->placement->name);
	if (t->throughput) {
		cJSON_AddStringToObject(o, "throughputs", orr_arg_text(s->keys, "throughputs"));
		cJSON_AddStringToObject(o, "throughputs_sha256", throughput_hash(t->throughput));
	}
	if (t->adapt) {
		static const char *const files[] = { "applications", "noise", "step_times" };
		for (int i = 0; i < 3; i++) {
			char name[32];
			snprintf(name, sizeof name, "%s_sha256", files[i]);
			cJSON_AddStringToObject(o, files[i], orr_arg_text(s->keys, files[i]));
			cJSON_AddStringToObject(o, name, adapt_hash(t->adapt, i));
		}
		cJSON_AddStringToObject(o, "batches", orr_arg_text(s->keys, "batches"));
		cJSON_AddStringToObject(o, "epoch_ends", orr_arg_text(s->keys, "epoch_ends"));
		cJSON_AddStringToObject(o, "belief", orr_arg_text(s->keys, "belief"));
		cJSON_AddNumberToObject(o, "belief_error", orr_arg_real(s->keys, "belief_error"));
	}
	if (t->partitions) {
		cJSON_AddStringToObject(o, "partitions", orr_arg_text(s->keys, "partitions"));
		cJSON_AddStringToObject(o, "partitions_sha256", t->partitions->hash);
	}
	if (strcmp(orr_arg_text(s->keys, "interference"), "auto"))
		cJSON_AddStringToObject(o, "interference", orr_arg_text(s->keys, "interference"));
	if (jobset_flows(t->jobs))
		cJSON_AddStringToObject(o, "memory", orr_arg_text(s->keys, "memory"));
	if (t->rates)
		describe_training(s, t, o);
	if (type_speeds_has_class(t->speeds) || (!t->rates && *orr_arg_text(s->options, "reference_type")))
		describe_speeds(s, t, o);
	scenario_add_options(o, s);
	cJSON_AddItemToObject(o, "failures", scenario_args_json(t->failure_options, inputs_failure_params));
	if (t->failures)
		cJSON_AddStringToObject(o, "failures_sha256", failures_hash(t->failures));
	inputs_add_capacity(o, &t->capacity);
	scenario_add_seed(o, s);
	scenario_add_until(o, s);
	scenario_add_warm_up(o, s);
	cJSON_AddBoolToObject(o, "drop_unfit", orr_arg_bool(s->keys, "drop_unfit"));
	cJSON_AddBoolToObject(o, "completed_only", orr_arg_bool(s->keys, "completed_only"));
	scenario_add_record(o, s);
}

/* ---- jobs that adapt ---- */

static int resolve_adapt(const struct scenario *s, struct jobs_state *t, struct orr_error *err)
{
	static const char *const needs[] = { "noise", "step_times", "batches", "epoch_ends", "belief", "belief_error" };
	struct adapt_files f = { .applications = orr_arg_text(s->keys, "applications"),
		.noise = orr_arg_text(s->keys, "noise"),
		.step_times = orr_arg_text(s->keys, "step_times"),
		.batches = (enum adapt_batches)orr_arg_int(s->keys, "batches"),
		.epochs = (enum adapt_epochs)orr_arg_int(s->keys, "epoch_ends"),
		.profiles = (enum adapt_profiles)orr_arg_int(s->keys, "belief"),
		.profile_error = orr_arg_real(s->keys, "belief_error") };
	for (size_t i = 0; !*f.applications && i < sizeof needs / sizeof *needs; i++)
		if (cJSON_GetObjectItemCaseSensitive(s->given, needs[i]))
			return orr_fail(err, ORR_EINPUT, "%s: this option has no effect: expected applications (--applications FILE) too",
				needs[i]);
	if (!*f.applications)
		return ORR_OK;
	if (f.profile_error > 0 && f.profiles != ADAPT_PROFILES_WRONG)
		return orr_fail(err, ORR_EINPUT, "belief_error: this option has no effect: expected belief=wrong too");
	if (!*f.noise)
		return orr_fail(err, ORR_EINPUT, "applications: expected noise (--noise FILE) too: the gradient by epoch and batch");
	t->adapt = adapt_load(&f, err);
	return t->adapt ? ORR_OK : ORR_EINPUT;
}

int jobs_state_load(struct scenario *s, struct jobs_state *t, struct orr_error *err)
{
	const char *throughputs = orr_arg_text(s->keys, "throughputs");
	t->placement = placement_find(orr_arg_text(s->keys, "placement"));
	int rc = inputs_failures(s->given, s->cluster, &t->failure_options, &t->failures, err);
	if (!rc)
		rc = inputs_capacity(s->given, s->cluster, s->seed, t->failures, &t->capacity, err);
	if (!rc && *throughputs && !(t->throughput = throughput_load(throughputs, err)))
		rc = ORR_EINPUT;
	if (!rc)
		rc = resolve_adapt(s, t, err);
	if (!rc)
		rc = resolve_trace(s, t, err);
	if (!rc)
		rc = unshare(s, t, err);
	if (!rc)
		rc = check_memory(s, t, err);
	if (!rc)
		rc = resolve_partitions(s, t, err);
	if (!rc)
		rc = check_dependencies(s, t, err);
	if (!rc)
		rc = check_decisions(s, t, err);
	if (!rc)
		rc = check_gpu_types(s, t, err);
	if (!rc)
		find_memory(s, t);
	if (!rc)
		rc = resolve_speeds(s, t, err);
	if (!rc)
		rc = resolve_training(s, t, err);
	if (!rc)
		describe(s, t);
	return rc;
}

void jobs_state_free(struct jobs_state *t)
{
	steprate_free(t->rates);
	for (uint32_t k = 0; t->drawn && k < t->set.cost_samples; k++)
		steprate_free(t->drawn[k]);
	mem_free(t->drawn);
	for (uint32_t k = 0; t->speed_draw && k < t->set.cost_samples; k++)
		type_draw_free(t->speed_draw[k]);
	mem_free(t->speed_draw);
	type_speeds_free(t->speeds);
	setting_free(&t->set);
	flowset_free(t->unshared);
	jobset_free(t->jobs);
	adapt_free(t->adapt);
	quota_set_free(t->partitions);
	throughput_free(t->throughput);
	failures_free(t->failures);
	inputs_capacity_free(&t->capacity);
	args_free(t->failure_options);
	for (size_t i = 0; i < t->n_blocks; i++)
		mem_free(t->blocks[i]);
	mem_free(t->blocks);
	mem_free(t->used);
	mem_free(t);
}
