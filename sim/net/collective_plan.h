/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collective_plan.h - building blocks of plans: private to collective*.c */
#ifndef ORR_NET_COLLECTIVE_PLAN_H
#define ORR_NET_COLLECTIVE_PLAN_H

#include "net/collective.h"

void plan_send(struct coll_plan *p, struct coll_send s);
/* Ends a phase with the sends since the last one, repeated `repeat` times. Adds no phase if there were no sends. */
void plan_phase(struct coll_plan *p, uint32_t repeat);

static inline uint32_t floor_log2(uint32_t n)
{
	return 31 - (uint32_t)__builtin_clz(n);
}

/* A tree or chain (collective_tree.c): edges sorted by depth; the chunks are pipelined. */
struct pipeline {
	uint32_t depth;  /* depth of the deepest edge */
	uint32_t *first; /* depth + 2 entries: edges of depth d are first[d] .. first[d + 1] - 1 */
	struct pipe_edge {
		uint32_t parent, child, half;
	} * edge;
	uint32_t chunks; /* chunks of each half */
	bool is_stream;  /* messages of a pair after its first have no latency */
};
/* Make a pipeline for n >= 2 ranks: a chain from (or to) root; a double tree of all ranks, or below root if is_rooted. */
void pipeline_chain(struct pipeline *p, uint32_t n, uint32_t root, uint32_t chunks);
void pipeline_double_tree(struct pipeline *p, uint32_t n, bool is_rooted, uint32_t root, uint32_t chunks);
/* Makes trees over the islands of the shape: for each entry rank, two trees of these ranks. The other ranks of an island are below
 * its entry rank, as a chain or (is_star) all at once. */
void pipeline_islands(struct pipeline *p, const struct coll_shape *s, bool is_star, uint32_t chunks);
void pipeline_free(struct pipeline *p);
/* Adds the phases of a pipeline for each of `groups` groups, group_step apart; rank r of the pipeline is rank r * step of the group. */
struct pipe_ranks {
	uint32_t step, groups, group_step;
};
void pipeline_plan(struct coll_plan *plan, const struct pipeline *p, bool is_up, double piece_bytes, struct pipe_ranks r);
/* Return the number of rings, or double trees, of a per-NIC algorithm; the place in an island at which number c enters it. */
uint32_t coll_rings(const struct coll_shape *s);
uint32_t coll_entry(const struct coll_shape *s, uint32_t c);
/* Returns the number of rounds of a multi-ring stage in which a message between islands has its latency. */
uint32_t multi_ring_late_rounds(const struct coll_shape *s);
/* Computes the rounds of a double tree, and the sum over rounds of chunks through the busiest NIC. */
void double_tree_rounds(uint32_t n, bool is_rooted, uint32_t chunks, double *rounds, double *loads);

#endif
