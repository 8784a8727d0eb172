/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Least attained service, by running time (Tiresias' simulator: "dlas"): three queues,
 * no promotion, no quantum.
 */
#include "las.h"

static const struct orr_param params[] = { LAS_PARAMS, ORR_PARAM_END };

static const struct orr_jobs_ops ops = { .create = las_create,
	.destroy = las_destroy,
	.arrive = las_arrive,
	.finish = las_finish,
	.evict = las_evict,
	.capacity = las_capacity,
	.schedule = las_schedule };

ORR_POLICY_JOBS(las, "least attained running time, in queues (Tiresias' dlas)", params, ops);
