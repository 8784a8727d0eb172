/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The Gittins index policy, preemptive: the job with the highest index first (Gu et al.,
 * "Tiresias: A GPU Cluster Manager for Distributed Deep Learning", NSDI 2019, section
 * 3.3; index and sources in gittins_index.h). Service is GPU time, or running time.
 *
 * The distribution is that of the services of jobs completed so far (nothing is known at
 * first: then all are equal, first come first served), or the one that is given. It is
 * taken anew whenever the completions have grown by a twentieth.
 *
 * A job's index is looked at when it enters a level of service: below `quantum`, then
 * `steps` levels per doubling. In a level the index is that of its lower edge, over all D
 * that lead to its upper edge at least: the job is served that long before anybody
 * looks again. So a job changes its index O(log of its service) times, and a
 * distribution learnt from samples has no spikes just before each of them. delta > 0:
 * D is fixed, as in Tiresias. Among equals, who came to that index first is first.
 * To bound the cost, the entering of levels alone is looked at once per `interval` at
 * most; arrivals and ends are always looked at.
 *
 * A job that has outlived every job known has index 0. (The published simulator of
 * Tiresias sorts lowest index first, and its gittins does not run; this is not that.)
 */
#include "gittins_index.h"
#include "preemptive.h"

#include <math.h>

static const struct orr_param params[] = { ORR_PARAM_CHOICE("service", "gpu-time", "gpu-time|time",
						   "what jobs are served: GPU time, or running time"),
	ORR_PARAM_LIST("table", "", "service of past jobs, in (GPU-)seconds; empty: learnt from completed jobs"),
	ORR_PARAM_TIME("delta", "0", "fixed quantum of the index, in (GPU-)seconds; 0: the best one"),
	ORR_PARAM_TIME("quantum", "60s", "width of the first level of service, in (GPU-)seconds"),
	ORR_PARAM_INT("steps", "2", 1, 64, "levels per doubling of service"),
	ORR_PARAM_TIME("interval", "60s", "least time between two looks at running jobs that nothing else causes"), ORR_PARAM_END };

enum { DOUBLINGS = 48 }; /* of the quantum: the last level has no end */

struct gittins {
	struct preemptive pass;
	struct gittins_table table;
	bool is_learning, counts_gpus;
	double delta, quantum;
	int steps;
	double *edge; /* the least service of each level, and of one more */
	size_t n_levels;
	int64_t *key; /* by level */
	size_t n_keys;
	int64_t interval, next_timer; /* ORR_NEVER: none */
};

static size_t level_of(const struct gittins *g, double service)
{
	service *= 1 + 1e-12; /* it is a sum, and looked at when it should just have got there */
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

/* Highest index first: the bits of a double that is not negative are in its order. */
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

/* The keys of all levels that a known job has reached; in the others the index is 0. */
static bool take_distribution(struct gittins *g)
{
	gittins_build(&g->table);
	size_t n = g->table.built ? level_of(g, g->table.s[g->table.built - 1]) + 1 : 0;
	int64_t *k = realloc(g->key, (n + 1) * sizeof *k);
	if (!k)
		return false;
	g->key = k;
	for (g->n_keys = 0; g->n_keys < n; g->n_keys++) {
		double low = g->edge[g->n_keys], width = g->edge[g->n_keys + 1] - low;
		k[g->n_keys] =
			key_of_index(g->delta > 0 ? gittins_index_fixed(&g->table, low, g->delta) : gittins_index(&g->table, low, width));
	}
	return true;
}

static void destroy(void *self)
{
	struct gittins *g = self;
	gittins_free(&g->table);
	free(g->key);
	free(g->edge);
	preemptive_free(self);
}

static bool make_levels(struct gittins *g)
{
	g->n_levels = 1 + DOUBLINGS * (size_t)g->steps;
	g->edge = calloc(g->n_levels + 1, sizeof *g->edge);
	for (size_t i = 1; g->edge && i <= g->n_levels; i++)
		g->edge[i] = g->quantum * exp2((double)(i - 1) / g->steps);
	return g->edge != NULL;
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct gittins *g = preemptive_new(w, sizeof *g, false, key, err);
	if (!g)
		return NULL;
	size_t n;
	const double *given = orr_arg_list(args, "table", &n);
	g->is_learning = !n;
	g->counts_gpus = strcmp(orr_arg_text(args, "service"), "time");
	g->delta = (double)orr_arg_time_ns(args, "delta") / 1e9;
	g->quantum = fmax((double)orr_arg_time_ns(args, "quantum") / 1e9, 1e-3);
	g->steps = (int)orr_arg_int(args, "steps");
	g->next_timer = ORR_NEVER;
	g->interval = orr_arg_time_ns(args, "interval");
	bool is_good = make_levels(g);
	for (size_t i = 0; i < n && is_good; i++)
		is_good = gittins_add(&g->table, given[i] > 0 ? given[i] : 0);
	if (is_good && take_distribution(g))
		return g;
	destroy(g);
	orr_fail(err, ORR_EFAIL, "out of memory");
	return NULL;
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct gittins *g = self;
	struct orr_job_info info;
	if (g->is_learning && how == ORR_END_COMPLETED && orr_job_get(w, j, &info))
		gittins_add(&g->table, service_of(g, &info));
	preemptive_finish(self, w, j, how);
}

/* New keys for those who wait; they keep their places among equals. */
static void sort_again(struct gittins *g, struct orr_jobs *w)
{
	struct orr_queue *q = g->pass.waiting;
	for (orr_job j = orr_job_first(w); j; j = orr_job_next(w, j))
		if (orr_queue_has(q, j)) {
			int64_t k = key(g, w, j);
			if (k != orr_queue_key(q, j))
				orr_queue_add(q, j, k, orr_queue_tie(q, j));
		}
}

/* To be called when the next running job enters a level. */
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
		if (take_distribution(g))
			sort_again(g, w);
		else
			orr_give_up(w, 0, "out of memory");
	}
	preemptive_schedule(self, w);
	set_timer(g, w);
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = preemptive_arrive, .finish = finish, .evict = preemptive_evict, .schedule = schedule
};

ORR_POLICY_JOBS(gittins, "highest Gittins index first, preemptive, on a learnt or given distribution", params, ops);
