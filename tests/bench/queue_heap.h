/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * queue_heap.h - heaps in an array: binary, and 4-ary without branches
 *
 * Both keep 16-byte keys compared as one integer: 64 bits of time, 40 of sequence,
 * 24 of slot. (An engine needs more bits; this is the best case of a
 * heap.)
 */
#ifndef ORR_TESTS_BENCH_QUEUE_HEAP_H
#define ORR_TESTS_BENCH_QUEUE_HEAP_H

#include "base/mem.h"
#include "tests/bench/queue.h"

__extension__ typedef unsigned __int128 heap_key;

enum { HEAP_SLOT_BITS = 24, HEAP_LINE = 64 };

struct heap {
	heap_key *key;
	char *raw;
	size_t count;
	uint64_t sequence;
};

/* The keys begin 48 bytes after the start of a cache line, so that the four children of a node of the 4-ary heap are in one line. */
static void heap_open(void *vq, size_t slots, const struct bench_record *records)
{
	struct heap *q = vq;
	(void)records;
	q->raw = mem_alloc((slots + 8) * sizeof(heap_key) + HEAP_LINE);
	size_t to_line = -(uintptr_t)q->raw & (HEAP_LINE - 1);
	q->key = (heap_key *)(void *)(q->raw + to_line + HEAP_LINE - sizeof(heap_key));
}

static void heap_close(void *vq)
{
	struct heap *q = vq;
	mem_free(q->raw);
}

static inline heap_key heap_new_key(struct heap *q, uint64_t time, uint32_t slot)
{
	return (heap_key)time << 64 | q->sequence++ << HEAP_SLOT_BITS | slot;
}

static inline uint32_t heap_slot(heap_key k)
{
	return (uint32_t)k & ((1u << HEAP_SLOT_BITS) - 1);
}

static inline void heap_rise(struct heap *q, size_t i, heap_key x, unsigned arity)
{
	while (i > 0) {
		size_t parent = (i - 1) / arity;
		if (q->key[parent] <= x)
			break;
		q->key[i] = q->key[parent];
		i = parent;
	}
	q->key[i] = x;
}

static inline void binary_push(void *vq, uint64_t time, uint32_t slot)
{
	struct heap *q = vq;
	heap_rise(q, q->count++, heap_new_key(q, time, slot), 2);
}

static inline uint32_t binary_pop(void *vq, uint64_t *time)
{
	struct heap *q = vq;
	heap_key first = q->key[0], x = q->key[--q->count];
	size_t i = 0, n = q->count;
	for (size_t child = 1; child < n; child = 2 * i + 1) {
		if (child + 1 < n && q->key[child + 1] < q->key[child])
			child++;
		if (x <= q->key[child])
			break;
		q->key[i] = q->key[child];
		i = child;
	}
	q->key[i] = x;
	*time = (uint64_t)(first >> 64);
	return heap_slot(first);
}

static inline void quad_push(void *vq, uint64_t time, uint32_t slot)
{
	struct heap *q = vq;
	heap_rise(q, q->count++, heap_new_key(q, time, slot), 4);
}

/* Finds the minimum of four children by conditional moves. */
static inline size_t quad_least(const heap_key *k)
{
	size_t a = k[1] < k[0], b = 2 + (size_t)(k[3] < k[2]);
	return k[b] < k[a] ? b : a;
}

static inline uint32_t quad_pop(void *vq, uint64_t *time)
{
	struct heap *q = vq;
	heap_key first = q->key[0], x = q->key[--q->count];
	size_t i = 0, n = q->count, child = 1;
	for (; child + 3 < n; child = 4 * i + 1) {
		child += quad_least(&q->key[child]);
		if (x <= q->key[child])
			break;
		q->key[i] = q->key[child];
		i = child;
	}
	if (child < n && child == 4 * i + 1) {
		size_t least = child;
		for (size_t c = child + 1; c < n && c < child + 4; c++)
			least = q->key[c] < q->key[least] ? c : least;
		if (q->key[least] < x) {
			q->key[i] = q->key[least];
			i = least;
		}
	}
	q->key[i] = x;
	*time = (uint64_t)(first >> 64);
	return heap_slot(first);
}

static const struct queue_ops binary_ops = { "binary heap", sizeof(struct heap), heap_open, heap_close, binary_push, binary_pop };
static const struct queue_ops quad_ops = { "4-ary heap, integer key", sizeof(struct heap), heap_open, heap_close, quad_push, quad_pop };

#endif
