/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * queue.h - event queues behind one interface, to be measured against each other
 *
 * Order is (time, sequence of pushing). A slot is below the number given to
 * open() and pending at most once; times never lie before the last one popped.
 * Every function is inline where ops is a constant, so a structure pays for no
 * indirect call. Each queue is a file queue_NAME.h with the table NAME_ops.
 */
#ifndef ORR_TESTS_BENCH_QUEUE_H
#define ORR_TESTS_BENCH_QUEUE_H

#include <stddef.h>
#include <stdint.h>

/* What an event carries: a line of the cache, as the engine's own record does. */
struct bench_record {
	uint64_t word[8];
};

struct queue_ops {
	const char *name;
	size_t size; /* of the state that q points to; zeroed before open() */
	/* records: what slots name, for a queue that knows what comes next and can fetch it; or NULL */
	void (*open)(void *q, size_t slots, const struct bench_record *records);
	void (*close)(void *q);
	void (*push)(void *q, uint64_t time, uint32_t slot);
	uint32_t (*pop)(void *q, uint64_t *time); /* the queue must not be empty */
};

#endif
