/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hwmodel/graph_shape.h"

#include "base/mem.h"
#include "base/rng.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

enum { QUANTILES = 4096 };

const char *degree_law_name(size_t law)
{
	static const char *const names[] = { "regular", "poisson", "power" };
	return law < sizeof names / sizeof *names ? names[law] : NULL;
}

static double mean_degree(const struct graph_shape *g)
{
	return g->edges / g->vertices;
}

/* Returns the smallest k with P(degree <= k) >= u. Searches from the normal approximation, which is returned for means above 1e6. */
static double poisson_quantile(double mean, double u)
{
	double k = fmax(0, floor(mean + sqrt(mean) * gsl_cdf_ugaussian_Pinv(u)));
	if (mean > 1e6)
		return k;
	while (k > 0 && gsl_cdf_poisson_P((unsigned)k - 1, mean) >= u)
		k--;
	while (gsl_cdf_poisson_P((unsigned)k, mean) < u)
		k++;
	return k;
}

double graph_degree(const struct graph_shape *g, double u)
{
	double mean = mean_degree(g), d = 0;
	switch (g->law) {
	case DEGREE_REGULAR:
		d = floor(mean) + (u > 1 - (mean - floor(mean)));
		break;
	case DEGREE_POISSON:
		d = poisson_quantile(mean, u);
		break;
	case DEGREE_POWER:
		d = floor(mean * (g->exponent - 2) / (g->exponent - 1) * pow(1 - u, 1 / (1 - g->exponent)) + 0.5);
		break;
	}
	return fmin(d, g->vertices - 1);
}

/*
 * A vertex of degree d has a ghost on a given remote server with probability 1 - (1 - 1/parts)^d, that is, if at least one neighbour is
 * on this server. The mean over the degrees is a sum over quantiles. The quantiles are taken in ten ranges, (0, 0.9), (0.9, 0.99) and so
 * on, to resolve the tail of a power law.
 */
double graph_ghosts_expected(const struct graph_shape *g, uint32_t parts)
{
	double q = 1 - 1. / parts, sum = 0, width = 0.9, from = 0;
	for (int part = 0; part < 10; part++, from += width, width /= 10)
		for (int i = 0; i < QUANTILES; i++)
			sum += width / QUANTILES * (1 - pow(q, graph_degree(g, from + width * (i + 0.5) / QUANTILES)));
	return g->vertices * (parts - 1) * sum;
}

double graph_ghosts_counted(const struct graph_shape *g, uint32_t parts, uint64_t seed)
{
	struct rng r;
	uint32_t *seen = mem_zalloc(parts, sizeof *seen);
	double pairs = 0;
	uint64_t n = (uint64_t)g->vertices;
	rng_init(&r, seed, "graph", 0);
	/* All servers own equally many vertices, so a uniform neighbour is on a uniform server. */
	for (uint64_t v = 0; v < n; v++) {
		uint32_t own = (uint32_t)(v % parts), mark = (uint32_t)(v + 1);
		double degree = graph_degree(g, rng_uniform_pos(&r));
		for (double i = 0; i < degree; i++) {
			uint64_t to = rng_below(&r, n - 1);
			uint32_t at = (uint32_t)((to + (to >= v)) % parts);
			if (at == own || seen[at] == mark)
				continue;
			seen[at] = mark;
			pairs++;
		}
	}
	mem_free(seen);
	return pairs;
}
