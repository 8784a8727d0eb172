/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stages.h - a model cut into stages, and what each stage costs
 *
 * A stage is a range of layers. The model is cut after layers, never inside a transformer block;
 * what crosses a cut is the output of the layer before it (edges that skip over a cut do not
 * count; docs/models.md). Invariant of a cut: stages follow one another, none is empty, all
 * layers are in one. Figures are those of one micro-batch on one device: seconds and bytes.
 *
 * Activations: Korthikanti et al., "Reducing Activation Recomputation in Large Transformer
 * Models", MLSys 2023, 4 and 5: what is kept for backward, and which of it tensor and sequence
 * parallelism split.
 */
#ifndef ORR_POLICIES_STEP_STAGES_H
#define ORR_POLICIES_STEP_STAGES_H

#include <orrery/step.h>

enum recompute {
	RECOMPUTE_NONE,
	RECOMPUTE_SELECTIVE, /* attention, from scores to context */
	RECOMPUTE_FULL,      /* block by block from the blocks' inputs; models without blocks: as STAGE */
	RECOMPUTE_STAGE      /* the whole stage from its input (GPipe) */
};
#define RECOMPUTE_CHOICES "none|selective|full|stage"
#define RECOMPUTE_DOC "what backward computes again: nothing, attention's core, block by block, or the whole stage"

struct stage_terms {
	double samples; /* of a micro-batch, on one device */
	enum recompute recompute;
	uint32_t shards; /* tensor parallelism; 1: none */
	bool sequence_parallel;
};

struct stage {
	uint32_t first, layers;
	double params; /* of all shards */
	double forward_s, backward_s, recompute_s;
	double out_bytes;                   /* passed on, of all shards */
	double stored_bytes;                /* kept from forward to backward, on each device */
	double working_bytes;               /* more, while backward recomputes */
	uint32_t columns, rows;             /* products split by columns, by rows, an embedding included; 0 without shards */
	uint32_t again_columns, again_rows; /* those of them that recomputation does again */
};

enum recompute recompute_named(const char *name);

/*
 * Cuts the model into n stages: first[0..n], first[n] == layers. counts: how many layers (or blocks) each stage
 * has, if n_counts; else by_time: the longest stage is as short as possible, stage i being on device[i] and doing
 * samples[i] of a micro-batch (NULL: all of it); else equally many blocks.
 */
int stage_cut(const struct orr_step *s, const struct stage_terms *t, uint32_t n, const uint32_t *device, const double *samples,
	bool by_time, const double *counts, size_t n_counts, uint32_t *first, struct orr_error *err);

/* What layers first..first+layers-1 cost on a device. */
void stage_measure(
	const struct orr_step *s, const struct stage_terms *t, uint32_t device, uint32_t first, uint32_t layers, struct stage *out);

/* Parameters of the embedding's table if the output layer computes with it: a product without parameters of its own after
 * the blocks. The first and the last stage then both hold it, and sum its gradients. 0: none. */
double stage_tied_params(const struct orr_step *s);

/* Weights, gradients and optimizer state of params parameters; the state is split over state_shards devices. */
void stage_hold(struct orr_step *s, uint32_t device, double params, double state_shards, const char *what);

#endif
