/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ZB-H1 and ZB-H2, the hand-made zero-bubble schedules (Qi et al., "Zero Bubble Pipeline Parallelism", arXiv 2401.10241, 2), and
 * given-order, which runs an order from a file.
 *
 * Stage s of p does k forwards, then repeats B, W, F. W lags: the W of a micro-batch follows the B of the lag-th micro-batch after
 * it, and the last W's come at the end.
 *
 *	ZB-H1   k = p - s          lag = s     memory of 1F1B; bubble (p-1)(F + B - W)
 *	ZB-H2   k = 2(p - s) - 1   lag = 2s    up to 2p - 1 micro-batches; bubble (p-1)(F + B - 2W), of the longest stage
 *
 * F, B, W: seconds of the three ops. The paper draws these schedules; the two formulas for k and lag are ours, and agree with its
 * bubbles and memory for all m >= 2p - 1.
 */
#include "zero_bubble.h"

#include <string.h>

static void by_hand(struct zb_plan *plan, uint32_t times)
{
	for (uint32_t s = 0; s < plan->p; s++) {
		struct zb_order *o = &plan->order[s];
		uint32_t first = times * (plan->p - s) - (times - 1), lag = times * s, f, w = 0;
		for (f = 0; f < first && f < plan->m; f++)
			zb_put(o, ZB_F, 0, f);
		for (uint32_t i = 0; i < plan->m; i++) {
			zb_put(o, ZB_B, 0, i);
			if (i >= lag)
				zb_put(o, ZB_W, 0, w++);
			if (f < plan->m)
				zb_put(o, ZB_F, 0, f++);
		}
		while (w < plan->m)
			zb_put(o, ZB_W, 0, w++);
	}
}

static int generate_h1(struct zb_plan *plan, const struct orr_args *args, struct orr_error *err)
{
	(void)args, (void)err;
	by_hand(plan, 1);
	return ORR_OK;
}

static int generate_h2(struct zb_plan *plan, const struct orr_args *args, struct orr_error *err)
{
	(void)args, (void)err;
	by_hand(plan, 2);
	return ORR_OK;
}

static int generate_given(struct zb_plan *plan, const struct orr_args *args, struct orr_error *err)
{
	size_t n;
	const char *text = orr_arg_file(args, "orders", &n);
	if (!text)
		return orr_fail(err, ORR_EINPUT, "orders: expected a file of rows STAGE,ORDER (policy.given-order.orders=FILE)");
	return zb_read(plan, orr_arg_text(args, "orders"), text, n, err);
}

static void *create_h1(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	return zb_new(s, args, ZB_STRAIGHT, generate_h1, false, err);
}

static void *create_h2(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	return zb_new(s, args, ZB_STRAIGHT, generate_h2, false, err);
}

static void *create_given(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	const char *name = orr_arg_text(args, "placement");
	enum zb_placement placement = !strcmp(name, "straight") ? ZB_STRAIGHT : !strcmp(name, "v") ? ZB_V : ZB_BOTH_ENDS;
	return zb_new(s, args, placement, generate_given, false, err);
}

static const struct orr_param params[] = { ZB_PARAMS, ORR_PARAM_END };
static const struct orr_param given_params[] = { ORR_PARAM_FILE("orders", "the ops of each stage in order: rows STAGE,F0 F1 B0 W0 .."),
	ORR_PARAM_CHOICE("placement", "straight", "straight|v|both-ends",
		"one part of the model per stage; two parts, in a V; or each part on two stages, for two directions"),
	ZB_PAIR_PARAM, ZB_PARAMS, ORR_PARAM_END };

static const struct orr_step_ops h1 = ZB_OPS(create_h1), h2 = ZB_OPS(create_h2), given = ZB_OPS(create_given);

ORR_POLICY_STEP(zb_h1, "zero-bubble pipeline by hand, with the memory of 1F1B (ZB-H1)", params, h1);
ORR_POLICY_STEP(zb_h2, "zero-bubble pipeline by hand, with about twice the memory of 1F1B (ZB-H2)", params, h2);
ORR_POLICY_STEP(given_order, "pipeline whose stages run their ops in the order of a file", given_params, given);
