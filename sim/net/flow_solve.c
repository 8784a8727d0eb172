/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * flow_solve.c - max-min rates again, after a change, for those whom it concerns
 *
 * A solve frees the groups of the links that were touched, fills what the fixed flows
 * leave of their links (progressive filling: Bertsekas and Gallager, Data Networks, 2nd
 * ed., 6.5.2), and looks whether every flow has a bottleneck still. A fixed flow that is
 * faster than a free one at the latter's bottleneck, or whose own bottleneck has room or
 * a faster flow now, becomes free with its whole group, and filling starts again. The
 * set of free groups only grows, so this ends; at its end all flows have a bottleneck,
 * which is what max-min fair means.
 */
#include "net/flow_state.h"

/* Levels that agree to this are the same; rounding moves them by far less. */
static const double SAME = 1e-12;

static bool is_free(const struct flownet *f, const struct net_flow *x)
{
	return x->solve == f->solves;
}

static void free_flow(struct flownet *f, uint32_t flow)
{
	f->flow[flow].solve = f->solves;
	flow_list_add(&f->freed, flow);
}

/* True if the group was fixed. */
static bool free_group(struct flownet *f, uint32_t link)
{
	struct net_link *l = &f->link[link];
	if (!l->n_group || f->fill[link].freed == f->solves)
		return false;
	f->fill[link].freed = f->solves;
	for (uint32_t i = 0; i < l->n_group; i++)
		free_flow(f, l->group[i]);
	return true;
}

static void survey_link(struct flownet *f, uint32_t link)
{
	const struct net_link *l = &f->link[link];
	struct link_fill *c = &f->fill[link];
	double room = l->capacity, weight = 0, top = 0, group = 0;
	uint32_t n_free = 0;
	for (uint32_t i = 0; i < l->n_entries; i++) {
		const struct link_entry *e = &l->entry[i];
		const struct net_flow *x = &f->flow[e->flow];
		if (is_free(f, x)) {
			weight += e->share;
			n_free++;
			continue;
		}
		double level = f->link[x->bottleneck].level;
		room -= e->share * level;
		top = level > top ? level : top;
		group += x->bottleneck == link ? e->share : 0;
	}
	c->round = f->rounds;
	c->room = room;
	c->weight = c->weight_full = weight;
	c->n_free = n_free;
	c->fixed_top = top;
	c->free_top = 0;
	c->group_weight = group;
	c->level = -1;
	flow_list_add(&f->seen, link);
}

static void survey(struct flownet *f)
{
	f->rounds++;
	f->seen.n = 0;
	for (uint32_t i = 0; i < f->freed.n; i++) {
		struct net_flow *x = &f->flow[f->freed.v[i]];
		x->next_bottleneck = FLOW_NONE;
		for (uint32_t h = 0; h < x->n_hops; h++) {
			uint32_t link = f->hop[x->hop + h].link;
			if (f->fill[link].round != f->rounds)
				survey_link(f, link);
		}
	}
}

/* ---- filling ---- */

static void sift_down(struct timed *q, uint32_t n, uint32_t i)
{
	struct timed x = q[i];
	for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && q[child + 1].t < q[child].t)
			child++;
		if (q[child].t >= x.t)
			break;
		q[i] = q[child];
	}
	q[i] = x;
}

/* The level that the link's free flows without a rate would have if it were their bottleneck. */
static double offer(struct flownet *f, uint32_t link)
{
	struct link_fill *c = &f->fill[link];
	if (f->fairness != FLOW_MAX_MIN && c->weight < c->weight_full / 16) {
		/* Subtraction has eaten digits: sum again. (Whole numbers lose none.) */
		const struct net_link *l = &f->link[link];
		c->weight = 0;
		for (uint32_t i = 0; i < l->n_entries; i++) {
			const struct net_flow *x = &f->flow[l->entry[i].flow];
			if (is_free(f, x) && x->next_bottleneck == FLOW_NONE)
				c->weight += l->entry[i].share;
		}
		c->weight_full = c->weight;
	}
	return c->room > 0 ? c->room / c->weight : 0;
}

/* The link is the bottleneck of all its free flows that have no rate; returns how many. */
static uint32_t fix_link(struct flownet *f, uint32_t link, double level)
{
	const struct net_link *l = &f->link[link];
	uint32_t n = 0;
	for (uint32_t i = 0; i < l->n_entries; i++) {
		struct net_flow *x = &f->flow[l->entry[i].flow];
		if (!is_free(f, x) || x->next_bottleneck != FLOW_NONE)
			continue;
		x->next_bottleneck = link;
		n++;
		for (uint32_t h = 0; h < x->n_hops; h++) {
			const struct net_hop *hop = &f->hop[x->hop + h];
			struct link_fill *c = &f->fill[hop->link];
			double share = hop->load * x->weight;
			c->room -= share * level;
			c->weight -= share;
			c->n_free--;
			c->free_top = level;
		}
	}
	f->fill[link].level = level;
	return n;
}

/* A link's offer never falls as others are fixed, so a stale one in the queue is too low, never too high. */
static void fill(struct flownet *f)
{
	uint32_t n = 0, left = f->freed.n;
	double level = 0;
	for (uint32_t i = 0; i < f->seen.n; i++)
		f->queue[n++] = (struct timed){ offer(f, f->seen.v[i]), 0, f->seen.v[i] };
	for (uint32_t i = n / 2; i-- > 0;)
		sift_down(f->queue, n, i);
	while (left) {
		uint32_t link = f->queue[0].id;
		double t = f->fill[link].n_free ? offer(f, link) : 0;
		if (f->fill[link].n_free && t > f->queue[0].t) {
			f->queue[0].t = t;
		} else {
			if (f->fill[link].n_free) {
				level = t > level ? t : level;
				left -= fix_link(f, link, level);
			}
			f->queue[0] = f->queue[--n];
		}
		sift_down(f->queue, n, 0);
	}
}

/* ---- who has lost the bottleneck ---- */

static bool free_faster(struct flownet *f, uint32_t link, double level)
{
	const struct net_link *l = &f->link[link];
	bool has_grown = false;
	for (uint32_t i = 0; i < l->n_entries; i++) {
		const struct net_flow *x = &f->flow[l->entry[i].flow];
		if (!is_free(f, x) && f->link[x->bottleneck].level > level)
			has_grown |= free_group(f, x->bottleneck);
	}
	return has_grown;
}

static bool widen(struct flownet *f)
{
	bool has_grown = false;
	for (uint32_t i = 0; i < f->seen.n; i++) {
		uint32_t link = f->seen.v[i];
		const struct link_fill *c = &f->fill[link];
		if (c->level >= 0 && c->fixed_top > c->level * (1 + SAME))
			has_grown |= free_faster(f, link, c->level * (1 + SAME));
		if (c->group_weight == 0 || c->freed == f->solves)
			continue;
		double level = f->link[link].level;
		if (fabs(c->room) > SAME * c->group_weight * level || c->free_top > level * (1 + SAME))
			has_grown |= free_group(f, link);
	}
	return has_grown;
}

/* ---- the outcome ---- */

static void set_clock(struct flownet *f, struct net_link *l)
{
	if (l->n_group)
		l->clock = flow_clock(f, l);
	l->clock_time = f->now;
}

static void move_flow(struct flownet *f, uint32_t flow)
{
	struct net_flow *x = &f->flow[flow];
	uint32_t to = x->next_bottleneck;
	if (to == x->bottleneck)
		return;
	double left = x->bytes / x->weight;
	if (x->bottleneck != FLOW_NONE) {
		left = x->due - f->link[x->bottleneck].clock;
		flow_group_remove(f, flow);
	}
	x->due = f->link[to].clock + left;
	flow_group_add(f, to, flow);
}

static void settle(struct flownet *f)
{
	for (uint32_t i = 0; i < f->seen.n; i++)
		set_clock(f, &f->link[f->seen.v[i]]);
	for (uint32_t i = 0; i < f->freed.n; i++)
		move_flow(f, f->freed.v[i]);
	for (uint32_t i = 0; i < f->seen.n; i++) {
		uint32_t link = f->seen.v[i];
		const struct link_fill *c = &f->fill[link];
		if (!f->link[link].n_group)
			continue;
		/* Whoever joined a group that stayed fixed has its level, to within SAME. */
		if (c->group_weight == 0)
			f->link[link].level = c->level;
		flow_due_update(f, link);
	}
}

void flow_solve(struct flownet *f)
{
	f->solves++;
	f->freed.n = 0;
	for (uint32_t i = 0; i < f->fresh.n; i++)
		free_flow(f, f->fresh.v[i]);
	for (uint32_t i = 0; i < f->touched.n; i++) {
		f->link[f->touched.v[i]].is_touched = false;
		free_group(f, f->touched.v[i]);
	}
	f->fresh.n = f->touched.n = 0;
	if (!f->freed.n)
		return;
	do {
		survey(f);
		fill(f);
	} while (widen(f));
	settle(f);
}
