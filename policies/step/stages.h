/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stages.h - a model cut into stages, and the costs of each stage
 *
 * A stage is a range of layers. The model is cut between layers, never inside a transformer block. The output of the layer
 * before a cut crosses it; edges that skip over a cut are ignored (docs/models/step-pipelines.md). Invariant of a cut: stages are
 * consecutive and not empty, and cover all layers. Costs are seconds and bytes of one micro-batch on one device.
 *
 * Source for the activations kept for backward, and for their split by tensor and sequence parallelism: Korthikanti et al.,
 * "Reducing Activation Recomputation in Large Transformer Models", MLSys 2023, 4 and 5.
 */
#ifndef ORR_POLICIES_STEP_STAGES_H
#define ORR_POLICIES_STEP_STAGES_H

#include <orrery/step.h>

enum recompute {
	RECOMPUTE_NONE,
	RECOMPUTE_SELECTIVE, /* recompute attention, from scores to context */
	RECOMPUTE_FULL,      /* recompute block by block from the blocks' inputs; models without blocks: like RECOMPUTE_STAGE */
	RECOMPUTE_STAGE      /* recompute the whole stage from its input (GPipe) */
};
#define RECOMPUTE_CHOICES "none|selective|full|stage"
#define RECOMPUTE_DOC "recomputation in backward: none, the core of attention, block by block, or the whole stage"

struct stage_terms {
	double samples; /* samples per micro-batch on one device */
	enum recompute recompute;
	uint32_t shards; /* number of tensor-parallel shards; 1: none */
	bool sequence_parallel;
};

struct stage {
	uint32_t first, layers;
	double params; /* parameters of all shards together */
	double forward_s, backward_s, recompute_s;
	double out_bytes;                   /* bytes of the output, of all shards together */
	double stored_bytes;                /* bytes kept from forward to backward, on each device */
	double working_bytes;               /* additional bytes while backward recomputes */
	uint32_t columns, rows;             /* numbers of products split by columns and by rows (an embedding counts as rows); 0
					     * without shards */
	uint32_t again_columns, again_rows; /* numbers of these products that recomputation repeats */
};

enum recompute recompute_named(const char *name);

/*
 * Cuts the model into n stages: first[0..n], first[n] == layers. With n_counts, counts has the number of layers (or blocks) of
 * each stage. Else by_time minimises the longest stage; stage i is on device[i] and computes samples[i] of a micro-batch (NULL:
 * the whole one). Else all stages have equal numbers of blocks.
 */
int stage_cut(const struct orr_step *s, const struct stage_terms *t, uint32_t n, const uint32_t *device, const double *samples,
	bool by_time, const double *counts, size_t n_counts, uint32_t *first, struct orr_error *err);

/* Returns the GPU with the longest forward pass of the whole model. */
uint32_t stage_slowest_gpu(const struct orr_step *s);

/* Measures layers first..first+layers-1 on a device. */
void stage_measure(
	const struct orr_step *s, const struct stage_terms *t, uint32_t device, uint32_t first, uint32_t layers, struct stage *out);

/* Lists the places where the model may be cut: place[0] = 0, .., place[n] = layers; requires room for layers + 1. Returns n. The last
 * softmax belongs to the output layer: a cut between them would send the scores of all classes, of a vocabulary for instance. */
uint32_t stage_places(const struct orr_step *s, uint32_t layers, uint32_t *place);
/* Returns the parameters of the embedding's table if the output layer uses it. A shared output layer is a product after the blocks
 * without its own parameters; the first and the last stage both hold the table and sum its gradients. 0: not shared. */
double stage_tied_params(const struct orr_step *s);

/* Declares the memory of weights, gradients and optimizer state for `params` parameters. The state is sharded over state_shards
 * devices. */
void stage_hold(struct orr_step *s, uint32_t device, double params, double state_shards, const char *what);

#endif
