/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Closed forms: time in s of each collective on an idle network, for M bytes, n ranks, latency a and bandwidth B. Each is the
 * sum over the phases of its plan. Sources: those of the algorithms (collective.c, collective_tree.c) and docs/models/net.md.
 */
#include "net/collective_plan.h"

#include <math.h>

struct wire {
	double a, B;
};

/* Returns the time of `rounds` sequential messages of `bytes`, s. */
static double rounds_s(struct wire w, double rounds, double bytes)
{
	return rounds * (w.a + bytes / w.B);
}

static double ring_s(const struct coll_shape *s, struct wire w)
{
	double n = s->n, k = coll_chunks(s);
	if (s->op == ORR_BROADCAST || s->op == ORR_REDUCE)
		return rounds_s(w, k + n - 2, s->bytes / k);
	return rounds_s(w, s->op == ORR_ALL_REDUCE ? 2 * (n - 1) : n - 1, s->bytes / n);
}

static double halving_doubling_s(const struct coll_shape *s, struct wire w)
{
	double log2n = floor_log2(s->n), p = ldexp(1, (int)log2n);
	double half = log2n * w.a + (p - 1) / p * s->bytes / w.B; /* one scatter or gather */
	if (s->op == ORR_ALL_REDUCE)
		return 2 * half + (p < s->n ? 2 * (w.a + s->bytes / w.B) : 0);
	return s->op == ORR_BROADCAST || s->op == ORR_REDUCE ? 2 * half : half;
}

static double double_tree_s(const struct coll_shape *s, struct wire w)
{
	double rounds, loads, k = coll_chunks(s);
	bool is_all = s->op == ORR_ALL_REDUCE;
	double_tree_rounds(s->n, !is_all, (uint32_t)k, &rounds, &loads);
	return (is_all ? 2 : 1) * (rounds * w.a + loads * s->bytes / (2 * k) / w.B);
}

static double hierarchical_s(const struct coll_shape *s, struct wire w, struct wire inside)
{
	double m = s->inner, islands = s->n / m, k = coll_chunks(s);
	double both = s->op == ORR_ALL_REDUCE ? 2 : 1;
	if (!s->leader || s->op != ORR_ALL_REDUCE)
		return both * (rounds_s(inside, m - 1, s->bytes / m) + rounds_s(w, islands - 1, s->bytes / s->n));
	return 2 * rounds_s(w, islands - 1, s->bytes / islands) + (m > 1 ? 2 * rounds_s(inside, k + m - 2, s->bytes / k) : 0);
}

/* Returns the time of a ring per NIC. Per round, a NIC carries one piece, and a link inside an island carries the pieces of all
 * rings: the message that leaves the island shares the sender's link with the message to its neighbour. */
static double multi_ring_s(const struct coll_shape *s, struct wire w, struct wire inside)
{
	double n = s->n, k = s->rings ? s->rings : s->inner, piece = s->bytes / (n * k), late = multi_ring_late_rounds(s);
	double inner_round = s->inner > 1 ? inside.a + k * piece / inside.B : 0;
	double stage = late * fmax(w.a + piece / w.B, inner_round) + (n - 1 - late) * fmax(piece / w.B, inner_round);
	return (s->op == ORR_ALL_REDUCE ? 2 : 1) * stage;
}

/*
 * Returns the time of multi-trees. The reduction and the broadcast take equally long. In each, the chunks first pass through
 * the islands. Then (c + depth - 1) rounds over the trees of the islands follow: the busiest NIC carries `loads` chunks, and a
 * link inside an island carries a chunk of every tree. The rounds before are charged as if the links inside islands were
 * equally busy.
 */
static double multi_tree_s(const struct coll_shape *s, struct wire w, struct wire inside)
{
	double islands = s->n / s->inner, trees = 2. * coll_rings(s), c = coll_chunks(s), piece = s->bytes / trees / c;
	bool is_star = s->algorithm == ORR_NVLS_TREE;
	double fill = is_star ? s->inner > 1 : s->inner - 1, rounds = c, loads = 0, depth = 0;
	double busy = s->inner > 1 ? trees * piece / inside.B * (is_star ? (s->inner - 1.) / s->inner : 1) : 0;
	if (islands > 1) {
		double_tree_rounds((uint32_t)islands, false, (uint32_t)c, &rounds, &loads);
		depth = rounds - c + 1;
	} else {
		fill -= 1; /* the last of these rounds coincides with the first of the c rounds */
		depth = s->inner > 1;
		w = inside;
	}
	return 2 * (fill * (inside.a + busy) + depth * w.a + fmax(loads * piece / w.B, rounds * busy));
}

/* Returns the time of unequal messages: the time of the busiest link of a rank, in or out, inside and outside its island. */
static double unequal_s(const struct coll_shape *s, struct wire w, struct wire inside)
{
	const struct coll_messages *x = s->messages;
	uint32_t n = x->n, m = s->inner > 1 ? s->inner : 1;
	double longest = 0, latency = 0;
	if (m == n) {
		w = inside;
		m = 1;
	}
	for (uint32_t r = 0; r < n; r++) {
		double out[2] = { 0 }, in[2] = { 0 };
		for (uint32_t o = 0; o < n; o++) {
			out[o / m == r / m] += o == r ? 0 : x->bytes[(size_t)r * n + o];
			in[o / m == r / m] += o == r ? 0 : x->bytes[(size_t)o * n + r];
		}
		longest = fmax(longest, fmax(fmax(out[0], in[0]) / w.B, m > 1 ? fmax(out[1], in[1]) / inside.B : 0));
		latency = fmax(latency, out[0] > 0 ? w.a : m > 1 && out[1] > 0 ? inside.a : 0);
	}
	return longest > 0 ? x->start_s + latency + longest : 0;
}

static double direct_s(const struct coll_shape *s, struct wire w, struct wire inside)
{
	if (s->messages)
		return unequal_s(s, w, inside);
	double n = s->n, m = s->inner;
	if (s->op == ORR_ALL_TO_ALL && s->inner > 1 &&
		s->inner < s->n) /* shares of a rank in the NICs, and in its link inside the island */
		return fmax(w.a + (n - m) / n * s->bytes / w.B, inside.a + (m - 1) / n * s->bytes / inside.B);
	if (s->op == ORR_BROADCAST || s->op == ORR_REDUCE)
		return w.a + (n - 1) * s->bytes / w.B;
	return (s->op == ORR_ALL_REDUCE ? 2 : 1) * (w.a + (n - 1) / n * s->bytes / w.B);
}

double coll_time_s(
	const struct coll_shape *shape, double latency_s, double bandwidth_Bps, double inner_latency_s, double inner_bandwidth_Bps)
{
	struct coll_shape s = *shape;
	struct wire w = { latency_s, bandwidth_Bps };
	if (s.n < 2)
		return 0;
	s.algorithm = coll_usable(s.op, s.algorithm, s.n);
	coll_name_leader(&s);
	switch (s.algorithm) {
	case ORR_HALVING_DOUBLING:
		return halving_doubling_s(&s, w);
	case ORR_DOUBLE_TREE:
		return double_tree_s(&s, w);
	case ORR_HIERARCHICAL:
		return s.inner ? hierarchical_s(&s, w, (struct wire){ inner_latency_s, inner_bandwidth_Bps }) : NAN;
	case ORR_MULTI_RING:
		return s.inner ? multi_ring_s(&s, w, (struct wire){ inner_latency_s, inner_bandwidth_Bps }) : NAN;
	case ORR_MULTI_TREE:
	case ORR_NVLS_TREE:
		return s.inner ? multi_tree_s(&s, w, (struct wire){ inner_latency_s, inner_bandwidth_Bps }) : NAN;
	case ORR_DIRECT:
		return direct_s(&s, w, (struct wire){ inner_latency_s, inner_bandwidth_Bps });
	default:
		return ring_s(&s, w);
	}
}
