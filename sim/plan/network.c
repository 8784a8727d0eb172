/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages of a plan on an otherwise idle network (docs/models/plan.md, "Messages"): each NIC and each GPU link carries its
 * bytes at its rate, all at the same time; the slowest determines the time. Only the executor models links between switches.
 */
#include "plan/world.h"

#include "base/mem.h"
#include "net/collective.h"
#include "step/world.h"

#include <math.h>
#include <string.h>

/* ---- loads: seconds by NIC and GPU link ---- */

static uint32_t nic_count(const struct topo *t)
{
	return t->n_nodes * topo_nics(t);
}

static void add_load(struct orr_plan *p, uint32_t slot, double seconds)
{
	if (!p->load) {
		p->n_load = 2 * (nic_count(p->of->config.topo) + p->facts.gpus);
		p->load = mem_zalloc(p->n_load, sizeof *p->load);
		p->touched = mem_zalloc(p->n_load, sizeof *p->touched);
	}
	if (p->load[slot] <= 0)
		p->touched[p->n_touched++] = slot;
	p->load[slot] += seconds;
}

/* Adds a message to the loads; returns its latency. */
static double book(struct orr_plan *p, uint32_t from, uint32_t to, double bytes)
{
	const struct topo *t = p->of->config.topo;
	uint32_t nics = nic_count(t), gpus = p->facts.gpus;
	if (from == to || !(bytes > 0))
		return 0;
	double pair = bytes / topo_bandwidth(t, from, to);
	*p->uses |= PLAN_USED_MESSAGES | (topo_node(t, from) != topo_node(t, to) ? PLAN_USED_NETWORK : 0);
	if (topo_node(t, from) == topo_node(t, to)) {
		add_load(p, 2 * nics + from, pair);
		add_load(p, 2 * nics + gpus + to, pair);
		return topo_latency(t, from, to);
	}
	uint32_t out = topo_nic(t, from, true), in = topo_nic(t, to, false);
	add_load(p, topo_port(t, from, to), fmax(out == UINT32_MAX ? 0 : bytes / t->link[out].flow.capacity_Bps, 1e-30));
	add_load(p, nics + topo_port(t, to, from), fmax(in == UINT32_MAX ? 0 : bytes / t->link[in].flow.capacity_Bps, 1e-30));
	add_load(p, 2 * nics + from, pair);
	add_load(p, 2 * nics + gpus + to, pair);
	return topo_latency(t, from, to);
}

static double take_loads(struct orr_plan *p)
{
	double most = 0;
	for (uint32_t i = 0; i < p->n_touched; i++) {
		most = fmax(most, p->load[p->touched[i]]);
		p->load[p->touched[i]] = 0;
	}
	p->n_touched = 0;
	return most;
}

/* ---- messages between stages ---- */

double network_cut_s(struct orr_plan *p, const struct orr_plan_stage *from, const struct orr_plan_stage *to, double bytes)
{
	uint32_t ra = stage_groups(from), rb = stage_groups(to), ta = stage_shards(from), tb = stage_shards(to), a = 0;
	double latency = 0, at_a = 0, at_b = 0, gather = 0;
	for (uint32_t b = 0; b < rb; b++) {
		double end_b = at_b + stage_share(to, b);
		while (a < ra) {
			double end_a = at_a + stage_share(from, a), part = fmin(end_a, end_b) - fmax(at_a, at_b);
			for (uint32_t k = 0; k < tb && part > 1e-12; k++)
				latency = fmax(latency, book(p, from->gpu[a * ta + k % ta], to->gpu[b * tb + k], bytes * part / tb));
			if (end_a > end_b + 1e-12)
				break;
			at_a = end_a;
			a++;
		}
		at_b = end_b;
	}
	if (tb > 1)
		gather = network_ring_s(p, to->gpu, tb, bytes / rb, 1) / 2;
	return latency + take_loads(p) + gather;
}

/* ---- all-reduces ---- */

static bool is_one_node(const struct orr_plan *p, const uint32_t *gpu, uint32_t n)
{
	const struct topo *t = p->of->config.topo;
	for (uint32_t i = 1; i < n; i++)
		if (topo_node(t, gpu[i]) != topo_node(t, gpu[0]))
			return false;
	return true;
}

/* Returns the time inside a node: by the measured law if the executor uses it, else of a ring over the GPUs' links. */
static double inside_s(const struct orr_plan *p, const uint32_t *gpu, uint32_t n, double bytes)
{
	const struct topo *t = p->of->config.topo;
	struct coll_shape s = { .op = ORR_ALL_REDUCE, .algorithm = ORR_RING, .n = n, .bytes = bytes };
	double B = topo_bandwidth(t, gpu[0], gpu[1]), latency = topo_latency(t, gpu[0], gpu[1]);
	*p->uses |= PLAN_USED_MESSAGES;
	for (uint32_t i = 1; i < n; i++)
		B = fmin(B, topo_bandwidth(t, gpu[i], gpu[(i + 1) % n]));
	if (inside_shape(p->step, gpu, &s))
		return 2 * (n - 1.) * (s.hop_s + s.stretch * bytes / n / B);
	return coll_time_s(&s, latency, B, latency, B);
}

/* Returns the number of members in the first node. Members of one node are neighbours in gpu[]. */
static uint32_t members_inside(const struct orr_plan *p, const uint32_t *gpu, uint32_t n)
{
	uint32_t k = 1;
	while (k < n && is_one_node(p, gpu, k + 1))
		k++;
	return k;
}

/* Returns the number of NICs that the first `inside` members use towards another node. */
static uint32_t ports_of(const struct orr_plan *p, const uint32_t *gpu, uint32_t inside, uint32_t peer)
{
	uint32_t ports = 0, last = UINT32_MAX;
	for (uint32_t i = 0; i < inside; i++) {
		uint32_t port = topo_port(p->of->config.topo, gpu[i], peer);
		ports += port != last;
		last = port;
	}
	return ports;
}

/*
 * Adds an all-reduce of members on several nodes to the loads, like the executor's algorithm `auto`: one ring, or one ring for
 * each NIC that the members of a node use. Rates are the share of the NIC's rate that collectives reach. Returns the sum of the
 * latencies of its rounds.
 */
static double book_ring(struct orr_plan *p, const uint32_t *gpu, uint32_t n, double bytes)
{
	const struct topo *t = p->of->config.topo;
	uint32_t inside = members_inside(p, gpu, n), rings = ports_of(p, gpu, inside, gpu[n - 1]);
	double share = 2 * (n - 1.) / n * bytes / rings / (rings > 1 ? p->step->nic_efficiency : 1), latency = 0;
	for (uint32_t i = 0; i < n; i++) {
		bool is_across = topo_node(t, gpu[i]) != topo_node(t, gpu[(i + 1) % n]);
		if (!is_across || rings == 1)
			latency = fmax(latency, book(p, gpu[i], gpu[(i + 1) % n], is_across ? share : share * rings));
		for (uint32_t k = 0; is_across && rings > 1 && k < rings; k++) {
			uint32_t at = k * inside / rings, from = i + 1 > inside ? i + 1 - inside + at : at;
			latency = fmax(latency, book(p, gpu[from], gpu[(i + 1 + at) % n], share));
		}
	}
	return 2 * (n - 1.) * latency;
}

double network_sum_s(struct orr_plan *p, const struct orr_plan_stage *x, double bytes)
{
	uint32_t t = stage_shards(x), n = stage_groups(x);
	if (n < 2 || !(bytes > 0))
		return 0;
	uint32_t *ring = mem_alloc(n * sizeof *ring);
	double latency = 0, inside = 0;
	bool is_inside = true;
	for (uint32_t k = 0; k < t; k++) {
		for (uint32_t g = 0; g < n; g++)
			ring[g] = x->gpu[g * t + k];
		if (is_one_node(p, ring, n)) {
			inside = fmax(inside, inside_s(p, ring, n, bytes));
			continue;
		}
		is_inside = false;
		latency = fmax(latency, book_ring(p, ring, n, bytes));
	}
	mem_free(ring);
	return fmax(inside, is_inside ? 0 : latency + take_loads(p));
}

double network_ends_s(struct orr_plan *p, const struct orr_plan_stage *a, const struct orr_plan_stage *b, bool is_grid, double bytes)
{
	uint32_t n = a->n_gpus + b->n_gpus, *ring = mem_alloc(n * sizeof *ring);
	double latency = 0, inside = 0;
	for (uint32_t k = 0; k < a->n_gpus && is_grid; k++) {
		uint32_t pair[] = { a->gpu[k], b->gpu[k] };
		if (is_one_node(p, pair, 2))
			inside = inside_s(p, pair, 2, bytes);
		else
			latency = fmax(latency, book_ring(p, pair, 2, bytes));
	}
	memcpy(ring, a->gpu, a->n_gpus * sizeof *ring);
	memcpy(ring + a->n_gpus, b->gpu, b->n_gpus * sizeof *ring);
	if (!is_grid && is_one_node(p, ring, n))
		inside = inside_s(p, ring, n, bytes);
	else if (!is_grid)
		latency = book_ring(p, ring, n, bytes);
	mem_free(ring);
	return fmax(inside, latency + take_loads(p));
}

double network_shards_s(struct orr_plan *p, const struct orr_plan_stage *x, uint32_t group, double bytes)
{
	uint32_t t = stage_shards(x), n = stage_groups(x);
	double latency = 0;
	if (t < 2 || !(bytes > 0))
		return 0;
	if (is_one_node(p, x->gpu + group * t, t))
		return inside_s(p, x->gpu + group * t, t, bytes);
	for (uint32_t g = 0; g < n; g++)
		latency = fmax(latency, book_ring(p, x->gpu + g * t, t, bytes));
	return latency + take_loads(p);
}

double network_ring_s(const struct orr_plan *p, const uint32_t *gpu, uint32_t n, double bytes, uint32_t rings)
{
	const struct topo *t = p->of->config.topo;
	if (n < 2 || !(bytes > 0))
		return 0;
	if (is_one_node(p, gpu, n))
		return inside_s(p, gpu, n, bytes);
	double B = INFINITY, latency = 0;
	*p->uses |= PLAN_USED_MESSAGES | PLAN_USED_NETWORK;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t a = gpu[i], b = gpu[(i + 1) % n];
		bool is_across = topo_node(t, a) != topo_node(t, b);
		B = fmin(B, topo_bandwidth(t, a, b) / (is_across && rings > 1 ? rings : 1));
		latency = fmax(latency, topo_latency(t, a, b));
	}
	struct coll_shape s = { .op = ORR_ALL_REDUCE, .algorithm = ORR_RING, .n = n, .bytes = bytes };
	return coll_time_s(&s, latency, B, latency, B);
}

/* ---- the interface ---- */

double orr_plan_transfer_s(const struct orr_plan *p, uint32_t from, uint32_t to, double bytes)
{
	const struct topo *t = p->of->config.topo;
	if (from == to || from >= p->facts.gpus || to >= p->facts.gpus)
		return 0;
	*p->uses |= PLAN_USED_MESSAGES | (topo_node(t, from) != topo_node(t, to) ? PLAN_USED_NETWORK : 0);
	return topo_latency(t, from, to) + bytes / topo_bandwidth(t, from, to);
}

double orr_plan_all_reduce_s(const struct orr_plan *p, const uint32_t *gpu, uint32_t n, double bytes, uint32_t rings)
{
	for (uint32_t i = 0; i < n; i++)
		if (gpu[i] >= p->facts.gpus)
			return INFINITY;
	return network_ring_s(p, gpu, n, bytes, rings);
}

void orr_plan_gpu(const struct orr_plan *p, uint32_t gpu, struct orr_plan_gpu *out)
{
	*out = (struct orr_plan_gpu){ 0 };
	if (gpu >= p->facts.gpus)
		return;
	out->type = p->type_of[gpu];
	out->node = orr_node_of(p->step, gpu);
	out->memory_bytes = orr_device_memory(p->step, gpu);
}
