/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Time sliced (Wu et al., "Can't Be Late", NSDI 2024): greedy in each of n equal slices of the time, with 1/n of the work in
 * each. When a slice's share is complete, on-demand is released. Spot continues, and its work beyond the share reduces the
 * share of the next slice.
 */
#include "late.h"

static const struct orr_param params[] = { LATE_PARAMS,
	ORR_PARAM_INT("slices", "8", 1, 1e6, "number of slices of the time to the deadline"),
	ORR_PARAM_BOOL("surplus", false, "use spot also in a slice whose share is complete"), ORR_PARAM_END };

struct time_sliced {
	struct late late;
	struct late_slices slices;
};

static enum late_state rule(struct late *l, struct orr_spot *w)
{
	return late_in_slices(l, w, &((struct time_sliced *)l)->slices);
}

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct time_sliced *s = orr_alloc(1, sizeof *s);
	s->late.rule = rule;
	s->slices = (struct late_slices){
		.n = (uint32_t)orr_arg_int(args, "slices"), .takes_surplus = orr_arg_bool(args, "surplus"), .on_demand_slice = -1
	};
	if (late_begin(&s->late, w, args, err))
		return s;
	late_destroy(s);
	return NULL;
}

static const struct orr_spot_ops ops = LATE_OPS(create);

ORR_POLICY_SPOT(time_sliced, "one job with a deadline: greedy in equal slices of the time (Can't Be Late)", params, ops);
