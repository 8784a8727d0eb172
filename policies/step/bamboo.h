/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bamboo.h - declarations for the files of the step policy bamboo: stages and their placement
 *
 * A pipeline (a lane of the step world) is p nodes of one GPU each. Node i has stage i and, except in mode NONE, a replica of
 * stage (i + 1) % p. After the loss of node `failed`, the node before it, its shadow, computes both stages.
 */
#ifndef ORR_POLICIES_STEP_BAMBOO_H
#define ORR_POLICIES_STEP_BAMBOO_H

#include "schedule.h"
#include "stages.h"

#include <orrery/step.h>

enum redundancy { REDUNDANCY_NONE, REDUNDANCY_LAZY, REDUNDANCY_EAGER, REDUNDANCY_BOTH };

struct bamboo {
	uint32_t p, d, m;
	double samples, micro; /* samples of a pipeline, of a micro-batch */
	enum redundancy mode;
	uint32_t failed; /* UINT32_MAX: none */
	uint32_t redo;   /* number of micro-batches whose backward pass the shadow repeats at the start */
	bool has_sync, has_swap;
	double host_Bps, load_s, gradient_bytes;
	double *dp_bytes;                 /* bytes by stage; < 0: the bytes of the model */
	double tied_params;               /* parameters of a table shared by the first and the last stage; 0: none */
	struct stage *stage, *copy_of;    /* by stage: on its node; on the node with its replica */
	double *update_s, *copy_update_s; /* by stage, on these nodes */
	struct pass *order;               /* order of passes: 2 m of each stage */
	/* State of the iteration under construction; tail and fresh carry over to the next. */
	uint32_t *next;                   /* number of passes built, by stage */
	orr_op *tail;                     /* ops that the next pass waits for, by stage */
	orr_op *fresh;                    /* op after which the replica is up to date, by node */
	orr_op *reduced;                  /* sum of the gradients over pipelines, by stage */
	orr_op *replica;                  /* latest redundant pass outside the order, by node */
	orr_op *forward_in, *backward_in; /* arrival of the input, [stage * m + micro] */
	orr_op *copy;                     /* gradient from which the replica's backward pass starts, [stage * m + micro] */
	orr_op *swapped;                  /* activations of the replica's forward pass are in the host's memory, [node * m + micro] */
};

/* Returns the node that computes a stage. */
static inline uint32_t bamboo_node(const struct bamboo *b, uint32_t stage)
{
	return stage == b->failed ? (stage + b->p - 1) % b->p : stage;
}
/* Returns whether the node keeps a replica of the stage after its own. The lost node and its shadow keep none. */
static inline bool bamboo_has_replica(const struct bamboo *b, uint32_t node)
{
	bool is_out = b->failed != UINT32_MAX && (node == b->failed || node == bamboo_node(b, b->failed));
	return b->mode != REDUNDANCY_NONE && b->p > 1 && !is_out;
}
static inline uint32_t bamboo_next(const struct bamboo *b, uint32_t node)
{
	return (node + 1) % b->p;
}

/* Returns the parameters of a stage on its node, including the tied table on the last. */
static inline double bamboo_params(const struct bamboo *b, uint32_t stage)
{
	return b->stage[stage].params + (stage && stage + 1 == b->p ? b->tied_params : 0);
}

/* Cuts the model and fills in stage[]; times given by the user take precedence. */
int bamboo_stages(struct bamboo *b, struct orr_step *s, const struct orr_args *args, struct orr_error *err);
/*
 * Returns the least free memory of a GPU at its peak, bytes; < 0: it is short; -INFINITY: without activations, too. copies: redundant
 * forward passes of which a node keeps the activations, at most as many as it has micro-batches in flight. Nodes that replace a lost one
 * are not included.
 */
double bamboo_spare(const struct bamboo *b, const struct orr_step *s, uint32_t copies);
/* Sets up lanes, memory and update_s[]. */
void bamboo_place(struct bamboo *b, struct orr_step *s, double update_s);

#endif
