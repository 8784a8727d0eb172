/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The metrics of a run, at its end. */
#include "spot/accounts.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* value_sum is in samples x ns / (1e-9 USD/h x ns). In seconds and USD/h: 1e-9 s x 3600e9 ns/h x 1e9 / 3600 s. */
#define MONEY_PER_USD_HOUR 1e9

static const char *const account_names[] = { [ORR_USEFUL] = "useful",
	[ORR_REDUNDANT] = "redundant",
	[ORR_WASTED] = "wasted",
	[ORR_CHECKPOINT] = "checkpoint",
	[ORR_RESTART] = "restart",
	[ORR_RECONFIGURE] = "reconfigure",
	[ORR_STARTING] = "starting",
	[ORR_IDLE] = "idle",
	[ORR_ROUNDING] = "rounding",
	[ORR_EGRESS] = "egress" };
static const char *const part_names[] = { [ORR_USEFUL] = "useful_part",
	[ORR_REDUNDANT] = "redundant_part",
	[ORR_WASTED] = "wasted_part",
	[ORR_CHECKPOINT] = "checkpoint_part",
	[ORR_RESTART] = "restart_part",
	[ORR_RECONFIGURE] = "reconfigure_part",
	[ORR_STARTING] = "starting_part",
	[ORR_IDLE] = "idle_part" };

static double ratio(double a, double b)
{
	return b > 0 ? a / b : NAN;
}

static void metric(struct orr_spot *w, const char *name, double value)
{
	if (!isnan(value))
		result_metric(w->result, name, value, NAN, NAN);
}

static void step_metrics(struct orr_spot *w)
{
	const struct steps *s = &w->steps;
	bool is_any = s->last_end > 0;
	double end_s = is_any ? (double)s->last_end / 1e9 : (double)w->now / 1e9;
	double training_s = is_any ? (double)(s->last_end - s->first_began) / 1e9 : 0;
	double usd = wide_usd(is_any ? w->cost_mark : w->all.amount), live_s = wide_seconds(is_any ? s->live_ns_at_end : w->all.ns);
	double samples_per_s = ratio(s->samples_safe, training_s), usd_per_hour = ratio(usd * 3600, end_s);
	metric(w, "samples_per_s", is_any ? samples_per_s : 0);
	metric(w, "usd_per_hour", usd_per_hour);
	if (!s->was_free)
		metric(w, "value", is_any ? ratio(s->value_sum * MONEY_PER_USD_HOUR, training_s) : 0);
	metric(w, "value_ratio", is_any ? ratio(samples_per_s, usd_per_hour) : 0);
	metric(w, "samples", s->samples_safe);
	metric(w, "steps", (double)s->done);
	metric(w, "lost_steps", (double)s->lost);
	if (s->orphaned)
		metric(w, "orphaned_steps", (double)s->orphaned);
	metric(w, "mean_live", ratio(live_s, end_s));
}

static void account_metrics(struct orr_spot *w)
{
	double all = wide_seconds(w->all.ns);
	struct run_result *r = w->result;
	r->accounts = mem_zalloc(ORR_ACCOUNTS, sizeof *r->accounts);
	r->n_accounts = ORR_ACCOUNTS;
	for (int i = 0; i < ORR_ACCOUNTS; i++)
		r->accounts[i] = (struct account_row){ account_names[i], wide_seconds(w->account[i].ns), wide_usd(w->account[i].amount) };
	for (int i = 0; i < ORR_TIME_ACCOUNTS; i++)
		metric(w, part_names[i], all > 0 ? wide_seconds(w->account[i].ns) / all : 0);
	metric(w, "usd", wide_usd(w->all.amount));
	metric(w, "node_hours", all / 3600);
	metric(w, "spot_hours", wide_seconds(w->all.ns - w->on_demand_ns) / 3600);
	metric(w, "on_demand_hours", wide_seconds(w->on_demand_ns) / 3600);
}

static void other_metrics(struct orr_spot *w)
{
	metric(w, "preemptions", (double)w->preemptions);
	metric(w, "instances", (double)w->n_taken);
	if (w->refused)
		metric(w, "refused", (double)w->refused);
	metric(w, "makespan_s", (double)w->now / 1e9);
	if (w->job_steps)
		metric(w, "is_complete", w->is_complete);
	if (w->deadline < ORR_NEVER)
		metric(w, "deadline_kept", w->is_complete && w->now <= w->deadline);
	for (size_t i = 0; i < w->n_tally; i++)
		if (result_find(w->result, w->tally[i].name))
			spot_fail(w, ORR_EFAIL, NULL,
				"orr_spot_count(), orr_spot_report(): %s is a metric of the world: expected another name",
				w->tally[i].name);
		else if (isfinite(w->tally[i].value))
			result_metric(w->result, result_text(w->result, w->tally[i].name), w->tally[i].value, NAN, NAN);
}

/* Bills live instances up to the end of the run; an unfinished step is wasted. */
static void close_accounts(struct orr_spot *w)
{
	struct steps *s = &w->steps;
	if (w->is_complete)
		accounts_accrue(w, w->now);
	accounts_add(w, ORR_WASTED, &s->bucket);
	spot_parts_stop(w, true);
	s->bucket = (struct ledger){ 0, 0 };
	s->is_in_flight = false;
	for (uint32_t i = live_first(w); i != NONE; i = live_next(w, i))
		accounts_round_up(w, live_slot(w, i));
}

void report_end(struct orr_spot *w)
{
	close_accounts(w);
	w->is_over = true; /* actions are no-ops from now on */
	tell_end(w);
	if (w->config->check)
		check_instant(w);
	rows_end(w);
	steps_settle(w);
	spot_parts_end(w);
	w->result->is_oracle = (w->policy->flags & ORR_NEEDS_ORACLE) || w->saw_future;
	step_metrics(w);
	account_metrics(w);
	other_metrics(w);
}
