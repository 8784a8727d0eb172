/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Degrees and ghosts of graphs: closed forms, and counts on generated graphs against the expected number. */
#include "hwmodel/dnn.h"
#include "hwmodel/graph_shape.h"
#include "tests/tap.h"

#include <math.h>

static bool near(double x, double y, double e)
{
	return fabs(x - y) <= e * fabs(y);
}

static void means(void)
{
	for (int law = DEGREE_REGULAR; law <= DEGREE_POWER; law++) {
		struct graph_shape g = { 1e6, 12.3e6, (enum degree_law)law, 3.5 };
		double sum = 0, n = 200000;
		for (double i = 0; i < n; i++)
			sum += graph_degree(&g, (i + 0.5) / n);
		ok(near(sum / n, 12.3, 0.01), "%s: the mean degree is edges / vertices (%g)", degree_law_name((size_t)law), sum / n);
	}
}

static void closed_forms(void)
{
	/* With degree 8 everywhere and 4 servers, a vertex has a neighbour on a given server with probability 1 - (3/4)^8. */
	struct graph_shape regular = { 1000, 8000, DEGREE_REGULAR, 0 };
	ok(near(graph_ghosts_expected(&regular, 4), 1000 * 3 * (1 - pow(0.75, 8)), 1e-9), "ghosts of a regular graph");
	/* With Poisson degrees of mean 5 and 10 servers, the probability is 1 - exp(-5/10). */
	struct graph_shape poisson = { 1e6, 5e6, DEGREE_POISSON, 0 };
	ok(near(graph_ghosts_expected(&poisson, 10), 1e6 * 9 * (1 - exp(-0.5)), 2e-4), "ghosts of a Poisson graph");
	ok(graph_ghosts_expected(&poisson, 1) == 0, "one server needs no ghosts");
}

static void counts(void)
{
	for (int law = DEGREE_REGULAR; law <= DEGREE_POWER; law++)
		for (uint32_t parts = 2; parts <= 32; parts *= 4) {
			struct graph_shape g = { 40000, 400000, (enum degree_law)law, 2.5 };
			double counted = graph_ghosts_counted(&g, parts, 1), expected = graph_ghosts_expected(&g, parts);
			ok(near(counted, expected, 0.01), "%s, %u servers: %g ghosts counted, %g expected", degree_law_name((size_t)law),
				parts, counted, expected);
		}
}

static void networks(void)
{
	struct orr_error e = { 0 };
	struct dnn *gcn = dnn_load("gcn:vertices=1000,edges=8000,widths=32-16-4", &e),
		   *gat = dnn_load("gat:vertices=1000,edges=8000,widths=32-16-4", &e);
	ok(gcn && gat, "networks by dimension");
	if (!gcn || !gat)
		return;
	ok(gcn->n_layers == 4 && gcn->params == 32 * 16 + 16 * 4, "GCN: gather and apply per layer; weights only");
	ok(gcn->layer[0].fwd_flops == 2 * 8 * 32 && gcn->layer[1].fwd_flops == 2 * 32 * 16, "FLOPs per vertex");
	ok(gat->n_layers == 6 && gat->params == gcn->params + 2 * (16 + 4), "GAT: two vectors of scores per layer in addition");
	ok(gat->has_attention && gat->layer[2].out_elems == 16, "GAT gathers rows after the product");
	dnn_free(gcn);
	dnn_free(gat);
}

int main(void)
{
	means();
	closed_forms();
	counts();
	networks();
	return done();
}
