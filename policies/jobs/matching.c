/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Vertices are 1 .. n, blossoms n + 1 .. 2n; 0 is none. A label of the dual problem belongs to each; the slack of an edge (u, v) is
 * label[u] + label[v] - 2 w. Invariants: slacks of edges between different outer blossoms are at least 0; matched edges and the edges
 * of the alternating trees have slack 0. Each phase grows the trees from all free vertices until a path between two of them augments
 * the matching, or until the label of a free vertex is 0: then the matching is maximal.
 */
#include "matching.h"

#include <string.h>

enum mark { UNSEEN = -1, EVEN = 0, ODD = 1 };

/* An edge between two outer vertices or blossoms, by the real vertices at its ends. */
struct edge {
	uint32_t u, v;
	int64_t w;
};

struct ring {
	uint32_t *v, n;
};

struct match {
	uint32_t n, most, n_all; /* vertices; 2n; vertices and blossoms so far */
	struct edge *edge;       /* [u * (most + 1) + v] */
	int64_t *label;
	uint32_t *mate, *nearest, *outer, *parent; /* nearest: the even vertex whose edge to this blossom has the least slack */
	int8_t *mark;
	uint32_t *seen, turn;
	uint32_t *holds; /* [b * (n + 1) + x]: the member of blossom b that contains vertex x */
	struct ring *ring;
	uint32_t *queue, head, tail;
};

static struct edge *edge_at(const struct match *m, uint32_t u, uint32_t v)
{
	return &m->edge[(size_t)u * (m->most + 1) + v];
}

static uint32_t *held_by(const struct match *m, uint32_t b, uint32_t x)
{
	return &m->holds[(size_t)b * (m->n + 1) + x];
}

static int64_t slack_of(const struct match *m, const struct edge *e)
{
	return m->label[e->u] + m->label[e->v] - 2 * edge_at(m, e->u, e->v)->w;
}

static void consider(struct match *m, uint32_t u, uint32_t x)
{
	if (!m->nearest[x] || slack_of(m, edge_at(m, u, x)) < slack_of(m, edge_at(m, m->nearest[x], x)))
		m->nearest[x] = u;
}

static void find_nearest(struct match *m, uint32_t x)
{
	m->nearest[x] = 0;
	for (uint32_t u = 1; u <= m->n; u++)
		if (edge_at(m, u, x)->w > 0 && m->outer[u] != x && m->mark[m->outer[u]] == EVEN)
			consider(m, u, x);
}

static void push(struct match *m, uint32_t x)
{
	if (x <= m->n) {
		m->queue[m->tail++] = x;
		return;
	}
	for (uint32_t i = 0; i < m->ring[x].n; i++)
		push(m, m->ring[x].v[i]);
}

static void set_outer(struct match *m, uint32_t x, uint32_t b)
{
	m->outer[x] = b;
	for (uint32_t i = 0; x > m->n && i < m->ring[x].n; i++)
		set_outer(m, m->ring[x].v[i], b);
}

static void reverse(uint32_t *v, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		uint32_t t = v[i];
		v[i] = v[n - 1 - i];
		v[n - 1 - i] = t;
	}
}

/* Returns the position of a member in the ring of b, which is reversed if needed, so that the path from the base has even length. */
static uint32_t even_position(struct match *m, uint32_t b, uint32_t member)
{
	struct ring *r = &m->ring[b];
	uint32_t at = 0;
	while (r->v[at] != member)
		at++;
	if (at % 2 == 0)
		return at;
	reverse(r->v + 1, r->n - 1);
	return r->n - at;
}

static void set_match(struct match *m, uint32_t u, uint32_t v)
{
	m->mate[u] = edge_at(m, u, v)->v;
	if (u <= m->n)
		return;
	struct edge e = *edge_at(m, u, v);
	uint32_t member = *held_by(m, u, e.u), at = even_position(m, u, member);
	struct ring *r = &m->ring[u];
	for (uint32_t i = 0; i < at; i++)
		set_match(m, r->v[i], r->v[i ^ 1]);
	set_match(m, member, v);
	/* The member becomes the base: rotates it to the front. */
	reverse(r->v, at);
	reverse(r->v + at, r->n - at);
	reverse(r->v, r->n);
}

static void augment(struct match *m, uint32_t u, uint32_t v)
{
	for (;;) {
		uint32_t next = m->outer[m->mate[u]];
		set_match(m, u, v);
		if (!next)
			return;
		set_match(m, next, m->outer[m->parent[next]]);
		u = m->outer[m->parent[next]];
		v = next;
	}
}

/* Returns the common ancestor of two even blossoms of a tree; 0: they are in different trees. */
static uint32_t ancestor(struct match *m, uint32_t u, uint32_t v)
{
	m->turn++;
	while (u || v) {
		if (u) {
			if (m->seen[u] == m->turn)
				return u;
			m->seen[u] = m->turn;
			u = m->outer[m->mate[u]];
			if (u)
				u = m->outer[m->parent[u]];
		}
		uint32_t t = u;
		u = v;
		v = t;
	}
	return 0;
}

static void add_path(struct match *m, uint32_t b, uint32_t from, uint32_t to)
{
	struct ring *r = &m->ring[b];
	for (uint32_t x = from; x != to;) {
		uint32_t y = m->outer[m->mate[x]];
		r->v[r->n++] = x;
		r->v[r->n++] = y;
		push(m, y);
		x = m->outer[m->parent[y]];
	}
}

static void add_blossom(struct match *m, uint32_t u, uint32_t base, uint32_t v)
{
	uint32_t b = m->n + 1;
	while (b <= m->n_all && m->outer[b])
		b++;
	m->n_all = b > m->n_all ? b : m->n_all;
	struct ring *r = &m->ring[b];
	if (!r->v)
		r->v = orr_alloc(m->most + 2, sizeof *r->v);
	m->label[b] = 0;
	m->mark[b] = EVEN;
	m->mate[b] = m->mate[base];
	r->n = 1;
	r->v[0] = base;
	add_path(m, b, u, base);
	reverse(r->v + 1, r->n - 1);
	add_path(m, b, v, base);
	set_outer(m, b, b);
	for (uint32_t x = 1; x <= m->n_all; x++)
		edge_at(m, b, x)->w = edge_at(m, x, b)->w = 0;
	memset(held_by(m, b, 0), 0, (m->n + 1) * sizeof *m->holds);
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t in = r->v[i];
		for (uint32_t x = 1; x <= m->n_all; x++)
			if (!edge_at(m, b, x)->w || slack_of(m, edge_at(m, in, x)) < slack_of(m, edge_at(m, b, x))) {
				*edge_at(m, b, x) = *edge_at(m, in, x);
				*edge_at(m, x, b) = *edge_at(m, x, in);
			}
		for (uint32_t x = 1; x <= m->n; x++)
			if (*held_by(m, in, x))
				*held_by(m, b, x) = in;
	}
	find_nearest(m, b);
}

/* Dissolves an odd blossom whose label is 0. */
static void expand(struct match *m, uint32_t b)
{
	struct ring *r = &m->ring[b];
	for (uint32_t i = 0; i < r->n; i++)
		set_outer(m, r->v[i], r->v[i]);
	uint32_t member = *held_by(m, b, edge_at(m, b, m->parent[b])->u), at = even_position(m, b, member);
	for (uint32_t i = 0; i < at; i += 2) {
		uint32_t odd = r->v[i], even = r->v[i + 1];
		m->parent[odd] = edge_at(m, even, odd)->u;
		m->mark[odd] = ODD;
		m->mark[even] = EVEN;
		m->nearest[odd] = 0;
		find_nearest(m, even);
		push(m, even);
	}
	m->mark[member] = ODD;
	m->parent[member] = m->parent[b];
	for (uint32_t i = at + 1; i < r->n; i++) {
		m->mark[r->v[i]] = UNSEEN;
		find_nearest(m, r->v[i]);
	}
	m->outer[b] = 0;
}

/* Extends the trees by an edge of slack 0; returns true if it augmented the matching. */
static bool use_edge(struct match *m, const struct edge *e)
{
	uint32_t u = m->outer[e->u], v = m->outer[e->v];
	if (m->mark[v] == UNSEEN) {
		m->parent[v] = e->u;
		m->mark[v] = ODD;
		uint32_t next = m->outer[m->mate[v]];
		m->nearest[v] = m->nearest[next] = 0;
		m->mark[next] = EVEN;
		push(m, next);
	} else if (m->mark[v] == EVEN) {
		uint32_t base = ancestor(m, u, v);
		if (!base) {
			augment(m, u, v);
			augment(m, v, u);
			return true;
		}
		add_blossom(m, u, base, v);
	}
	return false;
}

/* Scans the edges of queued even vertices; returns true if the matching grew. */
static bool scan(struct match *m)
{
	while (m->head < m->tail) {
		uint32_t u = m->queue[m->head++];
		if (m->mark[m->outer[u]] == ODD)
			continue;
		for (uint32_t v = 1; v <= m->n; v++) {
			const struct edge *e = edge_at(m, u, v);
			if (!e->w || m->outer[u] == m->outer[v])
				continue;
			if (slack_of(m, e))
				consider(m, u, m->outer[v]);
			else if (use_edge(m, e))
				return true;
		}
	}
	return false;
}

/* At most the least label of the EVEN vertices, at which the search ends. */
static int64_t least_change(const struct match *m)
{
	int64_t d = INT64_MAX;
	for (uint32_t u = 1; u <= m->n; u++)
		if (m->mark[m->outer[u]] == EVEN && m->label[u] < d)
			d = m->label[u];
	for (uint32_t b = m->n + 1; b <= m->n_all; b++)
		if (m->outer[b] == b && m->mark[b] == ODD && m->label[b] / 2 < d)
			d = m->label[b] / 2;
	for (uint32_t x = 1; x <= m->n_all; x++) {
		if (m->outer[x] != x || !m->nearest[x] || m->mark[x] == ODD)
			continue;
		int64_t s = slack_of(m, edge_at(m, m->nearest[x], x));
		s = m->mark[x] == EVEN ? s / 2 : s;
		d = s < d ? s : d;
	}
	return d;
}

/* Changes the labels by d; returns false if that of a free vertex becomes 0. */
static bool change_labels(struct match *m, int64_t d)
{
	for (uint32_t u = 1; u <= m->n; u++) {
		if (m->mark[m->outer[u]] == EVEN) {
			if (m->label[u] <= d)
				return false;
			m->label[u] -= d;
		} else if (m->mark[m->outer[u]] == ODD) {
			m->label[u] += d;
		}
	}
	for (uint32_t b = m->n + 1; b <= m->n_all; b++)
		if (m->outer[b] == b && m->mark[b] != UNSEEN)
			m->label[b] += m->mark[b] == EVEN ? 2 * d : -2 * d;
	return true;
}

/* One phase: returns true if the matching grew by an edge. */
static bool grow(struct match *m)
{
	memset(m->mark, UNSEEN, m->most + 1);
	memset(m->nearest, 0, (m->most + 1) * sizeof *m->nearest);
	m->head = m->tail = 0;
	for (uint32_t x = 1; x <= m->n_all; x++)
		if (m->outer[x] == x && !m->mate[x]) {
			m->parent[x] = 0;
			m->mark[x] = EVEN;
			push(m, x);
		}
	if (!m->tail)
		return false;
	for (;;) {
		if (scan(m))
			return true;
		if (!change_labels(m, least_change(m)))
			return false;
		m->head = m->tail = 0;
		for (uint32_t x = 1; x <= m->n_all; x++)
			if (m->outer[x] == x && m->nearest[x] && m->outer[m->nearest[x]] != x &&
				!slack_of(m, edge_at(m, m->nearest[x], x)) && use_edge(m, edge_at(m, m->nearest[x], x)))
				return true;
		for (uint32_t b = m->n + 1; b <= m->n_all; b++)
			if (m->outer[b] == b && m->mark[b] == ODD && !m->label[b])
				expand(m, b);
	}
}

static void begin(struct match *m, const int64_t *weight)
{
	size_t all = (size_t)m->most + 1;
	m->edge = orr_alloc(all * all, sizeof *m->edge);
	m->label = orr_alloc(all, sizeof *m->label);
	m->mate = orr_alloc(all, sizeof *m->mate);
	m->nearest = orr_alloc(all, sizeof *m->nearest);
	m->outer = orr_alloc(all, sizeof *m->outer);
	m->parent = orr_alloc(all, sizeof *m->parent);
	m->mark = orr_alloc(all, sizeof *m->mark);
	m->seen = orr_alloc(all, sizeof *m->seen);
	m->holds = orr_alloc(all * (m->n + 1), sizeof *m->holds);
	m->ring = orr_alloc(all, sizeof *m->ring);
	m->queue = orr_alloc(4 * all, sizeof *m->queue);
	int64_t most = 0;
	for (uint32_t u = 1; u <= m->n; u++) {
		m->outer[u] = u;
		*held_by(m, u, u) = u;
		for (uint32_t v = 1; v <= m->n; v++) {
			int64_t w = u == v ? 0 : weight[(size_t)(u - 1) * m->n + v - 1];
			*edge_at(m, u, v) = (struct edge){ u, v, w };
			most = w > most ? w : most;
		}
	}
	for (uint32_t u = 1; u <= m->n; u++)
		m->label[u] = most;
}

int64_t matching_solve(uint32_t n, const int64_t *weight, uint32_t *mate)
{
	struct match m = { .n = n, .most = 2 * n, .n_all = n };
	int64_t sum = 0;
	begin(&m, weight);
	while (grow(&m))
		continue;
	for (uint32_t u = 1; u <= n; u++) {
		mate[u - 1] = m.mate[u] ? m.mate[u] - 1 : UINT32_MAX;
		sum += m.mate[u] > u ? edge_at(&m, u, m.mate[u])->w : 0;
	}
	for (uint32_t b = 0; b <= m.most; b++)
		orr_free(m.ring[b].v);
	void *const parts[] = { m.edge, m.label, m.mate, m.nearest, m.outer, m.parent, m.mark, m.seen, m.holds, m.ring, m.queue };
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		orr_free(parts[i]);
	return sum;
}
