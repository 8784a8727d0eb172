/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * flow_state.h - internal state of a flownet: private to sim/net/flow*.c
 *
 * A draining flow belongs to the group of one link, its bottleneck, on which it is among the fastest. A group has a level
 * (the rate of a flow of weight 1) and a virtual clock that runs at that level. A flow ends when the clock reaches its due,
 * even if the level changes before. So a change of the level needs no work per flow.
 *
 * Invariants while nothing is touched or fresh: a link has a group if and only if its level is finite; then it is saturated
 * and no flow on it is faster than its level. due[] is a heap of the links with a group, by the time at which the first
 * flow of the group ends. A group is a heap of flows by due.
 */
#ifndef ORR_NET_FLOW_STATE_H
#define ORR_NET_FLOW_STATE_H

#include "net/flow.h"

#include "base/mem.h"

#include <math.h>

#define FLOW_NONE UINT32_MAX
/* Values of next[]: FIXED, not part of the solve; RATELESS, part of it but without a rate yet; else the new bottleneck. */
#define FLOW_FIXED (UINT32_MAX - 1)
#define FLOW_RATELESS UINT32_MAX

enum flow_phase { FLOW_FREE, FLOW_WAITING, FLOW_DRAINING, FLOW_ENDED, FLOW_CANCELLED };

struct flow_path {
	uint32_t hop, n_hops;
};

struct net_flow {
	double bytes, weight;
	double due;          /* reading of its group's clock at which it ends */
	double share;        /* of its bottleneck */
	uint64_t tag, order; /* order: of start */
	uint32_t at;         /* place in the group */
	uint8_t phase, room; /* room: log2 of the hops reserved */
};

struct net_hop {
	double share; /* load x weight: the rate it takes at level 1 */
	uint32_t link;
	uint32_t at; /* position in the link's entries, while it drains */
};

struct link_entry {
	double share; /* of the hop */
	uint32_t flow, hop;
	uint32_t peer; /* if the flow has two links with this share: the other link; else FLOW_NONE */
};

struct net_link {
	double capacity, latency;
	double level;             /* INFINITY: no group */
	double clock, clock_time; /* the clock's reading at clock_time */
	double used;              /* sum of share x level over entries with a level */
	double fixed_top;         /* upper bound on the levels of its flows */
	double group_share;       /* sum of the group's shares */
	double lone_until;        /* above 0: the group is lone, up to this level (flow_lone.c) */
	double carried;           /* bytes carried by flows that have ended */
	struct link_entry *entry;
	uint32_t *group;
	uint32_t n_entries, cap_entries, n_group, cap_group;
	uint32_t n_updates;       /* of used, since it was last recomputed */
	uint32_t n_settings;      /* of the clock, since it last started at 0 */
	uint32_t due_at;          /* place in due[] */
	bool is_touched, is_free; /* is_free: its group is part of the solve */
};

/* State of a link during a solve. */
struct link_fill {
	double room, weight;         /* capacity left for flows without a rate, and the sum of their shares */
	double level;                /* level at which it is the bottleneck of free flows; -1: it is not */
	double free_top;             /* the highest level given to one of its free flows */
	uint32_t n_free;             /* without a rate */
	uint32_t all_free;           /* 0: not seen in this solve */
	double all_room, all_weight; /* values of room and weight before any free flow has a rate */
	double weight_full;          /* weight when it was last recomputed */
};

struct timed {
	double t;
	uint64_t order;
	uint32_t id;
};

struct offered {
	double level;
	uint32_t link;
};

struct flow_list {
	uint32_t *v;
	uint32_t n, cap;
};

struct flownet {
	double now;
	enum flow_fairness fairness;
	struct net_link *link;
	struct link_fill *fill;
	uint32_t n_links;

	/* By flow. Separate arrays, so that a solve reads contiguous memory. */
	struct net_flow *flow;
	struct flow_path *path;
	uint32_t *bottleneck; /* the link whose group it belongs to; FLOW_NONE before the first solve */
	uint32_t *next;       /* during a solve; else FLOW_FIXED */
	uint32_t n_flows, cap_flows, n_active, n_draining;
	struct flow_list spare; /* free slots */
	struct net_hop *hop;
	uint32_t n_hops, cap_hops;
	uint32_t spare_hops[32]; /* free blocks by log2 of their size; the first link of a block names the next */
	uint64_t orders;

	struct timed *waiting; /* heap: flows in their latency, and those without bytes or links */
	uint32_t n_waiting, cap_waiting;
	struct timed *due; /* heap of links */
	uint32_t n_due;
	struct flow_list ended; /* those from ended_first on have not been popped */
	double *ended_s;
	uint32_t ended_first, cap_ended_s;
	struct timed *sorted; /* scratch */
	uint32_t cap_sorted;

	/* Input of the next solve, and its scratch memory. */
	struct flow_list touched, fresh, freed, free_groups, seen;
	struct offered *queue;
	uint32_t n_added; /* free groups registered with the links */
	uint32_t n_wide;  /* number of solves to come that free all affected groups at once */
	double fixed_top; /* upper bound on the levels of fixed flows; INFINITY: unknown */
};

static inline void flow_list_add(struct flow_list *l, uint32_t x)
{
	MEM_GROW(l->v, l->n, l->cap);
	l->v[l->n++] = x;
}

static inline void flow_list_reserve(struct flow_list *l, uint32_t n)
{
	if (n <= l->cap)
		return;
	l->cap = n > 2 * l->cap ? n : 2 * l->cap;
	l->v = mem_realloc(l->v, l->cap, sizeof *l->v);
}

/* flow_due.c: heaps and clocks */
void flow_wait_push(struct flownet *f, double t, uint32_t flow);
uint32_t flow_wait_pop(struct flownet *f);
void flow_group_add(struct flownet *f, uint32_t link, uint32_t flow);
/* A group that becomes empty loses its level and its place in due[]. */
void flow_group_remove(struct flownet *f, uint32_t flow);
/* Moves the link to its place in due[]. */
void flow_due_update(struct flownet *f, uint32_t link);
void flow_set_clock(struct flownet *f, struct net_link *l); /* up to now */

/* flow_lone.c */
enum { FLOW_USED_UNKNOWN = 1 << 30 };                  /* a value of n_updates */
void flow_make_lone(struct flownet *f, uint32_t link); /* marks the link's group as lone, if it is */
void flow_unlone(struct flownet *f, uint32_t link);
void flow_unlone_entries(struct flownet *f, uint32_t link); /* clears the mark of the lone group that has flows on the link, if any */
/* Solves a change that affects lone groups only. Returns false, with no change made, if it affects others. */
bool flow_solve_lone(struct flownet *f);

/* flow_solve.c: computes the rates of fresh flows and of flows on touched links. */
void flow_solve(struct flownet *f);
static inline bool flow_is_settled(const struct flownet *f)
{
	return f->touched.n == 0 && f->fresh.n == 0;
}

static inline double flow_clock(const struct flownet *f, const struct net_link *l)
{
	return l->clock + l->level * (f->now - l->clock_time);
}

#endif
