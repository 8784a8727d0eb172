/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sources: fit.h. Cauchy's loss: rho(r) = c^2/2 log(1 + (r/c)^2), psi(r) = r / (1 + (r/c)^2). */
#include "calib/fit_nls.h"

#include "base/mem.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <string.h>

static const struct {
	int reweightings;
	size_t steps;
} efforts[] = { [NLS_LOOK] = { 4, 4 }, [NLS_FULL] = { 80, 5 } };

/* ---- the laws and their derivatives ---- */

static double roofline(const double *v, const double *theta, double flops, double bytes, double *g)
{
	double x = flops / v[1], y = bytes / v[2], p = v[3];
	double big = fmax(x, y), small = fmin(x, y), ratio = big > 0 ? small / big : 0;
	double power = ratio > 0 ? pow(ratio, p) : 0, norm = big > 0 ? big * pow(1 + power, 1 / p) : 0;
	double t = v[0] + norm, share = norm / t;
	if (g) {
		double of_big = share / (1 + power), of_small = share * power / (1 + power);
		g[0] = v[0] / t;
		g[1] = isinf(theta[1]) ? 0 : -(x >= y ? of_big : of_small);
		g[2] = isinf(theta[2]) ? 0 : -(x >= y ? of_small : of_big);
		g[3] = ratio > 0 ? share * (power * log(ratio) / (1 + power) - log1p(power) / p) : 0;
	}
	return log(t);
}

static double least_line(const double *v, uint32_t n, double size, double *g)
{
	uint32_t best = 0;
	double t = INFINITY;
	for (uint32_t i = 0; i < n; i += 2) {
		double ti = v[i] + size / v[i + 1];
		if (ti < t) {
			t = ti;
			best = i;
		}
	}
	if (g) {
		memset(g, 0, n * sizeof *g);
		g[best] = v[best] / t;
		g[best + 1] = isinf(v[best + 1]) ? 0 : -(size / v[best + 1]) / t;
	}
	return log(t);
}

static double cached(const double *v, double bytes, double *g)
{
	double hits = 1 / (1 + pow(bytes / v[3], 4)), near = bytes * hits / v[1], far = bytes * (1 - hits) / v[2];
	double t = v[0] + near + far;
	if (g) {
		g[0] = v[0] / t;
		g[1] = -near / t;
		g[2] = -far / t;
		g[3] = 4 * hits * (1 - hits) * bytes * (1 / v[1] - 1 / v[2]) / t;
	}
	return log(t);
}

double nls_model(const struct nls *q, const double *theta, size_t i, double *g)
{
	double v[LAW_PARAMS];
	uint32_t n = law_form_params(q->form);
	for (uint32_t k = 0; k < n; k++)
		v[k] = exp(theta[k]);
	if (q->form == FORM_CACHED)
		return cached(v, q->x[i][1] > 0 ? q->x[i][1] : q->x[i][2], g);
	return q->form == FORM_ROOFLINE ? roofline(v, theta, q->x[i][0], q->x[i][1], g) : least_line(v, n, q->x[i][2], g);
}

static uint32_t nls_count_free(const struct nls_fit *f, uint32_t n_params)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < n_params; i++)
		n += f->is_free[i];
	return n;
}

/* ---- Levenberg-Marquardt, reweighted ---- */

struct call {
	const struct nls *q;
	const struct nls_fit *f;
};

static void spread(const struct call *c, const gsl_vector *free_theta, double *theta)
{
	size_t k = 0;
	for (uint32_t i = 0; i < law_form_params(c->q->form); i++)
		theta[i] = c->f->is_free[i] ? gsl_vector_get(free_theta, k++) : c->f->theta[i];
}

static int residuals(const gsl_vector *at, void *data, gsl_vector *out)
{
	const struct call *c = data;
	double theta[LAW_PARAMS];
	spread(c, at, theta);
	for (size_t i = 0; i < c->q->n; i++) {
		double r = nls_model(c->q, theta, i, NULL) - c->q->y[i];
		if (!isfinite(r))
			return GSL_EDOM;
		gsl_vector_set(out, i, r);
	}
	return GSL_SUCCESS;
}

static int jacobian(const gsl_vector *at, void *data, gsl_matrix *out)
{
	const struct call *c = data;
	double theta[LAW_PARAMS], g[LAW_PARAMS];
	spread(c, at, theta);
	for (size_t i = 0; i < c->q->n; i++) {
		size_t k = 0;
		nls_model(c->q, theta, i, g);
		for (uint32_t j = 0; j < law_form_params(c->q->form); j++)
			if (c->f->is_free[j])
				gsl_matrix_set(out, i, k++, g[j]);
	}
	return GSL_SUCCESS;
}

/* Solves one least-squares problem with fixed weights; f->theta is the start and receives the solution. Returns the length of the
 * step. */
static double solve_weighted(
	const struct nls *q, struct nls_fit *f, const gsl_vector *w, size_t steps, gsl_multifit_nlinear_workspace *space)
{
	struct call c = { q, f };
	size_t p = nls_count_free(f, law_form_params(q->form)), k = 0;
	gsl_multifit_nlinear_fdf fdf = { .f = residuals, .df = jacobian, .n = q->n, .p = p, .params = &c };
	gsl_vector *start = gsl_vector_alloc(p);
	int info;
	for (uint32_t i = 0; i < law_form_params(q->form); i++)
		if (f->is_free[i])
			gsl_vector_set(start, k++, f->theta[i]);
	double moved = 0, after[LAW_PARAMS];
	if (!gsl_multifit_nlinear_winit(start, w, &fdf, space)) {
		gsl_multifit_nlinear_driver(steps, 1e-8, 1e-8, 0, NULL, NULL, &info, space);
		spread(&c, gsl_multifit_nlinear_position(space), after);
		for (uint32_t i = 0; i < law_form_params(q->form); i++) {
			if (!f->is_free[i] || !isfinite(after[i]))
				continue;
			moved = fmax(moved, fabs(after[i] - f->theta[i]));
			f->theta[i] = fmax(-80, fmin(80, after[i]));
		}
	}
	gsl_vector_free(start);
	return moved;
}

static void summarise(const struct nls *q, struct nls_fit *f, double c)
{
	double *r = mem_zalloc(q->n, sizeof *r);
	f->loss = 0;
	for (size_t i = 0; i < q->n; i++) {
		r[i] = fabs(nls_model(q, f->theta, i, NULL) - q->y[i]);
		f->loss += q->weight[i] * c * c * log1p(r[i] * r[i] / (c * c));
	}
	double p = nls_count_free(f, law_form_params(q->form)), n = (double)q->n;
	gsl_sort(r, 1, q->n);
	f->sigma = 1.4826 * gsl_stats_median_from_sorted_data(r, 1, q->n) * sqrt(n / fmax(1, n - p));
	mem_free(r);
}

void nls_descend(const struct nls *q, struct nls_fit *f, double c, enum nls_effort effort)
{
	size_t p = nls_count_free(f, law_form_params(q->form));
	gsl_error_handler_t *handler = gsl_set_error_handler_off(); /* a failed start is not an error */
	if (p > 0 && q->n >= p) {
		gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
		gsl_multifit_nlinear_workspace *space = gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &how, q->n, p);
		gsl_vector *w = gsl_vector_alloc(q->n);
		double moved = 1;
		for (int round = 0; round < efforts[effort].reweightings && moved > 1e-6; round++) {
			for (size_t i = 0; i < q->n; i++) {
				double u = (nls_model(q, f->theta, i, NULL) - q->y[i]) / c;
				gsl_vector_set(w, i, q->weight[i] / (1 + u * u));
			}
			moved = solve_weighted(q, f, w, efforts[effort].steps, space);
		}
		gsl_vector_free(w);
		gsl_multifit_nlinear_free(space);
	}
	gsl_set_error_handler(handler);
	summarise(q, f, c);
}

/* ---- the sandwich ---- */

/* Inverts in place; returns false if the matrix is not positive definite. */
static bool invert(gsl_matrix *a)
{
	return !gsl_linalg_cholesky_decomp1(a) && !gsl_linalg_cholesky_invert(a);
}

struct sums {
	gsl_matrix *bread, *meat, *half;
	double slope; /* mean of psi' */
};

/* Adds v g g'. */
static void add_outer(gsl_matrix *m, const double *g, double v)
{
	for (size_t i = 0; i < m->size1; i++)
		for (size_t k = 0; k < m->size2; k++)
			*gsl_matrix_ptr(m, i, k) += v * g[i] * g[k];
}

static size_t free_gradient(const struct nls *q, const struct nls_fit *f, size_t i, double *g, double *r)
{
	double all[LAW_PARAMS];
	size_t k = 0;
	*r = nls_model(q, f->theta, i, all) - q->y[i];
	for (uint32_t j = 0; j < law_form_params(q->form); j++)
		if (f->is_free[j])
			g[k++] = all[j];
	return k;
}

/* Computes bread^-1 meat bread^-1; residuals are divided by 1 - leverage (MacKinnon and White, J. Econometrics 29, 1985, HC3). */
static bool sandwich(const struct nls *q, const struct nls_fit *f, double c, struct sums *s)
{
	double g[LAW_PARAMS], r, total = 0;
	for (size_t i = 0; i < q->n; i++) {
		free_gradient(q, f, i, g, &r);
		double u2 = r * r / (c * c);
		s->slope += q->weight[i] * (1 - u2) / ((1 + u2) * (1 + u2));
		total += q->weight[i];
		add_outer(s->bread, g, q->weight[i]);
	}
	s->slope = fmax(0.05, s->slope / total);
	if (!invert(s->bread))
		return false;
	for (size_t i = 0; i < q->n; i++) {
		size_t p = free_gradient(q, f, i, g, &r);
		double leverage = 0;
		for (size_t k = 0; k < p; k++)
			for (size_t j = 0; j < p; j++)
				leverage += q->weight[i] * g[k] * g[j] * gsl_matrix_get(s->bread, k, j);
		double psi = q->weight[i] * r / (1 + r * r / (c * c)) / fmax(0.05, 1 - leverage);
		add_outer(s->meat, g, psi * psi);
	}
	gsl_blas_dgemm(CblasNoTrans, CblasNoTrans, 1 / (s->slope * s->slope), s->bread, s->meat, 0, s->half);
	gsl_blas_dgemm(CblasNoTrans, CblasNoTrans, 1, s->half, s->bread, 0, s->meat);
	return true;
}

bool nls_covariance(const struct nls *q, struct nls_fit *f, double c)
{
	uint32_t all = law_form_params(q->form);
	size_t p = nls_count_free(f, all), a = 0;
	memset(f->covariance, 0, sizeof f->covariance);
	if (p == 0 || q->n <= p)
		return p == 0;
	struct sums s = { gsl_matrix_calloc(p, p), gsl_matrix_calloc(p, p), gsl_matrix_calloc(p, p), 0 };
	gsl_error_handler_t *handler = gsl_set_error_handler_off();
	bool is_regular = sandwich(q, f, c, &s);
	gsl_set_error_handler(handler);
	for (uint32_t i = 0; is_regular && i < all; i++) {
		size_t b = 0;
		for (uint32_t k = 0; k < all; k++)
			if (f->is_free[i] && f->is_free[k])
				f->covariance[i][k] = 0.5 * (gsl_matrix_get(s.meat, a, b) + gsl_matrix_get(s.meat, b, a)), b++;
		a += f->is_free[i];
	}
	gsl_matrix_free(s.bread);
	gsl_matrix_free(s.meat);
	gsl_matrix_free(s.half);
	return is_regular;
}
