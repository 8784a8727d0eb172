/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * capacity_rows.h - the rows of an availability set, read once or repeatedly
 *
 * A repeated set starts its next round when it ends (a generator draws other random numbers). Instances that are still live
 * then replace those that the next round adds at its time 0, oldest first; the difference is added or removed. Instance numbers
 * are never reused (there are 2^32).
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
	uint64_t round; /* index of the random streams */
	int64_t offset_ns;
	uint32_t numbers; /* number of instances so far */
	/* By number in this round: the instance's number over all rounds, and whether it is live. */
	struct {
		uint32_t number;
		bool is_live;
	} * of_round;
	uint32_t n_of_round, cap_of_round;
	/* Rows to return before those of the cursor. */
	struct avail_rec *ready;
	size_t n_ready, cap_ready, next_ready;
	bool is_over;
};

/*
 * Opens the rows of a set. set may be NULL: no rows. The end of a repeated set must be above 0. replication: index of the
 * random streams; later rounds of repeated sets have other streams.
 */
void capacity_rows_open(struct capacity_rows *r, const struct availset *set, bool repeats, uint64_t replication);
void capacity_rows_close(struct capacity_rows *r);
bool capacity_rows_next_repeated(struct capacity_rows *r, struct avail_rec *out);
/* Reads the next row; returns false if none is left. Inlined: called once per row. */
static inline bool capacity_rows_next(struct capacity_rows *r, struct avail_rec *out)
{
	if (r->repeats)
		return capacity_rows_next_repeated(r, out);
	r->is_over = r->is_over || !availcursor_next(r->cursor, out);
	return !r->is_over;
}

#endif
