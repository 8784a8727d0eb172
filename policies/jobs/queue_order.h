/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * queue_order.h - common part of the policies without preemption: one queue of waiting jobs in the order of a key; started jobs
 * are never stopped
 *
 * A policy embeds struct queue_order as its first member, gives the key of a job, and chooses the strict or the skipping
 * schedule. Ties are broken by order of submission.
 */
#ifndef ORR_POLICIES_QUEUE_ORDER_H
#define ORR_POLICIES_QUEUE_ORDER_H

#include <orrery/jobs.h>

struct queue_order {
	struct orr_queue *waiting;
	int64_t (*key)(void *self, struct orr_jobs *w, orr_job j);
};

/* Returns an object of `size` bytes that begins with a struct queue_order. */
void *queue_order_new(struct orr_jobs *w, size_t size, int64_t (*key)(void *self, struct orr_jobs *w, orr_job j));

/* Functions for struct orr_jobs_ops. The order of queue_order_create() is that of submission. */
void *queue_order_create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err);
void queue_order_free(void *self);
void queue_order_arrive(void *self, struct orr_jobs *w, orr_job j);
void queue_order_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how);
/* Starts jobs from the head of the queue; stops at the first that does not fit. */
void queue_order_strict(void *self, struct orr_jobs *w);
/* Starts every job that fits, in order. */
void queue_order_skipping(void *self, struct orr_jobs *w);

#endif
