/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gcn.h - a graph convolutional network of two layers on a generated block graph, trained chunk by chunk
 *
 * The network is softmax(A relu(A X W1) W2) (Kipf and Welling, ICLR 2017): A is the adjacency matrix with self-loops, divided by the
 * square roots of the degrees on both sides; there are no biases. The loss is the mean cross entropy of the training vertices; accuracy
 * is that of the other vertices. The vertices are cut into chunks, which follow the tasks of Dorylus (docs/models/learn.md).
 *
 * A task reads when its op starts and is visible when its op ends. Between chunks, only rows that are visible on the reader's server
 * are read, so they may be of an earlier epoch. Sums have a fixed order and each run has one thread.
 */
#ifndef ORR_LEARN_GCN_H
#define ORR_LEARN_GCN_H

#include "learn/learn.h"

struct rng;
struct effect;

enum { GCN_LAYERS = 2 };

/* Immutable, so threads may share it. */
struct gcn_graph {
	uint32_t vertices, features, hidden, classes;
	size_t *first;       /* [vertices + 1] into neighbour and weight */
	uint32_t *neighbour; /* ascending; a vertex is its own neighbour */
	double *weight;      /* A */
	double *x, *sum;     /* vertices x features: features; A times features */
	uint32_t *label;
	bool *is_training;
	uint32_t n_training;
};

/* Returns NULL with *err filled in (option, range) if the graph cannot exist. */
struct gcn_graph *gcn_graph_new(const struct learn_config *c, struct orr_error *err);
void gcn_graph_free(struct gcn_graph *g);

/* Returns the number of weights: W1 (features x hidden), then W2 (hidden x classes). */
size_t gcn_dim(const struct learn_config *c);
void gcn_start(const struct gcn_graph *g, double *w, struct rng *r); /* uniform within sqrt(6 / (inputs + outputs)) of 0 */

/* Evaluates the GCN on the whole graph with weights w. Returns the loss, INFINITY in place of NaN; *accuracy is a fraction. */
double gcn_evaluate(const struct gcn_graph *g, const double *w, double *accuracy);

/* ---- the parts of a layer, of n rows from vertex `first` on; no array overlaps another ---- */

/* rows (n x width) = A times the rows that row_of() returns; NULL stands for 0. */
typedef const double *gcn_row_of(void *ctx, uint32_t vertex);
void gcn_gather(const struct gcn_graph *g, uint32_t first, uint32_t n, uint32_t width, gcn_row_of *row_of, void *ctx, double *rows);
/* Computes out (n x to) = rows (n x from) times w (from x to), and applies relu if requested. */
void gcn_apply(uint32_t n, uint32_t from, uint32_t to, const double *rows, const double *w, bool relu, double *out);
/* Replaces outputs (n x classes) by the gradient of the loss and returns their share of the loss. */
double gcn_softmax(const struct gcn_graph *g, uint32_t first, uint32_t n, double *out);
/* Computes the weights' gradient (from x to) = transposed rows times error (n x to). */
void gcn_weight_gradient(uint32_t n, uint32_t from, uint32_t to, const double *rows, const double *error, double *gradient);
/* Computes back (n x from) = error (n x to) times transposed w. */
void gcn_row_gradient(uint32_t n, uint32_t from, uint32_t to, const double *error, const double *w, double *back);

/* ---- training ---- */

struct gcn;
struct gcn *gcn_new(struct learn *l);
void gcn_free(struct learn *l, struct gcn *s);

/* Start and end a task, as effect_begin() and effect_end() do. gcn_begin() returns NULL, or the error. */
const char *gcn_begin(struct learn *l, struct effect *e, uint64_t op);
void gcn_end(struct learn *l, struct effect *e, const uint32_t *group, uint32_t n_group);

/* Returns the mean age in epochs of the rows that gathers read from other chunks; NAN before the first gather. */
double gcn_ghost_staleness(const struct gcn *s);

#endif
