/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sub-learner: one hidden layer (ReLU); softmax and cross entropy of its own logits, and of their sum with the earlier logits. */
#include "learn/boost.h"
#include "learn/vec.h"

#include <math.h>
#include <string.h>

size_t boost_net_dim(const struct boost_net *n)
{
	return (size_t)n->width * (n->inputs + 1) + (size_t)n->classes * (n->width + 1);
}

static double *bias(const struct boost_net *n, double *w)
{
	return w + (size_t)n->width * n->inputs;
}

static double *second(const struct boost_net *n, double *w)
{
	return bias(n, w) + n->width;
}

void boost_net_forward(const struct boost_net *n, const double *image, double *hidden, double *logit)
{
	const double *b1 = bias(n, n->w), *w2 = second(n, n->w), *b2 = w2 + (size_t)n->classes * n->width;
	for (uint32_t j = 0; j < n->width; j++) {
		double z = vec_dot(n->w + (size_t)j * n->inputs, image, n->inputs) + b1[j];
		hidden[j] = z > 0 ? z : 0;
	}
	for (uint32_t k = 0; k < n->classes; k++)
		logit[k] = vec_dot(w2 + (size_t)k * n->width, hidden, n->width) + b2[k];
}

/* Adds weight x (softmax(before + f) - label) to error; returns the cross entropy. before: NULL is 0. */
static double softmax_error(
	const struct boost_net *n, const double *before, const double *logit, uint32_t label, double weight, double *error)
{
	double top = -INFINITY, sum = 0;
	for (uint32_t k = 0; k < n->classes; k++) {
		double z = logit[k] + (before ? before[k] : 0);
		top = z > top ? z : top;
	}
	for (uint32_t k = 0; k < n->classes; k++)
		sum += exp(logit[k] + (before ? before[k] : 0) - top);
	for (uint32_t k = 0; k < n->classes; k++)
		error[k] += weight * (exp(logit[k] + (before ? before[k] : 0) - top) / sum - (k == label));
	return log(sum) + top - logit[label] - (before ? before[label] : 0);
}

double boost_net_gradient(const struct boost_net *n, const double *image, uint32_t label, const double *before, double supervised,
	double weight, const double *hidden, const double *logit, double *error, double *g)
{
	double *at_hidden = error + n->classes, *g_b1 = bias(n, g), *g_w2 = second(n, g), *g_b2 = g_w2 + (size_t)n->classes * n->width;
	const double *w2 = second(n, n->w);
	memset(error, 0, (n->classes + n->width) * sizeof *error);
	double loss = before ? softmax_error(n, before, logit, label, weight, error) : 0;
	if (supervised > 0)
		loss += supervised * softmax_error(n, NULL, logit, label, weight * supervised, error);
	for (uint32_t k = 0; k < n->classes; k++) {
		vec_axpy(at_hidden, at_hidden, error[k], w2 + (size_t)k * n->width, n->width);
		vec_axpy(g_w2 + (size_t)k * n->width, g_w2 + (size_t)k * n->width, error[k], hidden, n->width);
		g_b2[k] += error[k];
	}
	for (uint32_t j = 0; j < n->width; j++) {
		double *row = g + (size_t)j * n->inputs;
		if (!(hidden[j] > 0))
			continue;
		vec_axpy(row, row, at_hidden[j], image, n->inputs);
		g_b1[j] += at_hidden[j];
	}
	return loss;
}
