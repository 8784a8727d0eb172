/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Omniscient (Wu et al., "Can't Be Late", NSDI 2024): the cheapest way to the deadline with the whole future known, a bound for all others.
 * Theirs is an integer program over ticks; this is an exact dynamic programme over the changes of availability (late_plan.h).
 *
 * Exact for one zone that offers no more instances than the job needs, at the price of the start. Cost, deadline, progress on spot and on demand
 * are those of the run that follows the plan.
 */
#include "late.h"
#include "late_plan.h"

#include <stdlib.h>

static const struct orr_param params[] = { LATE_PARAMS, ORR_PARAM_END };

struct omniscient {
	struct late late;
	bool has_plan;
	struct late_plan plan;
	size_t stint; /* the first that has not ended */
};

static void free_plan(struct late *l)
{
	late_plan_free(&((struct omniscient *)l)->plan);
}

/* When the gang could be had, from what is offered now and all changes. NULL: it gave up. */
static struct late_interval *find_intervals(const struct late *l, struct orr_spot *w, size_t *n_out)
{
	size_t n = orr_spot_future(w, l->deadline_ns, NULL, 0), intervals = 0;
	struct orr_future *f = malloc((n + 1) * sizeof *f);
	struct late_interval *out = calloc(n + 1, sizeof *out);
	int64_t now = orr_spot_now(w), live = orr_offers(w, 0);
	bool is_in = live >= l->nodes;
	if (!f || !out) {
		orr_spot_give_up(w, "out of memory");
		goto failed;
	}
	orr_spot_future(w, l->deadline_ns, f, n);
	out[0] = (struct late_interval){ now, l->deadline_ns };
	for (size_t i = 0; i < n;) {
		int64_t t = f[i].t_ns;
		bool has_loss = false;
		for (; i < n && f[i].t_ns == t; i++) {
			live += f[i].change;
			has_loss |= f[i].change < 0;
		}
		/* All that were there are the gang's own. */
		if (is_in && has_loss)
			out[intervals++].to_ns = t;
		if (live >= l->nodes && (!is_in || has_loss))
			out[intervals] = (struct late_interval){ t, l->deadline_ns };
		is_in = live >= l->nodes;
		if (live > l->nodes)
			break;
	}
	if (live <= l->nodes) {
		free(f);
		*n_out = intervals + is_in;
		return out;
	}
	orr_spot_give_up(w, "more instances are offered than the job needs, and which of them last is not planned: set the trace's cap to the job's nodes");
failed:
	free(f);
	free(out);
	return NULL;
}

static void make_plan(struct omniscient *o, struct orr_spot *w)
{
	const struct late *l = &o->late;
	size_t n = 0;
	if (orr_zones(w) > 1) {
		orr_spot_give_up(w, "plans for one zone; there are more");
		return;
	}
	struct late_interval *spot = find_intervals(l, w, &n);
	if (!spot)
		return;
	struct late_problem p = { spot, n, orr_spot_now(w), l->deadline_ns, l->work_ns, l->step_ns, l->spot_changeover_ns, l->on_demand_changeover_ns,
		orr_spot_price(w, 0), orr_on_demand_price(w, 0) };
	if (late_plan_best(&p, &o->plan) == LATE_PLAN_NO_MEMORY)
		orr_spot_give_up(w, "out of memory");
	free(spot);
}

static enum late_state rule(struct late *l, struct orr_spot *w)
{
	struct omniscient *o = (struct omniscient *)l;
	int64_t now = orr_spot_now(w);
	if (!o->has_plan)
		make_plan(o, w);
	o->has_plan = true;
	while (o->stint < o->plan.n && o->plan.stint[o->stint].to_ns <= now)
		o->stint++;
	/* Past its end nothing is left to do, unless the trace was another than foreseen. */
	if (o->stint == o->plan.n)
		return LATE_ON_DEMAND;
	const struct late_stint *s = &o->plan.stint[o->stint];
	late_wake(w, now < s->from_ns ? s->from_ns : s->to_ns);
	return now < s->from_ns ? LATE_IDLE : s->is_spot ? LATE_SPOT : LATE_ON_DEMAND;
}

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct omniscient *o = calloc(1, sizeof *o);
	if (!o)
		return orr_fail(err, ORR_EFAIL, "out of memory"), NULL;
	o->late.rule = rule;
	o->late.free = free_plan;
	o->late.is_planned = true;
	if (late_begin(&o->late, w, args, err))
		return o;
	late_destroy(o);
	return NULL;
}

static const struct orr_spot_ops ops = LATE_OPS(create);

ORR_POLICY_SPOT_FLAGS(omniscient, "one job with a deadline: the cheapest plan with the whole future known (Can't Be Late)", ORR_NEEDS_ORACLE, params,
	ops);
