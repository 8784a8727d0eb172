/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * problem.h - a learning problem: data, loss and gradient
 *
 * A problem is immutable, so threads may share it; the caller provides scratch memory for gradients. Loss and gradient are
 * means over rows, in the order of the rows, plus the l2 term. The loss sums blocks of PROBLEM_BLOCK rows, then the blocks
 * in order.
 */
#ifndef ORR_LEARN_PROBLEM_H
#define ORR_LEARN_PROBLEM_H

#include "base/rng.h"
#include "learn/gcn.h"
#include "learn/learn.h"

enum { PROBLEM_BLOCK = 256 };

struct problem {
	const struct problem_kind *kind;
	struct learn_config config;
	size_t dim, scratch;     /* number of parameters; doubles of scratch memory */
	double *a;               /* rows x inputs */
	double *y;               /* target, label -1 or +1, or class */
	uint32_t *order;         /* rows in the order of the shards */
	struct gcn_graph *graph; /* the data, for LEARN_GCN */
};

struct problem_kind {
	size_t (*dim)(const struct learn_config *c);
	size_t (*scratch)(const struct learn_config *c);
	void (*generate)(struct problem *p);
	void (*start)(const struct problem *p, double *x, struct rng *r); /* NULL: zero */
	/* Adds weight * (sum of the gradient over rows) to g. */
	void (*gradient)(
		const struct problem *p, const double *x, const uint32_t *rows, uint32_t n, double weight, double *g, double *scratch);
	double (*loss)(const struct problem *p, const double *x, uint32_t first, uint32_t last, double *scratch); /* sum */
};
extern const struct problem_kind problem_least_squares, problem_logistic, problem_mlp;

struct problem *problem_new(const struct learn_config *c, struct orr_error *err);
void problem_free(struct problem *p);
void problem_start(const struct problem *p, double *x);
/* Computes a gradient. noise_seed: stream of its noise (LEARN_NOISE). */
void problem_gradient(
	const struct problem *p, const double *x, const uint32_t *rows, uint32_t n, uint64_t noise_seed, double *g, double *scratch);
double problem_loss(const struct problem *p, const double *x, int threads); /* INFINITY instead of NaN */
/* Like problem_loss(); also sets *accuracy, a fraction; NAN unless the problem is LEARN_GCN. */
double problem_evaluate(const struct problem *p, const double *x, int threads, double *accuracy);
double problem_floor(const struct problem *p); /* NAN if unknown */
/* The rows order[*first .. *first + *n) are the shard of a device. */
void problem_shard(const struct problem *p, uint32_t device, uint32_t *first, uint32_t *n);

#endif
