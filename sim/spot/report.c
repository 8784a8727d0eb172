/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows while the run goes on, metrics at its end. */
#include "spot/world.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { BINS = 240 };
/* value_sum has samples x ns over (nano-USD per hour x ns): in seconds and USD per hour, 1e-9 s x 3600e9 ns/h x 1e9 / 3600 s. */
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

/* ---- rows ---- */

/* Samples that have been trained on, those that may yet be lost among them. */
static double samples_now(const struct orr_spot *w)
{
	const struct steps *s = &w->steps;
	double x = s->samples_safe + s->alike.samples * (double)s->alike.count;
	for (size_t i = s->first; i < s->n; i++)
		x += s->run[i].samples * (double)s->run[i].count;
	return x;
}

/* Every second row goes when there are too many; the first stays. */
static void thin_out_nodes(struct orr_spot *w)
{
	size_t k = 0;
	for (size_t i = 0; i < w->n_node; i += 2, k++) {
		w->node[k] = w->node[i];
		w->samples_at[k] = w->samples_at[i];
	}
	w->n_node = k;
}

void report_rows(struct orr_spot *w)
{
	uint32_t live = w->live[0] + w->live[1], ready = w->count[ROLE_IDLE] + w->count[ROLE_OWNER], in_use = w->count[ROLE_OWNER];
	struct node_row *last = w->n_node ? &w->node[w->n_node - 1] : NULL;
	if (last && last->live == live && last->ready == ready && last->in_use == in_use)
		return;
	if (last && last->time_ns == w->now)
		w->n_node--;
	if (w->n_node >= w->config->max_rows)
		thin_out_nodes(w);
	MEM_GROW(w->samples_at, w->n_node, w->cap_samples_at);
	MEM_GROW(w->node, w->n_node, w->cap_node);
	w->samples_at[w->n_node] = samples_now(w);
	w->node[w->n_node++] = (struct node_row){ w->now, live, ready, in_use, wide_usd(w->spent) };
}

static void thin_out_steps(struct orr_spot *w)
{
	size_t k = 0;
	for (size_t i = 0; i < w->n_iteration; i += 2)
		w->iteration[k++] = w->iteration[i];
	w->n_iteration = k;
	w->steps.rows_stride *= 2;
}

void report_steps(struct orr_spot *w, uint64_t n, int64_t began, int64_t pace, double samples)
{
	struct steps *s = &w->steps;
	if (!s->rows_stride)
		s->rows_stride = 1;
	for (uint64_t i = 0; i < n; i++, s->rows_seen++, began += pace) {
		uint64_t skip = s->rows_seen % s->rows_stride ? s->rows_stride - s->rows_seen % s->rows_stride : 0;
		if (skip >= n - i) {
			s->rows_seen += n - i;
			return;
		}
		i += skip;
		s->rows_seen += skip;
		began += (int64_t)skip * pace;
		if (w->n_iteration >= w->config->max_rows) {
			thin_out_steps(w);
			if (s->rows_seen % s->rows_stride)
				continue;
		}
		MEM_GROW(w->iteration, w->n_iteration, w->cap_iteration);
		w->iteration[w->n_iteration++] =
			(struct iteration_row){ s->rows_seen, (double)began / 1e9, (double)(began + pace) / 1e9, samples };
	}
}

/* The last n steps that were not lost before train on nothing. */
void report_lost(struct orr_spot *w, uint64_t n)
{
	if (w->steps.rows_stride != 1)
		return; /* none, or a sample of them */
	for (size_t i = w->n_iteration; i-- && n;)
		if (w->iteration[i].samples > 0) {
			w->iteration[i].samples = 0;
			n--;
		}
}

/* ---- the end ---- */

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
	double usd = wide_usd(is_any ? w->cost_mark : w->spent), live_s = wide_seconds(is_any ? s->live_ns_at_end : w->live_ns);
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
	double all = wide_seconds(w->live_ns);
	struct run_result *r = w->result;
	r->accounts = mem_zalloc(ORR_ACCOUNTS, sizeof *r->accounts);
	r->n_accounts = ORR_ACCOUNTS;
	for (int i = 0; i < ORR_ACCOUNTS; i++)
		r->accounts[i] = (struct account_row){ account_names[i], wide_seconds(w->account_ns[i]), wide_usd(w->account_usd[i]) };
	for (int i = 0; i < ORR_TIME_ACCOUNTS; i++)
		metric(w, part_names[i], all > 0 ? wide_seconds(w->account_ns[i]) / all : 0);
	metric(w, "usd", wide_usd(w->spent));
	metric(w, "node_hours", all / 3600);
	metric(w, "spot_hours", wide_seconds(w->live_ns - w->on_demand_ns) / 3600);
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
			spot_fail(w, ORR_EFAIL, NULL, "orr_spot_count(), orr_spot_report(): %s is a metric of the world's own",
				w->tally[i].name);
		else if (isfinite(w->tally[i].value))
			result_metric(w->result, result_text(w->result, w->tally[i].name), w->tally[i].value, NAN, NAN);
}

/* Samples per second in equal parts of the run. */
static void throughput_series(struct orr_spot *w)
{
	struct run_result *r = w->result;
	if (!w->n_node || w->now < BINS)
		return;
	struct series *s = mem_zalloc(1, sizeof *s);
	*s = (struct series){
		.name = "samples_per_s", .n = BINS, .time_ns = mem_zalloc(BINS, sizeof(int64_t)), .value = mem_zalloc(BINS, sizeof(double))
	};
	double before = 0, total = samples_now(w), width = (double)w->now / BINS;
	for (size_t b = 0, i = 0; b < BINS; b++) {
		double t = (double)(b + 1) * width, x;
		while (i + 1 < w->n_node && (double)w->node[i + 1].time_ns <= t)
			i++;
		bool is_last = i + 1 == w->n_node;
		double t0 = (double)w->node[i].time_ns, t1 = is_last ? (double)w->now : (double)w->node[i + 1].time_ns;
		double x0 = w->samples_at[i], x1 = is_last ? total : w->samples_at[i + 1];
		x = t1 > t0 ? x0 + (x1 - x0) * (t - t0) / (t1 - t0) : x1;
		s->time_ns[b] = (int64_t)((double)b * width);
		/* What was lost takes samples back: a bin has none then. */
		s->value[b] = x > before ? (x - before) / (width / 1e9) : 0;
		before = x;
	}
	r->series = s;
	r->n_series = 1;
}

static void rows_to_result(struct orr_spot *w)
{
	struct run_result *r = w->result;
	r->rows_total = w->steps.rows_seen;
	r->iterations = w->iteration;
	r->n_iterations = w->n_iteration;
	w->iteration = NULL;
	if (!w->config->record_nodes)
		return;
	report_rows(w);
	throughput_series(w);
	r->nodes = w->node;
	r->n_nodes = w->n_node;
	w->node = NULL;
	size_t notes = r->n_events;
	if (w->n_event) {
		r->events = mem_realloc(r->events, notes + w->n_event, sizeof *r->events);
		memcpy(r->events + notes, w->event, w->n_event * sizeof *r->events);
		r->n_events = notes + w->n_event;
	}
}

/* What is live when the run ends is paid for; a step that is not done counts for nothing. */
static void close_accounts(struct orr_spot *w)
{
	struct steps *s = &w->steps;
	const int64_t hour = 3600 * ORR_SECOND;
	if (w->is_complete)
		accounts_accrue(w, w->now);
	accounts_add(w, ORR_WASTED, s->bucket_ns, s->bucket_usd);
	s->bucket_ns = s->bucket_usd = 0;
	s->is_in_flight = false;
	for (uint32_t i = live_first(w); i != NONE && w->bills_hours; i = live_next(w, i)) {
		int64_t over = (w->now - live_slot(w, i)->since) % hour;
		if (over)
			accounts_charge(w, ORR_ROUNDING, (wide)live_slot(w, i)->price * (hour - over), 1);
	}
}

void report_end(struct orr_spot *w)
{
	close_accounts(w);
	w->is_over = true; /* nothing that it does now does anything */
	tell_end(w);
	if (w->config->check)
		check_instant(w);
	rows_to_result(w);
	steps_settle(w);
	w->result->is_oracle = (w->policy->flags & ORR_NEEDS_ORACLE) || w->saw_future;
	step_metrics(w);
	account_metrics(w);
	other_metrics(w);
}

void report_free(struct orr_spot *w)
{
	for (size_t i = 0; i < w->n_tally; i++)
		mem_free(w->tally[i].name);
	mem_free(w->tally);
	mem_free(w->node);
	mem_free(w->samples_at);
	mem_free(w->event);
	mem_free(w->iteration);
}
