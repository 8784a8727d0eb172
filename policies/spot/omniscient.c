/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Omniscient (Wu et al., "Can't Be Late", NSDI 2024): the cheapest schedule to the deadline if the whole future is known, a lower bound
 * for all other policies. The paper solves an integer program over ticks; here it is an exact dynamic programme over the changes of
 * availability (late_plan.h).
 *
 * The programme uses the prices at the start of the run. It is exact for one zone that offers at most as many instances as the job needs,
 * all at one price.
 * Cost, deadline and progress are those of the run that follows the plan.
 */
#include "late_course.h"

static const struct orr_param params[] = { LATE_PARAMS, ORR_PARAM_END };

struct omniscient {
	struct late late;
	bool has_course;
	struct late_course course;
};

static void free_course(struct late *l)
{
	late_forget(&((struct omniscient *)l)->course);
}

static enum late_state rule(struct late *l, struct orr_spot *w)
{
	struct omniscient *o = (struct omniscient *)l;
	int64_t now = orr_spot_now(w);
	if (!o->has_course && !late_chart(l, w, now, l->deadline_ns, l->work_ns, &o->course))
		return LATE_IDLE;
	o->has_course = true;
	const struct late_stint *s = late_follow(w, &o->course);
	/* The plan has ended and no work is left, so the state has no effect. */
	if (!s)
		return LATE_ON_DEMAND;
	return now < s->from_ns ? LATE_IDLE : s->is_spot ? LATE_SPOT : LATE_ON_DEMAND;
}

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct omniscient *o = orr_alloc(1, sizeof *o);
	o->late.rule = rule;
	o->late.free = free_course;
	o->late.is_planned = true;
	if (late_begin(&o->late, w, args, err))
		return o;
	late_destroy(o);
	return NULL;
}

static const struct orr_spot_ops ops = LATE_OPS(create);

ORR_POLICY_SPOT_FLAGS(omniscient, "one job with a deadline: the cheapest plan with the whole future known (Can't Be Late)",
	ORR_NEEDS_ORACLE, params, ops);
