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
 *
 * Where a change spreads far, most of the groups that one solve frees are those of the
 * solve before. Then a solve begins with them, but for every eighth, which begins small
 * and so finds out whether changes have become local. To free more than needed costs
 * time and changes no rate.
 */
#include "net/flow_state.h"

/* Levels that agree to this are the same; rounding moves them by far less. */
static const double SAME = 1e-12;
enum { BEGIN_SMALL = 8 };

static void free_flow(struct flownet *f, uint32_t flow)
{
	f->path[flow].next = FLOW_RATELESS;
	flow_list_add(&f->freed, flow);
}

/* True if the group was fixed. */
static bool free_group(struct flownet *f, uint32_t link)
{
	struct net_link *l = &f->link[link];
	if (!l->n_group || l->is_free)
		return false;
	l->is_free = true;
	flow_list_add(&f->free_links, link);
	for (uint32_t i = 0; i < l->n_group; i++)
		free_flow(f, l->group[i]);
	return true;
}

/* ---- the links of free flows ---- */

/* So often that rounding in the sum stays what one summation has, and no oftener. */
static void sum_afresh(struct flownet *f, struct net_link *l)
{
	if (l->n_updates <= l->n_entries + 16)
		return;
	l->used = 0;
	l->n_updates = 0;
	for (uint32_t i = 0; i < l->n_entries; i++) {
		uint32_t bottleneck = f->path[l->entry[i].flow].bottleneck;
		if (bottleneck != FLOW_NONE)
			l->used += l->entry[i].share * f->link[bottleneck].level;
	}
}

static void see(struct flownet *f, uint32_t link)
{
	struct net_link *l = &f->link[link];
	sum_afresh(f, l);
	l->is_seen = true;
	flow_list_add(&f->seen, link);
	f->fill[link].all_room = l->capacity - l->used;
	f->fill[link].all_weight = 0;
	f->fill[link].all_free = 0;
}

/* Tells their links of the flows that were freed since it was last called. */
static void survey(struct flownet *f)
{
	for (; f->n_added < f->freed.n; f->n_added++) {
		const struct flow_path *p = &f->path[f->freed.v[f->n_added]];
		double level = p->bottleneck == FLOW_NONE ? 0 : f->link[p->bottleneck].level;
		for (const struct net_hop *h = f->hop + p->hop, *end = h + p->n_hops; h < end; h++) {
			struct link_fill *c = &f->fill[h->link];
			if (!f->link[h->link].is_seen)
				see(f, h->link);
			double share = h->load * p->weight;
			c->all_room += share * level;
			c->all_weight += share;
			c->all_free++;
		}
	}
	for (uint32_t i = 0; i < f->freed.n; i++)
		f->path[f->freed.v[i]].next = FLOW_RATELESS;
	for (uint32_t i = 0; i < f->seen.n; i++) {
		const struct net_link *l = &f->link[f->seen.v[i]];
		struct link_fill *c = &f->fill[f->seen.v[i]];
		c->room = c->all_free == l->n_entries ? l->capacity : c->all_room; /* no rounding where none is due */
		c->weight = c->weight_full = c->all_weight;
		c->n_free = c->all_free;
		c->free_top = 0;
		c->level = -1;
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
		for (uint32_t i = 0; i < l->n_entries; i++)
			if (f->path[l->entry[i].flow].next == FLOW_RATELESS)
				c->weight += l->entry[i].share;
		c->weight_full = c->weight;
	}
	return c->room > 0 ? c->room / c->weight : 0;
}

/* The link is the bottleneck of all its free flows that have no rate; returns how many. */
static uint32_t fix_link(struct flownet *f, uint32_t link, double level)
{
	struct link_fill *own = &f->fill[link];
	uint32_t n = 0;
	own->room -= own->weight * level;
	own->level = own->free_top = level;
	for (const struct link_entry *e = f->link[link].entry; own->n_free; e++) {
		struct flow_path *p = &f->path[e->flow];
		if (p->next != FLOW_RATELESS)
			continue;
		p->next = link;
		n++;
		for (const struct net_hop *h = f->hop + p->hop, *end = h + p->n_hops; h < end; h++) {
			struct link_fill *c = &f->fill[h->link];
			c->n_free--;
			if (c == own)
				continue;
			double share = h->load * p->weight;
			c->room -= share * level;
			c->weight -= share;
			c->free_top = level;
		}
	}
	return n;
}

/* A link's offer never falls as others are fixed, so a stale one in the queue is too low, never too high. */
static void fill(struct flownet *f)
{
	uint32_t n = f->seen.n, left = f->freed.n;
	double level = 0;
	for (uint32_t i = 0; i < n; i++)
		f->queue[i] = (struct timed){ offer(f, f->seen.v[i]), 0, f->seen.v[i] };
	for (uint32_t i = n / 2; i-- > 0;)
		sift_down(f->queue, n, i);
	while (left) {
		uint32_t link = f->queue[0].id;
		bool is_open = f->fill[link].n_free > 0;
		double t = is_open ? offer(f, link) : 0;
		if (is_open && t > f->queue[0].t) {
			f->queue[0].t = t;
		} else {
			if (is_open) {
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
		const struct flow_path *p = &f->path[l->entry[i].flow];
		if (p->next == FLOW_FIXED && f->link[p->bottleneck].level > level)
			has_grown |= free_group(f, p->bottleneck);
	}
	return has_grown;
}

static bool widen(struct flownet *f)
{
	bool has_grown = false;
	for (uint32_t i = 0; i < f->seen.n; i++) {
		uint32_t link = f->seen.v[i];
		const struct link_fill *c = &f->fill[link];
		const struct net_link *l = &f->link[link];
		if (c->level >= 0 && c->all_free < l->n_entries)
			has_grown |= free_faster(f, link, c->level * (1 + SAME));
		if (!l->n_group || l->is_free)
			continue;
		if (fabs(c->room) > SAME * l->group_share * l->level || c->free_top > l->level * (1 + SAME))
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
	struct flow_path *p = &f->path[flow];
	struct net_flow *x = &f->flow[flow];
	uint32_t to = p->next;
	p->next = FLOW_FIXED;
	if (to == p->bottleneck)
		return;
	double left = x->bytes / p->weight;
	if (p->bottleneck != FLOW_NONE) {
		left = x->due - f->link[p->bottleneck].clock;
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
		struct net_link *l = &f->link[link];
		const struct link_fill *c = &f->fill[link];
		l->used = l->capacity - c->room;
		l->n_updates += 2 * c->all_free;
		l->is_seen = false;
		/* Whoever joined a group that stayed fixed has its level, to within SAME. */
		if (l->n_group && (l->is_free || l->level == INFINITY))
			l->level = c->level;
		l->is_free = false;
		if (l->n_group)
			flow_due_update(f, link);
	}
}

/* What the solve starts from; false if no flow is concerned. */
static bool begin(struct flownet *f)
{
	bool was_wide = f->freed.n > f->n_draining / 4;
	struct flow_list last = f->free_links;
	f->free_links = f->last_links;
	f->last_links = last;
	f->freed.n = f->seen.n = f->n_added = f->free_links.n = 0;
	for (uint32_t i = 0; i < f->fresh.n; i++)
		free_flow(f, f->fresh.v[i]);
	for (uint32_t i = 0; i < f->touched.n; i++) {
		f->link[f->touched.v[i]].is_touched = false;
		free_group(f, f->touched.v[i]);
	}
	f->fresh.n = f->touched.n = 0;
	if (!f->freed.n)
		return false;
	if (was_wide && ++f->n_wide % BEGIN_SMALL)
		for (uint32_t i = 0; i < last.n; i++)
			free_group(f, last.v[i]);
	return true;
}

void flow_solve(struct flownet *f)
{
	if (!begin(f))
		return;
	do {
		survey(f);
		fill(f);
	} while (widen(f));
	settle(f);
}
