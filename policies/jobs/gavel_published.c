/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rules=gavel: rounds as in the published simulator (stanford-futuredata/gavel, scheduler.py)
 *
 * 1. The clock moves to the latest finish of the jobs of the round; if none ran, to the next arrival.
 * 2. Ended jobs are removed, jobs that have arrived are admitted.
 * 3. X is recomputed if jobs arrived or ended since the last time, at least 1920 s after it. Each job's deficit then grows by
 *    X x time - time received since the last time, and every job counts as having received half a round.
 * 4. The priority of (job, type) is X over the job's part of the time given out on the type since then, 0 if X is 0. Types are filled
 *    one after the other, in the cluster's order or in one drawn for the round (type_shuffle), by priority, then deficit, then X, then
 *    job order. GPUs left over go to jobs whose X is 0, except under FIFO. A job that arrived after X was computed takes part in
 *    this order without an X, but does not run: GPUs chosen for it stay idle.
 * 5. Each chosen job runs min(floor(throughput x round), iterations left) whole iterations, at least one, and finishes after
 *    iterations / throughput.
 *
 * The published simulator computes X immediately if no job runs and no arrival is left. A scheduler does not know future
 * arrivals, so here X is computed after the 1920 s if no job runs.
 *
 * Times are doubles in seconds, as in the published simulator; the world rounds them to ns. A job that ends in this round by
 * these times runs until its end in the world, a few ns later at most. If costs or failures make the difference larger, the
 * world's time is used.
 */
#include "gavel_batches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t SLACK_NS = 1000;

static int64_t to_ns(double s)
{
	return llrint(s * 1e9);
}

/* Takes speed and steps of a job that changes its batch. */
static void follow(struct gavel_member *m)
{
	m->speed[0] = m->throughput[0] = m->batches->per_s;
	m->steps_left = m->batches->total - m->batches->run;
}

void gavel_published_arrive(struct gavel *g, struct orr_jobs *w, struct gavel_member *m)
{
	m->steps_left = orr_job_iterations(w, m->job);
	if (g->batches && m->milli) {
		m->batches = gavel_batches_job(g->batches, w, m);
		if (m->batches)
			follow(m);
		return;
	}
	if (m->milli && !(m->steps_left > 0))
		orr_give_up(w, m->job, "rules=gavel: the trace gives no training iterations for this job: expected a column of iterations");
}

/* Stops the jobs that have finished the iterations of this round; returns false while any job runs. */
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

struct ending {
	double finish_s;
	size_t member;
};

static int latest_first(const void *x, const void *y)
{
	const struct ending *a = x, *b = y;
	if (a->finish_s != b->finish_s)
		return a->finish_s > b->finish_s ? -1 : 1;
	return (a->member > b->member) - (a->member < b->member);
}

/* A round without result counts for nothing, and X is computed again. */
static void take_result(struct gavel *g, struct gavel_member *m)
{
	if (m->batches->has_failed) {
		m->received_s = 0;
		g->is_changed = true;
	}
	if (m->has_ended)
		return;
	gavel_batches_result(g->batches, m->batches);
	follow(m);
}

/* Accounts for the round and moves the clock to its end. Sums of times are in the published simulator's order of jobs, the latest
 * finish first, because their rounding decides between equal priorities. */
static void end_round(struct gavel *g, struct orr_jobs *w)
{
	double latest = g->now_s;
	struct ending *list = orr_alloc(g->n + 1, sizeof *list);
	size_t n = 0;
	for (size_t i = 0; i < g->n; i++)
		if (g->member[i].ran_on != GAVEL_NOWHERE)
			list[n++] = (struct ending){ g->member[i].finish_s, i };
	if (n)
		qsort(list, n, sizeof *list, latest_first);
	for (size_t i = 0; i < n; i++) {
		struct gavel_member *m = &g->member[list[i].member];
		m->steps_left -= m->round_steps;
		if (m->batches)
			take_result(g, m);
		m->got[m->ran_on] += m->received_s;
		g->worker_s[m->ran_on] += m->received_s;
		m->ran_on = GAVEL_NOWHERE;
		latest = fmax(latest, m->finish_s);
	}
	orr_free(list);
	g->is_in_round = false;
	g->now_s = llabs(to_ns(latest) - orr_now(w)) > SLACK_NS ? (double)orr_now(w) / 1e9 : latest;
}

static void remove_ended(struct gavel *g)
{
	size_t kept = 0;
	for (size_t i = 0; i < g->n; i++) {
		if (g->member[i].has_ended) {
			orr_free(g->member[i].speed);
			orr_free(g->member[i].batches);
		} else {
			g->member[kept++] = g->member[i];
		}
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

/* Computes X again; returns false if the run is over. */
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

/* Sets the order in which the types are filled in this round: the cluster's, or shuffled. */
static void order_types(struct gavel *g)
{
	uint32_t *type = orr_alloc(g->n_types + 1u, sizeof *type);
	for (uint32_t t = 0; t < g->n_types; t++)
		type[t] = t;
	if (g->is_shuffled)
		gavel_shuffle(&g->random, type, g->n_types);
	for (uint32_t i = 0; i < g->n_types; i++)
		g->place[type[i]] = i;
	orr_free(type);
}

/* Returns whether remaining GPUs go to jobs without a share: not under FIFO. */
static bool takes_leftovers(const struct gavel *g)
{
	return g->allocation != GAVEL_ALLOC_FIFO && g->allocation != GAVEL_ALLOC_FIFO_PERF;
}

static void add_entries(struct gavel *g)
{
	g->n_entries = 0;
	for (size_t i = 0; i < g->n; i++)
		for (uint32_t t = 0; t < g->n_types; t++) {
			struct gavel_member *m = &g->member[i];
			double share = m->is_allocated ? m->share[t] : 0, throughput = m->is_allocated ? m->throughput[t] : m->speed[t];
			if (!m->milli || !m->is_admitted || !(throughput > 0) || (!(share > 0) && !takes_leftovers(g)))
				continue;
			double priority = share > 0 ? share / (m->got[t] / g->worker_s[t]) : 0;
			gavel_entry_add(g, (struct gavel_entry){ i, t, g->place[t], { priority, m->owed[t], share } });
		}
}

/* Keeps the GPUs idle that were chosen for jobs that arrived after X was computed. */
static void leave_out_unallocated(struct gavel *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (!g->member[i].is_allocated)
			g->member[i].chosen = GAVEL_NOWHERE;
}

/* Decides what each chosen job does in this round. The work left in the world is such that a job ends with the round exactly if these rules
 * end it. */
static void prepare(struct gavel *g, struct orr_jobs *w)
{
	double round_s = (double)g->round_ns / 1e9;
	for (size_t i = 0; i < g->n; i++) {
		struct gavel_member *m = &g->member[i];
		struct gavel_batch_state *b = m->batches;
		if (!b)
			continue;
		b->ran_last = b->runs;
		b->runs = false;
		if (m->chosen == GAVEL_NOWHERE)
			continue;
		m->will_end = gavel_batches_begin(b, round_s, g->now_s, !g->has_had_round, &m->finish_s);
		m->received_s = b->received_s;
		m->round_steps = 0; /* follow() sets the steps left */
		m->ran_on = m->chosen;
		g->is_in_round = true;
		if (b->has_failed && !m->will_end) { /* its GPUs stay idle */
			m->chosen = GAVEL_NOWHERE;
			orr_timer(w, to_ns(m->finish_s));
			continue;
		}
		int64_t span = to_ns(m->finish_s) - orr_now(w);
		orr_set_left(w, m->job, (span > 0 ? span : 0) + (m->will_end ? 0 : ORR_SECOND));
	}
	g->has_had_round = true;
}

static void begin_round(struct gavel *g, struct orr_jobs *w)
{
	double round_s = (double)g->round_ns / 1e9;
	for (size_t i = 0; i < g->n; i++) {
		struct gavel_member *m = &g->member[i];
		if (!m->milli || m->type == GAVEL_NOWHERE)
			continue;
		if (!m->batches) {
			double throughput = m->throughput[m->type];
			m->ran_on = m->type;
			m->round_steps = fmin(fmax(1, floor(throughput * round_s)), m->steps_left);
			m->finish_s = g->now_s + m->round_steps / throughput;
			m->received_s = m->finish_s - g->now_s;
			m->will_end = m->round_steps >= m->steps_left;
			g->is_in_round = true;
		}
		if (!m->will_end)
			orr_timer(w, to_ns(m->finish_s));
	}
}

/* Checks the epochs of the admitted jobs. */
static void check_batches(struct gavel *g)
{
	for (size_t i = 0; g->batches && i < g->n; i++)
		if (g->member[i].is_admitted && g->member[i].batches)
			gavel_batches_check(g->batches, g->member[i].batches);
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
	check_batches(g);
	admit(g);
	if (!recompute(g, w))
		return;
	order_types(g);
	add_entries(g);
	gavel_choose(g, w);
	leave_out_unallocated(g);
	if (g->batches)
		prepare(g, w);
	for (uint32_t t = 0; t < g->n_types; t++)
		gavel_start_type(g, w, t);
	begin_round(g, w);
	if (!g->is_in_round && g->is_changed)
		orr_timer(w, to_ns(g->reset_s) + g->recompute_ns + SLACK_NS);
}
