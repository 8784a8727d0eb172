/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DualPipe and DualPipeV (DeepSeek-AI, "DeepSeek-V3 Technical Report", arXiv 2412.19437, 3.2.1; the authors' code,
 * deepseek-ai/DualPipe).
 *
 * dual-pipe: micro-batches enter at both ends of R stages, half of them each way; each stage holds two parts of the model (and so
 * every part twice). dual-pipe-v: R stages hold 2R parts in a V, as ZB-V; all micro-batches enter at stage 0. A forward of
 * one direction (or chunk) overlaps a backward of the other, as one op of pair_s seconds.
 *
 * Bubble (PP/2 - 1)(pair + D - 3W) with PP = R (dual-pipe) or 2R parts, D: whole backward; the largest over stages if B = F and
 * messages take no time. Each stage keeps up to PP + 1 forwards of a part.
 */
#include "zero_bubble.h"

/* A stage at distance h from its end of the pipeline; q[0] is the direction that enters at this end. */
struct maker {
	struct zb_order *order;
	uint32_t q[2];
	uint32_t f[2], b[2]; /* next micro-batch, by direction */
	uint32_t w;          /* position of the next W among B's: first in, first out */
};

static void forward(struct maker *k, uint32_t q)
{
	zb_put(k->order, ZB_F, q, k->f[q]++);
}

static void backward(struct maker *k, uint32_t q, bool is_whole)
{
	zb_put(k->order, is_whole ? ZB_D : ZB_B, q, k->b[q]++);
}

static void pair(struct maker *k, uint32_t of_forward, uint32_t of_backward)
{
	zb_put_pair(k->order, of_forward, k->f[of_forward]++, of_backward, k->b[of_backward]++);
}

/* Puts the W of the oldest B without one. */
static void weight(struct maker *k)
{
	while (k->order->pass[k->w].kind != ZB_B)
		k->w++;
	struct zb_pass x = k->order->pass[k->w++];
	zb_put(k->order, ZB_W, x.chunk, x.micro);
}

/* n: half the number of parts; rounds: of two pairs. is_middle: the first pair is not overlapped. */
static void make(struct maker *k, uint32_t n, uint32_t h, uint32_t rounds, bool is_middle)
{
	uint32_t a = k->q[0], z = k->q[1], rest = n - h - 1, half = (h + 1) / 2;
	for (uint32_t i = 0; i < 2 * rest; i++)
		forward(k, a);
	for (uint32_t i = 0; i <= h; i++) {
		forward(k, a);
		forward(k, z);
	}
	for (uint32_t i = 0; i < rest; i++) {
		backward(k, z, false);
		weight(k);
		forward(k, z);
	}
	for (uint32_t i = 0; i < rounds; i++) {
		if (!i && is_middle) {
			forward(k, a);
			backward(k, z, true);
		} else {
			pair(k, a, z);
		}
		pair(k, z, a);
	}
	for (uint32_t i = 0; i < rest; i++) {
		backward(k, z, true);
		pair(k, z, a);
	}
	for (uint32_t i = 0; i <= h; i++) {
		bool is_whole = i < half || (i == half && h % 2 == 0);
		backward(k, z, is_whole);
		backward(k, a, i < half);
	}
	for (uint32_t i = 0; i < rest; i++) {
		weight(k);
		backward(k, a, false);
	}
	for (uint32_t i = 0; i <= h; i++)
		weight(k);
}

static int generate_both_ends(struct zb_plan *plan, const struct orr_args *args, struct orr_error *err)
{
	uint32_t n = plan->p / 2, r = plan->p;
	(void)args;
	if (r % 2 || plan->m % 2 || plan->m < 2 * r)
		return orr_fail(err, ORR_EINPUT,
			"%u stages, %u micro-batches: expected even numbers and at least twice as many micro-batches as stages", r,
			plan->m);
	for (uint32_t s = 0; s < r; s++) {
		uint32_t h = s < n ? s : r - 1 - s;
		struct maker k = { .order = &plan->order[s], .q = { s >= n, s < n } };
		make(&k, n, h, plan->m / 2 + h + 1 - r, h == n - 1);
	}
	return ORR_OK;
}

static int generate_v(struct zb_plan *plan, const struct orr_args *args, struct orr_error *err)
{
	uint32_t r = plan->p;
	(void)args;
	if (plan->m < 2 * r)
		return orr_fail(err, ORR_EINPUT, "%u stages, %u micro-batches: expected at least twice as many micro-batches as stages", r,
			plan->m);
	plan->names_chunk = true;
	for (uint32_t s = 0; s < r; s++) {
		struct maker k = { .order = &plan->order[s], .q = { 0, 1 } };
		make(&k, r, s, plan->m + s + 1 - 2 * r, s + 1 == r);
	}
	return ORR_OK;
}

static const struct orr_param params[] = { ZB_PAIR_PARAM, ZB_PARAMS, ORR_PARAM_END };

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	return zb_new(s, args, ZB_BOTH_ENDS, generate_both_ends, false, err);
}

static void *create_v(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	return zb_new(s, args, ZB_V, generate_v, false, err);
}

static const struct orr_step_ops ops = ZB_OPS(create), ops_v = ZB_OPS(create_v);

ORR_POLICY_STEP(dual_pipe, "pipeline fed from both ends, forwards overlapped with backwards (DualPipe)", params, ops);
ORR_POLICY_STEP(dual_pipe_v, "DualPipe with two parts per stage, in a V (DualPipeV)", params, ops_v);
