/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * queue_order.h - what the policies that do not preempt have in common: one queue of
 * waiting jobs in the order of a key, from which jobs start and never stop
 *
 * A policy embeds struct queue_order as its first member, gives the key of a job, and
 * chooses strict (stop at the first that does not fit) or skipping (start whatever
 * fits). Ties go to the job submitted first.
 */
#ifndef ORR_POLICIES_QUEUE_ORDER_H
#define ORR_POLICIES_QUEUE_ORDER_H

#include <orrery/jobs.h>

#include <stdlib.h>

struct queue_order {
	struct orr_queue *waiting;
	int64_t (*key)(void *self, struct orr_jobs *w, orr_job j);
};

/* An object of size bytes that begins with a struct queue_order. */
static inline void *queue_order_new(
	struct orr_jobs *w, size_t size, int64_t (*key)(void *self, struct orr_jobs *w, orr_job j), struct orr_error *err)
{
	struct queue_order *q = calloc(1, size);
	if (!q) {
		orr_fail(err, ORR_EFAIL, "out of memory");
		return NULL;
	}
	q->waiting = orr_queue_new(w);
	q->key = key;
	return q;
}

/* In order of submission, for policies without parameters. */
static inline int64_t queue_order_submission(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self;
	return orr_job_submit_ns(w, j);
}

static inline void *queue_order_create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return queue_order_new(w, sizeof(struct queue_order), queue_order_submission, err);
}

static inline void queue_order_free(void *self)
{
	orr_queue_free(((struct queue_order *)self)->waiting);
	free(self);
}

static inline void queue_order_arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct queue_order *q = self;
	orr_queue_add(q->waiting, j, q->key(self, w, j), (int64_t)orr_job_number(w, j));
}

static inline void queue_order_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	(void)self, (void)w, (void)j, (void)how;
}

/* Strict: the head of the line or nobody. */
static inline void queue_order_strict(void *self, struct orr_jobs *w)
{
	struct queue_order *q = self;
	orr_job j;
	while ((j = orr_queue_first(q->waiting)) && orr_try_start(w, j))
		orr_queue_remove(q->waiting, j);
}

/* Greedy: in order, whoever fits. */
static inline void queue_order_skipping(void *self, struct orr_jobs *w)
{
	struct queue_order *q = self;
	struct orr_walk walk;
	orr_walk_begin(q->waiting, &walk);
	for (orr_job j; (j = orr_walk_next(&walk));)
		if (orr_try_start(w, j))
			orr_queue_remove(q->waiting, j);
		else
			orr_walk_skip_shape(&walk);
	orr_walk_end(&walk);
}

#endif
