/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A perceptron with one hidden layer, softmax and cross entropy. The classes are mixtures of CENTRES Gaussians each, so no
 * linear model separates them. Parameters: W1 (hidden x inputs), b1, W2 (classes x hidden), b2.
 */
#include "learn/problem.h"

#include "base/mem.h"
#include "learn/vec.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

enum { CENTRES = 3 };

/* Parts of a parameter vector. */
struct parts {
	size_t w1, b1, w2, b2, end;
};

static struct parts parts_of(const struct learn_config *c)
{
	struct parts s = { 0 };
	s.b1 = (size_t)c->hidden * c->inputs;
	s.w2 = s.b1 + c->hidden;
	s.b2 = s.w2 + (size_t)c->classes * c->hidden;
	s.end = s.b2 + c->classes;
	return s;
}

static size_t dim(const struct learn_config *c)
{
	return parts_of(c).end;
}

/* scratch: hidden values, their error, outputs */
static size_t scratch_size(const struct learn_config *c)
{
	return 2 * (size_t)c->hidden + c->classes;
}

static void generate(struct problem *p)
{
	uint32_t n = p->config.inputs, classes = p->config.classes;
	struct rng r;
	rng_init(&r, p->config.data_seed, "learn.data", 0);
	size_t centres = (size_t)classes * CENTRES * n;
	double *centre = mem_alloc(centres * sizeof *centre);
	for (size_t i = 0; i < centres; i++)
		centre[i] = gsl_ran_gaussian_ziggurat(rng_gsl(&r), 1);
	for (uint32_t i = 0; i < p->config.rows; i++) {
		uint32_t class = (uint32_t)rng_below(&r, classes);
		const double *at = centre + ((size_t) class * CENTRES + rng_below(&r, CENTRES)) * n;
		for (uint32_t j = 0; j < n; j++)
			p->a[(size_t)i * n + j] = at[j] + p->config.noise * gsl_ran_gaussian_ziggurat(rng_gsl(&r), 1);
		p->y[i] = class;
	}
	mem_free(centre);
}

/* Draws the initial parameters. Weights have variance 1 / inputs of their unit, for ReLU twice this value (Glorot and Bengio 2010; He et
 * al. 2015). */
static void start(const struct problem *p, double *x, struct rng *r)
{
	const struct learn_config *c = &p->config;
	struct parts s = parts_of(c);
	double gain = c->activation == LEARN_RELU ? 2 : 1;
	for (size_t i = 0; i < s.b1; i++)
		x[i] = gsl_ran_gaussian_ziggurat(rng_gsl(r), sqrt(gain / c->inputs));
	for (size_t i = s.w2; i < s.b2; i++)
		x[i] = gsl_ran_gaussian_ziggurat(rng_gsl(r), sqrt(1. / c->hidden));
}

/* Computes hidden values and class probabilities; returns the row's loss. */
static double forward(const struct problem *p, const double *x, uint32_t i, double *hidden, double *out)
{
	const struct learn_config *c = &p->config;
	struct parts s = parts_of(c);
	const double *a = p->a + (size_t)i * c->inputs;
	for (uint32_t j = 0; j < c->hidden; j++) {
		double z = vec_dot(x + s.w1 + (size_t)j * c->inputs, a, c->inputs) + x[s.b1 + j];
		hidden[j] = c->activation == LEARN_TANH ? tanh(z) : z > 0 ? z : 0;
	}
	double top = -INFINITY, sum = 0;
	for (uint32_t k = 0; k < c->classes; k++) {
		out[k] = vec_dot(x + s.w2 + (size_t)k * c->hidden, hidden, c->hidden) + x[s.b2 + k];
		top = out[k] > top ? out[k] : top;
	}
	double at_class = out[(uint32_t)p->y[i]] - top;
	for (uint32_t k = 0; k < c->classes; k++)
		sum += out[k] = exp(out[k] - top);
	for (uint32_t k = 0; k < c->classes; k++)
		out[k] /= sum;
	return log(sum) - at_class;
}

static void backward(
	const struct problem *p, const double *x, uint32_t i, double weight, double *g, double *hidden, double *error, const double *out)
{
	const struct learn_config *c = &p->config;
	struct parts s = parts_of(c);
	memset(error, 0, c->hidden * sizeof *error);
	for (uint32_t k = 0; k < c->classes; k++) {
		double e = weight * (out[k] - (k == (uint32_t)p->y[i]));
		size_t w = s.w2 + (size_t)k * c->hidden;
		vec_axpy(error, error, e, x + w, c->hidden);
		vec_axpy(g + w, g + w, e, hidden, c->hidden);
		g[s.b2 + k] += e;
	}
	for (uint32_t j = 0; j < c->hidden; j++) {
		double e = error[j] * (c->activation == LEARN_TANH ? 1 - hidden[j] * hidden[j] : hidden[j] > 0);
		double *w = g + s.w1 + (size_t)j * c->inputs;
		vec_axpy(w, w, e, p->a + (size_t)i * c->inputs, c->inputs);
		g[s.b1 + j] += e;
	}
}

static void gradient(const struct problem *p, const double *x, const uint32_t *rows, uint32_t n, double weight, double *g, double *scratch)
{
	double *hidden = scratch, *error = hidden + p->config.hidden, *out = error + p->config.hidden;
	for (uint32_t k = 0; k < n; k++) {
		forward(p, x, rows[k], hidden, out);
		backward(p, x, rows[k], weight, g, hidden, error, out);
	}
}

static double loss(const struct problem *p, const double *x, uint32_t first, uint32_t last, double *scratch)
{
	double sum = 0;
	for (uint32_t i = first; i < last; i++)
		sum += forward(p, x, i, scratch, scratch + 2 * (size_t)p->config.hidden);
	return sum;
}

const struct problem_kind problem_mlp = {
	.dim = dim,
	.scratch = scratch_size,
	.generate = generate,
	.start = start,
	.gradient = gradient,
	.loss = loss,
};
