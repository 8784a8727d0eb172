/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mixed.h - jobs and serving on one cluster and one clock
 *
 * Both worlds share an engine and a pool of GPUs. Replicas take GPUs as their autoscaling wants them; jobs get what their policy
 * can start on the rest. With serve_first a replica that finds no room takes it from running jobs, which lose what they did
 * since their last checkpoint. Nodes of some GPU types may come and go (spot); both worlds lose what was on a node. The
 * service ends, and gives its GPUs back, with its last request; the run ends when both worlds have.
 *
 * Accounts: every GPU-second of every node that is up is in exactly one of jobs, serve, idle, by GPU type, and is paid for at
 * the type's price. Metrics and series of the worlds are in the result as jobs.NAME and serve.NAME; rows are those of both.
 * One of the worlds may be left out (its policy is NULL): the other does what it would do by itself.
 */
#ifndef ORR_MIXED_MIXED_H
#define ORR_MIXED_MIXED_H

#include "cluster/capacity.h"
#include "cluster/failures.h"
#include "jobs/jobs.h"
#include "serve/serve.h"

struct mixed_config {
	struct jobs_config jobs;   /* cluster, placement, until and check are those of this struct; failures are not used */
	struct serve_config serve; /* likewise */
	const struct orr_policy *jobs_policy, *serve_policy; /* NULL: no such world */
	const struct orr_args *jobs_args, *serve_args;
	const struct cluster *cluster;
	const struct placement *placement;
	const struct failures *failures;        /* NULL: nodes never go */
	const struct capacity_config *capacity; /* NULL: all nodes are there; excludes failures. Its notice is that of the nodes */
	bool serve_first;
	const double *usd_per_gpu_hour; /* by GPU type; NULL: not known */
	uint64_t seed;
	int64_t until_ns;
	bool check;
	/* Called now and then with the part done (0..1), from the run's thread. May be NULL. */
	void (*progress)(void *ctx, double part);
	void *progress_ctx;
};

int mixed_run(const struct mixed_config *c, const char *label, struct run_result *result, struct orr_error *err);

#endif
