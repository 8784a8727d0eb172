/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * parts.h - which part of the model's state each instance holds, and what a new set of pipelines must copy
 *
 * A part is an interval of the layers, as shares of the model's state: of a pipeline of d nodes the j-th holds [j/d, (j+1)/d).
 * Stages that need just what somebody holds go to that one; others that hold something are handed the rest in order of the
 * layers, and those that hold nothing what is left then, pipeline by pipeline. What a node then lacks it gets from any that holds it, all
 * nodes at once (assumes that senders do not slow each other down).
 */
#ifndef ORR_SPOT_PARTS_H
#define ORR_SPOT_PARTS_H

#include <orrery/spot.h>

struct part {
	double lo, hi; /* hi 0: none */
	orr_inst inst;
	uint32_t order; /* of nodes: of creation; of stages: pipeline by pipeline */
	double lacks;   /* of stages: what their node has to get */
	bool is_done;   /* has a match */
};

struct parts {
	struct part *held; /* by slot: what is held; a wrong inst: nothing */
	uint32_t n_held;
	struct part *node, *stage; /* of the last plan */
	uint32_t cap, n_nodes, n_stages;
};

/* Zeroed memory is an empty one. */
void parts_free(struct parts *p);
/* The nodes that can take part: ready, not noticed. False without memory; the run ends then. */
void parts_find_nodes(struct parts *p, struct orr_spot *w);
/* Do those that are live hold all of it between them? */
bool parts_are_whole(const struct parts *p, const struct orr_spot *w);
/* Gives the stages of pipelines of those depths (n_nodes at most in all) to nodes: stage[i].inst, pipeline by pipeline. The
 * greatest share of the state that one node must get; copied: the sum of all. */
double parts_assign(struct parts *p, const uint32_t *depth, uint32_t pipelines, double *copied);
/* The stages' nodes hold their parts now, nobody else holds anything. */
void parts_settle(struct parts *p);
/* Nobody holds anything. */
void parts_forget(struct parts *p);

#endif
