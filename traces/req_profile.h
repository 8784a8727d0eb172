/* SPDX-License-Identifier: GPL-3.0-or-later */
/* req_profile.h - statistics of a trace of requests */
#ifndef ORR_TRACES_REQ_PROFILE_H
#define ORR_TRACES_REQ_PROFILE_H

#include <orrery/api.h>

struct trace;
struct trace_profile;
struct reqset;

/* Adds all rows of the set, which must have an end, to p and closes the lists of p. */
void req_profile(const struct reqset *s, struct trace_profile *p);
/* Adds the remaining rows of a trace of requests; returns 0 or -1. */
int req_profile_trace(struct trace *t, struct trace_profile *p, struct orr_error *err);

#endif
