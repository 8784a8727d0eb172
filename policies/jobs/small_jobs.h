/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * small_jobs.h - jobs on parts of GPUs and jobs without GPUs, beside a policy that allocates whole GPUs
 *
 * They start in order of submission whenever they fit, and run until they end. The policy subtracts the GPUs that they use.
 */
#ifndef ORR_POLICIES_JOBS_SMALL_JOBS_H
#define ORR_POLICIES_JOBS_SMALL_JOBS_H

#include <orrery/jobs.h>

struct small_jobs;

struct small_jobs *small_jobs_new(struct orr_jobs *w);
void small_jobs_free(struct small_jobs *s); /* s may be NULL */
/* Adds a waiting job. Returns false, without effect, if it requests whole GPUs. */
bool small_jobs_add(struct small_jobs *s, struct orr_jobs *w, orr_job j);
/* Forgets a job that has ended or lost its node. */
void small_jobs_remove(struct small_jobs *s, orr_job j);
/* Starts the waiting jobs that fit. */
void small_jobs_start(struct small_jobs *s, struct orr_jobs *w);
/* Returns the GPUs of a type that the running jobs use at least: the sum of their parts, rounded up. */
double small_jobs_gpus(const struct small_jobs *s, uint32_t type);

#endif
