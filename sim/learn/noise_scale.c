/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "learn/noise_scale.h"

#include "base/mem.h"
#include "learn/problem.h"
#include "learn/vec.h"

#include <math.h>
#include <string.h>

struct problem *noise_scale_problem(const struct noise_scale *c, struct orr_error *err)
{
	const struct learn_config *l = &c->config;
	if (l->problem != LEARN_LEAST_SQUARES && l->problem != LEARN_LOGISTIC && l->problem != LEARN_MLP) {
		orr_fail(err, ORR_EINPUT, "learn.problem: expected least-squares, logistic or mlp, whose gradients are sums over samples");
		return NULL;
	}
	if (!(l->target > 0)) {
		orr_fail(err, ORR_EINPUT, "learn.target: expected a loss above 0");
		return NULL;
	}
	return problem_new(l, err);
}

struct sgd {
	const struct noise_scale *c;
	const struct problem *p;
	double *x, *g, *one, *scratch;
	uint32_t *rows;
	struct rng random;
};

/* Returns the noise scale at x, from the gradients of all rows. */
static double measure(struct sgd *s)
{
	const struct problem *p = s->p;
	double squares = 0, n = p->config.rows;
	memset(s->g, 0, p->dim * sizeof *s->g);
	for (uint32_t i = 0; i < p->config.rows; i++) {
		problem_gradient(p, s->x, &i, 1, 0, s->one, s->scratch);
		squares += vec_dot(s->one, s->one, p->dim);
		vec_axpy(s->g, s->g, 1 / n, s->one, p->dim);
	}
	double square = vec_dot(s->g, s->g, p->dim);
	return square > 0 ? fmax(squares / n - square, 0) / square : INFINITY;
}

static double gain_of(double phi, double batch, double base)
{
	return isinf(phi) ? batch / base : (phi + base) / (phi + batch) * (batch / base);
}

static void step(struct sgd *s, uint32_t batch, double lr)
{
	const struct problem *p = s->p;
	for (uint32_t i = 0; i < batch; i++)
		s->rows[i] = p->order[rng_below(&s->random, p->config.rows)];
	problem_gradient(p, s->x, s->rows, batch, 0, s->g, s->scratch);
	vec_axpy(s->x, s->x, -lr, s->g, p->dim);
}

/* Takes the steps of one interval of progress; returns the progress made. */
static double interval(struct sgd *s, double phi, double batch, double so_far, double *samples)
{
	const struct learn_config *l = &s->c->config;
	double gain = gain_of(phi, batch, l->batch), made = 0, every = fmax(s->c->every, 0.02 * so_far);
	while (made < every && *samples < s->c->max_samples) {
		step(s, (uint32_t)batch, l->lr * gain);
		made += gain;
		*samples += batch;
	}
	return made;
}

static void predict(double phi, double base, double made, const double *batches, double *predicted, size_t n)
{
	for (size_t i = 0; i < n; i++)
		predicted[i] += made * batches[i] / gain_of(phi, batches[i], base);
}

int noise_scale_run(const struct noise_scale *c, const struct problem *p, double batch, uint64_t seed, struct noise_run *out,
	const double *batches, double *predicted, size_t n_batches, struct orr_error *err)
{
	struct sgd s = { .c = c, .p = p };
	if (!(batch >= 1 && batch <= 1e8))
		return orr_fail(err, ORR_EINPUT, "batch: expected 1 to 100000000 samples, found %g", batch);
	s.x = mem_alloc(p->dim * sizeof *s.x);
	s.g = mem_alloc(p->dim * sizeof *s.g);
	s.one = mem_alloc(p->dim * sizeof *s.one);
	s.scratch = mem_alloc((p->scratch + 1) * sizeof *s.scratch);
	s.rows = mem_alloc((size_t)batch * sizeof *s.rows);
	rng_init(&s.random, seed, "learn.noise-scale", (uint64_t)batch);
	problem_start(p, s.x);
	*out = (struct noise_run){ 0 };
	double loss = problem_loss(p, s.x, 1), samples = 0;
	for (bool is_first = true; loss > c->config.target; is_first = false) {
		double phi = measure(&s), before = loss, from = samples;
		out->phi_first = is_first ? phi : out->phi_first;
		out->phi_last = phi;
		if (samples >= c->max_samples || isinf(loss)) {
			samples = INFINITY;
			break;
		}
		double made = interval(&s, phi, batch, out->progress, &samples), part = 1;
		loss = problem_loss(p, s.x, 1);
		if (loss <= c->config.target) /* linear within the interval */
			part = (before - c->config.target) / (before - loss);
		samples = from + part * (samples - from);
		out->progress += part * made;
		predict(phi, c->config.batch, part * made, batches, predicted, n_batches);
	}
	out->samples = samples;
	mem_free(s.x);
	mem_free(s.g);
	mem_free(s.one);
	mem_free(s.scratch);
	mem_free(s.rows);
	return ORR_OK;
}
