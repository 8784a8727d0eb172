/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * capacity_rows.h - the rows of an availability set, once or again and again
 *
 * Repeated, a set begins anew when it ends (a generator with other random numbers): who is there then stands in for who is added at
 * its time 0, oldest first, and the difference comes or goes. Instances have numbers that are never used again (2^32 of them).
 *
 * Invariant: times do not decrease; an instance is added once and removed at most once.
 */
#ifndef ORR_CLUSTER_CAPACITY_ROWS_H
#define ORR_CLUSTER_CAPACITY_ROWS_H

#include "traces/avail.h"

struct capacity_rows {
	const struct availset *set;
	struct availcursor *cursor;
	bool repeats;
	uint64_t round;
	int64_t offset_ns;
	uint32_t numbers; /* given out so far */
	/* Of the instances of this round, by their numbers in it. */
	struct {
		uint32_t number;
		bool is_there;
	} * of_round;
	uint32_t n_of_round, cap_of_round;
	/* Rows to be given before the cursor's next. */
	struct avail_rec *ready;
	size_t n_ready, cap_ready, next_ready;
	bool is_over;
};

/* set may be NULL: no rows. A set that is repeated must have an end above 0. */
void capacity_rows_open(struct capacity_rows *r, const struct availset *set, bool repeats);
void capacity_rows_close(struct capacity_rows *r);
bool capacity_rows_next(struct capacity_rows *r, struct avail_rec *out);

#endif
