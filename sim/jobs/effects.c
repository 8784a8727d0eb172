/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of the jobs world that have no effect on a run, and assumed costs. docs/reference/remarks.md lists the texts. */
#include "jobs/effects.h"

#include "jobs/quota_set.h"
#include "jobs/scenario.h"
#include "jobs/steprate.h"
#include "jobs/type_speed.h"
#include "results/result.h"
#include "step/effects.h"
#include "world/remarks.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

unsigned jobs_used(const struct scenario *s, size_t i)
{
	return atomic_load(&((const struct jobs_state *)s->state)->used[i]);
}

/* ---- conditions ---- */

static bool is_kind(const struct run_result *r, const char *kind)
{
	for (size_t i = 0; i < r->n_events; i++)
		if (!strcmp(r->events[i].kind, kind))
			return true;
	return false;
}

static bool has_interval(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i;
	return remark_has_interval(s, r);
}

/* In a mixed run, failures are an input of the mixed scenario. */
static bool may_fail(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i, (void)r;
	return ((const struct jobs_state *)s->state)->failures ||
	       (s->whole && (remark_is_set(s, "failures.mtbf") || remark_is_set(s, "failures.trace")));
}

static bool has_failed(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)s, (void)i;
	return is_kind(r, "node-fail");
}

static bool spares_types(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i, (void)r;
	return inputs_spares_types(s);
}

static bool trains(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i, (void)r;
	return ((const struct jobs_state *)s->state)->rates != NULL;
}

static bool has_class(const struct scenario *s, size_t i, const struct run_result *r)
{
	return trains(s, i, r) || type_speeds_has_class(((const struct jobs_state *)s->state)->speeds);
}

static bool is_drawn(const struct scenario *s, size_t i, const struct run_result *r)
{
	const struct jobs_state *t = s->state;
	(void)r;
	return scenario_is_random(s->whole ? s->whole : s) || t->set.cost_samples || jobs_used(s, i) & STEP_USED_RANDOM;
}

/* If all rates are 1, recorded durations refer to the default type only. */
static bool is_other_reference(const struct scenario *s, size_t i, const struct run_result *r)
{
	const struct jobs_state *t = s->state;
	bool is_relative = t->rates || t->throughput;
	(void)i, (void)r;
	return !is_relative || !s->cluster->n_types ||
	       strcasecmp(orr_arg_text(s->options, "reference_type"), s->cluster->type_name[0]) != 0;
}

static bool has_types(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i, (void)r;
	return s->cluster->n_types > 1;
}

static bool divides(const struct scenario *s, size_t i, const struct run_result *r)
{
	const struct quota_set *p = ((const struct jobs_state *)s->state)->partitions;
	(void)i, (void)r;
	return !p || p->n > 1 || p->gpus < s->cluster->gpus;
}

static bool is_amm(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i, (void)r;
	return orr_arg_int(s->keys, "memory") == DATASETS_AMM;
}

static bool has_recorded(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i;
	return remark_metric(s, r, "recorded_failed") + remark_metric(s, r, "recorded_killed") + remark_metric(s, r, "recorded_other") > 0;
}

static bool has_more_jobs(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i;
	double jobs = remark_metric(s, r, "jobs");
	return jobs > JOBS_GANTT || jobs > (double)orr_arg_int(s->options, "gantt");
}

static bool keeps_events(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i, (void)r;
	return s->record != RECORD_METRICS;
}

static bool samples_rows(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i;
	return s->record != RECORD_SAMPLE || remark_metric(s, r, "jobs") > 10000;
}

static bool ends_early(const struct scenario *s, size_t i, const struct run_result *r)
{
	const struct jobs_state *t = s->state;
	(void)i;
	return remark_metric(s, r, "jobs_unfinished") > 0 || remark_metric(s, r, "jobs") < (double)jobset_count(t->jobs);
}

static bool is_simulated(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i, (void)r;
	return ((const struct jobs_state *)s->state)->sharing == JOBS_SHARING_SIMULATED;
}

static bool profile_changes(const struct scenario *s, size_t i, const struct run_result *r)
{
	const struct jobs_state *t = s->state;
	(void)i, (void)r;
	return !t->rates || setting_profile_changes(&t->set, s->cluster);
}

static bool device_changes(const struct scenario *s, size_t i, const struct run_result *r)
{
	const struct jobs_state *t = s->state;
	(void)i, (void)r;
	return !t->rates || setting_device_changes(&t->set, s->cluster);
}

static bool uses_network(const struct scenario *s, size_t i, const struct run_result *r)
{
	const struct jobs_state *t = s->state;
	(void)r;
	return !t->rates || jobs_used(s, i) & STEP_USED_NETWORK || setting_links_change(&t->set, s);
}

static bool profile_times_change(const struct scenario *s, size_t i, const struct run_result *r)
{
	const struct jobs_state *t = s->state;
	(void)i, (void)r;
	return !t->rates || steprate_costs_change(t->rates, &t->set, "profile");
}

static bool routes_change(const struct scenario *s, size_t i, const struct run_result *r)
{
	const struct jobs_state *t = s->state;
	(void)i, (void)r;
	return !t->rates || setting_routes_change(&t->set, s);
}

#define CHANGES(name)                                                                              \
	static bool name##_changes(const struct scenario *s, size_t i, const struct run_result *r) \
	{                                                                                          \
		const struct jobs_state *t = s->state;                                             \
		(void)i, (void)r;                                                                  \
		return t->rates && steprate_costs_change(t->rates, &t->set, #name);                \
	}
CHANGES(measured)
CHANGES(fused_attention)
CHANGES(fused_elementwise)
CHANGES(dropout)
CHANGES(efficiency)

/* ---- the table ---- */

/* clang-format off */
#define CLASS(KEY) { .key = KEY, .why = "no GPU type has a speed by the cost model", .holds = has_class }
#define SPILLS(KEY) { .key = KEY, .why = "no data set went to disk", .metric = "sets_spilled" }
#define AMM(KEY) { .key = KEY, .why = "only --memory amm reads this option", .holds = is_amm }, SPILLS(KEY)
#define FAILURES(KEY) { .key = KEY, .why = "no node failed before the end", .holds = has_failed }
#define SHARING(KEY) \
	{ .key = KEY, .why = "no job of the trace names a strategy", .holds = trains }, \
	{ .key = KEY, .why = "only --sharing simulated reads this option", .holds = is_simulated }, \
	{ .key = KEY, .why = "no two jobs shared a link", .metric = "sharing_sets" }

/* A run that reaches one of these limits fails, so results of complete runs do not depend on the limits. */
const struct world_effect jobs_effects[] = {
	{ .key = "jobs.checkpoint", .why = "no job was on a node that failed", .metric = "restarts" },
	{ .key = "jobs.checkpoint", .why = "no job on a node that failed had reached a checkpoint", .use = JOBS_USED_CHECKPOINT },
	{ .key = "jobs.on_failure", .why = "no job was on a node that failed", .metric = "jobs_failed" },
	{ .key = "jobs.preempt_cost", .why = "no job was preempted", .metric = "preemptions" },
	{ .key = "jobs.migrate_cost", .why = "no job restarted on other nodes", .metric = "migrations" },
	{ .key = "jobs.max_calls_per_instant", .why = "no instant reached the limit" },
	{ .key = "policy_timeout", .why = "no call of the policy reached the limit" },
	{ .key = "completed_only", .why = "the trace records no job as failed, killed or not ended", .holds = has_recorded },
	{ .key = "drop_unfit", .why = "every job fits on the cluster", .metric = "jobs_refused" },
	{ .key = "failures.mttr", .why = "nodes do not fail (failures.mtbf is 0)", .holds = may_fail },
	{ .key = "failures.mttr", .why = "failures.trace states the repairs", .needs = "failures.mtbf" },
	FAILURES("failures.mtbf"), FAILURES("failures.mttr"), FAILURES("failures.types"), FAILURES("failures.trace"),
	{ .key = "failures.types", .why = "the cluster has no node of another type", .holds = spares_types },
	{ .key = "capacity.repeat", .why = "the run ended before the trace of instances", .use = JOBS_USED_REPEAT },
	{ .key = "partitions", .why = "the only partition has a quota of all GPUs of the cluster", .holds = divides },
	{ .key = "jobs.borrow", .why = "the run has no partitions", .needs = "partitions" },
	{ .key = "jobs.borrow", .why = "no partition used more than its quota", .metric = "borrowed_part", .is_unsure = true },
	{ .key = "jobs.reclaim", .why = "only jobs.borrow=on reads this option", .needs = "jobs.borrow=on" },
	{ .key = "jobs.reclaim", .why = "no job was stopped for another partition", .metric = "reclaimed", .is_unsure = true },
	{ .key = "jobs.user_gpus", .why = "no job was held back by a limit of its user", .metric = "jobs_held" },
	{ .key = "jobs.user_jobs", .why = "no job was held back by a limit of its user", .metric = "jobs_held" },
	{ .key = "sharing", .why = "no two jobs shared a link", .use = JOBS_USED_SHARING },
	{ .key = "jobs.warmup", .why = "every mean is the same without this option", .use = JOBS_USED_WARMUP },
	SHARING("jobs.sharing_most"), SHARING("jobs.sharing_tolerance"), SHARING("jobs.sharing_iterations"), SHARING("jobs.sharing_flows"),
	{ .key = "jobs.dependencies", .why = "every job is submitted at its recorded time", .use = JOBS_USED_DEPENDENCIES },
	{ .key = "jobs.unshared", .why = "the trace has no flow of several operators", .metric = "flows" },
	SPILLS("memory"), SPILLS("jobs.memory_bytes"), SPILLS("jobs.disk_Bps"),
	{ .key = "jobs.memory_reload", .why = "no data set was read from disk", .metric = "sets_read_from_disk" },
	AMM("jobs.rho"), AMM("jobs.amm_recompute"), AMM("jobs.amm_first_use"),
	{ .key = "placement", .why = "the default chooses the same GPUs for every job", .use = JOBS_USED_PLACEMENT },
	{ .key = "jobs.reference_type", .why = "rates refer to the cluster's first type by default", .holds = is_other_reference },
	{ .key = "jobs.reference_type", .why = "no job ran at a rate other than 1", .use = JOBS_USED_SPEEDS },
	{ .key = "jobs.type_order", .why = "the cluster has one GPU type", .holds = has_types },
	{ .key = "jobs.type_order", .why = "no job tried a faster GPU type after a slower one", .use = JOBS_USED_TYPE_ORDER },
	{ .key = "jobs.gantt", .why = "the run has fewer jobs than the default covers", .holds = has_more_jobs },
	{ .key = "jobs.gantt", .why = "record=metrics keeps no events", .holds = keeps_events },
	{ .key = "jobs.gantt", .why = "it covers every job that started, as the default does", .use = JOBS_USED_GANTT },
	{ .key = "record", .why = "a sample of up to 10000 rows contains every job", .holds = samples_rows },
	{ .key = "jobs.ci_level", .why = "the run has no interval", .holds = has_interval },
	{ .key = "warm_up", .why = "the warm-up removed no job", .metric = "warmup_removed" },
	{ .key = "until", .why = "the last job ended before that time", .holds = ends_early },
	{ .key = "seed", .why = "nothing of this run is drawn at random", .holds = is_drawn },
	CLASS("precision"), CLASS("batch"), CLASS("profile"), CLASS("cost_samples"),
	{ .key = "profile", .why = "the profiles of the devices are the same by default", .holds = profile_changes },
	{ .key = "profile", .why = "kernel times of the models do not depend on this option", .holds = profile_times_change, .is_unsure = true },
	{ .key = "network", .why = "no device sent a message", .use = STEP_USED_MESSAGES },
	{ .key = "network", .why = STEP_NO_NETWORK, .holds = uses_network },
	{ .key = "network", .why = STEP_SAME_ROUTES, .holds = routes_change, .is_unsure = true },
	{ .key = "device", .why = "the GPU types of the cluster select this device", .holds = device_changes },
	STEP_EFFECTS,
	{ .key = "interference", .why = "no two jobs shared GPUs", .use = JOBS_USED_INTERFERENCE },
	{ .key = "jobs.group_slowdown", .why = "no jobs with stages shared GPUs", .use = JOBS_USED_STAGES },
	{ .key = "step.merge", .why = "every rate is the same without this option", .use = STEP_USED_MERGE },
	{ .key = "step.iterations", .why = "rates are those of the steady state", .use = STEP_USED_EVERY_ITERATION },
	{ .key = "step.iterations", .why = "rates differ by less than 1e-8 from those of the default", .use = STEP_USED_ITERATIONS,
		.is_unsure = true },
	{ .key = "step.exact", .why = "rates differ by less than 1e-8 from those of the default", .use = STEP_USED_EXACT, .is_unsure = true },
	{ .key = "cost.measured", .why = "no step time is measured for these devices, models, batches and precision", .holds = measured_changes },
	{ .key = "cost.fused_attention", .why = "kernel times of the models do not depend on this option", .holds = fused_attention_changes },
	{ .key = "cost.fused_elementwise", .why = "kernel times of the models do not depend on this option", .holds = fused_elementwise_changes },
	{ .key = "cost.dropout", .why = "kernel times of the models do not depend on this option", .holds = dropout_changes },
	{ .key = "cost.efficiency", .why = "kernel times of the models do not depend on this option", .holds = efficiency_changes },
	{ 0 }
};
/* clang-format on */

/* ---- assumptions ---- */

/* Reports recorded statuses: a job that was killed or failed runs here as long as in the trace, so it counts unless --completed-only
 * is given. */
static void note_recorded(const struct scenario *s, struct run_result *r)
{
	double failed = remark_metric(s, r, "recorded_failed"), killed = remark_metric(s, r, "recorded_killed");
	double other = remark_metric(s, r, "recorded_other"), all = failed + killed + other;
	bool is_out = orr_arg_bool(s->keys, "completed_only");
	struct sbuf b = { 0 };
	if (all <= 0)
		return;
	sbuf_printf(&b, "the trace records %.0f jobs as failed, %.0f as killed", failed, killed);
	if (other > 0)
		sbuf_printf(&b, ", %.0f in a state other than completed", other);
	sbuf_puts(&b, is_out ? ": they are in no mean (--completed-only)" : ": they are in all means (--completed-only leaves them out)");
	result_note(r, "assumption", sbuf_text(&b));
	sbuf_free(&b);
}

static void note_costs(const struct scenario *s, const struct jobs_state *t, struct run_result *r)
{
	const struct orr_args *o = s->options;
	struct sbuf b = { 0 };
	sbuf_printf(&b, "placement: %s; a start costs %.4g s, a preemption %.4g s of work, a move to other nodes %.4g s",
		t->placement->name, orr_arg_real(o, "start_cost"), orr_arg_real(o, "preempt_cost"), orr_arg_real(o, "migrate_cost"));
	if (t->failures || t->capacity.is_given) {
		double every = orr_arg_real(o, "checkpoint");
		if (!strcmp(orr_arg_text(o, "on_failure"), "kill"))
			sbuf_puts(&b, "; a lost node kills its jobs");
		else if (every > 0)
			sbuf_printf(&b, "; a lost node costs the work since the last checkpoint, every %.4g s", every);
		else
			sbuf_puts(&b, "; a lost node costs all work since the last start");
	}
	result_note(r, "assumption", sbuf_text(&b));
	sbuf_free(&b);
}

/* Rates of the step world are computed once, so jobs and replications share the draws. */
static void note_stragglers(const struct scenario *s, const struct jobs_state *t, struct run_result *r)
{
	(void)s;
	if (t->rates && step_draws(t->set.options))
		result_note(r, "assumption",
			"stragglers and slowed NICs are drawn once for each shape of a placement: all jobs of that shape, and all "
			"replications, have the same draw");
}

/* The default network is slow beside most clusters of today, and its rate decides the speed of jobs on several nodes. */
static void note_network(const struct jobs_state *t, unsigned used, struct run_result *r)
{
	if (t->rates && !strcmp(t->set.network_spec, SETTING_DEFAULT_NETWORK) && used & STEP_USED_NETWORK)
		result_note(r, "assumption",
			"jobs that train on several nodes: each node has one NIC of 10 Gbps to one switch (the default of --network)");
}

void jobs_note_effects(const struct scenario *s, size_t i, struct run_result *r)
{
	const struct jobs_state *t = s->state;
	note_network(t, jobs_used(s, i), r);
	note_costs(s, t, r);
	note_stragglers(s, t, r);
	note_recorded(s, r);
	if (remark_metric(s, r, "shared_starts") > 0)
		result_note(
			r, "assumption", "jobs that share GPUs have the speeds of --interference, known to the policy beforehand, at once");
}
