/* SPDX-License-Identifier: GPL-3.0-or-later */
/* flow_due.c - the three heaps of a flownet: flows that wait, links by next end, flows of a group */
#include "net/flow_state.h"

static bool is_before(const struct timed *a, const struct timed *b)
{
	return a->t < b->t || (a->t == b->t && a->order < b->order);
}

void flow_wait_push(struct flownet *f, double t, uint32_t flow)
{
	MEM_GROW(f->waiting, f->n_waiting, f->cap_waiting);
	struct timed x = { t, f->flow[flow].order, flow };
	uint32_t i = f->n_waiting++;
	for (; i && is_before(&x, &f->waiting[(i - 1) / 2]); i = (i - 1) / 2)
		f->waiting[i] = f->waiting[(i - 1) / 2];
	f->waiting[i] = x;
}

uint32_t flow_wait_pop(struct flownet *f)
{
	struct timed *h = f->waiting, x = h[--f->n_waiting];
	uint32_t first = h[0].id, n = f->n_waiting, i = 0;
	for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && is_before(&h[child + 1], &h[child]))
			child++;
		if (!is_before(&h[child], &x))
			break;
		h[i] = h[child];
	}
	h[i] = x;
	return first;
}

/* ---- links by the time at which the first flow of the group ends ---- */

static void due_put(struct flownet *f, uint32_t i, struct timed x)
{
	f->due[i] = x;
	f->link[x.id].due_at = i;
}

/* Finds the place for x from the hole at i. */
static void due_sift(struct flownet *f, uint32_t i, struct timed x)
{
	for (; i && is_before(&x, &f->due[(i - 1) / 2]); i = (i - 1) / 2)
		due_put(f, i, f->due[(i - 1) / 2]);
	for (uint32_t child; (child = 2 * i + 1) < f->n_due; i = child) {
		if (child + 1 < f->n_due && is_before(&f->due[child + 1], &f->due[child]))
			child++;
		if (!is_before(&f->due[child], &x))
			break;
		due_put(f, i, f->due[child]);
	}
	due_put(f, i, x);
}

void flow_due_update(struct flownet *f, uint32_t link)
{
	struct net_link *l = &f->link[link];
	double left = f->flow[l->group[0]].due - l->clock;
	double wait_s = left <= 0 ? 0 : left / l->level; /* level 0: INFINITY */
	struct timed x = { l->clock_time + wait_s, link, link };
	due_sift(f, l->due_at == FLOW_NONE ? f->n_due++ : l->due_at, x);
}

static void due_remove(struct flownet *f, uint32_t link)
{
	uint32_t at = f->link[link].due_at;
	if (at == FLOW_NONE)
		return;
	f->link[link].due_at = FLOW_NONE;
	if (at != --f->n_due)
		due_sift(f, at, f->due[f->n_due]);
}

/* ---- the flows of a group ---- */

static void group_put(struct flownet *f, struct net_link *l, uint32_t i, uint32_t flow)
{
	l->group[i] = flow;
	f->flow[flow].at = i;
}

static void group_sift(struct flownet *f, struct net_link *l, uint32_t i, uint32_t flow)
{
	double due = f->flow[flow].due;
	for (; i && due < f->flow[l->group[(i - 1) / 2]].due; i = (i - 1) / 2)
		group_put(f, l, i, l->group[(i - 1) / 2]);
	for (uint32_t child; (child = 2 * i + 1) < l->n_group; i = child) {
		if (child + 1 < l->n_group && f->flow[l->group[child + 1]].due < f->flow[l->group[child]].due)
			child++;
		if (f->flow[l->group[child]].due >= due)
			break;
		group_put(f, l, i, l->group[child]);
	}
	group_put(f, l, i, flow);
}

/* What the flow takes of the link at level 1. */
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
	group_sift(f, l, l->n_group++, flow);
}

void flow_group_remove(struct flownet *f, uint32_t flow)
{
	uint32_t link = f->bottleneck[flow], at = f->flow[flow].at;
	struct net_link *l = &f->link[link];
	f->bottleneck[flow] = FLOW_NONE;
	l->group_share -= f->flow[flow].share;
	if (at != --l->n_group)
		group_sift(f, l, at, l->group[l->n_group]);
	if (l->n_group)
		return;
	due_remove(f, link);
	l->level = INFINITY;
	l->clock = l->group_share = l->lone_until = 0;
}

/* ---- the clock of a group ---- */

/* Starts the clock at 0 again, so that its reading never grows until it lacks digits for what flows have left;
 * so seldom that it costs each setting of the clock one flow. */
static void rewind_clock(struct flownet *f, struct net_link *l)
{
	if (++l->n_settings < l->n_group)
		return;
	l->group_share = 0; /* summed afresh as well */
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
