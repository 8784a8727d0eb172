/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * borrow.h - reclaim=preempt: jobs of partitions above their quota are stopped for a job that is within its own, latest start first;
 * and the nodes as the policy of a partition sees them
 *
 * A job may be stopped while its partition, without the victims before it, is above its quota. So a partition may fall below its quota
 * by less than one job. The stopped job keeps its work and pays jobs.preempt_cost.
 */
#ifndef ORR_JOBS_BORROW_H
#define ORR_JOBS_BORROW_H

#include "jobs/job.h"

/* Returns whether the request fits, and the quota allows it, at once or when borrowers are stopped. given: allocations that are released
 * first; freed: their GPUs, 1/1000. */
bool borrow_fits(
	struct orr_jobs *w, const struct job *job, const struct pool_request *r, struct pool_alloc *const *given, size_t n, int64_t freed);
/* Returns whether a start must stop borrowers although free GPUs may suffice: all quotas together are in use. */
bool borrow_must_stop(const struct orr_jobs *w, const struct pool_request *r);
/* Stops borrowers so that the request fits; returns false, without effect, if that is not possible. */
bool borrow_make_room(struct orr_jobs *w, const struct job *job, const struct pool_request *r);
/* As above, on these nodes. */
void borrow_clear(
	struct orr_jobs *w, const struct job *job, const struct pool_request *r, const uint32_t *node, const uint32_t *gpus, size_t n);

/* Returns the nodes as the policy of the present call sees them. */
const struct quota_view *borrow_view(struct orr_jobs *w);

#endif
