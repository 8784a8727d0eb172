/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pipeline.h - pipeline, tensor and data parallelism together
 *
 * What gpipe, one-f-one-b, interleaved, tensor-parallel and megatron share. The GPUs are a grid of
 * pp stages x dp replicas x tp shards. Lane t + tp * d holds the stages of shard t of replica d;
 * position p is pipeline stage p. A stage holds `chunks` parts of the model, part c * pp + p being
 * its chunk c. Each stage does its passes in the order of its schedule (schedule.h).
 *
 * A pass is: wait for the input; compute; the tensor-parallel collectives, which are not
 * overlapped; send on. At the end gradients are summed over replicas, and the stage updates its
 * parameters: a flush, so the next iteration of a stage begins after its update.
 */
#ifndef ORR_POLICIES_STEP_PIPELINE_H
#define ORR_POLICIES_STEP_PIPELINE_H

#include "schedule.h"
#include "stages.h"

#include <orrery/step.h>

#define PIPELINE_BATCH_PARAMS                                                                                                     \
	ORR_PARAM_INT("micro_batches", "0", 0, 1e6, "per replica and iteration; 0: as micro_batch says, or at most 4 per stage"), \
		ORR_PARAM_REAL("micro_batch", "0", 0, 1e9, "samples in a micro-batch; 0: as micro_batches says"),                 \
		ORR_PARAM_REAL("global_batch", "0", 0, 1e12, "samples per iteration over all replicas; 0: batch x GPUs")

/* Of pipelines without shards. */
#define PIPELINE_PLAIN_PARAMS                                                                                                 \
	ORR_PARAM_CHOICE("cut", "time", "time|blocks", "as short a longest stage as can be, or equally many blocks a stage"), \
		ORR_PARAM_CHOICE("order", "pp-dp", "pp-dp|dp-pp", "of GPUs, neighbours first: stages, or replicas of a stage")

#define PIPELINE_STAGE_PARAMS                                                                                                           \
	ORR_PARAM_LIST("stage_layers", "", "layers (or transformer blocks) of each stage, in model order; none: as cut says"),          \
		ORR_PARAM_LIST("stage_times", "",                                                                                       \
			"forward and backward seconds of a micro-batch, for each stage in model order or once for all; none: the cost " \
			"model's"),                                                                                                     \
		ORR_PARAM_CHOICE("recompute", "none", RECOMPUTE_CHOICES, RECOMPUTE_DOC),                                                \
		ORR_PARAM_REAL("p2p_bytes", "-1", -1, 1e18, "sent from stage to stage per micro-batch; -1: the activations"),           \
		ORR_PARAM_REAL("dp_bytes", "-1", -1, 1e18, "gradients of a stage as reduced over replicas; -1: the model's"),           \
		ORR_PARAM_REAL("update_s", "-1", -1, 1e9, "seconds of a stage's parameter update; -1: the cost model's"),               \
		ORR_PARAM_BOOL("overlap_p2p", true, "a stage goes on computing while it sends")

struct pipe_terms {
	uint32_t pp, tp, chunks; /* pp 0: as many as there are stage_times or GPUs */
	uint32_t dp_stride;      /* neighbours in the ring of replicas are so many replicas apart */
	enum schedule_kind schedule;
	bool by_time;     /* cut so that the longest stage is short; else equally many blocks */
	bool is_pp_inner; /* stages of a replica are neighbours; else replicas of a stage */
	bool sequence_parallel;
	bool gather_redo;    /* sequence parallel: backward gathers the inputs of products again */
	bool scatter_gather; /* shards send their part to the next stage, which gathers; else each sends all */
	bool zero;           /* ZeRO-1: optimizer state and update split over the replicas */
	bool dp_overlap;     /* a chunk's gradients are reduced after its last backward; else after the stage's */
	double tp_bytes;     /* of a tensor-parallel collective; < 0: the model's */
};

/* One chunk, no shards, as PIPELINE_PLAIN_PARAMS say. */
struct pipe_terms pipe_plain(const struct orr_args *args, enum schedule_kind schedule);
/* Reads the parameters above and makes lanes, cut and costs. NULL: *err says why. */
void *pipe_new(struct orr_step *s, const struct orr_args *args, const struct pipe_terms *t, struct orr_error *err);
void pipe_free(void *self);
int pipe_build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err);
void pipe_describe(void *self, char *out, size_t size);

/* How many micro-batches a replica makes of its samples. 0: *err says why. */
uint32_t pipe_micro_batches(const struct orr_args *args, double samples, uint32_t stages, struct orr_error *err);

#endif
