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
#include "jobs/quota.h"
#include "jobs/victims.h"

/* Returns whether the request fits, and the quota allows it, at once or when borrowers are stopped. given: allocations that are released
 * first; freed: their GPUs, 1/1000. */
bool borrow_fits(
	struct orr_jobs *w, const struct job *job, const struct pool_request *r, struct pool_alloc *const *given, size_t n, int64_t freed);
/* Returns whether a start must stop borrowers although free GPUs may suffice: all quotas together are in use. freed: GPUs that the job
 * gives up, 1/1000. */
bool borrow_must_stop(const struct orr_jobs *w, const struct pool_request *r, int64_t freed);
/* Stops borrowers so that the request fits; returns false, without effect, if that is not possible. */
bool borrow_make_room(struct orr_jobs *w, const struct job *job, const struct pool_request *r);
/* As above, on these nodes. */
void borrow_clear(
	struct orr_jobs *w, const struct job *job, const struct pool_request *r, const uint32_t *node, const uint32_t *gpus, size_t n);

/* Returns whether borrowers may be stopped now: in the first call of an instant only, so that partitions do not take turns. */
bool borrow_is_reclaiming(const struct orr_jobs *w);
/* Returns whether a partition other than `but` is above its quota. */
bool borrow_has_others(const struct quotas *q, uint32_t but);
/* Returns the next job that may be stopped, from `slot` on towards earlier starts of its partition; NONE: none. *over: use of the partition
 * above its quota, without the jobs returned so far. */
uint32_t borrow_next(const struct orr_jobs *w, uint32_t slot, uint64_t types, int64_t *over);
/* Returns the jobs of other partitions on these GPU types that may be stopped, latest start first. Time: proportional to their number. */
struct victim *borrow_victims(const struct orr_jobs *w, uint32_t partition, uint64_t types, uint32_t *n);

#endif
