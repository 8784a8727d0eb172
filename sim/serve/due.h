/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * due.h - calls of the policy that are due in this instant (due.c); dispatch.c makes them
 */
#ifndef ORR_SERVE_DUE_H
#define ORR_SERVE_DUE_H

#include "serve/world.h"

/* Calls a function of the policy that may act. `number`: request in the message of --policy-timeout. */
#define POLICY_CALL(w, number, what, ...)                                                          \
	do {                                                                                       \
		uint64_t call = watch_enter((w)->watch, #what, eng_now((w)->host.engine), number); \
		(w)->is_acting = true;                                                             \
		(w)->ops->what(__VA_ARGS__);                                                       \
		(w)->is_acting = false;                                                            \
		watch_leave((w)->watch, call);                                                     \
	} while (0)

/* Makes schedule() due for the replica. */
void replica_dirty(struct orr_serve *w, uint32_t replica);
/* Makes arrive() due: the request is new, lost its replica, or has moved. */
void due_arrival(struct orr_serve *w, struct req *q);
/* Makes replica() due. */
void due_event(struct orr_serve *w, uint32_t replica, enum orr_replica_event event);
/* Makes the replica() calls that are due, before run_end(), finish() and arrive() of the instant. */
void due_tell_events(struct orr_serve *w);

#endif
