/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of messages in closed form: each message is alone on its route. */
#include "step/wire_state.h"

/* Returns the number of ranks of the first island on the node of its first rank. */
static uint32_t beside_first(const struct orr_step *s, const struct iteration *k, const struct coll *c, uint32_t lane, uint32_t inner)
{
	uint32_t n = 1, node = s->node_of[rank_device(s, k, c, lane, 0)];
	while (n < inner && s->node_of[rank_device(s, k, c, lane, n)] == node)
		n++;
	return n;
}

/* Returns the sum of the latencies from a to b, over the receiver's rail if the collective uses it, and in *least the least bandwidth. */
static double latency_of(const struct orr_step *s, const struct coll_shape *shape, uint32_t a, uint32_t b, double *least)
{
	uint32_t link[TOPO_MAX_HOPS], n = topo_route(s->config->topo, a, b, rail_key(s, shape), link);
	double sum = 0;
	*least = INFINITY;
	for (uint32_t i = 0; i < n; i++) {
		sum += s->config->topo->link[link[i]].flow.latency_s;
		*least = fmin(*least, s->config->topo->link[link[i]].flow.capacity_Bps);
	}
	return sum;
}

struct idle_route idle_route(const struct orr_step *s, const struct iteration *k, const struct op *o, uint32_t lane)
{
	const struct topo *t = s->config->topo;
	if (o->type == OP_TRANSFER) {
		uint32_t a = real_device(s, lane, o->device), b = real_device(s, lane, o->peer);
		return a == b ? (struct idle_route){ 0, INFINITY, 0, INFINITY }
			      : (struct idle_route){ wire_latency(s, a, b), wire_bandwidth(s, a, b), 0, INFINITY };
	}
	/* The slowest hop of the ring of members; with islands, also the slowest hop inside one. */
	const struct coll *c = &k->coll[o->collective];
	const struct coll_shape *shape = &plan_of(s, k, c, lane)->shape;
	bool is_multi = shape->rings > 1, is_per_nic = coll_is_per_nic(shape->algorithm) && shape->inner;
	double latency = 0, bandwidth = INFINITY, inner_latency = 0, inner_bandwidth = INFINITY;
	for (uint32_t r = 0; r < c->n && c->n > 1; r++) {
		uint32_t a = rank_device(s, k, c, lane, r), b = rank_device(s, k, c, lane, (r + 1) % c->n);
		bool is_inner = shape->inner > 1 && (r + 1) % c->n && (r + 1) % shape->inner;
		double B, l = latency_of(s, shape, a, b, &B);
		if (is_inner) {
			inner_latency = fmax(inner_latency, l);
			inner_bandwidth = fmin(inner_bandwidth, B);
		} else {
			latency = fmax(latency, l);
			bandwidth = fmin(bandwidth, B);
		}
	}
	if (is_multi)
		bandwidth *= s->nic_efficiency;
	if (is_per_nic && shape->algorithm == ORR_NVLS_TREE) /* every rank sends between islands */
		bandwidth *= (double)shape->rings / shape->inner;
	if (is_per_nic)
		inner_bandwidth /= shape->inner_stretch;
	/* A rank has a share of its node's NICs, because all ranks of an island send at once. */
	if (shape->inner > 1 && !is_per_nic && !shape->leader)
		bandwidth *= fmin(1, (double)topo_nics(t) / beside_first(s, k, c, lane, shape->inner));
	if (isinf(bandwidth)) { /* a single island */
		latency = inner_latency;
		bandwidth = inner_bandwidth;
	}
	return (struct idle_route){ latency, bandwidth, inner_latency, inner_bandwidth };
}

double idle_time_s(const struct orr_step *s, const struct iteration *k, const struct instance *x, const struct op *o)
{
	struct idle_route f = idle_route(s, k, o, x->lane);
	if (o->type == OP_TRANSFER)
		return f.latency_s + o->amount / f.Bps;
	const struct coll *c = &k->coll[o->collective];
	const struct coll_shape *shape = &plan_of(s, k, c, x->lane)->shape;
	if (shape->is_measured) {
		f.latency_s = shape->hop_s;
		f.Bps /= shape->stretch;
	}
	if (shape->is_tree_timed)
		f.latency_s = f.inner_latency_s = shape->hop_s;
	return c->n < 2 ? 0 : c->what.repeat * coll_time_s(shape, f.latency_s, f.Bps, f.inner_latency_s, f.inner_Bps);
}
