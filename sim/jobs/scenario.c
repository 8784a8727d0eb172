/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/scenario.h"

#include "base/mem.h"
#include "hwmodel/throughput.h"
#include "jobs/steprate.h"

#include <stdio.h>
#include <string.h>

static int resolve_trace(const struct scenario *s, struct jobs_state *t, struct orr_error *err)
{
	char *options[INPUTS_MOST_OPTIONS + 1] = { NULL };
	const char *source = orr_arg_text(s->keys, "trace");
	int rc = *source ? inputs_trace_options(s->given, options, err) : orr_fail(err, ORR_EINPUT, "scenario: no trace is named");
	if (!rc && !(t->jobs = jobset_load(source, orr_arg_text(s->keys, "format"), (const char *const *)options, s->seed, err)))
		rc = err->code ? err->code : ORR_EINPUT;
	inputs_options_free(options);
	return rc;
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

/* Refuses keys that have no effect without jobs that train. */
static int refuse_unused(const cJSON *o, struct orr_error *err)
{
	static const char *const keys[] = { "sharing", "network", "device", "precision", "batch", "profile", "cost_samples", "step",
		"cost" };
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (cJSON_GetObjectItemCaseSensitive(o, keys[i]))
			return orr_fail(err, ORR_EINPUT, "%s: no job of this trace names a strategy, so it has no effect (docs/traces.md)",
				keys[i]);
	return ORR_OK;
}

/* Looks up every model and strategy of the trace, so that errors name their line. */
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
	if (!jobset_has_strategies(t->jobs))
		return refuse_unused(s->given, err);
	t->sharing = (enum jobs_sharing)orr_arg_int(s->keys, "sharing");
	int rc = setting_resolve_values(s, &t->set, err);
	if (!rc)
		rc = setting_resolve_hardware(s, &t->set, err);
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

static void describe_training(const struct scenario *s, const struct jobs_state *t, cJSON *o)
{
	const char *name, *hash;
	cJSON_AddStringToObject(o, "sharing", orr_arg_text(s->keys, "sharing"));
	setting_describe(&t->set, s, o);
	cJSON *inputs = cJSON_AddObjectToObject(o, "step_inputs");
	for (size_t i = 0; steprate_input(t->rates, i, &name, &hash); i++)
		cJSON_AddStringToObject(inputs, name, hash);
}

/* All values that determine the result, with defaults, and inputs with their hashes. */
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
	cJSON_AddStringToObject(o, "cluster", s->cluster_spec);
	cJSON_AddStringToObject(o, "cluster_sha256", s->cluster->hash);
	cJSON_AddStringToObject(o, "placement", t->placement->name);
	if (t->throughput) {
		cJSON_AddStringToObject(o, "throughputs", orr_arg_text(s->keys, "throughputs"));
		cJSON_AddStringToObject(o, "throughputs_sha256", throughput_hash(t->throughput));
	}
	if (t->rates)
		describe_training(s, t, o);
	scenario_add_options(o, s);
	cJSON_AddItemToObject(o, "failures", scenario_args_json(t->failure_options, inputs_failure_params));
	if (t->failures)
		cJSON_AddStringToObject(o, "failures_sha256", failures_hash(t->failures));
	inputs_add_capacity(o, &t->capacity);
	scenario_add_seed(o, s);
	scenario_add_until(o, s);
	cJSON_AddBoolToObject(o, "drop_unfit", orr_arg_bool(s->keys, "drop_unfit"));
	scenario_add_record(o, s);
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
		rc = resolve_trace(s, t, err);
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
	setting_free(&t->set);
	jobset_free(t->jobs);
	throughput_free(t->throughput);
	failures_free(t->failures);
	inputs_capacity_free(&t->capacity);
	args_free(t->failure_options);
	mem_free(t->blocks);
	mem_free(t->has_blocks);
	mem_free(t);
}
