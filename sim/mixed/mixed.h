/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mixed.h - jobs and serving on one cluster and one clock
 *
 * Both worlds share an engine and a pool of GPUs. Replicas take GPUs as autoscaling requests them; jobs start on the remaining
 * GPUs. With serve_first, a replica without room preempts running jobs, which lose their work since the last checkpoint. Nodes
 * may fail or be lent (spot); both worlds lose the work on a lost node. The service ends with its last request and releases its
 * GPUs; the run ends when both worlds have ended.
 *
 * Accounts: every GPU-second of every node that is up is in exactly one of jobs, serve, idle, by GPU type, and is billed at the
 * price of the type. The result has the worlds' metrics and series as jobs.NAME and serve.NAME, and the rows of both. If one
 * world is left out (its policy is NULL), the other behaves as in its own world.
 */
#ifndef ORR_MIXED_MIXED_H
#define ORR_MIXED_MIXED_H

#include "cluster/capacity.h"
#include "cluster/failures.h"
#include "jobs/jobs.h"
#include "serve/serve.h"

struct mixed_config {
	/* Their cluster, placement, until and check must equal those of this struct. Nodes fail only by `failures` of this struct. */
	struct jobs_config jobs;
	struct serve_config serve;
	const struct orr_policy *jobs_policy, *serve_policy; /* policies; NULL: no such world */
	const struct orr_args *jobs_args, *serve_args;
	const struct cluster *cluster;
	const struct placement *placement;
	const struct placement *compare;        /* rule for pool_compare(): the default rule; NULL: none */
	const struct failures *failures;        /* NULL: nodes never fail */
	const struct capacity_config *capacity; /* lent nodes; NULL: all nodes are owned; excludes failures */
	bool serve_first;
	const double *usd_per_gpu_hour; /* price by GPU type; NULL: unknown */
	uint64_t seed;
	uint64_t replication; /* index of the random streams in this and both inner worlds */
	int64_t until_ns;
	bool check;
	/* Called repeatedly in the run's thread with the completed share (0..1). May be NULL. */
	void (*progress)(void *ctx, double part);
	void *progress_ctx;
};

int mixed_run(const struct mixed_config *c, const char *label, struct run_result *result, struct orr_error *err);

#endif
