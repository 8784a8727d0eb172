/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * availability.h - an availability profile: free capacity as a function of time
 *
 * A step function: the value of point i is valid from its time to that of point i + 1; the last one is valid forever. Capacity:
 * GPUs (1/1000) per type, CPUs and memory (struct backfill_room, backfill.h).
 *
 * Invariant: times differ; the first point is the earliest time of a query. Points whose change is 0 are removed. Cost, with n
 * points: O(log n) per operation; a search also visits the gaps that are too short.
 */
#ifndef ORR_POLICIES_AVAILABILITY_H
#define ORR_POLICIES_AVAILABILITY_H

#include "backfill.h"

struct availability_node; /* availability.c */

struct availability {
	struct availability_node *node;
	int64_t *room;       /* capacities, [node * parts * width]: GPUs by type, then CPUs, then memory */
	int64_t *change;     /* scratch [width] */
	int64_t first;       /* time of the first point */
	uint32_t root, free; /* root 0: no tree; free: list of free nodes */
	size_t n, cap, width;
};

void availability_init(struct availability *p, uint32_t n_types);
void availability_free(struct availability *p);
/* Resets the profile: `room` is free from `now` on. */
void availability_reset(struct availability *p, int64_t now, const struct backfill_room *room);
/* Drops the points before `now`, and points that change nothing. */
void availability_trim(struct availability *p, int64_t now);
/* Subtracts (sign -1) or adds (sign 1) a need in [from, to), clipped at point 0. */
void availability_move(struct availability *p, int64_t from, int64_t to, uint32_t type, const struct backfill_need *need, int sign);
/* Returns the earliest time >= `from` at which the need fits for `span` > 0 ns; ORR_NEVER if no such time exists. */
int64_t availability_find(const struct availability *p, int64_t from, int64_t span, uint32_t type, const struct backfill_need *need);

#endif
