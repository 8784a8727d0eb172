/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * llm_step.h - the time of a training step of a transformer in closed form
 *
 * Tensor, pipeline and data parallelism with the (interleaved) 1F1B schedule of Narayanan et
 * al., SC 2021, and the recomputation and sequence parallelism of Korthikanti et al., 2022.
 * Formulas: docs/models.md, "Step: transformers in closed form". Nothing overlaps but what is
 * said there. What it leaves out an executor of events has; the two are to be compared.
 *
 * Stages get equal numbers of blocks; the embedding lies on the first, the output layer on
 * the last. Times are seconds.
 */
#ifndef ORR_HWMODEL_LLM_STEP_H
#define ORR_HWMODEL_LLM_STEP_H

#include "hwmodel/cost.h"

/* t(bytes) = latency_s + share x bytes / Bps + sqrt_s x sqrt(bytes); the share is 2(n-1)/n for an all-reduce, (n-1)/n
 * for reduce-scatter and all-gather, 1 for a message. */
struct llm_link {
	double latency_s, Bps, sqrt_s;
};

enum llm_recompute { LLM_RECOMPUTE_NONE, LLM_RECOMPUTE_ATTENTION, LLM_RECOMPUTE_FULL };

struct llm_step {
	uint32_t tp, pp, dp; /* degrees */
	uint32_t interleave; /* chunks of the model per device; 1: plain 1F1B */
	double micro_batch, global_batch;
	enum llm_recompute recompute;
	bool sequence_parallel;
	double activation_bytes; /* of an element as sent: 2 */
	double gradient_bytes;   /* of a gradient as reduced over replicas */
	double state_bytes;      /* of the optimizer, per parameter (cost_update_s()) */
	struct llm_link tp_link; /* collectives of a tensor-parallel group */
	struct llm_link pp_link; /* messages between stages, of one GPU */
	struct llm_link dp_link; /* collectives of a data-parallel group */
};

/* Of the busiest stage, per step; they add up to total_s. */
struct llm_times {
	double forward_s, backward_s, recompute_s; /* compute */
	double tp_s, pp_s, dp_s;                   /* communication that is not hidden */
	double bubble_s;
	double update_s;
	double total_s;
	double micro_batches;
	double model_flops; /* of the step, without recomputation: 3 x forward products */
};

/* An error if the degrees do not divide layers, heads or batch. */
int llm_step_times(const struct dnn *d, const struct cost *c, const struct llm_step *s, struct llm_times *out, struct orr_error *err);

double llm_all_reduce_s(const struct llm_link *l, uint32_t n, double bytes);
double llm_all_gather_s(const struct llm_link *l, uint32_t n, double bytes); /* bytes: the whole result */

#endif
