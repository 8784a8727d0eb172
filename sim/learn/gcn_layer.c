/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operations of a layer, forward and backward, and evaluation of the whole network. */
#include "learn/gcn.h"

#include "base/mem.h"
#include "base/rng.h"
#include "learn/vec.h"

#include <math.h>
#include <string.h>

size_t gcn_dim(const struct learn_config *c)
{
	return ((size_t)c->inputs + c->communities) * c->hidden;
}

void gcn_start(const struct gcn_graph *g, double *w, struct rng *r)
{
	const uint32_t width[GCN_LAYERS + 1] = { g->features, g->hidden, g->classes };
	for (int l = 0; l < GCN_LAYERS; l++) {
		double bound = sqrt(6. / ((double)width[l] + width[l + 1]));
		for (size_t i = 0; i < (size_t)width[l] * width[l + 1]; i++)
			*w++ = bound * (2 * rng_uniform(r) - 1);
	}
}

void gcn_gather(const struct gcn_graph *g, uint32_t first, uint32_t n, uint32_t width, gcn_row_of *row_of, void *ctx, double *rows)
{
	memset(rows, 0, (size_t)n * width * sizeof *rows);
	for (uint32_t i = 0; i < n; i++, rows += width)
		for (size_t k = g->first[first + i]; k < g->first[first + i + 1]; k++) {
			const double *row = row_of(ctx, g->neighbour[k]);
			if (row)
				vec_axpy(rows, rows, g->weight[k], row, width);
		}
}

void gcn_apply(uint32_t n, uint32_t from, uint32_t to, const double *rows, const double *w, bool relu, double *out)
{
	memset(out, 0, (size_t)n * to * sizeof *out);
	for (uint32_t i = 0; i < n; i++, rows += from, out += to) {
		for (uint32_t f = 0; f < from; f++)
			vec_axpy(out, out, rows[f], w + (size_t)f * to, to);
		for (uint32_t t = 0; relu && t < to; t++)
			out[t] = out[t] > 0 ? out[t] : 0;
	}
}

double gcn_softmax(const struct gcn_graph *g, uint32_t first, uint32_t n, double *out)
{
	double loss = 0, share = 1. / g->n_training;
	for (uint32_t i = first; i < first + n; i++, out += g->classes) {
		double top = -INFINITY, sum = 0;
		for (uint32_t k = 0; k < g->classes; k++)
			top = out[k] > top ? out[k] : top;
		double own = out[g->label[i]] - top;
		for (uint32_t k = 0; k < g->classes; k++)
			sum += out[k] = exp(out[k] - top);
		for (uint32_t k = 0; k < g->classes; k++)
			out[k] = g->is_training[i] ? share * (out[k] / sum - (k == g->label[i])) : 0;
		loss += g->is_training[i] ? share * (log(sum) - own) : 0;
	}
	return loss;
}

void gcn_weight_gradient(uint32_t n, uint32_t from, uint32_t to, const double *rows, const double *error, double *gradient)
{
	memset(gradient, 0, (size_t)from * to * sizeof *gradient);
	for (uint32_t i = 0; i < n; i++, rows += from, error += to)
		for (uint32_t f = 0; f < from; f++)
			vec_axpy(gradient + (size_t)f * to, gradient + (size_t)f * to, rows[f], error, to);
}

void gcn_row_gradient(uint32_t n, uint32_t from, uint32_t to, const double *error, const double *w, double *back)
{
	for (uint32_t i = 0; i < n; i++, error += to, back += from)
		for (uint32_t f = 0; f < from; f++)
			back[f] = vec_dot(error, w + (size_t)f * to, to);
}

/* ---- evaluation ---- */

struct whole {
	const double *rows;
	uint32_t width;
};

static const double *whole_row(void *ctx, uint32_t vertex)
{
	const struct whole *w = ctx;
	return w->rows + (size_t)vertex * w->width;
}

static bool is_right(const double *out, uint32_t classes, uint32_t label)
{
	uint32_t best = 0;
	for (uint32_t k = 1; k < classes; k++)
		best = out[k] > out[best] ? k : best;
	return best == label;
}

double gcn_evaluate(const struct gcn_graph *g, const double *w, double *accuracy)
{
	enum { ROWS = 256 };
	uint32_t right = 0;
	double loss = 0;
	double *h = mem_alloc((size_t)g->vertices * g->hidden * sizeof *h);
	double *rows = mem_alloc((size_t)ROWS * g->hidden * sizeof *rows), *out = mem_alloc((size_t)ROWS * g->classes * sizeof *out);
	struct whole whole = { h, g->hidden };
	gcn_apply(g->vertices, g->features, g->hidden, g->sum, w, true, h);
	for (uint32_t first = 0; first < g->vertices; first += ROWS) {
		uint32_t n = g->vertices - first < ROWS ? g->vertices - first : ROWS;
		gcn_gather(g, first, n, g->hidden, whole_row, &whole, rows);
		gcn_apply(n, g->hidden, g->classes, rows, w + (size_t)g->features * g->hidden, false, out);
		for (uint32_t i = 0; i < n; i++)
			right += !g->is_training[first + i] && is_right(out + (size_t)i * g->classes, g->classes, g->label[first + i]);
		loss += gcn_softmax(g, first, n, out);
	}
	mem_free(h);
	mem_free(rows);
	mem_free(out);
	*accuracy = (double)right / (g->vertices - g->n_training);
	return isnan(loss) ? INFINITY : loss;
}
