/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * V-Half and V-Min: pipelines with about a half and a third of 1F1B's activations (Qi et al., "Pipeline Parallelism with
 * Controllable Memory", arXiv 2405.15362, 3).
 *
 * Two chunks per stage, as in ZB-V. A building block of 6 slots per micro-batch places, on stage s of p, the forwards of chunks 0
 * and 1 and the backwards of chunks 1 and 0 at the slots
 *
 *	V-Min    s, 2p-s-1, 2p+g+s, 4p+g-s-1           g = 2 if 3 divides p, else 0
 *	V-Half   2s, 3p-s-2, 3p+g+2s-1, 6p+g-s-2       g = 3 if p is even, else 0
 *
 * and the W's in the two free slots. Repeating it gives the order of F and B, and the limit on activations: the largest number that a stage
 * of the repeated block holds. The order is then squeezed: an op starts as early as possible; while the next op of the order waits for its
 * input, a later F or B whose input has arrived may go first, if it fits under the limit at every point that it skips; W's fill other
 * waits, or make room. Of the settings below the one with the smallest makespan is kept, the first of equals.
 *
 * The order of the blocks and the limit are the paper's. The rules of squeezing are ours; the authors' code has other rules
 * (docs/models/step-zero-bubble.md compares).
 */
#include "zero_bubble.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum slot { F, f, B, b, SLOTS, PERIOD = 6 };

struct item {
	uint32_t at; /* slot in the repeated block */
	uint8_t k;   /* enum slot */
	bool is_done;
	uint32_t micro;
	int32_t level; /* activations after the item if every W follows its backward at once; of pulled items, regardless of their present
			  position */
};

/* When a W may delay the next op: never; always; if at least half of it fits into the wait; if another stage has waited more. */
enum delay { DELAY_NEVER, DELAY_ALWAYS, DELAY_HALF, DELAY_BALANCED, DELAYS };
/*
 * Rule for later ops that go first: none; any, if the arrival of the next op's input is known; any; any forward, but no backward.
 */
enum pull { PULL_NONE, PULL_KNOWN, PULL_ANY, PULL_FORWARD, PULLS };
/* Part of a pulled op that has to fit into the wait, in halves. */
enum { FITS = 3 };

struct choice {
	bool is_there, is_pulled;
	double start, ready;
	uint32_t item;
};

struct draft {
	const struct zb_plan *plan;
	uint32_t p, m, n; /* n: items of a stage */
	int32_t limit;    /* activations of a chunk */
	enum delay delay;
	enum pull pull;
	double fit;
	struct item *item; /* [stage * n + i] */
	uint32_t *at;      /* first item not done, by stage */
	double *t, *wait;
	int32_t *held;
	double *end[SLOTS]; /* [stage * m + micro]; NAN: not done */
	struct zb_pass *pending;
	uint32_t *n_pending, *n_done;
	struct choice *choice; /* by stage */
	struct zb_order *order;
};

/* ---- building blocks ---- */

static void half_slots(uint32_t p, uint32_t s, uint32_t out[SLOTS])
{
	uint32_t g = p % 2 ? 0 : 3;
	out[F] = 2 * s;
	out[f] = 3 * p - s - 2;
	out[B] = 3 * p + g + 2 * s - 1;
	out[b] = 6 * p + g - s - 2;
}

static void min_slots(uint32_t p, uint32_t s, uint32_t out[SLOTS])
{
	uint32_t g = p % 3 ? 0 : 2;
	out[F] = s;
	out[f] = 2 * p - s - 1;
	out[B] = 2 * p + g + s;
	out[b] = 4 * p + g - s - 1;
}

typedef void (*slots_of)(uint32_t p, uint32_t s, uint32_t out[SLOTS]);

/* Returns the first slot after `at` with the residue. */
static uint32_t next_slot(uint32_t at, uint32_t residue)
{
	return at + 1 + (residue + PERIOD - (at + 1) % PERIOD) % PERIOD;
}

/* Returns the number of micro-batches between slots `from` and `to` in a steady state, when slot `at` begins. */
static int32_t between(uint32_t from, uint32_t to, uint32_t at)
{
	int32_t begun = (int32_t)((at + 100 * PERIOD - from) / PERIOD), ended = (int32_t)((at + 100 * PERIOD - to - 1) / PERIOD);
	return begun - ended;
}

/* Returns the largest number of activations that stage s of the repeated block holds, with the better of two positions of the W's. */
static int32_t block_peak(slots_of slots, uint32_t p, uint32_t s)
{
	uint32_t x[SLOTS], free_slot[PERIOD], n = 0;
	int32_t best = INT32_MAX;
	slots(p, s, x);
	for (uint32_t r = 0; r < PERIOD; r++)
		if (r != x[F] % PERIOD && r != x[f] % PERIOD && r != x[B] % PERIOD && r != x[b] % PERIOD)
			free_slot[n++] = r;
	for (uint32_t way = 0; way < 2; way++) {
		uint32_t w1 = next_slot(x[B], free_slot[way]), w0 = next_slot(x[b], free_slot[!way]), last = (w1 > w0 ? w1 : w0) + PERIOD;
		int32_t most = 0;
		for (uint32_t at = last; at < last + PERIOD; at++) {
			int32_t held = between(x[F], w0, at) + between(x[f], w1, at);
			most = held > most ? held : most;
		}
		best = most < best ? most : best;
	}
	return best;
}

static int by_slot(const void *a, const void *c)
{
	const struct item *x = a, *y = c;
	return (x->at > y->at) - (x->at < y->at);
}

/* ---- squeezing ---- */

static uint32_t chunk_of(enum slot k)
{
	return k == f || k == B;
}

static size_t at(const struct draft *d, uint32_t s, uint32_t chunk)
{
	return (size_t)chunk * d->p + s;
}

static double seconds(const struct draft *d, uint32_t s, enum slot k)
{
	return d->plan->seconds[k < B ? ZB_F : ZB_B][at(d, s, chunk_of(k))];
}

/* Returns the time at which the input arrives; NAN: not known yet. */
static double ready(const struct draft *d, uint32_t s, enum slot k, uint32_t micro)
{
	bool is_down = k == F || k == B, is_own = is_down ? !s : s + 1 == d->p;
	if (!is_own)
		return d->end[k][(size_t)(is_down ? s - 1 : s + 1) * d->m + micro] + d->plan->hop_s;
	return k == F ? 0 : d->end[k - 1][(size_t)s * d->m + micro];
}

static bool is_pending(const struct draft *d, uint32_t s)
{
	return d->n_done[s] < d->n_pending[s];
}

static const struct zb_pass *oldest(const struct draft *d, uint32_t s)
{
	return &d->pending[(size_t)s * 2 * d->m + d->n_done[s]];
}

static double weight_s(const struct draft *d, uint32_t s)
{
	return d->plan->seconds[ZB_W][at(d, s, oldest(d, s)->chunk)];
}

static void put_w(struct draft *d, uint32_t s)
{
	const struct zb_pass *w = oldest(d, s);
	d->t[s] += weight_s(d, s);
	d->held[s]--;
	if (d->order)
		zb_put(&d->order[s], ZB_W, w->chunk, w->micro);
	d->n_done[s]++;
}

/* Returns whether a forward may go before items from..to-1 of its stage. */
static bool fits(const struct draft *d, uint32_t s, uint32_t from, uint32_t to)
{
	const struct item *x = d->item + (size_t)s * d->n;
	int32_t waiting = (int32_t)(d->n_pending[s] - d->n_done[s]);
	for (uint32_t i = from; i < to; i++)
		if (x[i].level + 1 > d->limit)
			return false;
	return d->held[s] + 1 - waiting <= d->limit;
}

/* Takes a candidate if it starts earlier; at equal times the op in order goes first. */
static void consider(struct choice *c, double start, double arrival, bool is_pulled, uint32_t item)
{
	if (c->is_there && c->start <= start)
		return;
	*c = (struct choice){ true, is_pulled, start, arrival, item };
}

/* Chooses the next F or B of a stage. */
static void choose(struct draft *d, uint32_t s)
{
	const struct item *x = d->item + (size_t)s * d->n;
	struct choice *c = &d->choice[s];
	uint32_t next = d->at[s], end = next + 4 * d->p + 8 < d->n ? next + 4 * d->p + 8 : d->n, seen;
	c->is_there = false;
	if (next == d->n)
		return;
	double r = ready(d, s, x[next].k, x[next].micro), t = d->t[s];
	bool is_known = !isnan(r);
	if (is_known)
		consider(c, fmax(t, r), r, false, next);
	if (d->pull == PULL_NONE || (is_known ? r <= t : d->pull == PULL_KNOWN))
		return;
	seen = 1u << x[next].k;
	for (uint32_t j = next + 1; j < end && seen != (1u << SLOTS) - 1; j++) {
		if (x[j].is_done || (seen & 1u << x[j].k))
			continue;
		seen |= 1u << x[j].k;
		double arrival = ready(d, s, x[j].k, x[j].micro), start = fmax(t, arrival);
		if (isnan(arrival) || (is_known && start + d->fit * seconds(d, s, x[j].k) > r))
			continue;
		if (x[j].k < B ? fits(d, s, next, j) : d->pull != PULL_FORWARD)
			consider(c, start, arrival, true, j);
	}
}

static bool may_delay(const struct draft *d, uint32_t s, double gap)
{
	double longest = 0;
	switch (d->delay) {
	case DELAY_NEVER:
		return false;
	case DELAY_ALWAYS:
		return true;
	case DELAY_HALF:
		return 2 * gap >= weight_s(d, s);
	default:
		for (uint32_t i = 0; i < d->p; i++)
			longest = fmax(longest, d->wait[i]);
		return gap > longest - d->wait[s];
	}
}

/* Puts the chosen item of stage s. Returns false if it does not fit. */
static bool put(struct draft *d, uint32_t s)
{
	const struct choice c = d->choice[s];
	struct item *x = d->item + (size_t)s * d->n, *y = &x[c.item];
	bool is_forward = y->k < B, is_first = !d->at[s] && !x[0].is_done;
	while (is_forward && d->held[s] + 1 > d->limit) {
		if (!is_pending(d, s))
			return false;
		put_w(d, s);
	}
	while (is_pending(d, s) && d->t[s] + weight_s(d, s) <= c.ready)
		put_w(d, s);
	if (is_pending(d, s) && d->t[s] < c.ready && may_delay(d, s, c.ready - d->t[s]))
		put_w(d, s);
	double start = fmax(d->t[s], c.ready);
	d->wait[s] += is_first ? 0 : start - d->t[s];
	d->t[s] = start + seconds(d, s, y->k);
	d->end[y->k][(size_t)s * d->m + y->micro] = d->t[s];
	d->held[s] += is_forward;
	if (!is_forward)
		d->pending[(size_t)s * 2 * d->m + d->n_pending[s]++] =
			(struct zb_pass){ .chunk = (uint8_t)chunk_of(y->k), .micro = y->micro };
	if (d->order)
		zb_put(&d->order[s], is_forward ? ZB_F : ZB_B, chunk_of(y->k), y->micro);
	for (uint32_t i = d->at[s]; i < c.item; i++)
		x[i].level += is_forward ? 1 : -1;
	y->is_done = true;
	while (d->at[s] < d->n && x[d->at[s]].is_done)
		d->at[s]++;
	return true;
}

static void reset(struct draft *d)
{
	memset(d->at, 0, d->p * sizeof *d->at);
	memset(d->t, 0, d->p * sizeof *d->t);
	memset(d->wait, 0, d->p * sizeof *d->wait);
	memset(d->held, 0, d->p * sizeof *d->held);
	memset(d->n_pending, 0, d->p * sizeof *d->n_pending);
	memset(d->n_done, 0, d->p * sizeof *d->n_done);
	for (int k = 0; k < SLOTS; k++)
		for (size_t i = 0; i < (size_t)d->p * d->m; i++)
			d->end[k][i] = NAN;
	for (uint32_t s = 0; s < d->p; s++) {
		struct item *x = d->item + (size_t)s * d->n;
		int32_t level = 0;
		for (uint32_t i = 0; i < d->n; i++) {
			level += x[i].k < B ? 1 : -1;
			x[i].level = level;
			x[i].is_done = false;
		}
	}
}

/* Returns the makespan; INFINITY: the setting does not fit. */
static double squeeze(struct draft *d)
{
	double makespan = 0;
	reset(d);
	for (uint32_t s = 0; s < d->p; s++)
		choose(d, s);
	for (size_t left = (size_t)d->p * d->n; left; left--) {
		uint32_t best = UINT32_MAX;
		for (uint32_t s = 0; s < d->p; s++) {
			const struct choice *c = &d->choice[s], *o = best == UINT32_MAX ? NULL : &d->choice[best];
			if (c->is_there && (!o || c->start < o->start || (c->start == o->start && c->is_pulled < o->is_pulled)))
				best = s;
		}
		if (best == UINT32_MAX || !put(d, best))
			return INFINITY;
		for (uint32_t s = best ? best - 1 : 0; s < d->p && s <= best + 1; s++)
			choose(d, s);
	}
	for (uint32_t s = 0; s < d->p; s++) {
		while (is_pending(d, s))
			put_w(d, s);
		makespan = fmax(makespan, d->t[s]);
	}
	return makespan;
}

/* ---- the generator ---- */

static void draft_new(struct draft *d, slots_of slots)
{
	uint32_t x[SLOTS];
	d->n = SLOTS * d->m;
	d->item = orr_alloc((size_t)d->p * d->n, sizeof *d->item);
	for (uint32_t s = 0; s < d->p; s++) {
		struct item *row = d->item + (size_t)s * d->n;
		int32_t peak = block_peak(slots, d->p, s);
		d->limit = peak > d->limit ? peak : d->limit;
		slots(d->p, s, x);
		for (uint32_t i = 0; i < d->n; i++)
			row[i] = (struct item){ .at = x[i % SLOTS] + PERIOD * (i / SLOTS), .k = (uint8_t)(i % SLOTS), .micro = i / SLOTS };
		qsort(row, d->n, sizeof *row, by_slot);
	}
	d->at = orr_alloc(d->p, sizeof *d->at);
	d->t = orr_alloc(d->p, sizeof *d->t);
	d->wait = orr_alloc(d->p, sizeof *d->wait);
	d->held = orr_alloc(d->p, sizeof *d->held);
	for (int k = 0; k < SLOTS; k++)
		d->end[k] = orr_alloc((size_t)d->p * d->m, sizeof *d->end[k]);
	d->pending = orr_alloc((size_t)d->p * 2 * d->m, sizeof *d->pending);
	d->n_pending = orr_alloc(d->p, sizeof *d->n_pending);
	d->n_done = orr_alloc(d->p, sizeof *d->n_done);
	d->choice = orr_alloc(d->p, sizeof *d->choice);
}

static void draft_free(struct draft *d)
{
	orr_free(d->item);
	orr_free(d->at);
	orr_free(d->t);
	orr_free(d->wait);
	orr_free(d->held);
	for (int k = 0; k < SLOTS; k++)
		orr_free(d->end[k]);
	orr_free(d->pending);
	orr_free(d->n_pending);
	orr_free(d->n_done);
	orr_free(d->choice);
}

static void set(struct draft *d, unsigned k)
{
	d->delay = k / (PULLS * FITS);
	d->pull = k / FITS % PULLS;
	d->fit = k % FITS * 0.5;
}

static int generate(struct zb_plan *plan, slots_of slots, struct orr_error *err)
{
	struct draft d = { .plan = plan, .p = plan->p, .m = plan->m };
	double best = INFINITY;
	unsigned setting = 0;
	draft_new(&d, slots);
	for (unsigned k = 0; k < DELAYS * PULLS * FITS; k++) {
		set(&d, k);
		if (d.pull == PULL_NONE && d.fit > 0)
			continue;
		double x = squeeze(&d);
		if (x < best) {
			best = x;
			setting = k;
		}
	}
	int rc = isinf(best)
			 ? orr_fail(err, ORR_EFAIL, "the repeated block of %u stages does not fit under its own limit of %d activations",
				   d.p, (int)d.limit)
			 : ORR_OK;
	if (!rc) {
		set(&d, setting);
		d.order = plan->order;
		squeeze(&d);
		snprintf(plan->choice, sizeof plan->choice, "%d%d%d", (int)d.delay, (int)d.pull, (int)(2 * d.fit));
	}
	draft_free(&d);
	return rc;
}

static int generate_half(struct zb_plan *plan, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return generate(plan, half_slots, err);
}

static int generate_min(struct zb_plan *plan, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return generate(plan, min_slots, err);
}

static void *create_half(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	return zb_new(s, args, ZB_V, generate_half, false, err);
}

static void *create_min(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	return zb_new(s, args, ZB_V, generate_min, false, err);
}

static const struct orr_param params[] = { ZB_PARAMS, ORR_PARAM_END };
static const struct orr_step_ops half = ZB_OPS(create_half), min = ZB_OPS(create_min);

ORR_POLICY_STEP(v_half, "V-shaped pipeline with half the activations of 1F1B (V-Half)", params, half);
ORR_POLICY_STEP(v_min, "V-shaped pipeline with a third of the activations of 1F1B (V-Min)", params, min);
