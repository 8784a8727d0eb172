/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tenants.h - fairness among users and among jobs (docs/models/jobs-fair.md#measures-of-fairness)
 *
 * Jobs without a user belong to no tenant. O(1) per arrival, piece of GPU time and end. At the end of the run: O(tenants x tenants whose
 * bundle of GPUs no other bundle dominates).
 */
#ifndef ORR_JOBS_TENANTS_H
#define ORR_JOBS_TENANTS_H

#include "jobs/job.h"

struct tenants;

void tenants_free(struct tenants *t);
void tenants_arrive(struct orr_jobs *w, const struct job *job);
/* The job has held this GPU time on its GPUs, where it may have shared them. */
void tenants_hold(struct orr_jobs *w, const struct job *job, double gpu_milli_ns);
void tenants_end(struct orr_jobs *w, const struct job *job);
/* Returns the speed of a job on an equal share of the cluster: the mean of its rates on the types that it may run on, weighted by their
 * GPUs. Nodes that are down count. 1 for a job that adapts its batch. */
double tenants_rate(struct orr_jobs *w, const struct job *job);
/* A job has completed: jct_s over alone_s, its running time at tenants_rate(), counts for finish-time fairness. */
void tenants_complete(struct orr_jobs *w, double jct_s, double alone_s);
/* Adds the metrics. Jobs that are still live count up to now. */
void tenants_metrics(struct orr_jobs *w);

#endif
