/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ladder.h - the queue of pending events: a ladder whose buckets are lists of blocks
 *
 * Far events stay unsorted in the top. When no nearer events are left, the top is distributed by time over the buckets of a
 * rung. When a bucket is reached, many entries are distributed over a finer rung below; few entries are sorted into the bottom,
 * which is read from the front. So an entry is moved a few times in bulk, for any backlog (W. T. Tang, R. S. M. Goh and I.
 * L.-J. Thng, "Ladder queue: an O(1) priority queue structure for large-scale discrete event simulation", ACM TOMACS 15(3),
 * 2005). Differences from the paper: buckets are chains of small blocks, read and written in sequence; widths are powers of
 * two; a rung spans only the times of its entries; many entries of one instant go to a rung of lanes, one unsorted list per
 * priority.
 *
 * The order is (time, priority, sequence). The sequence is not stored: lists are
 * first in, first out, and the sort is stable.
 *
 * Invariant: end[] decreases from the top to the deepest rung, and bottom_end is at
 * most the last. An entry of time t goes to the bottom if t < bottom_end, else to
 * the deepest level with t < its end. Hence deeper entries are earlier in time or,
 * at the same time, in the sequence.
 *
 * Times are ns >= 0; priorities 0..255; slots belong to the caller. The ladder
 * owns its blocks and keeps them until ladder_close().
 */
#ifndef ORR_ENGINE_LADDER_H
#define ORR_ENGINE_LADDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LADDER_BLOCK_BYTES = 256, /* alignment of a block */
	LADDER_BLOCK_ENTRIES = 15,
	LADDER_BOTTOM_MAX = 64, /* a bottom with more entries than this becomes a rung */
	LADDER_LEVELS = 40,     /* includes the top. Distribution needs 22 levels; the others are for long bottoms */
	LADDER_LANES = 256
};

struct ladder_entry {
	uint64_t time;
	uint32_t slot, priority;
};

struct ladder_block {
	struct ladder_block *next;
	uint64_t unused; /* padding of the header, so that entries are aligned to 16 bytes */
	struct ladder_entry entry[LADDER_BLOCK_ENTRIES];
};

/* A FIFO list. write: place of the next entry; the block is full if write is a multiple of the block size (NULL is such a multiple). */
struct ladder_list {
	struct ladder_block *first;
	struct ladder_entry *write;
};

/* Range of the times in a list; min > max: the list is empty. */
struct ladder_survey {
	size_t count;
	uint64_t min, max;
};

struct ladder_lanes;

/* Buckets of 2^shift ns, from start on; those before current are empty. A rung of lanes has one instant, start. */
struct ladder_rung {
	uint64_t start;
	unsigned shift;
	bool is_instant;
	uint32_t current, count;
	size_t capacity;
	struct ladder_list *bucket;
	struct ladder_lanes *lanes;
};

/*
 * Called twice with the entries that are next, so that the caller can prefetch memory: some entries before they are at the front, for
 * their records, and when they are at the front, for what the records name (is_front; left out for entries of one instant).
 */
typedef void (*ladder_near_fn)(void *ctx, const struct ladder_entry *x, size_t count, bool is_front);

struct ladder {
	struct ladder_entry *cur, *stop; /* front, in bottom[] or in a block of a lane */
	struct ladder_lanes *view;       /* the lanes that hold the front, or NULL */
	uint64_t bottom_end;
	unsigned depth;                  /* number of rungs in use; they are levels 1 .. depth */
	uint64_t end[LADDER_LEVELS + 2]; /* ends by level; [0], of the top, is unused; 0 past the deepest */
	struct ladder_list top;
	struct ladder_survey top_survey;
	struct ladder_block *free_blocks;
	struct ladder_block *fresh, *fresh_stop;    /* unused blocks of the newest chunk */
	struct ladder_rung rung[LADDER_LEVELS + 1]; /* [0] unused */
	struct ladder_entry bottom[2 * LADDER_BOTTOM_MAX];
	void **chunk;
	size_t chunks, chunk_capacity;
	ladder_near_fn near;
	void *near_ctx;
};

/* Opens a ladder. near may be NULL. q must not move in memory. */
void ladder_open(struct ladder *q, ladder_near_fn near, void *near_ctx);
void ladder_close(struct ladder *q);

/* Removes the entries for which keep() is false. */
void ladder_sweep(struct ladder *q, bool (*keep)(void *ctx, uint32_t slot), void *ctx);

/* Used by the inline functions below. */
void ladder_append_block(struct ladder *q, struct ladder_list *l, struct ladder_entry x);
void ladder_push_near(struct ladder *q, struct ladder_entry x, unsigned level);
bool ladder_refill(struct ladder *q);

static inline void ladder_count(struct ladder_survey *s, uint64_t time)
{
	s->count++;
	s->min = time < s->min ? time : s->min;
	s->max = time > s->max ? time : s->max;
}

static inline void ladder_append(struct ladder *q, struct ladder_list *l, struct ladder_entry x)
{
	if (((uintptr_t)l->write & (LADDER_BLOCK_BYTES - 1)) == 0)
		ladder_append_block(q, l, x);
	else
		*l->write++ = x;
}

/* Adds an entry. time must be at least that of the last entry dropped. */
static inline void ladder_push(struct ladder *q, uint64_t time, unsigned priority, uint32_t slot)
{
	struct ladder_entry x = { time, slot, priority };
	if (time < q->bottom_end) {
		ladder_push_near(q, x, 0);
		return;
	}
	unsigned level = 0;
	while (time < q->end[level + 1])
		level++;
	if (level == 0) {
		ladder_count(&q->top_survey, time);
		ladder_append(q, &q->top, x);
		return;
	}
	struct ladder_rung *r = &q->rung[level];
	if (r->is_instant)
		ladder_push_near(q, x, level);
	else
		ladder_append(q, &r->bucket[(time - r->start) >> r->shift], x);
}

/* Returns the first entry, or NULL; valid until the next call. */
static inline const struct ladder_entry *ladder_first(struct ladder *q)
{
	return q->cur != q->stop || ladder_refill(q) ? q->cur : NULL;
}

/* Removes the entry that ladder_first() returned. */
static inline void ladder_drop_first(struct ladder *q)
{
	q->cur++;
}

#endif
