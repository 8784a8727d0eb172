/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * zero_bubble.h - pipelines whose backward pass is split in two
 *
 * Used by zb-h1, zb-h2, zb, zb-v, v-half, v-min, dual-pipe, dual-pipe-v and given-order. A backward pass is split into B, the
 * gradient of the input, for which the previous stage waits, and W, the gradient of the weights, for which only the optimizer
 * waits. D is both in one op. A pair is a forward of one chunk overlapped with a D of the other, as one op.
 *
 * Each policy makes the order of the ops of each stage (a generator); zero_bubble.c measures the model, builds the graph and
 * runs each stage strictly in its order. An op starts when the stage is free and the output of its producer has arrived.
 *
 * Placement of the model's parts on stages 0..p-1:
 *
 *	ZB_STRAIGHT   one chunk: part s on stage s
 *	ZB_V          two chunks: parts s and 2p-1-s on stage s; the loss is on stage 0
 *	ZB_BOTH_ENDS  p parts, each on two stages: micro-batches of direction 0 pass part s on stage s, those of direction 1 part p-1-s.
 *	              The two copies sum their gradients at the end
 *
 * Sources: zero-bubble schedules, Qi et al., arXiv 2401.10241; V placement, Qi et al., arXiv 2405.15362, with the authors' code
 * (sail-sg/zero-bubble-pipeline-parallelism); DualPipe, DeepSeek-AI, arXiv 2412.19437, with the authors' code (deepseek-ai/DualPipe).
 */
#ifndef ORR_POLICIES_STEP_ZERO_BUBBLE_H
#define ORR_POLICIES_STEP_ZERO_BUBBLE_H

#include "pipeline.h"

enum zb_kind { ZB_F, ZB_B, ZB_W, ZB_D, ZB_KINDS };
enum zb_placement { ZB_STRAIGHT, ZB_V, ZB_BOTH_ENDS };

struct zb_pass {
	uint8_t kind;   /* enum zb_kind */
	uint8_t chunk;  /* with ZB_BOTH_ENDS: direction */
	bool joins;     /* a forward overlapped with the next pass of the list, a ZB_D: a pair */
	uint32_t micro; /* with ZB_BOTH_ENDS: number within its direction */
};

/* The ops of one stage in order. */
struct zb_order {
	struct zb_pass *pass;
	uint32_t n, cap;
};

/* Input and output of a generator. Values of chunk c on stage s are at [c * p + s]. */
struct zb_plan {
	uint32_t p, m; /* stages, micro-batches (of both directions together) */
	enum zb_placement placement;
	double *seconds[3];     /* seconds of F, B and W */
	double *bytes[3];       /* F > 0: taken; B, W <= 0: freed. Their sum is 0 */
	double hop_s;           /* seconds of a message between two stages */
	double limit;           /* bytes of activations of a stage; INFINITY: none */
	struct zb_order *order; /* result, by stage */
	bool names_chunk;       /* ops are named F0.3 instead of F3 and f3; always with ZB_BOTH_ENDS */
	char choice[32];        /* setting of a heuristic that gave the order, for the policy's line; "": none */
};
typedef int (*zb_generate)(struct zb_plan *plan, const struct orr_args *args, struct orr_error *err);

#define ZB_PARAMS                                                                                                                          \
	ORR_PARAM_INT("stages", "0", 0, 1e6, "stages of the pipeline; 0: one per GPU"), PIPELINE_BATCH_PARAMS, PIPELINE_PLAIN_PARAMS,      \
		ORR_PARAM_LIST(                                                                                                            \
			"stage_layers", "", "layers (or transformer blocks) of each part of the model in order; none: given by cut"),      \
		ORR_PARAM_LIST("stage_times", "",                                                                                          \
			"seconds of a micro-batch in a part of the model: forward, gradient of the input, gradient of the weights, once "  \
			"for all parts or for each part in model order; none: the cost model's"),                                          \
		ORR_PARAM_LIST("op_memory", "",                                                                                            \
			"activation bytes taken by a forward (above 0), and those that the gradient of the input and the gradient of "     \
			"the weights free (at most 0), with a sum of 0: once for all parts or for each part; none: the model's "           \
			"activations, freed by the gradient of the weights"),                                                              \
		ORR_PARAM_REAL("hop_s", "-1", -1, 1e9, "seconds of each message between stages; -1: sent on the network"),                 \
		ORR_PARAM_REAL("p2p_bytes", "-1", -1, 1e18, "bytes sent from stage to stage per micro-batch; -1: the activations"),        \
		ORR_PARAM_LIST("dp_bytes", "-1",                                                                                           \
			"bytes of a stage's gradients reduced over replicas, once for all stages or for each stage; -1: the model's"),     \
		ORR_PARAM_REAL("update_s", "-1", -1, 1e9, "seconds of a stage's parameter update; -1: the cost model's"),                  \
		ORR_PARAM_BOOL("post_validation", true,                                                                                    \
			"each stage updates as soon as its gradients are complete, and the global norm is checked afterwards; false: all " \
			"stages wait for the norm")

#define ZB_PAIR_PARAM \
	ORR_PARAM_REAL("pair_s", "-1", -1, 1e9, "seconds of a pair (forward overlapped with a whole backward); -1: the sum of the two")
#define ZB_LIMIT_PARAMS                                                                                                       \
	ORR_PARAM_REAL("depth", "0", 0, 1e6,                                                                                  \
		"limit on the activations of a stage, in units of the most that 1F1B keeps on a stage (1: ZB-1p, 2: ZB-2p); " \
		"0: 1; if no order is found, that of equal parts"),                                                           \
		ORR_PARAM_REAL("max_memory", "0", -1, 1e18, "the same limit in bytes; 0: given by depth; -1: no limit")

/* Creates the policy's object. Returns NULL with *err filled in on error. */
void *zb_new(struct orr_step *s, const struct orr_args *args, enum zb_placement placement, zb_generate generate, bool has_limit,
	struct orr_error *err);
void zb_free(void *self);
int zb_build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err);
void zb_describe(void *self, char *out, size_t size);

#define ZB_OPS(create_function)                                                                             \
	{                                                                                                   \
		.create = (create_function), .destroy = zb_free, .build = zb_build, .describe = zb_describe \
	}

/* ---- zb_order.c ---- */
void zb_put(struct zb_order *o, enum zb_kind kind, uint32_t chunk, uint32_t micro);
void zb_put_pair(struct zb_order *o, uint32_t forward_chunk, uint32_t forward, uint32_t backward_chunk, uint32_t backward);
static inline uint32_t zb_chunks(enum zb_placement placement)
{
	return placement == ZB_STRAIGHT ? 1 : 2;
}
/* Returns the number of micro-batches of one chunk. */
static inline uint32_t zb_micros(const struct zb_plan *plan)
{
	return plan->placement == ZB_BOTH_ENDS ? plan->m / 2 : plan->m;
}
/* Writes the name of a pass: F3, B3, W3 with one chunk; with ZB_V as the authors write it: F, W of the first and f, w of the second op of a
 * kind that a micro-batch runs on a stage (so B and W are those of chunk 1); with names_chunk F0.3, D1.2, .. */
void zb_name(const struct zb_plan *plan, const struct zb_pass *x, char out[32]);
/* Reads rows STAGE,ORDER, the ops separated by blanks. */
int zb_read(struct zb_plan *plan, const char *file, const char *text, size_t n, struct orr_error *err);
/* Checks that each stage has each op once, W after B after F. */
int zb_check(const struct zb_plan *plan, struct orr_error *err);

#endif
