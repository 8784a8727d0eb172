/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * problem.h - what is learned: data, loss and gradient
 *
 * A problem does not change once it is made, so threads may share it; what a gradient needs to write meanwhile
 * is the caller's scratch. Loss and gradient are means over rows, in the order of the rows (the loss: in
 * blocks of PROBLEM_BLOCK rows, whose sums are added in order), plus the l2 term.
 */
#ifndef ORR_LEARN_PROBLEM_H
#define ORR_LEARN_PROBLEM_H

#include "base/rng.h"
#include "learn/learn.h"

enum { PROBLEM_BLOCK = 256 };

struct problem {
	const struct problem_kind *kind;
	struct learn_config config;
	size_t dim, scratch; /* parameters; numbers of scratch */
	double *a;           /* rows x inputs */
	double *y;           /* target, -1 or +1, or class */
	uint32_t *order;     /* rows as the shards have them */
};

struct problem_kind {
	size_t (*dim)(const struct learn_config *c);
	size_t (*scratch)(const struct learn_config *c);
	void (*generate)(struct problem *p);
	void (*start)(const struct problem *p, double *x, struct rng *r); /* NULL: zero */
	/* g += weight * sum over rows of the gradient */
	void (*gradient)(
		const struct problem *p, const double *x, const uint32_t *rows, uint32_t n, double weight, double *g, double *scratch);
	double (*loss)(const struct problem *p, const double *x, uint32_t first, uint32_t last, double *scratch); /* sum */
};
extern const struct problem_kind problem_least_squares, problem_logistic, problem_mlp;

struct problem *problem_new(const struct learn_config *c, struct orr_error *err);
void problem_free(struct problem *p);
void problem_start(const struct problem *p, double *x);
/* noise_seed: of what this gradient alone draws (LEARN_NOISE). */
void problem_gradient(
	const struct problem *p, const double *x, const uint32_t *rows, uint32_t n, uint64_t noise_seed, double *g, double *scratch);
double problem_loss(const struct problem *p, const double *x, int threads); /* INFINITY if it is not a number */
double problem_floor(const struct problem *p);                              /* NAN where it is not known */
/* Rows order[*first .. *first + *n) are the shard of a device. */
void problem_shard(const struct problem *p, uint32_t device, uint32_t *first, uint32_t *n);

#endif
