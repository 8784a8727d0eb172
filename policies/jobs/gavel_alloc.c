/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Computes the allocation X of gavel: greedily, by a linear program (gavel_lp.h), or from a file (gavel_replay.c). */
#include "gavel.h"
#include "gavel_lp.h"

#include <math.h>
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

/* Returns the steps left as the user or the job states them: iterations, else the limit minus the time run. Counts at least one second of
 * work, so that no end is in the past. */
static double steps_left(const struct gavel *g, struct orr_jobs *w, const struct gavel_member *m)
{
	double left = g->is_published ? m->steps_left : orr_job_iterations_left(w, m->job), fastest = 0;
	if (!(orr_job_iterations(w, m->job) > 0)) {
		int64_t limit = orr_job_estimate_ns(w, m->job, ORR_ESTIMATE_LIMIT, 1);
		left = (double)(limit - orr_job_attained_ns(w, m->job)) / 1e9;
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
	bool needs_work = g->allocation == GAVEL_ALLOC_FINISH_TIME;
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

static int solve(struct gavel *g, struct input *in, struct orr_error *err)
{
	switch (g->allocation) {
	case GAVEL_ALLOC_MAX_MIN:
		return gavel_lp_solve(GAVEL_MAX_MIN, &in->problem, in->x, NULL, err);
	case GAVEL_ALLOC_MAX_SUM:
		return gavel_lp_solve(GAVEL_MAX_SUM, &in->problem, in->x, NULL, err);
	case GAVEL_ALLOC_FINISH_TIME:
		note_isolated(in);
		return gavel_lp_solve(GAVEL_FINISH_TIME, &in->problem, in->x, NULL, err);
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
	bool good = solve(g, &in, &err) == ORR_OK;
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
