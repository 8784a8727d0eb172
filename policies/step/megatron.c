/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tensor, pipeline and data parallelism together (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
 * Clusters Using Megatron-LM", SC 2021; selective recomputation and sequence parallelism: Korthikanti et al., MLSys 2023;
 * optimizer sharding: ZeRO stage 1, Rajbhandari et al., SC 2020, as in Megatron-LM's distributed optimizer).
 *
 * tp shards x pp stages x replicas; 1F1B, interleaved if interleave > 1. Ranks are numbered with tensor-parallel neighbours
 * first, so that they share a node, then replicas (order=tp-dp-pp, as in Megatron-LM) or stages. dp_stride=b orders the ring of
 * replicas 0, b, 2b, .., 1, b + 1, ..: if b replicas fill a part of the network, all hops have the same distance. Each shard
 * sends 1/tp of the activations to the next stage, which gathers them (scatter_gather; SC 2021, 4.1); with sequence parallelism
 * this is not needed. ZeRO-1: gradients are reduce-scattered, each replica updates its part, and parameters are gathered.
 *
 * ep divides the routed experts of a stage over its GPUs, tensor- and context-parallel neighbours included; a rank has whole experts
 * (MoE parallel folding, Liu et al., arXiv 2504.14960). cp divides sequences; keys and values are gathered.
 *
 * Assumption: collectives of tensor parallelism do not overlap with computing (docs/models/step-pipelines.md).
 */
#include "experts.h"
#include "pipeline.h"

#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_INT("tp", "1", 1, 1e6, "GPUs that split each layer"),
	ORR_PARAM_INT("pp", "1", 0, 1e6, "stages of the pipeline; 0: given by stage_times, or one per GPU"),
	ORR_PARAM_INT("interleave", "1", 1, 1e4, "parts of the model per stage"),
	ORR_PARAM_BOOL("sequence_parallel", false, "reduce-scatter and all-gather instead of all-reduce; stores fewer activations"),
	ORR_PARAM_BOOL("gather_redo", false, "sequence parallel: backward gathers the inputs of products again"),
	ORR_PARAM_BOOL("scatter_gather", true, "shards send their part to the next stage; false: each sends all activations"),
	ORR_PARAM_BOOL("zero", false, "ZeRO-1: shard the optimizer state over replicas"),
	ORR_PARAM_BOOL("dp_overlap", true, "reduce a part's gradients as soon as they are ready; false: after the last backward pass"),
	ORR_PARAM_CHOICE("order", "tp-dp-pp", "tp-dp-pp|tp-pp-dp", "order of ranks, the dimension on neighbouring GPUs first"),
	ORR_PARAM_INT("cp", "1", 1, 1e6, "GPUs that share the sequences of a replica (context parallelism)"),
	ORR_PARAM_INT("ep", "1", 1, 1e6, "GPUs of a stage that share the routed experts (expert parallelism)"),
	ORR_PARAM_INT("dp_stride", "1", 1, 1e6, "distance of neighbours in the ring of replicas"),
	ORR_PARAM_CHOICE("cut", "blocks", "blocks|time",
		"equal numbers of blocks per part, or minimise the longest part (of one or more per stage)"),
	ORR_PARAM_REAL("tp_bytes", "-1", -1, 1e18, "bytes of one tensor-parallel collective; -1: the activations"), PIPELINE_BATCH_PARAMS,
	PIPELINE_STAGE_PARAMS, EXPERT_PARAMS("those of its activations (FP8 and scales: h + 4 h / 128)", "those of its activations"),
	ORR_PARAM_END };

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct pipe_terms t = { .pp = (uint32_t)orr_arg_int(args, "pp"),
		.tp = (uint32_t)orr_arg_int(args, "tp"),
		.chunks = (uint32_t)orr_arg_int(args, "interleave"),
		.dp_stride = (uint32_t)orr_arg_int(args, "dp_stride"),
		.cp = (uint32_t)orr_arg_int(args, "cp"),
		.ep = (uint32_t)orr_arg_int(args, "ep"),
		.by_time = !strcmp(orr_arg_text(args, "cut"), "time"),
		.is_pp_inner = !strcmp(orr_arg_text(args, "order"), "tp-pp-dp"),
		.sequence_parallel = orr_arg_bool(args, "sequence_parallel"),
		.gather_redo = orr_arg_bool(args, "gather_redo"),
		.scatter_gather = orr_arg_bool(args, "scatter_gather"),
		.zero = orr_arg_bool(args, "zero"),
		.dp_overlap = orr_arg_bool(args, "dp_overlap"),
		.tp_bytes = orr_arg_real(args, "tp_bytes") };
	t.schedule = t.chunks > 1 ? SCHEDULE_INTERLEAVED : SCHEDULE_1F1B;
	return pipe_new(s, args, &t, err);
}

static const struct orr_step_ops ops = { .create = create, .destroy = pipe_free, .build = pipe_build, .describe = pipe_describe };

ORR_POLICY_STEP(megatron, "tensor, pipeline and data parallelism together, 1F1B, ZeRO-1 (Megatron-LM)", params, ops);
