/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GPipe (Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism", NeurIPS 2019).
 *
 * The model is cut into stages, a mini-batch into micro-batches. All forward passes precede all backward passes (fig. 2c); then
 * the parameters are updated. The bubble is (p-1)/(m+p-1) of the time for p equal stages and m micro-batches (2.3). Every stage
 * keeps the activations of all m micro-batches, or with recompute=stage only their inputs, as in the paper. GPUs beyond one
 * pipeline form replicas.
 */
#include "pipeline.h"

static const struct orr_param params[] = { ORR_PARAM_INT("stages", "0", 0, 1e6, "stages of the pipeline; 0: one per GPU"),
	PIPELINE_BATCH_PARAMS, PIPELINE_PLAIN_PARAMS, PIPELINE_STAGE_PARAMS, ORR_PARAM_END };

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct pipe_terms t = pipe_plain(args, SCHEDULE_GPIPE);
	return pipe_new(s, args, &t, err);
}

static const struct orr_step_ops ops = { .create = create, .destroy = pipe_free, .build = pipe_build, .describe = pipe_describe };

ORR_POLICY_STEP(gpipe, "pipeline: all micro-batches forward, then all backward (GPipe)", params, ops);
