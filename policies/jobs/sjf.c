/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shortest job first by true duration, strictly: a job that does not fit blocks the later jobs. No preemption (HeliosArtifact,
 * "sjf").
 */
#include "queue_order.h"

static const struct orr_param params[] = { ORR_PARAM_END };

static int64_t key(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self;
	return orr_job_duration_ns(w, j);
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	(void)args, (void)err;
	return queue_order_new(w, sizeof(struct queue_order), key);
}

static const struct orr_jobs_ops ops = { .create = create,
	.destroy = queue_order_free,
	.arrive = queue_order_arrive,
	.finish = queue_order_finish,
	.schedule = queue_order_strict };

ORR_POLICY_JOBS_ORACLE(sjf, "shortest duration first, strictly", params, ops);
