/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * limits.h - limits per user: jobs that run at once (jobs.user_jobs) and GPUs in use at once (jobs.user_gpus)
 *
 * A job that could exceed a limit of its user is held back: the policy learns of it when the user's earlier jobs leave room, in order of
 * submission. So at any time all jobs of a user that a policy knows could run at once. Jobs without a user have no limit.
 *
 * Invariant: for each user, the known live jobs are at most user_jobs, and their GPUs at most user_gpus. An elastic job counts with its
 * largest size, which is at most user_gpus.
 */
#ifndef ORR_JOBS_LIMITS_H
#define ORR_JOBS_LIMITS_H

#include "jobs/job.h"

struct limit_user {
	uint64_t jobs;
	int64_t milli;
	uint32_t first, last; /* held jobs, linked by next_held; NONE: none */
	bool is_listed;
};

struct limits {
	uint64_t jobs; /* UINT64_MAX: no limit */
	int64_t milli; /* INT64_MAX: no limit */
	struct limit_user *user;
	uint32_t n;
	uint32_t *listed, n_listed, cap_listed; /* users whose held jobs may have room */
	uint64_t held;                          /* jobs that were held back */
};

void limits_begin(struct orr_jobs *w);
void limits_free(struct orr_jobs *w);
/* Returns whether a job with this request can never start. */
bool limits_exclude(const struct orr_jobs *w, uint32_t user, const struct pool_request *r);
/* Counts an arriving job; returns false if it is held back. */
bool limits_admit(struct orr_jobs *w, struct job *job);
/* Returns the next held job that has room, which is counted; NULL: none. */
struct job *limits_next(struct orr_jobs *w);
void limits_end(struct orr_jobs *w, struct job *job);
const char *limits_check(const struct orr_jobs *w);

#endif
