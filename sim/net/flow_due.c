/* SPDX-License-Identifier: GPL-3.0-or-later */
/* flow_due.c - the heaps of a flownet (waiting flows, links by next end, flows of a group) and the clocks of groups */
#include "net/flow_state.h"

#include "base/heap.h"

static inline bool is_before(const struct flownet *f, const struct timed *a, const struct timed *b)
{
	(void)f;
	return a->t < b->t || (a->t == b->t && a->order < b->order);
}

HEAP(wait, struct timed, const struct flownet, is_before, HEAP_UNTRACKED)

void flow_wait_push(struct flownet *f, double t, uint32_t flow)
{
	MEM_GROW(f->waiting, f->n_waiting, f->cap_waiting);
	wait_up(f, f->waiting, f->n_waiting++, (struct timed){ t, f->flow[flow].order, flow });
}

uint32_t flow_wait_pop(struct flownet *f)
{
	uint32_t first = f->waiting[0].id, n = --f->n_waiting;
	wait_down(f, f->waiting, n, 0, f->waiting[n]);
	return first;
}

/* ---- links, by the time at which the first flow of the group ends ---- */

static inline void due_moved(struct flownet *f, const struct timed *x, uint32_t i)
{
	f->link[x->id].due_at = i;
}

HEAP(due, struct timed, struct flownet, is_before, due_moved)

void flow_due_update(struct flownet *f, uint32_t link)
{
	struct net_link *l = &f->link[link];
	double left = f->flow[l->group[0]].due - l->clock;
	double wait_s = left <= 0 ? 0 : left / l->level; /* level 0: INFINITY */
	uint32_t at = l->due_at == FLOW_NONE ? f->n_due++ : l->due_at;
	due_place(f, f->due, f->n_due, at, (struct timed){ l->clock_time + wait_s, link, link });
}

static void due_remove(struct flownet *f, uint32_t link)
{
	uint32_t at = f->link[link].due_at;
	if (at == FLOW_NONE)
		return;
	f->link[link].due_at = FLOW_NONE;
	if (at != --f->n_due)
		due_place(f, f->due, f->n_due, at, f->due[f->n_due]);
}

/* ---- the flows of a group ---- */

static inline bool ends_before(const struct flownet *f, const uint32_t *a, const uint32_t *b)
{
	return f->flow[*a].due < f->flow[*b].due;
}

static inline void group_moved(struct flownet *f, const uint32_t *flow, uint32_t i)
{
	f->flow[*flow].at = i;
}

HEAP(group, uint32_t, struct flownet, ends_before, group_moved)

/* Returns the share of the link that the flow takes at level 1. */
static double share_of(const struct flownet *f, uint32_t link, uint32_t flow)
{
	const struct flow_path *p = &f->path[flow];
	double share = 0;
	for (uint32_t h = p->hop; h < p->hop + p->n_hops; h++)
		share += f->hop[h].link == link ? f->hop[h].share : 0;
	return share;
}

void flow_group_add(struct flownet *f, uint32_t link, uint32_t flow)
{
	struct net_link *l = &f->link[link];
	f->bottleneck[flow] = link;
	f->flow[flow].share = share_of(f, link, flow);
	l->group_share += f->flow[flow].share;
	if (l->n_group == l->cap_group) {
		l->cap_group = l->cap_group ? 2 * l->cap_group : 4;
		l->group = mem_realloc(l->group, l->cap_group, sizeof *l->group);
	}
	group_up(f, l->group, l->n_group++, flow);
}

void flow_group_remove(struct flownet *f, uint32_t flow)
{
	uint32_t link = f->bottleneck[flow], at = f->flow[flow].at;
	struct net_link *l = &f->link[link];
	f->bottleneck[flow] = FLOW_NONE;
	l->group_share -= f->flow[flow].share;
	if (at != --l->n_group)
		group_place(f, l->group, l->n_group, at, l->group[l->n_group]);
	if (l->n_group)
		return;
	due_remove(f, link);
	l->level = INFINITY;
	l->clock = l->group_share = l->lone_until = 0;
}

/* ---- the clock of a group ---- */

/* Restarts the clock at 0 before its large value makes remaining times imprecise. Amortised cost: one flow per restart. */
static void rewind_clock(struct flownet *f, struct net_link *l)
{
	if (++l->n_settings < l->n_group)
		return;
	l->group_share = 0; /* recomputed from scratch */
	for (uint32_t i = 0; i < l->n_group; i++) {
		f->flow[l->group[i]].due -= l->clock;
		l->group_share += f->flow[l->group[i]].share;
	}
	l->clock = 0;
	l->n_settings = 0;
}

void flow_set_clock(struct flownet *f, struct net_link *l)
{
	if (l->n_group) {
		l->clock = flow_clock(f, l);
		rewind_clock(f, l);
	}
	l->clock_time = f->now;
}
