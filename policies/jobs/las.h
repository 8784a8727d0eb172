/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * las.h - what las and las-gpu have in common: queues by attained service (Gu et al.,
 * "Tiresias", NSDI 2019, section 3.2: discretised two-dimensional LAS)
 *
 * Queue i holds jobs whose attained service has not reached limits[i]; the last one has
 * no limit. A pass gives GPUs queue by queue, in each in order, skipping what does not
 * fit; the others are stopped. A job moves down one queue at most per pass, to the tail.
 * After the pass those of a queue that do not run stand behind those that do.
 *
 * A job that should run by the number of GPUs but has no room by the placement makes
 * room by stopping those that should not run, last ones first, if that helps; else they
 * go on, and free GPUs are offered down the line.
 *
 * So each queue is an array of running jobs, in order, followed by an orr_queue of
 * waiting ones, whose keys count down for those that are put in front (they ran until
 * now) and up for those that come to the tail. A pass costs O(running + started log
 * waiting + shapes).
 */
#ifndef ORR_POLICIES_LAS_H
#define ORR_POLICIES_LAS_H

#include "grow.h"

#include <orrery/jobs.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAS_MAX_QUEUES = 17 };

struct las_job {
	orr_job job;
	uint64_t number;
	int64_t milli; /* GPUs in 1/1000 */
	uint32_t gpus, type;
	bool stays; /* chosen in this pass */
};

struct las_list {
	struct las_job *v;
	size_t n, cap;
};

struct las_queue {
	struct las_list running, tail; /* tail: came from the queue above in this pass */
	struct orr_queue *waiting;
	int64_t front, back;
};

struct las {
	bool counts_gpus;   /* service is time x GPUs */
	bool is_tiresias;   /* its units in the next moment to look */
	int64_t promote_ns; /* 0: never */
	size_t n;           /* queues */
	double *limit;      /* seconds or GPU-seconds, n - 1 of them */
	struct las_queue *queue;
	struct las_list chosen; /* waiting jobs that shall start */
	orr_job *out;           /* running ones that should not, in order */
	size_t n_out, cap_out, n_stopped;
	int64_t *budget, *spare; /* per type of GPU, in 1/1000; spare: beside the running jobs */
	bool has_small;          /* some jobs ask for a part of a GPU, or none */
	uint32_t n_types;
	int64_t next_look; /* when a running job next reaches a limit */
	bool is_due;       /* something changed since the last pass */
};

#define LAS_PARAMS                                                                                       \
	ORR_PARAM_LIST("limits", "3250s,7200s", "attained service at which a job moves one queue down"), \
		ORR_PARAM_TIME("promote", "0", "waiting this long takes a job back to the first queue; 0: never")

static inline bool las_push(struct las_list *l, const struct las_job *x)
{
	if (!grow(&l->v, l->n, &l->cap, sizeof *l->v))
		return false;
	l->v[l->n++] = *x;
	return true;
}

static inline void las_destroy(void *self)
{
	struct las *s = self;
	for (size_t i = 0; s->queue && i < s->n; i++) {
		free(s->queue[i].running.v);
		free(s->queue[i].tail.v);
		orr_queue_free(s->queue[i].waiting);
	}
	free(s->chosen.v);
	free(s->out);
	free(s->queue);
	free(s->limit);
	free(s->budget);
	free(s->spare);
	free(s);
}

static inline void *las_create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	size_t n;
	const double *limits = orr_arg_list(args, "limits", &n);
	if (n > LAS_MAX_QUEUES - 1) {
		orr_fail(err, ORR_EINPUT, "limits: at most %d of them", LAS_MAX_QUEUES - 1);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		if (!(limits[i] > (i ? limits[i - 1] : 0))) {
			orr_fail(err, ORR_EINPUT, "limits: expected numbers above 0 that ascend");
			return NULL;
		}
	struct las *s = calloc(1, sizeof *s);
	if (s) {
		s->n = n + 1;
		s->queue = calloc(n + 1, sizeof *s->queue);
		s->limit = calloc(n + 1, sizeof *s->limit);
		s->budget = calloc(orr_gpu_types(w) + 1, sizeof *s->budget);
		s->spare = calloc(orr_gpu_types(w) + 1, sizeof *s->spare);
	}
	if (!s || !s->queue || !s->limit || !s->budget || !s->spare) {
		if (s)
			las_destroy(s);
		orr_fail(err, ORR_EFAIL, "out of memory");
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		s->limit[i] = limits[i];
	for (size_t i = 0; i <= n; i++)
		s->queue[i].waiting = orr_queue_new(w);
	s->n_types = orr_gpu_types(w);
	s->promote_ns = orr_arg_time_ns(args, "promote");
	s->next_look = ORR_NEVER;
	return s;
}

static inline void las_arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct las *s = self;
	struct orr_job_info info;
	if (orr_job_get(w, j, &info) && (!info.gpus || info.gpu_milli < 1000))
		s->has_small = true;
	orr_queue_add(s->queue[0].waiting, j, ++s->queue[0].back, 0);
	s->is_due = true;
}

static inline bool las_drop(struct las_list *l, orr_job j)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].job == j) {
			memmove(l->v + i, l->v + i + 1, (l->n - i - 1) * sizeof *l->v);
			l->n--;
			return true;
		}
	return false;
}

static inline void las_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct las *s = self;
	(void)w, (void)how;
	for (size_t i = 0; i < s->n; i++)
		if (las_drop(&s->queue[i].running, j) || orr_queue_remove(s->queue[i].waiting, j))
			break;
	s->is_due = true;
}

/* Lost its node: to the tail of the queue that it was in. */
static inline void las_evict(void *self, struct orr_jobs *w, orr_job j)
{
	struct las *s = self;
	(void)w;
	for (size_t i = 0; i < s->n; i++)
		if (las_drop(&s->queue[i].running, j)) {
			orr_queue_add(s->queue[i].waiting, j, ++s->queue[i].back, 0);
			break;
		}
	s->is_due = true;
}

static inline void las_capacity(void *self, struct orr_jobs *w)
{
	(void)w;
	((struct las *)self)->is_due = true;
}

/* ---- moving down, moving up ---- */

static inline double las_service(const struct las *s, const struct orr_jobs *w, const struct las_job *x)
{
	double t = (double)orr_job_attained_ns(w, x->job) / 1e9;
	return s->counts_gpus ? t * (double)x->milli / 1000 : t;
}

static inline int las_by_number(const void *a, const void *b)
{
	const struct las_job *x = a, *y = b;
	return (x->number > y->number) - (x->number < y->number);
}

/* Running jobs that have reached the limit of their queue go to the tail of the next, in
 * order of submission. From the bottom up, so that none moves twice. */
static inline void las_demote(struct las *s, struct orr_jobs *w)
{
	for (size_t i = s->n - 1; i-- > 0;) {
		struct las_list *l = &s->queue[i].running, *tail = &s->queue[i + 1].tail;
		size_t kept = 0;
		tail->n = 0;
		for (size_t k = 0; k < l->n; k++) {
			if (las_service(s, w, &l->v[k]) < s->limit[i])
				l->v[kept++] = l->v[k];
			else if (!las_push(tail, &l->v[k]))
				orr_give_up(w, l->v[k].job, "out of memory");
		}
		l->n = kept;
		if (tail->n > 1)
			qsort(tail->v, tail->n, sizeof *tail->v, las_by_number);
	}
}

/* Long waits end in the first queue. Looks at every waiting job below it. */
static inline void las_promote(struct las *s, struct orr_jobs *w)
{
	struct orr_job_info info;
	for (size_t i = 1; s->promote_ns && i < s->n; i++) {
		struct orr_walk walk;
		orr_walk_begin(s->queue[i].waiting, &walk);
		for (orr_job j; (j = orr_walk_next(&walk));) {
			if (!orr_job_get(w, j, &info))
				continue;
			int64_t waited = orr_now(w) - info.submit_ns - info.attained_ns;
			if (waited - orr_queue_tie(s->queue[i].waiting, j) < s->promote_ns)
				continue;
			orr_queue_remove(s->queue[i].waiting, j);
			orr_queue_add(s->queue[0].waiting, j, ++s->queue[0].back, waited);
		}
		orr_walk_end(&walk);
	}
}

/* ---- one pass ---- */

/* Draws on the budget of the first type that has enough, leaving running jobs alone
 * where it can. */
static inline bool las_draw(struct las *s, uint64_t types, int64_t milli, uint32_t *type)
{
	if (!milli)
		return true;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t t = 0; t < s->n_types; t++)
			if (types >> t & 1 && s->budget[t] >= milli && (pass || s->spare[t] >= milli)) {
				s->budget[t] -= milli;
				s->spare[t] -= milli;
				*type = t;
				return true;
			}
	return false;
}

/* Draws for a running job, on its own type. */
static inline bool las_hold(struct las *s, const struct las_job *x)
{
	if (!x->milli || x->type >= s->n_types)
		return true;
	if (s->budget[x->type] >= x->milli) {
		s->budget[x->type] -= x->milli;
		return true;
	}
	s->spare[x->type] += x->milli;
	return false;
}

static inline void las_begin_budget(struct las *s, const struct orr_jobs *w)
{
	for (uint32_t t = 0; t < s->n_types; t++)
		s->budget[t] = s->spare[t] = 1000 * (int64_t)orr_total_gpus_of(w, t);
	for (size_t i = 0; i < s->n; i++)
		for (int part = 0; part < 2; part++) {
			const struct las_list *l = part ? &s->queue[i].tail : &s->queue[i].running;
			for (size_t k = 0; k < l->n; k++)
				if (l->v[k].type < s->n_types)
					s->spare[l->v[k].type] -= l->v[k].milli;
		}
}

static inline bool las_any_left(const struct las *s)
{
	for (uint32_t t = 0; t < s->n_types; t++)
		if (s->budget[t] > 0)
			return true;
	return s->has_small;
}

static inline void las_choose_running(struct las *s, struct las_list *l)
{
	for (size_t k = 0; k < l->n; k++)
		l->v[k].stays = las_hold(s, &l->v[k]);
}

/* Marks the end of a queue's part of s->chosen by returning its length. */
static inline size_t las_choose_waiting(struct las *s, struct orr_jobs *w, struct orr_queue *q)
{
	struct orr_walk walk;
	struct orr_job_info info;
	orr_walk_begin(q, &walk);
	for (orr_job j; las_any_left(s) && (j = orr_walk_next(&walk)) && orr_job_get(w, j, &info);) {
		struct las_job x = { j, info.number, (int64_t)info.gpus * info.gpu_milli, info.gpus, UINT32_MAX, true };
		if (!las_draw(s, info.gpu_types, x.milli, &x.type))
			orr_walk_skip_shape(&walk);
		else if (!las_push(&s->chosen, &x))
			orr_give_up(w, j, "out of memory");
	}
	orr_walk_end(&walk);
	return s->chosen.n;
}

/* Lists who should not run, queue by queue. */
static inline void las_list_out(struct las *s, struct orr_jobs *w)
{
	s->n_out = 0;
	for (size_t i = 0; i < s->n; i++)
		for (int part = 0; part < 2; part++) {
			const struct las_list *l = part ? &s->queue[i].tail : &s->queue[i].running;
			for (size_t k = 0; k < l->n; k++) {
				if (l->v[k].stays)
					continue;
				if (!grow(&s->out, s->n_out, &s->cap_out, sizeof *s->out)) {
					orr_give_up(w, l->v[k].job, "out of memory");
					return;
				}
				s->out[s->n_out++] = l->v[k].job;
			}
		}
}

static inline bool las_try(struct orr_jobs *w, orr_job j, uint32_t type)
{
	return type == ORR_ANY_TYPE ? orr_try_start(w, j) : orr_try_start_on_type(w, j, type);
}

/* Starts a chosen job, stopping others for it where that makes room. */
static inline bool las_start(struct las *s, struct orr_jobs *w, struct las_queue *q, struct las_job *x)
{
	struct orr_job_info info;
	uint32_t type = s->n_types > 1 && x->type < s->n_types ? x->type : ORR_ANY_TYPE;
	bool is_started = las_try(w, x->job, type);
	while (s->n_out && !orr_job_is_running(w, s->out[s->n_out - 1]))
		s->n_out--;
	if (!is_started && s->n_out && orr_fits_without(w, x->job, type, s->out, s->n_out))
		for (size_t i = s->n_out; i-- > 0 && !is_started;) {
			if (!orr_job_get(w, s->out[i], &info) || info.state != ORR_JOB_RUNNING ||
				(type != ORR_ANY_TYPE && info.gpu_type != type))
				continue;
			orr_stop(w, s->out[i]);
			s->n_stopped++;
			is_started = las_try(w, x->job, type);
		}
	if (!is_started)
		return false;
	orr_queue_remove(q->waiting, x->job);
	if (orr_job_get(w, x->job, &info))
		x->type = info.gpu_type;
	return true;
}

/* Puts those of a list that were stopped where they shall wait: from the running part in
 * front, keeping their order; from the tail behind. */
static inline void las_settle(struct orr_jobs *w, struct las_queue *q, struct las_list *l, bool to_front)
{
	size_t kept = 0;
	for (size_t k = l->n; to_front && k-- > 0;)
		if (!orr_job_is_running(w, l->v[k].job))
			orr_queue_add(q->waiting, l->v[k].job, --q->front, 0);
	for (size_t k = 0; k < l->n; k++) {
		if (orr_job_is_running(w, l->v[k].job))
			l->v[kept++] = l->v[k];
		else if (!to_front)
			orr_queue_add(q->waiting, l->v[k].job, ++q->back, 0);
	}
	l->n = kept;
}

/* What the placement had no room for is offered to all, in order. */
static inline void las_refill(struct las *s, struct orr_jobs *w)
{
	struct orr_job_info info;
	for (size_t i = 0; i < s->n; i++) {
		struct orr_walk walk;
		orr_walk_begin(s->queue[i].waiting, &walk);
		for (orr_job j; (orr_free_gpus(w) || s->has_small) && (j = orr_walk_next(&walk)) && orr_job_get(w, j, &info);) {
			struct las_job x = { j, info.number, (int64_t)info.gpus * info.gpu_milli, info.gpus, UINT32_MAX, true };
			if (!las_start(s, w, &s->queue[i], &x))
				orr_walk_skip_shape(&walk);
			else if (!las_push(&s->queue[i].running, &x))
				orr_give_up(w, j, "out of memory");
		}
		orr_walk_end(&walk);
	}
}

static inline void las_pass(struct las *s, struct orr_jobs *w)
{
	bool all = true;
	las_begin_budget(s, w);
	size_t end[LAS_MAX_QUEUES] = { 0 }; /* of each queue's part of chosen */
	s->chosen.n = 0;
	for (size_t i = 0; i < s->n; i++) {
		las_choose_running(s, &s->queue[i].running);
		end[i] = las_choose_waiting(s, w, s->queue[i].waiting);
		las_choose_running(s, &s->queue[i].tail);
	}
	las_list_out(s, w);
	s->n_stopped = 0;
	for (size_t i = 0, k = 0; i < s->n; i++)
		for (; k < end[i]; k++)
			all &= s->chosen.v[k].stays = las_start(s, w, &s->queue[i], &s->chosen.v[k]);
	for (size_t i = 0, k = 0; i < s->n; i++) {
		struct las_queue *q = &s->queue[i];
		bool is_good = true;
		las_settle(w, q, &q->running, true);
		las_settle(w, q, &q->tail, false);
		for (; k < end[i]; k++)
			if (s->chosen.v[k].stays)
				is_good &= las_push(&q->running, &s->chosen.v[k]);
		for (size_t t = 0; t < q->tail.n; t++)
			is_good &= las_push(&q->running, &q->tail.v[t]);
		q->tail.n = 0;
		if (!is_good)
			orr_give_up(w, 0, "out of memory");
	}
	all &= !s->n_stopped; /* those stopped in vain for room elsewhere may go on */
	s->n_out = 0;
	if (!all)
		las_refill(s, w);
}

/* The first moment at which a running job reaches the limit of its queue. */
static inline void las_look_ahead(struct las *s, struct orr_jobs *w)
{
	int64_t now = orr_now(w), next = ORR_NEVER;
	for (size_t i = 0; i + 1 < s->n; i++)
		for (size_t k = 0; k < s->queue[i].running.n; k++) {
			const struct las_job *x = &s->queue[i].running.v[k];
			double width = s->counts_gpus ? (double)x->milli / 1000 : 1, most = 4.6e9;
			int64_t at;
			if (!(width > 0))
				continue; /* without GPUs it attains no GPU time */
			if (s->is_tiresias) {
				double ran = (double)orr_job_attained_ns(w, x->job) / 1e9;
				double dt = floor((s->limit[i] - ran) / width);
				at = dt > 0 && dt < most ? now + (int64_t)(dt * 1e9) : ORR_NEVER;
			} else {
				double dt = (s->limit[i] - las_service(s, w, x)) / width;
				at = dt > 0 && dt < most ? now + (int64_t)ceil(dt * 1e9) : ORR_NEVER;
			}
			if (at < next && at > now)
				next = at;
		}
	s->next_look = next;
	orr_timer(w, next);
}

static inline void las_schedule(void *self, struct orr_jobs *w)
{
	struct las *s = self;
	/* Timers set by earlier passes may be out of date: nothing is to be done then. */
	if (!s->is_due && orr_now(w) != s->next_look)
		return;
	s->is_due = false;
	las_demote(s, w);
	las_promote(s, w);
	las_pass(s, w);
	las_look_ahead(s, w);
}

#endif
