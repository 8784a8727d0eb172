/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * flow_state.h - internal state of a flownet: private to sim/net/flow*.c
 *
 * A draining flow belongs to the group of one link, its bottleneck, on which it is among the fastest. A group has a level (the
 * rate of a flow of weight 1) and a virtual clock that runs at that level. A flow ends when the clock reaches its `due`, even
 * if the level changes before, so a change of the level needs no work per flow.
 *
 * Invariants while no link is touched and no flow is fresh: a link has a group if and only if its level is finite; then it is
 * saturated and no flow on it is faster than its level. due[] is a heap of the links with a group, by the time at which the
 * first flow of the group ends. A group is a heap of flows by `due`.
 */
#ifndef ORR_NET_FLOW_STATE_H
#define ORR_NET_FLOW_STATE_H

#include "net/flow.h"

#include "base/mem.h"

#include <math.h>

#define FLOW_NONE UINT32_MAX
/* Values of next[]: FIXED: not part of the solve; RATELESS: part of it without a rate yet; other values: the new bottleneck. */
#define FLOW_FIXED (UINT32_MAX - 1)
#define FLOW_RATELESS UINT32_MAX

enum flow_phase { FLOW_FREE, FLOW_WAITING, FLOW_DRAINING, FLOW_ENDED, FLOW_CANCELLED };

struct flow_path {
	uint32_t hop, n_hops;
};

struct net_flow {
	double bytes, weight;
	double due;          /* reading of the group's clock at which the flow ends */
	double share;        /* share of the flow (load x weight) on its bottleneck */
	uint64_t tag, order; /* order: number in the order of starts */
	uint32_t at;         /* index of the flow in the group */
	uint8_t phase, room; /* room: log2 of the number of reserved hops */
};

struct net_hop {
	double share; /* load x weight: rate of the flow on the link at level 1 */
	uint32_t link;
	uint32_t at; /* index of the flow in the entries of the link, while the flow drains */
};

struct link_entry {
	double share; /* share of the flow on the link of the hop */
	uint32_t flow, hop;
	uint32_t peer; /* the other link of a flow that has exactly two links with this share; else FLOW_NONE */
};

struct net_link {
	double capacity, latency;
	double level;             /* INFINITY: no group */
	double clock, clock_time; /* the clock's reading at clock_time */
	double used;              /* sum of share x level over entries with a level */
	double fixed_top;         /* upper bound on the levels of the fixed flows of the link */
	double group_share;       /* sum of the group's shares */
	double lone_until;        /* above 0: the group is lone, up to this level (flow_lone.c) */
	double carried;           /* bytes carried by flows that have ended */
	struct link_entry *entry;
	uint32_t *group;
	uint32_t n_entries, cap_entries, n_group, cap_group;
	uint32_t n_updates;       /* number of updates of `used` since it was last recomputed */
	uint32_t n_settings;      /* number of updates of the clock since it last started at 0 */
	uint32_t due_at;          /* place in due[] */
	bool is_touched, is_free; /* is_free: the group of the link is part of the solve */
};

/* State of a link during a solve. */
struct link_fill {
	double room, weight;         /* capacity left for flows without a rate; sum of the shares of these flows */
	double level;                /* level at which the link is the bottleneck of free flows; -1: it is no bottleneck */
	double free_top;             /* highest level of one of its free flows */
	uint32_t n_free;             /* number of flows without a rate */
	uint32_t all_free;           /* number of free flows; 0: the link is not part of this solve yet */
	double all_room, all_weight; /* values of room and weight before any free flow has a rate */
	double weight_full;          /* value of weight when it was last recomputed */
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

	/* Arrays by flow, separate so that a solve reads contiguous memory. */
	struct net_flow *flow;
	struct flow_path *path;
	uint32_t *bottleneck; /* the link to whose group the flow belongs; FLOW_NONE before the first solve */
	uint32_t *next;       /* values during a solve; outside a solve, FLOW_FIXED */
	uint32_t n_flows, cap_flows, n_active, n_draining;
	struct flow_list spare; /* free slots */
	struct net_hop *hop;
	uint32_t n_hops, cap_hops;
	uint32_t spare_hops[32]; /* free blocks by log2 of their size; the first entry of a block is the next block */
	uint64_t orders;

	struct timed *waiting; /* heap of flows in their latency, and of flows without bytes or links */
	uint32_t n_waiting, cap_waiting;
	struct timed *due; /* heap of links */
	uint32_t n_due;
	struct flow_list ended; /* ended flows; those from ended_first on have not been popped */
	double *ended_s;
	uint32_t ended_first, cap_ended_s;
	struct timed *sorted; /* scratch */
	uint32_t cap_sorted;

	/* Input of the next solve, and its scratch memory. */
	struct flow_list touched, fresh, freed, free_groups, seen;
	struct offered *queue;
	uint32_t n_added; /* number of free groups registered with the links */
	uint32_t n_wide;  /* number of coming solves that free all affected groups at once */
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
/* Removes a flow from its group. An empty group loses its level and its place in due[]. */
void flow_group_remove(struct flownet *f, uint32_t flow);
/* Moves the link to its place in due[]. */
void flow_due_update(struct flownet *f, uint32_t link);
void flow_set_clock(struct flownet *f, struct net_link *l); /* advances the clock to the present */

/* flow_lone.c: a group is lone if its changes affect no other group */
enum { FLOW_USED_UNKNOWN = 1 << 30 };                  /* unknown: a value of n_updates */
void flow_make_lone(struct flownet *f, uint32_t link); /* marks the group of the link, if the group is lone */
void flow_unlone(struct flownet *f, uint32_t link);
void flow_unlone_entries(struct flownet *f, uint32_t link); /* clears the marks of lone groups that have flows on the link */
/* Solves a change that affects lone groups only. Returns false, without effect, if it affects other groups. */
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
