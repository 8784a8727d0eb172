/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocks of prompts by hash.
 *
 * The entries to drop, those without users, are in a queue in the order in which they lost their last user. An entry that gets a user stays
 * in the queue as a stale place; places are removed when they reach the front, or when most are stale. Invariant: an entry without users
 * has one place, `at`, which names it.
 *
 * The hashes of a prompt are looked up in order, and mostly were added in this order. So each entry names the one that was last added
 * behind it, which is tried before the table of hashes. A dropped entry has users FREE.
 *
 * A fleet's caches are larger than those of the processor, and additions and drops come in long sequences. So the memory that the next ones
 * read is fetched ahead of time. This is why queue and free entries are arrays.
 */
#include "serve/lane.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

#define FREE UINT32_MAX
enum { AHEAD = 8 };

struct entry {
	uint64_t hash;
	uint32_t users;
	uint32_t at;     /* no users: place in the queue */
	uint32_t chain;  /* next entry in its bucket */
	uint32_t behind; /* the entry that was last added behind this one; it may have been dropped */
};

struct prefix {
	struct entry *v;
	uint32_t n, cap;
	uint32_t *free, n_free, cap_free;           /* dropped entries, the next one to use at the end */
	uint32_t *queue, first, n_queue, cap_queue; /* entries to drop: queue[first .. n_queue - 1]; PREFIX_NONE: stale */
	uint32_t n_used, n_unused;
	uint32_t *head, n_heads; /* a power of two */
};

struct prefix *prefix_new(void)
{
	struct prefix *p = mem_zalloc(1, sizeof *p);
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
	mem_free(p->free);
	mem_free(p->queue);
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

uint32_t prefix_after(const struct prefix *p, uint32_t entry, uint64_t hash)
{
	uint32_t e = entry == PREFIX_NONE ? PREFIX_NONE : p->v[entry].behind;
	return e != PREFIX_NONE && p->v[e].hash == hash && p->v[e].users != FREE ? e : prefix_find(p, hash);
}

uint32_t prefix_run(const struct prefix *p, const uint64_t *hash, uint32_t n)
{
	uint32_t i = 0, entry = PREFIX_NONE;
	while (i < n && (entry = prefix_after(p, entry, hash[i])) != PREFIX_NONE)
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

bool prefix_use(struct prefix *p, uint32_t entry)
{
	struct entry *x = &p->v[entry];
	if (x->users++)
		return false;
	p->queue[x->at] = PREFIX_NONE;
	p->n_unused--;
	p->n_used++;
	return true;
}

/* Removes the stale places of a full queue. It becomes longer if less than half of them are stale. */
static void tidy(struct prefix *p)
{
	uint32_t n = 0;
	for (uint32_t i = p->first; i < p->n_queue; i++) {
		uint32_t e = p->queue[i];
		if (e == PREFIX_NONE)
			continue;
		p->v[e].at = n;
		p->queue[n++] = e;
	}
	p->first = 0;
	p->n_queue = n;
	if (2 * (uint64_t)n >= p->cap_queue) {
		p->cap_queue = 2 * n + 64;
		p->queue = mem_realloc(p->queue, p->cap_queue, sizeof *p->queue);
	}
}

bool prefix_leave(struct prefix *p, uint32_t entry)
{
	struct entry *x = &p->v[entry];
	if (--x->users)
		return false;
	if (p->n_queue == p->cap_queue)
		tidy(p);
	x->at = p->n_queue;
	p->queue[p->n_queue++] = entry;
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

uint32_t prefix_add(struct prefix *p, uint64_t hash, uint32_t after)
{
	if (2 * (p->n_used + p->n_unused) >= p->n_heads)
		widen(p);
	uint32_t e;
	if (p->n_free) {
		e = p->free[--p->n_free];
		if (p->n_free >= AHEAD)
			mem_fetch_to_write(&p->v[p->free[p->n_free - AHEAD]]);
	} else {
		MEM_GROW(p->v, p->n, p->cap);
		e = p->n++;
	}
	uint32_t *head = head_of(p, hash);
	p->v[e] = (struct entry){ .hash = hash, .users = 1, .chain = *head, .behind = PREFIX_NONE };
	if (after != PREFIX_NONE)
		p->v[after].behind = e;
	*head = e;
	p->n_used++;
	return e;
}

void prefix_expect(const struct prefix *p, uint64_t hash, bool is_near)
{
	uint32_t *head = head_of(p, hash);
	if (!is_near)
		mem_fetch_to_write(head);
	else if (*head != PREFIX_NONE)
		mem_fetch(&p->v[*head]);
}

void prefix_expect_leave(const struct prefix *p, uint32_t entry)
{
	mem_fetch_to_write(&p->v[entry]);
}

/* Returns the entry that will be dropped after i others; NULL: not known. */
static inline const struct entry *drop_after(const struct prefix *p, uint32_t i)
{
	uint32_t e = p->first + i < p->n_queue ? p->queue[p->first + i] : PREFIX_NONE;
	return e == PREFIX_NONE ? NULL : &p->v[e];
}

/* Fetches an entry that will be dropped soon, then its bucket, then the first entry there. */
static inline void expect_drops(const struct prefix *p)
{
	const struct entry *far = drop_after(p, 3 * AHEAD), *middle = drop_after(p, 2 * AHEAD), *near = drop_after(p, AHEAD);
	if (far)
		mem_fetch_to_write(far);
	if (middle)
		mem_fetch_to_write(head_of(p, middle->hash));
	uint32_t first = near ? *head_of(p, near->hash) : PREFIX_NONE;
	if (first != PREFIX_NONE)
		mem_fetch_to_write(&p->v[first]);
}

uint64_t prefix_drop(struct prefix *p, uint32_t *entry)
{
	while (p->queue[p->first] == PREFIX_NONE)
		p->first++;
	expect_drops(p);
	uint32_t e = *entry = p->queue[p->first++];
	p->n_unused--;
	uint32_t *at = head_of(p, p->v[e].hash);
	while (*at != e)
		at = &p->v[*at].chain;
	*at = p->v[e].chain;
	p->v[e].users = FREE;
	MEM_GROW(p->free, p->n_free, p->cap_free);
	p->free[p->n_free++] = e;
	return p->v[e].hash;
}
