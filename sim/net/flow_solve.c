/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * flow_solve.c - incremental max-min rates: solves again only the part that a change affects
 *
 * A solve frees the groups of the touched links and fills the capacity that the fixed flows leave on their links (progressive
 * filling: Bertsekas and Gallager, Data Networks, 2nd ed., 6.5.2). It then checks that every flow still has a bottleneck. Two
 * kinds of fixed flows become free, with their whole group: a flow that is faster than a free flow at the bottleneck of the
 * free flow, and a flow whose own bottleneck now has room or a faster flow. Filling then starts again. The set of free groups
 * only grows, so the solve ends. At its end every flow has a bottleneck, so the rates are max-min fair.
 *
 * If a change spreads far, these rounds cost more than freeing all groups that may be affected at once: those at least as fast
 * as the slowest touched group. So after a solve that frees more than a quarter of the flows in many rounds, the next few solves
 * start this way. Freeing too many groups takes time and changes no rate.
 */
#include "net/flow_state.h"

/* Levels within this distance are equal; rounding errors are far smaller. */
static const double SAME = 1e-12;
enum { WIDE_SOLVES = 31, WORTH_IT = 8, FEW_ROUNDS = 3 };

/* Frees a group; returns true if the group was fixed. */
static bool free_group(struct flownet *f, uint32_t link)
{
	struct net_link *l = &f->link[link];
	if (!l->n_group || l->is_free)
		return false;
	flow_unlone(f, link);
	l->is_free = true;
	flow_list_add(&f->free_groups, link);
	return true;
}

/* ---- the links of free flows ---- */

/* Recomputes `used` after enough updates to bound rounding errors; the cost is small. */
static void sum_afresh(struct flownet *f, struct net_link *l)
{
	if (l->n_updates <= 16 * (l->n_entries + 4))
		return;
	l->used = 0;
	l->n_updates = 0;
	for (uint32_t i = 0; i < l->n_entries; i++) {
		uint32_t bottleneck = f->bottleneck[l->entry[i].flow];
		if (bottleneck != FLOW_NONE)
			l->used += l->entry[i].share * f->link[bottleneck].level;
	}
}

static void see(struct flownet *f, uint32_t link)
{
	struct net_link *l = &f->link[link];
	struct link_fill *c = &f->fill[link];
	sum_afresh(f, l);
	flow_list_add(&f->seen, link);
	c->all_room = l->capacity - l->used;
	c->all_weight = 0;
}

/* Updates the links of newly freed flows. All flows belong to `group`, or to no group. */
static void survey_flows(struct flownet *f, const uint32_t *flow, uint32_t n, uint32_t group)
{
	double level = group == FLOW_NONE ? 0 : f->link[group].level, group_share = 0;
	uint32_t on_group = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct flow_path *p = &f->path[flow[i]];
		f->next[flow[i]] = FLOW_RATELESS;
		f->freed.v[f->freed.n++] = flow[i];
		for (const struct net_hop *h = f->hop + p->hop, *end = h + p->n_hops; h < end; h++) {
			struct link_fill *c = &f->fill[h->link];
			double share = h->share;
			if (h->link == group) { /* summed in a register, because repeated writes to one address are slow */
				group_share += share;
				on_group++;
				continue;
			}
			if (!c->all_free)
				see(f, h->link);
			c->all_room += share * level;
			c->all_weight += share;
			c->all_free++;
		}
	}
	if (!on_group)
		return;
	struct link_fill *c = &f->fill[group];
	if (!c->all_free)
		see(f, group);
	c->all_room += group_share * level;
	c->all_weight += group_share;
	c->all_free += on_group;
}

static void survey_group(struct flownet *f, uint32_t link)
{
	const struct net_link *l = &f->link[link];
	flow_list_reserve(&f->freed, f->freed.n + l->n_group);
	survey_flows(f, l->group, l->n_group, link);
}

static void survey(struct flownet *f)
{
	for (uint32_t i = 0; i < f->freed.n; i++)
		f->next[f->freed.v[i]] = FLOW_RATELESS; /* the flow has no rate again in this round */
	for (; f->n_added < f->free_groups.n; f->n_added++)
		survey_group(f, f->free_groups.v[f->n_added]);
	for (uint32_t i = 0; i < f->seen.n; i++) {
		const struct net_link *l = &f->link[f->seen.v[i]];
		struct link_fill *c = &f->fill[f->seen.v[i]];
		c->room = c->all_free == l->n_entries ? l->capacity : c->all_room; /* this is exact if all flows are free */
		c->weight = c->weight_full = c->all_weight;
		c->n_free = c->all_free;
		c->free_top = 0;
		c->level = -1;
	}
}

/* ---- filling ---- */

/* Sifts down; q[n] is a sentinel larger than all. */
static void sift_down(struct offered *q, uint32_t n, uint32_t i)
{
	struct offered x = q[i];
	for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
		child += q[child + 1].level < q[child].level;
		if (q[child].level >= x.level)
			break;
		q[i] = q[child];
	}
	q[i] = x;
}

/* Removes the top. Moves the hole to the bottom first, because the last element belongs near the bottom. */
static void remove_top(struct offered *q, uint32_t n)
{
	struct offered x = q[--n];
	uint32_t i = 0;
	q[n].level = INFINITY;
	for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
		child += q[child + 1].level < q[child].level;
		q[i] = q[child];
	}
	for (; i && q[(i - 1) / 2].level > x.level; i = (i - 1) / 2)
		q[i] = q[(i - 1) / 2];
	q[i] = x;
}

/* Returns the level of the link's free flows without a rate, assuming that the link is their bottleneck. */
static double offer(struct flownet *f, uint32_t link)
{
	struct link_fill *c = &f->fill[link];
	if (f->fairness != FLOW_MAX_MIN && c->weight < c->weight_full / 16) {
		/* Subtraction has lost digits, so the sum is recomputed. (Integers lose none.) */
		const struct net_link *l = &f->link[link];
		c->weight = 0;
		for (uint32_t i = 0; i < l->n_entries; i++)
			if (f->next[l->entry[i].flow] == FLOW_RATELESS)
				c->weight += l->entry[i].share;
		c->weight_full = c->weight;
	}
	return c->room > 0 ? c->room / c->weight : 0;
}

static inline void give_rate(struct link_fill *c, double share, double level)
{
	c->room -= share * level;
	c->weight -= share;
	c->free_top = level;
	c->n_free--;
}

/* Makes the link the bottleneck of all its free flows without a rate; returns their number. */
static uint32_t fix_link(struct flownet *f, uint32_t link, double level)
{
	struct link_fill *own = &f->fill[link];
	double room = own->room - own->weight * level;
	uint32_t n = 0, left = own->n_free;
	for (const struct link_entry *e = f->link[link].entry; left; e++) {
		if (f->next[e->flow] != FLOW_RATELESS)
			continue;
		f->next[e->flow] = link;
		n++;
		if (e->peer != FLOW_NONE) {
			give_rate(&f->fill[e->peer], e->share, level);
			left--;
			continue;
		}
		const struct flow_path *p = &f->path[e->flow];
		for (const struct net_hop *h = f->hop + p->hop, *end = h + p->n_hops; h < end; h++) {
			give_rate(&f->fill[h->link], h->share, level);
			left -= h->link == link;
		}
	}
	own->room = room;
	own->n_free = 0;
	own->level = own->free_top = level;
	return n;
}

static double least_of_others(const struct offered *q, uint32_t n)
{
	return n > 2 && q[2].level < q[1].level ? q[2].level : q[1].level; /* INFINITY if n is 1 */
}

/* Fills the links. A link's offer never decreases when other links are fixed, so a stale offer in the queue is at most the present
 * one. */
static void fill(struct flownet *f)
{
	uint32_t n = f->seen.n, left = f->freed.n;
	double level = 0;
	for (uint32_t i = 0; i < n; i++)
		f->queue[i] = (struct offered){ offer(f, f->seen.v[i]), f->seen.v[i] };
	f->queue[n].level = INFINITY;
	for (uint32_t i = n / 2; i-- > 0;)
		sift_down(f->queue, n, i);
	while (left) {
		uint32_t link = f->queue[0].link;
		bool is_open = f->fill[link].n_free > 0;
		double t = is_open ? offer(f, link) : 0;
		if (is_open && t > f->queue[0].level && t > least_of_others(f->queue, n)) {
			f->queue[0].level = t;
			sift_down(f->queue, n, 0);
			continue;
		}
		if (is_open) {
			level = t > level ? t : level;
			left -= fix_link(f, link, level);
		}
		remove_top(f->queue, n--);
	}
}

/* ---- flows that have lost their bottleneck ---- */

/* Frees the groups that are faster than `level`; records the highest level among the other groups. */
static bool free_faster(struct flownet *f, struct net_link *l, double level)
{
	bool has_grown = false;
	double top = 0;
	for (uint32_t i = 0; i < l->n_entries; i++) {
		if (f->next[l->entry[i].flow] != FLOW_FIXED)
			continue;
		uint32_t bottleneck = f->bottleneck[l->entry[i].flow];
		double other = f->link[bottleneck].level;
		if (other > level)
			has_grown |= free_group(f, bottleneck);
		top = other > top ? other : top;
	}
	l->fixed_top = top;
	return has_grown;
}

static bool widen(struct flownet *f)
{
	bool has_grown = false;
	for (uint32_t i = 0; i < f->seen.n; i++) {
		uint32_t link = f->seen.v[i];
		const struct link_fill *c = &f->fill[link];
		struct net_link *l = &f->link[link];
		double top = fmin(l->fixed_top, f->fixed_top);
		if (c->level >= 0 && top > c->level * (1 + SAME) && c->all_free < l->n_entries)
			has_grown |= free_faster(f, l, c->level * (1 + SAME));
		if (!l->n_group || l->is_free)
			continue;
		if (fabs(c->room) > SAME * l->group_share * l->level || c->free_top > l->level * (1 + SAME))
			has_grown |= free_group(f, link);
	}
	return has_grown;
}

/* ---- the outcome ---- */

static void move_flow(struct flownet *f, uint32_t flow)
{
	uint32_t from = f->bottleneck[flow], to = f->next[flow];
	struct net_flow *x = &f->flow[flow];
	double left = x->bytes / x->weight;
	if (from != FLOW_NONE) {
		left = x->due - f->link[from].clock;
		flow_group_remove(f, flow);
	}
	x->due = f->link[to].clock + left;
	flow_group_add(f, to, flow);
}

static void settle(struct flownet *f)
{
	for (uint32_t i = 0; i < f->seen.n; i++)
		flow_set_clock(f, &f->link[f->seen.v[i]]);
	for (uint32_t i = 0; i < f->freed.n; i++) {
		uint32_t flow = f->freed.v[i];
		if (f->next[flow] != f->bottleneck[flow])
			move_flow(f, flow);
		f->next[flow] = FLOW_FIXED;
	}
	for (uint32_t i = 0; i < f->seen.n; i++) {
		uint32_t link = f->seen.v[i];
		struct net_link *l = &f->link[link];
		struct link_fill *c = &f->fill[link];
		l->used = l->capacity - c->room;
		l->fixed_top = fmax(c->free_top, c->all_free < l->n_entries ? l->fixed_top : 0);
		l->n_updates += 2 * c->all_free;
		c->all_free = 0;
		/* Flows that joined a fixed group take its level, which differs by at most SAME. */
		if (l->n_group && (l->is_free || l->level == INFINITY))
			l->level = c->level;
		l->is_free = false;
		if (l->n_group)
			flow_due_update(f, link);
	}
	for (uint32_t i = 0; i < f->seen.n; i++)
		flow_make_lone(f, f->seen.v[i]);
}

/* Frees every group whose level is at least that of the slowest free group. */
static void free_all_concerned(struct flownet *f)
{
	double level = INFINITY;
	for (uint32_t i = 0; i < f->free_groups.n; i++)
		level = fmin(level, f->link[f->free_groups.v[i]].level);
	for (uint32_t i = 0; i < f->n_due; i++)
		if (f->link[f->due[i].id].level >= level)
			free_group(f, f->due[i].id);
	f->fixed_top = level;
}

/* Prepares a solve; returns false if no flow is affected. */
static bool begin(struct flownet *f)
{
	f->freed.n = f->free_groups.n = f->seen.n = f->n_added = 0;
	f->fixed_top = INFINITY;
	for (uint32_t i = 0; i < f->touched.n; i++) {
		f->link[f->touched.v[i]].is_touched = false;
		flow_unlone_entries(f, f->touched.v[i]);
		free_group(f, f->touched.v[i]);
	}
	if (f->n_wide)
		free_all_concerned(f);
	flow_list_reserve(&f->freed, f->fresh.n);
	survey_flows(f, f->fresh.v, f->fresh.n, FLOW_NONE);
	f->fresh.n = f->touched.n = 0;
	return f->freed.n || f->free_groups.n;
}

void flow_solve(struct flownet *f)
{
	if (flow_solve_lone(f) || !begin(f))
		return;
	int rounds = 0;
	do {
		survey(f);
		fill(f);
		rounds++;
	} while (widen(f));
	if (f->n_wide)
		f->n_wide--;
	else if (rounds > FEW_ROUNDS && f->freed.n > f->n_draining / 4 && f->freed.n > WORTH_IT)
		f->n_wide = WIDE_SOLVES;
	settle(f);
}
