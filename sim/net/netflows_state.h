/* SPDX-License-Identifier: GPL-3.0-or-later */
/* netflows_state.h - shared by netflows_read.c, which fills it in, and netflows.c, which runs it */
#ifndef ORR_NET_NETFLOWS_STATE_H
#define ORR_NET_NETFLOWS_STATE_H

#include "net/netflows.h"

#include "base/mem.h"
#include "base/strtab.h"

struct netflows_flow {
	double bytes, start, finish;
	uint32_t route;
	int32_t step;
};

struct netflows_route {
	uint32_t first, count; /* in hop[] */
};

struct netflows {
	char *flows_name; /* name of the file of flows, for messages */
	struct strtab *link_names, *ids, *route_texts;
	struct flow_link *link;
	uint32_t n_links, cap_links;
	struct flow_hop *hop;
	uint32_t n_hops, cap_hops;
	struct netflows_route *route; /* routes by number of the route's text */
	uint32_t n_routes, cap_routes;
	struct netflows_flow *flow;
	uint32_t n_flows, cap_flows;
	uint32_t *step; /* flows of steps, in file order; step s begins at step[step_first[s]] */
	uint32_t *step_first;
	uint32_t n_steps, n_stepped, n_simulated;
};

#endif
