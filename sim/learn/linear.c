/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Least squares and logistic regression on Gaussian inputs whose variances fall from 1 to 1 / condition. */
#include "learn/problem.h"

#include "base/mem.h"
#include "learn/vec.h"

#include <gsl/gsl_randist.h>
#include <math.h>

static size_t dim(const struct learn_config *c)
{
	return c->inputs;
}

static const double *row(const struct problem *p, uint32_t i)
{
	return p->a + (size_t)i * p->config.inputs;
}

/* Draws a_ij = s_j N(0, 1). Returns the true parameters and |s w|, the standard deviation of a . w. */
static double *draw_inputs(struct problem *p, struct rng *r, double *deviation)
{
	uint32_t n = p->config.inputs;
	double *s = mem_alloc(n * sizeof *s), *w = mem_alloc(n * sizeof *w), variance = 0;
	for (uint32_t j = 0; j < n; j++) {
		s[j] = n > 1 ? pow(p->config.condition, -0.5 * j / (n - 1)) : 1;
		w[j] = gsl_ran_gaussian_ziggurat(rng_gsl(r), 1);
		variance += s[j] * s[j] * w[j] * w[j];
	}
	for (uint32_t i = 0; i < p->config.rows; i++)
		for (uint32_t j = 0; j < n; j++)
			p->a[(size_t)i * n + j] = s[j] * gsl_ran_gaussian_ziggurat(rng_gsl(r), 1);
	*deviation = sqrt(variance);
	mem_free(s);
	return w;
}

static void generate(struct problem *p)
{
	struct rng r;
	rng_init(&r, p->config.data_seed, "learn.data", 0);
	double deviation, *w = draw_inputs(p, &r, &deviation);
	for (uint32_t i = 0; i < p->config.rows; i++) {
		double z = vec_dot(row(p, i), w, p->config.inputs);
		double e = p->config.noise * gsl_ran_gaussian_ziggurat(rng_gsl(&r), 1);
		p->y[i] = p->config.problem == LEARN_LEAST_SQUARES ? z + e : z / deviation + e > 0 ? 1 : -1;
	}
	mem_free(w);
}

/* ---- least squares ---- */

static void squares_gradient(
	const struct problem *p, const double *x, const uint32_t *rows, uint32_t n, double weight, double *g, double *scratch)
{
	(void)scratch;
	for (uint32_t k = 0; k < n; k++) {
		const double *a = row(p, rows[k]);
		vec_axpy(g, g, weight * (vec_dot(a, x, p->dim) - p->y[rows[k]]), a, p->dim);
	}
}

static double squares_loss(const struct problem *p, const double *x, uint32_t first, uint32_t last, double *scratch)
{
	(void)scratch;
	double sum = 0;
	for (uint32_t i = first; i < last; i++) {
		double e = vec_dot(row(p, i), x, p->dim) - p->y[i];
		sum += e * e / 2;
	}
	return sum;
}

const struct problem_kind problem_least_squares = {
	.dim = dim,
	.generate = generate,
	.gradient = squares_gradient,
	.loss = squares_loss,
};

/* ---- logistic regression ---- */

static void logistic_gradient(
	const struct problem *p, const double *x, const uint32_t *rows, uint32_t n, double weight, double *g, double *scratch)
{
	(void)scratch;
	for (uint32_t k = 0; k < n; k++) {
		const double *a = row(p, rows[k]);
		double y = p->y[rows[k]], m = y * vec_dot(a, x, p->dim);
		vec_axpy(g, g, -weight * y / (1 + exp(m)), a, p->dim);
	}
}

static double logistic_loss(const struct problem *p, const double *x, uint32_t first, uint32_t last, double *scratch)
{
	(void)scratch;
	double sum = 0;
	for (uint32_t i = first; i < last; i++) {
		double m = p->y[i] * vec_dot(row(p, i), x, p->dim);
		sum += m > 0 ? log1p(exp(-m)) : log1p(exp(m)) - m;
	}
	return sum;
}

const struct problem_kind problem_logistic = {
	.dim = dim,
	.generate = generate,
	.gradient = logistic_gradient,
	.loss = logistic_loss,
};
