/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * flow_lone.c - groups whose changes affect no other group
 *
 * A group is lone if it contains all flows of its link and of every other link on their routes, and none of these other links
 * is a bottleneck. Its level is then capacity / shares. The start or end of a flow then takes constant time for any size of the
 * group (a thousand senders to one receiver).
 *
 * Invariant: lone_until > 0 means that the group is lone and that the other links have room up to this level. `used` and
 * `fixed_top` of these links are not maintained; flow_unlone() marks them as unknown before they are read.
 */
#include "net/flow_state.h"

enum { FEWEST = 4, MOST_ENTRIES = 64 /* limits on the other links of a group: more would make a scan of them slow */ };

/* Returns the sum of shares of a link that carries flows of this group only; 0 if it also carries other flows. next[]: group of a
 * new flow, if it is assigned. */
static double shares_if_private(const struct flownet *f, uint32_t link, uint32_t group)
{
	const struct net_link *l = &f->link[link];
	double sum = 0;
	if (l->n_group || l->n_entries > MOST_ENTRIES)
		return 0;
	for (uint32_t i = 0; i < l->n_entries; i++) {
		uint32_t flow = l->entry[i].flow, of = f->bottleneck[flow];
		if (of == FLOW_NONE)
			of = f->next[flow] == FLOW_FIXED ? group : f->next[flow];
		if (of != group)
			return 0;
		sum += l->entry[i].share;
	}
	return sum;
}

/* Returns the level up to which the flow's other links have room, at most `until`; 0 if one of them carries other groups. */
static double limit_of(const struct flownet *f, uint32_t flow, uint32_t group, double until)
{
	const struct flow_path *p = &f->path[flow];
	for (uint32_t h = p->hop; h < p->hop + p->n_hops; h++) {
		uint32_t link = f->hop[h].link;
		if (link == group)
			continue;
		double sum = shares_if_private(f, link, group);
		if (sum == 0)
			return 0;
		until = fmin(until, f->link[link].capacity / sum);
	}
	return until;
}

void flow_make_lone(struct flownet *f, uint32_t link)
{
	struct net_link *l = &f->link[link];
	double until = INFINITY;
	if (l->n_group < FEWEST || l->n_group != l->n_entries || l->capacity == 0)
		return;
	for (uint32_t i = 0; i < l->n_group && until > 0; i++)
		until = limit_of(f, l->group[i], link, until);
	l->lone_until = until >= l->level ? until : 0;
}

void flow_unlone(struct flownet *f, uint32_t link)
{
	struct net_link *l = &f->link[link];
	if (l->lone_until == 0)
		return;
	l->lone_until = 0;
	for (uint32_t i = 0; i < l->n_group; i++) {
		const struct flow_path *p = &f->path[l->group[i]];
		for (uint32_t h = p->hop; h < p->hop + p->n_hops; h++) {
			struct net_link *other = &f->link[f->hop[h].link];
			other->n_updates = FLOW_USED_UNKNOWN;
			other->fixed_top = INFINITY;
		}
	}
}

void flow_unlone_entries(struct flownet *f, uint32_t link)
{
	const struct net_link *l = &f->link[link];
	for (uint32_t i = 0; i < l->n_entries; i++) {
		uint32_t group = f->bottleneck[l->entry[i].flow];
		if (group == FLOW_NONE)
			continue;
		flow_unlone(f, group);
		return; /* a link of a lone group carries only flows of that group */
	}
}

/* ---- a change that affects lone groups only ---- */

/* Assigns a new flow to the lone group on its route. Returns false if no such group exists or the flow exceeds its limits. */
static bool adopt(struct flownet *f, uint32_t flow)
{
	const struct flow_path *p = &f->path[flow];
	uint32_t home = FLOW_NONE;
	double share = 0;
	for (uint32_t h = p->hop; h < p->hop + p->n_hops; h++)
		if (f->link[f->hop[h].link].lone_until > 0) {
			if (home != FLOW_NONE)
				return false;
			home = f->hop[h].link;
			share = f->hop[h].share;
		}
	if (home == FLOW_NONE)
		return false;
	double until = limit_of(f, flow, home, f->link[home].lone_until);
	if (until == 0)
		return false;
	f->link[home].lone_until = until;
	f->fill[home].weight += share;
	f->next[flow] = home;
	return true;
}

static bool can_follow(struct flownet *f)
{
	for (uint32_t i = 0; i < f->touched.n; i++) {
		const struct net_link *l = &f->link[f->touched.v[i]];
		if (l->n_group && l->lone_until == 0)
			return false;
		f->fill[f->touched.v[i]].weight = 0;
	}
	for (uint32_t i = 0; i < f->fresh.n; i++)
		if (!adopt(f, f->fresh.v[i]))
			return false;
	for (uint32_t i = 0; i < f->touched.n; i++) {
		const struct net_link *l = &f->link[f->touched.v[i]];
		if (l->n_group && l->capacity / (l->group_share + f->fill[f->touched.v[i]].weight) > l->lone_until)
			return false;
	}
	return true;
}

bool flow_solve_lone(struct flownet *f)
{
	bool can = can_follow(f);
	for (uint32_t i = 0; !can && i < f->fresh.n; i++)
		f->next[f->fresh.v[i]] = FLOW_FIXED;
	if (!can)
		return false;
	for (uint32_t i = 0; i < f->touched.n; i++)
		flow_set_clock(f, &f->link[f->touched.v[i]]);
	for (uint32_t i = 0; i < f->fresh.n; i++) {
		struct net_flow *x = &f->flow[f->fresh.v[i]];
		uint32_t home = f->next[f->fresh.v[i]];
		f->next[f->fresh.v[i]] = FLOW_FIXED;
		x->due = f->link[home].clock + x->bytes / x->weight;
		flow_group_add(f, home, f->fresh.v[i]);
	}
	for (uint32_t i = 0; i < f->touched.n; i++) {
		struct net_link *l = &f->link[f->touched.v[i]];
		l->is_touched = false;
		if (!l->n_group)
			continue;
		l->level = l->fixed_top = l->capacity / l->group_share;
		l->used = l->capacity;
		flow_due_update(f, f->touched.v[i]);
	}
	f->fresh.n = f->touched.n = 0;
	return true;
}
