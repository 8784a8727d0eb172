/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "templates.h"

#include <math.h>

enum { MAX_PIPELINES = 64, MAX_DEPTH = 256 };

void templates_free(struct templates *t)
{
	orr_free(t->rate);
	orr_free(t->plan);
	orr_free(t->choice);
}

static uint32_t depths(const struct templates *t)
{
	return t->max_depth - t->min_depth + 1;
}

/* Finds the largest number of pipelines and the range of depths of the job's points, within from..to. */
static void find_bounds(struct templates *t, struct orr_spot *w, uint32_t from, uint32_t to)
{
	uint32_t p, d;
	t->min_depth = UINT32_MAX;
	for (size_t i = 0; orr_step_point(w, i, &p, &d); i++) {
		if (d < from || d > to || d > MAX_DEPTH || p > MAX_PIPELINES || !orr_step_time(w, p, d, ORR_STEP_PLAIN))
			continue;
		t->min_depth = d < t->min_depth ? d : t->min_depth;
		t->max_depth = d > t->max_depth ? d : t->max_depth;
		t->max_pipelines = p > t->max_pipelines ? p : t->max_pipelines;
	}
}

int templates_init(struct templates *t, struct orr_spot *w, uint32_t from, uint32_t to, uint32_t replicas, struct orr_error *err)
{
	uint32_t p, d;
	*t = (struct templates){ .replicas = replicas };
	if (!orr_step_point(w, 0, &p, &d))
		return 0;
	find_bounds(t, w, from, to ? to : UINT32_MAX);
	if (t->max_pipelines < replicas)
		return orr_fail(err, ORR_EINPUT,
			"f=%u: %u pipelines of depths from %u to %u: expected at most %u, the number for which the job has step times",
			replicas - 1, replicas, from, to ? to : MAX_DEPTH, t->max_pipelines);
	t->rate = orr_alloc((size_t)t->max_pipelines * depths(t), sizeof *t->rate);
	for (size_t i = 0; orr_step_point(w, i, &p, &d); i++) {
		int64_t ns = orr_step_time(w, p, d, ORR_STEP_PLAIN);
		if (ns && p <= t->max_pipelines && d >= t->min_depth && d <= t->max_depth)
			t->rate[(size_t)(p - 1) * depths(t) + d - t->min_depth] = 1e9 / (double)ns;
	}
	return 0;
}

static uint16_t *choices(const struct templates *t, uint32_t pipelines, uint32_t k)
{
	return t->choice + ((size_t)pipelines * (pipelines - 1) / 2 + k - 1) * (t->n + 1);
}

/* Adds a pipeline. before[nodes]: best sum of the rates of k - 1 pipelines on exactly this many nodes, negative if impossible; now:
 * the same for k. */
static void add_pipeline(const struct templates *t, const double *rate, const double *before, double *now, uint16_t *choice)
{
	for (uint32_t n = 0; n <= t->n; n++) {
		now[n] = -1;
		choice[n] = 0;
		for (uint32_t d = t->min_depth; d <= t->max_depth && d <= n; d++) {
			double r = rate[d - t->min_depth], sum = before[n - d] + r;
			if (r > 0 && before[n - d] >= 0 && sum > now[n]) {
				now[n] = sum;
				choice[n] = (uint16_t)d;
			}
		}
	}
}

static void keep_better(struct templates *t, uint32_t pipelines, const double *sum)
{
	struct plan best = { 0 };
	for (uint32_t n = 0; n <= t->n; n++) {
		int64_t ns = sum[n] > 0 ? llround((double)pipelines * 1e9 / sum[n]) : 0;
		if (ns && (!best.step_ns || ns < best.step_ns))
			best = (struct plan){ .pipelines = pipelines, .nodes = n, .step_ns = ns };
		if (best.step_ns && (!t->plan[n].step_ns || best.step_ns < t->plan[n].step_ns))
			t->plan[n] = best;
	}
}

void templates_depths(const struct templates *t, const struct plan *plan, uint32_t *depth)
{
	uint32_t n = plan->nodes;
	for (uint32_t k = plan->pipelines; k; k--) {
		uint32_t d = choices(t, plan->pipelines, k)[n], i = plan->pipelines - k;
		n -= d;
		for (; i && depth[i - 1] < d; i--)
			depth[i] = depth[i - 1];
		depth[i] = d;
	}
}

static void find_deepest(struct templates *t)
{
	uint32_t depth[MAX_PIPELINES];
	for (uint32_t n = 0; n <= t->n; n++) {
		templates_depths(t, &t->plan[n], depth);
		t->plan[n].depth = t->plan[n].pipelines ? depth[0] : 0;
	}
}

static void make_room(struct templates *t, uint32_t n)
{
	orr_free(t->plan);
	orr_free(t->choice);
	t->n = n;
	t->plan = orr_alloc((size_t)n + 1, sizeof *t->plan);
	t->choice = orr_alloc((size_t)t->max_pipelines * (t->max_pipelines + 1) / 2 * ((size_t)n + 1), sizeof *t->choice);
}

/* Computes all plans of up to n nodes. */
static void reckon(struct templates *t, uint32_t n)
{
	double *sum = orr_alloc(2 * ((size_t)n + 1), sizeof *sum);
	make_room(t, n);
	for (uint32_t pipelines = t->replicas; pipelines <= t->max_pipelines; pipelines++) {
		double *before = sum, *now = sum + n + 1;
		for (uint32_t i = 0; i <= n; i++)
			before[i] = i ? -1 : 0;
		for (uint32_t k = 1; k <= pipelines; k++) {
			add_pipeline(t, t->rate + (size_t)(pipelines - 1) * depths(t), before, now, choices(t, pipelines, k));
			double *other = before;
			before = now;
			now = other;
		}
		keep_better(t, pipelines, before);
	}
	orr_free(sum);
	find_deepest(t);
}

struct plan templates_plan(struct templates *t, uint32_t nodes)
{
	uint32_t most = t->max_pipelines * t->max_depth;
	uint32_t n = nodes < most ? nodes : most;
	if (!t->plan || n > t->n)
		reckon(t, 2 * n < most ? 2 * n : most);
	return t->plan[n];
}
