/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Interleaved 1F1B (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC
 * 2021, 2.2.2).
 *
 * The model is cut into p x chunks parts; stage i holds parts i, p + i, 2p + i, .. Micro-batches pass through the pipeline
 * `chunks` times. The bubble relative to compute time is (p-1)/(v m) for v chunks, compared with (p-1)/m for 1F1B; v times as
 * many bytes are sent. The number of micro-batches must be a multiple of p.
 */
#include "pipeline.h"

static const struct orr_param params[] = { ORR_PARAM_INT("stages", "0", 0, 1e6, "stages of the pipeline; 0: one per GPU"),
	ORR_PARAM_INT("chunks", "2", 1, 1e4, "parts of the model per stage"), PIPELINE_BATCH_PARAMS, PIPELINE_PLAIN_PARAMS,
	PIPELINE_STAGE_PARAMS, ORR_PARAM_END };

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct pipe_terms t = pipe_plain(args, SCHEDULE_INTERLEAVED);
	t.chunks = (uint32_t)orr_arg_int(args, "chunks");
	return pipe_new(s, args, &t, err);
}

static const struct orr_step_ops ops = { .create = create, .destroy = pipe_free, .build = pipe_build, .describe = pipe_describe };

ORR_POLICY_STEP(interleaved, "pipeline: 1F1B with several parts of the model on each stage (Megatron-LM)", params, ops);
