/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ZB-V: zero-bubble pipeline with two chunks per stage (Qi et al., arXiv 2405.15362, 4; the authors' code, `zbv`).
 *
 * Chunk 0 goes down the stages, chunk 1 comes back, so the loss is on stage 0. Limit: the activations of 1F1B (2p of half the
 * size). Warm-up forwards, then 2m rounds of one backward and one forward per stage; W's, first in, first out over both chunks, fill
 * the waits. Four settings (fill before B, fill before F), each repeated with the waits of the last result as allowances until it
 * gets no better. The result with the smallest maximum wait is kept, the first of equals.
 *
 * Slots: F and f are the forwards of chunks 0 and 1. Of backwards, B is that of chunk 1, which comes first, b that of chunk 0.
 */
#include "zero_bubble.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum slot { F, f, B, b, SLOTS };

struct draft {
	const struct zb_plan *plan;
	uint32_t p, m;
	bool fills_backward, fills_forward;
	bool is_broken;                  /* an op came before its input, so the order cannot run: parts of very unequal sizes */
	double *t, *memory, *wait;       /* by stage: end of the last op, bytes, waits after the first F */
	double most_wait;                /* the largest of any stage: waits only grow */
	double *allowance, most_allowed; /* waits of the previous result; -1: none */
	double *end[SLOTS];              /* [stage * m + micro] */
	uint32_t *n[SLOTS];              /* ops put, by stage */
	struct zb_pass *pending;         /* W's in order of their backwards, [stage * 2 m + i] */
	uint32_t *n_pending, *n_done;    /* numbers of W's that became pending, and of those put */
	bool *takes_b;                   /* choice of the round */
	struct zb_order *order;
};

static uint32_t chunk_of(enum slot k)
{
	return k == f || k == B;
}

static size_t at(const struct draft *d, uint32_t s, uint32_t chunk)
{
	return (size_t)chunk * d->p + s;
}

/* Returns the stage of the producer of slot k; UINT32_MAX: there is none, or it is this stage. */
static uint32_t producer(const struct draft *d, uint32_t s, enum slot k)
{
	if (k == F || k == B)
		return s ? s - 1 : UINT32_MAX;
	return s + 1 < d->p ? s + 1 : UINT32_MAX;
}

/* Returns the time at which the input of the next op of slot k has arrived. */
static double ready(const struct draft *d, uint32_t s, enum slot k)
{
	uint32_t from = producer(d, s, k), i = d->n[k][s];
	if (from != UINT32_MAX)
		return d->end[k][(size_t)from * d->m + i] + d->plan->hop_s;
	return k == F ? 0 : d->end[k - 1][(size_t)s * d->m + i];
}

static void advance(struct draft *d, uint32_t s, enum zb_kind kind, uint32_t chunk, uint32_t micro, double from)
{
	double start = fmax(d->t[s], from);
	if (d->n[F][s]) {
		d->wait[s] += start - d->t[s];
		d->most_wait = fmax(d->most_wait, d->wait[s]);
	}
	d->t[s] = start + d->plan->seconds[kind][at(d, s, chunk)];
	d->memory[s] += d->plan->bytes[kind][at(d, s, chunk)];
	if (d->order)
		zb_put(&d->order[s], kind, chunk, micro);
}

/* Returns whether the producer of the next op of slot k has its place. */
static bool has_input(const struct draft *d, uint32_t s, enum slot k)
{
	uint32_t from = producer(d, s, k), i = d->n[k][s];
	return from != UINT32_MAX ? d->n[k][from] > i : k == F || d->n[k - 1][s] > i;
}

static void put(struct draft *d, uint32_t s, enum slot k)
{
	uint32_t i = d->n[k][s];
	if (!has_input(d, s, k)) {
		d->is_broken = true;
		return;
	}
	advance(d, s, k < B ? ZB_F : ZB_B, chunk_of(k), i, ready(d, s, k));
	d->end[k][(size_t)s * d->m + i] = d->t[s];
	d->n[k][s]++;
	if (k >= B)
		d->pending[(size_t)s * 2 * d->m + d->n_pending[s]++] = (struct zb_pass){ .chunk = (uint8_t)chunk_of(k), .micro = i };
}

static bool is_pending(const struct draft *d, uint32_t s)
{
	return d->n_done[s] < d->n_pending[s];
}

static const struct zb_pass *oldest(const struct draft *d, uint32_t s)
{
	return &d->pending[(size_t)s * 2 * d->m + d->n_done[s]];
}

static void put_w(struct draft *d, uint32_t s)
{
	const struct zb_pass *w = oldest(d, s);
	advance(d, s, ZB_W, w->chunk, w->micro, 0);
	d->n_done[s]++;
}

static double weight_s(const struct draft *d, uint32_t s)
{
	return d->plan->seconds[ZB_W][at(d, s, oldest(d, s)->chunk)];
}

/* Fills the wait for the next op of slot k with W's; may_delay: also with one that makes it late. */
static void fill(struct draft *d, uint32_t s, enum slot k, bool may_delay)
{
	if (producer(d, s, k) == UINT32_MAX || !has_input(d, s, k))
		return;
	double r = ready(d, s, k);
	while (is_pending(d, s) && r >= d->t[s] + weight_s(d, s))
		put_w(d, s);
	double bound = fmax(d->most_wait, d->most_allowed - d->allowance[s]) - d->wait[s];
	if (is_pending(d, s) && r - d->t[s] > bound && may_delay)
		put_w(d, s);
}

static bool make_room(struct draft *d, uint32_t s, double bytes)
{
	while (d->memory[s] + bytes > d->plan->limit) {
		if (!is_pending(d, s))
			return false;
		put_w(d, s);
	}
	return true;
}

static void warm_up(struct draft *d)
{
	const struct zb_plan *plan = d->plan;
	for (uint32_t s = 0; s < d->p; s++)
		put(d, s, F);
	put(d, d->p - 1, f);
	for (uint32_t s = d->p - 1; s-- > 0 && !d->is_broken;) {
		double arrives = d->end[f][(size_t)(s + 1) * d->m] + plan->hop_s, bytes = plan->bytes[ZB_F][s];
		while (d->memory[s] + bytes * (2 + 2 * s) <= plan->limit && d->t[s] + plan->seconds[ZB_F][s] <= arrives &&
			d->n[F][s] < d->m)
			for (uint32_t j = 0; j <= s; j++)
				put(d, j, F);
		put(d, s, f);
	}
	enum slot k = F;
	for (uint32_t s = 1; s < d->p; s++)
		while (!d->is_broken && (d->n[F][s] + d->n[f][s] < d->n[F][s - 1] + d->n[f][s - 1] ||
						(d->n[f][s] <= d->n[f][s - 1] && d->n[f][s - 1] < d->m))) {
			for (uint32_t j = d->p; j-- > s;)
				if (d->n[k][j] < d->m)
					put(d, j, k);
			k = k == F ? f : F;
		}
}

static bool backwards(struct draft *d)
{
	for (uint32_t s = 0; s < d->p; s++) {
		uint32_t nb = d->n[b][s], nB = d->n[B][s];
		d->takes_b[s] = nb < nB && (s + 1 == d->p || d->n[b][s + 1] > nb || nB == d->m);
	}
	for (uint32_t s = 0; s < d->p; s++)
		if (!make_room(d, s, d->plan->bytes[ZB_B][at(d, s, !d->takes_b[s])]))
			return false;
	for (uint32_t s = d->p; s-- > 0;)
		if (d->takes_b[s]) {
			fill(d, s, b, true);
			put(d, s, b);
		}
	for (uint32_t s = 0; s < d->p; s++)
		if (!d->takes_b[s]) {
			fill(d, s, B, d->fills_backward);
			put(d, s, B);
		}
	return true;
}

static bool forwards(struct draft *d)
{
	for (uint32_t s = 0; s < d->p; s++) {
		uint32_t nF = d->n[F][s], nf = d->n[f][s];
		enum slot k;
		if (nf == d->m)
			continue;
		if (nf >= nF)
			k = F;
		else if (s + 1 == d->p || d->n[f][s + 1] > nf)
			k = f;
		else if (nF < d->m && (!s || d->n[F][s - 1] > nF))
			k = F;
		else
			continue;
		if (!make_room(d, s, d->plan->bytes[ZB_F][at(d, s, chunk_of(k))]))
			return false;
		fill(d, s, k, d->fills_forward);
		put(d, s, k);
	}
	return true;
}

/* Returns the largest wait; INFINITY: does not fit into memory. */
static double draft_once(struct draft *d)
{
	d->most_wait = 0;
	d->is_broken = false;
	memset(d->t, 0, d->p * sizeof *d->t);
	memset(d->memory, 0, d->p * sizeof *d->memory);
	memset(d->wait, 0, d->p * sizeof *d->wait);
	memset(d->n_pending, 0, d->p * sizeof *d->n_pending);
	memset(d->n_done, 0, d->p * sizeof *d->n_done);
	for (int k = 0; k < SLOTS; k++)
		memset(d->n[k], 0, d->p * sizeof *d->n[k]);
	for (uint32_t s = 0; d->order && s < d->p; s++)
		d->order[s].n = 0;
	warm_up(d);
	for (uint32_t i = 0; i < 2 * d->m; i++)
		if (d->is_broken || !backwards(d) || !forwards(d))
			return INFINITY;
	for (uint32_t s = 0; s < d->p; s++)
		while (is_pending(d, s))
			put_w(d, s);
	return d->is_broken ? INFINITY : d->most_wait;
}

/* Repeats the draft with the waits of the last result as allowances, as long as it gets better. Returns the number of repeats that
 * gave the best result. */
static uint32_t draft_run(struct draft *d, uint32_t repeats, double *best)
{
	uint32_t used = 0;
	d->most_allowed = -1;
	for (uint32_t s = 0; s < d->p; s++)
		d->allowance[s] = -1;
	*best = draft_once(d);
	for (uint32_t k = 1; k <= repeats; k++) {
		double x = d->most_wait, before = *best;
		if (isinf(before) || !(d->most_allowed < 0 || x < d->most_allowed))
			break;
		memcpy(d->allowance, d->wait, d->p * sizeof *d->wait);
		d->most_allowed = x;
		x = draft_once(d);
		if (isinf(x))
			break;
		if (x < *best) {
			*best = x;
			used = k;
		}
	}
	return used;
}

static void draft_free(struct draft *d)
{
	orr_free(d->t);
	orr_free(d->memory);
	orr_free(d->wait);
	orr_free(d->allowance);
	for (int k = 0; k < SLOTS; k++) {
		orr_free(d->end[k]);
		orr_free(d->n[k]);
	}
	orr_free(d->pending);
	orr_free(d->n_pending);
	orr_free(d->n_done);
	orr_free(d->takes_b);
}

static void draft_new(struct draft *d)
{
	d->t = orr_alloc(d->p, sizeof *d->t);
	d->memory = orr_alloc(d->p, sizeof *d->memory);
	d->wait = orr_alloc(d->p, sizeof *d->wait);
	d->allowance = orr_alloc(d->p, sizeof *d->allowance);
	for (int k = 0; k < SLOTS; k++) {
		d->end[k] = orr_alloc((size_t)d->p * d->m, sizeof *d->end[k]);
		d->n[k] = orr_alloc(d->p, sizeof *d->n[k]);
	}
	d->pending = orr_alloc((size_t)d->p * 2 * d->m, sizeof *d->pending);
	d->n_pending = orr_alloc(d->p, sizeof *d->n_pending);
	d->n_done = orr_alloc(d->p, sizeof *d->n_done);
	d->takes_b = orr_alloc(d->p, sizeof *d->takes_b);
}

static int generate(struct zb_plan *plan, const struct orr_args *args, struct orr_error *err)
{
	struct draft d = { .plan = plan, .p = plan->p, .m = plan->m };
	double best = INFINITY, x;
	unsigned setting = 0;
	uint32_t repeats = 0;
	(void)args;
	draft_new(&d);
	for (unsigned k = 0; k < 4; k++) {
		d.fills_backward = !(k & 2);
		d.fills_forward = !(k & 1);
		uint32_t used = draft_run(&d, UINT32_MAX - 1, &x);
		if (x < best) {
			best = x;
			setting = k;
			repeats = used;
		}
	}
	int rc = ORR_OK;
	if (isinf(best) && isinf(plan->limit)) {
		rc = orr_fail(err, ORR_EINPUT,
			"the parts differ too much in time or memory for the heuristic: expected more equal parts (stage_layers, cut), or "
			"another policy, such as zb");
	} else if (isinf(best)) {
		rc = orr_fail(err, ORR_EINPUT,
			"activations of at most %.9g bytes per stage: no setting of the heuristic fits: expected a greater max_memory or "
			"depth",
			plan->limit);
	} else {
		d.fills_backward = !(setting & 2);
		d.fills_forward = !(setting & 1);
		d.order = plan->order;
		draft_run(&d, repeats, &x);
		snprintf(plan->choice, sizeof plan->choice, "%c%c", "FT"[d.fills_backward], "FT"[d.fills_forward]);
	}
	draft_free(&d);
	return rc;
}

static const struct orr_param params[] = { ZB_LIMIT_PARAMS, ZB_PARAMS, ORR_PARAM_END };

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	return zb_new(s, args, ZB_V, generate, true, err);
}

static const struct orr_step_ops ops = ZB_OPS(create);

ORR_POLICY_STEP(zb_v, "zero-bubble pipeline with two parts per stage, in a V, by heuristic (ZB-V)", params, ops);
