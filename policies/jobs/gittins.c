/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The Gittins index policy, preemptive: the job with the highest index first (Gu et al.,
 * "Tiresias: A GPU Cluster Manager for Distributed Deep Learning", NSDI 2019, section
 * 3.3; index and sources in gittins_index.h). Service is GPU time, or running time.
 *
 * The distribution is either given or that of the service of completed jobs. Before the first completion all indices are equal
 * (first come, first served). The distribution is updated whenever the number of completions has increased by a twentieth.
 *
 * A job's index is updated when the job enters a level of service: below `quantum`, then `steps` levels per doubling. The index of a
 * level is computed at its lower edge, over all D that reach at least its upper edge, because the next update is at that edge or
 * later. So the index of a job changes O(log of its service) times. The index of an empirical distribution also has no spike just
 * before each sample. delta > 0: D is fixed, as in Tiresias. Among equal indices, the job that reached its index first has
 * precedence. To bound the cost, changes of levels cause at most one pass per `interval`; arrivals and ends always cause a pass.
 *
 * A job that has received more service than every known job has index 0. The published simulator of Tiresias differs: it sorts
 * by ascending index, and its gittins does not run.
 */
#include "gittins_index.h"
#include "preemptive.h"

#include <math.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_CHOICE(
						   "service", "gpu-time", "gpu-time|time", "measure of service: GPU time, or running time"),
	ORR_PARAM_LIST("table", "", "service of past jobs, in (GPU-)seconds; empty: learn from completed jobs"),
	ORR_PARAM_TIME("delta", "0", "fixed quantum of the index, in (GPU-)seconds; 0: the quantum that maximises the index"),
	ORR_PARAM_TIME("quantum", "60s", "width of the first level of service, in (GPU-)seconds"),
	ORR_PARAM_INT("steps", "2", 1, 64, "number of levels per doubling of service"),
	ORR_PARAM_TIME("interval", "60s", "minimum time between passes that only a change of service level triggers"), ORR_PARAM_END };

enum { DOUBLINGS = 48 }; /* number of doublings of the quantum; the last level has no upper edge */

struct gittins {
	struct preemptive pass;
	struct gittins_table table;
	bool is_learning, counts_gpus;
	double delta, quantum;
	int steps;
	double *edge; /* lower edges of the levels, and the upper edge of the last */
	size_t n_levels;
	int64_t *key; /* by level */
	size_t n_keys;
	int64_t interval, next_timer; /* ORR_NEVER: none */
};

static size_t level_of(const struct gittins *g, double service)
{
	service *= 1 + 1e-12; /* tolerance for rounding: the timer fires just after the service reaches the edge */
	if (service < g->quantum)
		return 0;
	double doublings = log2(service / g->quantum);
	size_t level = doublings < DOUBLINGS ? 1 + (size_t)(g->steps * doublings) : g->n_levels - 1;
	while (level + 1 < g->n_levels && g->edge[level + 1] <= service)
		level++;
	while (g->edge[level] > service)
		level--;
	return level < g->n_levels ? level : g->n_levels - 1;
}

static double service_of(const struct gittins *g, const struct orr_job_info *info)
{
	return g->counts_gpus && info->gpus ? info->attained_gpu_s : (double)info->attained_ns / 1e9;
}

/* Returns the key, highest index first: the bits of non-negative doubles have the order of their values. */
static int64_t key_of_index(double index)
{
	int64_t bits;
	memcpy(&bits, &index, sizeof bits);
	return -bits;
}

static int64_t key(void *self, struct orr_jobs *w, orr_job j)
{
	const struct gittins *g = self;
	struct orr_job_info info;
	if (!orr_job_get(w, j, &info))
		return 0;
	size_t level = level_of(g, service_of(g, &info));
	return level < g->n_keys ? g->key[level] : 0;
}

/* Computes the keys of all levels that a known job has reached; in other levels the index is 0. */
static void take_distribution(struct gittins *g)
{
	gittins_build(&g->table);
	size_t n = g->table.built ? level_of(g, g->table.s[g->table.built - 1]) + 1 : 0;
	g->key = orr_realloc(g->key, n + 1, sizeof *g->key);
	for (g->n_keys = 0; g->n_keys < n; g->n_keys++) {
		double low = g->edge[g->n_keys], width = g->edge[g->n_keys + 1] - low;
		g->key[g->n_keys] =
			key_of_index(g->delta > 0 ? gittins_index_fixed(&g->table, low, g->delta) : gittins_index(&g->table, low, width));
	}
}

static void destroy(void *self)
{
	struct gittins *g = self;
	gittins_free(&g->table);
	orr_free(g->key);
	orr_free(g->edge);
	preemptive_free(self);
}

static void make_levels(struct gittins *g)
{
	g->n_levels = 1 + DOUBLINGS * (size_t)g->steps;
	g->edge = orr_alloc(g->n_levels + 1, sizeof *g->edge);
	for (size_t i = 1; i <= g->n_levels; i++)
		g->edge[i] = g->quantum * exp2((double)(i - 1) / g->steps);
}

/* Returns a lower bound of the time at which a running job enters the next level: the subtracted part exceeds the rounding error. */
static int64_t due(void *self, struct orr_jobs *w, orr_job j)
{
	const struct gittins *g = self;
	struct orr_job_info info;
	int64_t now = orr_now(w);
	if (!orr_job_get(w, j, &info))
		return now;
	double service = service_of(g, &info), edge = g->edge[level_of(g, service) + 1];
	double left_s = (edge * (1 - 1e-11) - service) * (1 - 1e-9) - 1e-6;
	left_s /= g->counts_gpus && info.gpus ? info.gpus_held : 1;
	return left_s < 4.6e9 ? now + (left_s > 0 ? (int64_t)(left_s * 1e9) : 0) : ORR_NEVER;
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct gittins *g = preemptive_new(w, sizeof *g, false, key);
	g->pass.due = due;
	size_t n;
	(void)err;
	const double *given = orr_arg_list(args, "table", &n);
	g->is_learning = !n;
	g->counts_gpus = strcmp(orr_arg_text(args, "service"), "time");
	g->delta = (double)orr_arg_time_ns(args, "delta") / 1e9;
	g->quantum = fmax((double)orr_arg_time_ns(args, "quantum") / 1e9, 1e-3);
	g->steps = (int)orr_arg_int(args, "steps");
	g->next_timer = ORR_NEVER;
	g->interval = orr_arg_time_ns(args, "interval");
	make_levels(g);
	for (size_t i = 0; i < n; i++)
		gittins_add(&g->table, given[i] > 0 ? given[i] : 0);
	take_distribution(g);
	return g;
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct gittins *g = self;
	struct orr_job_info info;
	if (g->is_learning && how == ORR_END_COMPLETED && orr_job_get(w, j, &info))
		gittins_add(&g->table, service_of(g, &info));
	preemptive_finish(self, w, j, how);
}

/* Sets the new keys of the waiting jobs; jobs with equal keys keep their order. */
static void sort_again(struct gittins *g, struct orr_jobs *w)
{
	struct orr_queue *q = g->pass.waiting;
	for (orr_job j = orr_job_first(w); j; j = orr_job_next(w, j))
		if (orr_queue_has(q, j)) {
			int64_t k = key(g, w, j), tie = orr_queue_tie(q, j);
			if (k == orr_queue_key(q, j))
				continue;
			orr_queue_remove(q, j);
			orr_queue_add(q, j, k, tie);
		}
}

/* Sets a timer for the time at which the next running job enters a level. */
static void set_timer(struct gittins *g, struct orr_jobs *w)
{
	struct orr_job_info info;
	int64_t now = orr_now(w), next = ORR_NEVER;
	if (g->next_timer <= now)
		g->next_timer = ORR_NEVER;
	if (g->next_timer <= now + g->interval)
		return;
	for (size_t i = 0; orr_queue_size(g->pass.waiting) && i < g->pass.n; i++) {
		if (!orr_job_get(w, g->pass.list[i].job, &info))
			continue;
		double service = service_of(g, &info);
		double left_s = g->edge[level_of(g, service) + 1] - service;
		left_s /= g->counts_gpus && info.gpus ? info.gpus_held : 1;
		int64_t at = left_s < 4.6e9 ? now + (int64_t)fmax(ceil(left_s * 1e9), 1) : ORR_NEVER;
		next = at < next ? at : next;
	}
	next = next < now + g->interval ? now + g->interval : next;
	if (next < g->next_timer) {
		g->next_timer = next;
		orr_timer(w, next);
	}
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct gittins *g = self;
	if (g->table.n > g->table.built + g->table.built / 20) {
		take_distribution(g);
		g->pass.all_changed = true;
		sort_again(g, w);
	}
	preemptive_schedule(self, w);
	set_timer(g, w);
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = preemptive_arrive, .finish = finish, .evict = preemptive_evict, .schedule = schedule
};

ORR_POLICY_JOBS(gittins, "highest Gittins index first, preemptive, on a learnt or given distribution", params, ops);
