/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ElasticFlow (Gu, Zhao, Zhong, Xiong, Chen, Cheng, Yang, Jin, Liu: "ElasticFlow: An Elastic Serverless Training Platform for Distributed
 * Deep Learning", ASPLOS 2023): elastic jobs with deadlines. Rules as in the authors' simulator (pkusys/ElasticFlow 04a0109), read from the
 * code; without its slots, overheads and caches.
 *
 * 1. Minimum satisfactory share: in order of deadline, each job is planned on the GPUs that the jobs before it leave free over time. The
 *    plan uses the smallest size with which the work fits before the deadline, filled backward from it. The job has this size from some
 *    time s on. Before s it has the next smaller size, at times when enough GPUs are free.
 * 2. Admission: a new job whose plan misses its deadline, or makes that of an admitted job miss, is declined: it ends as killed. A job that
 *    has missed its deadline continues with what is left. Jobs without a deadline are never declined.
 * 3. GPUs that no plan uses now go, one step of size at a time, to the job whose GPU time grows least per GPU; first to jobs without
 *    GPUs, in order of submission. A job for whose new size there is no room keeps its GPUs; one that waits starts on fewer. If a job does
 *    not fit where its plan has free GPUs (single nodes), other jobs start there.
 *
 * GPUs are counted by type: a running job is planned on its type, another on the first type in its order on which the plan meets the
 * deadline. If a quota of several types has fewer GPUs than these together, they are counted together.
 *
 * docs/models/jobs-deadlines.md.
 */
#include "time_left.h"

#include <orrery/jobs.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_TIME("round", "60s", "time between decisions"),
	ORR_PARAM_BOOL("admission", true, "decline jobs whose deadline cannot be met"), ORR_PARAM_END };

struct level {
	uint32_t gpus;
	double rate; /* relative to the requested size */
};

struct member {
	orr_job job;
	uint64_t number;
	double deadline_s; /* INFINITY: none */
	double left_s;     /* time left at the requested size */
	struct level *level;
	uint32_t n_levels, cap_levels;
	uint32_t sizes; /* numbers of GPUs up to this one have been looked at */
	bool is_elastic, is_admitted;
	bool is_late;  /* no plan meets the deadline */
	uint32_t now;  /* GPUs at present by the plan */
	uint32_t held; /* line of the GPU type that it runs on; NO_LINE: it waits */
	uint32_t line; /* that of its plan, if now > 0 */
	uint64_t gpu_types;
};

/* Free GPUs from a time to that of the next entry; the last one has no end. */
struct span {
	double from_s;
	uint32_t free;
};

struct timeline {
	struct span *v;
	size_t n, cap;
	double round_s; /* entries begin at multiples of this after the first: GPUs change hands in rounds; 0: at any time */
};

enum { MOST_TYPES = 64 };
static const uint32_t NO_LINE = UINT32_MAX;

struct elasticflow {
	bool has_admission;
	double round_s;
	struct orr_round *round;
	struct member *member; /* in order of submission */
	size_t n, cap;
	struct member **order; /* by deadline */
	size_t cap_order;
	struct timeline line[MOST_TYPES]; /* by GPU type, or one for all */
	uint32_t n_lines, n_types;
	uint32_t free[MOST_TYPES]; /* by line: GPUs that no plan uses now */
};

static void destroy(void *self)
{
	struct elasticflow *e = self;
	for (size_t i = 0; i < e->n; i++)
		orr_free(e->member[i].level);
	orr_free(e->member);
	orr_free(e->order);
	for (size_t t = 0; t < MOST_TYPES; t++)
		orr_free(e->line[t].v);
	orr_round_free(e->round);
	orr_free(e);
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct elasticflow *e = orr_alloc(1, sizeof *e);
	(void)err;
	e->has_admission = orr_arg_bool(args, "admission");
	e->n_types = orr_gpu_types(w);
	e->round_s = (double)orr_arg_time_ns(args, "round") / 1e9;
	e->round = orr_round_new(w, orr_arg_time_ns(args, "round"));
	return e;
}

static void add_level(struct member *m, uint32_t gpus, double rate)
{
	if (!(rate > 0))
		return;
	ORR_GROW(m->level, m->n_levels, m->cap_levels);
	m->level[m->n_levels++] = (struct level){ gpus, rate };
}

/* Adds the sizes that the cluster can hold now and could not before: nodes may come later than the job. */
static void find_levels(const struct orr_jobs *w, struct member *m)
{
	uint32_t total = orr_total_gpus(w);
	while (m->is_elastic && m->sizes < total) {
		m->sizes++;
		add_level(m, m->sizes, orr_job_rate_at(w, m->job, m->sizes));
	}
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct elasticflow *e = self;
	struct orr_job_info info;
	if (!orr_job_get(w, j, &info))
		return;
	ORR_GROW(e->member, e->n, e->cap);
	struct member *m = &e->member[e->n++];
	*m = (struct member){
		.job = j, .number = info.number, .deadline_s = info.deadline_ns < 0 ? INFINITY : (double)info.deadline_ns / 1e9
	};
	m->is_elastic = info.is_elastic;
	m->gpu_types = info.gpu_types;
	if (!info.is_elastic)
		add_level(m, info.gpus, 1);
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct elasticflow *e = self;
	(void)w, (void)how;
	for (size_t i = 0; i < e->n; i++)
		if (e->member[i].job == j) {
			orr_free(e->member[i].level);
			memmove(&e->member[i], &e->member[i + 1], (--e->n - i) * sizeof *e->member);
			return;
		}
}

static void evict(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self, (void)w, (void)j; /* the next decision starts it again */
}

/* ---- the free GPUs over time ---- */

/* Returns the first round at this time or later. */
static double round_from(const struct timeline *t, double at_s)
{
	return t->round_s > 0 ? t->v[0].from_s + t->round_s * ceil((at_s - t->v[0].from_s) / t->round_s - 1e-9) : at_s;
}

/* Splits the entry at this time; returns the index of the entry that begins there. */
static size_t split(struct timeline *t, double at_s)
{
	size_t i = t->n;
	while (i > 0 && t->v[i - 1].from_s >= at_s)
		i--;
	if (i < t->n && t->v[i].from_s <= at_s)
		return i;
	ORR_GROW(t->v, t->n, t->cap);
	memmove(&t->v[i + 1], &t->v[i], (t->n++ - i) * sizeof *t->v);
	t->v[i] = (struct span){ at_s, t->v[i - 1].free };
	return i;
}

static double end_of(const struct timeline *t, size_t i)
{
	return i + 1 < t->n ? t->v[i + 1].from_s : INFINITY;
}

/* Returns the largest level of at most `quota` and of the free GPUs; NULL: none. */
static const struct level *level_at(const struct member *m, uint32_t quota, uint32_t free)
{
	const struct level *best = NULL;
	for (uint32_t i = 0; i < m->n_levels && m->level[i].gpus <= quota && m->level[i].gpus <= free; i++)
		best = &m->level[i];
	return best;
}

/* Returns the first entry from which on the work fits before the deadline, which is in the round before `until` (the index of an entry),
 * with this quota; t->n: it does not. */
static size_t fits_from(const struct timeline *t, const struct member *m, uint32_t quota, size_t until)
{
	double done = 0;
	for (size_t i = until; i-- > 0;) {
		const struct level *l = level_at(m, quota, t->v[i].free);
		done += l ? (fmin(end_of(t, i), m->deadline_s) - t->v[i].from_s) * l->rate : 0;
		if (done >= m->left_s * (1 - 1e-12))
			return i;
	}
	return t->n;
}

/* Takes the GPUs of a plan from the timeline: quota `before` up to entry s, then `after`, until the work is done. */
static void take(struct timeline *t, struct member *m, size_t s, uint32_t before, uint32_t after)
{
	double left = m->left_s, start_s = t->v[s < t->n ? s : t->n - 1].from_s;
	m->now = 0;
	for (size_t i = 0; left > 0 && i < t->n; i++) {
		const struct level *l = level_at(m, t->v[i].from_s < start_s ? before : after, t->v[i].free);
		if (!i)
			m->now = l ? l->gpus : 0;
		if (!l)
			continue;
		double need = left / l->rate, has = end_of(t, i) - t->v[i].from_s;
		if (need < has)
			split(t, round_from(t, t->v[i].from_s + need));
		t->v[i].free -= l->gpus;
		left = need < has ? 0 : left - has * l->rate;
	}
}

/* Plans a job on a line; returns whether it meets its deadline. */
static bool plan_on(struct timeline *t, struct member *m)
{
	if (m->deadline_s < INFINITY && m->deadline_s > t->v[0].from_s) {
		size_t until = split(t, round_from(t, m->deadline_s));
		for (uint32_t i = 0; i < m->n_levels; i++) {
			size_t s = fits_from(t, m, m->level[i].gpus, until);
			if (s == t->n)
				continue;
			take(t, m, s, i ? m->level[i - 1].gpus : 0, m->level[i].gpus);
			return true;
		}
	}
	m->now = 0;
	return false;
}

/* Writes the lines on which a job may be planned, in its order; returns their number. */
static uint32_t lines_of(const struct elasticflow *e, const struct orr_jobs *w, const struct member *m, uint32_t *line)
{
	uint32_t type[MOST_TYPES], n_types, n = 0;
	line[0] = m->held == NO_LINE ? 0 : m->held;
	if (e->n_lines == 1 || m->held != NO_LINE || !m->gpu_types) /* no types: a job without GPUs */
		return 1;
	n_types = orr_job_type_order(w, m->job, type, MOST_TYPES);
	for (uint32_t i = 0; i < n_types; i++)
		if (m->gpu_types >> type[i] & 1)
			line[n++] = type[i];
	return n;
}

/* Plans a job on the first line on which it meets its deadline; returns whether there is one. */
static bool plan(struct elasticflow *e, const struct orr_jobs *w, struct member *m)
{
	uint32_t line[MOST_TYPES], n = lines_of(e, w, m, line);
	for (uint32_t i = 0; i < n; i++) {
		m->line = line[i];
		if (plan_on(&e->line[line[i]], m))
			return true;
	}
	m->now = 0;
	return false;
}

/* ---- decisions ---- */

static int earliest_first(const void *a, const void *b)
{
	const struct member *x = *(struct member *const *)a, *y = *(struct member *const *)b;
	if (x->deadline_s < y->deadline_s || x->deadline_s > y->deadline_s)
		return x->deadline_s < y->deadline_s ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static uint32_t gpus_of_line(const struct elasticflow *e, const struct orr_jobs *w, uint32_t line)
{
	return e->n_lines == 1 ? orr_total_gpus(w) : orr_total_gpus_of(w, line);
}

/* Plans the admitted jobs with a deadline, and `extra` (NULL: none). Returns whether extra meets its deadline and no other job newly misses
 * its own. keep: marks the jobs that miss theirs. */
static bool plan_all(struct elasticflow *e, struct orr_jobs *w, const struct member *extra, bool keep)
{
	bool is_good = true;
	for (uint32_t k = 0; k < e->n_lines; k++) {
		struct timeline *t = &e->line[k];
		ORR_GROW(t->v, 0, t->cap);
		t->v[0] = (struct span){ (double)orr_now(w) / 1e9, gpus_of_line(e, w, k) };
		t->round_s = e->round_s;
		t->n = 1;
	}
	for (size_t i = 0; i < e->n; i++) {
		struct member *m = e->order[i];
		if (!(m->is_admitted || m == extra) || !(m->deadline_s < INFINITY) || (m->is_late && !keep))
			continue;
		bool meets = plan(e, w, m);
		is_good &= meets;
		if (keep)
			m->is_late = !meets;
	}
	return is_good;
}

/* Sets the number of lines, and the line of each running job. */
static void find_lines(struct elasticflow *e, const struct orr_jobs *w)
{
	struct orr_job_info info;
	uint64_t sum = 0;
	for (uint32_t t = 0; t < e->n_types; t++)
		sum += orr_total_gpus_of(w, t);
	e->n_lines = e->n_types > 1 && e->n_types <= MOST_TYPES && sum == orr_total_gpus(w) ? e->n_types : 1;
	for (size_t i = 0; i < e->n; i++) {
		bool is_running = orr_job_get(w, e->member[i].job, &info) && info.gpus_held;
		e->member[i].held = !is_running ? NO_LINE : e->n_lines == 1 ? 0 : info.gpu_type;
	}
}

static void sort_members(struct elasticflow *e, struct orr_jobs *w)
{
	if (e->n > e->cap_order) {
		e->cap_order = e->cap;
		e->order = orr_realloc(e->order, e->cap_order, sizeof *e->order);
	}
	for (size_t i = 0; i < e->n; i++) {
		find_levels(w, &e->member[i]);
		e->member[i].left_s = time_left_s(w, e->member[i].job) / rate_of_type(w, e->member[i].job);
		e->order[i] = &e->member[i];
	}
	qsort(e->order, e->n, sizeof *e->order, earliest_first);
}

/* Admits new jobs one after the other, in order of submission. Declined jobs are killed. */
static void admit(struct elasticflow *e, struct orr_jobs *w)
{
	plan_all(e, w, NULL, true);
	for (size_t i = 0; i < e->n; i++) {
		struct member *m = &e->member[i];
		if (m->is_admitted)
			continue;
		m->is_admitted = !e->has_admission || !(m->deadline_s < INFINITY) || plan_all(e, w, m, false);
		if (!m->is_admitted)
			orr_kill(w, m->job); /* finish() follows */
	}
}

/* Returns the next size that is faster; NULL: none. */
static const struct level *next_level(const struct member *m)
{
	const struct level *at = level_at(m, m->now, m->now);
	for (uint32_t i = 0; i < m->n_levels; i++)
		if (m->level[i].gpus > m->now && (!at || m->level[i].rate > at->rate))
			return &m->level[i];
	return NULL;
}

/* Returns the GPU time that a step up saves per added GPU; usually below 0. INFINITY: the job has no GPUs. */
static double gain_of(const struct member *m, const struct level *up)
{
	const struct level *at = level_at(m, m->now, m->now);
	if (!at)
		return INFINITY;
	return m->left_s * (at->gpus / at->rate - up->gpus / up->rate) / (up->gpus - at->gpus);
}

/* Returns the line on which a job can have this many more GPUs; NO_LINE: none. */
static uint32_t line_with_room(const struct elasticflow *e, const struct orr_jobs *w, const struct member *m, uint32_t more)
{
	uint32_t line[MOST_TYPES], n = 1;
	line[0] = m->line;
	if (!m->now)
		n = lines_of(e, w, m, line);
	for (uint32_t i = 0; i < n; i++)
		if (e->free[line[i]] >= more)
			return line[i];
	return NO_LINE;
}

/* Gives GPUs that no plan uses now to the jobs that lose the least by them. */
static void give_rest(struct elasticflow *e, const struct orr_jobs *w)
{
	for (;;) {
		struct member *best = NULL;
		const struct level *step = NULL;
		double most = -INFINITY;
		uint32_t best_line = NO_LINE;
		for (size_t i = 0; i < e->n; i++) {
			struct member *m = &e->member[i];
			const struct level *up = m->is_admitted ? next_level(m) : NULL;
			if (!up)
				continue;
			double gain = gain_of(m, up);
			if (best && gain <= most)
				continue;
			uint32_t line = line_with_room(e, w, m, up->gpus - m->now);
			if (line == NO_LINE)
				continue;
			best = m;
			best_line = line;
			step = up;
			most = gain;
		}
		if (!best)
			return;
		e->free[best_line] -= step->gpus - best->now;
		best->now = step->gpus;
		best->line = best_line;
	}
}

/* Returns whether the job asks for no GPU. */
static bool has_no_gpu(const struct member *m)
{
	return m->n_levels && !m->level[0].gpus;
}

/* Starts a job that has found no room for its share: on the requested GPUs, or on fewer. */
static void start_smaller(struct orr_jobs *w, const struct member *m)
{
	uint32_t most = orr_job_gpus(w, m->job);
	most = m->now > most ? m->now : most;
	bool is_running = orr_try_start(w, m->job);
	for (uint32_t i = m->is_elastic ? m->n_levels : 0; !is_running && i-- > 0;)
		is_running = m->level[i].gpus < most && orr_try_start_sized(w, m->job, m->level[i].gpus);
}

static void apply(struct elasticflow *e, struct orr_jobs *w)
{
	orr_round_begin(e->round);
	for (size_t i = 0; i < e->n; i++)
		if (e->member[i].is_admitted && (e->member[i].now || has_no_gpu(&e->member[i])))
			orr_round_add(e->round, &e->member[i].job, 1, e->member[i].now,
				e->n_lines > 1 && e->member[i].now ? e->member[i].line : ORR_ANY_TYPE);
	size_t waiting = orr_round_apply(e->round);
	for (size_t i = 0; i < e->n && waiting; i++)
		if (e->member[i].is_admitted && !orr_job_is_running(w, e->member[i].job))
			start_smaller(w, &e->member[i]);
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct elasticflow *e = self;
	orr_why(w, ORR_WHY_HELD, 0, "next round");
	if (!e->n || !orr_round_is_due(e->round))
		return;
	find_lines(e, w);
	sort_members(e, w);
	admit(e, w);
	for (size_t i = 0; i < e->n; i++)
		e->member[i].now = 0;
	plan_all(e, w, NULL, true);
	for (uint32_t k = 0; k < e->n_lines; k++)
		e->free[k] = gpus_of_line(e, w, k);
	for (size_t i = 0; i < e->n; i++)
		if (e->member[i].is_admitted && e->member[i].now)
			e->free[e->member[i].line] -= e->member[i].now;
	give_rest(e, w);
	apply(e, w);
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .evict = evict, .schedule = schedule
};

ORR_POLICY_JOBS(
	elasticflow, "ElasticFlow: elastic jobs with deadlines get the fewest GPUs that meet them; others are declined", params, ops);
