/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gcn.h - a graph convolutional network of two layers on a generated block graph, trained chunk by chunk
 *
 * The network is softmax(A relu(A X W1) W2) without biases (Kipf and Welling, ICLR 2017). A is the symmetrically normalised adjacency
 * matrix with self-loops. The loss is the mean cross entropy of the training vertices. Accuracy is measured on the other vertices. The
 * vertices are divided into chunks, and each chunk runs the tasks of Dorylus (docs/models/learn.md).
 *
 * A task reads its inputs when its op starts; its results become visible when its op ends. A chunk reads the rows of other
 * chunks that are visible on its server, so these rows may belong to an earlier epoch. Sums have a fixed order, and each run
 * has one thread.
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
	size_t *first;       /* [vertices + 1] row offsets into neighbour and weight (CSR) */
	uint32_t *neighbour; /* column indices, ascending in a row; includes self-loops */
	double *weight;      /* values of A */
	double *x, *sum;     /* vertices x features: X; A X */
	uint32_t *label;
	bool *is_training;
	uint32_t n_training;
};

/* Returns a graph for gcn_graph_free(); NULL with *err filled in if an option is out of range. */
struct gcn_graph *gcn_graph_new(const struct learn_config *c, struct orr_error *err);
void gcn_graph_free(struct gcn_graph *g);

/* Returns the number of weights: W1 (features x hidden), then W2 (hidden x classes). */
size_t gcn_dim(const struct learn_config *c);
/* Draws the initial weights, uniform in +-sqrt(6 / (inputs + outputs)). */
void gcn_start(const struct gcn_graph *g, double *w, struct rng *r);

/* Evaluates the GCN on the whole graph with weights w. Returns the loss, INFINITY in place of NaN; *accuracy is a fraction. */
double gcn_evaluate(const struct gcn_graph *g, const double *w, double *accuracy);

/* ---- operations of a layer, on the n rows from vertex `first` on; arrays must not overlap ---- */

/* Returns the row of a vertex; NULL: zeros. */
typedef const double *gcn_row_of(void *ctx, uint32_t vertex);
/* Computes rows (n x width) = rows of A times the matrix that row_of() describes. */
void gcn_gather(const struct gcn_graph *g, uint32_t first, uint32_t n, uint32_t width, gcn_row_of *row_of, void *ctx, double *rows);
/* Computes the matrix product out (n x to) = rows (n x from) w (from x to), then ReLU if requested. */
void gcn_apply(uint32_t n, uint32_t from, uint32_t to, const double *rows, const double *w, bool relu, double *out);
/* Replaces the logits out (n x classes) by the gradient of the loss. Returns the contribution of these rows to the loss. */
double gcn_softmax(const struct gcn_graph *g, uint32_t first, uint32_t n, double *out);
/* Computes the weight gradient (from x to) = rows^T error, error being n x to. */
void gcn_weight_gradient(uint32_t n, uint32_t from, uint32_t to, const double *rows, const double *error, double *gradient);
/* Computes the row gradient back (n x from) = error w^T. */
void gcn_row_gradient(uint32_t n, uint32_t from, uint32_t to, const double *error, const double *w, double *back);

/* ---- training ---- */

struct gcn;
struct gcn *gcn_new(struct learn *l);
void gcn_free(struct learn *l, struct gcn *s);

/* Begin and end the effect of an op. gcn_begin() returns NULL, or an error message. */
const char *gcn_begin(struct learn *l, struct effect *e, uint64_t op);
void gcn_end(struct learn *l, struct effect *e, const uint32_t *group, uint32_t n_group);

/* Returns the mean age of the rows that gathers read from other chunks, epochs; NAN if there were none. */
double gcn_ghost_staleness(const struct gcn *s);

#endif
