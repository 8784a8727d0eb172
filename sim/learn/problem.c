/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts common to all problems: checks, shards, means, the l2 term, noise. */
#include "learn/problem.h"

#include "base/mem.h"
#include "learn/vec.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

static size_t plain_dim(const struct learn_config *c)
{
	return c->inputs;
}

static const struct problem_kind no_data = { .dim = plain_dim }, graph = { .dim = gcn_dim };

static const struct problem_kind *const kinds[] = {
	[LEARN_LEAST_SQUARES] = &problem_least_squares,
	[LEARN_LOGISTIC] = &problem_logistic,
	[LEARN_MLP] = &problem_mlp,
	[LEARN_NOISE] = &no_data,
	[LEARN_NONE] = &no_data,
	[LEARN_GCN] = &graph,
};

/* ---- shards ---- */

struct labelled {
	double label;
	uint32_t row;
};

static int by_label(const void *a, const void *b)
{
	const struct labelled *x = a, *y = b;
	if (x->label != y->label)
		return x->label < y->label ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static void sort_rows(struct problem *p)
{
	uint32_t rows = p->config.rows;
	struct labelled *v = mem_alloc(rows * sizeof *v);
	for (uint32_t i = 0; i < rows; i++)
		v[i] = (struct labelled){ p->y[i], i };
	qsort(v, rows, sizeof *v, by_label);
	for (uint32_t i = 0; i < rows; i++)
		p->order[i] = v[i].row;
	mem_free(v);
}

static void order_rows(struct problem *p)
{
	uint32_t rows = p->config.rows, shards = p->config.shards, n = 0;
	p->order = mem_alloc(rows * sizeof *p->order);
	if (p->config.split == LEARN_SPLIT_EVEN) {
		for (uint32_t s = 0; s < shards; s++)
			for (uint32_t i = s; i < rows; i += shards)
				p->order[n++] = i;
		return;
	}
	for (uint32_t i = 0; i < rows; i++)
		p->order[i] = i;
	if (p->config.split == LEARN_SPLIT_LABEL)
		sort_rows(p);
}

void problem_shard(const struct problem *p, uint32_t device, uint32_t *first, uint32_t *n)
{
	uint64_t rows = p->config.rows, shards = p->config.shards;
	if (p->config.split == LEARN_SPLIT_NONE || !shards) {
		*first = 0;
		*n = p->config.rows;
		return;
	}
	uint64_t s = device % shards;
	if (p->config.split == LEARN_SPLIT_EVEN) {
		uint64_t longer = rows % shards; /* the first shards have one row more than the others */
		*first = (uint32_t)(s * (rows / shards) + (s < longer ? s : longer));
		*n = (uint32_t)(rows / shards + (s < longer));
		return;
	}
	*first = (uint32_t)(rows * s / shards);
	*n = (uint32_t)(rows * (s + 1) / shards - *first);
}

/* ---- creation ---- */

static int wrong(struct orr_error *err, const char *key, const char *what)
{
	return orr_fail(err, ORR_EINPUT, "learn.%s: %s", key, what);
}

static int check(const struct learn_config *c, struct orr_error *err)
{
	const uint64_t most = UINT64_C(1) << 31; /* number of values in the data, and number of parameters */
	if ((unsigned)c->problem > LEARN_GCN)
		return wrong(err, "problem", "expected least-squares, logistic, mlp, noise, none or gcn");
	if (!c->inputs)
		return wrong(err, "inputs", "expected at least 1");
	if (!c->batch)
		return wrong(err, "batch", "expected at least 1");
	if (!isfinite(c->lr) || c->lr < 0)
		return wrong(err, "lr", "expected a number of at least 0");
	if (!(c->momentum >= 0 && c->momentum < 1))
		return wrong(err, "momentum", "expected a number of at least 0 and below 1");
	if (!(c->decay_samples > 0) && c->schedule != LEARN_RATE_CONSTANT)
		return wrong(err, "decay_samples", "expected more than 0 samples, because learn.schedule is not constant");
	if (c->problem == LEARN_GCN && !isnan(c->target) && !isnan(c->target_accuracy))
		return wrong(err, "target_accuracy", "expected no value, because learn.target is set too: expected only one of the two");
	if (c->problem == LEARN_NOISE || c->problem == LEARN_NONE || c->problem == LEARN_GCN)
		return 0;
	if (!c->rows || (uint64_t)c->rows * c->inputs > most)
		return wrong(err, "rows", "expected at least 1, and rows x inputs at most 2^31");
	if (c->split != LEARN_SPLIT_NONE && (!c->shards || c->shards > c->rows))
		return wrong(err, "shards", "expected 1 to the number of rows");
	if (!(c->condition >= 1))
		return wrong(err, "condition", "expected at least 1");
	if (c->problem == LEARN_MLP && (!c->hidden || c->classes < 2 || (uint64_t)c->hidden * (c->inputs + (uint64_t)c->classes) > most))
		return wrong(err, "hidden", "expected at least 1, at least 2 classes, and hidden x (inputs + classes) at most 2^31");
	return 0;
}

struct problem *problem_new(const struct learn_config *c, struct orr_error *err)
{
	if (check(c, err))
		return NULL;
	struct gcn_graph *g = NULL;
	if (c->problem == LEARN_GCN && !(g = gcn_graph_new(c, err)))
		return NULL;
	struct problem *p = mem_zalloc(1, sizeof *p);
	p->graph = g;
	p->config = *c;
	p->kind = kinds[c->problem];
	p->dim = p->kind->dim(c);
	p->scratch = p->kind->scratch ? p->kind->scratch(c) : 0;
	if (p->kind->generate) {
		p->a = mem_alloc((size_t)c->rows * c->inputs * sizeof *p->a);
		p->y = mem_alloc(c->rows * sizeof *p->y);
		p->kind->generate(p);
		order_rows(p);
	}
	return p;
}

void problem_free(struct problem *p)
{
	if (!p)
		return;
	mem_free(p->a);
	mem_free(p->y);
	mem_free(p->order);
	gcn_graph_free(p->graph);
	mem_free(p);
}

void problem_start(const struct problem *p, double *x)
{
	memset(x, 0, p->dim * sizeof *x);
	if (!p->kind->start && !p->graph)
		return;
	struct rng r;
	rng_init(&r, p->config.seed, "learn.start", 0);
	if (p->graph)
		gcn_start(p->graph, x, &r);
	else
		p->kind->start(p, x, &r);
}

/* ---- gradient and loss ---- */

void problem_gradient(
	const struct problem *p, const double *x, const uint32_t *rows, uint32_t n, uint64_t noise_seed, double *g, double *scratch)
{
	if (p->config.problem == LEARN_NOISE) {
		struct rng r;
		rng_init(&r, noise_seed, "learn.noise", 0);
		for (size_t i = 0; i < p->dim; i++)
			g[i] = gsl_ran_gaussian_ziggurat(rng_gsl(&r), p->config.noise);
	} else {
		memset(g, 0, p->dim * sizeof *g);
		if (p->kind->gradient)
			p->kind->gradient(p, x, rows, n, 1. / n, g, scratch);
	}
	if (p->config.l2 != 0)
		vec_axpy(g, g, p->config.l2, x, p->dim);
}

static double loss_of_rows(const struct problem *p, const double *x, int threads)
{
	uint32_t rows = p->config.rows, blocks = (rows + PROBLEM_BLOCK - 1) / PROBLEM_BLOCK;
	double *part = mem_alloc(blocks * sizeof *part);
#ifdef _OPENMP
	int most = threads > 0 ? threads : omp_get_max_threads();
#pragma omp parallel num_threads(most) if (most > 1 && (double)rows * (double)p->dim > 1e5)
#endif
	{
		double *scratch = mem_alloc(p->scratch * sizeof *scratch);
#pragma omp for schedule(static)
		for (uint32_t b = 0; b < blocks; b++) {
			uint32_t first = b * PROBLEM_BLOCK, left = rows - first;
			part[b] = p->kind->loss(p, x, first, first + (left < PROBLEM_BLOCK ? left : PROBLEM_BLOCK), scratch);
		}
		mem_free(scratch);
	}
	(void)threads;
	double sum = 0;
	for (uint32_t b = 0; b < blocks; b++)
		sum += part[b];
	mem_free(part);
	return sum / rows;
}

double problem_evaluate(const struct problem *p, const double *x, int threads, double *accuracy)
{
	*accuracy = NAN;
	if (!p->kind->loss && !p->graph && p->config.l2 == 0)
		return NAN;
	double loss = p->graph ? gcn_evaluate(p->graph, x, accuracy) : p->kind->loss ? loss_of_rows(p, x, threads) : 0;
	if (p->config.l2 != 0)
		loss += p->config.l2 / 2 * vec_dot(x, x, p->dim);
	return isnan(loss) ? INFINITY : loss;
}

double problem_loss(const struct problem *p, const double *x, int threads)
{
	double accuracy;
	return problem_evaluate(p, x, threads, &accuracy);
}
