/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Steps between two events are advanced at once: they have the same length, owners and prices, so one record with a count
 * represents them. With config->exact each end of a step is a separate instant. Equal records are merged immediately, so that
 * all sums are formed in the same way.
 */
#include "spot/accounts.h"

#include "base/mem.h"

#include <math.h>

static uint64_t to_be_done(const struct orr_spot *w)
{
	return w->job_steps ? w->job_steps - w->steps.done : UINT64_MAX;
}

/* ---- records ---- */

static bool is_same(const struct ledger *a, const struct ledger *b)
{
	return a->ns == b->ns && a->amount == b->amount;
}

static bool are_alike(const struct steprun *a, const struct steprun *b)
{
	return a->since_last == b->since_last && a->samples == b->samples && is_same(&a->owners, &b->owners) &&
	       is_same(&a->redundant, &b->redundant) && a->cost == b->cost;
}

/* Adds equal steps as one product. The floating-point sum then does not depend on their grouping. */
static void flush_alike(struct orr_spot *w)
{
	struct steps *s = &w->steps;
	struct alike *a = &s->alike;
	s->samples_safe += a->samples * (double)a->count;
	s->was_free |= a->count && a->cost == 0 && a->samples > 0;
	if (a->cost > 0)
		s->value_sum += a->samples * (double)a->count * (double)a->since_last / wide_double(a->cost);
	a->count = 0;
}

static inline void count_steps(struct orr_spot *w, uint64_t n, int64_t since_last, double samples, timeline_sum cost)
{
	struct alike *a = &w->steps.alike;
	w->steps.committed += n;
	if (a->since_last == since_last && a->samples == samples && a->cost == cost) {
		a->count += n;
		return;
	}
	if (a->count)
		flush_alike(w);
	*a = (struct alike){ n, since_last, samples, cost };
}

/* Adds useful time. owners, redundant: sums over all steps that count now. */
static inline void add_useful(struct orr_spot *w, const struct ledger *owners, const struct ledger *redundant)
{
	ledger_add(&w->account[ORR_USEFUL], owners->ns - redundant->ns, owners->amount - redundant->amount);
	accounts_add(w, ORR_REDUNDANT, redundant);
}

static inline void end_pending(struct steps *s, const struct ledger *owners)
{
	s->pending.ns -= owners->ns;
	s->pending.amount -= owners->amount;
}

static void make_safe(struct orr_spot *w, const struct steprun *r, uint64_t n)
{
	struct ledger owners = ledger_times(&r->owners, n), redundant = ledger_times(&r->redundant, n);
	end_pending(&w->steps, &owners);
	add_useful(w, &owners, &redundant);
	count_steps(w, n, r->since_last, r->samples, r->cost);
}

static void commit_first(struct orr_spot *w, uint64_t n)
{
	struct steps *s = &w->steps;
	spot_parts_commit(w, n);
	while (n && s->first < s->n) {
		struct steprun *r = &s->run[s->first];
		uint64_t k = n < r->count ? n : r->count;
		make_safe(w, r, k);
		r->count -= k;
		n -= k;
		if (!r->count)
			s->first++;
	}
	if (s->first == s->n)
		s->first = s->n = 0;
}

void steps_settle(struct orr_spot *w)
{
	commit_first(w, UINT64_MAX);
	flush_alike(w);
}

static void record(struct orr_spot *w, const struct steprun *r)
{
	struct steps *s = &w->steps;
	ledger_add(&s->pending, r->owners.ns * r->count, r->owners.amount * r->count);
	if (s->first < s->n && are_alike(&s->run[s->n - 1], r)) {
		s->run[s->n - 1].count += r->count;
		return;
	}
	if (s->n == s->cap && s->first) { /* the space before `first` is reused */
		size_t k = s->n - s->first;
		for (size_t i = 0; i < k; i++)
			s->run[i] = s->run[s->first + i];
		s->first = 0;
		s->n = k;
	}
	MEM_GROW(s->run, s->n, s->cap);
	s->run[s->n++] = *r;
}

void steps_free(struct orr_spot *w)
{
	mem_free(w->steps.run);
}

/* ---- advancing ---- */

static timeline_sum egress_of_step(const struct orr_spot *w)
{
	return w->steps.egress > 0 ? accounts_egress(w, w->steps.egress) : 0;
}

/* Returns x * part, clamped to x because of rounding; part <= 1. */
static timeline_sum part_of(timeline_sum x, double part)
{
	timeline_sum y = (timeline_sum)((double)x * part);
	return y < x ? y : x;
}

/* Records n equal steps, each with the contents of the bucket. */
static void record_steps(struct orr_spot *w, uint64_t n, int64_t since_last, double samples, timeline_sum cost)
{
	struct steps *s = &w->steps;
	struct steprun r = { .count = n, .since_last = since_last, .samples = samples, .owners = s->bucket, .cost = cost };
	if (s->redundant > 0) {
		r.redundant = (struct ledger){ part_of(r.owners.ns, s->redundant), part_of(r.owners.amount, s->redundant) };
	}
	if (s->is_provisional) {
		record(w, &r);
		return;
	}
	struct ledger owners = ledger_times(&r.owners, n), redundant = ledger_times(&r.redundant, n);
	add_useful(w, &owners, &redundant);
	count_steps(w, n, since_last, samples, cost);
}

/* Ends the step in flight and the n - 1 equal steps directly after it. */
static void finish_steps(struct orr_spot *w, uint64_t n, int64_t began, int64_t ends, int64_t pace, timeline_sum spent_per_step)
{
	struct steps *s = &w->steps;
	double samples = s->samples_once >= 0 ? s->samples_once : s->samples;
	int64_t since_last = pace;
	timeline_sum cost = spent_per_step;
	if (s->egress > 0)
		accounts_charge(w, ORR_EGRESS, egress_of_step(w), n);
	if (n == 1) {
		since_last = ends - (s->last_end < 0 ? s->first_began : s->last_end);
		cost = w->all.amount - w->cost_mark;
	}
	if (s->is_provisional || s->redundant > 0) {
		record_steps(w, n, since_last, samples, cost);
	} else { /* the most frequent case */
		ledger_add(&w->account[ORR_USEFUL], s->bucket.ns * n, s->bucket.amount * n);
		count_steps(w, n, since_last, samples, cost);
	}
	s->samples_once = -1;
	spot_parts_steps(w, n, began, pace);
	if (w->config->record_iterations)
		rows_steps(w, n, began, pace, samples);
	else
		s->rows_seen += n;
	s->done += n;
	if (s->left != UINT64_MAX)
		s->left -= n;
	s->last_end = ends + (int64_t)(n - 1) * pace;
	s->bucket = (struct ledger){ 0, 0 };
	w->cost_mark = w->all.amount;
	s->live_ns_at_end = w->all.ns;
}

/* Handles the end of the step in flight at s->ends. Begins the next one; returns false if the run of steps is over. */
static bool next_step(struct orr_spot *w)
{
	struct steps *s = &w->steps;
	if (s->flags & ORR_STEPS_ORPHANED && w->ownerless)
		s->orphaned++;
	if (!s->left || s->is_last || !to_be_done(w)) {
		s->is_in_flight = s->is_last = false;
		s->has_ended = true;
		return false;
	}
	s->began = s->ends;
	s->ends += s->pace;
	return true;
}

/* Returns the number of steps from s->began on that end before t (or at t, if with_t) and can be advanced at once. */
static uint64_t whole_steps(const struct orr_spot *w, int64_t t, bool with_t)
{
	const struct steps *s = &w->steps;
	int64_t room = t - s->began - (with_t ? 0 : 1);
	int64_t before = s->last_end < 0 ? s->first_began : s->last_end;
	/* The first step after a pause has the time and cost of the pause. */
	if (room < s->pace || s->is_last || s->ends - s->began != s->pace || s->samples_once >= 0 || s->began != before ||
		w->cost_mark != w->all.amount)
		return 0;
	uint64_t n = (uint64_t)(room / s->pace), most = to_be_done(w);
	if (s->left < most)
		most = s->left;
	return n < most ? n : most;
}

static void advance_whole(struct orr_spot *w, uint64_t n)
{
	struct steps *s = &w->steps;
	int64_t began = s->began, pace = s->pace, dt = (int64_t)n * pace;
	s->bucket = accounts_of_role(w, ROLE_OWNER, pace);
	timeline_sum per_step = ledger_product(w->rate_all, pace) + egress_of_step(w);
	accounts_pass(w, dt);
	if (s->flags & ORR_STEPS_ORPHANED && w->ownerless)
		s->orphaned += n - 1;
	finish_steps(w, n, began, began + pace, pace, per_step);
	s->began = began + dt - pace;
	s->ends = s->began + pace;
}

void steps_advance(struct orr_spot *w, int64_t t, bool with_t)
{
	struct steps *s = &w->steps;
	while (s->is_in_flight && s->ends < t + with_t) {
		uint64_t n = s->began == w->accrued && !w->config->exact ? whole_steps(w, t, with_t) : 0;
		if (n > 1) {
			advance_whole(w, n);
		} else {
			accounts_accrue(w, s->ends);
			finish_steps(w, 1, s->began, s->ends, s->ends - s->began, 0);
		}
		if (!next_step(w))
			break;
	}
	accounts_accrue(w, t);
}

bool steps_have_owners(const struct orr_spot *w)
{
	return w->n_stages && w->n_dropped < w->pipelines;
}

int64_t steps_target(const struct orr_spot *w)
{
	const struct steps *s = &w->steps;
	uint64_t left = to_be_done(w);
	if (!s->is_in_flight)
		return ORR_NEVER;
	if (s->left < left)
		left = s->left;
	if (w->config->exact || s->is_last || left <= 1)
		return s->ends;
	if (left - 1 > (uint64_t)(ORR_NEVER - s->ends) / (uint64_t)s->pace)
		return ORR_NEVER;
	return s->ends + (int64_t)(left - 1) * s->pace;
}

/* ---- owners ---- */

/* Returns the length of a step on the owners. */
static int64_t on_owners(const struct orr_spot *w, int64_t step_ns)
{
	double speed = owners_speed(w), ns = speed == 1 ? 0 : (double)step_ns / speed;
	return speed == 1 ? step_ns : ns < 1 ? 1 : ns < 1e18 ? llround(ns) : INT64_C(1000000000000000000);
}

static double egress_on_owners(struct orr_spot *w)
{
	double bytes = w->steps.own_egress + owners_egress(w);
	if (bytes > 0)
		w->used |= SPOT_USED_EGRESS;
	return bytes < 1e18 ? bytes : 1e18;
}

void steps_follow_owners(struct orr_spot *w)
{
	struct steps *s = &w->steps;
	w->has_moved = false;
	if (!s->is_in_flight)
		return;
	owners_copy(w);
	if (w->has_speeds)
		s->pace = on_owners(w, s->asked);
	s->egress = egress_on_owners(w);
}

/* ---- calls of policies ---- */

void orr_steps_run(struct orr_spot *w, const struct orr_steps *r)
{
	struct steps *s = &w->steps;
	if (!spot_may_act(w, "orr_steps_run()"))
		return;
	if (!r)
		spot_fail(w, ORR_EFAIL, NULL, "orr_steps_run(): the pointer is NULL: expected a struct orr_steps");
	else if (s->is_in_flight)
		spot_fail(w, ORR_EFAIL, NULL, "orr_steps_run() while a step is in flight: expected orr_steps_stop() before");
	else if (r->step_ns <= 0 || r->step_ns > INT64_MAX / 4)
		spot_fail(w, ORR_EFAIL, NULL,
			"orr_steps_run(): a step of %lld ns: expected more than 0 and less than 73 years (orr_step_time() returns 0 for "
			"shapes without a step time)",
			(long long)r->step_ns);
	else if (!(r->redundant >= 0 && r->redundant <= 1))
		spot_fail(w, ORR_EFAIL, NULL, "orr_steps_run(): redundant is %g: expected 0 to 1", r->redundant);
	else if (!(r->samples >= 0 && r->samples < 1e18) || !(r->egress_bytes >= 0 && r->egress_bytes < 1e18))
		spot_fail(w, ORR_EFAIL, NULL, "orr_steps_run(): %g samples, %g bytes of egress: expected at least 0 and less than 1e18",
			r->samples, r->egress_bytes);
	else if (!to_be_done(w))
		spot_fail(w, ORR_EFAIL, NULL, "orr_steps_run(): all %llu steps of the job are done: expected no further steps",
			(unsigned long long)w->job_steps);
	else if (!steps_have_owners(w))
		spot_fail(w, ORR_EFAIL, NULL, "orr_steps_run(): no instance has a stage: expected orr_layout() before");
	if (w->error.code)
		return;
	w->quiet = 0;
	s->is_in_flight = true;
	s->is_last = s->has_ended = false;
	s->began = w->now;
	s->asked = r->step_ns;
	s->pace = on_owners(w, r->step_ns);
	s->ends = w->now + s->pace;
	s->left = r->most ? r->most : UINT64_MAX;
	s->samples = r->samples > 0 ? r->samples : w->config->job->samples_per_step;
	s->samples_once = -1;
	s->redundant = r->redundant;
	s->own_egress = r->egress_bytes;
	owners_copy(w);
	s->egress = egress_on_owners(w);
	s->flags = r->flags;
	s->bucket = (struct ledger){ 0, 0 };
	if (s->first_began < 0) {
		s->first_began = w->now;
		w->cost_mark = w->all.amount;
	}
}

void orr_steps_stop(struct orr_spot *w)
{
	struct steps *s = &w->steps;
	if (!spot_may_act(w, "orr_steps_stop()") || !s->is_in_flight)
		return;
	accounts_add(w, ORR_WASTED, &s->bucket);
	spot_parts_stop(w, false);
	s->bucket = (struct ledger){ 0, 0 };
	s->is_in_flight = s->is_last = false;
}

void orr_steps_last(struct orr_spot *w)
{
	if (spot_may_act(w, "orr_steps_last()") && w->steps.is_in_flight)
		w->steps.is_last = true;
}

void orr_steps_stretch(struct orr_spot *w, int64_t by)
{
	if (!spot_may_act(w, "orr_steps_stretch()") || !w->steps.is_in_flight)
		return;
	if (by < 0 || by > INT64_MAX / 4 - (w->steps.ends - w->now))
		spot_fail(w, ORR_EFAIL, NULL, "orr_steps_stretch(): by %lld ns: expected at least 0, and less than 73 years in total",
			(long long)by);
	else
		w->steps.ends += by;
}

void orr_steps_samples(struct orr_spot *w, double samples)
{
	if (!spot_may_act(w, "orr_steps_samples()") || !w->steps.is_in_flight)
		return;
	if (!(samples >= 0 && samples < 1e18))
		spot_fail(w, ORR_EFAIL, NULL, "orr_steps_samples(): %g: expected at least 0 and less than 1e18", samples);
	else
		w->steps.samples_once = samples;
}

void orr_steps_pace(struct orr_spot *w, int64_t step_ns)
{
	if (!spot_may_act(w, "orr_steps_pace()"))
		return;
	if (step_ns <= 0 || step_ns > INT64_MAX / 4)
		spot_fail(w, ORR_EFAIL, NULL, "orr_steps_pace(): %lld ns: expected more than 0 and less than 73 years", (long long)step_ns);
	else
		w->steps.pace = on_owners(w, w->steps.asked = step_ns);
}

bool orr_steps_in_flight(const struct orr_spot *w, int64_t *began, int64_t *ends)
{
	if (began)
		*began = w->steps.began;
	if (ends)
		*ends = w->steps.ends;
	return w->steps.is_in_flight;
}

uint64_t orr_steps_done(const struct orr_spot *w)
{
	return w->steps.done;
}

static uint64_t uncommitted(const struct steps *s)
{
	return s->is_provisional ? s->done - s->committed : 0;
}

uint64_t orr_steps_uncommitted(const struct orr_spot *w)
{
	return uncommitted(&w->steps);
}

void orr_steps_are_provisional(struct orr_spot *w)
{
	if (!spot_may_act(w, "orr_steps_are_provisional()"))
		return;
	if (w->steps.first_began >= 0)
		spot_fail(w, ORR_EFAIL, NULL, "orr_steps_are_provisional(): steps have been run: expected a call in create()");
	else
		w->steps.is_provisional = true;
}

static bool check_count(struct orr_spot *w, uint64_t n, const char *what)
{
	if (!w->is_ending && !spot_may_act(w, what))
		return false;
	if (n <= uncommitted(&w->steps))
		return true;
	spot_fail(w, ORR_EFAIL, NULL, "%s: %llu steps: expected at most %llu, the number of uncommitted steps%s", what,
		(unsigned long long)n, (unsigned long long)uncommitted(&w->steps),
		w->steps.is_provisional ? "" : " (orr_steps_are_provisional() was not called)");
	return false;
}

void orr_commit(struct orr_spot *w, uint64_t n)
{
	if (w->is_ending || !check_count(w, n, "orr_commit()"))
		return;
	commit_first(w, n);
	if (w->job_steps && w->steps.committed == w->job_steps)
		w->is_complete = w->is_over = true;
}

void orr_lose(struct orr_spot *w, uint64_t n)
{
	struct steps *s = &w->steps;
	if (!check_count(w, n, "orr_lose()"))
		return;
	rows_lost(w, n);
	spot_parts_lose(w, n);
	s->done -= n;
	s->lost += n;
	while (n) {
		struct steprun *r = &s->run[s->n - 1];
		uint64_t k = n < r->count ? n : r->count;
		struct ledger owners = ledger_times(&r->owners, k);
		accounts_add(w, ORR_WASTED, &owners);
		end_pending(s, &owners);
		r->count -= k;
		n -= k;
		if (!r->count)
			s->n--;
	}
	if (s->first == s->n)
		s->first = s->n = 0;
}
