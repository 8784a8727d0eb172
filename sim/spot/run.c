/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run: begin, instants, end. */
#include "spot/spot_parts.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_QUIET = 10000, FEW = 10 };

/* ---- instants ---- */

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t next_event(const struct orr_spot *w)
{
	return earlier(earlier(w->timer_at, w->ready_at), earlier(w->rows_at, w->prices_at));
}

static void get_ready(struct orr_spot *w)
{
	uint32_t slot = spot_inst_get_ready(w);
	tell_instance(w, slot, ORR_INST_READY);
	tell_added(w);
}

/* Executes one due event, in the order of spot.h. Returns false if none is due. */
static bool happen(struct orr_spot *w)
{
	if (w->is_over)
		return false;
	if (w->rows_at <= w->now || w->prices_at <= w->now)
		spot_capacity_instant(w);
	else if (w->ready_at <= w->now)
		get_ready(w);
	else if (w->timer_at <= w->now)
		eng_step(w->engine);
	else
		return false;
	return true;
}

static bool next_instant(struct orr_spot *w, int64_t *t)
{
	*t = earlier(next_event(w), steps_target(w));
	return *t < ORR_NEVER;
}

static bool has_events_now(struct orr_spot *w)
{
	return !w->is_over && next_event(w) <= w->now;
}

static bool job_is_done(const struct orr_spot *w)
{
	return w->job_steps && !w->steps.is_provisional && w->steps.done == w->job_steps;
}

static void check_owners(struct orr_spot *w)
{
	const struct steps *s = &w->steps;
	if (w->is_over || !s->is_in_flight || s->flags & ORR_STEPS_ORPHANED)
		return;
	if (!steps_have_owners(w))
		spot_fail(w, ORR_EFAIL, NULL, "a step is in flight although all pipelines were dropped: expected orr_steps_stop() before");
	if (!w->ownerless)
		return;
	for (uint32_t i = 0; i < w->n_stages; i++)
		if (w->stage[i].owner == NONE && !w->is_dropped[i / w->depth]) {
			spot_fail(w, ORR_EFAIL, NULL,
				"a step is in flight although stage %u of pipeline %u has no live owner: expected orr_steps_stop(), a new "
				"owner, or the drop of this pipeline",
				i % w->depth, i / w->depth);
			return;
		}
}

static void ask(struct orr_spot *w)
{
	if (++w->calls_now > w->max_calls) {
		spot_fail(w, ORR_EFAIL, NULL,
			"decide() still causes events after %lld calls at this instant: expected at most spot.max_calls_per_instant calls",
			(long long)w->max_calls);
		return;
	}
	tell_decide(w);
}

/* Executes all events that are due at w->now. */
static void instant(struct orr_spot *w)
{
	bool is_due;
	w->calls_now = w->taken_now = w->timers_now = 0;
	tell_added(w); /* taken in create() */
	do {
		while (happen(w))
			;
		if (w->is_over)
			break;
		if (w->steps.is_in_flight && w->steps.ends == w->now)
			steps_advance(w, w->now, true);
		if (job_is_done(w)) {
			w->is_complete = w->is_over = true;
			break;
		}
		tell_steps(w);
		is_due = has_events_now(w);
		if (!is_due && w->has_happened) {
			ask(w);
			is_due = has_events_now(w);
		}
	} while (!w->is_over && (is_due || w->has_happened));
	check_owners(w);
	if (w->has_moved && !w->is_over && (w->has_speeds || w->egress_per_byte > 0))
		steps_follow_owners(w);
	if (w->config->check)
		check_instant(w);
	if (w->config->record_nodes)
		rows_instant(w);
}

static void advance_to(struct orr_spot *w, int64_t t)
{
	steps_advance(w, t, false);
	w->now = t;
}

static void report_progress(struct orr_spot *w, uint64_t *n)
{
	if (!w->config->progress || ++*n & 1023)
		return;
	double part = w->job_steps ? (double)w->steps.done / (double)w->job_steps : 0;
	if (w->until < ORR_NEVER && (double)w->now / (double)w->until > part)
		part = (double)w->now / (double)w->until;
	w->config->progress(w->config->progress_ctx, part);
}

static void fail_stuck(struct orr_spot *w)
{
	const struct elastic *job = w->config->job;
	uint32_t live = w->live[0] + w->live[1], least = elastic_least(job);
	char why[160] = "and the policy may need more";
	if (least > live)
		snprintf(why, sizeof why, "but the smallest shape of job %.100s needs %u", job->name, least);
	spot_fail(w, ORR_EFAIL, NULL,
		"no progress since %.4g h, with step %llu of %llu; %u instances are live, %s: expected progress, or --until, which ends "
		"the run",
		(double)w->progress_ns / 3600e9, (unsigned long long)w->most_done, (unsigned long long)w->job_steps, live, why);
}

/*
 * Returns whether to end a run that has no set end and whose job will never be complete. Case 1: no new step was done for too
 * long and in more than FEW instants; the run fails. Case 2: the trace and the deadline are over and MOST_QUIET instants had
 * only timers; without a deadline, the run fails.
 */
static bool is_stuck(struct orr_spot *w)
{
	if (w->until < ORR_NEVER || w->is_over)
		return false;
	if (w->steps.done > w->most_done) {
		w->most_done = w->steps.done;
		w->progress_ns = w->now;
		w->instants = 0;
	}
	bool is_late = w->deadline == ORR_NEVER || w->now >= w->deadline;
	if (w->steps.is_in_flight || w->rows_at < ORR_NEVER || !is_late)
		w->quiet = 0;
	bool is_quiet = w->quiet++ >= MOST_QUIET, is_stalled = is_late && ++w->instants > FEW && w->now - w->progress_ns > w->patience;
	if (is_stalled || (is_quiet && w->deadline == ORR_NEVER))
		fail_stuck(w);
	return is_quiet || is_stalled;
}

/* Returns the fewest instances that can train; a job without shapes has curves of its rate by instances, here those without a part
 * of their name after a point. */
static uint32_t fewest(const struct elastic *job)
{
	uint32_t least = elastic_least(job);
	for (uint32_t i = 0; !job->n_points && i < job->n_curves; i++) {
		const struct elastic_curve *c = &job->curve[i];
		uint32_t k = 0;
		while (k < c->n && !(c->value[k] > 0))
			k++;
		if (k < c->n && !strchr(c->name, '.') && (!least || c->first + k < least))
			least = c->first + k;
	}
	return least > 0 ? least : 1;
}

/*
 * Returns whether the trace has left too few instances, taken or offered, for the smallest shape, so that only on-demand
 * instances could continue the job. A policy that has never taken one is not expected to take its first one so late.
 */
static bool lacks_instances(const struct orr_spot *w)
{
	if (w->until < ORR_NEVER || w->deadline < ORR_NEVER || w->rows_at < ORR_NEVER)
		return false;
	if (w->steps.is_in_flight || w->n_stages || w->n_on_demand)
		return false;
	uint64_t n = w->live[0];
	for (uint32_t z = 0; z < w->n_zones; z++)
		n += w->zone[z].n_offers;
	return n < fewest(w->config->job);
}

static void loop(struct orr_spot *w)
{
	int64_t t;
	uint64_t n = 0;
	w->has_happened = true;
	if (w->until > 0)
		instant(w);
	while (!w->is_over && !is_stuck(w)) {
		bool is_any = next_instant(w, &t);
		if (w->until == ORR_NEVER && (is_any ? t > INT64_MAX / 2 : w->steps.is_in_flight)) {
			spot_fail(w, ORR_EFAIL, NULL, "the job has not ended after 146 years, the limit of the clock: expected --until");
			break;
		}
		int64_t end = availset_end_ns(w->config->capacity);
		if (is_any && t > end && lacks_instances(w))
			is_any = false; /* timers of a policy that waits for instances */
		if (!is_any) {
			/* No event is left: nothing happens in the rest of the trace. */
			t = w->until < ORR_NEVER ? w->until : end < ORR_NEVER && end > w->now ? end : w->now;
			advance_to(w, t);
			break;
		}
		if (t >= w->until) {
			advance_to(w, w->until);
			break;
		}
		advance_to(w, t);
		instant(w);
		report_progress(w, &n);
	}
}

/* ---- begin and end ---- */

/* Returns the longest time without progress: ten times the trace's length, at least a day; a year if the trace has no end. */
static int64_t patience(const struct spot_config *c)
{
	const int64_t day = 86400 * ORR_SECOND, end = availset_end_ns(c->capacity);
	return end == ORR_NEVER ? 365 * day : end > ORR_NEVER / 20 ? ORR_NEVER / 2 : 10 * end > day ? 10 * end : day;
}

static uint32_t limit(const struct orr_args *a, const char *name)
{
	int64_t n = orr_arg_int(a, name);
	return n ? (uint32_t)n : UINT32_MAX;
}

static double default_of(const char *name)
{
	const struct orr_param *p = spot_options;
	while (strcmp(p->name, name) != 0)
		p++;
	return strtod(p->def, NULL);
}

static void read_options(struct orr_spot *w)
{
	const struct orr_args *a = w->config->options;
	w->job_steps = spot_job_steps(w->config->job, a);
	w->startup[0] = orr_arg_time_ns(a, "startup");
	w->startup[1] = orr_arg_time_ns(a, "on_demand_startup");
	w->notice = orr_arg_time_ns(a, "notice");
	w->deadline = orr_arg_time_ns(a, "deadline");
	if (!w->deadline)
		w->deadline = ORR_NEVER;
	w->max_price = orr_arg_real(a, "max_price") > 0 ? ledger_price(orr_arg_real(a, "max_price")) : INT64_MAX;
	w->on_demand_price = ledger_price(orr_arg_real(a, "on_demand_price"));
	w->quota[0] = limit(a, "quota");
	w->quota[1] = limit(a, "on_demand_quota");
	w->want = limit(a, "target");
	w->bills_hours = !strcmp(orr_arg_text(a, "billing"), "hour");
	w->storage_Bps = orr_arg_real(a, "storage_Bps");
	w->node_Bps = orr_arg_real(a, "node_Bps");
	w->default_storage_Bps = default_of("storage_Bps");
	w->default_node_Bps = default_of("node_Bps");
	w->storage_latency = orr_arg_time_ns(a, "storage_latency");
	w->egress_per_byte = orr_arg_real(a, "egress_usd_per_GB"); /* nano-USD per byte */
	w->max_calls = orr_arg_int(a, "max_calls_per_instant");
}

static int index_points(struct orr_spot *w, struct orr_error *err)
{
	const struct elastic *j = w->config->job;
	for (uint32_t i = 0; i < j->n_points; i++) {
		if (j->point[i].pipelines > w->max_pipelines)
			w->max_pipelines = j->point[i].pipelines;
		if (j->point[i].depth > w->max_depth)
			w->max_depth = j->point[i].depth;
	}
	if ((uint64_t)(w->max_pipelines + 1) * (w->max_depth + 1) > 100000000)
		return orr_fail(err, ORR_EINPUT, "%s: %u pipelines of depth %u: too many for a table of step times: expected fewer",
			j->name, w->max_pipelines, w->max_depth);
	w->point = mem_zalloc((size_t)(w->max_pipelines + 1) * (w->max_depth + 1), sizeof(const struct elastic_point *));
	for (uint32_t i = 0; i < j->n_points; i++)
		w->point[(size_t)j->point[i].pipelines * (w->max_depth + 1) + j->point[i].depth] = &j->point[i];
	return ORR_OK;
}

static struct orr_spot *world_new(
	const struct spot_config *c, const struct orr_policy *policy, const char *label, struct run_result *result)
{
	struct orr_spot *w = mem_zalloc(1, sizeof *w);
	w->config = c;
	w->policy = policy;
	w->ops = policy->ops;
	w->label = label;
	w->result = result;
	w->may_see = policy->flags & (ORR_NEEDS_ORACLE | ORR_MAY_ORACLE);
	w->engine = eng_new();
	w->watch = watch_new(label, c->policy_timeout_s);
	watch_noun(w->watch, "instance");
	w->timer_at = w->ready_at = w->rows_at = w->prices_at = ORR_NEVER;
	w->pause = ORR_IDLE;
	w->steps.first_began = w->steps.last_end = -1;
	rng_init(&w->policy_rng, c->seed, "spot-policy", c->replication);
	return w;
}

static void world_free(struct orr_spot *w)
{
	rows_free(w);
	spot_parts_free(w);
	tallies_free(w);
	future_free(w);
	steps_free(w);
	layout_free(w);
	instances_free(w);
	spot_capacity_free(w);
	speeds_free(&w->speeds);
	mem_free(w->point);
	watch_free(w->watch);
	eng_free(w->engine);
	mem_free(w);
}

static int check_until(const struct spot_config *c, int64_t *until, struct orr_error *err)
{
	*until = c->until_ns;
	if (*until != ORR_NEVER && *until > INT64_MAX / 2)
		return orr_fail(err, ORR_EINPUT, "--until: expected at most 146 years");
	if (*until != ORR_NEVER || spot_job_steps(c->job, c->options))
		return ORR_OK;
	*until = availset_end_ns(c->capacity);
	if (*until != ORR_NEVER)
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT, "%.200s: neither this trace nor job %.80s has an end: expected --until",
		availset_source(c->capacity), c->job->name);
}

int spot_run(const struct spot_config *c, const struct orr_policy *policy, const struct orr_args *policy_args, const char *label,
	struct run_result *result, struct orr_error *err)
{
	int64_t until;
	if (check_until(c, &until, err))
		return err->code;
	struct orr_spot *w = world_new(c, policy, label, result);
	w->until = until;
	w->patience = patience(c);
	w->use = &w->used;
	read_options(w);
	if (c->explain)
		spot_parts_new(w);
	int rc = speeds_read(&w->speeds, orr_arg_text(c->options, "speeds"), err);
	w->has_speeds = w->speeds.n;
	spot_capacity_begin(w);
	if (!rc)
		rc = index_points(w, err);
	if (!rc) {
		tell_create(w, policy_args);
		if (!w->error.code)
			loop(w);
		if (!w->error.code)
			report_end(w);
		tell_destroy(w);
		if (c->used)
			atomic_fetch_or(c->used, w->used);
		rc = w->error.code;
		if (rc)
			*err = w->error;
	}
	world_free(w);
	return rc;
}
