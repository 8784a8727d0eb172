/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Least squares and logistic regression on Gaussian inputs whose variances fall from 1 to 1 / condition. */
#include "learn/problem.h"

#include "base/mem.h"
#include "learn/vec.h"

#include <gsl/gsl_blas.h>
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

/* a_ij = s_j N(0, 1); returns the true parameters and |s w|, the standard deviation of a . w. */
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

/* h = L L' in place, lower triangle; false if h is not positive definite. */
static bool cholesky(double *h, size_t n)
{
	for (size_t j = 0; j < n; j++) {
		double *row_j = h + j * n, d = row_j[j] - vec_dot(row_j, row_j, j);
		if (!(d > 0))
			return false;
		row_j[j] = sqrt(d);
		for (size_t i = j + 1; i < n; i++)
			h[i * n + j] = (h[i * n + j] - vec_dot(h + i * n, row_j, j)) / row_j[j];
	}
	return true;
}

/* The normal equations (A'A / rows + l2 I) x = A'y / rows. Not for more than some seconds of work. */
double problem_floor(const struct problem *p)
{
	const double most = 4e9;
	size_t n = p->dim, rows = p->config.rows;
	if (p->config.problem != LEARN_LEAST_SQUARES || (double)n * (double)n * (double)(rows + n) > most)
		return NAN;
	gsl_matrix_const_view a = gsl_matrix_const_view_array(p->a, rows, n);
	gsl_vector_const_view y = gsl_vector_const_view_array(p->y, rows);
	double *space = mem_zalloc(n * n + n, sizeof *space), loss = NAN;
	gsl_matrix_view h = gsl_matrix_view_array(space, n, n);
	gsl_vector_view x = gsl_vector_view_array(space + n * n, n);
	gsl_blas_dsyrk(CblasLower, CblasTrans, 1. / (double)rows, &a.matrix, 0, &h.matrix);
	gsl_blas_dgemv(CblasTrans, 1. / (double)rows, &a.matrix, &y.vector, 0, &x.vector);
	for (size_t i = 0; i < n; i++)
		space[i * n + i] += p->config.l2;
	if (cholesky(space, n)) {
		gsl_blas_dtrsv(CblasLower, CblasNoTrans, CblasNonUnit, &h.matrix, &x.vector);
		gsl_blas_dtrsv(CblasLower, CblasTrans, CblasNonUnit, &h.matrix, &x.vector);
		loss = problem_loss(p, space + n * n, 1);
	}
	mem_free(space);
	return loss;
}

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
