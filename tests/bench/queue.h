/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * queue.h - event queues behind one interface, for comparison
 *
 * Order is (time, sequence of pushing). A slot is below the number given to open() and pending at most once; times are never
 * before the last popped one. Every function is inlined if ops is a constant, so there are no indirect calls. Each queue is a
 * file queue_NAME.h with the table NAME_ops.
 */
#ifndef ORR_TESTS_BENCH_QUEUE_H
#define ORR_TESTS_BENCH_QUEUE_H

#include <stddef.h>
#include <stdint.h>

/* Record of an event: one cache line, like the engine's record. */
struct bench_record {
	uint64_t word[8];
};

struct queue_ops {
	const char *name;
	size_t size; /* size of the state that q points to; zeroed before open() */
	/* Opens a queue. records: records of the slots, for a queue that can prefetch the next one; or NULL. */
	void (*open)(void *q, size_t slots, const struct bench_record *records);
	void (*close)(void *q);
	void (*push)(void *q, uint64_t time, uint32_t slot);
	uint32_t (*pop)(void *q, uint64_t *time); /* the queue must not be empty */
};

#endif
