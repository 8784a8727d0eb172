/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rules=gavel: rounds as in the published simulator (stanford-futuredata/gavel, scheduler.py)
 *
 * 1. The clock moves to the latest finish of the jobs of the round; if none ran, to the next arrival.
 * 2. Ended jobs are removed, jobs that have arrived are admitted.
 * 3. X is recomputed if jobs arrived or ended since the last time, at least 1920 s after it. Each job's deficit then grows by
 *    X x time - time received since the last time, and every job counts as having received half a round.
 * 4. The priority of (job, type) is X over the job's part of the time given out on the type since then. Types are filled one after
 *    the other by priority, then deficit, then X, then job order. A job that arrived after X was computed, or whose X is 0, waits.
 * 5. Each chosen job runs min(floor(throughput x round), iterations left) whole iterations, at least one, and finishes after
 *    iterations / throughput.
 *
 * The published simulator computes X at once if no job runs and no arrival is left. A scheduler cannot know the latter: here, if no
 * job runs, X is computed when the 1920 s are over.
 *
 * Times are doubles in seconds, as in the published simulator; the world rounds them to ns. A job that ends in this
 * round by these times runs until it ends by the world's times, a few ns later at most. If costs or failures make the
 * two differ by more, the world's time is used.
 */
#include "gavel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t SLACK_NS = 1000;

static int64_t to_ns(double s)
{
	return llrint(s * 1e9);
}

void gavel_published_arrive(struct gavel *g, struct orr_jobs *w, struct gavel_member *m)
{
	(void)g;
	m->steps_left = orr_job_iterations(w, m->job);
	if (m->milli && !(m->steps_left > 0))
		orr_give_up(
			w, m->job, "rules=gavel: the trace states no training iterations for this job: expected a column of iterations");
}

/* Stops the jobs that have finished the iterations of this round; false while any job runs. */
static bool is_round_over(struct gavel *g, struct orr_jobs *w)
{
	bool is_over = true;
	for (size_t i = 0; i < g->n; i++) {
		struct gavel_member *m = &g->member[i];
		if (!m->milli || m->type == GAVEL_NOWHERE)
			continue;
		if (m->will_end || to_ns(m->finish_s) > orr_now(w)) {
			is_over = false;
		} else {
			orr_stop(w, m->job);
			m->type = GAVEL_NOWHERE;
		}
	}
	return is_over;
}

/* Accounts for the round and moves the clock to its end. */
static void end_round(struct gavel *g, struct orr_jobs *w)
{
	double latest = g->now_s;
	for (size_t i = 0; i < g->n; i++) {
		struct gavel_member *m = &g->member[i];
		if (m->ran_on == GAVEL_NOWHERE)
			continue;
		m->steps_left -= m->round_steps;
		m->got[m->ran_on] += m->round_s;
		g->worker_s[m->ran_on] += m->round_s;
		m->ran_on = GAVEL_NOWHERE;
		latest = fmax(latest, m->finish_s);
	}
	g->is_in_round = false;
	g->now_s = llabs(to_ns(latest) - orr_now(w)) > SLACK_NS ? (double)orr_now(w) / 1e9 : latest;
}

static void remove_ended(struct gavel *g)
{
	size_t kept = 0;
	for (size_t i = 0; i < g->n; i++) {
		if (g->member[i].has_ended)
			orr_free(g->member[i].speed);
		else
			g->member[kept++] = g->member[i];
	}
	g->is_changed |= kept < g->n;
	g->n = kept;
}

static void admit(struct gavel *g)
{
	double half_s = (double)g->round_ns / 2e9;
	for (size_t i = 0; i < g->n; i++) {
		struct gavel_member *m = &g->member[i];
		if (m->is_admitted || m->submit_s > g->now_s)
			continue;
		m->is_admitted = true;
		g->is_changed |= m->milli > 0;
		for (uint32_t t = 0; m->milli && t < g->n_types; t++) {
			m->got[t] = half_s;
			g->worker_s[t] += half_s;
		}
	}
}

static void reset_times(struct gavel *g)
{
	double half_s = (double)g->round_ns / 2e9, since_s = g->now_s - g->reset_s;
	memset(g->worker_s, 0, g->n_types * sizeof *g->worker_s);
	for (size_t i = 0; i < g->n; i++) {
		struct gavel_member *m = &g->member[i];
		if (!m->milli || !m->is_admitted)
			continue;
		for (uint32_t t = 0; t < g->n_types; t++) {
			double should_s = m->is_allocated ? m->share[t] * since_s : 0;
			m->owed[t] += should_s - (m->got[t] - half_s);
			m->got[t] = half_s;
			g->worker_s[t] += half_s;
		}
	}
	g->reset_s = g->now_s;
}

/* False: the run is over. */
static bool recompute(struct gavel *g, struct orr_jobs *w)
{
	bool is_due = g->reset_s == 0 || g->now_s - g->reset_s >= (double)g->recompute_ns / 1e9;
	if (!g->is_changed || !is_due)
		return true;
	reset_times(g);
	g->is_changed = false;
	bool good = gavel_allocate(g, w, g->now_s);
	g->capacity_changed = false;
	return good;
}

static void add_entries(struct gavel *g)
{
	g->n_entries = 0;
	for (size_t i = 0; i < g->n; i++)
		for (uint32_t t = 0; t < g->n_types; t++) {
			struct gavel_member *m = &g->member[i];
			if (!m->is_allocated || !(m->share[t] > 0) || !(m->throughput[t] > 0))
				continue;
			double priority = m->share[t] / (m->got[t] / g->worker_s[t]);
			gavel_entry_add(g, (struct gavel_entry){ i, t, { priority, m->owed[t], m->share[t] } });
		}
}

static void begin_round(struct gavel *g, struct orr_jobs *w)
{
	double round_s = (double)g->round_ns / 1e9;
	for (size_t i = 0; i < g->n; i++) {
		struct gavel_member *m = &g->member[i];
		if (!m->milli || m->type == GAVEL_NOWHERE)
			continue;
		double throughput = m->throughput[m->type];
		m->ran_on = m->type;
		m->round_steps = fmin(fmax(1, floor(throughput * round_s)), m->steps_left);
		m->round_s = m->round_steps / throughput;
		m->finish_s = g->now_s + m->round_s;
		m->will_end = m->round_steps >= m->steps_left;
		g->is_in_round = true;
		if (!m->will_end)
			orr_timer(w, to_ns(m->finish_s));
	}
}

void gavel_published_schedule(struct gavel *g, struct orr_jobs *w)
{
	if (g->is_in_round) {
		if (!is_round_over(g, w))
			return;
		end_round(g, w);
	} else {
		g->now_s = fmax(g->now_s, (double)orr_now(w) / 1e9);
	}
	remove_ended(g);
	admit(g);
	if (!recompute(g, w))
		return;
	add_entries(g);
	gavel_choose(g, w);
	for (uint32_t t = 0; t < g->n_types; t++)
		gavel_start_type(g, w, t);
	begin_round(g, w);
	if (!g->is_in_round && g->is_changed)
		orr_timer(w, to_ns(g->reset_s) + g->recompute_ns + SLACK_NS);
}
