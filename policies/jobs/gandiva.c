/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packing and time slices of Gandiva (Xiao et al., "Gandiva: Introspective Cluster Scheduling for Deep Learning", OSDI 2018), as Gavel's
 * authors reduce it (stanford-futuredata/gavel c4fa400, gandiva.py): if the jobs request more GPUs than the cluster has, jobs with equal
 * numbers of GPUs are paired at random on the same GPUs. Jobs and pairs have equal shares of the time. A pair is kept until a member ends
 * or the sum of its rates, relative to those alone, is below `pair_limit`.
 *
 * rules=own: in each round those jobs and pairs run that ran in the fewest rounds; running ones first at ties. The limit holds on the type
 * on which a pair runs. rules=gavel: the published rounds (gandiva_published.c); the sum there is over all types and both members, so that
 * with n types a pair is rarely below the limit. Not modelled: measurements by trial, migration, growing and shrinking.
 */
#include "gandiva.h"

#include <stdlib.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_CHOICE("rules", "own", "own|gavel", "gavel: the rules of the published simulator"),
	ORR_PARAM_TIME("round", "360s", "length of a round"),
	ORR_PARAM_TIME("recompute", "1920s", "rules=gavel: minimum time between allocations"),
	ORR_PARAM_REAL("pair_limit", "1", 0, 100, "minimum sum of the rates of a pair, each relative to the rate of the job alone"),
	ORR_PARAM_CHOICE("pair_sum", "rules", "rules|all|each",
		"pair_limit applies to the sum over all GPU types (all) or to the sum on each type (each); rules: all with rules=gavel, "
		"else each"),
	ORR_PARAM_INT("seed", "0", 0, UINT32_MAX, "seed of the pairs (Python's random.Random)"),
	ORR_PARAM_FILE("shares", "rules=gavel: CSV file with columns recompute, time_s, job and one share per GPU type, to be replayed"),
	ORR_PARAM_END };

static void destroy(void *self)
{
	struct gandiva *g = self;
	for (size_t i = 0; i < g->n; i++)
		orr_free(g->job[i].alone);
	for (size_t i = 0; i < g->n_keys; i++)
		gandiva_key_free(&g->key[i]);
	orr_free(g->job);
	orr_free(g->key);
	orr_free(g->free);
	orr_free(g->worker_s);
	orr_round_free(g->round);
	gavel_replay_free(g->shares);
	orr_free(g);
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct gandiva *g = orr_alloc(1, sizeof *g);
	const char *sum = orr_arg_text(args, "pair_sum");
	g->is_published = !strcmp(orr_arg_text(args, "rules"), "gavel");
	g->is_over_all = !strcmp(sum, "all") || (g->is_published && !strcmp(sum, "rules"));
	g->pair_limit = orr_arg_real(args, "pair_limit");
	g->n_types = orr_gpu_types(w);
	g->round_ns = orr_arg_time_ns(args, "round");
	g->recompute_ns = orr_arg_time_ns(args, "recompute");
	g->worker_s = orr_alloc(g->n_types + 1u, sizeof *g->worker_s);
	g->free = orr_alloc(g->n_types + 1u, sizeof *g->free);
	g->round = orr_round_new(w, g->round_ns);
	gavel_shuffle_seed(&g->random, (uint32_t)orr_arg_int(args, "seed"));
	bool is_replay = *orr_arg_text(args, "shares");
	if (g->round_ns <= 0)
		orr_fail(err, ORR_EINPUT, "round: expected a time above 0");
	else if (is_replay && !g->is_published)
		orr_fail(err, ORR_EINPUT, "shares: expected rules=gavel too");
	else if (!is_replay || (g->shares = gavel_replay_read(w, args, err)))
		return g;
	destroy(g);
	return NULL;
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct gandiva *g = self;
	struct orr_job_info info;
	if (!orr_job_get(w, j, &info))
		return;
	ORR_GROW(g->job, g->n, g->cap);
	size_t at = g->n++;
	for (; at && g->job[at - 1].number > info.number; at--)
		g->job[at] = g->job[at - 1];
	struct gandiva_job *m = &g->job[at];
	uint64_t fewest = UINT64_MAX; /* a new job starts with the fewest rounds of all jobs: it gets no compensation for earlier rounds */
	for (size_t i = 0; i < g->n; i++)
		if (i != at && g->job[i].rounds < fewest)
			fewest = g->job[i].rounds;
	*m = (struct gandiva_job){ .job = j,
		.number = info.number,
		.partner = GANDIVA_NOBODY,
		.gpus = info.gpus,
		.rounds = fewest == UINT64_MAX ? 0 : fewest,
		.submit_s = (double)info.submit_ns / 1e9,
		.ran_on = GAVEL_NOWHERE,
		.alone = orr_alloc(g->n_types + 1u, sizeof *m->alone) };
	for (uint32_t t = 0; t < g->n_types; t++)
		m->alone[t] = orr_job_throughput(w, j, t);
	if (g->is_published)
		gandiva_published_arrive(w, m);
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct gandiva *g = self;
	struct gandiva_job *m = gandiva_find(g, orr_job_number(w, j));
	(void)how;
	if (!m)
		return;
	m->has_ended = true;
	if (g->is_published)
		return; /* removed at the end of the round */
	orr_free(m->alone);
	g->n--;
	memmove(m, m + 1, (size_t)(g->job + g->n - m) * sizeof *m);
}

static void evict(void *self, struct orr_jobs *w, orr_job j)
{
	struct gandiva *g = self;
	struct gandiva_job *m = gandiva_find(g, orr_job_number(w, j));
	if (!m)
		return;
	m->ran_on = GAVEL_NOWHERE;
	m->will_end = false;
	m->steps_left = orr_job_iterations_left(w, j);
}

/* ---- rules=own ---- */

struct turn {
	uint64_t rounds, number;
	bool is_running;
	size_t job;
};

static int fewest_first(const void *x, const void *y)
{
	const struct turn *a = x, *b = y;
	if (a->rounds != b->rounds)
		return a->rounds < b->rounds ? -1 : 1;
	if (a->is_running != b->is_running)
		return a->is_running ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* Returns the type on which a job or pair runs next: the present one if it has room, else the first in the job's order of types. */
static uint32_t choose_type(struct gandiva *g, struct orr_jobs *w, const struct gandiva_job *a, const struct gandiva_job *b)
{
	uint32_t order[64], n = orr_job_type_order(w, a->job, order, 64);
	struct orr_job_info info = { .gpu_type = GAVEL_NOWHERE };
	orr_job_get(w, a->job, &info);
	for (uint32_t i = 0; i <= n; i++) {
		uint32_t t = i ? order[i - 1] : info.gpu_type;
		if (t >= g->n_types || g->free[t] < a->gpus || !(a->alone[t] > 0))
			continue;
		if (!b || (b->alone[t] > 0 && gandiva_sum_on(w, a, b, t) >= (g->is_over_all ? 1e-9 : g->pair_limit)))
			return t;
	}
	return GAVEL_NOWHERE;
}

static void run_turns(struct gandiva *g, struct orr_jobs *w, const struct turn *turn, size_t n)
{
	orr_round_begin(g->round);
	for (uint32_t t = 0; t < g->n_types; t++)
		g->free[t] = orr_total_gpus_of(w, t);
	for (size_t i = 0; i < n; i++) {
		struct gandiva_job *a = &g->job[turn[i].job], *b = a->partner == GANDIVA_NOBODY ? NULL : gandiva_find(g, a->partner);
		uint32_t type = a->gpus ? choose_type(g, w, a, b) : ORR_ANY_TYPE;
		if (a->gpus && type == GAVEL_NOWHERE)
			continue;
		if (a->gpus)
			g->free[type] -= a->gpus;
		orr_job jobs[2] = { a->job, b ? b->job : 0 };
		orr_round_add(g->round, jobs, b ? 2 : 1, 0, type);
	}
	orr_round_apply(g->round);
	for (size_t i = 0; i < g->n; i++) /* those that the nodes had no room for have their turn next */
		g->job[i].rounds += orr_job_is_running(w, g->job[i].job);
}

static void own_schedule(struct gandiva *g, struct orr_jobs *w)
{
	orr_why(w, ORR_WHY_HELD, 0, "next round");
	if (!g->n || !orr_round_is_due(g->round))
		return;
	struct turn *turn = orr_alloc(g->n + 1, sizeof *turn);
	size_t n = 0;
	gandiva_pair(g, w);
	for (size_t i = 0; i < g->n; i++) {
		const struct gandiva_job *a = &g->job[i], *b = a->partner == GANDIVA_NOBODY ? NULL : gandiva_find(g, a->partner);
		if (b && b->number < a->number)
			continue;
		uint64_t rounds = b && b->rounds > a->rounds ? b->rounds : a->rounds;
		turn[n++] = (struct turn){ rounds, a->number, orr_job_is_running(w, a->job), i };
	}
	qsort(turn, n, sizeof *turn, fewest_first);
	run_turns(g, w, turn, n);
	orr_free(turn);
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct gandiva *g = self;
	if (g->is_published)
		gandiva_published_schedule(g, w);
	else
		own_schedule(g, w);
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .evict = evict, .schedule = schedule
};

ORR_POLICY_JOBS(
	gandiva, "Gandiva's packing: under overload, random pairs share GPUs; in rounds, all have equal shares of the time", params, ops);
