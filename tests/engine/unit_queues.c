/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All queues of the benchmark pop in the same order: by time, and in order of
 * pushing on ties. The expected order is that of qsort() over all pushes.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tests/bench/load.h"
#include "tests/bench/queue_calendar.h"
#include "tests/bench/queue_heap.h"
#include "tests/bench/queue_ladder.h"
#include "tests/bench/queue_radix.h"
#include "tests/tap.h"

static const struct queue_ops *const queues[] = { &ladder_ops, &radix_ops, &calendar_ops, &quad_ops, &binary_ops };

struct push {
	uint64_t time;
	uint32_t slot; /* slots have the order of pushing */
};

static int by_order(const void *va, const void *vb)
{
	const struct push *a = va, *b = vb;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->slot < b->slot ? -1 : a->slot > b->slot;
}

/* The queue grows to half of all pushes, keeps that size, and drains. Returns whether every pop agrees with qsort(). */
static bool is_order_right(const struct queue_ops *ops, const int64_t *draws, uint32_t total)
{
	struct push *pushed = mem_alloc(total * sizeof *pushed);
	uint32_t *popped = mem_alloc(total * sizeof *popped);
	void *q = mem_zalloc(1, ops->size);
	struct rng r;
	rng_init(&r, 1, "queues", 0);
	ops->open(q, total, NULL);
	uint32_t in = 0, out = 0;
	uint64_t now = 0;
	while (out < total) {
		bool is_growing = in < total && (in == out || in - out < rng_below(&r, total / 2));
		if (is_growing) {
			pushed[in] = (struct push){ now + (uint64_t)draws[in % LOAD_DRAWS], in };
			ops->push(q, pushed[in].time, in);
			in++;
		} else {
			popped[out++] = ops->pop(q, &now);
		}
	}
	ops->close(q);
	qsort(pushed, total, sizeof *pushed, by_order);
	bool is_right = true;
	for (uint32_t i = 0; i < total; i++)
		is_right = is_right && popped[i] == pushed[i].slot;
	mem_free(q);
	mem_free(pushed);
	mem_free(popped);
	return is_right;
}

int main(void)
{
	for (int l = 0; l < loads_count; l++) {
		int64_t *draws = load_draws(&loads[l]);
		for (size_t k = 0; k < sizeof queues / sizeof *queues; k++)
			ok(is_order_right(queues[k], draws, 20000), "%s pops by time and sequence, %s increments", queues[k]->name,
				loads[l].name);
		mem_free(draws);
	}
	return done();
}
