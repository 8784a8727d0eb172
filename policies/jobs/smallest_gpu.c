/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Smallest number of GPUs first (Tiresias' simulator: "sjf"): jobs with few GPUs preempt jobs with many GPUs.
 */
#include "preemptive.h"

static const struct orr_param params[] = { ORR_PARAM_END };

static int64_t key(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self;
	return requested_milli(w, j);
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	(void)args, (void)err;
	return preemptive_new(w, sizeof(struct preemptive), true, key);
}

static const struct orr_jobs_ops ops = { .create = create,
	.destroy = preemptive_free,
	.arrive = preemptive_arrive,
	.finish = preemptive_finish,
	.evict = preemptive_evict,
	.schedule = preemptive_schedule };

ORR_POLICY_JOBS(smallest_gpu, "fewest GPUs first, preemptive (Tiresias' sjf)", params, ops);
