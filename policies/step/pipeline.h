/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pipeline.h - pipeline, tensor and data parallelism together
 *
 * Used by gpipe, one-f-one-b, interleaved, tensor-parallel and megatron. The GPUs are a grid of pp stages x dp replicas x tp
 * shards; with context parallelism dp counts the GPUs of all replicas, cp of them neighbours. Lane t + tp * d holds the stages of shard t
 * of replica d; position p is pipeline stage p. A stage holds `chunks` parts of the model: its chunk c is part c * pp + p. Each stage runs
 * its passes in the order of its schedule (schedule.h).
 *
 * A pass waits for its input, computes, runs the tensor-parallel collectives (no overlap), and sends its output. At the end
 * gradients are summed over replicas and the stage updates its parameters. This is a flush: the next iteration of a stage
 * begins after its update.
 *
 * Expert parallelism: lanes l - l % ep + 0..ep-1 divide the routed experts of each layer. Experts are not split over shards.
 * Context parallelism: cp GPUs divide the tokens; keys and values of all tokens are gathered before attention, and their gradients are
 * summed and scattered (Grattafiori et al., arXiv 2407.21783, 3.3.2). These collectives do not overlap with computing.
 */
#ifndef ORR_POLICIES_STEP_PIPELINE_H
#define ORR_POLICIES_STEP_PIPELINE_H

#include "schedule.h"
#include "stages.h"

#include <orrery/step.h>

#define PIPELINE_BATCH_PARAMS                                                                                                              \
	ORR_PARAM_INT("micro_batches", "0", 0, 1e6,                                                                                        \
		"micro-batches per replica and iteration; 0: given by micro_batch, or at most 4 per stage (one stage: 1), more if memory " \
		"is short"),                                                                                                               \
		ORR_PARAM_REAL("micro_batch", "0", 0, 1e9, "samples in a micro-batch; 0: given by micro_batches"),                         \
		ORR_PARAM_REAL("global_batch", "0", 0, 1e12, "samples per iteration over all replicas; 0: batch x GPUs")

/* Parameters of pipelines without shards. */
#define PIPELINE_PLAIN_PARAMS                                                                                                              \
	ORR_PARAM_CHOICE(                                                                                                                  \
		"cut", "time", "time|blocks", "minimise the longest part (of one or more per stage), or equal numbers of blocks in each"), \
		ORR_PARAM_CHOICE(                                                                                                          \
			"order", "pp-dp", "pp-dp|dp-pp", "order of GPUs: neighbours are consecutive stages, or replicas of one stage")

#define PIPELINE_STAGE_PARAMS                                                                                                              \
	ORR_PARAM_LIST("stage_layers", "", "layers (or transformer blocks) of each stage, in model order; none: given by cut"),            \
		ORR_PARAM_LIST("stage_times", "",                                                                                          \
			"forward and backward seconds of a micro-batch on a stage: once for all stages, for each stage, or (interleaved) " \
			"for "                                                                                                             \
			"each part of the model in order; none: the cost model's"),                                                        \
		ORR_PARAM_CHOICE("recompute", "none", RECOMPUTE_CHOICES, RECOMPUTE_DOC),                                                   \
		ORR_PARAM_REAL("p2p_bytes", "-1", -1, 1e18, "bytes sent from stage to stage per micro-batch; -1: the activations"),        \
		ORR_PARAM_LIST("dp_bytes", "-1",                                                                                           \
			"bytes of a stage's gradients reduced over replicas, once for all stages or for each stage; -1: the model's"),     \
		ORR_PARAM_REAL("update_s", "-1", -1, 1e9, "seconds of a stage's parameter update; -1: the cost model's"),                  \
		ORR_PARAM_BOOL("overlap_p2p", true, "a stage computes while it sends")

struct pipe_terms {
	uint32_t pp, tp, chunks; /* pp 0: given by stage_times, else one stage per GPU */
	uint32_t dp_stride;      /* distance of neighbours in the ring of replicas */
	uint32_t cp;             /* GPUs that share the sequences of a replica; 0 or 1: one */
	uint32_t ep;             /* GPUs that share the experts of a layer; 0: each GPU has all experts (experts.h) */
	enum schedule_kind schedule;
	bool by_time;     /* cut so that the longest stage is shortest; false: equal numbers of blocks */
	bool is_pp_inner; /* order of GPUs: true: stages of a replica are neighbours; false: replicas of a stage */
	bool sequence_parallel;
	bool gather_redo;    /* sequence parallel: backward gathers the inputs of products again */
	bool scatter_gather; /* each shard sends its part to the next stage, which gathers; false: each sends all activations */
	bool zero;           /* ZeRO-1: optimizer state and update are sharded over the replicas */
	bool dp_overlap;     /* a chunk's gradients are reduced after its last backward pass; false: after that of the stage */
	double tp_bytes;     /* bytes of a tensor-parallel collective; < 0: the bytes of the activations */
};

/* Returns terms with one chunk and no shards; the rest from PIPELINE_PLAIN_PARAMS. */
struct pipe_terms pipe_plain(const struct orr_args *args, enum schedule_kind schedule);
/* Reads the parameters above; sets up lanes, cut and costs. Returns NULL with *err filled in on error. */
void *pipe_new(struct orr_step *s, const struct orr_args *args, const struct pipe_terms *t, struct orr_error *err);
void pipe_free(void *self);
int pipe_build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err);
void pipe_describe(void *self, char *out, size_t size);

/* Reads dp_bytes into out[n], by stage; -1: the bytes of the model. */
int pipe_dp_bytes(const struct orr_args *args, uint32_t n, double *out, struct orr_error *err);

/*
 * Returns the number of micro-batches per replica: the given one, or the default, if possible a multiple of `multiple`. global: samples
 * of an iteration. Returns 0 with *err filled in on error.
 */
uint32_t pipe_micro_batches(
	const struct orr_args *args, double global, uint32_t replicas, uint32_t stages, uint32_t multiple, struct orr_error *err);

/* Prepares a pipeline with m micro-batches, in place of an earlier attempt. *spare receives the least free memory of a GPU at its peak,
 * bytes; < 0: it is short; -INFINITY: it is short with any m. */
typedef int (*pipe_layout)(void *self, uint32_t m, double *spare, struct orr_error *err);
/*
 * Lays out a pipeline with `first` micro-batches. If these are not given by the user and memory is short, takes the least greater
 * number of equal parts that fit; if none fits, `first` again: the world reports the GPU. samples: of a replica.
 */
int pipe_fit(void *self, const struct orr_args *args, double samples, uint32_t stages, uint32_t multiple, uint32_t first,
	pipe_layout lay_out, struct orr_error *err);

#endif
