/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Least remaining GPU time first, preemptive (Tiresias' simulator: "shortest-gpu").
 */
#include "preemptive.h"

static const struct orr_param params[] = { ORR_PARAM_END };

static int64_t key(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self;
	__extension__ __int128 k = (__int128)orr_job_remaining_ns(w, j) * requested_milli(w, j) / 1000;
	return k < INT64_MAX ? (int64_t)k : INT64_MAX;
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	(void)args, (void)err;
	return preemptive_new(w, sizeof(struct preemptive), false, key);
}

static const struct orr_jobs_ops ops = { .create = create,
	.destroy = preemptive_free,
	.arrive = preemptive_arrive,
	.finish = preemptive_finish,
	.evict = preemptive_evict,
	.schedule = preemptive_schedule };

ORR_POLICY_JOBS_ORACLE(srtf_gpu, "least remaining GPU time first, preemptive", params, ops);
