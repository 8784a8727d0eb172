/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * branches.h - common part of the policies for flows: queue of waiting stages, number of running stages
 *
 * A job outside flows counts as a flow of one stage. A policy embeds struct branches as its first member.
 */
#ifndef ORR_POLICIES_BRANCHES_H
#define ORR_POLICIES_BRANCHES_H

#include <orrery/jobs.h>

struct branches {
	struct orr_queue *waiting; /* queue by flow, then in the order of the depth-first walk */
	uint32_t running;
};

void *branches_new(struct orr_jobs *w, size_t size);
/* Functions for struct orr_jobs_ops. */
void *branches_create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err);
void branches_free(void *self);
void branches_arrive(void *self, struct orr_jobs *w, orr_job j);
void branches_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how);
void branches_evict(void *self, struct orr_jobs *w, orr_job j);

/* Returns the number of GPUs for one of n concurrent stages: 1/n of the GPUs of the most frequent type, at least 1. For a job of fixed
 * size, returns its request. */
uint32_t branches_size(const struct orr_jobs *w, orr_job j, double n);
/* Starts a queued stage on branches_size(w, j, n) GPUs; of several types and with n = 1 on all GPUs of the type that is fastest as a whole.
 * Returns false if it does not fit. */
bool branches_start(struct branches *b, struct orr_jobs *w, orr_job j, double n);

#endif
