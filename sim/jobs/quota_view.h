/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * quota_view.h - the cluster as the policy of a partition sees it
 *
 * Its GPUs by type follow from sums: those that its jobs hold, and free ones, at most what the partition may use. Free parts of GPUs count
 * in the totals, which are rounded up to GPUs. With reclaim=preempt, GPUs of jobs that may be stopped for it count as free. The nodes are
 * computed when a policy asks for one, and kept until a change.
 */
#ifndef ORR_JOBS_QUOTA_VIEW_H
#define ORR_JOBS_QUOTA_VIEW_H

#include "jobs/quota.h"

/* Returns the sums for the policy of the present call, in O(GPU types + jobs that may be stopped). */
const struct quota_view *quota_view_sums(struct orr_jobs *w);
/* As above, with the nodes. Once per change, takes O(nodes + running jobs of the partition). */
const struct quota_view *quota_view_nodes(struct orr_jobs *w);

/* Checks one partition, a different one in each call. Compares its sums with sums over all nodes. Compares its GPUs by node, and the jobs
 * that may be stopped, with a search of all running jobs. Returns a description of the difference, or NULL. */
const char *quota_view_check(struct orr_jobs *w);

#endif
