/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * decisions.h - records a policy's decisions (--decisions FILE), which the policy `replay` reads
 *
 *	time_s,job,nodes,cost_s
 *
 * One row per instant and job that the policy started, stopped, killed or gave work to. job: #NUMBER, the number in order of submission.
 * nodes: one number per GPU, from 0; empty: the job waits; "kill". cost_s: work that the policy added.
 */
#ifndef ORR_JOBS_DECISIONS_H
#define ORR_JOBS_DECISIONS_H

#include "jobs/job.h"

struct decisions;

/* Opens the file; NULL on error. */
struct decisions *decisions_new(const char *path, struct orr_error *err);
/* Closes the file; if has_failed, no file is left. Frees d. */
int decisions_end(struct decisions *d, bool has_failed, struct orr_error *err);

/* No-ops without --decisions. */
void decisions_start(struct orr_jobs *w, struct job *job);
void decisions_stop(struct orr_jobs *w, struct job *job, int64_t cost_ns);
void decisions_kill(struct orr_jobs *w, struct job *job);
void decisions_work(struct orr_jobs *w, struct job *job, int64_t work_ns);
void decisions_instant(struct orr_jobs *w); /* called at the end of each instant, before slots are released */

#endif
