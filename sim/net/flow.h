/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * flow.h - flows that share links max-min fairly, and their end times
 *
 * A flow first waits for its latency (the sum over its links) and holds no bandwidth; then it drains its bytes at its max-min
 * fair rate. Invariant whenever time advances: no flow's rate can grow unless the rate of a flow that is at most as fast
 * decreases, in units of rate / weight (Bertsekas and Gallager, Data Networks, 2nd ed., 6.5.2). A link is one direction of a
 * cable. A flow without links ends as it starts.
 *
 * Solving is incremental: first the flows of the changed links, then the flows whose bottleneck
 * changed, until every flow has a bottleneck.
 *
 * A hop may have a load other than 1: on that link the flow counts as `load` flows of the same rate. One flow can so represent
 * a class of equivalent flows (quotient.h), with one link per class of links.
 *
 * Times are seconds (double) from the owner's start and never decrease; bytes and bytes/s are doubles. A flownet belongs to
 * one thread and owns all its memory.
 */
#ifndef ORR_NET_FLOW_H
#define ORR_NET_FLOW_H

#include <orrery/api.h>

struct flow_link {
	double capacity_Bps; /* capacity in bytes/s, at least 0; at 0, flows wait until it changes */
	double latency_s;    /* >= 0 */
};

struct flow_hop {
	uint32_t link;
	uint32_t load; /* >= 1 */
};

enum flow_fairness {
	FLOW_MAX_MIN,
	FLOW_RTT_WEIGHTED /* weight = 1 / (sum of latencies), as in TCP and SimGrid's CM02; 1 if the sum is 0 */
};

struct flownet;

/* Copies the links. */
struct flownet *flownet_new(const struct flow_link *links, uint32_t n_links, enum flow_fairness fairness);
void flownet_free(struct flownet *f);

double flownet_now(const struct flownet *f);

/*
 * Starts a flow now (move the clock with flownet_advance() first). bytes >= 0. extra_latency_s is added to the links' own
 * latency; a negative value is the latency that has already passed. route is copied; tag is for the caller. Returns a handle
 * that is valid until the flow is reported.
 */
uint32_t flownet_start(
	struct flownet *f, double bytes, double extra_latency_s, const struct flow_hop *route, uint32_t n_hops, uint64_t tag);
/* Returns the remaining bytes of a flow that has not been reported. */
double flownet_left(struct flownet *f, uint32_t flow);
/* Ends a flow without reporting it. */
void flownet_cancel(struct flownet *f, uint32_t flow);
/* Changes a capacity from now on. */
void flownet_set_capacity(struct flownet *f, uint32_t link, double capacity_Bps);

/* Returns the time of the next event: a flow ends or begins to drain. INFINITY: no event. */
double flownet_next(struct flownet *f);
/* Moves the clock to t, flownet_now() <= t <= flownet_next(). flownet_pop() then returns the flows that end at t. */
void flownet_advance(struct flownet *f, double t);
/* Returns one ended flow, in the order of (time, start); false: none. */
bool flownet_pop(struct flownet *f, uint64_t *tag, double *finish_s);

double flownet_link_rate(struct flownet *f, uint32_t link);  /* returns the current sum of rate x load */
double flownet_link_bytes(struct flownet *f, uint32_t link); /* returns the bytes carried so far, weighted by loads */

/* Returns false, with *err filled in, if a link exceeds its capacity (1e-9 relative) or a flow has no bottleneck; for --check. */
bool flownet_verify(struct flownet *f, struct orr_error *err);

#endif
