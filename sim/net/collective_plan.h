/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collective_plan.h - the stages that plans are put together from: for collective*.c alone */
#ifndef ORR_NET_COLLECTIVE_PLAN_H
#define ORR_NET_COLLECTIVE_PLAN_H

#include "net/collective.h"

void plan_send(struct coll_plan *p, struct coll_send s);
/* The sends since the last phase, so many times; none: no phase. */
void plan_phase(struct coll_plan *p, uint32_t repeat);

static inline uint32_t floor_log2(uint32_t n)
{
	return 31 - (uint32_t)__builtin_clz(n);
}

/* Trees and chains (collective_tree.c): edges by depth, chunks follow one another. */
struct pipeline {
	uint32_t depth;  /* of the deepest edge */
	uint32_t *first; /* [depth + 2]: edges of depth d are first[d] .. first[d + 1] - 1 */
	struct pipe_edge {
		uint32_t parent, child, half;
	} * edge;
	uint32_t chunks; /* of each half */
};
/* n >= 2 ranks. A chain from (or to) root; a double tree of all ranks, or below root if `is_rooted`. */
void pipeline_chain(struct pipeline *p, uint32_t n, uint32_t root, uint32_t chunks);
void pipeline_double_tree(struct pipeline *p, uint32_t n, bool is_rooted, uint32_t root, uint32_t chunks);
void pipeline_free(struct pipeline *p);
/* Adds the phases; ranks are r * rank_step + rank_first, for each of `groups` groups, group_step apart. */
struct pipe_ranks {
	uint32_t step, groups, group_step;
};
void pipeline_plan(struct coll_plan *plan, const struct pipeline *p, bool is_up, double piece_bytes, struct pipe_ranks r);
/* Rounds, and chunks that follow one another through the busiest NIC in all of them. */
void double_tree_rounds(uint32_t n, bool is_rooted, uint32_t chunks, double *rounds, double *loads);

#endif
