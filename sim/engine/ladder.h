/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ladder.h - the queue of pending events: a ladder whose buckets are lists of blocks
 *
 * Far events lie unsorted in the top. When nothing nearer is left the top is
 * dealt into the buckets of a rung by time; a bucket that is reached and still
 * holds many entries is dealt into a finer rung below it, one that holds few is
 * sorted into the bottom, and the bottom is read from the front. So an entry is
 * moved a few times in bulk, whatever the backlog (W. T. Tang, R. S. M. Goh and
 * I. L.-J. Thng, "Ladder queue: an O(1) priority queue structure for large-scale
 * discrete event simulation", ACM TOMACS 15(3), 2005). What differs here: buckets
 * are chains of small blocks, read and written in sequence, in place of linked
 * lists; widths are powers of two; a rung spans the times that are really there;
 * many entries of one instant go to a rung of lanes, one per priority, unsorted.
 *
 * Order is (time, priority, sequence) and the sequence is not stored: lists are
 * first in, first out and the sort is stable.
 *
 * Invariant: end[] falls from the top to the deepest rung, and bottom_end is not
 * above the last. An entry of time t goes to the bottom if t < bottom_end, else to
 * the deepest level with t < its end. Hence all that lies deeper comes earlier in
 * time or, at the same time, in the sequence.
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
	LADDER_BLOCK_BYTES = 256, /* and their alignment */
	LADDER_BLOCK_ENTRIES = 15,
	LADDER_BOTTOM_MAX = 64, /* a bottom that would grow past this becomes a rung */
	LADDER_LEVELS = 40,     /* top included; dealing needs 22, the rest is for bottoms that grew */
	LADDER_LANES = 256
};

struct ladder_entry {
	uint64_t time;
	uint32_t slot, priority;
};

struct ladder_block {
	struct ladder_block *next;
	uint64_t unused; /* keeps entries on 16 bytes */
	struct ladder_entry entry[LADDER_BLOCK_ENTRIES];
};

/* First in, first out. write is where the next entry goes; there is no room for
 * it where write is a multiple of the block's size (NULL is one). */
struct ladder_list {
	struct ladder_block *first;
	struct ladder_entry *write;
};

/* What there is in a list; min > max if nothing. */
struct ladder_survey {
	size_t count;
	uint64_t min, max;
};

struct ladder_lanes;

/* Buckets of 2^shift ns from start on; those before current are empty. With lanes,
 * one instant: start. */
struct ladder_rung {
	uint64_t start;
	unsigned shift;
	bool is_instant;
	uint32_t current, count;
	size_t capacity;
	struct ladder_list *bucket;
	struct ladder_lanes *lanes;
};

/* Told which entries come next, so that the caller can fetch what they name. */
typedef void (*ladder_near_fn)(void *ctx, const struct ladder_entry *x, size_t count);

struct ladder {
	struct ladder_entry *cur, *stop; /* the front: in bottom[], or in a lane's block */
	struct ladder_lanes *view;       /* the lanes the front is in, or NULL */
	uint64_t bottom_end;
	unsigned depth;                  /* rungs in use: level 1 .. depth */
	uint64_t end[LADDER_LEVELS + 2]; /* [0] the top's, unused; 0 past the deepest */
	struct ladder_list top;
	struct ladder_survey top_survey;
	struct ladder_block *free_blocks;
	struct ladder_block *fresh, *fresh_stop;    /* never used, of the newest chunk */
	struct ladder_rung rung[LADDER_LEVELS + 1]; /* [0] unused */
	struct ladder_entry bottom[2 * LADDER_BOTTOM_MAX];
	void **chunk;
	size_t chunks, chunk_capacity;
	ladder_near_fn near;
	void *near_ctx;
};

/* near may be NULL. q must not move. */
void ladder_open(struct ladder *q, ladder_near_fn near, void *near_ctx);
void ladder_close(struct ladder *q);

/* Takes out the entries for which keep() is false. */
void ladder_sweep(struct ladder *q, bool (*keep)(void *ctx, uint32_t slot), void *ctx);

/* For the functions below. */
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

/* time must not lie before an entry already popped. */
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

/* The first entry, or NULL; good until the next call. */
static inline const struct ladder_entry *ladder_first(struct ladder *q)
{
	return q->cur != q->stop || ladder_refill(q) ? q->cur : NULL;
}

/* Takes out what ladder_first() returned. */
static inline void ladder_drop_first(struct ladder *q)
{
	q->cur++;
}

#endif
