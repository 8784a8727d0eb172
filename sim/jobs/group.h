/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * group.h - the jobs that share the same GPUs
 *
 * A group is a ring of running jobs. Invariants: all have allocations of the same pieces; exactly one of these holds the GPUs, the others
 * are beside it (pool_take_beside()); every member has the rate that interference.h gives for the whole group, times its slice. GPU time
 * is divided equally among the members.
 */
#ifndef ORR_JOBS_GROUP_H
#define ORR_JOBS_GROUP_H

#include "jobs/job.h"

/* Writes the members, the job itself first; returns their number. */
uint32_t group_of(const struct orr_jobs *w, struct job *job, struct job *member[ORR_MOST_SHARING]);
/* Adds a job to the group of `with`; removes it again. The caller updates the others (life_regroup()). */
void group_join(struct orr_jobs *w, struct job *job, struct job *with);
void group_leave(struct orr_jobs *w, struct job *job);
/* Returns the factor on the rate of a running job: the interference of its group, times its slice. */
double group_factor(struct orr_jobs *w, struct job *job);
/* Books the GPU time of a running job up to now. */
void group_book(struct orr_jobs *w, struct job *job);
/* Returns a description of the error in the group of a running job, or NULL. */
const char *group_check(const struct orr_jobs *w, struct job *job);

#endif
