/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of the jobs world without effect on a run, and the costs that it assumed. docs/reference/remarks.md lists the texts. */
#include "jobs/effects.h"

#include "jobs/scenario.h"
#include "results/result.h"
#include "world/remarks.h"

#include <stdio.h>
#include <string.h>

/* A run that reaches one of these limits fails, so a complete run never depends on them. */
const struct world_effect jobs_effects[] = { { "jobs.checkpoint", "restarts", "no job was on a node that failed" },
	{ "jobs.on_failure", "jobs_failed", "no job was on a node that failed" },
	{ "jobs.preempt_cost", "preemptions", "no job was preempted" },
	{ "jobs.migrate_cost", "migrations", "no job restarted on other nodes" },
	{ "jobs.max_calls_per_instant", "", "no instant had as many calls" },
	{ "policy_timeout", "", "no call of the policy took as long" }, { "drop_unfit", "jobs_refused", "every job fits on the cluster" },
	{ NULL, NULL, NULL } };

static bool is_kind(const struct run_result *r, const char *kind)
{
	for (size_t i = 0; i < r->n_events; i++)
		if (!strcmp(r->events[i].kind, kind))
			return true;
	return false;
}

static bool has_interval(const struct run_result *r)
{
	for (size_t i = 0; i < r->n_metrics; i++)
		if (r->metrics[i].ci_high > r->metrics[i].ci_low)
			return true;
	return false;
}

static void note_failures(const struct scenario *s, const struct jobs_state *t, struct run_result *r)
{
	static const char *const keys[] = { "failures.mtbf", "failures.mttr", "failures.types", "failures.trace" };
	const char *why = t->failures ? "no node failed before the end" : "nodes do not fail (failures.mtbf is 0)";
	for (size_t i = 0; i < sizeof keys / sizeof *keys && !is_kind(r, "node-fail"); i++)
		remark_no_effect(s, r, keys[i], why);
}

/* Options of jobs that share links. */
static void note_sharing(const struct scenario *s, const struct jobs_state *t, struct run_result *r)
{
	static const char *const keys[] = { "jobs.sharing_most", "jobs.sharing_tolerance", "jobs.sharing_iterations",
		"jobs.sharing_flows" };
	const char *why = !t->rates                                  ? "no job of the trace names a strategy"
			  : t->sharing != JOBS_SHARING_SIMULATED     ? "only --sharing simulated reads it"
			  : remark_metric(s, r, "sharing_sets") <= 0 ? "no two jobs shared a link"
								     : NULL;
	for (size_t i = 0; i < sizeof keys / sizeof *keys && why; i++)
		remark_no_effect(s, r, keys[i], why);
}

static void note_rows(const struct scenario *s, struct run_result *r)
{
	double jobs = remark_metric(s, r, "jobs");
	if (jobs <= 200 && jobs <= (double)orr_arg_int(s->options, "gantt"))
		remark_no_effect(s, r, "jobs.gantt", "the run has fewer jobs than the default covers");
	if (s->record == RECORD_SAMPLE && jobs <= 10000)
		remark_no_effect(s, r, "record", "a sample of up to 10000 rows holds every job");
	if (!has_interval(r))
		remark_no_effect(s, r, "jobs.ci_level", "the run has no interval");
	if (remark_metric(s, r, "jobs_unfinished") <= 0 && jobs >= (double)jobset_count(((const struct jobs_state *)s->state)->jobs))
		remark_no_effect(s, r, "until", "the last job ended before it");
}

/* Recorded statuses: such a job ran as long in the trace as here, so it counts unless --completed-only is given. */
static void note_recorded(const struct scenario *s, struct run_result *r)
{
	double failed = remark_metric(s, r, "recorded_failed"), killed = remark_metric(s, r, "recorded_killed");
	double other = remark_metric(s, r, "recorded_other"), all = failed + killed + other;
	bool is_out = orr_arg_bool(s->keys, "completed_only");
	struct sbuf b = { 0 };
	if (all <= 0) {
		remark_no_effect(s, r, "completed_only", "the trace records no job as failed, killed or not ended");
		return;
	}
	sbuf_printf(&b, "the trace records %.0f jobs as failed, %.0f as killed", failed, killed);
	if (other > 0)
		sbuf_printf(&b, ", %.0f as neither these nor completed", other);
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

void jobs_note_effects(const struct scenario *s, struct run_result *r)
{
	const struct jobs_state *t = s->state;
	note_costs(s, t, r);
	note_failures(s, t, r);
	note_sharing(s, t, r);
	note_rows(s, r);
	note_recorded(s, r);
}
