/* SPDX-License-Identifier: GPL-3.0-or-later */
/* life.h - a job from arrival to end. None of these functions calls the policy. */
#ifndef ORR_JOBS_LIFE_H
#define ORR_JOBS_LIFE_H

#include "jobs/job.h"
#include "traces/trace.h"

/* Returns whether the job holds GPUs of the node. */
bool life_is_on(const struct job *job, uint32_t node);
/* Returns whether the job of a row can never start: its request exceeds the cluster, its quota or the limit of its user. */
bool life_is_unfit(const struct orr_jobs *w, const struct job_rec *r, uint32_t shape);
/* Returns the shape of a row's request; if it can never start, that of the largest smaller size of its speed-up table that can. */
uint32_t life_shape(struct orr_jobs *w, const struct job_rec *r);
void life_arrive(struct orr_jobs *w, const struct job_rec *r);
void life_start(struct orr_jobs *w, struct job *job); /* starts a job; job->alloc and work.rate must be set */
/* Sets the rate from now on and moves the job's end event. */
void life_rerate(struct orr_jobs *w, struct job *job, double rate);
/* Updates the rates of all members of the job's group except `but`. */
void life_regroup(struct orr_jobs *w, struct job *job, const struct job *but);
/* Makes the job wait again; its work is kept, plus `cost`. kind: kind of the event row. */
void life_stop(struct orr_jobs *w, struct job *job, int64_t cost, const char *kind);
void life_end(struct orr_jobs *w, struct job *job, enum orr_job_end how);
/* Makes the job wait again; work since its last checkpoint is lost and added to the remaining work. */
void life_evict(struct orr_jobs *w, struct job *job, const char *why);

#endif
