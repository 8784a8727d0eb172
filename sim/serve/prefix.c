/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocks of prompts by hash. Invariant: an entry with users is in no list. The list of entries to drop contains those without
 * users, in the order in which they lost their last user.
 */
#include "serve/lane.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

struct entry {
	uint64_t hash;
	uint32_t users, prev, next; /* links of the list of entries to drop */
	uint32_t chain;             /* next entry in its bucket, or among the free entries */
};

struct prefix {
	struct entry *v;
	uint32_t n, cap, free;
	uint32_t first, last; /* list of entries to drop; first: the entry without users for the longest time */
	uint32_t n_used, n_unused;
	uint32_t *head, n_heads; /* a power of two */
};

struct prefix *prefix_new(void)
{
	struct prefix *p = mem_zalloc(1, sizeof *p);
	p->free = p->first = p->last = PREFIX_NONE;
	p->n_heads = 64;
	p->head = mem_alloc(p->n_heads * sizeof *p->head);
	memset(p->head, 0xff, p->n_heads * sizeof *p->head);
	return p;
}

void prefix_free(struct prefix *p)
{
	if (!p)
		return;
	mem_free(p->v);
	mem_free(p->head);
	mem_free(p);
}

/* Returns the head of the bucket of a hash. Traces number their hashes from 0, so the number is mixed (Knuth's multiplicative
 * hashing). */
static uint32_t *head_of(const struct prefix *p, uint64_t hash)
{
	return &p->head[hash_spread(hash) & (p->n_heads - 1)];
}

uint32_t prefix_find(const struct prefix *p, uint64_t hash)
{
	uint32_t e = *head_of(p, hash);
	while (e != PREFIX_NONE && p->v[e].hash != hash)
		e = p->v[e].chain;
	return e;
}

uint32_t prefix_run(const struct prefix *p, const uint64_t *hash, uint32_t n)
{
	uint32_t i = 0;
	while (i < n && prefix_find(p, hash[i]) != PREFIX_NONE)
		i++;
	return i;
}

bool prefix_is_used(const struct prefix *p, uint32_t entry)
{
	return p->v[entry].users > 0;
}

uint32_t prefix_used(const struct prefix *p)
{
	return p->n_used;
}

uint32_t prefix_unused(const struct prefix *p)
{
	return p->n_unused;
}

static void unlink_entry(struct prefix *p, const struct entry *x)
{
	if (x->prev == PREFIX_NONE)
		p->first = x->next;
	else
		p->v[x->prev].next = x->next;
	if (x->next == PREFIX_NONE)
		p->last = x->prev;
	else
		p->v[x->next].prev = x->prev;
	p->n_unused--;
}

bool prefix_use(struct prefix *p, uint32_t entry)
{
	struct entry *x = &p->v[entry];
	if (x->users++)
		return false;
	unlink_entry(p, x);
	p->n_used++;
	return true;
}

bool prefix_leave(struct prefix *p, uint32_t entry)
{
	struct entry *x = &p->v[entry];
	if (--x->users)
		return false;
	x->prev = p->last;
	x->next = PREFIX_NONE;
	if (p->last == PREFIX_NONE)
		p->first = entry;
	else
		p->v[p->last].next = entry;
	p->last = entry;
	p->n_unused++;
	p->n_used--;
	return true;
}

static void widen(struct prefix *p)
{
	p->n_heads *= 2;
	p->head = mem_realloc(p->head, p->n_heads, sizeof *p->head);
	uint32_t *all = mem_alloc((p->n + 1) * sizeof *all), n = 0;
	for (uint32_t h = 0; h < p->n_heads / 2; h++)
		for (uint32_t e = p->head[h]; e != PREFIX_NONE; e = p->v[e].chain)
			all[n++] = e;
	memset(p->head, 0xff, p->n_heads * sizeof *p->head);
	while (n--) {
		uint32_t *head = head_of(p, p->v[all[n]].hash);
		p->v[all[n]].chain = *head;
		*head = all[n];
	}
	mem_free(all);
}

uint32_t prefix_add(struct prefix *p, uint64_t hash)
{
	if (p->n_used + p->n_unused >= p->n_heads)
		widen(p);
	uint32_t e = p->free;
	if (e != PREFIX_NONE) {
		p->free = p->v[e].chain;
	} else {
		MEM_GROW(p->v, p->n, p->cap);
		e = p->n++;
	}
	uint32_t *head = head_of(p, hash);
	p->v[e] = (struct entry){ .hash = hash, .users = 1, .chain = *head };
	*head = e;
	p->n_used++;
	return e;
}

uint64_t prefix_drop(struct prefix *p, uint32_t *entry)
{
	uint32_t e = *entry = p->first;
	unlink_entry(p, &p->v[e]);
	uint32_t *at = head_of(p, p->v[e].hash);
	while (*at != e)
		at = &p->v[*at].chain;
	*at = p->v[e].chain;
	p->v[e].chain = p->free;
	p->free = e;
	return p->v[e].hash;
}
