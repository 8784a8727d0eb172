/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Generation of the block graph: classes, edges, features. */
#include "learn/gcn.h"

#include "base/mem.h"
#include "base/rng.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct edges {
	uint32_t (*pair)[2];
	size_t n, cap;
};

static void shuffle(uint32_t *v, uint32_t n, struct rng *r)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = (uint32_t)rng_below(r, i), x = v[i - 1];
		v[i - 1] = v[j];
		v[j] = x;
	}
}

/* Draws a random class for each vertex and the training vertices. Sizes of classes differ by at most 1. */
static void draw_labels(struct gcn_graph *g, double train_share, struct rng *r)
{
	uint32_t n = g->vertices, *order = mem_alloc(n * sizeof *order);
	for (uint32_t i = 0; i < n; i++) {
		g->label[i] = i % g->classes;
		order[i] = i;
	}
	shuffle(g->label, n, r);
	shuffle(order, n, r);
	g->n_training = (uint32_t)(train_share * n + 0.5);
	for (uint32_t i = 0; i < g->n_training; i++)
		g->is_training[order[i]] = true;
	mem_free(order);
}

/* Draws each pair i < j with probability p_in (equal classes) or p_out. Skips to candidate pairs by geometric gaps at the larger
 * probability, and thins the pairs of the smaller one (Batagelj and Brandes, Phys. Rev. E 71, 2005). */
static void draw_edges(const struct gcn_graph *g, double p_in, double p_out, struct edges *e, struct rng *r)
{
	double most = p_in > p_out ? p_in : p_out;
	uint64_t n = g->vertices, i = 0, j = 0;
	while (most > 0) {
		double gap = most < 1 ? floor(log(rng_uniform_pos(r)) / log1p(-most)) : 0;
		if (gap >= (double)n * (double)n)
			return;
		for (j += 1 + (uint64_t)gap; j >= n; j += i + 1) { /* row i has columns i + 1 .. n - 1 */
			j -= n;
			if (++i + 1 >= n)
				return;
		}
		double p = g->label[i] == g->label[j] ? p_in : p_out;
		if (p < most && rng_uniform(r) * most >= p)
			continue;
		MEM_GROW(e->pair, e->n, e->cap);
		e->pair[e->n][0] = (uint32_t)i;
		e->pair[e->n++][1] = (uint32_t)j;
	}
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* Builds A in CSR format, with self-loops and the values 1 / sqrt(d_i d_j). */
static void put_edges(struct gcn_graph *g, const struct edges *e)
{
	uint32_t n = g->vertices;
	g->first = mem_zalloc(n + (size_t)1, sizeof *g->first);
	for (size_t k = 0; k < e->n; k++) {
		g->first[e->pair[k][0] + 1]++;
		g->first[e->pair[k][1] + 1]++;
	}
	for (uint32_t i = 0; i < n; i++)
		g->first[i + 1] += g->first[i] + 1;
	g->neighbour = mem_alloc(g->first[n] * sizeof *g->neighbour);
	g->weight = mem_alloc(g->first[n] * sizeof *g->weight);
	size_t *next = mem_alloc(n * sizeof *next);
	for (uint32_t i = 0; i < n; i++) {
		next[i] = g->first[i];
		g->neighbour[next[i]++] = i;
	}
	for (size_t k = 0; k < e->n; k++) {
		uint32_t a = e->pair[k][0], b = e->pair[k][1];
		g->neighbour[next[a]++] = b;
		g->neighbour[next[b]++] = a;
	}
	mem_free(next);
	for (uint32_t i = 0; i < n; i++) {
		size_t degree = g->first[i + 1] - g->first[i];
		qsort(g->neighbour + g->first[i], degree, sizeof *g->neighbour, by_number);
		for (size_t k = g->first[i]; k < g->first[i + 1]; k++) {
			uint32_t j = g->neighbour[k];
			g->weight[k] = 1 / sqrt((double)degree * (double)(g->first[j + 1] - g->first[j]));
		}
	}
}

static const double *features_of(void *ctx, uint32_t vertex)
{
	const struct gcn_graph *g = ctx;
	return g->x + (size_t)vertex * g->features;
}

static void draw_features(struct gcn_graph *g, double noise, struct rng *r)
{
	size_t n = (size_t)g->classes * g->features;
	double *centre = mem_alloc(n * sizeof *centre);
	for (size_t i = 0; i < n; i++)
		centre[i] = gsl_ran_gaussian_ziggurat(rng_gsl(r), 1);
	for (uint32_t i = 0; i < g->vertices; i++)
		for (uint32_t f = 0; f < g->features; f++)
			g->x[(size_t)i * g->features + f] =
				centre[(size_t)g->label[i] * g->features + f] + noise * gsl_ran_gaussian_ziggurat(rng_gsl(r), 1);
	mem_free(centre);
	gcn_gather(g, 0, g->vertices, g->features, features_of, g, g->sum);
}

static int wrong(struct orr_error *err, const char *key, double value, const char *what)
{
	return orr_fail(err, ORR_EINPUT, "learn.%s=%g: %s", key, value, what);
}

static int check(const struct learn_config *c, struct orr_error *err)
{
	double n = c->vertices, block = n / c->communities, training = floor(c->train_share * n + 0.5);
	if (c->communities < 2 || n < 2. * c->communities)
		return wrong(err, "communities", c->communities, "expected 2 to half of learn.vertices");
	if (n * c->inputs > 1e9 || n * c->hidden > 1e9 || (c->inputs + (double)c->communities) * c->hidden > 1e9)
		return wrong(err, "vertices", n, "expected at most 1e9 numbers per layer: vertices x inputs, vertices x hidden, weights");
	if (!(c->degree_in >= 0 && c->degree_in <= floor(block) - 1))
		return wrong(err, "degree_in", c->degree_in,
			"expected 0 to vertices / communities - 1, the number of other vertices of a community");
	if (!(c->degree_out >= 0 && c->degree_out <= n - ceil(block)))
		return wrong(err, "degree_out", c->degree_out, "expected 0 to the number of vertices outside a community");
	if ((c->degree_in + c->degree_out) * n > 1e9)
		return wrong(err, "degree_in", c->degree_in, "expected at most 5e8 edges: vertices x (degree_in + degree_out) / 2");
	if (!(training >= 1 && training <= n - 1))
		return wrong(err, "train_share", c->train_share, "expected a share that leaves at least one vertex on each side");
	return 0;
}

struct gcn_graph *gcn_graph_new(const struct learn_config *c, struct orr_error *err)
{
	if (check(c, err))
		return NULL;
	struct gcn_graph *g = mem_zalloc(1, sizeof *g);
	uint32_t n = c->vertices;
	*g = (struct gcn_graph){ .vertices = n, .features = c->inputs, .hidden = c->hidden, .classes = c->communities };
	g->x = mem_alloc((size_t)n * c->inputs * sizeof *g->x);
	g->sum = mem_alloc((size_t)n * c->inputs * sizeof *g->sum);
	g->label = mem_alloc(n * sizeof *g->label);
	g->is_training = mem_zalloc(n, sizeof *g->is_training);
	struct rng r;
	rng_init(&r, c->data_seed, "learn.graph", 0);
	struct edges e = { 0 };
	double block = (double)n / c->communities;
	draw_labels(g, c->train_share, &r);
	draw_edges(g, c->degree_in / (block - 1), c->degree_out / (n - block), &e, &r);
	put_edges(g, &e);
	mem_free(e.pair);
	draw_features(g, c->feature_noise, &r);
	return g;
}

void gcn_graph_free(struct gcn_graph *g)
{
	if (!g)
		return;
	void *own[] = { g->first, g->neighbour, g->weight, g->x, g->sum, g->label, g->is_training };
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		mem_free(own[i]);
	mem_free(g);
}
