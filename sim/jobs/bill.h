/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bill.h - where the time and the money of nodes that are lent went: to jobs that came to something, or not
 *
 * Accounts: useful (work of jobs that completed or still live), wasted (work lost with a node, all work of jobs that were killed or
 * failed), restart (start costs, and work that stops added), starting, idle. A node's time is shared by its GPUs in 1/1000, so
 * amounts are counted in parts: of a node 1000 x `multiple`, of a GPU 1000 x multiple / the node's number of them, whole numbers both.
 *
 * A run of a job on GPUs costs what its parts of the nodes' readings (capacity.h) grew by; its time and its amount are divided among
 * accounts in the same proportion: start cost first, then by work, what stops added before it was done, what is lost last.
 *
 * Invariant, exact in whole numbers and proved by bill_check(): the accounts add up to the time and the amount of all instances that
 * took a node.
 */
#ifndef ORR_JOBS_BILL_H
#define ORR_JOBS_BILL_H

#include "cluster/capacity.h"
#include "jobs/world.h"

struct bill;

/* Begins the capacity of the config, with nodes as they are at time 0; w->bill and w->capacity are set. */
void bill_begin(struct orr_jobs *w);
void bill_free(struct orr_jobs *w);

/* Everything below does nothing where no nodes are lent (w->bill is NULL). */
void bill_start(struct orr_jobs *w, struct job *job); /* its alloc is set */
/* It leaves its GPUs, alloc still set, having done so much work in this run, of which so much is kept. */
void bill_leave(struct orr_jobs *w, struct job *job, int64_t done, int64_t kept);
void bill_owe(struct orr_jobs *w, const struct job *job, int64_t work); /* work was added that is none of the job's own */
void bill_ended(struct orr_jobs *w, const struct job *job, bool is_good);
void bill_instant(struct orr_jobs *w);                   /* at the end of one */
void bill_end(struct orr_jobs *w);                       /* of the run: metrics and rows */
const char *bill_check(struct orr_jobs *w, bool is_end); /* NULL: all is well */

/* Slots of jobs that hold GPUs of the node, in no order, one maybe more than once. False: it is not known of all. */
bool bill_jobs_on(const struct orr_jobs *w, uint32_t node, const uint32_t **slot, uint32_t *n);

/* What policies ask. */
uint32_t bill_going_gpus(const struct orr_jobs *w);
double bill_usd_per_gpu_hour(const struct orr_jobs *w, uint32_t type);

#endif
