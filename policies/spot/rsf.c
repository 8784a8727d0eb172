/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * RSF, randomised shifted greedy (Wu et al., "Can't Be Late", NSDI 2024; designed for a competitive bound): with equal
 * probability, either greedy in n slices, or 1/n of the work on demand first and then greedy in n - 1 slices. If R(0) >= 2
 * C(0), its mean cost on any trace is at most ((k + 1) / 2 + (k - 1) / (2n)) times the omniscient cost, up to O(d). The factor
 * of a deterministic policy is at least k.
 */
#include "late.h"

static const struct orr_param params[] = { LATE_PARAMS,
	ORR_PARAM_INT("slices", "8", 1, 1e6, "number of slices of the time to the deadline"), ORR_PARAM_END };

struct rsf {
	struct late late;
	struct late_slices slices;
	uint32_t n;
	int64_t first_ns; /* work to do on demand first; 0: done, or none */
};

static enum late_state rule(struct late *l, struct orr_spot *w)
{
	struct rsf *s = (struct rsf *)l;
	int64_t now = orr_spot_now(w), left = s->first_ns - late_done(l, w);
	if (left > 0) {
		late_wake(w, now + left + (l->state == LATE_ON_DEMAND ? 0 : l->on_demand_changeover_ns));
		return LATE_ON_DEMAND;
	}
	if (s->first_ns) {
		s->slices.start_ns = now;
		s->slices.work_before_ns = s->first_ns;
		s->slices.n = s->n - 1;
		s->first_ns = 0;
	}
	return late_in_slices(l, w, &s->slices);
}

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct rsf *s = orr_alloc(1, sizeof *s);
	s->late.rule = rule;
	if (!late_begin(&s->late, w, args, err)) {
		late_destroy(s);
		return NULL;
	}
	s->n = (uint32_t)orr_arg_int(args, "slices");
	s->slices = (struct late_slices){ .n = s->n, .on_demand_slice = -1 };
	bool is_shifted = orr_spot_uniform(w) < 0.5;
	s->first_ns = is_shifted ? late_whole_steps(&s->late, (double)s->late.work_ns / s->n) : 0;
	orr_spot_report(w, "is_shifted", is_shifted);
	return s;
}

static const struct orr_spot_ops ops = LATE_OPS(create);

ORR_POLICY_SPOT_FLAGS(rsf, "one job with a deadline: greedy in slices, shifted at random (Can't Be Late's bound)", ORR_DRAWS, params, ops);
