/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Uniform progress (Wu et al., "Can't Be Late", NSDI 2024): on demand when progress is below the straight line ep(t) = t C(0) /
 * R(0), on spot whenever it is available.
 *
 *	idle:      spot if available; on demand if progress < ep(t)
 *	on demand: stays until progress >= ep(t + 2d) (hysteresis); then spot if available, else idle
 *
 * Without hysteresis 2d is 0 and spot is taken immediately. With the oracle, spot of lifetime o is used if it saves more than
 * the cost of its change-overs: from idle if o > k d / (k - 1), from on-demand if o > 2 k d / (k - 1), with k the ratio of the
 * prices. The lifetime of a gang is that of its first instance.
 */
#include "late.h"

static const struct orr_param params[] = { LATE_PARAMS,
	ORR_PARAM_BOOL("hysteresis", true, "remain on demand until progress is two change-overs ahead"),
	ORR_PARAM_BOOL("oracle", false, "oracle: accept an offer depending on its lifetime"), ORR_PARAM_END };

struct uniform_progress {
	struct late late;
	bool has_hysteresis, has_oracle;
};

static bool is_behind(const struct late *l, const struct orr_spot *w, int64_t t)
{
	return (double)late_done(l, w) * (double)l->deadline_ns < (double)t * (double)l->work_ns;
}

/* Returns whether the true lifetime of the offer justifies the change-overs. */
static bool is_worth_it(const struct late *l, struct orr_spot *w)
{
	double k = orr_on_demand_price(w, l->zone) / orr_spot_price(w, l->zone);
	int64_t end = orr_offer_true_end(w, l->zone);
	double changes = l->state == LATE_ON_DEMAND ? 2 : 1;
	return k > 1 && (end == ORR_NEVER || (double)(end - orr_spot_now(w)) > changes * k * (double)l->spot_changeover_ns / (k - 1));
}

static enum late_state rule(struct late *l, struct orr_spot *w)
{
	const struct uniform_progress *u = (const struct uniform_progress *)l;
	bool takes_spot = late_is_available(l, w) && (!u->has_oracle || is_worth_it(l, w));
	int64_t ahead = l->state == LATE_ON_DEMAND && u->has_hysteresis ? l->spot_changeover_ns + l->on_demand_changeover_ns : 0;
	bool behind = is_behind(l, w, orr_spot_now(w) + ahead);
	bool may_leave = l->state == LATE_IDLE || u->has_oracle || !u->has_hysteresis || !behind;
	if (takes_spot && may_leave)
		return LATE_SPOT;
	return behind ? LATE_ON_DEMAND : LATE_IDLE;
}

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct uniform_progress *u = orr_alloc(1, sizeof *u);
	u->late.rule = rule;
	u->has_hysteresis = orr_arg_bool(args, "hysteresis");
	u->has_oracle = orr_arg_bool(args, "oracle");
	if (late_begin(&u->late, w, args, err))
		return u;
	late_destroy(u);
	return NULL;
}

static const struct orr_spot_ops ops = LATE_OPS(create);

ORR_POLICY_SPOT_FLAGS(uniform_progress,
	"one job with a deadline: on demand while progress is below a straight line to the deadline (Can't Be Late)", ORR_MAY_ORACLE,
	params, ops);
