/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * net_fill.h - a naive flow-level network as a reference: progressive filling from scratch at every change
 *
 * Written from the definition (Bertsekas and Gallager, 6.5.2), without code of sim/net.
 */
#ifndef ORR_TESTS_NET_FILL_H
#define ORR_TESTS_NET_FILL_H

#include "net/topology.h"

struct fill_flow {
	double left, rate, latency; /* bytes left; bytes/s; seconds before the flow drains */
	uint32_t n, hop[TOPO_MAX_HOPS];
	double load[TOPO_MAX_HOPS]; /* number of flows that it represents on that hop */
	bool is_over;
};

struct fill {
	double *capacity;
	uint32_t n_links;
	struct fill_flow *flow;
	uint32_t n_flows, cap_flows;
};

void fill_from_topo(struct fill *f, const struct topo *t);
void fill_free(struct fill *f);
/* Adds a flow along the topology's route; returns its index. */
uint32_t fill_route(struct fill *f, const struct topo *t, uint32_t src, uint32_t dst, uint64_t key, double bytes);
/* Computes the max-min fair rates of all flows that drain. A flow that no link limits (load 0) keeps the rate -1. */
void fill_rates(struct fill *f);
/* Runs all flows to their ends and removes them. Returns the end time, s; NAN if a flow never ends. */
double fill_run(struct fill *f);

#endif
