/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * places.h - the GPUs that the jobs of one run hold, the links that they share, and their rates there
 *
 * Invariant: between instants every running job that trains has the rate of its place, given all other running jobs.
 * places_settle(), called at the end of each instant, restores it. Only jobs that share a loaded link with a job that started
 * or stopped change their rates.
 */
#ifndef ORR_JOBS_PLACES_H
#define ORR_JOBS_PLACES_H

#include "jobs/job.h"
#include "jobs/shape.h"

/* A job on a link that several jobs may share. */
struct link_user {
	uint32_t job, local; /* slot of the job; number of the link in the job's place */
};
struct link_users {
	struct link_user *user;
	uint32_t n, cap;
	bool is_dirty;
	uint32_t n_over; /* with sharing=off: number of jobs with a route over the link */
};

struct places {
	const struct ground *ground;
	uint8_t *is_taken; /* slot of the job on each GPU */
	uint32_t *local;   /* for place_new() */
	struct link_users *link;
	uint32_t *dirty, n_dirty, cap_dirty;
	uint32_t *fresh, n_fresh, cap_fresh; /* slots of jobs that started at this instant */
	struct strtab *kinds;                /* texts; number i + 1 is training[i] */
	struct training *training;
	size_t cap_training;
	struct strtab *shapes, *sets; /* distinct shapes and sets, counted for the metrics */
	uint64_t rerated, largest_set;
	uint64_t mark;
};

/* ---- places.c: no-ops if no job trains (w->places is NULL) ---- */
void places_begin(struct orr_jobs *w);
void places_free(struct orr_jobs *w);
void places_take(struct orr_jobs *w, struct job *job); /* called when a job starts; job->alloc and held must be set */
void places_give(struct orr_jobs *w, struct job *job);
/* Adds the job to the links that it uses, once job->seat.alone is known. */
void places_join_links(struct orr_jobs *w, const struct job *job);
/* Returns whether the job alone sends over a link that other jobs may use. The link is given by its number in the job's place. */
bool places_loads(const struct places *p, const struct job *job, uint32_t local);
void places_metrics(const struct orr_jobs *w, double *shapes, double *sets, double *rerated, double *largest);

/* ---- sharing.c ---- */
void places_settle(struct orr_jobs *w);

#endif
