/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * avail_profile.h - statistics of availability: counts, removals, removals at one instant, lifetimes
 *
 * The statistics cover time 0 to the end of the set. Means over time weight each count by its duration. An instance that is
 * added and removed at one instant is counted. An instant of removal is a time with at least one removal.
 */
#ifndef ORR_TRACES_AVAIL_PROFILE_H
#define ORR_TRACES_AVAIL_PROFILE_H

#include "traces/avail.h"
#include "traces/profile.h"
#include "traces/trace.h"

/* Adds the statistics of a set. A generator must have an end. */
void avail_profile(const struct availset *s, struct trace_profile *p);
/* Implements trace_describe() for an availability trace; returns 0 or -1. */
int avail_profile_trace(struct trace *t, struct trace_profile *p, struct orr_error *err);

#endif
