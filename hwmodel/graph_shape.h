/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * graph_shape.h - the graph that a graph neural network trains on: its size, its degrees, and the ghosts of a partition
 *
 * A partition assigns each vertex to one of `parts` servers at random (a random cut). A server keeps a copy, a ghost, of each vertex of
 * another server that has an edge to one of its own vertices. Formulas and tests: docs/models/step-dorylus.md, "Graphs".
 */
#ifndef ORR_HWMODEL_GRAPH_SHAPE_H
#define ORR_HWMODEL_GRAPH_SHAPE_H

#include <orrery/api.h>

enum degree_law {
	DEGREE_REGULAR, /* all degrees are the mean, rounded down or up */
	DEGREE_POISSON,
	DEGREE_POWER /* P(degree > x) = (x / least)^(1 - exponent) */
};

struct graph_shape {
	double vertices; /* 0: no graph */
	double edges;    /* directed: an undirected edge counts twice */
	enum degree_law law;
	double exponent; /* exponent of the power law, above 2 */
};

/* Returns the name of a law in model files and specs; NULL past the last. */
const char *degree_law_name(size_t law);
/* Returns the degree at the quantile u of (0, 1); at most vertices - 1. */
double graph_degree(const struct graph_shape *g, double u);
/* Returns the expected number of pairs (vertex, other server that keeps a ghost of it), over all vertices. */
double graph_ghosts_expected(const struct graph_shape *g, uint32_t parts);
/* Same, but counted on a generated graph with these degrees and uniform neighbours. Needs no memory per edge. */
double graph_ghosts_counted(const struct graph_shape *g, uint32_t parts, uint64_t seed);

#endif
