/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lent.h - the instances of a capacity source: a table by number, and queues of those that wait for a node
 *
 * Invariant: an instance is known from the first row or notice that names it until it is dropped; a waiting instance is in the
 * queue of its GPU type, in order of addition. Memory is O(instances known at one time). Pointers are valid until the next
 * lent_get().
 */
#ifndef ORR_CLUSTER_LENT_H
#define ORR_CLUSTER_LENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lent_instance {
	uint32_t number;
	bool is_there;                 /* the instance has been added; false: only its end is known so far */
	uint32_t node;                 /* UINT32_MAX: none */
	uint32_t zone, type, gpu_type; /* gpu_type UINT32_MAX: any */
	int64_t price, goes_ns;
};

struct lent_queue {
	uint32_t *number; /* numbers of the waiting instances; may include dropped instances */
	size_t first, n, cap;
};

struct lent {
	struct lent_instance *slot; /* hash table, linear probing; an empty slot has node UINT32_MAX - 1 */
	uint32_t mask, n;
	struct lent_queue *queue; /* queues by GPU type; the last one: any type */
	uint32_t n_queues, waiting;
};

void lent_init(struct lent *l, uint32_t n_types);
void lent_free(struct lent *l);
/* Returns the instance with this number, which is added if it is new. */
struct lent_instance *lent_get(struct lent *l, uint32_t number);
void lent_drop(struct lent *l, uint32_t number);
/* Appends x, which has no node, to its queue. */
void lent_wait(struct lent *l, const struct lent_instance *x);
/* Removes and returns the instance that has waited longest for a node of this type; NULL: none. */
struct lent_instance *lent_next_waiting(struct lent *l, uint32_t type);

#endif
