/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages of a plan on an otherwise idle network (docs/models/plan.md, "Messages"): each link carries the bytes of all messages routed
 * over it at its rate; the slowest link determines the time. All-reduces of several stages that share links divide these links fairly.
 */
#include "plan/world.h"

#include "base/mem.h"
#include "net/collective.h"
#include "step/world.h"

#include <math.h>
#include <string.h>

/* ---- loads: seconds by link ---- */

/* Adds a message to the loads of the links of its route; returns its latency. */
static double book(struct orr_plan *p, uint32_t from, uint32_t to, double bytes)
{
	const struct topo *t = p->of->config.topo;
	uint32_t hop[TOPO_MAX_HOPS];
	double latency = 0;
	if (from == to || !(bytes > 0))
		return 0;
	if (!p->load) {
		p->load = mem_zalloc(t->n_links, sizeof *p->load);
		p->users = mem_zalloc(t->n_links, sizeof *p->users);
		p->touched = mem_zalloc(t->n_links, sizeof *p->touched);
	}
	*p->uses |= PLAN_USED_MESSAGES | (topo_node(t, from) != topo_node(t, to) ? PLAN_USED_NETWORK : 0);
	p->flow_bytes = fmax(p->flow_bytes, bytes);
	for (uint32_t i = 0, n = topo_route(t, from, to, 0, hop); i < n; i++) {
		const struct flow_link *link = &t->link[hop[i]].flow;
		if (p->load[hop[i]] <= 0)
			p->touched[p->n_touched++] = hop[i];
		p->load[hop[i]] += fmax(bytes / link->capacity_Bps, 1e-30);
		latency += link->latency_s;
	}
	return latency;
}

static double take_loads(struct orr_plan *p)
{
	double most = 0;
	for (uint32_t i = 0; i < p->n_touched; i++) {
		most = fmax(most, p->load[p->touched[i]]);
		p->load[p->touched[i]] = 0;
	}
	p->n_touched = 0;
	p->flow_bytes = 0;
	return most;
}

/* ---- messages between stages ---- */

/* Moves the loads of links to x. */
static void keep_loads(struct orr_plan *p, struct cut *x)
{
	x->n = p->n_touched;
	x->flow_bytes = p->flow_bytes;
	x->link = mem_alloc(x->n * sizeof *x->link + 1);
	x->load_s = mem_alloc(x->n * sizeof *x->load_s + 1);
	for (uint32_t i = 0; i < x->n; i++) {
		x->link[i] = p->touched[i];
		x->load_s[i] = p->load[p->touched[i]];
	}
}

void network_cut(struct orr_plan *p, const struct orr_plan_stage *from, const struct orr_plan_stage *to, double bytes, struct cut *out)
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
	keep_loads(p, out);
	out->s = latency + take_loads(p) + gather;
}

void cut_free(struct cut *x)
{
	mem_free(x->link);
	mem_free(x->load_s);
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

/* Returns the time inside a node: by the measured law if the executor uses it, else the time of a ring over the links of the GPUs. */
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
 * Adds an all-reduce to the loads if the executor uses trees over the nodes: the NICs of each of the two nodes send and receive the
 * bytes once. Returns the rest of its time, or a negative number if the executor uses rings.
 */
static double book_trees(struct orr_plan *p, const uint32_t *gpu, uint32_t n, double bytes)
{
	uint32_t inside = members_inside(p, gpu, n);
	struct coll c = { .what = { .op = ORR_ALL_REDUCE, .bytes = bytes }, .n = n };
	if (n != 2 * inside || inside < 2)
		return -1;
	struct coll_shape shape = collective_shape(p->step, &c, gpu);
	if (shape.algorithm != ORR_MULTI_TREE)
		return -1;
	uint32_t rings = shape.rings > 1 ? shape.rings : 1;
	double share = bytes / rings / (rings > 1 ? p->step->nic_efficiency : 1);
	double B = topo_bandwidth(p->of->config.topo, gpu[inside - 1], gpu[inside]);
	for (uint32_t k = 0; k < rings; k++) {
		uint32_t a = gpu[k * inside / rings], b = gpu[inside + k * inside / rings];
		book(p, a, b, share);
		book(p, b, a, share);
	}
	return fmax(0, collective_idle_s(p->step, gpu, &shape) - share / B);
}

/* Returns the time of an all-reduce beyond that of its `share` of a NIC, if the executor gives its ring the time of a tree; else < 0. */
static double tree_rest_s(const struct orr_plan *p, const uint32_t *gpu, uint32_t n, double bytes, uint32_t inside, double share)
{
	struct coll c = { .what = { .op = ORR_ALL_REDUCE, .bytes = bytes }, .n = n };
	if (inside < 2 || n <= 2 * inside)
		return -1;
	struct coll_shape shape = collective_shape(p->step, &c, gpu);
	double B = topo_bandwidth(p->of->config.topo, gpu[inside - 1], gpu[inside]);
	shape.inner = shape.inner ? shape.inner : inside; /* whose hops collective_idle_s() looks at */
	return shape.is_tree_timed ? fmax(0, collective_idle_s(p->step, gpu, &shape) - share / B) : -1;
}

/*
 * Adds an all-reduce of members on several nodes to the loads, like the executor's algorithm `auto`: one ring, or one ring for
 * each NIC that the members of a node use. Rates are the share of the NIC's rate that collectives reach. Returns the sum of the
 * latencies of its rounds, or what a tree takes beyond the loads of the ring. is_halved: a reduce-scatter and an all-gather, which
 * always use rings.
 */
static double book_ring(struct orr_plan *p, const uint32_t *gpu, uint32_t n, double bytes, bool is_halved)
{
	const struct topo *t = p->of->config.topo;
	uint32_t inside = members_inside(p, gpu, n), rings = ports_of(p, gpu, inside, gpu[n - 1]);
	double share = 2 * (n - 1.) / n * bytes / rings / (rings > 1 ? p->step->nic_efficiency : 1),
	       latency = is_halved ? -1 : book_trees(p, gpu, n, bytes);
	if (latency >= 0)
		return latency;
	latency = 0;
	for (uint32_t i = 0; i < n; i++) {
		bool is_across = topo_node(t, gpu[i]) != topo_node(t, gpu[(i + 1) % n]);
		if (!is_across || rings == 1)
			latency = fmax(latency, book(p, gpu[i], gpu[(i + 1) % n], is_across ? share : share * rings));
		for (uint32_t k = 0; is_across && rings > 1 && k < rings; k++) {
			uint32_t at = k * inside / rings, from = i + 1 > inside ? i + 1 - inside + at : at;
			latency = fmax(latency, book(p, gpu[from], gpu[(i + 1 + at) % n], share));
		}
	}
	double rest = is_halved ? -1 : tree_rest_s(p, gpu, n, bytes, inside, share);
	return rest >= 0 ? rest : 2 * (n - 1.) * latency;
}

/*
 * Adds the all-reduces of a stage's gradients to the loads; each shard is summed over the groups. bytes: gradients of one GPU.
 * Returns the time of the all-reduces inside one node, or else the latencies of the rounds.
 */
static double book_sum(struct orr_plan *p, const struct orr_plan_stage *x, double bytes, bool is_halved)
{
	uint32_t t = stage_shards(x), n = stage_groups(x);
	double latency = 0;
	if (n < 2 || !(bytes > 0))
		return 0;
	uint32_t *ring = mem_alloc(n * sizeof *ring);
	for (uint32_t k = 0; k < t; k++) {
		for (uint32_t g = 0; g < n; g++)
			ring[g] = x->gpu[g * t + k];
		bool is_inside = is_one_node(p, ring, n);
		latency = fmax(latency, is_inside ? inside_s(p, ring, n, bytes) : book_ring(p, ring, n, bytes, is_halved));
	}
	mem_free(ring);
	return latency;
}

/* The all-reduces of one stage, or its last message. use, load_s: the links that it shares with others, and its seconds on them. */
struct sum {
	double alone_s, left_s, bytes; /* seconds without others, and remaining seconds; bytes of a flow */
	uint32_t *use, uses;
	double *load_s;
	double rate; /* rate relative to the speed without other stages */
	bool is_active, is_frozen;
};

/* Moves the loads of links to x. */
static void take_sum(struct orr_plan *p, double latency, double bytes, struct sum *x)
{
	*x = (struct sum){ .uses = p->n_touched, .bytes = p->n_touched ? p->flow_bytes : bytes };
	x->use = mem_alloc(x->uses * sizeof *x->use + 1);
	x->load_s = mem_alloc(x->uses * sizeof *x->load_s + 1);
	for (uint32_t i = 0; i < x->uses; i++) {
		x->use[i] = p->touched[i];
		x->load_s[i] = p->load[p->touched[i]];
		p->users[x->use[i]]++;
	}
	x->alone_s = x->left_s = latency + take_loads(p);
}

/* Takes the last message of a stage to the stage before it. */
static void take_last(struct orr_plan *p, const struct cut *last, struct sum *x)
{
	*x = (struct sum){ .uses = last->n, .bytes = last->flow_bytes, .alone_s = last->s, .left_s = last->n ? last->s : 0 };
	x->use = mem_alloc(x->uses * sizeof *x->use + 1);
	x->load_s = mem_alloc(x->uses * sizeof *x->load_s + 1);
	for (uint32_t i = 0; i < x->uses; i++) {
		x->use[i] = last->link[i];
		x->load_s[i] = last->load_s[i];
		p->users[x->use[i]]++;
	}
}

/* Keeps the links that several stages use. */
static void keep_shared(struct orr_plan *p, struct sum *x, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t kept = 0;
		for (uint32_t k = 0; k < x[i].uses; k++)
			if (p->users[x[i].use[k]] > 1) {
				x[i].use[kept] = x[i].use[k];
				x[i].load_s[kept++] = x[i].load_s[k];
			} else {
				p->users[x[i].use[k]] = 0;
			}
		x[i].uses = kept;
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < x[i].uses; k++)
			p->users[x[i].use[k]] = 0;
}

/* Returns the seconds of link x->use[k] per second, for each byte/s of the rings' messages. */
static double weight(const struct sum *x, uint32_t k)
{
	return x->load_s[k] / x->bytes;
}

/*
 * Computes max-min fair rates of the active all-reduces (bytes/s). The rates of all rings grow together. A rate stops growing
 * when one of its links is full, or when it reaches its speed without other stages. p->load: used share of a link; need: weight
 * of the growing rates.
 */
static void share_links(struct orr_plan *p, struct sum *x, uint32_t n, double *need)
{
	for (uint32_t left = n; left;) {
		double level = INFINITY;
		left = 0;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < x[i].uses && x[i].is_active && !x[i].is_frozen; k++)
				need[x[i].use[k]] += weight(&x[i], k);
		for (uint32_t i = 0; i < n; i++)
			if (x[i].is_active && !x[i].is_frozen) {
				level = fmin(level, x[i].bytes / x[i].alone_s);
				for (uint32_t k = 0; k < x[i].uses; k++)
					level = fmin(level, fmax(0, 1 - p->load[x[i].use[k]]) / need[x[i].use[k]]);
			}
		for (uint32_t i = 0; i < n; i++) {
			bool is_full = x[i].bytes / x[i].alone_s <= level * (1 + 1e-9);
			if (!x[i].is_active || x[i].is_frozen)
				continue;
			for (uint32_t k = 0; k < x[i].uses && !is_full; k++)
				is_full = (1 - p->load[x[i].use[k]]) / need[x[i].use[k]] <= level * (1 + 1e-9);
			x[i].rate = is_full ? fmin(1, level * x[i].alone_s / x[i].bytes) : -1;
			left += !is_full;
		}
		for (uint32_t i = 0; i < n; i++) {
			for (uint32_t k = 0; k < x[i].uses; k++)
				need[x[i].use[k]] = 0;
			if (!x[i].is_active || x[i].is_frozen || x[i].rate < 0)
				continue;
			x[i].is_frozen = true;
			for (uint32_t k = 0; k < x[i].uses; k++)
				p->load[x[i].use[k]] += x[i].rate * x[i].load_s[k] / x[i].alone_s;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < x[i].uses; k++)
			p->load[x[i].use[k]] = 0;
}

/*
 * Advances all all-reduces x[0..n-1] from their starts to their ends, at rates that change whenever one begins or ends. x[n + i] is the
 * last message of stage i, which begins with its all-reduces; when it has arrived, stage i - 1 has its last backward pass.
 */
static void advance(struct orr_plan *p, struct sum *x, uint32_t n, const struct last *last, double *begin_s, double *end_s)
{
	double *need = mem_zalloc(p->of->config.topo->n_links, sizeof *need);
	for (double now = 0; now < INFINITY;) {
		double next = INFINITY;
		for (uint32_t i = 0; i < 2 * n; i++) {
			x[i].is_active = x[i].left_s > 0 && begin_s[i % n] <= now;
			x[i].is_frozen = false;
			if (x[i].left_s > 0 && !x[i].is_active)
				next = fmin(next, begin_s[i % n]);
		}
		share_links(p, x, 2 * n, need);
		for (uint32_t i = 0; i < 2 * n; i++)
			if (x[i].is_active)
				next = fmin(next, now + x[i].left_s / x[i].rate);
		for (uint32_t i = 0; i < 2 * n && next < INFINITY; i++) {
			x[i].left_s -= x[i].is_active ? (next - now) * x[i].rate : 0;
			if (!x[i].is_active || x[i].left_s > 1e-9 * x[i].alone_s)
				continue;
			x[i].left_s = 0;
			if (i < n)
				end_s[i] = next;
			else
				begin_s[i - n - 1] = fmax(begin_s[i - n - 1], next + last[i - n - 1].backward_s);
		}
		now = next;
	}
	mem_free(need);
	for (uint32_t i = 0; i < n; i++)
		end_s[i] = fmax(end_s[i], begin_s[i]);
}

void network_sums(struct orr_plan *p, const struct orr_plan_stage *stage, uint32_t n, const double *bytes, const struct last *last,
	bool is_halved, double *end_s)
{
	struct sum *x = mem_zalloc(2 * n, sizeof *x);
	double *begin_s = mem_alloc(n * sizeof *begin_s);
	bool is_shared = false;
	for (uint32_t i = 0; i < n; i++)
		take_sum(p, book_sum(p, &stage[i], bytes[i], is_halved), bytes[i], &x[i]);
	for (uint32_t i = 1; i < n; i++)
		take_last(p, &last[i - 1].back, &x[n + i]);
	keep_shared(p, x, 2 * n);
	for (uint32_t i = 0; i < n; i++) {
		begin_s[i] = end_s[i];
		end_s[i] += x[i].alone_s;
		is_shared |= x[i].uses > 0;
	}
	if (is_shared)
		advance(p, x, n, last, begin_s, end_s);
	for (uint32_t i = 0; i < 2 * n; i++) {
		mem_free(x[i].use);
		mem_free(x[i].load_s);
	}
	mem_free(begin_s);
	mem_free(x);
}

double network_ends_s(struct orr_plan *p, const struct orr_plan_stage *a, const struct orr_plan_stage *b, double bytes)
{
	const struct orr_plan_stage *few = a->n_gpus <= b->n_gpus ? a : b, *many = few == a ? b : a;
	uint32_t *ring = mem_alloc((many->n_gpus + 1) * sizeof *ring);
	double latency = 0, inside = 0;
	for (uint32_t g = 0; g < few->n_gpus; g++) {
		uint32_t n = 0;
		ring[n++] = few->gpu[g];
		for (uint32_t k = g; k < many->n_gpus; k += few->n_gpus)
			ring[n++] = many->gpu[k];
		if (is_one_node(p, ring, n))
			inside = fmax(inside, inside_s(p, ring, n, bytes));
		else
			latency = fmax(latency, book_ring(p, ring, n, bytes, false));
	}
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
		latency = fmax(latency, book_ring(p, x->gpu + g * t, t, bytes, false));
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
	out->memory_bytes = orr_arg_bool(p->of->config.options, "ignore_memory") ? INFINITY : orr_device_memory(p->step, gpu);
}
