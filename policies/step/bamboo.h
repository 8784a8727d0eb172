/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bamboo.h - shared by the files of the step policy bamboo: its stages and their placement
 *
 * A pipeline (a lane of the step world) is p nodes of one GPU each. Node i has stage i and, except in mode NONE, a replica
 * of stage (i + 1) % p. After the loss of node `failed`, the node before it, its shadow, does both stages.
 */
#ifndef ORR_POLICIES_STEP_BAMBOO_H
#define ORR_POLICIES_STEP_BAMBOO_H

#include "schedule.h"
#include "stages.h"

#include <orrery/step.h>

enum redundancy { REDUNDANCY_NONE, REDUNDANCY_LAZY, REDUNDANCY_EAGER, REDUNDANCY_BOTH };

struct bamboo {
	uint32_t p, d, m;
	double micro; /* samples */
	enum redundancy mode;
	uint32_t failed; /* UINT32_MAX: none */
	uint32_t redo;   /* micro-batches whose backward pass the shadow repeats at the start */
	bool has_sync, has_swap;
	double host_Bps, load_s, gradient_bytes;
	double *dp_bytes;   /* by stage; < 0: the model's */
	double tied_params; /* of a table shared by the first and the last stage; 0: none */
	struct stage *stage;
	double *update_s;   /* by stage */
	struct pass *order; /* 2 m of each stage */
	/* State of the iteration that is built; tail and fresh carry over to the next. */
	uint32_t *next;                   /* by stage: passes built */
	orr_op *tail;                     /* by stage: what its next pass waits for */
	orr_op *fresh;                    /* by node: its replica is up to date */
	orr_op *reduced;                  /* by stage: the sum of its gradients over pipelines */
	orr_op *replica;                  /* by node: its latest redundant pass outside the order */
	orr_op *forward_in, *backward_in; /* [stage * m + micro]: arrival of its input */
	orr_op *copy;                     /* [stage * m + micro]: the gradient that the replica's backward starts from */
	orr_op *swapped;                  /* [node * m + micro]: the activations of the replica's forward are in the host's memory */
};

/* The node that does the work of a stage. */
static inline uint32_t bamboo_node(const struct bamboo *b, uint32_t stage)
{
	return stage == b->failed ? (stage + b->p - 1) % b->p : stage;
}
/* Returns whether the node keeps a replica of the stage after its own. The lost node and its shadow do not. */
static inline bool bamboo_has_replica(const struct bamboo *b, uint32_t node)
{
	bool is_out = b->failed != UINT32_MAX && (node == b->failed || node == bamboo_node(b, b->failed));
	return b->mode != REDUNDANCY_NONE && b->p > 1 && !is_out;
}
static inline uint32_t bamboo_next(const struct bamboo *b, uint32_t node)
{
	return (node + 1) % b->p;
}

/* Cuts the model and fills in stage[]; the user's times take precedence. */
int bamboo_stages(struct bamboo *b, struct orr_step *s, const struct orr_args *args, struct orr_error *err);
/* Sets up lanes, memory and update_s[]. */
void bamboo_place(struct bamboo *b, struct orr_step *s, double update_s);

#endif
