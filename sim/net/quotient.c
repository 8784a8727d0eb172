/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "net/quotient.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct quotient {
	const struct topo *t;
	struct flow_link *more; /* links beside those of the topology */
	uint32_t n_flows, cap_flows, n_hops, cap_hops, n_links, cap_links;
	uint32_t *colour, *first; /* by flow: colour, and index of the first hop in hop[] */
	uint32_t *hop;            /* hops: local numbers of links */
	uint32_t *link;           /* local -> topology */
	uint32_t *here;           /* local number of each link of the topology, or NONE */
	/* after quotient_refine() */
	uint32_t *class_of; /* flows, then links */
	uint32_t n_link_classes;
	uint32_t *flow_members, *flow_first, *link_members, *link_first;
};

struct quotient *quotient_new(const struct topo *t)
{
	struct quotient *q = mem_zalloc(1, sizeof *q);
	q->t = t;
	q->here = mem_alloc((t->n_links + 1) * sizeof *q->here);
	memset(q->here, 0xff, t->n_links * sizeof *q->here);
	return q;
}

void quotient_free(struct quotient *q)
{
	if (!q)
		return;
	mem_free(q->colour);
	mem_free(q->first);
	mem_free(q->hop);
	mem_free(q->link);
	mem_free(q->here);
	mem_free(q->class_of);
	mem_free(q->flow_members);
	mem_free(q->flow_first);
	mem_free(q->link_members);
	mem_free(q->link_first);
	mem_free(q->more);
	mem_free(q);
}

void quotient_add_links(struct quotient *q, const struct flow_link *link, uint32_t n)
{
	uint32_t before = q->t->n_links;
	q->more = mem_alloc((n + 1) * sizeof *q->more);
	q->here = mem_realloc(q->here, before + n + 1, sizeof *q->here);
	for (uint32_t i = 0; i < n; i++) {
		q->more[i] = link[i];
		q->here[before + i] = NONE;
	}
}

/* Returns a link by its local number. */
static const struct flow_link *link_at(const struct quotient *q, uint32_t local)
{
	uint32_t l = q->link[local];
	return l < q->t->n_links ? &q->t->link[l].flow : &q->more[l - q->t->n_links];
}

static uint32_t link_here(struct quotient *q, uint32_t topo_link)
{
	if (q->here[topo_link] == NONE) {
		MEM_GROW(q->link, q->n_links, q->cap_links);
		q->link[q->n_links] = topo_link;
		q->here[topo_link] = q->n_links++;
	}
	return q->here[topo_link];
}

uint32_t quotient_flow_on(struct quotient *q, const uint32_t *link, uint32_t n, uint32_t colour)
{
	if (q->n_flows + 1 >= q->cap_flows) {
		q->cap_flows = q->cap_flows ? 2 * q->cap_flows : 64;
		q->colour = mem_realloc(q->colour, q->cap_flows, sizeof *q->colour);
		q->first = mem_realloc(q->first, q->cap_flows, sizeof *q->first);
	}
	q->colour[q->n_flows] = colour;
	q->first[q->n_flows] = q->n_hops;
	for (uint32_t i = 0; i < n; i++) {
		MEM_GROW(q->hop, q->n_hops, q->cap_hops);
		q->hop[q->n_hops++] = link_here(q, link[i]);
	}
	q->first[q->n_flows + 1] = q->n_hops;
	return q->n_flows++;
}

uint32_t quotient_flow(struct quotient *q, uint32_t src, uint32_t dst, uint64_t key, uint32_t colour)
{
	uint32_t hop[TOPO_MAX_HOPS], n = topo_route(q->t, src, dst, key, hop);
	return quotient_flow_on(q, hop, n, colour);
}

/* ---- the partition ---- */

/* Elements are flows 0..n_flows-1, then links. A class is a range of `element`; its touched elements come first. */
struct partition {
	const struct quotient *q;
	uint32_t n, n_classes;
	uint32_t *element, *place, *class_of;
	uint32_t *begin, *size, *touched; /* by class: begin, size, number of touched elements; at most n classes */
	uint64_t *sign;                   /* signature of each element relative to the current splitter; 0: untouched */
	uint32_t *queue, n_queue;
	bool *is_queued;
	uint32_t *hit, n_hit;                 /* classes with touched elements */
	uint32_t *user, *position, *users_at; /* flows through each link, and the link's position on their routes */
};

static void enqueue(struct partition *p, uint32_t c)
{
	if (!p->is_queued[c]) {
		p->is_queued[c] = true;
		p->queue[p->n_queue++] = c;
	}
}

static void swap_places(struct partition *p, uint32_t a, uint32_t b)
{
	uint32_t x = p->element[a], y = p->element[b];
	p->element[a] = y;
	p->element[b] = x;
	p->place[y] = a;
	p->place[x] = b;
}

static void touch(struct partition *p, uint32_t e)
{
	uint32_t c = p->class_of[e];
	if (p->sign[e])
		return;
	if (!p->touched[c])
		p->hit[p->n_hit++] = c;
	swap_places(p, p->place[e], p->begin[c] + p->touched[c]++);
}

static void mark_neighbours(struct partition *p, uint32_t c)
{
	const struct quotient *q = p->q;
	for (uint32_t i = p->begin[c]; i < p->begin[c] + p->size[c]; i++) {
		uint32_t e = p->element[i];
		if (e < q->n_flows) {
			for (uint32_t h = q->first[e]; h < q->first[e + 1]; h++) {
				touch(p, q->n_flows + q->hop[h]);
				p->sign[q->n_flows + q->hop[h]]++;
			}
			continue;
		}
		uint32_t l = e - q->n_flows;
		for (uint32_t u = p->users_at[l]; u < p->users_at[l + 1]; u++) {
			touch(p, p->user[u]);
			p->sign[p->user[u]] |= UINT64_C(1) << p->position[u];
		}
	}
}

struct signed_element {
	uint64_t sign;
	uint32_t element;
};

static int by_sign(const void *a, const void *b)
{
	const struct signed_element *x = a, *y = b;
	if (x->sign != y->sign)
		return x->sign < y->sign ? -1 : 1;
	return x->element < y->element ? -1 : x->element > y->element;
}

/* Sorts `count` elements, from index `from` on, by sign. */
static void sort_by_sign(struct partition *p, uint32_t from, uint32_t count)
{
	bool is_even = true;
	for (uint32_t i = 1; i < count; i++)
		is_even &= p->sign[p->element[from + i]] == p->sign[p->element[from]];
	if (is_even)
		return;
	struct signed_element *v = mem_alloc(count * sizeof *v);
	for (uint32_t i = 0; i < count; i++)
		v[i] = (struct signed_element){ p->sign[p->element[from + i]], p->element[from + i] };
	qsort(v, count, sizeof *v, by_sign);
	for (uint32_t i = 0; i < count; i++) {
		p->element[from + i] = v[i].element;
		p->place[v[i].element] = from + i;
	}
	mem_free(v);
}

/* Returns the end of the run of equal signatures that starts at index i. */
static uint32_t run_end(const struct partition *p, uint32_t i, uint32_t end)
{
	uint64_t sign = p->sign[p->element[i]];
	while (i < end && p->sign[p->element[i]] == sign)
		i++;
	return i;
}

/* Splits class c, sorted by sign, at changes of the sign. The largest part keeps the number; the others become splitters. */
static void split(struct partition *p, uint32_t c)
{
	uint32_t begin = p->begin[c], end = begin + p->size[c], largest = begin, largest_size = 0;
	for (uint32_t i = begin, next; i < end; i = next) {
		next = run_end(p, i, end);
		if (next - i > largest_size) {
			largest = i;
			largest_size = next - i;
		}
	}
	for (uint32_t i = begin, next; i < end; i = next) {
		next = run_end(p, i, end);
		if (i == largest)
			continue;
		uint32_t fresh = p->n_classes++;
		p->begin[fresh] = i;
		p->size[fresh] = next - i;
		for (uint32_t k = i; k < next; k++)
			p->class_of[p->element[k]] = fresh;
		enqueue(p, fresh);
	}
	p->begin[c] = largest;
	p->size[c] = largest_size;
}

static void refine_by(struct partition *p, uint32_t splitter)
{
	p->n_hit = 0;
	mark_neighbours(p, splitter);
	for (uint32_t i = 0; i < p->n_hit; i++) {
		uint32_t c = p->hit[i], begin = p->begin[c], touched = p->touched[c];
		p->touched[c] = 0;
		sort_by_sign(p, begin, touched);
		if (touched < p->size[c] || run_end(p, begin, begin + touched) < begin + touched)
			split(p, c);
		for (uint32_t k = begin; k < begin + touched; k++)
			p->sign[p->element[k]] = 0;
	}
}

/* ---- start and end ---- */

static void index_users(struct partition *p)
{
	const struct quotient *q = p->q;
	p->users_at = mem_zalloc(q->n_links + 2, sizeof *p->users_at);
	p->user = mem_alloc((q->n_hops + 1) * sizeof *p->user);
	p->position = mem_alloc((q->n_hops + 1) * sizeof *p->position);
	for (uint32_t h = 0; h < q->n_hops; h++)
		p->users_at[q->hop[h] + 2]++;
	for (uint32_t l = 2; l < q->n_links + 2; l++)
		p->users_at[l] += p->users_at[l - 1];
	for (uint32_t f = 0; f < q->n_flows; f++)
		for (uint32_t h = q->first[f]; h < q->first[f + 1]; h++) {
			uint32_t at = p->users_at[q->hop[h] + 1]++;
			p->user[at] = f;
			p->position[at] = h - q->first[f];
		}
}

/* Initial key of an element: a flow's colour, a link's capacity and latency. */
struct start {
	double a, b;
	uint32_t element;
	bool is_link;
};

static int by_start(const void *a, const void *b)
{
	const struct start *x = a, *y = b;
	if (x->is_link != y->is_link)
		return x->is_link - y->is_link;
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	if (x->b != y->b)
		return x->b < y->b ? -1 : 1;
	return x->element < y->element ? -1 : x->element > y->element;
}

static void start_classes(struct partition *p)
{
	const struct quotient *q = p->q;
	struct start *v = mem_alloc((p->n + 1) * sizeof *v);
	for (uint32_t e = 0; e < p->n; e++) {
		v[e] = (struct start){ .element = e, .is_link = e >= q->n_flows };
		if (v[e].is_link) {
			const struct flow_link *l = link_at(q, e - q->n_flows);
			v[e].a = l->capacity_Bps;
			v[e].b = l->latency_s;
		} else
			v[e].a = q->colour[e];
	}
	qsort(v, p->n, sizeof *v, by_start);
	for (uint32_t i = 0; i < p->n; i++) {
		if (!i || v[i].is_link != v[i - 1].is_link || v[i].a != v[i - 1].a || v[i].b != v[i - 1].b) {
			p->begin[p->n_classes] = i;
			p->size[p->n_classes++] = 0;
		}
		p->element[i] = v[i].element;
		p->place[v[i].element] = i;
		p->class_of[v[i].element] = p->n_classes - 1;
		p->size[p->n_classes - 1]++;
	}
	mem_free(v);
	for (uint32_t c = 0; c < p->n_classes; c++)
		enqueue(p, c);
}

/* Numbers classes by their first element, flows and links separately. */
static uint32_t number(
	struct quotient *q, const uint32_t *class_of, uint32_t from, uint32_t n, uint32_t **members, uint32_t **first, uint32_t *fresh)
{
	uint32_t count = 0;
	*members = mem_zalloc(n + 1, sizeof **members);
	*first = mem_zalloc(n + 1, sizeof **first);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t *c = &fresh[class_of[from + i]];
		if (*c == NONE) {
			*c = count++;
			(*first)[*c] = i;
		}
		q->class_of[from + i] = *c;
		(*members)[*c]++;
	}
	return count;
}

void quotient_refine(struct quotient *q)
{
	uint32_t n = q->n_flows + q->n_links;
	struct partition p = { .q = q, .n = n };
	uint32_t **vectors[] = { &p.element, &p.place, &p.class_of, &p.begin, &p.size, &p.touched, &p.queue, &p.hit };
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
		*vectors[i] = mem_zalloc(n + 1, sizeof **vectors[i]);
	p.sign = mem_zalloc(n + 1, sizeof *p.sign);
	p.is_queued = mem_zalloc(n + 1, sizeof *p.is_queued);
	index_users(&p);
	start_classes(&p);
	while (p.n_queue) {
		uint32_t c = p.queue[--p.n_queue];
		p.is_queued[c] = false;
		refine_by(&p, c);
	}
	q->class_of = mem_alloc((n + 1) * sizeof *q->class_of);
	memset(p.hit, 0xff, n * sizeof *p.hit);
	number(q, p.class_of, 0, q->n_flows, &q->flow_members, &q->flow_first, p.hit);
	q->n_link_classes = number(q, p.class_of, q->n_flows, q->n_links, &q->link_members, &q->link_first, p.hit);
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
		mem_free(*vectors[i]);
	mem_free(p.sign);
	mem_free(p.is_queued);
	mem_free(p.users_at);
	mem_free(p.user);
	mem_free(p.position);
}

/* ---- queries ---- */

uint32_t quotient_class(const struct quotient *q, uint32_t flow)
{
	return q->class_of[flow];
}

uint32_t quotient_link_class(const struct quotient *q, uint32_t link)
{
	return q->here[link] == NONE ? NONE : q->class_of[q->n_flows + q->here[link]];
}

uint32_t quotient_links(const struct quotient *q)
{
	return q->n_link_classes;
}

void quotient_link(const struct quotient *q, uint32_t link_class, struct flow_link *out, uint32_t *members)
{
	*out = *link_at(q, q->link_first[link_class]);
	if (members)
		*members = q->link_members[link_class];
}

/* A flow crosses `times` links of a class. Each of these links carries the same number of flows of the flow's class. */
uint32_t quotient_route(const struct quotient *q, uint32_t flow_class, struct flow_hop out[TOPO_MAX_HOPS])
{
	uint32_t f = q->flow_first[flow_class], n = 0, times[TOPO_MAX_HOPS];
	for (uint32_t h = q->first[f]; h < q->first[f + 1]; h++) {
		uint32_t c = q->class_of[q->n_flows + q->hop[h]], i = 0;
		while (i < n && out[i].link != c)
			i++;
		if (i == n) {
			out[n].link = c;
			times[n++] = 0;
		}
		times[i]++;
	}
	for (uint32_t i = 0; i < n; i++)
		out[i].load = (uint32_t)((uint64_t)times[i] * q->flow_members[flow_class] / q->link_members[out[i].link]);
	return n;
}

double quotient_more_latency(const struct quotient *q, uint32_t flow_class)
{
	uint32_t f = q->flow_first[flow_class];
	double sum = 0;
	for (uint32_t h = q->first[f]; h < q->first[f + 1]; h++)
		for (uint32_t k = q->first[f]; k < h; k++)
			if (q->class_of[q->n_flows + q->hop[k]] == q->class_of[q->n_flows + q->hop[h]]) {
				sum += link_at(q, q->hop[h])->latency_s;
				break;
			}
	return sum;
}
