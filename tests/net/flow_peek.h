/* SPDX-License-Identifier: GPL-3.0-or-later */
/* flow_peek.h - queries of a flownet that only tests need */
#ifndef ORR_TESTS_FLOW_PEEK_H
#define ORR_TESTS_FLOW_PEEK_H

#include "net/flow_state.h"

/* Returns the number of flows that have started and not ended. */
static inline uint32_t flownet_active(const struct flownet *f)
{
	return f->n_active;
}

/* returns bytes/s now; 0 during the latency */
static inline double flownet_rate(struct flownet *f, uint32_t flow)
{
	if (!flow_is_settled(f))
		flow_solve(f);
	return f->flow[flow].phase == FLOW_DRAINING ? f->flow[flow].weight * f->link[f->bottleneck[flow]].level : 0;
}

#endif
