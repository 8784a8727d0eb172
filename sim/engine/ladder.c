/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/ladder.h"

#include <string.h>

#include "base/mem.h"

enum {
	CHUNK_BLOCKS = 255, /* blocks per chunk, with room to align: 64 KiB */
	SHORT_BLOCKS = 2,   /* a bucket of at most this size is sorted instead of divided */
	PER_BUCKET = 8,     /* target number of entries per bucket of a finer rung */
	FEW_BUCKETS = 1024, /* a rung may have this many buckets, regardless of the number of entries */
	PER_BIG_BUCKET =
		16, /* target number of entries per bucket if a rung has more than FEW_BUCKETS buckets: half-full blocks waste memory */
	MAX_BUCKETS = 8192 /* limit on buckets that keeps the tails of all lists in the L2 cache */
};

/* One instant: a list per priority. read: position at which the front left the lane; NULL: the first entry of the lane. */
struct ladder_lanes {
	uint64_t used[LADDER_LANES / 64];
	unsigned current;
	struct {
		struct ladder_list list;
		struct ladder_entry *read;
	} lane[LADDER_LANES];
};

static const struct ladder_survey NOTHING = { 0, UINT64_MAX, 0 };

static struct ladder_block *block_new(struct ladder *q)
{
	struct ladder_block *b = q->free_blocks;
	if (b) {
		q->free_blocks = b->next;
		return b;
	}
	if (q->fresh == q->fresh_stop) {
		char *raw = mem_alloc((CHUNK_BLOCKS + 1) * LADDER_BLOCK_BYTES);
		MEM_GROW(q->chunk, q->chunks, q->chunk_capacity);
		q->chunk[q->chunks++] = raw;
		size_t skip = -(uintptr_t)raw & (LADDER_BLOCK_BYTES - 1);
		q->fresh = (struct ladder_block *)(void *)(raw + skip);
		q->fresh_stop = q->fresh + CHUNK_BLOCKS;
	}
	return q->fresh++;
}

static void block_free(struct ladder *q, struct ladder_block *b)
{
	b->next = q->free_blocks;
	q->free_blocks = b;
}

static struct ladder_block *block_of(struct ladder_entry *x)
{
	return (struct ladder_block *)(void *)((char *)x - ((uintptr_t)x & (LADDER_BLOCK_BYTES - 1)));
}

/* Returns one past the last entry of block b of list l. */
static struct ladder_entry *block_end(const struct ladder_list *l, struct ladder_block *b)
{
	return b->next ? b->entry + LADDER_BLOCK_ENTRIES : l->write;
}

/* Implements ladder_append() for a list whose last block is full. */
void ladder_append_block(struct ladder *q, struct ladder_list *l, struct ladder_entry x)
{
	struct ladder_block *b = block_new(q);
	b->next = NULL;
	if (l->write)
		block_of(l->write - 1)->next = b;
	else
		l->first = b;
	b->entry[0] = x;
	l->write = b->entry + 1;
}

void ladder_open(struct ladder *q, ladder_near_fn near, void *near_ctx)
{
	memset(q, 0, sizeof *q);
	q->cur = q->stop = q->bottom;
	q->top_survey = NOTHING;
	q->near = near;
	q->near_ctx = near_ctx;
}

void ladder_close(struct ladder *q)
{
	for (size_t i = 0; i < LADDER_LEVELS + 1; i++) {
		mem_free(q->rung[i].bucket);
		mem_free(q->rung[i].lanes);
	}
	for (size_t i = 0; i < q->chunks; i++)
		mem_free(q->chunk[i]);
	mem_free(q->chunk);
}

/* Passes block b of list l to near() shortly before it becomes the front, so that the caller prefetches the records of its entries. */
static void tell_near(struct ladder *q, const struct ladder_list *l, struct ladder_block *b)
{
	if (q->near && b)
		q->near(q->near_ctx, b->entry, (size_t)(block_end(l, b) - b->entry), false);
}

/* ---- lanes: many entries of one instant ---- */

/* Advances the front, which has reached the end of a block, to the next block of the lane. Returns false if the lane is empty. */
static bool view_next(struct ladder *q)
{
	struct ladder_lanes *v = q->view;
	struct ladder_list *l = &v->lane[v->current].list;
	if (q->cur == l->write) {
		block_free(q, l->first);
		*l = (struct ladder_list){ 0 };
		v->lane[v->current].read = NULL;
		v->used[v->current / 64] &= ~(UINT64_C(1) << v->current % 64);
		return false;
	}
	if (q->cur == l->first->entry + LADDER_BLOCK_ENTRIES) {
		struct ladder_block *used_up = l->first;
		l->first = used_up->next;
		q->cur = l->first->entry;
		block_free(q, used_up);
		tell_near(q, l, l->first->next);
	}
	q->stop = block_end(l, l->first);
	return true;
}

/* Moves the front out of its lane; it will return to that lane. The bottom must be empty. */
static void view_leave(struct ladder *q)
{
	struct ladder_lanes *v = q->view;
	if (q->cur != q->stop || view_next(q))
		v->lane[v->current].read = q->cur;
	q->view = NULL;
	q->cur = q->stop = q->bottom;
}

/* Returns the lowest priority that has entries, or LADDER_LANES. */
static unsigned first_lane(const struct ladder_lanes *v)
{
	for (unsigned w = 0; w < LADDER_LANES / 64; w++)
		if (v->used[w])
			return w * 64 + (unsigned)__builtin_ctzll(v->used[w]);
	return LADDER_LANES;
}

static bool view_enter(struct ladder *q, struct ladder_rung *r)
{
	struct ladder_lanes *v = r->lanes;
	v->current = first_lane(v);
	if (v->current == LADDER_LANES)
		return false;
	struct ladder_list *l = &v->lane[v->current].list;
	struct ladder_entry *read = v->lane[v->current].read;
	q->view = v;
	q->cur = read ? read : l->first->entry;
	q->stop = block_end(l, l->first);
	q->bottom_end = r->start;
	tell_near(q, l, l->first);
	tell_near(q, l, l->first->next);
	return true;
}

static void lane_append(struct ladder *q, struct ladder_lanes *v, struct ladder_entry x)
{
	unsigned p = x.priority;
	if (q->view == v && p < v->current)
		view_leave(q);
	ladder_append(q, &v->lane[p].list, x);
	v->used[p / 64] |= UINT64_C(1) << p % 64;
}

/* ---- rungs ---- */

static void open_level(struct ladder *q, uint64_t start, uint64_t end, bool is_instant)
{
	struct ladder_rung *r = &q->rung[++q->depth];
	r->start = start;
	r->is_instant = is_instant;
	q->end[q->depth] = end;
	q->end[q->depth + 1] = 0;
	if (is_instant && !r->lanes)
		r->lanes = mem_zalloc(1, sizeof *r->lanes);
}

static void close_level(struct ladder *q)
{
	q->end[q->depth--] = 0;
}

static size_t buckets_wanted(size_t count)
{
	size_t wanted = count / PER_BIG_BUCKET;
	if (wanted < FEW_BUCKETS)
		wanted = count / PER_BUCKET < FEW_BUCKETS ? count / PER_BUCKET : FEW_BUCKETS;
	return wanted < MAX_BUCKETS ? wanted : MAX_BUCKETS;
}

/* Makes empty buckets that cover s->min to s->max. */
static void open_rung(struct ladder *q, const struct ladder_survey *s, uint64_t limit)
{
	size_t wanted = buckets_wanted(s->count);
	uint64_t span = s->max - s->min;
	unsigned shift = 0;
	while (span >> shift >= wanted)
		shift++;
	uint32_t count = (uint32_t)(span >> shift) + 1;
	uint64_t end = s->min + ((uint64_t)count << shift);
	open_level(q, s->min, end < limit ? end : limit, false);
	struct ladder_rung *r = &q->rung[q->depth];
	r->shift = shift;
	r->current = 0;
	r->count = count;
	if (r->capacity < count) {
		mem_free(r->bucket);
		r->bucket = mem_zalloc(count, sizeof *r->bucket);
		r->capacity = count;
	}
}

/* Distributes the entries of l over a new level below the deepest. The level must end at or before limit. */
static void deal(struct ladder *q, struct ladder_list l, const struct ladder_survey *s, uint64_t limit)
{
	bool is_instant = s->min == s->max;
	if (is_instant)
		open_level(q, s->min, s->min + 1, true);
	else
		open_rung(q, s, limit);
	struct ladder_rung *r = &q->rung[q->depth];
	for (struct ladder_block *b = l.first, *next; b; b = next) {
		struct ladder_entry *stop = block_end(&l, b);
		next = b->next;
		if (next)
			mem_fetch(next);
		for (struct ladder_entry *x = b->entry; x < stop; x++)
			if (is_instant)
				lane_append(q, r->lanes, *x);
			else
				ladder_append(q, &r->bucket[(x->time - r->start) >> r->shift], *x);
		block_free(q, b);
	}
}

/* ---- the bottom ---- */

static bool comes_before(const struct ladder_entry *a, const struct ladder_entry *b)
{
	return a->time < b->time || (a->time == b->time && a->priority < b->priority);
}

/* Inserts x after all entries that precede x or are equal to x. */
static void bottom_insert(struct ladder *q, struct ladder_entry x)
{
	struct ladder_entry *p = q->stop++;
	while (p > q->cur && comes_before(&x, p - 1)) {
		*p = p[-1];
		p--;
	}
	*p = x;
}

/* Converts a bottom that is too long to a rung; the bottom is then empty. */
static void bottom_to_rung(struct ladder *q)
{
	struct ladder_survey s = { (size_t)(q->stop - q->cur), q->cur->time, q->stop[-1].time };
	struct ladder_list l = { 0 };
	while (q->cur < q->stop)
		ladder_append(q, &l, *q->cur++);
	q->cur = q->stop = q->bottom;
	deal(q, l, &s, q->bottom_end);
	q->bottom_end = s.min;
}

static void bottom_push(struct ladder *q, struct ladder_entry x)
{
	if (q->view)
		view_leave(q);
	size_t length = (size_t)(q->stop - q->cur);
	if (length >= LADDER_BOTTOM_MAX) {
		if (q->depth == LADDER_LEVELS)
			ladder_sweep(q, NULL, NULL);
		else
			bottom_to_rung(q);
		ladder_push(q, x.time, x.priority, x.slot);
		return;
	}
	if (q->stop == q->bottom + 2 * LADDER_BOTTOM_MAX) {
		memmove(q->bottom, q->cur, length * sizeof *q->cur);
		q->cur = q->bottom;
		q->stop = q->bottom + length;
	}
	bottom_insert(q, x);
}

void ladder_push_near(struct ladder *q, struct ladder_entry x, unsigned level)
{
	if (level == 0)
		bottom_push(q, x);
	else
		lane_append(q, q->rung[level].lanes, x);
}

/* ---- refilling ---- */

static struct ladder_survey survey_list(const struct ladder_list *l)
{
	struct ladder_survey s = NOTHING;
	for (struct ladder_block *b = l->first; b; b = b->next) {
		const struct ladder_entry *stop = block_end(l, b);
		for (const struct ladder_entry *x = b->entry; x < stop; x++)
			ladder_count(&s, x->time);
	}
	return s;
}

/* Returns whether l has few enough entries to be sorted. */
static bool is_short(const struct ladder_list *l)
{
	const struct ladder_block *b = l->first;
	for (int i = 0; i < SHORT_BLOCKS && b; i++)
		b = b->next;
	return !b;
}

/* Sorts l into the bottom, which is empty. */
static void sort_to_bottom(struct ladder *q, struct ladder_list l, uint64_t end)
{
	q->cur = q->stop = q->bottom;
	for (struct ladder_block *b = l.first, *next; b; b = next) {
		struct ladder_entry *stop = block_end(&l, b);
		for (struct ladder_entry *x = b->entry; x < stop; x++)
			bottom_insert(q, *x);
		next = b->next;
		block_free(q, b);
	}
	q->bottom_end = end;
	if (q->near)
		q->near(q->near_ctx, q->cur, (size_t)(q->stop - q->cur), true);
}

/* Moves the entries of the top to a rung or, if they are few, to the bottom. */
static void take_top(struct ladder *q)
{
	struct ladder_list l = q->top;
	struct ladder_survey s = q->top_survey;
	q->top = (struct ladder_list){ 0 };
	q->top_survey = NOTHING;
	if (is_short(&l))
		sort_to_bottom(q, l, s.max + 1);
	else
		deal(q, l, &s, UINT64_MAX);
}

/* Moves the first nonempty bucket of the deepest rung down; closes the rung if all are
 * empty. */
static void take_bucket(struct ladder *q)
{
	struct ladder_rung *r = &q->rung[q->depth];
	while (r->current < r->count && !r->bucket[r->current].first)
		r->current++;
	if (r->current == r->count) {
		close_level(q);
		return;
	}
	struct ladder_list l = r->bucket[r->current];
	uint64_t end = r->start + ((uint64_t)(r->current + 1) << r->shift);
	if (end > q->end[q->depth])
		end = q->end[q->depth];
	if (is_short(&l)) {
		r->bucket[r->current] = (struct ladder_list){ 0 };
		if (r->current + 1 < r->count)
			tell_near(q, &r->bucket[r->current + 1], r->bucket[r->current + 1].first);
		sort_to_bottom(q, l, end);
	} else if (q->depth == LADDER_LEVELS) {
		ladder_sweep(q, NULL, NULL);
	} else {
		r->bucket[r->current] = (struct ladder_list){ 0 };
		struct ladder_survey s = survey_list(&l);
		deal(q, l, &s, end);
	}
}

/* Finds the next entries when the front is exhausted; returns false if there are none. */
bool ladder_refill(struct ladder *q)
{
	if (q->view && !view_next(q))
		q->view = NULL;
	if (!q->view)
		q->cur = q->stop = q->bottom;
	while (q->cur == q->stop) {
		if (q->depth == 0 && !q->top.first)
			return false;
		if (q->depth == 0)
			take_top(q);
		else if (!q->rung[q->depth].is_instant)
			take_bucket(q);
		else if (!view_enter(q, &q->rung[q->depth]))
			close_level(q);
	}
	return true;
}

/* ---- sweeping ---- */

struct sweep {
	bool (*keep)(void *ctx, uint32_t slot); /* NULL: keeps all */
	void *ctx;
};

/*
 * Moves entries to the top in the order in which levels and lists are visited. Deeper entries are earlier, so entries with
 * equal keys keep their sequence.
 */
static void sweep_run(struct ladder *q, const struct sweep *w, const struct ladder_entry *x, const struct ladder_entry *stop)
{
	for (; x < stop; x++) {
		if (w->keep && !w->keep(w->ctx, x->slot))
			continue;
		ladder_count(&q->top_survey, x->time);
		ladder_append(q, &q->top, *x);
	}
}

/* Moves the entries of a list to the top and frees its blocks. read: first entry to visit; NULL: the first entry of the list. */
static void sweep_list(struct ladder *q, const struct sweep *w, struct ladder_list *l, const struct ladder_entry *read)
{
	for (struct ladder_block *b = l->first, *next; b; b = next) {
		sweep_run(q, w, read ? read : b->entry, block_end(l, b));
		read = NULL;
		next = b->next;
		block_free(q, b);
	}
	*l = (struct ladder_list){ 0 };
}

static void sweep_level(struct ladder *q, const struct sweep *w, struct ladder_rung *r)
{
	if (!r->is_instant) {
		for (uint32_t i = r->current; i < r->count; i++)
			sweep_list(q, w, &r->bucket[i], NULL);
		return;
	}
	for (unsigned p = 0; p < LADDER_LANES; p++) {
		sweep_list(q, w, &r->lanes->lane[p].list, r->lanes->lane[p].read);
		r->lanes->lane[p].read = NULL;
	}
	memset(r->lanes->used, 0, sizeof r->lanes->used);
}

void ladder_sweep(struct ladder *q, bool (*keep)(void *ctx, uint32_t slot), void *ctx)
{
	struct sweep w = { keep, ctx };
	struct ladder_list top = q->top;
	if (q->view)
		view_leave(q);
	q->top = (struct ladder_list){ 0 };
	q->top_survey = NOTHING;
	sweep_run(q, &w, q->cur, q->stop);
	q->cur = q->stop = q->bottom;
	for (; q->depth; close_level(q))
		sweep_level(q, &w, &q->rung[q->depth]);
	sweep_list(q, &w, &top, NULL);
	q->bottom_end = 0;
}
