/* SPDX-License-Identifier: GPL-3.0-or-later */
/* experts.h - routings, unequal messages and times by lane that a policy has declared in create() */
#ifndef ORR_STEP_EXPERTS_H
#define ORR_STEP_EXPERTS_H

#include "step/world.h"

/* Invariant: numbers stay valid during the run; messages do not move. */
struct experts {
	struct routing *routing;
	uint32_t n_routings, cap_routings;
	struct coll_messages **messages;
	uint32_t n_messages, cap_messages;
	double **seconds; /* [number][lane] */
	uint32_t n_seconds, cap_seconds;
};
void step_experts_free(struct orr_step *s);

/* Returns true and fails the run if lanes compute for different times, so that they cannot be merged. */
bool experts_differ(struct orr_step *s);

/* Returns the seconds of a compute op in a lane. */
static inline double compute_s(const struct orr_step *s, const struct op *o, uint32_t lane)
{
	return o->lane_seconds ? s->experts->seconds[o->lane_seconds - 1][lane] : o->amount;
}

#endif
