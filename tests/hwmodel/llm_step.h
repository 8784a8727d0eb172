/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * llm_step.h - closed-form time of a training step of a transformer
 *
 * Tensor, pipeline and data parallelism with the (interleaved) 1F1B schedule of Narayanan et al., SC 2021, and the
 * recomputation and sequence parallelism of Korthikanti et al., 2022. Formulas and assumed overlaps: docs/models/step.md,
 * "Transformer step in closed form". The executor of the step world also models the effects that this form omits.
 *
 * Stages get equal numbers of blocks; the embedding lies on the first stage, the output layer on
 * the last. Times are seconds.
 */
#ifndef ORR_TESTS_HWMODEL_LLM_STEP_H
#define ORR_TESTS_HWMODEL_LLM_STEP_H

#include "hwmodel/cost.h"

/* t(bytes) = latency_s + share x bytes / Bps + sqrt_s x sqrt(bytes); the share is 2(n-1)/n for an all-reduce, (n-1)/n
 * for reduce-scatter and all-gather, 1 for a message. */
struct llm_link {
	double latency_s, Bps, sqrt_s;
};

enum llm_recompute { LLM_RECOMPUTE_NONE, LLM_RECOMPUTE_ATTENTION, LLM_RECOMPUTE_FULL };

struct llm_step {
	uint32_t tp, pp, dp; /* degrees */
	uint32_t interleave; /* number of model chunks per device; 1: plain 1F1B */
	double micro_batch, global_batch;
	enum llm_recompute recompute;
	bool sequence_parallel;
	double activation_bytes; /* bytes of an activation on the wire: 2 */
	double gradient_bytes;   /* bytes of a gradient element in the all-reduce over replicas */
	double state_bytes;      /* bytes of optimizer state per parameter (cost_update_s()) */
	struct llm_link tp_link; /* collectives of a tensor-parallel group */
	struct llm_link pp_link; /* messages of one GPU between stages */
	struct llm_link dp_link; /* collectives of a data-parallel group */
};

/* Times of the busiest stage, per step; their sum is total_s. */
struct llm_times {
	double forward_s, backward_s, recompute_s; /* compute */
	double tp_s, pp_s, dp_s;                   /* exposed communication */
	double bubble_s;
	double update_s;
	double total_s;
	double micro_batches;
	double model_flops; /* FLOPs per step without recomputation: 3 times the FLOPs of the forward products */
};

/* Computes the times. Fails if the degrees do not divide layers, heads or batch. */
int llm_step_times(const struct dnn *d, const struct cost *c, const struct llm_step *s, struct llm_times *out, struct orr_error *err);

double llm_all_reduce_s(const struct llm_link *l, uint32_t n, double bytes);
double llm_all_gather_s(const struct llm_link *l, uint32_t n, double bytes); /* bytes: size of the complete result */

#endif
