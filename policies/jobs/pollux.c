/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pollux (Qiao et al., "Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning", OSDI 2021, section 4): GPUs and
 *batches are chosen together, for the greatest harmonic mean of the jobs' speedups over a fair share.
 *
 * Every `interval`, a genetic search looks for the allocation (GPUs of each job on each node) with the greatest fitness
 *
 *	fitness = 1 / mean over jobs of 1 / (u + 1e-3),   u = goodput(nodes, GPUs) / goodput(fair share) x nodes / GPUs of the cluster
 *
 * The fair share is ceil(GPUs / jobs) GPUs. If a job's row differs from the present one, u is multiplied by max(age - restarts x `restart`,
 *0) / (age + `restart`), the part of its life that would not be spent on restarts. As in the published code (petuum/adaptdl c793c708,
 *pollux.py): at most one job that spans nodes has GPUs on a node; a job gets at most twice its largest number of GPUs so far, 64 GPUs and
 *16 nodes; the population has 100 allocations, which are kept between intervals, and 100 generations per minute.
 *
 * The published search is NSGA-2 (pymoo), unseeded. Here parents are chosen by tournaments of two; a child takes each row from one of its
 * parents, and entries change with probability 1 / nodes in one row on average; the best of parents and children survive.
 */
#include "members.h"

#include <orrery/jobs.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_TIME("interval", "60s", "time between searches"),
	ORR_PARAM_TIME("restart", "30s", "time of a restart that the search assumes for a new allocation (the run takes jobs.start_cost)"),
	ORR_PARAM_INT("population", "100", 4, 10000, "number of allocations"),
	ORR_PARAM_INT("generations", "100", 1, 100000, "generations of a search"),
	ORR_PARAM_INT("seed", "1", 0, UINT32_MAX, "seed of the search"), ORR_PARAM_END };

enum { MOST_GPUS = 64, MOST_NODES = 16 };
static const double LEAST_U = 1e-3;

struct member {
	orr_job job;
	double submit_s;
	uint32_t starts, largest, most;                         /* largest number of GPUs so far; GPUs that the job can use */
	uint32_t limit;                                         /* in this search */
	double factor;                                          /* factor on u after a restart */
	double alone, widest;                                   /* goodputs that show whether the epoch has changed */
	double one_node[MOST_GPUS + 1], several[MOST_GPUS + 1]; /* goodput by GPUs; -1: not computed */
	double base;                                            /* goodput on the fair share */
	size_t before;                                          /* row in the populations of the last search; SIZE_MAX: none */
};

/* Allocations: row j of allocation i begins at gpus[(i * jobs + j) * nodes]. */
struct population {
	uint8_t *gpus;
	double *fitness;
	size_t n, jobs;
};

struct pollux {
	int64_t interval, next;
	double restart_s;
	size_t size, generations;
	uint64_t random;
	uint32_t nodes, all_gpus;
	uint8_t *room; /* GPUs of each node that is up */
	struct member *member;
	size_t n, cap;
	struct population now, last; /* `now`: parents and children */
	uint8_t *present;            /* [job][node] */
	size_t *order, *spread;      /* scratch of repair(): jobs on a node; nodes of each job */
};

static void population_free(struct population *p)
{
	orr_free(p->gpus);
	orr_free(p->fitness);
	*p = (struct population){ 0 };
}

static void destroy(void *self)
{
	struct pollux *p = self;
	population_free(&p->now);
	population_free(&p->last);
	orr_free(p->room);
	orr_free(p->member);
	orr_free(p->present);
	orr_free(p);
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	int64_t interval = orr_arg_time_ns(args, "interval");
	struct orr_node_info info;
	if (interval <= 0 || orr_gpu_types(w) > 1) {
		orr_fail(err, ORR_EINPUT, "%s",
			interval <= 0 ? "interval: expected a time above 0"
				      : "pollux: expected a cluster with one GPU type: Pollux assumes equal GPUs");
		return NULL;
	}
	struct pollux *p = orr_alloc(1, sizeof *p);
	p->interval = interval;
	p->restart_s = (double)orr_arg_time_ns(args, "restart") / 1e9;
	p->size = (size_t)orr_arg_int(args, "population");
	p->generations = (size_t)orr_arg_int(args, "generations");
	p->random = (uint64_t)orr_arg_int(args, "seed");
	p->nodes = orr_nodes(w);
	p->room = orr_alloc(p->nodes + 1u, 1);
	for (uint32_t k = 0; k < p->nodes; k++)
		if (orr_node_get(w, k, &info) && info.gpus > UINT8_MAX) {
			orr_fail(err, ORR_EINPUT, "pollux: node %.60s has %u GPUs: expected at most %d", info.name, info.gpus, UINT8_MAX);
			destroy(p);
			return NULL;
		}
	return p;
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct pollux *p = self;
	struct orr_job_info info;
	if (!orr_job_get(w, j, &info))
		return;
	if (!(orr_job_goodput(w, j, 1, 1) > 0)) {
		orr_give_up(w, j, "pollux: the job does not adapt: expected --applications with its model");
		return;
	}
	ORR_GROW(p->member, p->n, p->cap);
	p->member[p->n++] = (struct member){
		.job = j, .submit_s = (double)info.submit_ns / 1e9, .most = orr_job_most_gpus(w, j), .alone = -1, .before = SIZE_MAX
	};
}

/* Removes the row of a job from the present allocation. */
static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct pollux *p = self;
	(void)w, (void)how;
	for (size_t i = 0; i < p->n; i++)
		if (p->member[i].job == j) {
			p->n--;
			memmove(p->member + i, p->member + i + 1, (p->n - i) * sizeof *p->member);
			return;
		}
}

/* A job that lost its node remains a member; schedule() sees that it does not run. */
static void evict(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self, (void)w, (void)j;
}

/* ---- random numbers: splitmix64 (Steele, Lea, Flood, OOPSLA 2014) ---- */

static uint64_t draw(struct pollux *p)
{
	uint64_t z = p->random += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Returns a number below n, 1 <= n <= 2^32. The bias is below n / 2^32. */
static size_t below(struct pollux *p, size_t n)
{
	return (size_t)((draw(p) >> 32) * n >> 32);
}

/* ---- fitness ---- */

static double goodput(struct orr_jobs *w, struct member *m, uint32_t nodes, uint32_t gpus)
{
	double *at = nodes > 1 ? &m->several[gpus] : &m->one_node[gpus];
	if (*at < 0)
		*at = orr_job_goodput(w, m->job, nodes, gpus);
	return *at;
}

/* Forgets the goodputs if the job's epoch has changed. */
static void renew(struct orr_jobs *w, struct member *m)
{
	uint32_t wide = m->most < MOST_GPUS ? m->most : MOST_GPUS;
	double alone = orr_job_goodput(w, m->job, 1, 1), widest = orr_job_goodput(w, m->job, wide > 1 ? 2 : 1, wide);
	if (m->alone >= 0 && alone == m->alone && widest == m->widest)
		return;
	m->alone = alone;
	m->widest = widest;
	for (uint32_t g = 0; g <= MOST_GPUS; g++)
		m->one_node[g] = m->several[g] = -1;
}

static double utility(struct pollux *p, struct orr_jobs *w, size_t j, const uint8_t *row)
{
	struct member *m = &p->member[j];
	uint32_t nodes = 0, gpus = 0;
	for (uint32_t k = 0; k < p->nodes; k++) {
		nodes += row[k] > 0;
		gpus += row[k];
	}
	if (!gpus)
		return 0;
	double u = goodput(w, m, nodes, gpus) / m->base * p->nodes / p->all_gpus;
	return memcmp(row, p->present + j * p->nodes, p->nodes) ? u * m->factor : u;
}

static double fitness(struct pollux *p, struct orr_jobs *w, const uint8_t *gpus)
{
	double sum = 0;
	for (size_t j = 0; j < p->n; j++)
		sum += 1 / (utility(p, w, j, gpus + j * p->nodes) + LEAST_U);
	return (double)p->n / sum;
}

/* ---- repair ---- */

/* Takes GPUs from random nodes of a row until it has at most `limit` GPUs on at most MOST_NODES nodes. */
static void limit_row(struct pollux *p, uint8_t *row, uint32_t limit)
{
	uint32_t gpus = 0, nodes = 0;
	for (uint32_t k = 0; k < p->nodes; k++) {
		gpus += row[k];
		nodes += row[k] > 0;
	}
	while (gpus > limit || nodes > MOST_NODES) {
		uint32_t k = (uint32_t)below(p, p->nodes);
		while (!row[k])
			k = (k + 1) % p->nodes;
		uint32_t take = nodes > MOST_NODES || gpus - limit >= row[k] ? row[k] : gpus - limit;
		row[k] = (uint8_t)(row[k] - take);
		gpus -= take;
		nodes -= !row[k];
	}
}

/* Node by node: keeps one of the jobs that span nodes, at random, and takes GPUs from random jobs until the rest fits. */
static void repair(struct pollux *p, uint8_t *gpus)
{
	for (size_t j = 0; j < p->n; j++) {
		limit_row(p, gpus + j * p->nodes, p->member[j].limit);
		p->spread[j] = 0;
		for (uint32_t k = 0; k < p->nodes; k++)
			p->spread[j] += gpus[j * p->nodes + k] > 0;
	}
	for (uint32_t k = 0; k < p->nodes; k++) {
		size_t n = 0, wide = 0, kept;
		uint32_t sum = 0;
		for (size_t j = 0; j < p->n; j++)
			if (gpus[j * p->nodes + k]) {
				p->order[n++] = j;
				wide += p->spread[j] > 1;
			}
		kept = wide > 1 ? below(p, wide) : 0;
		for (size_t i = 0, seen = 0; i < n; i++) {
			uint8_t *x = &gpus[p->order[i] * p->nodes + k];
			if (p->spread[p->order[i]] > 1 && seen++ != kept) {
				*x = 0;
				p->spread[p->order[i]]--;
			}
			sum += *x;
		}
		while (sum > p->room[k]) {
			size_t j = p->order[below(p, n)];
			uint8_t *x = &gpus[j * p->nodes + k];
			uint32_t take = *x < sum - p->room[k] ? *x : sum - p->room[k];
			*x = (uint8_t)(*x - take);
			sum -= take;
			p->spread[j] -= take && !*x;
		}
	}
}

/* ---- the search ---- */

static uint8_t *allocation(struct population *x, size_t i, uint32_t nodes)
{
	return x->gpus + i * x->jobs * nodes;
}

static void mutate(struct pollux *p, uint8_t *gpus)
{
	for (size_t j = 0; j < p->n; j++) {
		if (below(p, p->n))
			continue;
		for (uint32_t k = 0; k < p->nodes; k++)
			if (!below(p, p->nodes))
				gpus[j * p->nodes + k] = (uint8_t)below(p, p->room[k] + 1u);
	}
}

static size_t tournament(struct pollux *p)
{
	size_t a = below(p, p->size), b = below(p, p->size);
	return p->now.fitness[a] >= p->now.fitness[b] ? a : b;
}

static void breed(struct pollux *p, struct orr_jobs *w, size_t child)
{
	const uint8_t *a = allocation(&p->now, tournament(p), p->nodes), *b = allocation(&p->now, tournament(p), p->nodes);
	uint8_t *to = allocation(&p->now, child, p->nodes);
	uint64_t bits = 0;
	for (size_t j = 0; j < p->n; j++) {
		bits = j % 64 ? bits >> 1 : draw(p);
		memcpy(to + j * p->nodes, (bits & 1 ? a : b) + j * p->nodes, p->nodes);
	}
	mutate(p, to);
	repair(p, to);
	p->now.fitness[child] = fitness(p, w, to);
}

struct ranked {
	double fitness;
	size_t at;
};

static int by_fitness(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;
	if (a->fitness != b->fitness)
		return a->fitness > b->fitness ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

/* Moves the best of parents and children to the front. */
static void select_best(struct pollux *p, struct ranked *rank, uint8_t *copy)
{
	size_t bytes = p->n * p->nodes;
	for (size_t i = 0; i < 2 * p->size; i++)
		rank[i] = (struct ranked){ p->now.fitness[i], i };
	qsort(rank, 2 * p->size, sizeof *rank, by_fitness);
	for (size_t i = 0; i < p->size; i++)
		memcpy(copy + i * bytes, allocation(&p->now, rank[i].at, p->nodes), bytes);
	memcpy(p->now.gpus, copy, p->size * bytes);
	for (size_t i = 0; i < p->size; i++)
		p->now.fitness[i] = rank[i].fitness;
}

/* Begins with the present allocation and with the last population, in which new jobs have random nodes. */
static void populate(struct pollux *p, struct orr_jobs *w)
{
	for (size_t i = 0; i < p->size; i++) {
		uint8_t *to = allocation(&p->now, i, p->nodes);
		bool has_last = i && i < p->last.n;
		for (size_t j = 0; j < p->n; j++) {
			size_t before = p->member[j].before;
			if (has_last && before != SIZE_MAX)
				memcpy(to + j * p->nodes, allocation(&p->last, i, p->nodes) + before * p->nodes, p->nodes);
			else
				memcpy(to + j * p->nodes, p->present + j * p->nodes, p->nodes);
			if (i && before == SIZE_MAX) {
				uint32_t k = (uint32_t)below(p, p->nodes);
				to[j * p->nodes + k] = (uint8_t)below(p, p->room[k] + 1u);
			}
		}
		if (i && !has_last)
			mutate(p, to);
		repair(p, to);
		p->now.fitness[i] = fitness(p, w, to);
	}
}

static void search(struct pollux *p, struct orr_jobs *w)
{
	size_t bytes = p->n * p->nodes;
	struct ranked *rank = orr_alloc(2 * p->size, sizeof *rank);
	uint8_t *copy = orr_alloc(p->size * bytes, 1);
	p->now = (struct population){ orr_alloc(2 * p->size * bytes, 1), orr_alloc(2 * p->size, sizeof(double)), 2 * p->size, p->n };
	p->order = orr_alloc(2 * p->n, sizeof *p->order);
	p->spread = p->order + p->n;
	populate(p, w);
	for (size_t g = 0; g < p->generations; g++) {
		for (size_t i = 0; i < p->size; i++)
			breed(p, w, p->size + i);
		select_best(p, rank, copy);
	}
	population_free(&p->last);
	p->last = (struct population){ copy, NULL, p->size, p->n };
	for (size_t j = 0; j < p->n; j++)
		p->member[j].before = j;
	population_free(&p->now);
	orr_free(rank);
	orr_free(p->order);
	p->order = p->spread = NULL;
}

/* ---- rounds ---- */

/* Reads the cluster, the present allocation, and what the search needs of each job. */
static void observe(struct pollux *p, struct orr_jobs *w)
{
	struct orr_node_info node;
	double now_s = (double)orr_now(w) / 1e9;
	p->all_gpus = 0;
	for (uint32_t k = 0; k < p->nodes; k++) {
		p->room[k] = orr_node_get(w, k, &node) && node.is_up && orr_node_goes_ns(w, k) == ORR_NEVER ? (uint8_t)node.gpus : 0;
		p->all_gpus += p->room[k];
	}
	orr_free(p->present);
	p->present = orr_alloc(p->n * p->nodes + 1, 1);
	for (size_t j = 0; j < p->n; j++) {
		struct member *m = &p->member[j];
		if (orr_job_is_running(w, m->job) && m->before != SIZE_MAX)
			memcpy(p->present + j * p->nodes, allocation(&p->last, 0, p->nodes) + m->before * p->nodes, p->nodes);
		uint32_t limit = m->largest ? 2 * m->largest : 1, fair = (uint32_t)((p->all_gpus + p->n - 1) / p->n);
		limit = limit < MOST_GPUS ? limit : MOST_GPUS;
		m->limit = limit < m->most ? limit : m->most;
		renew(w, m);
		fair = fair < MOST_GPUS ? fair : MOST_GPUS;
		fair = fair < m->most ? fair : m->most;
		m->base = goodput(w, m, 1, fair ? fair : 1);
		double age_s = now_s - m->submit_s, restarts = m->starts ? m->starts - 1 : 0;
		m->factor = fmax(age_s - restarts * p->restart_s, 0) / (age_s + p->restart_s);
	}
}

/* Restricts a job's allocation to the GPUs for which CPUs and memory are free. */
static void restrict_row(struct pollux *p, struct orr_jobs *w, const struct member *m, uint8_t *row)
{
	struct orr_job_info job;
	struct orr_node_info node;
	if (!orr_job_get(w, m->job, &job) || (!job.cpu_milli && !job.mem_mib))
		return;
	for (uint32_t k = 0; k < p->nodes; k++) {
		uint32_t room = row[k] && orr_node_get(w, k, &node) ? members_room(&node, &job) : 0;
		row[k] = row[k] < room ? row[k] : (uint8_t)room;
	}
}

static void start(struct pollux *p, struct orr_jobs *w, struct member *m, uint8_t *row)
{
	uint32_t node[MOST_NODES], gpus[MOST_NODES], sum = 0;
	size_t n = 0;
	restrict_row(p, w, m, row);
	for (uint32_t k = 0; k < p->nodes && n < MOST_NODES; k++)
		if (row[k]) {
			node[n] = k;
			gpus[n++] = row[k];
			sum += row[k];
		}
	if (!sum || !(orr_job_rate_at(w, m->job, sum) > 0) || !orr_try_start_at(w, m->job, node, gpus, n)) {
		memset(row, 0, p->nodes);
		return;
	}
	m->starts++;
	m->largest = sum > m->largest ? sum : m->largest;
}

/* Carries out the best allocation, which is the first of the last population. */
static void apply(struct pollux *p, struct orr_jobs *w)
{
	for (int starts = 0; starts < 2; starts++)
		for (size_t j = 0; j < p->n; j++) {
			uint8_t *row = allocation(&p->last, 0, p->nodes) + j * p->nodes;
			const uint8_t *now = p->present + j * p->nodes;
			bool is_wanted = memchr(row, 0, p->nodes) != row || memcmp(row, row + 1, p->nodes - 1);
			if (!memcmp(row, now, p->nodes))
				continue;
			if (!starts && orr_job_is_running(w, p->member[j].job))
				orr_stop(w, p->member[j].job);
			else if (starts && is_wanted)
				start(p, w, &p->member[j], row);
		}
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct pollux *p = self;
	int64_t now = orr_now(w);
	orr_why(w, ORR_WHY_HELD, 0, "next search");
	if (!p->n)
		return;
	int64_t due = (now + p->interval - 1) / p->interval * p->interval;
	if (due > now || p->next > now) {
		if (p->next <= now) {
			p->next = due;
			orr_timer(w, due);
		}
		return;
	}
	observe(p, w);
	search(p, w);
	apply(p, w);
	p->next = now + p->interval;
	orr_timer(w, p->next);
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .evict = evict, .schedule = schedule
};

ORR_POLICY_JOBS(
	pollux, "jobs that adapt: GPUs for the greatest harmonic mean of goodput speedups, by genetic search (Pollux)", params, ops);
