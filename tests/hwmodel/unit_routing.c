/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Routing to experts. Expected values: the hypergeometric law, computed here from products; sums over all sets of small cases; the
 * example in the README of deepseek-ai/EPLB; Zipf shares by hand.
 */
#include "hwmodel/routing.h"
#include "tests/tap.h"

#include <stdlib.h>

static struct orr_routing_terms terms(uint32_t experts, uint32_t k, uint32_t groups, uint32_t top, uint32_t ranks, uint32_t per_node)
{
	return (struct orr_routing_terms){
		.experts = experts, .top_k = k, .groups = groups, .top_groups = top, .ranks = ranks, .per_node = per_node
	};
}

/* G (1 - C(E - E/G, k) / C(E, k)): distinct places of k of E experts on G equal places. */
static double distinct(double E, double k, double G)
{
	double none = 1;
	for (double i = 0; i < k; i++)
		none *= (E - E / G - i) / (E - i);
	return G * (1 - none);
}

static void check_uniform(void)
{
	static const struct {
		struct orr_routing_terms t;
		double nodes, ranks; /* by hand, with `inside` experts on the nodes that are used */
		const char *what;
	} cases[] = {
		{ { 256, 8, 8, 4, NULL, 0, 64, 8, 0, ORR_PLACE_AUTO, 0 }, 3.629, 7.359, "256 experts, 4 of 8 nodes" },
		{ { 256, 8, 1, 1, NULL, 0, 64, 8, 0, ORR_PLACE_AUTO, 0 }, 5.295, 0, "8 nodes without a limit" },
		{ { 256, 8, 1, 1, NULL, 0, 128, 8, 0, ORR_PLACE_AUTO, 0 }, 6.523, 0, "16 nodes without a limit" },
		{ { 256, 8, 4, 4, NULL, 0, 32, 8, 0, ORR_PLACE_AUTO, 0 }, 3.614, 0, "4 of 4 nodes" },
	};
	struct orr_error err = { 0 };
	struct routing r;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (routing_new(&cases[i].t, &r, &err)) {
			ok(false, "%s: %s", cases[i].what, err.text);
			continue;
		}
		ok(fabs(r.distinct_nodes - cases[i].nodes) < 5e-4, "%s: %.5f nodes", cases[i].what, r.distinct_nodes);
		if (cases[i].ranks > 0)
			ok(fabs(r.distinct_ranks - cases[i].ranks) < 5e-4, "%s: %.5f GPUs", cases[i].what, r.distinct_ranks);
		ok(fabs(r.imbalance - 1) < 1e-12, "%s: balanced", cases[i].what);
		routing_free(&r);
	}
	for (uint32_t E = 16; E <= 512; E *= 2)
		for (uint32_t k = 1; k <= 10; k += 3) {
			struct orr_routing_terms t = terms(E, k, 1, 1, 16, 4), u = terms(E, k, 4, 2, 8, 2);
			double nodes = NAN, limited = NAN;
			if (!routing_new(&t, &r, &err)) {
				nodes = r.distinct_nodes;
				near_to(r.distinct_ranks, distinct(E, k, 16), 1e-12, "GPUs: hypergeometric");
				routing_free(&r);
			}
			near_to(nodes, distinct(E, k, 4), 1e-12, "nodes: hypergeometric");
			if (k <= E / 2 && !routing_new(&u, &r, &err)) {
				limited = r.distinct_nodes;
				routing_free(&r);
				near_to(limited, distinct(E / 2., k, 2), 1e-12,
					"a group per node: hypergeometric within the chosen groups");
			}
		}
}

/* ---- all sets of a small case ---- */

static double choose(int n, int k)
{
	double c = 1;
	for (int i = 0; i < k; i++)
		c = c * (n - i) / (i + 1);
	return k < 0 || k > n ? 0 : c;
}

/* Sums over all sets: a set has the product of its weights for each choice of groups that contains it. */
static void check_sets(struct orr_routing_terms t, const char *what)
{
	struct orr_error err = { 0 };
	struct routing r;
	double all = 0, *pairs = calloc(t.experts, sizeof *pairs), *rank = calloc(t.ranks, sizeof *rank);
	double node[64] = { 0 }, worst_pairs = 0, worst_rank = 0, worst_node = 0;
	if (routing_new(&t, &r, &err)) {
		ok(false, "%s: %s", what, err.text);
		free(pairs);
		free(rank);
		return;
	}
	for (uint32_t set = 0; set < 1u << t.experts; set++) {
		uint32_t groups = 0, ranks = 0, nodes = 0;
		double w = 1;
		if ((uint32_t)__builtin_popcount(set) != t.top_k)
			continue;
		for (uint32_t e = 0; e < t.experts; e++)
			if (set >> e & 1) {
				uint32_t at = e * t.ranks / t.experts;
				w *= r.weight[e];
				groups |= 1u << e / (t.experts / t.groups);
				ranks |= 1u << at;
				nodes |= 1u << at / t.per_node;
			}
		int d = __builtin_popcount(groups);
		w *= choose((int)t.groups - d, (int)t.top_groups - d);
		all += w;
		for (uint32_t e = 0; e < t.experts; e++)
			pairs[e] += set >> e & 1 ? w : 0;
		for (uint32_t i = 0; i < t.ranks; i++)
			rank[i] += ranks >> i & 1 ? w : 0;
		for (uint32_t i = 0; i < r.nodes; i++)
			node[i] += nodes >> i & 1 ? w : 0;
	}
	for (uint32_t e = 0; e < t.experts; e++)
		worst_pairs = fmax(worst_pairs, fabs(pairs[e] / all - r.pairs[e]));
	for (uint32_t i = 0; i < t.ranks; i++)
		worst_rank = fmax(worst_rank, fabs(rank[i] / all - r.rank_visits[i]));
	for (uint32_t i = 0; i < r.nodes; i++)
		worst_node = fmax(worst_node, fabs(node[i] / all - r.node_visits[i]));
	ok(worst_pairs < 1e-9, "%s: the law has the given loads (%g)", what, worst_pairs);
	ok(worst_rank < 1e-12 && worst_node < 1e-12, "%s: visits of GPUs and nodes (%g, %g)", what, worst_rank, worst_node);
	routing_free(&r);
	free(pairs);
	free(rank);
}

static void check_loads(void)
{
	static const double load[12] = { 5, 1, 2, 3, 1, 1, 4, 2, 2, 1, 3, 2 }, some[12] = { 1, 0, 2, 1, 1, 0, 3, 1, 1, 1, 1, 1 },
			    last[12] = { 4, 1, 2, 1, 3, 1, 3, 1, 2, 1, 1, 0 };
	struct orr_routing_terms t = terms(12, 3, 1, 1, 6, 2);
	check_sets(t, "equal loads");
	t.skew = 1;
	check_sets(t, "Zipf 1");
	t.load = load;
	check_sets(t, "given loads");
	t.load = some;
	check_sets(t, "loads of 0");
	t.load = last;
	check_sets(t, "no load on the last expert");
	t = terms(12, 3, 4, 2, 6, 2);
	check_sets(t, "equal loads, 2 of 4 groups, that straddle GPUs");
	t.skew = 0.7;
	check_sets(t, "Zipf 0.7, 2 of 4 groups");
	t = terms(8, 2, 1, 1, 8, 4);
	t.skew = 2;
	check_sets(t, "Zipf 2: an expert that nearly every token uses");
	t = terms(12, 4, 3, 2, 3, 1);
	t.load = load;
	check_sets(t, "given loads, a group per node");
}

/* Zipf s over E experts, contiguous: the busiest GPU has the first E/R. */
static void check_zipf(void)
{
	struct orr_error err = { 0 };
	struct routing r;
	double before = 1;
	/* Up to an exponent of 0.75 no expert has a probability above 1. */
	for (double s = 0.25; s < 0.8; s += 0.25) {
		struct orr_routing_terms t = terms(256, 8, 1, 1, 64, 8);
		double first = 0, all = 0;
		t.skew = s;
		for (int e = 1; e <= 256; e++) {
			all += pow(e, -s);
			first += e <= 4 ? pow(e, -s) : 0;
		}
		if (routing_new(&t, &r, &err)) {
			ok(false, "%s", err.text);
			continue;
		}
		near_to(r.imbalance, 64 * first / all, 1e-12, "imbalance by Zipf's shares");
		ok(r.imbalance > before, "it grows with the exponent");
		before = r.imbalance;
		routing_free(&r);
		t.placement = ORR_PLACE_BALANCED;
		double balanced = routing_new(&t, &r, &err) ? NAN : r.imbalance, copied = NAN;
		routing_free(&r);
		t.copies = 64;
		copied = routing_new(&t, &r, &err) ? NAN : r.imbalance;
		routing_free(&r);
		ok(balanced < before && copied < balanced && copied >= 1, "balanced %.3f, with 64 copies %.3f", balanced, copied);
	}
}

/* README of deepseek-ai/EPLB: 12 experts in 4 groups, 16 slots, 2 nodes, 8 GPUs. */
static void check_balancer(void)
{
	static const double load[2][12] = { { 90, 132, 40, 61, 104, 165, 39, 4, 73, 56, 183, 86 },
		{ 20, 107, 104, 64, 19, 197, 187, 157, 172, 86, 16, 27 } };
	static const uint32_t slots[2][16] = { { 5, 6, 5, 7, 8, 4, 3, 4, 10, 9, 10, 2, 0, 1, 11, 1 },
		{ 7, 10, 6, 8, 6, 11, 8, 9, 2, 4, 5, 1, 5, 0, 3, 1 } };
	struct orr_error err = { 0 };
	for (int layer = 0; layer < 2; layer++) {
		struct orr_routing_terms t = terms(12, 2, 4, 4, 8, 4);
		struct routing r;
		uint32_t wrong = 0;
		t.load = load[layer];
		t.copies = 4;
		if (routing_new(&t, &r, &err)) {
			ok(false, "%s", err.text);
			continue;
		}
		/* The README lists the experts of GPU g at 2g and 2g + 1. */
		for (uint32_t g = 0; g < 8; g++) {
			int sum[12] = { 0 };
			for (uint32_t i = 0; i < 16; i++)
				if (r.rank[i] == g)
					sum[r.expert[i]]++;
			sum[slots[layer][2 * g]]--;
			sum[slots[layer][2 * g + 1]]--;
			for (int e = 0; e < 12; e++)
				wrong += sum[e] != 0;
		}
		ok(!wrong, "layer %d: the balancer's placement", layer);
		near_to(r.rank_pairs[0] + r.rank_pairs[1] + r.rank_pairs[2] + r.rank_pairs[3] + r.rank_pairs[4] + r.rank_pairs[5] +
				r.rank_pairs[6] + r.rank_pairs[7],
			2, 1e-12, "every pair is computed once");
		routing_free(&r);
	}
}

static void check_draws(void)
{
	struct orr_error err = { 0 };
	struct routing_sample x;
	struct routing r;
	struct rng rng;
	struct orr_routing_terms t = terms(256, 8, 8, 4, 64, 8);
	double pairs[256], worst = 0;
	x.pairs = pairs;
	for (int skewed = 0; skewed < 2; skewed++) {
		t.skew = 0.5 * skewed;
		t.copies = skewed ? 64 : 0;
		if (routing_new(&t, &r, &err)) {
			ok(false, "%s", err.text);
			continue;
		}
		rng_init(&rng, 7, "routing", 0);
		routing_draw(&r, 100000, &rng, &x);
		ok(fabs(x.distinct_nodes / r.distinct_nodes - 1) < 0.01, "100 000 tokens: %.4f nodes, expected %.4f", x.distinct_nodes,
			r.distinct_nodes);
		ok(fabs(x.distinct_ranks / r.distinct_ranks - 1) < 0.01, "%.4f GPUs, expected %.4f", x.distinct_ranks, r.distinct_ranks);
		for (int e = 0; e < 256; e++)
			worst = fmax(worst, fabs(pairs[e] - r.pairs[e]) / sqrt(r.pairs[e] * (1 - r.pairs[e]) / 1e5));
		ok(worst < 5, "loads of experts within 5 standard errors (%.2f)", worst);
		routing_free(&r);
	}
}

/* Capacity 1.5: experts above 1.5 x the mean lose the rest. */
static void check_capacity(void)
{
	static const double load[4] = { 4, 2, 1, 1 };
	struct orr_error err = { 0 };
	struct routing r;
	struct orr_routing_terms t = terms(4, 1, 1, 1, 4, 2);
	t.load = load;
	t.capacity = 1.5;
	if (routing_new(&t, &r, &err)) {
		ok(false, "%s", err.text);
		return;
	}
	near_to(r.dropped, 0.5 - 0.375, 1e-12, "a capacity of 1.5 drops 1/8 of the pairs");
	near_to(r.rank_pairs[0], 0.375, 1e-12, "and the busiest GPU has 1.5 x the mean");
	near_to(r.rank_visits[0], 0.375, 1e-9, "dropped pairs are not sent");
	routing_free(&r);
}

/* 4 GPUs on 2 nodes, 4 experts, 2 per token: messages of 1 byte per token, by hand. P(GPU) = 1/2; P(node) = 1 - 1/6. */
static void check_messages(void)
{
	struct orr_error err = { 0 };
	struct routing r;
	struct orr_routing_terms t = terms(4, 2, 1, 1, 4, 2);
	double m[16], c[16];
	if (routing_new(&t, &r, &err)) {
		ok(false, "%s", err.text);
		return;
	}
	routing_messages(&r, ORR_EXPERT_PER_NODE, 12, false, m);
	near_to(m[0 * 4 + 2], 10, 1e-12, "a token crosses to the other node with probability 5/6");
	near_to(m[0 * 4 + 1], 12, 1e-12, "and tokens of two nodes are passed on with probability 1/2");
	ok(m[0 * 4 + 3] == 0 && m[0] == 0, "nothing goes to another GPU of the other node");
	routing_messages(&r, ORR_EXPERT_PER_NODE, 12, true, c);
	ok(c[2 * 4 + 0] == m[0 * 4 + 2] && c[1 * 4 + 0] == m[0 * 4 + 1], "a combine returns the same bytes");
	routing_messages(&r, ORR_EXPERT_PER_EXPERT, 12, false, m);
	near_to(m[1] + m[2] + m[3], 12 * 2 * 0.75, 1e-12, "once per expert: 3/4 of the pairs leave the GPU");
	routing_free(&r);
}

static void check_errors(void)
{
	static const double few[4] = { 1, 0, 0, 0 }, negative[4] = { 1, -1, 1, 1 };
	static const double lumpy[8] = { 1, 0, 0, 0, 1, 0, 0, 0 };
	struct orr_routing_terms bad[] = { terms(4, 0, 1, 1, 4, 2), terms(4, 2, 3, 1, 4, 2), terms(4, 2, 2, 3, 4, 2),
		terms(4, 3, 2, 1, 4, 2), terms(4, 2, 1, 1, 6, 4), terms(4, 2, 1, 1, 8, 4), terms(4, 2, 1, 1, 4, 0), terms(4, 2, 1, 1, 4, 2),
		terms(4, 2, 1, 1, 4, 2), terms(8, 2, 2, 1, 4, 2), terms(8, 2, 1, 1, 4, 2) };
	struct routing r;
	bad[7].load = few;
	bad[8].load = negative;
	bad[9].load = lumpy;
	bad[10].copies = 2;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct orr_error err = { 0 };
		int rc = routing_new(&bad[i], &r, &err);
		ok(rc == ORR_EINPUT && strstr(err.text, "expected"), "refused: %s", err.text);
		routing_free(&r);
	}
	static const struct {
		const char *text;
		const char *error;
	} files[] = { { "1 2,3\n4 # end\n", NULL }, { "1 2\n3 x\n", "f:2: expected a number of at least 0, found \"x\"" },
		{ "1 2 3", "expected 4 numbers" }, { "1 2 3 4 5", "found 5" }, { "1 2 -3 4", "found \"-3\"" }, { "", "found 0" } };
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct orr_error err = { 0 };
		double out[4];
		int rc = routing_read_loads("f", files[i].text, strlen(files[i].text), 4, out, &err);
		ok(files[i].error ? rc && strstr(err.text, files[i].error) : !rc && out[3] == 4, "loads of a file: %s",
			rc ? err.text : "read");
	}
}

int main(void)
{
	check_uniform();
	check_loads();
	check_zipf();
	check_balancer();
	check_draws();
	check_capacity();
	check_messages();
	check_errors();
	return done();
}
