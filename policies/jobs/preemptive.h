/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * preemptive.h - the preemptive pass: all GPUs are taken back and given out again in
 * the order of a key, skipping jobs that do not fit (Tiresias' simulator: "shortest",
 * "shortest-gpu", "sjf"). Only what changes is stopped or started.
 *
 * The order is a stable sort of the order before: among equal keys, jobs keep their
 * order, and newcomers come last. Running jobs' keys may only fall with time, waiting
 * jobs' keys stand still. So the waiting ones lie in an orr_queue and the running ones
 * in an array, nearly sorted; a pass costs O(running + started log waiting + shapes).
 * Each job carries a tie, which grows with the pass that gave it its present key: to
 * sort by (key, tie) is to sort stably.
 *
 * First the pass draws on a budget of GPUs per type, nodes disregarded, which says who
 * should run and who should not. Then it places the newly chosen, in order; where one
 * has no room, it stops jobs that should not run, last ones first, provided that this
 * makes room. What cannot be placed all the same waits, those who would have been
 * stopped for it go on, and free GPUs are offered down the line. (If only the number of
 * GPUs matters, everything that was chosen has room once the others are stopped.)
 *
 * A waiting job that may run on several types of GPU is given one that has enough
 * beside the running jobs, if there is one: nobody is stopped for it then.
 */
#ifndef ORR_POLICIES_PREEMPTIVE_H
#define ORR_POLICIES_PREEMPTIVE_H

#include "grow.h"

#include <orrery/jobs.h>

#include <stdlib.h>
#include <string.h>

struct preemptive_job {
	orr_job job;
	int64_t key, tie;
	uint32_t type; /* of GPU that it runs on */
	int64_t milli; /* GPUs in 1/1000 */
	bool is_running;
};

struct preemptive {
	struct orr_queue *waiting;
	struct preemptive_job *list, *next; /* running, in order; next is being made */
	size_t n, n_next, cap;
	orr_job *out; /* to be stopped */
	size_t n_out, cap_out, n_stopped;
	int64_t *budget; /* per type of GPU, in 1/1000 */
	int64_t *spare;  /* what of it the running jobs leave */
	uint32_t n_types;
	int64_t pass;
	int64_t arrivals; /* since the last pass */
	bool is_static;   /* keys never change: ties go by order of submission */
	bool has_small;   /* some jobs ask for a part of a GPU, or none */
	int64_t (*key)(void *self, struct orr_jobs *w, orr_job j);
};

/* Ties: earlier passes first; in one pass, running jobs whose key has changed before jobs
 * that arrived for it. 22 bits count within each. */
enum { PREEMPTIVE_SUB = 22 };

static inline int64_t preemptive_tie(int64_t pass, bool arrived, int64_t sub)
{
	int64_t last = (INT64_C(1) << PREEMPTIVE_SUB) - 1;
	return (pass * 2 + arrived) << PREEMPTIVE_SUB | (sub < last ? sub : last);
}

static inline void *preemptive_new(
	struct orr_jobs *w, size_t size, bool is_static, int64_t (*key)(void *self, struct orr_jobs *w, orr_job j), struct orr_error *err)
{
	struct preemptive *p = calloc(1, size);
	if (p) {
		p->budget = calloc(orr_gpu_types(w) + 1, sizeof *p->budget);
		p->spare = calloc(orr_gpu_types(w) + 1, sizeof *p->spare);
	}
	if (!p || !p->budget || !p->spare) {
		if (p) {
			free(p->budget);
			free(p->spare);
		}
		free(p);
		orr_fail(err, ORR_EFAIL, "out of memory");
		return NULL;
	}
	p->waiting = orr_queue_new(w);
	p->n_types = orr_gpu_types(w);
	p->is_static = is_static;
	p->key = key;
	p->pass = 1;
	return p;
}

static inline void preemptive_free(void *self)
{
	struct preemptive *p = self;
	orr_queue_free(p->waiting);
	free(p->list);
	free(p->next);
	free(p->out);
	free(p->budget);
	free(p->spare);
	free(p);
}

static inline void preemptive_arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct preemptive *p = self;
	struct orr_job_info info;
	if (orr_job_get(w, j, &info) && (!info.gpus || info.gpu_milli < 1000))
		p->has_small = true;
	int64_t tie = p->is_static ? (int64_t)orr_job_number(w, j) : preemptive_tie(p->pass, true, p->arrivals++);
	orr_queue_add(p->waiting, j, p->key(self, w, j), tie);
}

/* Drops a job from the running list, keeping the order. */
static inline bool preemptive_forget(struct preemptive *p, orr_job j)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->list[i].job == j) {
			memmove(p->list + i, p->list + i + 1, (p->n - i - 1) * sizeof *p->list);
			p->n--;
			return true;
		}
	return false;
}

static inline void preemptive_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct preemptive *p = self;
	(void)w, (void)how;
	preemptive_forget(p, j);
	orr_queue_remove(p->waiting, j);
}

static inline bool preemptive_before(int64_t key, int64_t tie, const struct preemptive_job *x)
{
	return key < x->key || (key == x->key && tie < x->tie);
}

/* Insertion sort: linear where the order has hardly changed. */
static inline void preemptive_sort(struct preemptive_job *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct preemptive_job x = v[i];
		size_t k = i;
		for (; k && preemptive_before(x.key, x.tie, &v[k - 1]); k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

/* Running jobs by their keys of now. One whose key has changed comes behind those that
 * had that key before, and keeps its place among those that changed with it. */
static inline void preemptive_order(void *self, struct orr_jobs *w)
{
	struct preemptive *p = self;
	preemptive_sort(p->list, p->n); /* the last pass may have added at the end */
	for (size_t i = 0; !p->is_static && i < p->n; i++) {
		int64_t key = p->key(self, w, p->list[i].job);
		if (key != p->list[i].key)
			p->list[i].tie = preemptive_tie(p->pass, false, (int64_t)i);
		p->list[i].key = key;
	}
	preemptive_sort(p->list, p->n);
}

static inline bool preemptive_grow(struct preemptive *p, size_t n)
{
	if (n <= p->cap)
		return true;
	size_t cap = p->cap ? p->cap * 2 : 64;
	struct preemptive_job *a = realloc(p->list, cap * sizeof *a), *b;
	if (!a)
		return false;
	p->list = a;
	if (!(b = realloc(p->next, cap * sizeof *b)))
		return false;
	p->next = b;
	p->cap = cap;
	return true;
}

static inline int64_t preemptive_milli(const struct orr_job_info *i)
{
	return (int64_t)i->gpus * i->gpu_milli;
}

/* Draws on the budget of the first type that has enough, leaving running jobs alone
 * where it can. */
static inline bool preemptive_draw(struct preemptive *p, uint64_t types, int64_t milli, uint32_t *type)
{
	if (!milli)
		return true;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t t = 0; t < p->n_types; t++)
			if (types >> t & 1 && p->budget[t] >= milli && (pass || p->spare[t] >= milli)) {
				p->budget[t] -= milli;
				p->spare[t] -= milli;
				*type = t;
				return true;
			}
	return false;
}

/* Draws for a running job, on its own type. */
static inline bool preemptive_hold(struct preemptive *p, const struct preemptive_job *x)
{
	if (!x->milli || x->type >= p->n_types)
		return true;
	if (p->budget[x->type] >= x->milli) {
		p->budget[x->type] -= x->milli;
		return true;
	}
	p->spare[x->type] += x->milli;
	return false;
}

static inline bool preemptive_any_left(const struct preemptive *p)
{
	for (uint32_t t = 0; t < p->n_types; t++)
		if (p->budget[t] > 0)
			return true;
	return p->has_small;
}

static inline void preemptive_leave_out(struct preemptive *p, struct orr_jobs *w, orr_job j)
{
	if (grow(&p->out, p->n_out, &p->cap_out, sizeof *p->out))
		p->out[p->n_out++] = j;
	else
		orr_give_up(w, j, "out of memory");
}

/* Chooses who should run: p->next in order, p->out to be stopped. */
static inline void preemptive_choose(struct preemptive *p, struct orr_jobs *w)
{
	struct orr_walk walk;
	struct orr_job_info info;
	size_t i = 0;
	orr_walk_begin(p->waiting, &walk);
	for (;;) {
		bool open = preemptive_any_left(p);
		orr_job j = open ? orr_walk_peek(&walk) : 0;
		int64_t key = j ? orr_queue_key(p->waiting, j) : 0, tie = j ? orr_queue_tie(p->waiting, j) : 0;
		if (i < p->n && (!j || !preemptive_before(key, tie, &p->list[i]))) {
			struct preemptive_job *x = &p->list[i++];
			if (preemptive_hold(p, x))
				p->next[p->n_next++] = *x;
			else
				preemptive_leave_out(p, w, x->job);
			continue;
		}
		if (!j)
			break;
		orr_walk_next(&walk);
		struct preemptive_job x = { .job = j, .key = key, .tie = tie, .type = UINT32_MAX };
		if (!orr_job_get(w, j, &info))
			break;
		x.milli = preemptive_milli(&info);
		if (!preemptive_draw(p, info.gpu_types, x.milli, &x.type))
			orr_walk_skip_shape(&walk);
		else if (preemptive_grow(p, p->n_next + p->n - i + 1))
			p->next[p->n_next++] = x;
	}
	orr_walk_end(&walk);
}

/* Offers what placement left over to everybody who waits, in order. */
static inline void preemptive_refill(void *self, struct orr_jobs *w)
{
	struct preemptive *p = self;
	struct orr_walk walk;
	struct orr_job_info info;
	orr_walk_begin(p->waiting, &walk);
	for (orr_job j; (orr_free_gpus(w) || p->has_small) && (j = orr_walk_next(&walk));) {
		int64_t key = orr_queue_key(p->waiting, j), tie = orr_queue_tie(p->waiting, j);
		if (!orr_try_start(w, j)) {
			orr_walk_skip_shape(&walk);
			continue;
		}
		orr_queue_remove(p->waiting, j);
		if (orr_job_get(w, j, &info) && preemptive_grow(p, p->n + 1))
			p->list[p->n++] = (struct preemptive_job){ j, key, tie, info.gpu_type, preemptive_milli(&info), true };
	}
	orr_walk_end(&walk);
}

/* Stops the victims (p->out) on that type from the last one on until x can start; none if
 * that is no use. None of those from `left` on is running. */
static inline bool preemptive_make_room(struct preemptive *p, struct orr_jobs *w, const struct preemptive_job *x, uint32_t type,
	size_t *left, int64_t (*stop_cost)(const struct orr_job_info *info))
{
	struct orr_job_info info;
	while (*left && !orr_job_is_running(w, p->out[*left - 1]))
		--*left;
	if (!*left || !orr_fits_without(w, x->job, type, p->out, *left))
		return false;
	for (size_t i = *left; i-- > 0;) {
		if (!orr_job_get(w, p->out[i], &info) || info.state != ORR_JOB_RUNNING || (type != ORR_ANY_TYPE && info.gpu_type != type))
			continue;
		orr_stop_with_cost(w, p->out[i], stop_cost ? stop_cost(&info) : 0);
		p->n_stopped++;
		if (type == ORR_ANY_TYPE ? orr_try_start(w, x->job) : orr_try_start_on_type(w, x->job, type))
			return true;
	}
	return false;
}

/* Starts what was chosen and does not run; true if the placement had room for all. */
static inline bool preemptive_start(
	struct preemptive *p, struct orr_jobs *w, size_t *left, int64_t (*stop_cost)(const struct orr_job_info *info))
{
	struct orr_job_info info;
	size_t kept = 0;
	bool all = true;
	uint32_t failed = UINT32_MAX; /* a shape that had no room and no hope */
	for (size_t i = 0; i < p->n_next; i++) {
		struct preemptive_job *x = &p->next[i];
		if (!x->is_running) {
			uint32_t type = p->n_types > 1 && x->type < p->n_types ? x->type : ORR_ANY_TYPE;
			uint32_t shape = orr_job_shape(w, x->job);
			if (shape == failed ||
				(!(type == ORR_ANY_TYPE ? orr_try_start(w, x->job) : orr_try_start_on_type(w, x->job, type)) &&
					!preemptive_make_room(p, w, x, type, left, stop_cost))) {
				failed = shape;
				all = false;
				continue;
			}
			orr_queue_remove(p->waiting, x->job);
			x->is_running = true;
			x->type = orr_job_get(w, x->job, &info) ? info.gpu_type : UINT32_MAX;
		}
		p->next[kept++] = *x;
	}
	p->n_next = kept;
	return all;
}

/* Those of p->out that run on after all: back into the running list. The others wait. */
static inline void preemptive_settle(void *self, struct orr_jobs *w)
{
	struct preemptive *p = self;
	size_t k = 0; /* p->out is in the order of p->list */
	for (size_t i = 0; i < p->n_out; i++) {
		while (p->list[k].job != p->out[i])
			k++;
		const struct preemptive_job *x = &p->list[k];
		if (orr_job_is_running(w, x->job)) {
			if (preemptive_grow(p, p->n_next + p->n + 1))
				p->next[p->n_next++] = p->list[k];
			continue;
		}
		int64_t key = p->key(self, w, x->job);
		orr_queue_add(p->waiting, x->job, key, key == x->key ? x->tie : preemptive_tie(p->pass, false, (int64_t)k));
	}
}

/* One pass. stop_cost may be NULL. is_eager: all that should not run is stopped before
 * anything is placed, and what could not be placed is not offered to others. */
static inline void preemptive_pass(void *self, struct orr_jobs *w, bool is_eager, int64_t (*stop_cost)(const struct orr_job_info *info))
{
	struct preemptive *p = self;
	struct orr_job_info info;
	preemptive_order(self, w);
	for (uint32_t t = 0; t < p->n_types; t++)
		p->budget[t] = p->spare[t] = 1000 * (int64_t)orr_total_gpus_of(w, t);
	for (size_t i = 0; i < p->n; i++)
		if (p->list[i].type < p->n_types)
			p->spare[p->list[i].type] -= p->list[i].milli;
	p->n_next = p->n_out = p->n_stopped = 0;
	if (!preemptive_grow(p, p->n + 1))
		orr_give_up(w, 0, "out of memory");
	preemptive_choose(p, w);
	size_t left = p->n_out;
	while (is_eager && left) {
		orr_job j = p->out[--left];
		orr_stop_with_cost(w, j, stop_cost && orr_job_get(w, j, &info) ? stop_cost(&info) : 0);
	}
	bool all = preemptive_start(p, w, &left, stop_cost);
	preemptive_settle(self, w);
	struct preemptive_job *swap = p->list;
	p->list = p->next;
	p->n = p->n_next;
	p->next = swap;
	/* Those stopped in vain for room elsewhere may go on, too. */
	if ((!all || p->n_stopped) && !is_eager)
		preemptive_refill(self, w);
	p->pass++;
	p->arrivals = 0;
}

static inline void preemptive_schedule(void *self, struct orr_jobs *w)
{
	preemptive_pass(self, w, false, NULL);
}

/* A node failed: the job waits again, as a newcomer. */
static inline void preemptive_evict(void *self, struct orr_jobs *w, orr_job j)
{
	preemptive_forget(self, j);
	preemptive_arrive(self, w, j);
}

#endif
