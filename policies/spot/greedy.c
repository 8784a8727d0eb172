/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Greedy (Wu et al., "Can't Be Late: Optimizing Spot Instance Savings under Deadlines", NSDI 2024): waits for spot until the
 * safety net requires on-demand.
 */
#include "late.h"

static const struct orr_param params[] = { LATE_PARAMS, ORR_PARAM_END };

static enum late_state rule(struct late *l, struct orr_spot *w)
{
	return late_is_available(l, w) ? LATE_SPOT : LATE_IDLE;
}

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct late *l = orr_alloc(1, sizeof *l);
	l->rule = rule;
	if (late_begin(l, w, args, err))
		return l;
	late_destroy(l);
	return NULL;
}

static const struct orr_spot_ops ops = LATE_OPS(create);

ORR_POLICY_SPOT(greedy, "one job with a deadline: waits for spot as long as the deadline allows (Can't Be Late)", params, ops);
