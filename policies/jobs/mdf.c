/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Branch-aware scheduling of meta-dataflows (SIGMOD 2018; prototype SEEPng). The next stage is the first ready stage of a depth-first walk
 * from the sink. Stages run one after another, each on the whole cluster. The branches of an explore therefore run in turn, and a choose
 * can drop or prune a branch before the next branch starts.
 */
#include "branches.h"

static const struct orr_param params[] = { ORR_PARAM_END };

static void schedule(void *self, struct orr_jobs *w)
{
	struct branches *b = self;
	orr_job j;
	while (!b->running && (j = orr_queue_first(b->waiting)) && branches_start(b, w, j, 1))
		;
}

static const struct orr_jobs_ops ops = { .create = branches_create,
	.destroy = branches_free,
	.arrive = branches_arrive,
	.finish = branches_finish,
	.evict = branches_evict,
	.schedule = schedule };

ORR_POLICY_JOBS(mdf, "stages of flows one after another on the whole cluster, branch by branch", params, ops);
