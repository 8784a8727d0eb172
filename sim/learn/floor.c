/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The minimum loss of a problem, if a closed form gives it. */
#include "learn/problem.h"

#include "base/mem.h"
#include "learn/vec.h"

#include <gsl/gsl_blas.h>
#include <math.h>

/* Computes the Cholesky factor h = L L' in place, as the lower triangle. Returns false if h is not positive definite. */
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

/* Solves the normal equations (A'A / rows + l2 I) x = A'y / rows. Skipped if it would take more than a few seconds. */
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
