/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tensor parallelism (Megatron-LM: Shoeybi et al., arXiv 1909.08053, 3; sequence parallelism: Korthikanti et al., "Reducing
 * Activation Recomputation in Large Transformer Models", MLSys 2023, 4.2).
 *
 * In each transformer layer, attention and MLP are each a product split by columns followed by one split by rows. So forward
 * and backward each sum activations over the group twice per layer; an embedding and the output layer add one sum each.
 * Sequence parallelism splits the layers in between along the sequence, and each sum becomes a reduce-scatter and an
 * all-gather: the same bytes, less memory. Collectives do not overlap with computing. GPUs beyond one group form replicas,
 * whose gradients are summed after the last backward pass.
 */
#include "pipeline.h"

static const struct orr_param params[] = { ORR_PARAM_INT("shards", "0", 0, 1e6, "GPUs that split each layer; 0: all"),
	ORR_PARAM_BOOL("sequence_parallel", false, "split the layers between the products along the sequence"),
	ORR_PARAM_BOOL("gather_redo", false, "sequence parallel: backward gathers the inputs of products again"),
	ORR_PARAM_REAL("tp_bytes", "-1", -1, 1e18, "bytes of one tensor-parallel collective; -1: the activations"), PIPELINE_BATCH_PARAMS,
	PIPELINE_STAGE_PARAMS, ORR_PARAM_END };

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct orr_step_facts f;
	int64_t shards = orr_arg_int(args, "shards");
	orr_step_facts(s, &f);
	struct pipe_terms t = { .pp = 1,
		.tp = shards ? (uint32_t)shards : f.gpus,
		.chunks = 1,
		.dp_stride = 1,
		.schedule = SCHEDULE_1F1B,
		.by_time = true,
		.sequence_parallel = orr_arg_bool(args, "sequence_parallel"),
		.gather_redo = orr_arg_bool(args, "gather_redo"),
		.tp_bytes = orr_arg_real(args, "tp_bytes") };
	return pipe_new(s, args, &t, err);
}

static const struct orr_step_ops ops = { .create = create, .destroy = pipe_free, .build = pipe_build, .describe = pipe_describe };

ORR_POLICY_STEP(tensor_parallel, "each layer split over GPUs: all-reduce, or sequence parallel (Megatron-LM)", params, ops);
