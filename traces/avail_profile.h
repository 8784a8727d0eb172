/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * avail_profile.h - what availability looks like: how many instances, how often they go, how many at once, how long they live
 *
 * From time 0 to the set's end. Means over time weigh each count by how long it held. Additions and removals are rows, so that
 * an instance that comes and goes at one instant counts; an instant of removal is a time at which at least one goes.
 */
#ifndef ORR_TRACES_AVAIL_PROFILE_H
#define ORR_TRACES_AVAIL_PROFILE_H

#include "traces/avail.h"
#include "traces/profile.h"
#include "traces/trace.h"

/* Of a generator the set must have an end. */
void avail_profile(const struct availset *s, struct trace_profile *p);
/* trace_describe() of a file of availability; 0 or -1. */
int avail_profile_trace(struct trace *t, struct trace_profile *p, struct orr_error *err);

#endif
