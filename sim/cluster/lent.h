/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lent.h - the instances that a capacity source knows of: by number, and those that wait for a node
 *
 * Invariant: an instance is known from the row or the notice that first names it until it is dropped; one that waits is in the queue
 * of its GPU type, in order of addition. Memory is of the order of those known at once, whatever came and went. Pointers are good
 * until the next lent_get().
 */
#ifndef ORR_CLUSTER_LENT_H
#define ORR_CLUSTER_LENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lent_instance {
	uint32_t number;
	bool is_there;                 /* added; else only its end is known */
	uint32_t node;                 /* UINT32_MAX: none */
	uint32_t zone, type, gpu_type; /* gpu_type UINT32_MAX: any */
	int64_t price, goes_ns;
};

struct lent_queue {
	uint32_t *number; /* some have been dropped since */
	size_t first, n, cap;
};

struct lent {
	struct lent_instance *slot; /* linear probing; node == LENT_EMPTY: none there */
	uint32_t mask, n;
	struct lent_queue *queue; /* [type], and of any type */
	uint32_t n_queues, waiting;
};

void lent_init(struct lent *l, uint32_t n_types);
void lent_free(struct lent *l);
/* Known from now on, if it was not. */
struct lent_instance *lent_get(struct lent *l, uint32_t number);
void lent_drop(struct lent *l, uint32_t number);
/* x has no node and waits for one. */
void lent_wait(struct lent *l, const struct lent_instance *x);
/* The one that has waited longest for a node of that type, and no longer does; NULL: none. */
struct lent_instance *lent_next_waiting(struct lent *l, uint32_t type);

#endif
