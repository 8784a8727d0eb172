/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * guard.h - --check for policies that claim ORR_SLO_GUARDED: no action makes a request late (guard.c)
 *
 * All functions are no-ops unless the policy claims ORR_SLO_GUARDED and the run is checked.
 */
#ifndef ORR_SERVE_GUARD_H
#define ORR_SERVE_GUARD_H

#include "serve/world.h"

void guard_begin(struct orr_serve *w); /* after create() */
void guard_free(struct orr_serve *w);
/* Must be called before a run is stopped. */
void guard_before(struct orr_serve *w, const struct run *x, const char *action);
/* Must be called before a run starts or resumes on a replica that has other runs. */
void guard_before_beside(struct orr_serve *w, uint32_t replica, const char *action);
void guard_forget(struct orr_serve *w, const struct req *q);
void guard_ended(struct orr_serve *w, const struct req *q, double at_s);

#endif
