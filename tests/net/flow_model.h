/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * flow_model.h - a slow and simple model of flows on links, the reference for the solver
 *
 * At every event all rates are recomputed from scratch: rate / weight of every flow rises at the same speed; when a link is
 * full, its flows stop rising. No code is shared with sim/net.
 */
#ifndef ORR_TESTS_FLOW_MODEL_H
#define ORR_TESTS_FLOW_MODEL_H

#include "net/flow.h"

enum { MODEL_LINKS = 8, MODEL_FLOWS = 24, MODEL_CHANGES = 4, MODEL_HOPS = 5 };

struct model_flow {
	double start, bytes, cancel; /* cancel: time of cancellation; INFINITY: never */
	struct flow_hop hop[MODEL_HOPS];
	uint32_t n_hops;
	double finish; /* result: end time; INFINITY: never, NAN: cancelled */
	double drain, left, rate;
	bool is_draining;
};

struct model_change {
	double t;
	uint32_t link;
	double capacity;
};

struct model {
	bool is_weighted;
	uint32_t n_links, n_flows, n_changes;
	struct flow_link link[MODEL_LINKS];
	struct model_flow flow[MODEL_FLOWS];
	struct model_change change[MODEL_CHANGES];
};

void model_run(struct model *m);

#endif
