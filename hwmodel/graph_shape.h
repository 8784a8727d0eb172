/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * graph_shape.h - size and degrees of the input graph of a graph neural network, and the ghosts of its partition
 *
 * A partition assigns each vertex to one of `parts` servers at random (random cut). A ghost is a server's copy of a remote vertex that
 * has an edge to one of the server's own vertices. Formulas and tests: docs/models/step-dorylus.md, "Graphs".
 */
#ifndef ORR_HWMODEL_GRAPH_SHAPE_H
#define ORR_HWMODEL_GRAPH_SHAPE_H

#include <orrery/api.h>

enum degree_law {
	DEGREE_REGULAR, /* the mean, rounded down or up */
	DEGREE_POISSON,
	DEGREE_POWER /* P(degree > x) = (x / least)^(1 - exponent) */
};

struct graph_shape {
	double vertices; /* number of vertices; 0: no graph */
	double edges;    /* number of directed edges; an undirected edge counts twice */
	enum degree_law law;
	double exponent; /* exponent of the power law, above 2 */
};

/* Returns the name of a degree law in model files and specs; NULL past the last law. */
const char *degree_law_name(size_t law);
/* Returns the quantile u of the degree, 0 < u < 1; at most vertices - 1. */
double graph_degree(const struct graph_shape *g, double u);
/* Returns the expected number of ghosts on all servers. */
double graph_ghosts_expected(const struct graph_shape *g, uint32_t parts);
/* Returns the number of ghosts of a generated graph with this degree law and uniform neighbours. Needs no memory per edge. */
double graph_ghosts_counted(const struct graph_shape *g, uint32_t parts, uint64_t seed);

#endif
