/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dispatch.h - calls of the policy within an instant (dispatch.c); conservation laws under --check (check.c)
 */
#ifndef ORR_SERVE_DISPATCH_H
#define ORR_SERVE_DISPATCH_H

#include "serve/world.h"

/* Makes all calls that are due, and those that these calls make due. */
void dispatch_instant(struct orr_serve *w);
/* Sets now_s to the time of the engine's clock. */
void dispatch_catch_up(struct orr_serve *w);

/* Check the laws at the end of an instant, when the run ends, and when all requests have ended too: a violated law fails the run. */
void check_serve_instant(struct orr_serve *w);
void check_serve_state(struct orr_serve *w);
void check_serve_end(struct orr_serve *w);

#endif
