/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs all f branches of an explore concurrently, each on 1/f of the GPUs: a baseline of meta-dataflows. Stages outside explores use the
 * whole cluster. In nested explores f is the product of the numbers of branches. A stage uses at least one GPU.
 */
#include "branches.h"

static const struct orr_param params[] = { ORR_PARAM_END };

static void schedule(void *self, struct orr_jobs *w)
{
	struct branches *b = self;
	struct orr_walk walk;
	struct orr_stage s;
	orr_walk_begin(b->waiting, &walk);
	for (orr_job j; (j = orr_walk_next(&walk));)
		if (!branches_start(b, w, j, orr_stage_get(w, j, &s) ? s.parallel : 1))
			break;
	orr_walk_end(&walk);
}

static const struct orr_jobs_ops ops = { .create = branches_create,
	.destroy = branches_free,
	.arrive = branches_arrive,
	.finish = branches_finish,
	.evict = branches_evict,
	.schedule = schedule };

ORR_POLICY_JOBS(branch_parallel, "all branches of a flow concurrently, each on an equal part of the cluster", params, ops);
