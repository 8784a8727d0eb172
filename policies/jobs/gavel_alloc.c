/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Computes the allocation X of gavel: greedily, by a linear program (gavel_lp.h), or from a file (gavel_replay.c). */
#include "allox_assign.h"
#include "gavel.h"
#include "gavel_lp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool takes_part(const struct gavel_member *m)
{
	return m->milli && m->is_admitted && !m->has_ended;
}

/* ---- types with a place ---- */

static struct gavel_shape *shape_of(struct gavel *g, uint32_t shape)
{
	if (shape >= g->n_shapes) {
		size_t n = 2 * (size_t)shape + 16;
		g->shape = orr_realloc(g->shape, n, sizeof *g->shape);
		memset(g->shape + g->n_shapes, 0, (n - g->n_shapes) * sizeof *g->shape);
		g->n_shapes = n;
	}
	return &g->shape[shape];
}

/* Finds the types on which the placement accepts a shape if no job runs. */
static void know_types(struct gavel *g, struct orr_jobs *w, const struct gavel_member *m)
{
	struct gavel_shape *s = shape_of(g, m->shape);
	if (s->is_known)
		return;
	orr_job *all = orr_alloc(g->n + 1, sizeof *all);
	size_t n = 0;
	for (size_t i = 0; i < g->n; i++)
		if (g->member[i].type != GAVEL_NOWHERE)
			all[n++] = g->member[i].job;
	*s = (struct gavel_shape){ .is_known = true };
	for (uint32_t t = 0; t < g->n_types; t++)
		if (orr_fits_without(w, m->job, t, all, n))
			s->types |= UINT64_C(1) << t;
	orr_free(all);
}

static void find_places(struct gavel *g, struct orr_jobs *w)
{
	for (size_t i = 0; i < g->n; i++) {
		struct gavel_member *m = &g->member[i];
		if (!takes_part(m))
			continue;
		know_types(g, w, m);
		for (uint32_t t = 0; t < g->n_types; t++)
			m->throughput[t] = g->shape[m->shape].types >> t & 1 ? m->speed[t] : 0;
	}
}

/* ---- first in, first out ---- */

/* Returns the first type with room, or the fastest one; GAVEL_NOWHERE if no type has room. */
static uint32_t find_type(const struct gavel *g, const struct gavel_member *m, bool is_fastest)
{
	uint32_t best = GAVEL_NOWHERE;
	for (uint32_t t = 0; t < g->n_types; t++) {
		if (!(m->throughput[t] > 0) || g->free_milli[t] < m->milli)
			continue;
		if (best == GAVEL_NOWHERE || (is_fastest && m->throughput[t] > m->throughput[best]))
			best = t;
	}
	return best;
}

static uint32_t held_type(const struct gavel *g, const struct gavel_member *m)
{
	for (uint32_t t = 0; t < g->n_types; t++)
		if (m->share[t] > 0)
			return t;
	return GAVEL_NOWHERE;
}

static void fifo(struct gavel *g, struct orr_jobs *w, bool is_fastest)
{
	bool keep = !is_fastest && !g->capacity_changed;
	for (uint32_t t = 0; t < g->n_types; t++)
		g->free_milli[t] = 1000 * (int64_t)orr_total_gpus_of(w, t);
	for (size_t i = 0; i < g->n; i++) {
		struct gavel_member *m = &g->member[i];
		uint32_t held = held_type(g, m);
		if (keep && held != GAVEL_NOWHERE)
			g->free_milli[held] -= m->milli;
		else
			memset(m->share, 0, g->n_types * sizeof *m->share);
	}
	for (size_t i = 0; i < g->n; i++) {
		struct gavel_member *m = &g->member[i];
		if (!takes_part(m) || held_type(g, m) != GAVEL_NOWHERE)
			continue;
		uint32_t t = find_type(g, m, is_fastest);
		if (t == GAVEL_NOWHERE)
			break;
		g->free_milli[t] -= m->milli;
		m->share[t] = 1;
	}
}

/* ---- shares of time ---- */

struct input {
	struct gavel_problem problem;
	struct gavel_job *job;
	struct gavel_member **member;
	double *gpus_of_type, *x;
};

static void input_free(struct input *in)
{
	orr_free(in->job);
	orr_free(in->member);
	orr_free(in->gpus_of_type);
	orr_free(in->x);
}

/* Returns the steps left as the user or the job states them: iterations, else the limit minus the work done. Counts at least one second of
 * work, so that no end is in the past. */
static double steps_left(const struct gavel *g, struct orr_jobs *w, const struct gavel_member *m)
{
	double left = g->is_published ? m->steps_left : orr_job_iterations_left(w, m->job), fastest = 0;
	if (!(orr_job_iterations(w, m->job) > 0)) {
		int64_t limit = orr_job_estimate_ns(w, m->job, ORR_ESTIMATE_LIMIT, 1);
		int64_t start = orr_job_estimate_start_ns(w, m->job, ORR_ESTIMATE_LIMIT, 1);
		left = (double)(limit - start - orr_job_done_ns(w, m->job)) / 1e9;
	}
	for (uint32_t t = 0; t < g->n_types; t++)
		fastest = fmax(fastest, m->throughput[t]);
	return fmax(left, fastest);
}

static void input_fill(struct input *in, struct gavel *g, struct orr_jobs *w, double now_s)
{
	size_t n = 0;
	in->job = orr_alloc(g->n + 1, sizeof *in->job);
	in->member = orr_alloc(g->n + 1, sizeof *in->member);
	in->gpus_of_type = orr_alloc(g->n_types + 1u, sizeof *in->gpus_of_type);
	in->x = orr_alloc(g->n * g->n_types + 1, sizeof *in->x);
	bool needs_work =
		g->allocation == GAVEL_ALLOC_FINISH_TIME || g->allocation == GAVEL_ALLOC_MIN_DURATION || g->allocation == GAVEL_ALLOC_ALLOX;
	for (size_t i = 0; i < g->n; i++) {
		struct gavel_member *m = &g->member[i];
		if (!takes_part(m))
			continue;
		double left = needs_work ? steps_left(g, w, m) : 1;
		if (m->isolated_rate > 0) /* work done since the last allocation */
			m->isolated_s += (m->left_then - left) / m->isolated_rate;
		m->left_then = left;
		in->member[n] = m;
		in->job[n++] = (struct gavel_job){ (double)m->milli / 1000, m->weight, m->throughput, now_s - m->submit_s,
			fmax(0, m->isolated_s), left };
	}
	for (uint32_t t = 0; t < g->n_types; t++)
		in->gpus_of_type[t] = orr_total_gpus_of(w, t);
	in->problem = (struct gavel_problem){ in->job, n, in->gpus_of_type, g->n_types };
}

/* Stores each job's throughput on an equal share for the next allocation. */
static void note_isolated(struct input *in)
{
	gavel_isolated(&in->problem, in->x);
	for (size_t i = 0; i < in->problem.n_jobs; i++)
		in->member[i]->isolated_rate = gavel_throughput(&in->problem, i, in->x);
}

/* ---- equal shares ---- */

/* Gives each job N / n of the time of each type, regardless of its GPUs, scaled down to at most all of its time (Gandiva_fair as the
 * published simulators reduce it). */
static void equal_time(struct input *in)
{
	const struct gavel_problem *p = &in->problem;
	double all = 0;
	for (size_t t = 0; t < p->n_types; t++)
		all += p->gpus_of_type[t] / (double)p->n_jobs;
	for (size_t j = 0; j < p->n_jobs; j++)
		for (size_t t = 0; t < p->n_types; t++)
			in->x[j * p->n_types + t] = p->gpus_of_type[t] / (double)p->n_jobs / fmax(1, all);
}

/* One claim on a divisible quantity, and its part. */
struct claim {
	double most, gets;
	size_t key; /* user, then member */
};

static int by_most(const void *x, const void *y)
{
	const struct claim *a = x, *b = y;
	if (a->most != b->most)
		return a->most < b->most ? -1 : 1;
	return (a->key > b->key) - (a->key < b->key);
}

/* Divides a quantity equally. No claim gets more than it can use; the excess is divided among the others. */
static void divide(struct claim *c, size_t n, double quantity)
{
	if (n)
		qsort(c, n, sizeof *c, by_most);
	double level = 0;
	size_t i = 0;
	for (; i < n && c[i].most < (level = quantity / (double)(n - i)); i++) {
		c[i].gets = c[i].most;
		quantity -= c[i].most;
	}
	for (; i < n; i++)
		c[i].gets = level;
}

static int by_user(const void *x, const void *y)
{
	const struct gavel_member *const *a = x, *const *b = y;
	if ((*a)->user != (*b)->user)
		return (*a)->user < (*b)->user ? -1 : 1;
	return ((*a)->number > (*b)->number) - ((*a)->number < (*b)->number);
}

/* Divides GPUs among the jobs of one user: replaces each gpu_share, what the job can use, by what it gets. */
static void divide_user(struct gavel_member *const *m, size_t n, double gpus, struct claim *c)
{
	for (size_t i = 0; i < n; i++)
		c[i] = (struct claim){ .most = m[i]->gpu_share, .key = i };
	divide(c, n, gpus);
	for (size_t i = 0; i < n; i++)
		m[c[i].key]->gpu_share = c[i].gets;
}

/* Sets gpu_share of each job to the GPUs of type t that it can use: its request, spread over the types on which it can run in proportion to
 * their GPUs. */
static void claim_type(const struct input *in, size_t t)
{
	const struct gavel_problem *p = &in->problem;
	for (size_t j = 0; j < p->n_jobs; j++) {
		double sum = 0;
		for (size_t k = 0; k < p->n_types; k++)
			sum += p->job[j].throughput[k] > 0 ? p->gpus_of_type[k] : 0;
		bool can_run = p->job[j].throughput[t] > 0 && sum > 0;
		in->member[j]->gpu_share = can_run ? (double)in->member[j]->milli / 1000 * (p->gpus_of_type[t] / sum) : 0;
	}
}

/* Divides the GPUs of each type equally among users, and each user's part equally among its jobs. A job without a user counts as a separate
 * user. */
static void equal_users(struct input *in)
{
	const struct gavel_problem *p = &in->problem;
	struct gavel_member **m = orr_alloc(p->n_jobs + 1, sizeof(struct gavel_member *));
	struct claim *user = orr_alloc(p->n_jobs + 1, sizeof *user), *job = orr_alloc(p->n_jobs + 1, sizeof *job);
	size_t *first = orr_alloc(p->n_jobs + 2, sizeof *first);
	memcpy(m, in->member, p->n_jobs * sizeof(struct gavel_member *));
	if (p->n_jobs)
		qsort(m, p->n_jobs, sizeof(struct gavel_member *), by_user);
	for (size_t t = 0; t < p->n_types; t++) {
		size_t n_users = 0;
		claim_type(in, t);
		for (size_t i = 0; i < p->n_jobs; i++) {
			if (!i || !m[i]->user || m[i]->user != m[i - 1]->user) {
				first[n_users] = i;
				user[n_users] = (struct claim){ .key = n_users };
				n_users++;
			}
			user[n_users - 1].most += m[i]->gpu_share;
		}
		first[n_users] = p->n_jobs;
		divide(user, n_users, p->gpus_of_type[t]);
		for (size_t u = 0; u < n_users; u++) {
			size_t from = first[user[u].key];
			divide_user(m + from, first[user[u].key + 1] - from, user[u].gets, job);
		}
		for (size_t j = 0; j < p->n_jobs; j++)
			in->x[j * p->n_types + t] = in->member[j]->gpu_share > 0 ? in->member[j]->gpu_share / p->job[j].gpus : 0;
	}
	orr_free(m);
	orr_free(user);
	orr_free(job);
	orr_free(first);
}

/* ---- AlloX as in the published simulator ---- */

/* Returns the types in the order of their names, by which the published simulator numbers workers. */
static void types_by_name(const struct gavel *g, const struct orr_jobs *w, uint32_t *type)
{
	for (uint32_t t = 0; t < g->n_types; t++) {
		uint32_t i = t;
		for (; i && strcmp(orr_gpu_type_name(w, type[i - 1]), orr_gpu_type_name(w, t)) > 0; i--)
			type[i] = type[i - 1];
		type[i] = t;
	}
}

/* Assigns the waiting jobs to the workers that no job holds; the last job of each worker's queue gets the worker. */
static void assign_waiting(const struct gavel *g, struct orr_jobs *w, struct input *in, const size_t *waiting, size_t n)
{
	const struct gavel_problem *p = &in->problem;
	uint32_t *order = orr_alloc(g->n_types + 1u, sizeof *order);
	size_t workers = 0, all = 0;
	types_by_name(g, w, order);
	for (uint32_t t = 0; t < g->n_types; t++)
		all += (size_t)(g->free_milli[t] / 1000);
	size_t *type = orr_alloc(all + 1, sizeof *type), *to = orr_alloc(2 * n + 1, sizeof *to), *position = to + n;
	size_t *last = orr_alloc(all + 1, sizeof *last);
	double *time = orr_alloc(n * all + n + 1, sizeof *time), *delay = time + n * all;
	for (uint32_t i = 0; i < g->n_types; i++)
		for (int64_t k = 0; k < g->free_milli[order[i]] / 1000; k++)
			type[workers++] = order[i];
	for (size_t i = 0; i < n; i++) {
		const struct gavel_job *job = &p->job[waiting[i]];
		delay[i] = job->elapsed_s;
		for (size_t k = 0; k < workers; k++)
			time[i * workers + k] = job->steps_left / (job->throughput[type[k]] > 0 ? job->throughput[type[k]] : 1e-10);
	}
	if (n && workers)
		allox_assign(n, workers, time, delay, to, position);
	for (size_t i = 0; workers && i < n; i++)
		if (position[i] > last[to[i]])
			last[to[i]] = position[i];
	for (size_t i = 0; workers && i < n; i++)
		if (position[i] == last[to[i]])
			in->x[waiting[i] * p->n_types + type[to[i]]] = 1;
	orr_free(order);
	orr_free(type);
	orr_free(to);
	orr_free(last);
	orr_free(time);
}

static void allox(struct gavel *g, struct orr_jobs *w, struct input *in)
{
	const struct gavel_problem *p = &in->problem;
	size_t *waiting = orr_alloc(p->n_jobs + 1, sizeof *waiting), n = 0;
	for (uint32_t t = 0; t < g->n_types; t++)
		g->free_milli[t] = 1000 * (int64_t)orr_total_gpus_of(w, t);
	for (size_t j = 0; j < p->n_jobs; j++) {
		uint32_t held = g->capacity_changed ? GAVEL_NOWHERE : held_type(g, in->member[j]);
		if (in->member[j]->milli != 1000)
			orr_give_up(w, in->member[j]->job, "rules=gavel: expected a job that requests one whole GPU");
		if (held == GAVEL_NOWHERE) {
			waiting[n++] = j;
			continue;
		}
		g->free_milli[held] -= 1000;
		in->x[j * p->n_types + held] = 1;
	}
	assign_waiting(g, w, in, waiting, n);
	orr_free(waiting);
}

static int solve(struct gavel *g, struct orr_jobs *w, struct input *in, struct orr_error *err)
{
	switch (g->allocation) {
	case GAVEL_ALLOC_MAX_MIN:
		return gavel_lp_solve(GAVEL_MAX_MIN, &in->problem, in->x, NULL, err);
	case GAVEL_ALLOC_MAX_SUM:
		return gavel_lp_solve(GAVEL_MAX_SUM, &in->problem, in->x, NULL, err);
	case GAVEL_ALLOC_FINISH_TIME:
		note_isolated(in);
		return gavel_lp_solve(GAVEL_FINISH_TIME, &in->problem, in->x, NULL, err);
	case GAVEL_ALLOC_WATER_FILLING:
		return gavel_lp_solve(GAVEL_WATER_FILLING, &in->problem, in->x, NULL, err);
	case GAVEL_ALLOC_MIN_DURATION:
		return gavel_lp_solve(GAVEL_MIN_DURATION, &in->problem, in->x, NULL, err);
	case GAVEL_ALLOC_EQUAL_TIME:
		equal_time(in);
		return ORR_OK;
	case GAVEL_ALLOC_EQUAL_USERS:
		equal_users(in);
		return ORR_OK;
	case GAVEL_ALLOC_ALLOX:
		allox(g, w, in);
		return ORR_OK;
	case GAVEL_ALLOC_FIFO:
	case GAVEL_ALLOC_FIFO_PERF:
	case GAVEL_ALLOC_ISOLATED:
	case GAVEL_ALLOC_REPLAY:
		break;
	}
	gavel_isolated(&in->problem, in->x);
	return ORR_OK;
}

static bool shares(struct gavel *g, struct orr_jobs *w, double now_s)
{
	struct input in = { .x = NULL };
	struct orr_error err = { 0 };
	input_fill(&in, g, w, now_s);
	bool good = solve(g, w, &in, &err) == ORR_OK;
	if (good)
		for (size_t i = 0; i < in.problem.n_jobs; i++)
			memcpy(in.member[i]->share, in.x + i * g->n_types, g->n_types * sizeof *in.x);
	else
		orr_give_up(w, 0, err.text);
	input_free(&in);
	return good;
}

bool gavel_allocate(struct gavel *g, struct orr_jobs *w, double now_s)
{
	for (size_t i = 0; i < g->n; i++)
		g->member[i].is_allocated = takes_part(&g->member[i]);
	find_places(g, w);
	if (g->allocation == GAVEL_ALLOC_REPLAY)
		return gavel_replay(g, w, now_s);
	if (g->allocation != GAVEL_ALLOC_FIFO && g->allocation != GAVEL_ALLOC_FIFO_PERF)
		return shares(g, w, now_s);
	fifo(g, w, g->allocation == GAVEL_ALLOC_FIFO_PERF);
	return true;
}
