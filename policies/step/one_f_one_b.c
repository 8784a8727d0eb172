/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * 1F1B (PipeDream-flush; Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training", ICML 2021).
 *
 * Stage i of p does p - i forward passes, then alternates one backward and one forward pass. The pipeline is empty at the end
 * of the iteration. It takes as long as GPipe, with the same bubble of (p-1)/(m+p-1), but stage i keeps the activations of
 * min(p - i, m) micro-batches instead of m. GPUs beyond one pipeline form replicas.
 */
#include "pipeline.h"

static const struct orr_param params[] = { ORR_PARAM_INT("stages", "0", 0, 1e6, "stages of the pipeline; 0: one per GPU"),
	PIPELINE_BATCH_PARAMS, PIPELINE_PLAIN_PARAMS, PIPELINE_STAGE_PARAMS, ORR_PARAM_END };

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct pipe_terms t = pipe_plain(args, SCHEDULE_1F1B);
	return pipe_new(s, args, &t, err);
}

static const struct orr_step_ops ops = { .create = create, .destroy = pipe_free, .build = pipe_build, .describe = pipe_describe };

ORR_POLICY_STEP(one_f_one_b, "pipeline: one forward and one backward pass in turn, flushed every iteration (PipeDream-flush)", params, ops);
