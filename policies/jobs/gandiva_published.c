/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rules=gavel: rounds as in the published simulator of Gavel with packing (stanford-futuredata/gavel c4fa400, scheduler.py). Like those of
 * gavel_published.c, but a key is a job or a pair; a pair ends with its slower member, and the other one waits for it.
 */
#include "gandiva.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLACK_NS = 1000, PER_KEY = 3 };

static int64_t to_ns(double s)
{
	return llround(s * 1e9);
}

void gandiva_key_free(struct gandiva_key *k)
{
	orr_free(k->share);
}

static void add_key(struct gandiva *g, uint64_t a, uint64_t b)
{
	ORR_GROW(g->key, g->n_keys, g->cap_keys);
	double *v = orr_alloc((size_t)g->n_types * PER_KEY + 1, sizeof *v);
	g->key[g->n_keys++] = (struct gandiva_key){
		.a = a, .b = b, .share = v, .owed = v + g->n_types, .got = v + 2 * (size_t)g->n_types, .ran_on = GAVEL_NOWHERE
	};
}

void gandiva_published_arrive(struct orr_jobs *w, struct gandiva_job *m)
{
	m->steps_left = rint(orr_job_iterations_left(w, m->job));
	if (!(m->steps_left > 0))
		orr_give_up(w, m->job, "rules=gavel: the trace gives no training iterations: expected iterations, or rules=own");
}

/* ---- the end of a round ---- */

/* Returns whether the job ends in this round but has not ended yet. */
static bool is_ending(struct gandiva *g, uint64_t number)
{
	const struct gandiva_job *m = number == GANDIVA_NOBODY ? NULL : gandiva_find(g, number);
	return m && m->will_end && !m->has_ended;
}

/* Stops the jobs of keys that are over; returns false while any key runs. */
static bool is_round_over(struct gandiva *g, struct orr_jobs *w)
{
	bool is_over = true;
	for (size_t i = 0; i < g->n; i++) {
		struct gandiva_job *m = &g->job[i];
		if (m->ran_on == GAVEL_NOWHERE || m->has_ended || !orr_job_is_running(w, m->job))
			continue;
		if (m->will_end || to_ns(m->finish_s) > orr_now(w) || is_ending(g, m->beside))
			is_over = false;
		else
			orr_stop(w, m->job);
	}
	return is_over;
}

struct ending {
	const struct gandiva_key *key;
};

/* Latest finish first; then single jobs before pairs, then by numbers. */
static int latest_first(const void *x, const void *y)
{
	const struct gandiva_key *a = ((const struct ending *)x)->key, *b = ((const struct ending *)y)->key;
	if (a->finish_s != b->finish_s)
		return a->finish_s > b->finish_s ? -1 : 1;
	if ((a->b == GANDIVA_NOBODY) != (b->b == GANDIVA_NOBODY))
		return a->b == GANDIVA_NOBODY ? -1 : 1;
	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return (a->b > b->b) - (a->b < b->b);
}

static bool makes_steps(struct gandiva *g, uint64_t number)
{
	const struct gandiva_job *m = number == GANDIVA_NOBODY ? NULL : gandiva_find(g, number);
	return !m || m->round_steps > 0;
}

static void take_steps(struct gandiva *g, uint64_t number)
{
	struct gandiva_job *m = number == GANDIVA_NOBODY ? NULL : gandiva_find(g, number);
	if (!m)
		return;
	m->steps_left -= m->round_steps;
	g->is_changed |= m->steps_left <= 0;
}

static void end_round(struct gandiva *g, struct orr_jobs *w)
{
	struct ending *list = orr_alloc(g->n_keys + 1, sizeof *list);
	double latest = g->now_s;
	size_t n = 0;
	for (size_t i = 0; i < g->n_keys; i++)
		if (g->key[i].ran_on != GAVEL_NOWHERE)
			list[n++].key = &g->key[i];
	if (n)
		qsort(list, n, sizeof *list, latest_first);
	for (size_t i = 0; i < n; i++) {
		const struct gandiva_key *k = list[i].key;
		double received_s = k->finish_s - g->now_s;
		latest = fmax(latest, k->finish_s);
		if (!(received_s > 0) || !makes_steps(g, k->a) || !makes_steps(g, k->b)) {
			g->is_changed = true;
			continue;
		}
		k->got[k->ran_on] += received_s;
		g->worker_s[k->ran_on] += received_s;
		take_steps(g, k->a);
		take_steps(g, k->b);
	}
	orr_free(list);
	g->is_in_round = false;
	g->now_s = llabs(to_ns(latest) - orr_now(w)) > SLACK_NS ? (double)orr_now(w) / 1e9 : latest;
	for (size_t i = 0; i < g->n_keys; i++)
		g->key[i].ran_on = GAVEL_NOWHERE;
	for (size_t i = 0; i < g->n; i++)
		g->job[i].ran_on = GAVEL_NOWHERE;
}

static bool has_ended(struct gandiva *g, uint64_t number)
{
	const struct gandiva_job *m = number == GANDIVA_NOBODY ? NULL : gandiva_find(g, number);
	return number != GANDIVA_NOBODY && (!m || m->has_ended);
}

static void remove_ended(struct gandiva *g)
{
	size_t kept = 0;
	for (size_t i = 0; i < g->n_keys; i++) {
		if (has_ended(g, g->key[i].a) || has_ended(g, g->key[i].b))
			gandiva_key_free(&g->key[i]);
		else
			g->key[kept++] = g->key[i];
	}
	g->n_keys = kept;
	kept = 0;
	for (size_t i = 0; i < g->n; i++) {
		if (g->job[i].has_ended)
			orr_free(g->job[i].alone);
		else
			g->job[kept++] = g->job[i];
	}
	g->is_changed |= kept < g->n;
	g->n = kept;
}

static void admit(struct gandiva *g)
{
	double half_s = (double)g->round_ns / 2e9;
	for (size_t i = 0; i < g->n; i++) {
		struct gandiva_job *m = &g->job[i];
		if (m->is_admitted || m->submit_s > g->now_s)
			continue;
		m->is_admitted = g->is_changed = true;
		add_key(g, m->number, GANDIVA_NOBODY);
		for (uint32_t t = 0; t < g->n_types; t++) {
			g->key[g->n_keys - 1].got[t] = half_s;
			g->worker_s[t] += half_s;
		}
		for (size_t k = 0; k < i; k++)
			if (g->job[k].is_admitted && g->job[k].gpus == m->gpus)
				add_key(g, g->job[k].number, m->number);
	}
}

/* ---- shares ---- */

static void reset_times(struct gandiva *g)
{
	double half_s = (double)g->round_ns / 2e9, since_s = g->now_s - g->reset_s;
	memset(g->worker_s, 0, g->n_types * sizeof *g->worker_s);
	for (size_t i = 0; i < g->n_keys; i++) {
		struct gandiva_key *k = &g->key[i];
		for (uint32_t t = 0; t < g->n_types; t++) {
			double should_s = k->is_allocated ? k->share[t] * since_s : 0;
			k->owed[t] += should_s - (k->got[t] - half_s);
			k->got[t] = half_s;
			g->worker_s[t] += half_s;
		}
	}
	g->reset_s = g->now_s;
}

/* Returns whether the present pairs contain this key: the pair, or a job without a partner. */
static bool is_combination(struct gandiva *g, const struct gandiva_key *k)
{
	const struct gandiva_job *m = gandiva_find(g, k->a);
	return g->is_packing ? m->partner == k->b : k->b == GANDIVA_NOBODY;
}

/* Divides the time of each type equally among the combinations. */
static void share_equally(struct gandiva *g, struct orr_jobs *w)
{
	size_t n = gandiva_pair(g, w);
	for (size_t i = 0; i < g->n_keys; i++) {
		struct gandiva_key *k = &g->key[i];
		bool is_one = is_combination(g, k);
		double sum = 0, gpus = gandiva_find(g, k->a)->gpus;
		for (uint32_t t = 0; t < g->n_types; t++) {
			k->share[t] = is_one ? (double)orr_total_gpus_of(w, t) / (double)n / gpus : 0;
			sum += k->share[t];
		}
		for (uint32_t t = 0; sum > 1 && t < g->n_types; t++)
			k->share[t] /= sum;
		k->is_allocated = true;
	}
}

/* Sets the shares of the keys from the next ones of the file; a pair without a row has none. Returns false if the run is over. */
static bool replay(struct gandiva *g, struct orr_jobs *w)
{
	char name[512];
	if (!gavel_shares_open(g->shares, w, g->now_s))
		return false;
	for (size_t i = 0; i < g->n_keys; i++) {
		struct gandiva_key *k = &g->key[i];
		const struct gandiva_job *a = gandiva_find(g, k->a), *b = k->b == GANDIVA_NOBODY ? NULL : gandiva_find(g, k->b);
		snprintf(name, sizeof name, "%.200s%s%.200s", orr_job_name(w, a->job), b ? "+" : "", b ? orr_job_name(w, b->job) : "");
		const double *x = gavel_shares_of(g->shares, g->n_types, name);
		for (uint32_t t = 0; t < g->n_types; t++)
			k->share[t] = x ? x[t] : 0;
		k->is_allocated = true;
	}
	return gavel_shares_close(g->shares, w);
}

static bool recompute(struct gandiva *g, struct orr_jobs *w)
{
	bool is_due = g->reset_s == 0 || g->now_s - g->reset_s >= (double)g->recompute_ns / 1e9;
	if (!g->is_changed || !is_due)
		return true;
	reset_times(g);
	g->is_changed = false;
	if (g->shares)
		return replay(g, w);
	share_equally(g, w);
	return true;
}

/* ---- the next round ---- */

/* Returns the iterations/s of a member of a key on a type; 0: it cannot run there. */
static double speed_of(struct gandiva *g, struct orr_jobs *w, const struct gandiva_key *k, uint64_t number, uint32_t type)
{
	const struct gandiva_job *m = gandiva_find(g, number);
	if (k->b == GANDIVA_NOBODY)
		return m->alone[type];
	const struct gandiva_job *other = gandiva_find(g, number == k->a ? k->b : k->a);
	return m->alone[type] * orr_job_rate_beside(w, m->job, &other->job, 1, type);
}

static bool can_run(struct gandiva *g, struct orr_jobs *w, const struct gandiva_key *k, uint32_t type)
{
	return speed_of(g, w, k, k->a, type) > 0 && (k->b == GANDIVA_NOBODY || speed_of(g, w, k, k->b, type) > 0);
}

struct rank {
	double v[3];
	size_t key;
};

static int by_rank(const void *x, const void *y)
{
	const struct rank *a = x, *b = y;
	for (int i = 0; i < 3; i++)
		if (a->v[i] != b->v[i])
			return a->v[i] > b->v[i] ? -1 : 1;
	return (a->key > b->key) - (a->key < b->key);
}

static void start_member(struct gandiva *g, struct orr_jobs *w, struct gandiva_key *k, uint64_t number)
{
	struct gandiva_job *m = gandiva_find(g, number), *first = gandiva_find(g, k->a);
	double speed = speed_of(g, w, k, number, k->ran_on), round_s = (double)g->round_ns / 1e9;
	if (m == first)
		orr_try_start_on_type(w, m->job, k->ran_on);
	else if (orr_job_is_running(w, first->job))
		orr_start_beside(w, m->job, first->job);
	if (!orr_job_is_running(w, m->job))
		return; /* no room under the placement rule */
	m->ran_on = k->ran_on;
	m->round_steps = fmin(floor(speed * round_s), m->steps_left);
	m->finish_s = g->now_s + m->round_steps / speed;
	/* The clock counts whole ns, so the steps made differ from whole numbers; the faster member of a pair makes up for it. */
	m->need_s = (m->round_steps + orr_job_iterations_left(w, m->job) - m->steps_left) / speed;
	m->will_end = m->round_steps >= m->steps_left;
	k->finish_s = fmax(k->finish_s, m->finish_s);
}

/* Lets the faster member of a pair make its iterations in the time of the slower one. */
static void end_together(struct gandiva *g, struct orr_jobs *w, const struct gandiva_key *k, uint64_t number)
{
	struct gandiva_job *m = number == GANDIVA_NOBODY ? NULL : gandiva_find(g, number);
	if (!m || m->ran_on == GAVEL_NOWHERE)
		return;
	double part = m->need_s / (k->finish_s - g->now_s);
	if (part > 0 && part < 1)
		orr_set_slice(w, m->job, part);
	m->finish_s = k->finish_s;
	m->beside = number == k->a ? k->b : k->a;
	g->is_in_round = true;
	if (!m->will_end)
		orr_timer(w, to_ns(m->finish_s));
}

static void run_key(struct gandiva *g, struct orr_jobs *w, struct gandiva_key *k, uint32_t type)
{
	k->ran_on = type;
	k->finish_s = g->now_s;
	start_member(g, w, k, k->a);
	if (k->b != GANDIVA_NOBODY)
		start_member(g, w, k, k->b);
	end_together(g, w, k, k->a);
	end_together(g, w, k, k->b);
}

static bool is_taken(struct gandiva *g, uint64_t number)
{
	return number != GANDIVA_NOBODY && gandiva_find(g, number)->is_taken;
}

/* Chooses the keys of one type; keys that arrived since the last allocation take GPUs but do not run. */
static void fill_type(struct gandiva *g, struct orr_jobs *w, uint32_t type, struct rank *rank)
{
	size_t n = 0;
	for (size_t i = 0; i < g->n_keys; i++) {
		struct gandiva_key *k = &g->key[i];
		if (!can_run(g, w, k, type))
			continue;
		double share = k->is_allocated ? k->share[type] : 0, worker_s = g->worker_s[type], got = k->got[type];
		double priority = !(share > 0) ? 0 : got > 0 && worker_s > 0 ? share / (got / worker_s) : share * 1e9;
		rank[n++] = (struct rank){ { priority, k->owed[type], share }, i };
	}
	if (n)
		qsort(rank, n, sizeof *rank, by_rank);
	uint32_t free = orr_total_gpus_of(w, type);
	for (size_t i = 0; i < n && free; i++) {
		struct gandiva_key *k = &g->key[rank[i].key];
		struct gandiva_job *a = gandiva_find(g, k->a);
		if (a->gpus > free || is_taken(g, k->a) || is_taken(g, k->b))
			continue;
		free -= a->gpus;
		a->is_taken = true;
		if (k->b != GANDIVA_NOBODY)
			gandiva_find(g, k->b)->is_taken = true;
		if (k->is_allocated)
			run_key(g, w, k, type);
	}
}

void gandiva_published_schedule(struct gandiva *g, struct orr_jobs *w)
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
	struct rank *rank = orr_alloc(g->n_keys + 1, sizeof *rank);
	for (size_t i = 0; i < g->n; i++)
		g->job[i].is_taken = false;
	for (uint32_t t = 0; t < g->n_types; t++)
		fill_type(g, w, t, rank);
	orr_free(rank);
	if (!g->is_in_round && g->is_changed)
		orr_timer(w, to_ns(g->reset_s) + g->recompute_ns + SLACK_NS);
}
