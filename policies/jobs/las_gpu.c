/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Least attained service in GPU time (Tiresias' two-dimensional LAS; its simulator's
 * "dlas-gpu").
 *
 * rules=tiresias copies an error of that simulator: the next check is at now + floor((limit - running time) / GPUs). This mixes
 * seconds and GPU-seconds, so jobs move down late.
 */
#include "las.h"

#include <string.h>

static const struct orr_param params[] = { LAS_PARAMS,
	ORR_PARAM_CHOICE("rules", "own", "own|tiresias", "tiresias: the rules of the published simulator, whose jobs move down late"),
	ORR_PARAM_END };

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct las *s = las_create(w, args, err);
	if (s) {
		s->counts_gpus = true;
		s->is_tiresias = !strcmp(orr_arg_text(args, "rules"), "tiresias");
	}
	return s;
}

static const struct orr_jobs_ops ops = { .create = create,
	.destroy = las_destroy,
	.arrive = las_arrive,
	.finish = las_finish,
	.evict = las_evict,
	.capacity = las_capacity,
	.schedule = las_schedule };

ORR_POLICY_JOBS(las_gpu, "least attained GPU time, in queues (Tiresias' dlas-gpu)", params, ops);
