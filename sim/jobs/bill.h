/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bill.h - accounts of the time and the money of lent nodes, divided into useful and lost work
 *
 * Accounts: useful (work of jobs that completed or are live), wasted (work lost with a node, all work of jobs that were killed
 * or failed), restart (start costs, and work that stops added), starting, idle. Amounts are counted in parts. A node has 1000 x
 * `multiple` parts, each of its GPUs 1000 x multiple / number of GPUs; both are whole numbers, because a job may hold 1/1000 of
 * a GPU.
 *
 * The cost of a run of a job on GPUs is the increase of its parts of the nodes' readings (capacity.h). Its time and its amount
 * are divided among accounts in the same proportion: start cost first, then added work, then the job's own work, then lost
 * work.
 *
 * Invariant, exact in whole numbers and checked by bill_check(): the sums of the accounts equal the time and the amount of all
 * instances that took a node.
 */
#ifndef ORR_JOBS_BILL_H
#define ORR_JOBS_BILL_H

#include "cluster/capacity.h"
#include "jobs/world.h"

struct bill;

/* Starts the source of lent nodes (config->capacity). Nodes must be as at time 0; w->bill and w->capacity are set. */
void bill_begin(struct orr_jobs *w);
void bill_free(struct orr_jobs *w);

/* The functions below are no-ops without lent nodes (w->bill is NULL). */
void bill_start(struct orr_jobs *w, struct job *job); /* called when a job starts; job->alloc is set */
/* Accounts for a job that leaves its GPUs (alloc still set) after `done` work in this run, of which `kept` is not lost. */
void bill_leave(struct orr_jobs *w, struct job *job, int64_t done, int64_t kept);
void bill_owe(struct orr_jobs *w, const struct job *job, int64_t work); /* accounts for work that a stop added */
void bill_ended(struct orr_jobs *w, const struct job *job, bool is_good);
void bill_instant(struct orr_jobs *w);                   /* called at the end of each instant */
void bill_end(struct orr_jobs *w);                       /* called at the end of the run: adds metrics and rows */
const char *bill_check(struct orr_jobs *w, bool is_end); /* returns NULL, or the error */

/* Sets the slots of the jobs that hold GPUs of the node, unordered, possibly repeated. Returns false if they are not known for all
 * jobs. */
bool bill_jobs_on(const struct orr_jobs *w, uint32_t node, const uint32_t **slot, uint32_t *n);

/* Queries of policies. */
uint32_t bill_going_gpus(const struct orr_jobs *w);
double bill_usd_per_gpu_hour(const struct orr_jobs *w, uint32_t type);

#endif
