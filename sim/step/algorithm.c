/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Algorithms of collectives: islands, rings for each NIC, and the choice of step.algorithm=auto (docs/models/net.md). */
#include "step/world.h"

#include <string.h>

/* Returns the largest m such that ranks 0..m-1, m..2m-1, .. share a node each. */
static uint32_t island_of(const struct orr_step *s, const uint32_t *device, uint32_t n)
{
	uint32_t m = 0, run = 0;
	for (uint32_t i = 0; i < n && m != 1; i++) {
		run++;
		if (i + 1 < n && s->node_of[device[i + 1]] == s->node_of[device[i]])
			continue;
		for (uint32_t rest; run; run = rest) { /* greatest common divisor */
			rest = m % run;
			m = run;
		}
	}
	return m;
}

/* Returns the number of NICs that the members of each node use, if these are runs of equal length in each island of m members; else
 * 1. */
static uint32_t rings_of(const struct orr_step *s, const uint32_t *device, uint32_t n, uint32_t m)
{
	const struct topo *t = s->config->topo;
	uint32_t run = 1;
	if (m < 2 || m == n || topo_nics(t) < 2)
		return 1;
	while (run < m && topo_port(t, device[run], device[m]) == topo_port(t, device[0], device[m]))
		run++;
	if (m % run)
		return 1;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t peer = device[(i + m) % n], nic = topo_port(t, device[i], peer);
		bool is_first = i % run == 0;
		if (!is_first && nic != topo_port(t, device[i - 1], peer))
			return 1;
		for (uint32_t j = i - i % m; is_first && j < i; j++)
			if (topo_port(t, device[j], peer) == nic)
				return 1;
	}
	return m / run;
}

/* Returns the factor on the bytes of messages inside an island of a per-NIC algorithm. With this factor a GPU's link has the bus
 * bandwidth that was published for a node. 1 if the network states the GPUs' links itself. */
static double inner_stretch(const struct orr_step *s, const uint32_t *real, const struct coll_shape *shape)
{
	uint32_t m = shape->inner;
	const struct device *d = coll_is_per_nic(shape->algorithm) && m > 1 ? device_beside(s, real, m) : NULL;
	if (d && shape->algorithm == ORR_NVLS_TREE && d->nvls_Bps > 0) /* a link carries (m + 1) / m of the bytes */
		return d->link_Bps / inside_switch_Bps(d) * (m + 1.) / (2. * (m - 1));
	return d && d->allreduce_Bps > 0 ? d->link_Bps / inside_bus_Bps(d, m) : 1;
}

double collective_idle_s(const struct orr_step *s, const uint32_t *real, const struct coll_shape *shape)
{
	const struct topo *t = s->config->topo;
	uint32_t last = real[shape->inner - 1], next = real[shape->inner];
	double e = shape->rings > 1 ? s->nic_efficiency : 1;
	double a = shape->is_tree_timed ? shape->hop_s : topo_latency(t, last, next);
	double inner = shape->is_tree_timed ? shape->hop_s : topo_latency(t, real[0], real[1]);
	double stretch = shape->inner_stretch > 0 ? shape->inner_stretch : 1;
	return coll_time_s(shape, a, e * topo_bandwidth(t, last, next), inner, topo_bandwidth(t, real[0], real[1]) / stretch);
}

static struct coll_shape shape_of(const struct orr_step *s, const struct coll *c, const uint32_t *real, enum orr_collective_algorithm a)
{
	struct coll_shape shape = { .op = c->what.op,
		.algorithm = a,
		.n = c->n,
		.bytes = c->what.bytes,
		.root = c->what.root,
		.inner = c->what.inner,
		.chunks = c->what.chunks,
		.messages = s->exchange };
	coll_name_leader(&shape);
	bool is_per_nic = coll_is_per_nic(shape.algorithm) || (shape.op == ORR_ALL_TO_ALL && a == ORR_DIRECT);
	if (shape.algorithm != ORR_HIERARCHICAL && !is_per_nic)
		shape.inner = 0;
	else if (!shape.inner)
		shape.inner = island_of(s, real, c->n);
	shape.rings = is_per_nic && shape.inner ? rings_of(s, real, c->n, shape.inner) : 0;
	shape.inner_stretch = is_per_nic ? inner_stretch(s, real, &shape) : 0;
	if ((a == ORR_MULTI_TREE || a == ORR_NVLS_TREE) && shape.inner > 1)
		shape.fill_s = shape.bytes / coll_chunks(&shape) * shape.inner_stretch / topo_bandwidth(s->config->topo, real[0], real[1]);
	return shape;
}

/* Returns whether the switches of two nodes with m GPUs each can reduce (NVLink 4 and later). */
static bool both_reduce(const struct orr_step *s, const uint32_t *real, uint32_t m)
{
	const struct device *d = device_beside(s, real, m), *other = device_beside(s, real + m, m);
	return d && other && d->nvls_Bps > 0 && other->nvls_Bps > 0;
}

/* Gives a ring the time of a tree, by the latency of its messages; 0 if the bandwidth alone takes longer. */
static struct coll_shape timed_as(const struct orr_step *s, const uint32_t *real, const struct coll_shape *ring, uint32_t m, double tree_s)
{
	struct coll_shape x = *ring, timed = *ring;
	double low = 0, high = tree_s;
	x.is_tree_timed = true;
	x.inner = x.inner ? x.inner : m; /* a plain ring has no islands, but its hops are these */
	for (int i = 0; i < 60; i++) {
		x.hop_s = low + (high - low) / 2;
		*(collective_idle_s(s, real, &x) < tree_s ? &low : &high) = x.hop_s;
	}
	timed.is_tree_timed = true;
	timed.hop_s = low;
	return timed;
}

/*
 * Chooses a ring, or one ring per NIC. NCCL uses a double tree over the nodes for an all-reduce if that is faster:
 *  - on two nodes whose switches can reduce, the messages of the tree. Elsewhere its bandwidth, twice that of a ring, is not measured.
 *  - on three nodes or more a ring has more bandwidth, and a tree less latency: the messages of the ring, in the time of the tree. Trees
 *    would send many more messages, and load the NICs of different nodes differently.
 */
static struct coll_shape automatic(const struct orr_step *s, const struct coll *c, const uint32_t *real)
{
	uint32_t m = island_of(s, real, c->n), rings = rings_of(s, real, c->n, m);
	enum orr_collective_algorithm a = coll_usable(c->what.op, rings > 1 ? ORR_MULTI_RING : ORR_RING, c->n);
	struct coll_shape ring = shape_of(s, c, real, a);
	bool are_two = c->n == 2 * m;
	if (c->what.op != ORR_ALL_REDUCE || m < 2 || c->n <= m || (are_two && !both_reduce(s, real, m)))
		return ring;
	struct coll c_tree = *c;
	c_tree.what.inner = m;
	struct coll_shape tree = shape_of(s, &c_tree, real, ORR_MULTI_TREE), plain = ring;
	plain.algorithm = ORR_MULTI_RING; /* with one NIC: the same ring, with shorter hops inside a node */
	plain.inner = m;
	plain.rings = rings;
	plain.inner_stretch = tree.inner_stretch;
	double tree_s = collective_idle_s(s, real, &tree);
	if (tree_s >= collective_idle_s(s, real, &plain))
		return ring;
	return are_two ? tree : timed_as(s, real, &ring, m, tree_s);
}

/* Returns whether the times of messages inside an island differ from those of plain messages. */
static bool has_inner_times(const struct coll_shape *s)
{
	return s->inner > 1 && (s->inner_stretch > 0 || s->fill_s > 0);
}

static bool have_same_sends(const struct coll_plan *a, const struct coll_plan *b)
{
	if (a->n_phases != b->n_phases || a->n_sends != b->n_sends)
		return false;
	for (uint32_t i = 0; i < a->n_phases; i++)
		if (memcmp(&a->phase[i], &b->phase[i], sizeof a->phase[i]) != 0)
			return false;
	for (uint32_t i = 0; i < a->n_sends; i++) {
		const struct coll_send *x = &a->send[i], *y = &b->send[i];
		if (x->from != y->from || x->to != y->to || x->bytes < y->bytes || x->bytes > y->bytes || x->follows != y->follows)
			return false;
	}
	return true;
}

/* Returns whether two algorithms send the same messages: multi-ring with one NIC per node is a ring. Times of messages inside an
 * island may differ. */
static bool is_alike(const struct coll_shape *a, const struct coll_shape *b)
{
	if (a->algorithm == b->algorithm && a->leader == b->leader)
		return true;
	struct coll_plan x = { 0 }, y = { 0 };
	bool is_same = !coll_plan(a, &x, NULL) && !coll_plan(b, &y, NULL) && have_same_sends(&x, &y);
	coll_plan_free(&x);
	coll_plan_free(&y);
	return is_same;
}

struct coll_shape collective_shape(struct orr_step *s, const struct coll *c, const uint32_t *real)
{
	if (c->what.algorithm != ORR_ALGORITHM_DEFAULT)
		return shape_of(s, c, real, c->what.algorithm);
	struct coll_shape best = automatic(s, c, real);
	const char *source = inside_shape(s, real, &best);
	if (s->algorithm == ORR_ALGORITHM_DEFAULT) {
		s->inside = source ? source : s->inside;
		return best;
	}
	/* The scenario's algorithm is replaced if it does not support the operation. An algorithm named by the policy is not
	 * replaced. */
	struct coll_shape shape = shape_of(s, c, real, coll_usable(c->what.op, s->algorithm, c->n));
	if (!(*s->uses & STEP_USED_OTHER_SENDS)) {
		bool is_other = !is_alike(&shape, &best), has_times = has_inner_times(&shape) || has_inner_times(&best);
		has_times = has_times && (shape.algorithm != best.algorithm || shape.leader != best.leader);
		*s->uses |= is_other ? STEP_USED_OTHER_SENDS : 0;
		*s->uses |= source || is_other || has_times || best.is_tree_timed ? STEP_USED_ALGORITHM
										  : 0; /* only `auto` uses measured times */
	}
	return shape;
}
