/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The profile is a treap of its points by time (Seidel and Aragon, "Randomized Search Trees", Algorithmica 16, 1996). Priorities are
 * hashes of the nodes' numbers. A node stores the change of the capacity at its time; for its subtree, it stores the sum of the
 * changes and the least and greatest prefix sum. A reservation over [from, to) is therefore two changes. A search skips a subtree if
 * all of its points have room for the job, or if none of them has room.
 *
 * Node 0 represents an empty subtree. The change of the first point is the capacity.
 */
#include "availability.h"

#include <string.h>

enum { STEP, SUM, LEAST, MOST, PARTS };

struct availability_node {
	int64_t time;
	uint32_t left, right, priority;
};

/* The resources that a search compares: for each, its index in the capacity and the amount that the job needs. */
struct demand {
	size_t at[3], n;
	int64_t amount[3];
};

static int64_t *part(const struct availability *p, uint32_t node, int which)
{
	return p->room + ((size_t)node * PARTS + (size_t)which) * p->width;
}

static uint32_t hash(uint32_t x)
{
	x = (x ^ x >> 16) * 0x7feb352dU;
	x = (x ^ x >> 15) * 0x846ca68bU;
	return x ^ x >> 16;
}

void availability_init(struct availability *p, uint32_t n_types)
{
	p->width = n_types + 2;
	p->cap = 16;
	p->node = orr_alloc(p->cap, sizeof *p->node);
	p->room = orr_alloc(p->cap * PARTS * p->width, sizeof *p->room);
	p->change = orr_alloc(p->width, sizeof *p->change);
}

void availability_free(struct availability *p)
{
	orr_free(p->node);
	orr_free(p->room);
	orr_free(p->change);
}

/* ---- the treap ---- */

/* Computes the sums over the subtree of a node from those of its children. */
static void pull(struct availability *p, uint32_t x)
{
	const struct availability_node *node = &p->node[x];
	int64_t *step = part(p, x, STEP), *sum = part(p, x, SUM), *least = part(p, x, LEAST), *most = part(p, x, MOST);
	const int64_t *l = part(p, node->left, SUM), *r = part(p, node->right, SUM);
	const int64_t *l_least = part(p, node->left, LEAST), *r_least = part(p, node->right, LEAST);
	const int64_t *l_most = part(p, node->left, MOST), *r_most = part(p, node->right, MOST);
	for (size_t i = 0; i < p->width; i++) {
		int64_t before = node->left ? l[i] : 0, here = before + step[i];
		int64_t low = here, high = here;
		if (node->left) {
			low = l_least[i] < low ? l_least[i] : low;
			high = l_most[i] > high ? l_most[i] : high;
		}
		if (node->right) {
			low = here + r_least[i] < low ? here + r_least[i] : low;
			high = here + r_most[i] > high ? here + r_most[i] : high;
		}
		sum[i] = here + (node->right ? r[i] : 0);
		least[i] = low;
		most[i] = high;
	}
}

/* Splits a subtree into the points before t and the others. */
static void split(struct availability *p, uint32_t x, int64_t t, uint32_t *before, uint32_t *rest)
{
	if (!x) {
		*before = *rest = 0;
	} else if (p->node[x].time < t) {
		uint32_t right;
		split(p, p->node[x].right, t, &right, rest);
		p->node[x].right = right;
		pull(p, x);
		*before = x;
	} else {
		uint32_t left;
		split(p, p->node[x].left, t, before, &left);
		p->node[x].left = left;
		pull(p, x);
		*rest = x;
	}
}

/* Joins two subtrees: all points of a must be before those of b. */
static uint32_t join(struct availability *p, uint32_t a, uint32_t b)
{
	if (!a || !b)
		return a ? a : b;
	uint32_t root = p->node[a].priority >= p->node[b].priority ? a : b;
	if (root == a)
		p->node[a].right = join(p, p->node[a].right, b);
	else
		p->node[b].left = join(p, a, p->node[b].left);
	pull(p, root);
	return root;
}

static uint32_t new_node(struct availability *p, int64_t time)
{
	uint32_t x = p->free;
	if (x) {
		p->free = p->node[x].left;
	} else {
		if (p->n == p->cap) {
			p->cap *= 2;
			p->node = orr_realloc(p->node, p->cap, sizeof *p->node);
			p->room = orr_realloc(p->room, p->cap * PARTS * p->width, sizeof *p->room);
		}
		x = (uint32_t)p->n++;
	}
	p->node[x] = (struct availability_node){ .time = time, .priority = hash(x) };
	memset(part(p, x, STEP), 0, p->width * sizeof *p->room);
	return x;
}

static void free_node(struct availability *p, uint32_t x)
{
	p->node[x].left = p->free;
	p->free = x;
}

static bool is_flat(const struct availability *p, uint32_t x)
{
	for (size_t i = 0; i < p->width; i++)
		if (part(p, x, STEP)[i])
			return false;
	return true;
}

/* Adds p->change to the change of the point at t, if it exists below x, and to the sums on the path. Returns whether it exists. */
static bool add_to_point(struct availability *p, uint32_t x, int64_t t, int sign, bool *is_now_flat)
{
	if (!x)
		return false;
	if (p->node[x].time == t) {
		for (size_t i = 0; i < p->width; i++)
			part(p, x, STEP)[i] += sign * p->change[i];
		*is_now_flat = is_flat(p, x);
	} else if (!add_to_point(p, t < p->node[x].time ? p->node[x].left : p->node[x].right, t, sign, is_now_flat)) {
		return false;
	}
	pull(p, x);
	return true;
}

/* Adds p->change to the change at t. A point whose change is 0 is removed, except the first. */
static void add_step(struct availability *p, int64_t t, int sign)
{
	uint32_t before, rest, here;
	bool is_now_flat = false;
	if (add_to_point(p, p->root, t, sign, &is_now_flat)) {
		if (!is_now_flat || t == p->first)
			return;
		split(p, p->root, t, &before, &rest);
		split(p, rest, t + 1, &here, &rest);
		free_node(p, here);
		p->root = join(p, before, rest);
		return;
	}
	here = new_node(p, t);
	for (size_t i = 0; i < p->width; i++)
		part(p, here, STEP)[i] = sign * p->change[i];
	pull(p, here);
	split(p, p->root, t, &before, &rest);
	p->root = join(p, join(p, before, here), rest);
}

/* ---- the profile ---- */

void availability_reset(struct availability *p, int64_t now, const struct backfill_room *room)
{
	p->n = 1;
	p->free = p->root = 0;
	p->first = now;
	p->root = new_node(p, now);
	int64_t *step = part(p, p->root, STEP);
	for (size_t t = 0; t + 2 < p->width; t++)
		step[t] = room->gpu_milli[t];
	step[p->width - 2] = room->cpu_milli;
	step[p->width - 1] = room->mem_mib;
	pull(p, p->root);
}

static void free_all(struct availability *p, uint32_t x)
{
	if (!x)
		return;
	free_all(p, p->node[x].left);
	free_all(p, p->node[x].right);
	free_node(p, x);
}

void availability_trim(struct availability *p, int64_t now)
{
	uint32_t past, here, later;
	if (now <= p->first)
		return;
	split(p, p->root, now + 1, &past, &later);
	here = new_node(p, now);
	memcpy(part(p, here, STEP), part(p, past, SUM), p->width * sizeof *p->room);
	pull(p, here);
	free_all(p, past);
	p->first = now;
	p->root = join(p, here, later);
}

void availability_move(struct availability *p, int64_t from, int64_t to, uint32_t type, const struct backfill_need *need, int sign)
{
	from = from > p->first ? from : p->first;
	if (to <= from)
		return;
	memset(p->change, 0, p->width * sizeof *p->change);
	if (type != BACKFILL_NO_TYPE)
		p->change[type] = need->gpu_milli;
	p->change[p->width - 2] = need->cpu_milli;
	p->change[p->width - 1] = need->mem_mib;
	add_step(p, from, sign);
	add_step(p, to, -sign);
}

/* ---- search ---- */

static bool fits(const struct demand *d, const int64_t *capacity)
{
	for (size_t i = 0; i < d->n; i++)
		if (capacity[i] < d->amount[i])
			return false;
	return true;
}

/* Returns whether the subtree may have a point where the demand fits (or does not fit). */
static bool may_have(const struct availability *p, uint32_t x, const struct demand *d, const int64_t *before, bool wanted)
{
	const int64_t *bound = part(p, x, wanted ? MOST : LEAST);
	for (size_t i = 0; i < d->n; i++)
		if (before[i] + bound[d->at[i]] < d->amount[i])
			return !wanted;
	return wanted;
}

static bool fits_at(const struct availability *p, const struct demand *d, int64_t t)
{
	int64_t capacity[3] = { 0, 0, 0 };
	for (uint32_t x = p->root; x;) {
		const struct availability_node *node = &p->node[x];
		if (node->time > t) {
			x = node->left;
			continue;
		}
		for (size_t i = 0; i < d->n; i++)
			capacity[i] += part(p, x, STEP)[d->at[i]] + (node->left ? part(p, node->left, SUM)[d->at[i]] : 0);
		x = node->right;
	}
	return fits(d, capacity);
}

/* State of a search over the points after `from`, in order, for a gap of length `span`. */
struct search {
	struct demand demand;
	int64_t capacity[3];       /* capacity at the point reached */
	int64_t from, span, start; /* start: start of the current gap */
	bool is_gap, is_done;
};

static void add(struct search *s, const int64_t *room)
{
	for (size_t i = 0; i < s->demand.n; i++)
		s->capacity[i] += room[s->demand.at[i]];
}

static void visit_point(struct search *s, int64_t time)
{
	bool has_room = fits(&s->demand, s->capacity);
	if (s->is_gap && time - s->start >= s->span)
		s->is_done = true;
	else if (has_room && !s->is_gap)
		s->start = time;
	s->is_gap = s->is_done || has_room;
}

/* Searches below x; skips the subtrees that neither end the current gap nor start one. */
static void search_below(const struct availability *p, uint32_t x, struct search *s)
{
	while (x && !s->is_done) {
		const struct availability_node *node = &p->node[x];
		if (!may_have(p, x, &s->demand, s->capacity, !s->is_gap)) {
			add(s, part(p, x, SUM));
			return;
		}
		if (node->left && node->time > s->from)
			search_below(p, node->left, s);
		else if (node->left)
			add(s, part(p, node->left, SUM));
		if (s->is_done)
			return;
		add(s, part(p, x, STEP));
		if (node->time > s->from)
			visit_point(s, node->time);
		x = node->right;
	}
}

int64_t availability_find(const struct availability *p, int64_t from, int64_t span, uint32_t type, const struct backfill_need *need)
{
	struct search s = { .demand = { .at = { p->width - 2, p->width - 1, type }, .n = type == BACKFILL_NO_TYPE ? 2 : 3 }, .span = span };
	s.demand.amount[0] = need->cpu_milli;
	s.demand.amount[1] = need->mem_mib;
	s.demand.amount[2] = need->gpu_milli;
	s.from = s.start = from > p->first ? from : p->first;
	s.is_gap = fits_at(p, &s.demand, s.from);
	search_below(p, p->root, &s);
	return s.is_gap ? s.start : ORR_NEVER;
}
