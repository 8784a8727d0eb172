/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The set of decodes of a lane. An iteration advances all of them by one token, in O(1); see lane.h. */
#include "serve/explain.h"
#include "serve/lane.h"
#include "serve/metrics.h"

#include "base/heap.h"
#include "base/mem.h"

#include <string.h>

/* ---- heaps; each request knows its index ---- */

static inline bool is_before(const struct orr_serve *w, const struct lane_key *a, const struct lane_key *b)
{
	(void)w;
	return a->clock != b->clock ? a->clock < b->clock : a->number < b->number;
}

static inline void end_moved(struct orr_serve *w, const struct lane_key *k, uint32_t i)
{
	w->req[k->slot].heap_at = i;
}

static inline void later_moved(struct orr_serve *w, const struct lane_key *k, uint32_t i)
{
	w->req[k->slot].later_at = i;
}

HEAP(end, struct lane_key, struct orr_serve, is_before, end_moved)
HEAP(later, struct lane_key, struct orr_serve, is_before, later_moved)

static void end_add(struct orr_serve *w, struct lane_heap *h, uint64_t clock, const struct req *q)
{
	MEM_GROW(h->v, h->n, h->cap);
	end_up(w, h->v, h->n++, (struct lane_key){ clock, q->number, req_slot(w, q) });
}

static void end_remove(struct orr_serve *w, struct lane_heap *h, uint32_t i)
{
	uint32_t gone = h->v[i].slot;
	if (i < --h->n)
		end_place(w, h->v, h->n, i, h->v[h->n]);
	w->req[gone].heap_at = NONE;
}

static void later_add(struct orr_serve *w, struct lane_heap *h, uint64_t clock, const struct req *q)
{
	MEM_GROW(h->v, h->n, h->cap);
	later_up(w, h->v, h->n++, (struct lane_key){ clock, q->number, req_slot(w, q) });
}

static void later_remove(struct orr_serve *w, struct lane_heap *h, uint32_t i)
{
	uint32_t gone = h->v[i].slot;
	if (i < --h->n)
		later_place(w, h->v, h->n, i, h->v[h->n]);
	w->req[gone].later_at = NONE;
}

/* ---- blocks to be taken ---- */

/* Returns the clock at which a settled request takes its next block. */
static uint64_t take_clock(const struct lane *l, const struct req *q)
{
	return q->joined + (kv_holds(l, q) * l->block_tokens + 1 - q->done);
}

static void expect_take(struct orr_serve *w, struct lane *l, struct req *q)
{
	uint64_t take = take_clock(l, q);
	q->later_at = NONE;
	if (take < lane_next_clock(l) + l->block_tokens)
		l->ring[take % l->block_tokens]++;
	else
		later_add(w, &l->later, take, q);
}

static void expect_no_take(struct orr_serve *w, struct lane *l, struct req *q)
{
	if (q->later_at == NONE)
		l->ring[take_clock(l, q) % l->block_tokens]--;
	else
		later_remove(w, &l->later, q->later_at);
}

uint32_t decodes_need(struct orr_serve *w, struct lane *l)
{
	uint64_t next = lane_next_clock(l);
	while (l->later.n && l->later.v[0].clock < next + l->block_tokens) {
		l->ring[l->later.v[0].clock % l->block_tokens]++;
		later_remove(w, &l->later, 0);
	}
	return l->ring[next % l->block_tokens];
}

bool decodes_took_in_flight(const struct lane *l, const struct req *q)
{
	return l->is_flying && l->flying && q->joined <= l->clock && take_clock(l, q) == l->clock;
}

/* Counts a block that the running iteration takes as a block of the request, before the iteration ends. */
static void count_take_in_flight(struct lane *l, struct req *q)
{
	if (!decodes_took_in_flight(l, q))
		return;
	q->kv_held++;
	l->taken--;
	l->late++; /* after this, take_back() is not possible */
}

void decodes_hold(struct orr_serve *w, struct lane *l, struct req *q, uint32_t more)
{
	if (q->heap_at == NONE) {
		q->kv_held += more;
		return;
	}
	decodes_settle(l, q);
	expect_no_take(w, l, q);
	count_take_in_flight(l, q);
	q->kv_held += more;
	expect_take(w, l, q);
}

/* ---- gaps between tokens ---- */

/* Keeps the suffix maxima of the gaps. */
static void remember_gap(struct lane *l, uint64_t clock, double gap_s)
{
	while (l->n_gap && l->gap[l->n_gap - 1].gap_s <= gap_s)
		l->n_gap--;
	MEM_GROW(l->gap, l->n_gap, l->cap_gap);
	l->gap[l->n_gap++] = (struct lane_gap){ clock, gap_s };
}

/* Returns the largest gap since that clock. */
static double largest_gap(const struct lane *l, uint64_t clock)
{
	uint32_t lo = 0, hi = l->n_gap;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (l->gap[mid].clock < clock)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < l->n_gap ? l->gap[lo].gap_s : 0;
}

/* Records the gaps of decodes in their first iteration; their previous tokens have different times. Returns their number. */
static uint32_t first_gaps(struct orr_serve *w, struct lane *l, double end_s)
{
	uint32_t kept = 0, n = l->n_fresh;
	for (uint32_t i = 0; i < n; i++) {
		struct req *q = &w->req[l->fresh[i]];
		if (q->joined > l->clock) {
			q->fresh_at = kept;
			l->fresh[kept++] = l->fresh[i];
			continue;
		}
		double gap = end_s - q->last_token_s;
		if (gap > q->max_gap_s)
			q->max_gap_s = gap;
		serve_metrics_gap(w, gap, 1);
		q->fresh_at = NONE;
		q->gap_from = l->clock + 1;
	}
	l->n_fresh = kept;
	return n - kept;
}

void decodes_advance(struct orr_serve *w, struct lane *l, double end_s)
{
	uint32_t shared = l->flying;
	if (l->n_fresh)
		shared -= first_gaps(w, l, end_s);
	if (shared) {
		double gap = end_s - l->last_decode_s;
		serve_metrics_gap(w, gap, shared);
		remember_gap(l, l->clock, gap);
	}
	l->last_decode_s = end_s;
	l->context += l->flying;
	l->clock++;
}

/* ---- joining and leaving ---- */

void decodes_join(struct orr_serve *w, struct lane *l, struct req *q)
{
	q->joined = lane_next_clock(l);
	l->late += l->is_flying;
	end_add(w, &l->ends, q->joined + (q->output_asked - q->outputs), q);
	expect_take(w, l, q);
	l->context += q->done;
	MEM_GROW(l->fresh, l->n_fresh, l->cap_fresh);
	q->fresh_at = l->n_fresh;
	l->fresh[l->n_fresh++] = req_slot(w, q);
	explain_decodes(w, l, q);
}

void decodes_settle(const struct lane *l, struct req *q)
{
	if (l->clock <= q->joined)
		return;
	uint64_t take = take_clock(l, q);
	if (l->clock > take)
		q->kv_held += (uint32_t)((l->clock - 1 - take) / l->block_tokens + 1);
	uint32_t steps = (uint32_t)(l->clock - q->joined);
	q->done += steps;
	q->outputs += steps;
	q->joined = l->clock;
	q->last_token_s = l->last_decode_s;
}

uint32_t decodes_jump(struct orr_serve *w, struct lane *l, struct req *q, uint32_t n)
{
	expect_no_take(w, l, q);
	end_remove(w, &l->ends, q->heap_at);
	q->done += n;
	q->outputs += n;
	l->context += n;
	uint64_t wants = kv_blocks_for(l, q->done - 1), holds = kv_holds(l, q);
	uint32_t more = wants > holds ? (uint32_t)(wants - holds) : 0;
	q->kv_held += more;
	end_add(w, &l->ends, q->joined + (q->output_asked - q->outputs), q);
	expect_take(w, l, q);
	return more;
}

void decodes_leave(struct orr_serve *w, struct lane *l, struct req *q)
{
	decodes_settle(l, q);
	expect_no_take(w, l, q);
	count_take_in_flight(l, q);
	if (l->is_flying && q->joined <= l->clock && l->flying)
		l->flying--;
	end_remove(w, &l->ends, q->heap_at);
	l->context -= q->done;
	if (q->fresh_at != NONE) {
		uint32_t moved = l->fresh[--l->n_fresh];
		l->fresh[q->fresh_at] = moved;
		w->req[moved].fresh_at = q->fresh_at;
		q->fresh_at = NONE;
	} else {
		double gap = largest_gap(l, q->gap_from);
		if (gap > q->max_gap_s)
			q->max_gap_s = gap;
	}
	if (!l->ends.n)
		l->n_gap = 0;
}

uint32_t decodes_ended(const struct lane *l)
{
	return l->ends.n && l->ends.v[0].clock <= l->clock ? l->ends.v[0].slot : NONE;
}

/* ---- life ---- */

void decodes_init(struct lane *l)
{
	l->ring = mem_zalloc(l->block_tokens, sizeof *l->ring);
}

void decodes_free(struct lane *l)
{
	mem_free(l->ends.v);
	mem_free(l->later.v);
	mem_free(l->ring);
	mem_free(l->fresh);
	mem_free(l->gap);
}

const char *decodes_check(const struct orr_serve *w, const struct lane *l)
{
	uint64_t context = 0;
	uint32_t n = 0, *ring = mem_zalloc(l->block_tokens, sizeof *ring);
	const char *wrong = NULL;
	for (uint32_t s = l->first; s != NONE; s = w->req[s].res_next) {
		struct req q = w->req[s];
		if (q.heap_at == NONE)
			continue;
		n++;
		decodes_settle(l, &q);
		context += q.done;
		if (q.later_at == NONE)
			ring[take_clock(l, &q) % l->block_tokens]++;
		if (q.done > kv_holds(l, &q) * l->block_tokens + 1)
			wrong = "a decode has more tokens than its blocks hold";
		if (l->ends.v[q.heap_at].clock != q.joined + (q.output_asked - q.outputs))
			wrong = "the end of a decode does not match its outputs";
	}
	if (n != l->ends.n)
		wrong = "the count of decodes is incorrect";
	if (context != l->context)
		wrong = "the context of the decodes differs from the sum of their tokens";
	if (memcmp(ring, l->ring, l->block_tokens * sizeof *ring))
		wrong = "the counts of blocks that decodes will take are incorrect";
	mem_free(ring);
	return wrong;
}
