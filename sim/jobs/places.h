/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * places.h - which GPUs the jobs of one run hold, and how fast those that train go there
 *
 * For the files of this folder alone. Invariant: between instants every running job that trains has the
 * rate of its place, given all others that run: places_settle() is called when an instant has come to
 * its end, and only jobs that share a loaded link with one that started or stopped change.
 */
#ifndef ORR_JOBS_PLACES_H
#define ORR_JOBS_PLACES_H

#include "jobs/share.h"
#include "jobs/world.h"

/* Jobs of one model, strategy, batch and size. */
struct training {
	uint32_t class;
	uint64_t types;                         /* where it can run */
	const struct steprate_value **on_type;  /* on the reference place of each type */
	const struct steprate_value *reference; /* what rates are relative to; NULL: it fits nowhere */
	struct orr_error error;
};

/* The jobs that use a link which jobs may share. */
struct link_user {
	uint32_t job, local; /* slot; the link's number in the job's place */
};
struct link_users {
	struct link_user *user;
	uint32_t n, cap;
	bool is_dirty;
};

struct places {
	const struct ground *ground;
	uint8_t *is_taken; /* of each GPU */
	uint32_t *local;   /* for place_new() */
	struct link_users *link;
	uint32_t *dirty, n_dirty, cap_dirty;
	uint32_t *fresh, n_fresh, cap_fresh; /* slots of jobs that started at this instant */
	struct strtab *kinds;                /* number i + 1: training[i] */
	struct training *training;
	size_t cap_training;
	struct strtab *shapes, *sets; /* that the run has met */
	uint64_t rerated, largest_set, by_arithmetic;
	uint64_t mark;
};

/* ---- places.c ---- */
bool link_is_contended(const struct orr_jobs *w, uint32_t link);

/* ---- training.c ---- */
uint32_t training_of(struct orr_jobs *w, uint32_t model, uint32_t strategy, double batch, uint32_t gpus);
const struct training *training_at(const struct orr_jobs *w, uint32_t training);

#endif
