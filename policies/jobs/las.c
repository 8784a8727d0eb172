/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Least attained service by running time (Tiresias' simulator: "dlas"). By default there are three queues, and neither promotion nor a
 * quantum. las.h describes the queues, which las_gpu.c also uses.
 */
#include "las.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_QUEUES = 17 };

static void push(struct las_list *l, const struct las_job *x)
{
	ORR_GROW(l->v, l->n, l->cap);
	l->v[l->n++] = *x;
}

void las_destroy(void *self)
{
	struct las *s = self;
	for (size_t i = 0; i < s->n; i++) {
		orr_free(s->queue[i].running.v);
		orr_free(s->queue[i].tail.v);
		orr_queue_free(s->queue[i].waiting);
	}
	orr_free(s->chosen.v);
	orr_free(s->out.job);
	orr_free(s->queue);
	orr_free(s->limit);
	gpu_budget_free(&s->budget);
	orr_free(s);
}

void *las_create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	size_t n;
	const double *limits = orr_arg_list(args, "limits", &n);
	if (n > MAX_QUEUES - 1) {
		orr_fail(err, ORR_EINPUT, "limits: expected at most %d numbers, found %zu", MAX_QUEUES - 1, n);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		if (!(limits[i] > (i ? limits[i - 1] : 0))) {
			orr_fail(err, ORR_EINPUT, "limits: expected numbers above 0 in ascending order");
			return NULL;
		}
	struct las *s = orr_alloc(1, sizeof *s);
	s->n = n + 1;
	s->queue = orr_alloc(n + 1, sizeof *s->queue);
	s->limit = orr_alloc(n + 1, sizeof *s->limit);
	gpu_budget_init(&s->budget, w);
	for (size_t i = 0; i < n; i++)
		s->limit[i] = limits[i];
	for (size_t i = 0; i <= n; i++)
		s->queue[i].waiting = orr_queue_new(w);
	s->promote_ns = orr_arg_time_ns(args, "promote");
	s->next_look = ORR_NEVER;
	return s;
}

void las_arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct las *s = self;
	gpu_budget_note(&s->budget, w, j);
	orr_queue_add(s->queue[0].waiting, j, ++s->queue[0].back, 0);
	s->is_due = true;
}

/* Returns the time that the job has waited since its submission. */
static int64_t waited_ns(const struct orr_jobs *w, orr_job j)
{
	return orr_now(w) - orr_job_submit_ns(w, j) - orr_job_attained_ns(w, j);
}

/* Adds a job that has stopped to the waiting jobs of its queue. */
static void add_stopped(struct orr_jobs *w, struct las_queue *q, const struct las_job *x, int64_t key)
{
	orr_queue_add2(q->waiting, x->job, key, waited_ns(w, x->job), x->from_ns);
}

/* Removes a job from the list, and stores it in *out unless that is NULL. */
static bool drop(struct las_list *l, orr_job j, struct las_job *out)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].job == j) {
			if (out)
				*out = l->v[i];
			memmove(l->v + i, l->v + i + 1, (l->n - i - 1) * sizeof *l->v);
			l->n--;
			return true;
		}
	return false;
}

void las_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct las *s = self;
	(void)w, (void)how;
	for (size_t i = 0; i < s->n; i++)
		if (drop(&s->queue[i].running, j, NULL) || orr_queue_remove(s->queue[i].waiting, j))
			break;
	s->is_due = true;
}

/* Moves the job to the tail of its queue. */
void las_evict(void *self, struct orr_jobs *w, orr_job j)
{
	struct las *s = self;
	struct las_job x;
	for (size_t i = 0; i < s->n; i++)
		if (drop(&s->queue[i].running, j, &x)) {
			add_stopped(w, &s->queue[i], &x, ++s->queue[i].back);
			break;
		}
	s->is_due = true;
}

void las_capacity(void *self, struct orr_jobs *w)
{
	(void)w;
	((struct las *)self)->is_due = true;
}

/* ---- moving down, moving up ---- */

static double service_of(const struct las *s, const struct orr_jobs *w, const struct las_job *x)
{
	double t = (double)(orr_job_attained_ns(w, x->job) - x->from_ns) / 1e9;
	return s->counts_gpus ? t * (double)x->milli / 1000 : t;
}

static int by_number(const void *a, const void *b)
{
	const struct las_job *x = a, *y = b;
	return (x->number > y->number) - (x->number < y->number);
}

/* Moves running jobs that have reached the limit of their queue to the tail of the next one, in order of submission. Processes the
 * last queue first, so that no job moves twice. */
static void demote(struct las *s, struct orr_jobs *w)
{
	for (size_t i = s->n - 1; i-- > 0;) {
		struct las_list *l = &s->queue[i].running, *tail = &s->queue[i + 1].tail;
		size_t kept = 0;
		tail->n = 0;
		for (size_t k = 0; k < l->n; k++) {
			if (service_of(s, w, &l->v[k]) < s->limit[i])
				l->v[kept++] = l->v[k];
			else
				push(tail, &l->v[k]);
		}
		l->n = kept;
		if (tail->n > 1)
			qsort(tail->v, tail->n, sizeof *tail->v, by_number);
	}
}

/* Returns jobs that waited long to the first queue. Visits every waiting job of the other queues. */
static void promote(struct las *s, struct orr_jobs *w)
{
	for (size_t i = 1; s->promote_ns && i < s->n; i++) {
		struct orr_walk walk;
		orr_walk_begin(s->queue[i].waiting, &walk);
		for (orr_job j; (j = orr_walk_next(&walk));) {
			int64_t waited = waited_ns(w, j);
			if (waited - orr_queue_tie(s->queue[i].waiting, j) < s->promote_ns)
				continue;
			orr_queue_remove(s->queue[i].waiting, j);
			orr_queue_add2(s->queue[0].waiting, j, ++s->queue[0].back, waited, orr_job_attained_ns(w, j));
		}
		orr_walk_end(&walk);
	}
}

/* ---- one pass ---- */

/* Returns the list `part` of queue i: 0: the running jobs, 1: the tail. */
static struct las_list *part_of(struct las *s, size_t i, int part)
{
	return part ? &s->queue[i].tail : &s->queue[i].running;
}

static void begin_budget(struct las *s, const struct orr_jobs *w)
{
	gpu_budget_begin(&s->budget, w);
	for (size_t i = 0; i < s->n; i++)
		for (int part = 0; part < 2; part++) {
			const struct las_list *l = part_of(s, i, part);
			for (size_t k = 0; k < l->n; k++)
				gpu_budget_is_running(&s->budget, l->v[k].type, l->v[k].milli);
		}
}

/* Allocates GPUs to the running jobs of a list, in order; those that find too few become victims. */
static void choose_running(struct las *s, const struct las_list *l)
{
	for (size_t k = 0; k < l->n; k++) {
		if (gpu_budget_hold(&s->budget, l->v[k].type, l->v[k].milli))
			continue;
		ORR_GROW(s->out.job, s->out.n, s->out.cap);
		s->out.job[s->out.n++] = l->v[k].job;
	}
}

static struct las_job waiting_job(const struct orr_queue *q, orr_job j, const struct orr_job_info *info)
{
	return (struct las_job){ j, info->number, (int64_t)info->gpus * info->gpu_milli, orr_queue_second(q, j), info->gpus, UINT32_MAX,
		true };
}

/* Returns the length of s->chosen, which is the end of this queue's part. */
static size_t choose_waiting(struct las *s, struct orr_jobs *w, struct orr_queue *q)
{
	struct orr_walk walk;
	struct orr_job_info info;
	orr_walk_begin(q, &walk);
	for (orr_job j; gpu_budget_any_left(&s->budget) && (j = orr_walk_next(&walk)) && orr_job_get(w, j, &info);) {
		struct las_job x = waiting_job(q, j, &info);
		if (gpu_budget_draw(&s->budget, w, x.job, info.gpu_types, x.milli, &x.type))
			push(&s->chosen, &x);
		else
			orr_walk_skip_shape(&walk);
	}
	orr_walk_end(&walk);
	return s->chosen.n;
}

/* Starts a job, stopping victims if that makes room. */
static bool start(struct las *s, struct orr_jobs *w, struct las_queue *q, struct las_job *x)
{
	struct orr_job_info info;
	uint32_t type = start_type(&s->budget, x->type);
	if (!try_start_on(w, x->job, type) && !victims_make_room(&s->out, w, x->job, type, NULL))
		return false;
	orr_queue_remove(q->waiting, x->job);
	if (orr_job_get(w, x->job, &info))
		x->type = info.gpu_type;
	return true;
}

/* Moves the stopped jobs of a list to the waiting jobs: to the front in the same order, or to the tail. */
static void settle(struct orr_jobs *w, struct las_queue *q, struct las_list *l, bool to_front)
{
	size_t kept = 0;
	for (size_t k = l->n; to_front && k-- > 0;)
		if (!orr_job_is_running(w, l->v[k].job))
			add_stopped(w, q, &l->v[k], --q->front);
	for (size_t k = 0; k < l->n; k++) {
		if (orr_job_is_running(w, l->v[k].job))
			l->v[kept++] = l->v[k];
		else if (!to_front)
			add_stopped(w, q, &l->v[k], ++q->back);
	}
	l->n = kept;
}

/* Offers GPUs that the placement left free to all waiting jobs, in order. */
static void refill(struct las *s, struct orr_jobs *w)
{
	struct orr_job_info info;
	for (size_t i = 0; i < s->n; i++) {
		struct orr_walk walk;
		orr_walk_begin(s->queue[i].waiting, &walk);
		for (orr_job j; (orr_free_gpus(w) || s->budget.has_small) && (j = orr_walk_next(&walk)) && orr_job_get(w, j, &info);) {
			struct las_job x = waiting_job(s->queue[i].waiting, j, &info);
			if (start(s, w, &s->queue[i], &x))
				push(&s->queue[i].running, &x);
			else
				orr_walk_skip_shape(&walk);
		}
		orr_walk_end(&walk);
	}
}

static void pass(struct las *s, struct orr_jobs *w)
{
	bool all = true;
	size_t end[MAX_QUEUES] = { 0 }; /* end of each queue's part of chosen[] */
	begin_budget(s, w);
	s->chosen.n = s->out.n = s->out.n_stopped = 0;
	for (size_t i = 0; i < s->n; i++) {
		choose_running(s, &s->queue[i].running);
		end[i] = choose_waiting(s, w, s->queue[i].waiting);
		choose_running(s, &s->queue[i].tail);
	}
	s->out.left = s->out.n;
	for (size_t i = 0, k = 0; i < s->n; i++)
		for (; k < end[i]; k++)
			all &= s->chosen.v[k].stays = start(s, w, &s->queue[i], &s->chosen.v[k]);
	for (size_t i = 0, k = 0; i < s->n; i++) {
		struct las_queue *q = &s->queue[i];
		if (s->out.n_stopped) { /* else all jobs of both lists still run */
			settle(w, q, &q->running, true);
			settle(w, q, &q->tail, false);
		}
		for (; k < end[i]; k++)
			if (s->chosen.v[k].stays)
				push(&q->running, &s->chosen.v[k]);
		for (size_t t = 0; t < q->tail.n; t++)
			push(&q->running, &q->tail.v[t]);
		q->tail.n = 0;
	}
	all &= !s->out.n_stopped; /* victims that were stopped without making room may run again */
	s->out.left = 0;
	if (!all)
		refill(s, w);
}

/* Sets a timer for the first time at which a running job reaches the limit of its queue. */
static void look_ahead(struct las *s, struct orr_jobs *w)
{
	int64_t now = orr_now(w), next = ORR_NEVER;
	for (size_t i = 0; i + 1 < s->n; i++)
		for (size_t k = 0; k < s->queue[i].running.n; k++) {
			const struct las_job *x = &s->queue[i].running.v[k];
			double width = s->counts_gpus ? (double)x->milli / 1000 : 1, most = 4.6e9;
			int64_t at;
			if (!(width > 0))
				continue; /* without GPUs, the job attains no GPU time */
			if (s->is_tiresias) {
				double ran = (double)(orr_job_attained_ns(w, x->job) - x->from_ns) / 1e9;
				double dt = floor((s->limit[i] - ran) / width);
				at = dt > 0 && dt < most ? now + (int64_t)(dt * 1e9) : ORR_NEVER;
			} else {
				double dt = (s->limit[i] - service_of(s, w, x)) / width;
				at = dt > 0 && dt < most ? now + (int64_t)ceil(dt * 1e9) : ORR_NEVER;
			}
			if (at < next && at > now)
				next = at;
		}
	s->next_look = next;
	orr_timer(w, next);
}

void las_schedule(void *self, struct orr_jobs *w)
{
	struct las *s = self;
	/* Timers of earlier passes may be obsolete: no-op. */
	if (!s->is_due && orr_now(w) != s->next_look)
		return;
	s->is_due = false;
	demote(s, w);
	promote(s, w);
	pass(s, w);
	look_ahead(s, w);
}

static const struct orr_param params[] = { LAS_PARAMS, ORR_PARAM_END };

static const struct orr_jobs_ops ops = { .create = las_create,
	.destroy = las_destroy,
	.arrive = las_arrive,
	.finish = las_finish,
	.evict = las_evict,
	.capacity = las_capacity,
	.schedule = las_schedule };

ORR_POLICY_JOBS(las, "least attained running time, in queues (Tiresias' dlas)", params, ops);
