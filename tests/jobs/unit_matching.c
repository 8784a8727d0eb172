/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The matching of policies/jobs/matching.h on graphs with a known result, and on random graphs against the greatest weight over all
 * matchings, computed by dynamic programming over sets of vertices.
 */
#include "policies/jobs/matching.h"

#include "base/rng.h"
#include "tests/tap.h"

#include <stdlib.h>

enum { MOST = 12 };

static struct rng rng;

/* Returns the greatest weight of a matching. The best matching of a set leaves its first vertex single, or contains an edge of that vertex.
 */
static int64_t best_of_all(uint32_t n, const int64_t *weight)
{
	static int64_t best[1 << MOST];
	best[0] = 0;
	for (uint32_t set = 1; set < 1u << n; set++) {
		uint32_t first = (uint32_t)__builtin_ctz(set), rest = set & (set - 1);
		best[set] = best[rest];
		for (uint32_t k = first + 1; k < n; k++)
			if (rest >> k & 1 && best[rest & ~(1u << k)] + weight[first * n + k] > best[set])
				best[set] = best[rest & ~(1u << k)] + weight[first * n + k];
	}
	return best[(1u << n) - 1];
}

/* Returns the weight of the edges in mate[], or -1 if it is no matching: a vertex that is not the mate of its mate, or a missing edge. */
static int64_t weight_of(uint32_t n, const int64_t *weight, const uint32_t *mate)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (mate[i] == UINT32_MAX)
			continue;
		if (mate[i] >= n || mate[mate[i]] != i || mate[i] == i || !weight[i * n + mate[i]])
			return -1;
		sum += i < mate[i] ? weight[i * n + mate[i]] : 0;
	}
	return sum;
}

static void set_edge(int64_t *weight, uint32_t n, uint32_t i, uint32_t k, int64_t w)
{
	weight[i * n + k] = weight[k * n + i] = w;
}

static void test_known(void)
{
	uint32_t mate[6];
	int64_t path[16] = { 0 }, pentagon[25] = { 0 }, triangles[36] = { 0 };
	/* The edge in the middle excludes both others. */
	set_edge(path, 4, 0, 1, 5);
	set_edge(path, 4, 1, 2, 9);
	set_edge(path, 4, 2, 3, 5);
	ok(matching_solve(4, path, mate) == 10 && mate[0] == 1 && mate[3] == 2, "a path 5-9-5: the outer edges");
	set_edge(path, 4, 1, 2, 11);
	ok(matching_solve(4, path, mate) == 11 && mate[0] == UINT32_MAX && mate[1] == 2 && mate[3] == UINT32_MAX,
		"a path 5-11-5: the edge in the middle");
	for (uint32_t i = 0; i < 5; i++)
		set_edge(pentagon, 5, i, (i + 1) % 5, 3);
	ok(matching_solve(5, pentagon, mate) == 6 && weight_of(5, pentagon, mate) == 6, "a ring of five: two edges, one vertex is left");
	/* Two triangles joined by an edge: each triangle matches two of its vertices, and the edge the other two. */
	for (uint32_t i = 0; i < 3; i++) {
		set_edge(triangles, 6, i, (i + 1) % 3, 4);
		set_edge(triangles, 6, 3 + i, 3 + (i + 1) % 3, 4);
	}
	set_edge(triangles, 6, 2, 3, 1);
	ok(matching_solve(6, triangles, mate) == 9 && mate[2] == 3 && mate[0] == 1 && mate[4] == 5, "two joined triangles: 4 + 1 + 4");
	ok(matching_solve(0, NULL, NULL) == 0 && matching_solve(1, (const int64_t[]){ 0 }, mate) == 0 && mate[0] == UINT32_MAX,
		"no vertex, and one vertex");
	ok(matching_solve(2, (const int64_t[]){ 0, MATCHING_MOST, MATCHING_MOST, 0 }, mate) == MATCHING_MOST && mate[1] == 0,
		"the largest weight");
}

/* Few distinct weights and few edges give many ties and nested blossoms. */
static void test_random(int graphs)
{
	static const int most[] = { 1, 2, 3, 8, 1000 };
	int wrong = 0, invalid = 0;
	for (int g = 0; g < graphs; g++) {
		uint32_t n = 2 + (uint32_t)rng_below(&rng, MOST - 1), mate[MOST];
		int64_t weight[MOST * MOST] = { 0 };
		double density = 0.15 + 0.85 * rng_uniform(&rng);
		uint64_t least = rng_below(&rng, 2) ? 1 : 10, range = (uint64_t)most[rng_below(&rng, 5)];
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = i + 1; k < n; k++)
				if (rng_uniform(&rng) < density)
					set_edge(weight, n, i, k, (int64_t)(least + rng_below(&rng, range)));
		int64_t got = matching_solve(n, weight, mate), found = weight_of(n, weight, mate);
		wrong += got != best_of_all(n, weight);
		invalid += found != got;
	}
	ok(!wrong, "the greatest weight on %d random graphs of up to %d vertices (%d wrong)", graphs, MOST, wrong);
	ok(!invalid, "the mates are a matching of the returned weight (%d wrong)", invalid);
}

int main(void)
{
	rng_init(&rng, 1, "matching", 0);
	test_known();
	test_random(getenv("ORR_SANITIZED") ? 2000 : 20000);
	return done();
}
