/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "queue_order.h"

void *queue_order_new(struct orr_jobs *w, size_t size, int64_t (*key)(void *self, struct orr_jobs *w, orr_job j))
{
	struct queue_order *q = orr_alloc(1, size);
	q->waiting = orr_queue_new(w);
	q->key = key;
	return q;
}

static int64_t by_submission(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self;
	return orr_job_submit_ns(w, j);
}

void *queue_order_create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	(void)args, (void)err;
	return queue_order_new(w, sizeof(struct queue_order), by_submission);
}

void queue_order_free(void *self)
{
	orr_queue_free(((struct queue_order *)self)->waiting);
	orr_free(self);
}

void queue_order_arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct queue_order *q = self;
	orr_queue_add(q->waiting, j, q->key(self, w, j), (int64_t)orr_job_number(w, j));
}

void queue_order_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	(void)w;
	if (how == ORR_END_PRUNED)
		orr_queue_remove(((struct queue_order *)self)->waiting, j);
}

void queue_order_strict(void *self, struct orr_jobs *w)
{
	struct queue_order *q = self;
	orr_job j;
	while ((j = orr_queue_first(q->waiting)) && orr_try_start(w, j))
		orr_queue_remove(q->waiting, j);
	orr_why(w, ORR_WHY_ORDER, j, NULL);
}

void queue_order_skipping(void *self, struct orr_jobs *w)
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
