/* SPDX-License-Identifier: GPL-3.0-or-later */
/* queue_ladder.h - the engine's queue (engine/ladder.h), with equal priorities */
#ifndef ORR_TESTS_BENCH_QUEUE_LADDER_H
#define ORR_TESTS_BENCH_QUEUE_LADDER_H

#include "engine/ladder.h"
#include "tests/bench/queue.h"

struct ladder_queue {
	struct ladder ladder;
	const struct bench_record *records;
};

static void ladder_fetch(void *ctx, const struct ladder_entry *x, size_t count, bool is_front)
{
	const struct ladder_queue *q = ctx;
	for (size_t i = 0; i < count && !is_front; i++)
		__builtin_prefetch(&q->records[x[i].slot], 1);
}

static void ladder_queue_open(void *vq, size_t slots, const struct bench_record *records)
{
	struct ladder_queue *q = vq;
	(void)slots;
	q->records = records;
	ladder_open(&q->ladder, records ? ladder_fetch : NULL, q);
}

static void ladder_queue_close(void *vq)
{
	struct ladder_queue *q = vq;
	ladder_close(&q->ladder);
}

static inline void ladder_queue_push(void *vq, uint64_t time, uint32_t slot)
{
	struct ladder_queue *q = vq;
	ladder_push(&q->ladder, time, 0, slot);
}

static inline uint32_t ladder_queue_pop(void *vq, uint64_t *time)
{
	struct ladder_queue *q = vq;
	const struct ladder_entry *x = ladder_first(&q->ladder);
	*time = x->time;
	ladder_drop_first(&q->ladder);
	return x->slot;
}

static const struct queue_ops ladder_ops = { "ladder of blocks", sizeof(struct ladder_queue), ladder_queue_open, ladder_queue_close,
	ladder_queue_push, ladder_queue_pop };

#endif
