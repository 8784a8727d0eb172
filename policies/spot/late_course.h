/* SPDX-License-Identifier: GPL-3.0-or-later */
/* late_course.h - planning with the true future, and going by the plan */
#ifndef ORR_POLICIES_SPOT_LATE_COURSE_H
#define ORR_POLICIES_SPOT_LATE_COURSE_H

#include "late.h"
#include "late_plan.h"

/* A plan that is being followed. */
struct late_course {
	struct late_plan plan;
	size_t stint; /* the first that has not ended */
};

/* The cheapest way to do so much work between from (now or later) and until, whatever the course was. The plan is exact for one zone that
 * offers no more instances than the job needs, at the price of now; where it offers more or there are more zones, the run is given up and
 * false returned. */
bool late_chart(const struct late *l, struct orr_spot *w, int64_t from_ns, int64_t until_ns, int64_t work_ns, struct late_course *course);
/* No plan. */
void late_forget(struct late_course *course);
/* What the plan says for now, and a wake when it says something else. NULL: it has come to its end. */
const struct late_stint *late_follow(struct orr_spot *w, struct late_course *course);

#endif
