/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * AlloX (Le, Sun, Chowdhury, Liu, "AlloX: Compute Allocation in Hybrid Clusters", EuroSys 2020): jobs start on the GPU type, and in the
 * order, that minimise the mean completion time; running jobs are never stopped.
 *
 * rules=own: whenever GPUs are free and jobs wait, the first `window` waiting jobs are assigned to the free GPUs and to positions in their
 * queues (allox_assign.h), with the time that a job needs on each type. The jobs that are first in their queues start, then those that are
 * second if there is still room, and so on. The paper's jobs run on one GPU; here a job on g GPUs is assigned as a job of g times the
 * length on one GPU, and a job on a part of a GPU as on a whole one. If all free GPUs have one type, the optimum is the order of GPU time,
 * and no assignment is computed. The time comes from the iterations left and the throughput, or from an estimate of the run time. After
 * this, jobs on parts of GPUs start on shared ones where they fit, the shortest first, and so do jobs without GPUs.
 *
 * rules=gavel: the rounds of the published simulator of Gavel, and its assignment (gavel_alloc.c).
 */
#include "allox_assign.h"
#include "gavel.h"
#include "time_left.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct orr_param params[] = { GAVEL_ROUND_PARAMS,
	ORR_PARAM_CHOICE("estimate", "limit", "limit|exact",
		"rules=own: run time of jobs without iterations: the user's limit (the true duration if a job has no limit), or always the "
		"true "
		"duration"),
	ORR_PARAM_REAL("factor", "1", 1e-6, 1e6, "estimate=exact: factor on the true duration, to model an error"),
	ORR_PARAM_INT(
		"window", "200", 1, 10000, "rules=own, several GPU types: number of waiting jobs, the oldest, that are assigned together"),
	ORR_PARAM_END };

/* A job in the assignment. */
struct choice {
	orr_job job;
	size_t place; /* in order of submission */
	size_t rank;  /* 0: first in its queue */
	double gpu_s; /* one type: GPU time on it */
	uint32_t type;
};

struct allox {
	struct gavel *published; /* rules=gavel; NULL: own rules */
	struct orr_queue *waiting;
	struct orr_queue *small; /* those on parts of GPUs or without GPUs, the shortest first */
	struct choice *choice;
	size_t n, cap;
	size_t window, n_running;
	enum orr_estimate estimate;
	double factor;
};

static void destroy(void *self)
{
	struct allox *a = self;
	if (a->published)
		gavel_destroy(a->published);
	if (a->waiting)
		orr_queue_free(a->waiting);
	if (a->small)
		orr_queue_free(a->small);
	orr_free(a->choice);
	orr_free(a);
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct allox *a = orr_alloc(1, sizeof *a);
	a->window = (size_t)orr_arg_int(args, "window");
	a->estimate = strcmp(orr_arg_text(args, "estimate"), "exact") ? ORR_ESTIMATE_LIMIT : ORR_ESTIMATE_EXACT;
	a->factor = orr_arg_real(args, "factor");
	if (strcmp(orr_arg_text(args, "rules"), "gavel")) {
		a->waiting = orr_queue_new(w);
		a->small = orr_queue_new(w);
		return a;
	}
	a->published = gavel_create(w, args, GAVEL_ALLOC_ALLOX, err);
	if (a->published)
		return a;
	destroy(a);
	return NULL;
}

/* Returns the time that a job needs on a type, s; INFINITY: it cannot run there. */
static double time_on(struct allox *a, struct orr_jobs *w, orr_job j, const struct orr_job_info *info, uint32_t type)
{
	double rate = info->gpus <= orr_total_gpus_of(w, type) ? orr_job_rate_on(w, j, type) : 0;
	if (!(rate > 0))
		return INFINITY;
	if (orr_job_iterations(w, j) > 0)
		return orr_job_iterations_left(w, j) / orr_job_throughput(w, j, type);
	int64_t estimate = orr_job_estimate_run_ns(w, j, a->estimate, a->factor);
	return time_at_rate_s(estimate, orr_job_estimate_start_ns(w, j, a->estimate, a->factor), rate);
}

/* Returns the time that a job needs on the type on which it is fastest; 0 without GPUs. */
static int64_t shortest_ns(struct allox *a, struct orr_jobs *w, orr_job j, const struct orr_job_info *info)
{
	double s = INFINITY;
	for (uint32_t t = 0; info->gpus && t < orr_gpu_types(w); t++)
		s = fmin(s, time_on(a, w, j, info, t));
	return !info->gpus ? 0 : s < 9e9 ? (int64_t)(s * 1e9) : INT64_MAX;
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct allox *a = self;
	struct orr_job_info info;
	if (a->published) {
		gavel_arrive(a->published, w, j);
		return;
	}
	orr_queue_add(a->waiting, j, orr_job_submit_ns(w, j), (int64_t)orr_job_number(w, j));
	if (orr_job_get(w, j, &info) && (!info.gpus || info.gpu_milli < 1000))
		orr_queue_add(a->small, j, shortest_ns(a, w, j, &info), (int64_t)info.number);
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct allox *a = self;
	if (a->published)
		gavel_finish(a->published, w, j, how);
	else if (orr_queue_remove(a->waiting, j))
		orr_queue_remove(a->small, j);
	else
		a->n_running--;
}

static void evict(void *self, struct orr_jobs *w, orr_job j)
{
	struct allox *a = self;
	if (a->published) {
		gavel_evict(a->published, w, j);
		return;
	}
	a->n_running--;
	arrive(self, w, j);
}

static void capacity(void *self, struct orr_jobs *w)
{
	struct allox *a = self;
	if (a->published)
		gavel_capacity(a->published, w);
}

/* ---- own rules ---- */

static bool start(struct allox *a, struct orr_jobs *w, const struct choice *c, bool any_type)
{
	if (!(any_type ? orr_try_start(w, c->job) : orr_try_start_on_type(w, c->job, c->type)))
		return false;
	orr_queue_remove(a->waiting, c->job);
	orr_queue_remove(a->small, c->job);
	a->n_running++;
	return true;
}

static void add(struct allox *a, struct choice c)
{
	ORR_GROW(a->choice, a->n, a->cap);
	c.place = a->n;
	a->choice[a->n++] = c;
}

static int by_gpu_time(const void *x, const void *y)
{
	const struct choice *a = x, *b = y;
	if (a->gpu_s != b->gpu_s)
		return a->gpu_s < b->gpu_s ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

static int by_rank(const void *x, const void *y)
{
	const struct choice *a = x, *b = y;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return by_gpu_time(x, y);
}

/* Lists the waiting jobs that request GPUs, in order of submission, and starts those that request none. */
static void list_waiting(struct allox *a, struct orr_jobs *w, size_t most)
{
	struct orr_walk walk;
	struct orr_job_info info;
	a->n = 0;
	orr_walk_begin(a->waiting, &walk);
	for (orr_job j; a->n < most && (j = orr_walk_next(&walk)) && orr_job_get(w, j, &info);) {
		if (info.gpus)
			add(a, (struct choice){ .job = j });
		else
			start(a, w, &(struct choice){ .job = j }, true);
	}
	orr_walk_end(&walk);
}

/* Free GPUs of one type only: least GPU time first. */
static void rank_on_one_type(struct allox *a, struct orr_jobs *w, uint32_t type)
{
	struct orr_job_info info;
	size_t kept = 0;
	for (size_t i = 0; i < a->n; i++) {
		struct choice c = a->choice[i];
		if (!orr_job_get(w, c.job, &info))
			continue;
		c.gpu_s = time_on(a, w, c.job, &info, type) * info.gpus;
		c.type = type;
		if (c.gpu_s < INFINITY)
			a->choice[kept++] = c;
	}
	a->n = kept;
	if (a->n)
		qsort(a->choice, a->n, sizeof *a->choice, by_gpu_time);
}

struct workers {
	uint32_t *type;
	size_t n;
};

/* Lists the free GPUs: of each type at most one per job, because further ones would stay idle. */
static struct workers free_workers(const struct orr_jobs *w, size_t jobs)
{
	uint32_t n_types = orr_gpu_types(w);
	struct workers all = { orr_alloc(n_types * jobs + 1, sizeof *all.type), 0 };
	for (uint32_t t = 0; t < n_types; t++)
		for (size_t k = 0; k < orr_free_gpus_of(w, t) && k < jobs; k++)
			all.type[all.n++] = t;
	return all;
}

/* Sets type and rank of each choice from the assignment, and sorts by rank. Jobs that can run on none of the free types are dropped. */
static void rank_by_assignment(struct allox *a, struct orr_jobs *w)
{
	static const double never_s = 1e12; /* stands for "cannot run": larger than any run time */
	struct workers of = free_workers(w, a->n);
	double *time = orr_alloc(a->n * of.n + 1, sizeof *time);
	size_t *worker = orr_alloc(2 * a->n + of.n + 1, sizeof *worker), *position = worker + a->n, *length = position + a->n, kept = 0;
	struct orr_job_info info;
	for (size_t i = 0; i < a->n; i++) {
		bool is_possible = false;
		orr_job_get(w, a->choice[i].job, &info);
		for (size_t k = 0; k < of.n; k++) {
			bool is_same = k && of.type[k] == of.type[k - 1];
			double s = is_same ? time[kept * of.n + k - 1] : time_on(a, w, a->choice[i].job, &info, of.type[k]) * info.gpus;
			time[kept * of.n + k] = fmin(s, never_s);
			is_possible |= s < never_s;
		}
		if (is_possible)
			a->choice[kept++] = a->choice[i];
	}
	a->n = kept;
	if (kept && of.n)
		allox_assign(kept, of.n, time, NULL, worker, position);
	for (size_t i = 0; i < kept; i++)
		length[worker[i]] = position[i] > length[worker[i]] ? position[i] : length[worker[i]];
	for (size_t i = 0; i < kept; i++) {
		struct choice *c = &a->choice[i];
		c->type = of.type[worker[i]];
		c->rank = length[worker[i]] - position[i];
		c->gpu_s = time[i * of.n + worker[i]];
	}
	if (kept)
		qsort(a->choice, kept, sizeof *a->choice, by_rank);
	orr_free(of.type);
	orr_free(time);
	orr_free(worker);
}

/* Assigns and starts; returns whether other jobs may still start. */
static bool pass(struct allox *a, struct orr_jobs *w)
{
	uint32_t n_types = 0, type = 0;
	for (uint32_t t = 0; t < orr_gpu_types(w); t++)
		if (orr_free_gpus_of(w, t)) {
			n_types++;
			type = t;
		}
	list_waiting(a, w, n_types == 0 ? 0 : n_types == 1 ? SIZE_MAX : a->window);
	if (!a->n)
		return false;
	if (n_types == 1)
		rank_on_one_type(a, w, type);
	else
		rank_by_assignment(a, w);
	bool any = false;
	for (size_t i = 0; i < a->n && orr_free_gpus(w); i++)
		any |= start(a, w, &a->choice[i], false);
	/* An empty cluster accepts any job: without this, a type whose nodes cannot hold the jobs would keep them waiting. */
	for (size_t i = 0; !a->n_running && i < a->n; i++)
		any |= start(a, w, &a->choice[i], true);
	return any && n_types > 1;
}

/* Starts jobs that need no whole GPU: on shared GPUs, or without GPUs. */
static void start_small(struct allox *a, struct orr_jobs *w)
{
	struct orr_walk walk;
	orr_walk_begin(a->small, &walk);
	for (orr_job j; (j = orr_walk_next(&walk));)
		if (!start(a, w, &(struct choice){ .job = j }, true))
			orr_walk_skip_shape(&walk);
	orr_walk_end(&walk);
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct allox *a = self;
	if (a->published) {
		gavel_schedule(a->published, w);
		return;
	}
	while (pass(a, w))
		continue;
	start_small(a, w);
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .evict = evict, .schedule = schedule, .capacity = capacity
};

ORR_POLICY_JOBS(allox, "least mean completion time by assignment of waiting jobs to GPUs and positions (AlloX)", params, ops);
