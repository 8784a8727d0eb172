/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * starts.h - the running jobs by time of start
 *
 * A log of starts. Invariants: the entry of a running job's last start is slot[job.started_at]; all other entries are stale. The first
 * n_sorted entries are ordered by start and number, as far as they are not stale; none of them started later than the other entries. At
 * most half of a long log is stale after an addition.
 */
#ifndef ORR_JOBS_STARTS_H
#define ORR_JOBS_STARTS_H

#include "jobs/job.h"

struct starts {
	uint32_t *slot;
	uint32_t n, cap, n_sorted;
};

/* Adds a running job that has just started. Amortised constant time. */
void starts_add(struct orr_jobs *w, struct job *job);
/* Returns the slot of the running job that started before the job at place *at (latest first; UINT32_MAX: the last one to start), and
 * sets *at to its place; NONE: there is none. The first call must have UINT32_MAX; no job may start between calls. */
uint32_t starts_previous(struct orr_jobs *w, uint32_t *at);
void starts_free(struct starts *x);

#endif
