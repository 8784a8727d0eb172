/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slots.h - the live jobs of a run, and the distinct requests among them
 *
 * Invariants: a slot is in use from the arrival of its job to the end of the instant in which the job ended. Its generation
 * grows each time it is freed, so old handles are detected. Live jobs form a list in order of submission. A running job has
 * exactly one pending end event. A job that trains gets its end event and its rate at the end of the instant of its start.
 */
#ifndef ORR_JOBS_SLOTS_H
#define ORR_JOBS_SLOTS_H

#include "jobs/job.h"

struct slots {
	struct job *job;
	uint32_t n, cap;
	uint32_t *free;
	uint32_t n_free, cap_free;
	uint32_t first_live, last_live;
	uint64_t live, waiting;
	uint32_t *running;
	uint32_t n_running, cap_running;
	uint32_t *ended; /* slots to free at the end of this instant */
	uint32_t n_ended, cap_ended;
	uint32_t n_told; /* number of entries of ended[] that the policy knows */
	uint64_t given;  /* number of times that a job has released GPUs */
};

struct shape {
	struct pool_request request;
	uint32_t partition;
	bool is_elastic; /* its jobs offer other sizes: one may start where a rigid job with this request has no room */
	bool fits_ever;  /* the request fits on the empty cluster */
};

/* Equal requests of a partition, by rigid jobs or by elastic ones, have equal numbers. */
struct shapes {
	struct shape *shape;
	uint32_t n, cap;
	uint32_t *slot; /* hash table: shape + 1 */
	uint32_t mask;
	uint32_t last; /* shape found last */
};

uint32_t slot_new(struct orr_jobs *w);
void slot_release_ended(struct orr_jobs *w); /* called at the end of each instant */
/* Returns the number of the shape of a partition's request; may move w->shapes.shape. */
uint32_t shape_of(struct orr_jobs *w, const struct pool_request *r, uint32_t partition, bool is_elastic);
void slots_free(struct orr_jobs *w);

#endif
