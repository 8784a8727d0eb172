/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Invariants: a node other than the root has at least one symbol and one owner. An owner of a node owns all nodes above it, and its
 * last use of these is at least as late. So in the order of last use, deeper nodes first, each node is a leaf when its turn comes.
 */
#include "sglang_tree.h"

#include "shares.h"

#include <stdlib.h>
#include <string.h>

enum { ROOT = 0 };
#define NOWHERE UINT32_MAX

struct owner {
	uint64_t used;
	uint32_t worker;
};
struct node {
	uint64_t *text;
	uint32_t length, parent; /* parent of a free node: the next free one; its length is 0 */
	uint32_t n_owner, cap_owner;
	struct owner *owner;
};

struct sglang_tree {
	struct node *node;
	uint32_t n, cap, free; /* free: the first of a list; NOWHERE: none */
	struct shares child;   /* by first symbol and parent: node */
	uint32_t workers;
	uint64_t *size; /* by worker */
	uint64_t clock; /* number of uses so far */
};

struct sglang_tree *sglang_tree_new(uint32_t workers)
{
	struct sglang_tree *t = orr_alloc(1, sizeof *t);
	t->workers = workers;
	t->size = orr_alloc(workers + 1, sizeof *t->size);
	t->free = NOWHERE;
	ORR_GROW(t->node, t->n, t->cap);
	t->node[t->n++] = (struct node){ .parent = NOWHERE };
	return t;
}

void sglang_tree_free(struct sglang_tree *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		orr_free(t->node[i].text);
		orr_free(t->node[i].owner);
	}
	orr_free(t->node);
	shares_free(&t->child);
	orr_free(t->size);
	orr_free(t);
}

uint64_t sglang_tree_size(const struct sglang_tree *t, uint32_t worker)
{
	return t->size[worker];
}

/* ---- nodes ---- */

static uint64_t *copied(const uint64_t *text, uint32_t n)
{
	uint64_t *v = orr_alloc(n, sizeof *v);
	memcpy(v, text, n * sizeof *v);
	return v;
}

static uint32_t node_new(struct sglang_tree *t, const uint64_t *text, uint32_t length, uint32_t parent)
{
	uint32_t i = t->free;
	if (i == NOWHERE) {
		ORR_GROW(t->node, t->n, t->cap);
		i = t->n++;
	} else {
		t->free = t->node[i].parent;
	}
	t->node[i] = (struct node){ .text = copied(text, length), .length = length, .parent = parent };
	shares_set(&t->child, text[0], parent, i);
	return i;
}

static struct owner *owner_of(const struct node *x, uint32_t worker)
{
	for (uint32_t i = 0; i < x->n_owner; i++)
		if (x->owner[i].worker == worker)
			return &x->owner[i];
	return NULL;
}

/* Adds the worker to the owners, or renews its last use. */
static void own(struct sglang_tree *t, uint32_t at, uint32_t worker)
{
	struct node *x = &t->node[at];
	struct owner *o = owner_of(x, worker);
	if (!o) {
		ORR_GROW(x->owner, x->n_owner, x->cap_owner);
		o = &x->owner[x->n_owner++];
		o->worker = worker;
		t->size[worker] += x->length;
	}
	o->used = t->clock;
}

/* Removes the worker from a node; a node without owners is removed. */
static void disown(struct sglang_tree *t, uint32_t at, uint32_t worker)
{
	struct node *x = &t->node[at];
	struct owner *o = owner_of(x, worker);
	t->size[worker] -= x->length;
	*o = x->owner[--x->n_owner];
	if (x->n_owner)
		return;
	shares_set(&t->child, x->text[0], x->parent, 0);
	orr_free(x->text);
	orr_free(x->owner);
	*x = (struct node){ .parent = t->free };
	t->free = at;
}

/* Splits a node after its first k symbols; both parts keep the owners. Returns the upper part. */
static uint32_t split(struct sglang_tree *t, uint32_t at, uint32_t k)
{
	uint32_t parent = t->node[at].parent;
	uint32_t up = node_new(t, t->node[at].text, k, parent); /* replaces `at` as the child of its parent */
	struct node *x = &t->node[at], *u = &t->node[up];
	u->owner = orr_alloc(x->n_owner, sizeof *u->owner);
	u->n_owner = u->cap_owner = x->n_owner;
	memcpy(u->owner, x->owner, x->n_owner * sizeof *u->owner);
	memmove(x->text, x->text + k, (x->length - k) * sizeof *x->text);
	x->length -= k;
	x->parent = up;
	shares_set(&t->child, x->text[0], up, at);
	return up;
}

/* Returns the number of equal leading symbols of a node and a text. */
static uint32_t common(const struct node *x, const uint64_t *text, uint32_t length)
{
	uint32_t k = 0;
	while (k < x->length && k < length && x->text[k] == text[k])
		k++;
	return k;
}

void sglang_insert(struct sglang_tree *t, const uint64_t *text, uint32_t length, uint32_t worker)
{
	uint32_t at = ROOT;
	t->clock++;
	while (length) {
		uint32_t next = shares_get(&t->child, text[0], at);
		uint32_t k = next ? common(&t->node[next], text, length) : 0;
		if (!next)
			next = node_new(t, text, k = length, at);
		else if (k < t->node[next].length)
			next = split(t, next, k);
		own(t, next, worker);
		text += k;
		length -= k;
		at = next;
	}
}

/* Returns the deepest node that the text reaches, and the number of symbols found. */
static uint32_t reach(const struct sglang_tree *t, const uint64_t *text, uint32_t length, uint32_t *found)
{
	uint32_t at = ROOT;
	for (*found = 0; *found < length;) {
		uint32_t next = shares_get(&t->child, text[*found], at);
		uint32_t k = next ? common(&t->node[next], text + *found, length - *found) : 0;
		if (!next)
			break;
		*found += k;
		at = next;
		if (k < t->node[next].length)
			break;
	}
	return at;
}

/* ---- the rule ---- */

static uint32_t least(const uint32_t *order, uint32_t n, const uint64_t *value)
{
	uint32_t best = order[0];
	for (uint32_t i = 1; i < n; i++)
		if (value[order[i]] < value[best])
			best = order[i];
	return best;
}

/* Returns the first worker in the order that owns the node; NOWHERE: none of them does. */
static uint32_t first_owner(const struct sglang_tree *t, uint32_t at, const uint32_t *order, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (at == ROOT || owner_of(&t->node[at], order[i]))
			return order[i];
	return NOWHERE;
}

/* Renews the last use of a node and of the nodes above it. */
static void use(struct sglang_tree *t, uint32_t at, uint32_t worker)
{
	t->clock++;
	for (; at != ROOT; at = t->node[at].parent)
		own(t, at, worker);
}

static uint32_t by_text(struct sglang_tree *t, const struct sglang_rule *rule, const uint64_t *text, uint32_t length, const uint32_t *order,
	uint32_t n, const uint64_t *load)
{
	uint32_t found, at = reach(t, text, length, &found), owner = NOWHERE;
	if (length && (double)found / length > rule->threshold)
		owner = first_owner(t, at, order, n);
	if (owner == NOWHERE)
		return least(order, n, rule->by_size ? t->size : load);
	use(t, at, owner);
	return owner;
}

uint32_t sglang_choose(struct sglang_tree *t, const struct sglang_rule *rule, const uint64_t *text, uint32_t length, const uint32_t *order,
	uint32_t n, const uint64_t *load)
{
	uint64_t most = 0, fewest = UINT64_MAX;
	for (uint32_t i = 0; i < n; i++) {
		most = load[order[i]] > most ? load[order[i]] : most;
		fewest = load[order[i]] < fewest ? load[order[i]] : fewest;
	}
	bool is_uneven = (double)(most - fewest) > rule->abs && (double)most > rule->rel * (double)fewest;
	uint32_t worker = is_uneven ? least(order, n, load) : by_text(t, rule, text, length, order, n, load);
	sglang_insert(t, text, length, worker);
	return worker;
}

/* ---- eviction ---- */

struct leaf {
	uint64_t used;
	uint32_t depth, at;
};

static int by_use(const void *a, const void *b)
{
	const struct leaf *x = a, *y = b;
	if (x->used != y->used)
		return x->used < y->used ? -1 : 1;
	return x->depth != y->depth ? (x->depth > y->depth ? -1 : 1) : x->at < y->at ? -1 : x->at > y->at;
}

/* Returns the nodes of a worker in the order in which they are evicted. */
static struct leaf *owned(const struct sglang_tree *t, uint32_t worker, uint32_t *n)
{
	struct leaf *v = orr_alloc(t->n, sizeof *v);
	*n = 0;
	for (uint32_t i = ROOT + 1; i < t->n; i++) {
		const struct owner *o = t->node[i].length ? owner_of(&t->node[i], worker) : NULL;
		if (!o)
			continue;
		uint32_t depth = 0;
		for (uint32_t at = i; at != ROOT; at = t->node[at].parent)
			depth++;
		v[(*n)++] = (struct leaf){ o->used, depth, i };
	}
	qsort(v, *n, sizeof *v, by_use);
	return v;
}

static void evict(struct sglang_tree *t, uint32_t worker, uint64_t most)
{
	uint32_t n;
	if (t->size[worker] <= most)
		return;
	struct leaf *v = owned(t, worker, &n);
	for (uint32_t i = 0; i < n && t->size[worker] > most; i++)
		disown(t, v[i].at, worker);
	orr_free(v);
}

void sglang_evict(struct sglang_tree *t, uint64_t most)
{
	for (uint32_t worker = 0; worker < t->workers; worker++)
		evict(t, worker, most);
}

void sglang_forget(struct sglang_tree *t, uint32_t worker)
{
	evict(t, worker, 0);
}
