/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * flow_state.h - what a flownet is made of; private to sim/net/flow*.c
 *
 * A draining flow belongs to the group of one link, its bottleneck, where it is among
 * the fastest. A group has a level (the rate of a flow of weight 1) and a virtual
 * clock that runs at that level; a flow ends when the clock reads its due, whatever
 * happens to the level in between. So a change of the level touches no flow.
 *
 * Invariants while nothing is touched or fresh: a link has a group if and only if its
 * level is finite; then its capacity is used up and no flow on it is faster than its
 * level. due[] is a heap of the links that have a group, by the time at which the first
 * of the group ends; a group is a heap of flows by due.
 */
#ifndef ORR_NET_FLOW_STATE_H
#define ORR_NET_FLOW_STATE_H

#include "net/flow.h"

#include "base/mem.h"

#include <math.h>

#define FLOW_NONE UINT32_MAX
/* In next[]: the flow is not part of the solve; it is, and has no rate yet. Else its bottleneck to be. */
#define FLOW_FIXED (UINT32_MAX - 1)
#define FLOW_RATELESS UINT32_MAX

enum flow_phase { FLOW_FREE, FLOW_WAITING, FLOW_DRAINING, FLOW_ENDED, FLOW_CANCELLED };

struct flow_path {
	uint32_t hop, n_hops;
};

struct net_flow {
	double bytes, weight;
	double due;          /* reading of its group's clock */
	double share;        /* of its bottleneck */
	uint64_t tag, order; /* order: of start */
	uint32_t at;         /* place in the group */
	uint8_t phase, room; /* room: log2 of the hops reserved */
};

struct net_hop {
	double share; /* load x weight: what it takes at level 1 */
	uint32_t link;
	uint32_t at; /* place in the link's entries, while it drains */
};

struct link_entry {
	double share; /* the hop's */
	uint32_t flow, hop;
	uint32_t peer; /* of a flow that takes two links, each with this share: the other; else FLOW_NONE */
};

struct net_link {
	double capacity, latency;
	double level;             /* INFINITY: no group */
	double clock, clock_time; /* the reading, and when */
	double used;              /* sum of share x level of the entries that have a level */
	double fixed_top;         /* no flow on it that has a level has a higher one */
	double group_share;       /* sum of the group's shares */
	double lone_until;        /* above 0: the group is lone, up to this level (flow_lone.c) */
	double carried;           /* by flows that have ended */
	struct link_entry *entry;
	uint32_t *group;
	uint32_t n_entries, cap_entries, n_group, cap_group;
	uint32_t n_updates;       /* of used, since it was summed afresh */
	uint32_t n_settings;      /* of the clock, since it began at 0 */
	uint32_t due_at;          /* place in due[] */
	bool is_touched, is_free; /* is_free: its group is part of the solve */
};

/* A link's part in a solve. */
struct link_fill {
	double room, weight;         /* what is left for flows without a rate, and their shares */
	double level;                /* at which it is the bottleneck of free flows; -1: it is not */
	double free_top;             /* the highest level given to one of its free flows */
	uint32_t n_free;             /* without a rate */
	uint32_t all_free;           /* 0 before a free flow was met */
	double all_room, all_weight; /* before any free flow has a rate */
	double weight_full;          /* weight when it was last summed afresh */
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

	/* By flow: apart, so that what a solve reads stays in the cache. */
	struct net_flow *flow;
	struct flow_path *path;
	uint32_t *bottleneck; /* the link whose group it belongs to; FLOW_NONE before the first solve */
	uint32_t *next;       /* during a solve; else FLOW_FIXED */
	uint32_t n_flows, cap_flows, n_active, n_draining;
	struct flow_list spare; /* slots to use again */
	struct net_hop *hop;
	uint32_t n_hops, cap_hops;
	uint32_t spare_hops[32]; /* by log2 of their number: the first block, whose first link names the next */
	uint64_t orders;

	struct timed *waiting; /* heap: flows in their latency, and those that need no bandwidth */
	uint32_t n_waiting, cap_waiting;
	struct timed *due; /* heap of links */
	uint32_t n_due;
	struct flow_list ended; /* from ended_first on: to be popped */
	double *ended_s;
	uint32_t ended_first, cap_ended_s;
	struct timed *sorted; /* scratch */
	uint32_t cap_sorted;

	/* What the next solve starts from, and its scratch. */
	struct flow_list touched, fresh, freed, free_groups, seen;
	struct offered *queue;
	uint32_t n_added; /* free groups that the links know of */
	uint32_t n_wide;  /* so many solves begin with all groups that may be concerned */
	double fixed_top; /* no fixed flow has a higher level; INFINITY: not known */
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
/* Puts the link where it belongs in due[]. */
void flow_due_update(struct flownet *f, uint32_t link);
void flow_set_clock(struct flownet *f, struct net_link *l); /* to now */

/* flow_lone.c */
enum { FLOW_USED_UNKNOWN = 1 << 30 };                  /* as n_updates */
void flow_make_lone(struct flownet *f, uint32_t link); /* if it is */
void flow_unlone(struct flownet *f, uint32_t link);
void flow_unlone_entries(struct flownet *f, uint32_t link); /* the lone group that has flows there, if any */
/* False, and nothing has happened, if others are concerned. */
bool flow_solve_lone(struct flownet *f);

/* flow_solve.c: gives fresh flows and those of touched links their rates. */
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
