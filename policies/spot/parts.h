/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * parts.h - the part of the model's state that each instance holds, and the parts that new pipelines must copy
 *
 * A part is an interval of the layers, in shares of the model's state: node j of a pipeline of d nodes holds [j/d, (j+1)/d). A
 * stage goes to a node that holds exactly its part, if such a node exists. The remaining stages go to nodes that hold other
 * parts, in order of the layers, then to nodes that hold nothing, pipeline by pipeline. A node copies missing parts from any
 * holder; all nodes copy concurrently (assumption: senders do not slow each other down).
 */
#ifndef ORR_SPOT_PARTS_H
#define ORR_SPOT_PARTS_H

#include <orrery/spot.h>

struct part {
	double lo, hi; /* hi 0: nothing */
	orr_inst inst;
	uint32_t order; /* nodes: by creation; stages: pipeline by pipeline */
	bool is_done;   /* stages: a node is assigned; nodes: a stage is assigned */
	double lacks;   /* share of each stage that its node must copy */
};

struct held {
	orr_inst inst;  /* instance that holds part number `kept` */
	uint32_t order; /* its position in the list of live instances, and whether it is usable, as of `listing` */
	bool is_usable;
	uint64_t listing;
};

struct interval {
	double lo, hi;
};

struct parts {
	struct held *held; /* by slot; holds nothing if inst is another instance */
	struct part *kept; /* the parts held, in order of the layers */
	uint32_t n_held, n_kept, cap_kept;
	uint64_t listing;
	struct part *node, *stage; /* nodes (those with parts in order of the layers, then the others) and stages of the last plan */
	orr_inst *empty;           /* nodes that hold nothing */
	struct part *sorted;       /* stages in order of the layers */
	uint32_t *next;            /* next stage of each pipeline that is not in `sorted` */
	struct interval *live;     /* parts held by live instances, in order of the layers */
	uint32_t cap, n_nodes, n_stages, n_live, n_empty;
};

/* Frees the parts. A struct of zeros is empty. */
void parts_free(struct parts *p);
/* Lists the usable nodes, which are ready and not given notice, and the parts held by all live instances. */
void parts_find_nodes(struct parts *p, struct orr_spot *w);
/* Returns whether the listed parts together are the whole state. */
bool parts_are_whole(const struct parts *p);
/* Assigns the stages of pipelines of these depths (at most n_nodes stages) to the listed nodes, pipeline by pipeline, in stage[i].inst.
 * Returns the largest share of the state that one node must copy; *copied: the sum over all nodes. */
double parts_assign(struct parts *p, const uint32_t *depth, uint32_t pipelines, double *copied);
/* Records that the nodes of stages now hold their parts and other nodes hold nothing. */
void parts_settle(struct parts *p);

#endif
