/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gavel (Narayanan, Santhanam, Kazhamiaka, Phanishayee, Zaharia: "Heterogeneity-Aware Cluster
 * Scheduling Policies for Deep Learning Workloads", OSDI 2020): an allocation X of the jobs'
 * time to GPU types, realised in rounds.
 *
 * allocation=
 *	fifo                 in job order, strictly, on the first type with room; kept until the job ends
 *	fifo_perf            in job order, strictly, each on the fastest type with room
 *	isolated             an equal share of each type
 *	max_min_fairness     } linear programs: gavel_lp.h has the formulas; ties are broken
 *	max_sum_throughput   } in job order
 *	finish_time_fairness }
 *	replay               from a file (gavel_replay.c)
 *
 * Rounds (section 5): the (job, type) pairs with the highest priority run. The paper's priority is X / rounds received. X
 * changes when jobs arrive and end, so the priority here is (sum of X over all rounds since the job arrived) / rounds received.
 * Both give the same order while X is constant.
 *
 * rules=own: a round starts every `round` while a job runs, else at once. X is recomputed at the start of a round if jobs
 * arrived or ended, at least `recompute` after the last computation. A job that is chosen again continues to run. A job that
 * ends within a round frees its GPUs for the next round. Progress is continuous: partial iterations count.
 *
 * rules=gavel: the rules of the published simulator (gavel_published.c): whole iterations, rounds that end with their last job, 1920 s
 * between computations of X, every job stopped after every round (so `preemptions` counts rounds).
 *
 * Jobs that request no GPU start when they fit. Assumes that a job runs on one type in a round; see
 * docs/models/jobs-policies.md#gavel-rounds.
 */
#include "gavel.h"
#include "gavel_batches.h"

#include <math.h>
#include <string.h>

static const struct orr_param params[] = {
	ORR_PARAM_CHOICE("allocation", "max_min_fairness",
		"fifo|fifo_perf|isolated|max_min_fairness|max_sum_throughput|finish_time_fairness|replay",
		"rule that divides the time of each GPU type among jobs"),
	GAVEL_ROUND_PARAMS,
	ORR_PARAM_FILE("shares", "allocation=replay: CSV file with columns recompute, time_s, job and one share per GPU type"),
	ORR_PARAM_END
};

enum { PUBLISHED_RECOMPUTE_S = 1920, SHOCKWAVE_RECOMPUTE_S = 1000, PER_TYPE = 5 };

static enum gavel_allocation allocation_of(const char *text)
{
	static const char *const names[] = { "fifo", "fifo_perf", "isolated", "max_min_fairness", "max_sum_throughput",
		"finish_time_fairness", "replay" };
	size_t i = 0;
	while (i + 1 < sizeof names / sizeof *names && strcmp(text, names[i]))
		i++;
	return (enum gavel_allocation)i;
}

void gavel_destroy(void *self)
{
	struct gavel *g = self;
	for (size_t i = 0; i < g->n; i++) {
		orr_free(g->member[i].speed);
		orr_free(g->member[i].batches);
	}
	gavel_batches_free(g->batches);
	orr_free(g->member);
	orr_free(g->shape);
	orr_free(g->entry);
	orr_free(g->order);
	orr_free(g->free_milli);
	orr_free(g->worker_s);
	orr_free(g->place);
	gavel_replay_free(g->shares);
	orr_free(g);
}

void *gavel_create(struct orr_jobs *w, const struct orr_args *args, enum gavel_allocation allocation, struct orr_error *err)
{
	int64_t round = orr_arg_time_ns(args, "round");
	if (round <= 0) {
		orr_fail(err, ORR_EINPUT, "round: expected a time above 0");
		return NULL;
	}
	struct gavel *g = orr_alloc(1, sizeof *g);
	g->allocation = allocation;
	bool changes_batches = !strcmp(orr_arg_text(args, "rules"), "shockwave");
	g->is_published = changes_batches || !strcmp(orr_arg_text(args, "rules"), "gavel");
	g->round_ns = round;
	g->recompute_ns = orr_arg_time_ns(args, "recompute");
	if (g->is_published && !g->recompute_ns)
		g->recompute_ns = (changes_batches ? SHOCKWAVE_RECOMPUTE_S : PUBLISHED_RECOMPUTE_S) * ORR_SECOND;
	g->n_types = orr_gpu_types(w);
	g->free_milli = orr_alloc(g->n_types + 1u, sizeof *g->free_milli);
	g->worker_s = orr_alloc(g->n_types + 1u, sizeof *g->worker_s);
	g->recomputed = -g->recompute_ns;
	g->place = orr_alloc(g->n_types + 1u, sizeof *g->place);
	g->is_shuffled = orr_arg_bool(args, "type_shuffle");
	gavel_shuffle_seed(&g->random, (uint32_t)orr_arg_int(args, "shuffle_seed"));
	if (changes_batches && g->n_types > 1)
		orr_fail(err, ORR_EINPUT, "rules=shockwave: expected a cluster with one GPU type");
	else if ((g->allocation != GAVEL_ALLOC_REPLAY || (g->shares = gavel_replay_read(w, args, err))) &&
		 (!changes_batches || (g->batches = gavel_batches_read(args, err))))
		return g;
	gavel_destroy(g);
	return NULL;
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	return gavel_create(w, args, allocation_of(orr_arg_text(args, "allocation")), err);
}
/* ---- members ---- */

/* Returns the member with that job number, or NULL; members are in ascending order of job number. */
static struct gavel_member *find(struct gavel *g, uint64_t number)
{
	size_t low = 0, high = g->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (g->member[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < g->n && g->member[low].number == number ? &g->member[low] : NULL;
}

void gavel_arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct gavel *g = self;
	struct orr_job_info info;
	if (!orr_job_get(w, j, &info))
		return;
	double *per_type = orr_alloc((size_t)g->n_types * PER_TYPE + 1, sizeof *per_type);
	ORR_GROW(g->member, g->n, g->cap);
	size_t at = g->n++; /* sorted by number, because stages of flows do not arrive in this order */
	for (; at && g->member[at - 1].number > info.number; at--)
		g->member[at] = g->member[at - 1];
	struct gavel_member *m = &g->member[at];
	*m = (struct gavel_member){ .job = j,
		.number = info.number,
		.milli = (int64_t)info.gpus * info.gpu_milli,
		.weight = info.priority > 0 ? info.priority : 1,
		.submit_s = (double)info.submit_ns / 1e9,
		.type = GAVEL_NOWHERE,
		.chosen = GAVEL_NOWHERE,
		.ran_on = GAVEL_NOWHERE,
		.is_admitted = !g->is_published,
		.shape = info.shape,
		.user = info.user,
		.speed = per_type,
		.throughput = per_type + g->n_types,
		.share = per_type + 2 * (size_t)g->n_types,
		.owed = per_type + 3 * (size_t)g->n_types,
		.got = per_type + 4 * (size_t)g->n_types };
	for (uint32_t t = 0; m->milli && t < g->n_types; t++)
		m->speed[t] = orr_job_throughput(w, j, t);
	g->n_cpu_only += !m->milli;
	if (g->is_published)
		gavel_published_arrive(g, w, m);
	else
		g->is_changed = true;
}

void gavel_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	(void)how;
	struct gavel *g = self;
	struct gavel_member *m = find(g, orr_job_number(w, j));
	if (!m)
		return;
	if (g->is_published && m->milli) { /* removed at the end of the round */
		m->has_ended = true;
		m->type = GAVEL_NOWHERE;
		return;
	}
	g->is_changed |= m->milli > 0;
	orr_free(m->speed);
	orr_free(m->batches);
	g->n--;
	memmove(m, m + 1, (size_t)(g->member + g->n - m) * sizeof *m);
}

void gavel_evict(void *self, struct orr_jobs *w, orr_job j)
{
	struct gavel *g = self;
	struct gavel_member *m = find(g, orr_job_number(w, j));
	if (!m)
		return;
	m->type = m->ran_on = GAVEL_NOWHERE;
	m->will_end = false;
	m->steps_left = rint(orr_job_iterations_left(w, j));
	g->n_cpu_only += !m->milli;
}

void gavel_capacity(void *self, struct orr_jobs *w)
{
	(void)w;
	struct gavel *g = self;
	g->is_changed = g->capacity_changed = true;
	for (size_t i = 0; i < g->n_shapes; i++)
		g->shape[i].is_known = false;
}

/* ---- rounds of rules=own ---- */

static void add_entries(struct gavel *g)
{
	g->n_entries = 0;
	for (size_t i = 0; i < g->n; i++)
		for (uint32_t t = 0; t < g->n_types; t++) {
			struct gavel_member *m = &g->member[i];
			if (!(m->share[t] > 0))
				continue;
			m->owed[t] += m->share[t];
			struct gavel_entry e = { i, t, 0, { m->got[t] > 0 ? m->owed[t] / m->got[t] : INFINITY, m->owed[t], 0 } };
			gavel_entry_add(g, e);
		}
}

/* Counts the round for the running members; returns false if there are none. */
static bool count_round(struct gavel *g)
{
	bool any = false;
	for (size_t i = 0; i < g->n; i++)
		if (g->member[i].milli && g->member[i].type != GAVEL_NOWHERE) {
			any = true;
			g->member[i].got[g->member[i].type] += 1;
		}
	return any;
}

/* Finds the jobs on GPUs without visiting all jobs. */
static bool any_runs(const struct gavel *g, struct orr_jobs *w)
{
	bool runs = orr_free_gpus(w) < orr_total_gpus(w);
	for (size_t i = 0; i < g->n && !runs; i++)
		runs = g->member[i].milli && g->member[i].type != GAVEL_NOWHERE;
	return runs;
}

static void own_round(struct gavel *g, struct orr_jobs *w)
{
	int64_t now = orr_now(w), due = g->recomputed + g->recompute_ns;
	if (now < g->round_end && any_runs(g, w))
		return;
	if (g->is_changed && now >= due) {
		if (!gavel_allocate(g, w, (double)now / 1e9))
			return;
		g->recomputed = now;
		g->is_changed = g->capacity_changed = false;
	}
	add_entries(g);
	gavel_choose(g, w);
	gavel_apply(g, w);
	if (count_round(g)) {
		g->round_end = now + g->round_ns;
		orr_timer(w, g->round_end);
	} else if (g->is_changed) {
		orr_timer(w, due);
	}
}

static void start_cpu_only(struct gavel *g, struct orr_jobs *w)
{
	for (size_t i = 0; g->n_cpu_only && i < g->n; i++)
		if (!g->member[i].milli && g->member[i].type == GAVEL_NOWHERE && orr_try_start(w, g->member[i].job)) {
			g->member[i].type = 0;
			g->n_cpu_only--;
		}
}

void gavel_schedule(void *self, struct orr_jobs *w)
{
	struct gavel *g = self;
	start_cpu_only(g, w);
	orr_why(w, ORR_WHY_HELD, 0, "next round");
	if (g->is_published)
		gavel_published_schedule(g, w);
	else
		own_round(g, w);
}

static const struct orr_jobs_ops ops = GAVEL_OPS(create);

ORR_POLICY_JOBS(gavel, "Gavel: rounds follow an allocation of time (FIFO, isolated, or fair shares by LP)", params, ops);
