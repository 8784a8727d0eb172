/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "late_course.h"

/* Lists the intervals in which the gang is available. Returns SIZE_MAX if the trace offers more instances than the job needs. */
static size_t find_intervals(
	const struct late *l, int64_t live, int64_t now, int64_t until, const struct orr_future *f, size_t n, struct late_interval *out)
{
	size_t found = 0;
	bool is_in = live >= l->nodes;
	if (live > l->nodes)
		return SIZE_MAX;
	out[0] = (struct late_interval){ now, until };
	for (size_t i = 0; i < n;) {
		int64_t t = f[i].t_ns;
		bool has_loss = false;
		for (; i < n && f[i].t_ns == t; i++) {
			live += f[i].change;
			has_loss |= f[i].change < 0;
		}
		if (live > l->nodes)
			return SIZE_MAX;
		/* All earlier instances belong to the gang. */
		if (is_in && has_loss)
			out[found++].to_ns = t;
		if (live == l->nodes && (!is_in || has_loss))
			out[found] = (struct late_interval){ t, until };
		is_in = live == l->nodes;
	}
	return found + is_in;
}

/* Returns the price of the gang in use, or that of the next offer. */
static double spot_price(const struct late *l, const struct orr_spot *w)
{
	struct orr_inst_info info;
	return l->state == LATE_SPOT && l->members && orr_inst_get(w, l->member[0], &info) ? info.usd_per_hour : orr_spot_price(w, 0);
}

static void plan(const struct late *l, struct orr_spot *w, int64_t from, int64_t until, int64_t work, const struct late_interval *spot,
	size_t n, struct late_course *course)
{
	struct late_problem p = { spot, n, from, until, work, l->step_ns, l->spot_changeover_ns, l->on_demand_changeover_ns,
		spot_price(l, w), orr_on_demand_price(w, 0) };
	late_forget(course);
	late_plan_best(&p, &course->plan);
}

bool late_chart(const struct late *l, struct orr_spot *w, int64_t from, int64_t until, int64_t work, struct late_course *course)
{
	if (orr_zones(w) > 1) {
		orr_spot_give_up(w, "the trace has several zones: expected one zone, because the plan is for one");
		return false;
	}
	size_t n = orr_spot_future(w, until, NULL, 0), found;
	struct orr_future *f = orr_alloc(n + 1, sizeof *f);
	struct late_interval *spot = orr_alloc(n + 1, sizeof *spot);
	int64_t live = (int64_t)orr_offers(w, 0) + (l->state == LATE_SPOT ? l->nodes : 0);
	orr_spot_future(w, until, f, n);
	found = find_intervals(l, live, orr_spot_now(w), until, f, n, spot);
	if (found == SIZE_MAX)
		orr_spot_give_up(w,
			"the trace offers more instances than the job needs: expected at most the job's nodes (option cap of the trace)");
	else
		plan(l, w, from, until, work, spot, found, course);
	orr_free(f);
	orr_free(spot);
	return found != SIZE_MAX;
}

void late_forget(struct late_course *course)
{
	late_plan_free(&course->plan);
	course->stint = 0;
}

const struct late_stint *late_follow(struct orr_spot *w, struct late_course *course)
{
	int64_t now = orr_spot_now(w);
	while (course->stint < course->plan.n && course->plan.stint[course->stint].to_ns <= now)
		course->stint++;
	if (course->stint == course->plan.n)
		return NULL;
	const struct late_stint *s = &course->plan.stint[course->stint];
	late_wake(w, now < s->from_ns ? s->from_ns : s->to_ns);
	return s;
}
