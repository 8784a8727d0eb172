/* SPDX-License-Identifier: GPL-3.0-or-later */
/* req_profile.h - what a trace of requests looks like: facts and distributions (docs/models.md) */
#ifndef ORR_TRACES_REQ_PROFILE_H
#define ORR_TRACES_REQ_PROFILE_H

#include <orrery/api.h>

struct trace;
struct trace_profile;
struct reqset;

/* All rows of the set, which must end, into p, whose lists are closed then. */
void req_profile(const struct reqset *s, struct trace_profile *p);
/* The rest of a trace that holds requests; 0 or -1. */
int req_profile_trace(struct trace *t, struct trace_profile *p, struct orr_error *err);

#endif
