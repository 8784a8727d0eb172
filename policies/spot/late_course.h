/* SPDX-License-Identifier: GPL-3.0-or-later */
/* late_course.h - makes a plan from the true future availability, and follows the plan */
#ifndef ORR_POLICIES_SPOT_LATE_COURSE_H
#define ORR_POLICIES_SPOT_LATE_COURSE_H

#include "late.h"
#include "late_plan.h"

/* A plan in execution. */
struct late_course {
	struct late_plan plan;
	size_t stint; /* index of the first stint that has not ended */
};

/*
 * Plans the cheapest way to do work_ns between from_ns (now or later) and until_ns, and replaces the course. Exact, at the
 * current price, for one zone that offers at most as many instances as the job needs. Otherwise ends the run with an error and
 * returns false.
 */
bool late_chart(const struct late *l, struct orr_spot *w, int64_t from_ns, int64_t until_ns, int64_t work_ns, struct late_course *course);
/* Drops the plan. */
void late_forget(struct late_course *course);
/* Returns the present stint of the plan and sets a wake-up at its end. NULL: the plan has ended. */
const struct late_stint *late_follow(struct orr_spot *w, struct late_course *course);

#endif
