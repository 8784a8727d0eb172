/* SPDX-License-Identifier: GPL-3.0-or-later */
/* node_events.h - nodes that fail and are repaired; lent nodes use the same path (bill.h, jobs_node()) */
#ifndef ORR_JOBS_NODE_EVENTS_H
#define ORR_JOBS_NODE_EVENTS_H

#include <orrery/jobs.h>

#include "cluster/failures.h"

struct node_events {
	struct failure_run *failures; /* failures of the run; NULL: nodes never fail */
	bool failure_pending;         /* the next failure or repair is scheduled in the engine */
	uint32_t n_down;
	uint32_t going;    /* the node that loses its jobs now; NONE: no node */
	uint32_t *cleared; /* slots of the jobs on a node that goes down, in order of submission */
	uint32_t n_cleared, cap_cleared;
};

/* Schedules the next failure or repair, if there is one. */
void node_events_next(struct orr_jobs *w);
void node_events_free(struct orr_jobs *w);

#endif
