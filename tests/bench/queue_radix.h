/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * queue_radix.h - a radix heap whose buckets are lists of blocks
 *
 * An entry lies in the bucket of the highest bit in which its time differs from
 * the last time popped (R. K. Ahuja, K. Mehlhorn, J. B. Orlin and R. E. Tarjan,
 * "Faster algorithms for the shortest path problem", JACM 37(2), 1990). Bucket 0
 * is the present instant; lists are first in, first out, so equal times keep
 * their sequence.
 */
#ifndef ORR_TESTS_BENCH_QUEUE_RADIX_H
#define ORR_TESTS_BENCH_QUEUE_RADIX_H

#include "base/mem.h"
#include "tests/bench/queue.h"

enum { RADIX_BUCKETS = 65, RADIX_BLOCK = 31, RADIX_CHUNK = 128 };

struct radix_entry {
	uint64_t time;
	uint32_t slot;
};

struct radix_block {
	struct radix_block *next;
	size_t count;
	struct radix_entry entry[RADIX_BLOCK];
};

struct radix_list {
	struct radix_block *first, *last;
};

struct radix {
	struct radix_list bucket[RADIX_BUCKETS];
	uint64_t used[2]; /* bit set of non-empty buckets */
	uint64_t last_time;
	size_t read; /* position in the first block of bucket 0 */
	struct radix_block *free_blocks;
	struct radix_block **chunk;
	size_t chunks, chunk_capacity, chunk_used;
};

static void radix_open(void *vq, size_t slots, const struct bench_record *records)
{
	struct radix *q = vq;
	(void)slots;
	(void)records;
	q->chunk_used = RADIX_CHUNK;
}

static void radix_close(void *vq)
{
	struct radix *q = vq;
	for (size_t i = 0; i < q->chunks; i++)
		mem_free(q->chunk[i]);
	mem_free(q->chunk);
}

static struct radix_block *radix_block_new(struct radix *q)
{
	struct radix_block *b = q->free_blocks;
	if (b) {
		q->free_blocks = b->next;
	} else {
		if (q->chunk_used == RADIX_CHUNK) {
			MEM_GROW(q->chunk, q->chunks, q->chunk_capacity);
			q->chunk[q->chunks++] = mem_alloc(RADIX_CHUNK * sizeof *b);
			q->chunk_used = 0;
		}
		b = &q->chunk[q->chunks - 1][q->chunk_used++];
	}
	b->next = NULL;
	b->count = 0;
	return b;
}

static inline void radix_block_free(struct radix *q, struct radix_block *b)
{
	b->next = q->free_blocks;
	q->free_blocks = b;
}

static void radix_extend(struct radix *q, unsigned i)
{
	struct radix_list *l = &q->bucket[i];
	struct radix_block *b = radix_block_new(q);
	if (l->last)
		l->last->next = b;
	else
		l->first = b;
	l->last = b;
	q->used[i / 64] |= UINT64_C(1) << i % 64;
}

static inline void radix_append(struct radix *q, struct radix_entry x)
{
	uint64_t differs = x.time ^ q->last_time;
	unsigned i = differs ? 64 - (unsigned)__builtin_clzll(differs) : 0;
	struct radix_list *l = &q->bucket[i];
	if (!l->last || l->last->count == RADIX_BLOCK)
		radix_extend(q, i);
	l->last->entry[l->last->count++] = x;
}

static void radix_forget(struct radix *q, unsigned i)
{
	q->bucket[i] = (struct radix_list){ 0 };
	q->used[i / 64] &= ~(UINT64_C(1) << i % 64);
}

/* Distributes the entries of the lowest non-empty bucket by their distance to its minimum time; called if bucket 0 is empty. */
static void radix_advance(struct radix *q)
{
	unsigned i = q->used[0] ? (unsigned)__builtin_ctzll(q->used[0]) : 64;
	struct radix_list l = q->bucket[i];
	radix_forget(q, i);
	uint64_t least = UINT64_MAX;
	for (struct radix_block *b = l.first; b; b = b->next)
		for (size_t k = 0; k < b->count; k++)
			least = b->entry[k].time < least ? b->entry[k].time : least;
	q->last_time = least;
	for (struct radix_block *b = l.first, *next; b; b = next) {
		for (size_t k = 0; k < b->count; k++)
			radix_append(q, b->entry[k]);
		next = b->next;
		radix_block_free(q, b);
	}
}

static inline void radix_push(void *vq, uint64_t time, uint32_t slot)
{
	radix_append(vq, (struct radix_entry){ time, slot });
}

static inline uint32_t radix_pop(void *vq, uint64_t *time)
{
	struct radix *q = vq;
	if (!q->bucket[0].first)
		radix_advance(q);
	struct radix_block *b = q->bucket[0].first;
	struct radix_entry x = b->entry[q->read++];
	if (q->read == b->count) {
		q->bucket[0].first = b->next;
		if (!b->next)
			radix_forget(q, 0);
		radix_block_free(q, b);
		q->read = 0;
	}
	*time = x.time;
	return x.slot;
}

static const struct queue_ops radix_ops = { "radix heap of blocks", sizeof(struct radix), radix_open, radix_close, radix_push, radix_pop };

#endif
