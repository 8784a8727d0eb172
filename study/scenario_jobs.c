/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/scenario_jobs.h"

#include "base/mem.h"
#include "hwmodel/throughput.h"
#include "jobs/steprate.h"

#include <stdio.h>
#include <string.h>

static const char *const known_keys[] = { "world", "trace", "format", "trace_options", "cluster", "placement", "throughputs", "policies",
	"jobs", "failures", "capacity", "seed", "until", "drop_unfit", "record", "policy_timeout", "sharing", "network", "device",
	"precision", "batch", "profile", "cost_samples", "step", "cost",
	/* what scenario show adds, so that its output is a scenario again */
	"trace_sha256", "cluster_sha256", "throughputs_sha256", "failures_sha256", "capacity_sha256", "capacity_prices_sha256",
	"network_sha256", "devices", "profiles", "step_inputs", NULL };

static int resolve_trace(const cJSON *o, struct jobs_scenario *s, struct orr_error *err)
{
	char *format = NULL, *options[INPUTS_MOST_OPTIONS + 1] = { NULL };
	int rc = scenario_text_at(o, "trace", NULL, &s->source, err);
	if (!rc && !s->source)
		rc = orr_fail(err, ORR_EINPUT, "scenario: no trace is named");
	if (!rc)
		rc = scenario_text_at(o, "format", "auto", &format, err);
	if (!rc)
		rc = inputs_trace_options(o, options, err);
	if (!rc && !(s->jobs = jobset_load(s->source, format, (const char *const *)options, s->base.seed, err)))
		rc = err && err->code ? err->code : ORR_EINPUT;
	inputs_options_free(options);
	mem_free(format);
	return rc;
}

static int resolve_placement(const cJSON *o, struct jobs_scenario *s, struct orr_error *err)
{
	char *placement = NULL;
	int rc = scenario_text_at(o, "placement", "count", &placement, err);
	if (!rc && !(s->placement = placement_find(placement))) {
		const char *names[16] = { NULL };
		for (int i = 0; placements[i] && i < 15; i++)
			names[i] = placements[i]->name;
		const char *near = nearest_name(placement, names);
		rc = orr_fail(err, ORR_EINPUT,
			"no placement \"%.60s\"; %s%s (there are count, consolidate, spread, best-fit, topology, fgd)", placement,
			near ? "did you mean " : "try ", near ? near : "count");
	}
	mem_free(placement);
	return rc;
}

static int resolve_scalars(const cJSON *o, struct jobs_scenario *s, struct orr_error *err)
{
	char *drop = NULL;
	int rc = inputs_until(o, &s->until_ns, err);
	if (!rc)
		rc = scenario_text_at(o, "drop_unfit", "false", &drop, err);
	if (!rc && strcmp(drop, "true") && strcmp(drop, "false"))
		rc = orr_fail(err, ORR_EINPUT, "drop_unfit: expected true or false, found \"%.60s\"", drop);
	s->drop_unfit = !rc && !strcmp(drop, "true");
	mem_free(drop);
	return rc ? rc : inputs_record(o, &s->record, err);
}

/* ---- jobs that train ---- */

static const char *const sharing_names[] = { "off", "analytic", "simulated", NULL };

static int find_step_policy(const char *name, const struct orr_policy **out, char hash[65], struct orr_error *err)
{
	struct registry_entry entry;
	int rc = registry_find(name, "step", &entry, err);
	if (rc)
		return rc;
	*out = entry.policy;
	snprintf(hash, 65, "%s", entry.plugin_hash);
	return ORR_OK;
}

static int resolve_sharing(const cJSON *o, struct jobs_scenario *s, struct orr_error *err)
{
	char *text = NULL;
	int rc = scenario_text_at(o, "sharing", "analytic", &text, err), i = 0;
	while (!rc && sharing_names[i] && strcmp(sharing_names[i], text))
		i++;
	if (!rc && !sharing_names[i])
		rc = orr_fail(err, ORR_EINPUT, "sharing: expected off, analytic or simulated, found \"%.60s\"", text);
	s->sharing = (enum jobs_sharing)i;
	mem_free(text);
	return rc;
}

/* A key that would change nothing is a mistake. */
static int refuse_unused(const cJSON *o, struct orr_error *err)
{
	static const char *const keys[] = { "sharing", "network", "device", "precision", "batch", "profile", "cost_samples", "step",
		"cost" };
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (cJSON_GetObjectItemCaseSensitive(o, keys[i]))
			return orr_fail(err, ORR_EINPUT,
				"%s: no job of this trace names a strategy, so nothing would come of it (docs/traces.md)", keys[i]);
	return ORR_OK;
}

/* Every model and strategy of the trace is looked up now, so that what is wrong is told with its line. */
static int check_rows(struct jobs_scenario *s, struct orr_error *err)
{
	enum { MOST = 2000000 };
	const struct strtab *text = jobset_strings(s->jobs);
	struct jobcursor *c = jobset_open(s->jobs);
	struct job_rec r;
	struct orr_error e = { 0 };
	for (uint64_t i = 0; i < MOST && !e.code && jobcursor_next(c, &r); i++) {
		uint32_t class;
		char line[24] = "";
		if (r.line)
			snprintf(line, sizeof line, "%llu:", (unsigned long long)r.line);
		if (r.strategy && steprate_class(s->rates, strtab_text(text, r.model), strtab_text(text, r.strategy), r.batch, &class, &e))
			orr_fail(err, e.code, "%s:%s %s", s->source, line, e.text);
	}
	jobcursor_close(c);
	return e.code;
}

static int resolve_training(const cJSON *o, struct jobs_scenario *s, struct orr_error *err)
{
	s->has_training = jobset_has_strategies(s->jobs);
	if (!s->has_training)
		return refuse_unused(o, err);
	int rc = resolve_sharing(o, s, err);
	if (!rc)
		rc = setting_resolve_values(o, &s->set, err);
	if (!rc)
		rc = setting_resolve_hardware(o, &s->base, &s->set, err);
	if (rc)
		return rc;
	struct steprate_config c = { .cluster = s->base.cluster,
		.topo = s->set.topo,
		.device = s->set.device,
		.options = s->set.options,
		.costs = setting_costs(&s->set, 0, 0),
		.profile = s->set.profile,
		.precision = s->set.precision,
		.batch = s->set.batch,
		.seed = s->base.seed,
		.link_use = s->sharing != JOBS_SHARING_OFF,
		.tolerance = orr_arg_real(s->options, "sharing_tolerance"),
		.most_iterations = (uint64_t)orr_arg_int(s->options, "sharing_iterations"),
		.most_flows = (uint64_t)orr_arg_int(s->options, "sharing_flows"),
		.find = find_step_policy };
	s->rates = steprate_new(&c, err);
	if (!s->rates)
		return ORR_EINPUT;
	s->drawn = mem_zalloc(s->set.cost_samples + 1u, sizeof *s->drawn);
	for (uint32_t k = 0; k < s->set.cost_samples; k++) {
		c.costs = setting_costs(&s->set, 0, k + 1);
		if (!(s->drawn[k] = steprate_new(&c, err)))
			return ORR_EINPUT;
	}
	return check_rows(s, err);
}

static void describe_training(const struct jobs_scenario *s, cJSON *o)
{
	const char *name, *hash;
	cJSON_AddStringToObject(o, "sharing", sharing_names[s->sharing]);
	setting_describe(&s->set, &s->base, o);
	cJSON *inputs = cJSON_AddObjectToObject(o, "step_inputs");
	for (size_t i = 0; steprate_input(s->rates, i, &name, &hash); i++)
		cJSON_AddStringToObject(inputs, name, hash);
}

/* Every value that decides the result, defaults filled in, inputs with their hashes. */
static void describe(const cJSON *given, struct jobs_scenario *s)
{
	const cJSON *options = cJSON_GetObjectItemCaseSensitive(given, "trace_options");
	cJSON *o = s->base.resolved = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "world", "jobs");
	cJSON_AddStringToObject(o, "trace", s->source);
	cJSON_AddStringToObject(o, "format", jobset_format(s->jobs));
	cJSON_AddStringToObject(o, "trace_sha256", jobset_hash(s->jobs));
	if (options)
		cJSON_AddItemToObject(o, "trace_options", cJSON_Duplicate(options, 1));
	cJSON_AddStringToObject(o, "cluster", s->base.cluster_spec);
	cJSON_AddStringToObject(o, "cluster_sha256", s->base.cluster->hash);
	cJSON_AddStringToObject(o, "placement", s->placement->name);
	if (s->throughput) {
		cJSON_AddStringToObject(o, "throughputs", s->throughputs_path);
		cJSON_AddStringToObject(o, "throughputs_sha256", throughput_hash(s->throughput));
	}
	if (s->has_training)
		describe_training(s, o);
	cJSON_AddItemToObject(o, "jobs", scenario_args_json(s->options, jobs_options));
	cJSON_AddItemToObject(o, "failures", scenario_args_json(s->failure_options, inputs_failure_params));
	if (s->failures)
		cJSON_AddStringToObject(o, "failures_sha256", failures_hash(s->failures));
	inputs_add_capacity(o, &s->capacity);
	scenario_add_seed(o, &s->base);
	inputs_add_until(o, s->until_ns);
	cJSON_AddBoolToObject(o, "drop_unfit", s->drop_unfit);
	cJSON_AddStringToObject(o, "record", inputs_record_name(s->record));
}

int jobs_scenario_resolve(const cJSON *scenario, struct jobs_scenario *s, struct orr_error *err)
{
	*s = (struct jobs_scenario){ 0 };
	cJSON *o = cJSON_Duplicate(scenario, 1);
	const char *kind;
	int rc = scenario_check_keys(o, known_keys, err);
	if (!rc)
		rc = scenario_kind(o, &kind, err);
	if (!rc && strcmp(kind, "jobs") != 0)
		rc = orr_fail(err, ORR_EINPUT, "scenario: $.world: expected \"jobs\"");
	if (!rc)
		rc = scenario_resolve_seed(o, &s->base, err);
	if (!rc)
		rc = resolve_scalars(o, s, err);
	if (!rc && !(s->options = scenario_args_at(o, "jobs", jobs_options, "jobs", err)))
		rc = ORR_EINPUT;
	if (!rc)
		rc = scenario_resolve_policies(o, "jobs", &s->base, err);
	if (!rc)
		rc = scenario_resolve_cluster(o, &s->base, err);
	if (!rc)
		rc = resolve_placement(o, s, err);
	if (!rc)
		rc = inputs_failures(o, s->base.cluster, &s->failure_options, &s->failures, err);
	if (!rc)
		rc = inputs_capacity(o, s->base.cluster, s->base.seed, s->failures, &s->capacity, err);
	if (!rc)
		rc = scenario_text_at(o, "throughputs", NULL, &s->throughputs_path, err);
	if (!rc && s->throughputs_path && !(s->throughput = throughput_load(s->throughputs_path, err)))
		rc = ORR_EINPUT;
	if (!rc)
		rc = resolve_trace(o, s, err);
	if (!rc)
		rc = resolve_training(o, s, err);
	if (!rc)
		describe(o, s);
	cJSON_Delete(o);
	return rc;
}

void jobs_scenario_free(struct jobs_scenario *s)
{
	steprate_free(s->rates);
	for (uint32_t k = 0; s->drawn && k < s->set.cost_samples; k++)
		steprate_free(s->drawn[k]);
	mem_free(s->drawn);
	setting_free(&s->set);
	scenario_free(&s->base);
	jobset_free(s->jobs);
	throughput_free(s->throughput);
	failures_free(s->failures);
	inputs_capacity_free(&s->capacity);
	args_free(s->options);
	args_free(s->failure_options);
	mem_free(s->source);
	mem_free(s->throughputs_path);
	*s = (struct jobs_scenario){ 0 };
}
