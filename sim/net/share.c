/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A link shared equally by its flows. Invariant: `heap` holds the flows that drain, by the value of the virtual clock at which they
 * have drained; `line` holds, in order of time, those that have drained and are not received.
 */
#include "net/share.h"

#include "base/heap.h"
#include "base/mem.h"

#include <math.h>

struct flow {
	uint64_t tag;
	double bytes, end_v, drained_s; /* end_v: virtual clock at its end */
	uint32_t at;                    /* index in the heap; DRAINED or CANCELLED */
};
#define DRAINED (UINT32_MAX - 1)
#define CANCELLED UINT32_MAX

struct key {
	double end_v;
	uint64_t number; /* number of the flow in order of start; decides ties */
	uint32_t flow;
};

struct share {
	double capacity, latency;
	double now_s, v, busy_s, carried; /* carried: number of bytes */
	uint64_t started;
	struct flow *flow;
	uint32_t n_flow, cap_flow, *free, n_free, cap_free;
	struct key *heap;
	uint32_t n_heap, cap_heap;
	uint32_t *line, line_first, n_line, cap_line; /* a ring buffer of flows that have drained */
	double drained;                               /* number of bytes drained by flows that have left the heap */
};

static inline bool is_before(const struct share *s, const struct key *a, const struct key *b)
{
	(void)s;
	return a->end_v < b->end_v || (a->end_v <= b->end_v && a->number < b->number);
}

static inline void moved(struct share *s, const struct key *x, uint32_t i)
{
	s->flow[x->flow].at = i;
}

HEAP(key, struct key, struct share, is_before, moved)

struct share *share_new(double capacity_Bps, double latency_s)
{
	struct share *s = mem_zalloc(1, sizeof *s);
	s->capacity = capacity_Bps;
	s->latency = latency_s;
	return s;
}

void share_free(struct share *s)
{
	if (!s)
		return;
	mem_free(s->flow);
	mem_free(s->free);
	mem_free(s->heap);
	mem_free(s->line);
	mem_free(s);
}

/* ---- the line of flows that have drained ---- */

static void line_push(struct share *s, uint32_t flow)
{
	if (s->n_line == s->cap_line) { /* unrolls the ring into the larger array */
		uint32_t cap = s->cap_line ? 2 * s->cap_line : 16;
		uint32_t *line = mem_alloc(cap * sizeof *line);
		for (uint32_t i = 0; i < s->n_line; i++)
			line[i] = s->line[(s->line_first + i) & (s->cap_line - 1)];
		mem_free(s->line);
		s->line = line;
		s->line_first = 0;
		s->cap_line = cap;
	}
	s->line[(s->line_first + s->n_line++) & (s->cap_line - 1)] = flow;
}

static uint32_t line_pop(struct share *s)
{
	uint32_t flow = s->line[s->line_first];
	s->line_first = (s->line_first + 1) & (s->cap_line - 1);
	s->n_line--;
	return flow;
}

static void release(struct share *s, uint32_t flow)
{
	MEM_GROW(s->free, s->n_free, s->cap_free);
	s->free[s->n_free++] = flow;
}

/* ---- time ---- */

/* Returns the time at which the first flow of the heap has drained. */
static double first_end(const struct share *s)
{
	double left = s->heap[0].end_v - s->v;
	return left > 0 ? s->now_s + left * s->n_heap / s->capacity : s->now_s;
}

static void run_to(struct share *s, double at_s, double v)
{
	s->busy_s += at_s - s->now_s;
	s->carried += (v - s->v) * s->n_heap;
	s->now_s = at_s;
	s->v = v;
}

static void remove_at(struct share *s, uint32_t at)
{
	struct key last = s->heap[--s->n_heap];
	if (at < s->n_heap)
		key_place(s, s->heap, s->n_heap, at, last);
	if (!s->n_heap)
		s->v = 0; /* a small clock value has small rounding errors */
}

/* Moves the first flow of the heap to the line. */
static void drain_first(struct share *s)
{
	uint32_t flow = s->heap[0].flow;
	run_to(s, first_end(s), fmax(s->v, s->heap[0].end_v));
	s->flow[flow].drained_s = s->now_s;
	s->drained += s->flow[flow].bytes;
	remove_at(s, 0);
	s->flow[flow].at = DRAINED;
	line_push(s, flow);
}

static void advance(struct share *s, double to_s)
{
	while (s->n_heap && first_end(s) <= to_s)
		drain_first(s);
	if (s->n_heap && to_s > s->now_s)
		run_to(s, to_s, s->v + (to_s - s->now_s) * s->capacity / s->n_heap);
	s->now_s = fmax(s->now_s, to_s);
}

/* ---- flows ---- */

uint32_t share_start(struct share *s, double now_s, double bytes, uint64_t tag)
{
	advance(s, now_s);
	uint32_t flow;
	if (s->n_free) {
		flow = s->free[--s->n_free];
	} else {
		MEM_GROW(s->flow, s->n_flow, s->cap_flow);
		flow = s->n_flow++;
	}
	s->flow[flow] = (struct flow){ .tag = tag, .bytes = bytes, .end_v = s->v + bytes };
	MEM_GROW(s->heap, s->n_heap, s->cap_heap);
	key_up(s, s->heap, s->n_heap++, (struct key){ s->v + bytes, s->started++, flow });
	return flow;
}

double share_cancel(struct share *s, double now_s, uint32_t flow)
{
	advance(s, now_s);
	struct flow *x = &s->flow[flow];
	if (x->at == DRAINED) {
		x->at = CANCELLED; /* the entry stays in the queue until it is at the front */
		return 0;
	}
	double left = fmin(x->bytes, fmax(0, x->end_v - s->v));
	s->drained += x->bytes - left;
	remove_at(s, x->at);
	release(s, flow);
	return left;
}

/* Removes cancelled flows from the front of the line. */
static void skip_cancelled(struct share *s)
{
	while (s->n_line && s->flow[s->line[s->line_first]].at == CANCELLED)
		release(s, line_pop(s));
}

double share_next(const struct share *s)
{
	for (uint32_t i = 0; i < s->n_line; i++) {
		const struct flow *x = &s->flow[s->line[(s->line_first + i) & (s->cap_line - 1)]];
		if (x->at != CANCELLED)
			return x->drained_s + s->latency;
	}
	return s->n_heap ? first_end(s) + s->latency : INFINITY;
}

bool share_pop(struct share *s, double until_s, uint64_t *tag, double *received_s)
{
	skip_cancelled(s);
	if (!s->n_line) {
		if (!s->n_heap || !(first_end(s) + s->latency <= until_s))
			return false;
		drain_first(s);
	}
	const struct flow *x = &s->flow[s->line[s->line_first]];
	if (!(x->drained_s + s->latency <= until_s))
		return false;
	*tag = x->tag;
	*received_s = x->drained_s + s->latency;
	release(s, line_pop(s));
	return true;
}

/* ---- queries of the owner ---- */

uint32_t share_flows(const struct share *s)
{
	return s->n_heap;
}

double share_busy_s(const struct share *s, double now_s)
{
	return s->busy_s + (s->n_heap && now_s > s->now_s ? now_s - s->now_s : 0);
}

double share_bytes(const struct share *s, double now_s)
{
	return s->carried + (s->n_heap && now_s > s->now_s ? (now_s - s->now_s) * s->capacity : 0);
}

const char *share_verify(const struct share *s)
{
	static const double rounding = 1e-9;
	double drained = s->drained;
	for (uint32_t i = 0; i < s->n_heap; i++) {
		const struct flow *x = &s->flow[s->heap[i].flow];
		double left = x->end_v - s->v;
		if (left < -rounding * (x->bytes + s->v) || left > x->bytes * (1 + rounding) + rounding * s->v)
			return "a flow has drained less than 0 bytes, or more than it has";
		drained += x->bytes - left;
	}
	if (fabs(drained - s->carried) > rounding * (1 + s->carried))
		return "the bytes that a link has carried differ from those that its flows have drained";
	if (s->carried > s->capacity * s->busy_s * (1 + rounding) + 1)
		return "a link has carried more bytes than its capacity allows";
	return NULL;
}
