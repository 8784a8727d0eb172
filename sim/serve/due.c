/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls of the policy that are due in this instant; dispatch.c makes them. */
#include "serve/due.h"
#include "serve/replica.h"
#include "serve/requests.h"
#include "serve/router.h"

#include "base/mem.h"

void replica_dirty(struct orr_serve *w, uint32_t replica)
{
	struct replica *x = &w->replica[replica];
	if (x->is_dirty)
		return;
	x->is_dirty = true;
	MEM_GROW(w->dirty, w->n_dirty, w->cap_dirty);
	w->dirty[w->n_dirty++] = replica;
}

void due_arrival(struct orr_serve *w, struct req *q)
{
	if (q->is_arriving) /* the request lost its replica before the call of arrive() */
		return;
	q->is_arriving = true;
	MEM_GROW(w->arrived, w->n_arrived, w->cap_arrived);
	w->arrived[w->n_arrived++] = req_slot(w, q);
}

void due_event(struct orr_serve *w, uint32_t replica, enum orr_replica_event event)
{
	MEM_GROW(w->event, w->n_event, w->cap_event);
	w->event[w->n_event++] = (struct due_event){ replica, event };
	router_replica(w, replica, event);
}

void due_tell_events(struct orr_serve *w)
{
	while (w->event_told < w->n_event && !w->error.code) {
		struct due_event x = w->event[w->event_told++];
		if (w->ops->replica)
			POLICY_CALL(w, UINT64_MAX, replica, w->self, w, x.replica, x.event);
	}
	w->n_event = w->event_told = 0;
}
