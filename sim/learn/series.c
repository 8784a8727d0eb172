/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loss over time. A point is recorded when time advances, so it includes all events of its instant. */
#include "learn/state.h"

#include "base/mem.h"
#include "step/step.h"

#include <math.h>

/* Returns the mean of the replicas, the server's copy, or the base model. The caller gets one reference. */
static struct vec *model(struct learn *l)
{
	enum learn_model m = l->config.model;
	bool is_server = l->has_server || !l->n_replicas, is_mean = !is_server && !l->has_base; /* by LEARN_MODEL_AUTO */
	if ((m == LEARN_MODEL_SERVER && !is_server) || (m == LEARN_MODEL_MEAN && l->n_replicas && !is_mean))
		l->used |= STEP_USED_LEARN_MODEL;
	if (m == LEARN_MODEL_SERVER || (m == LEARN_MODEL_AUTO && l->has_server) || !l->n_replicas)
		return vec_ref(l->server);
	if (m == LEARN_MODEL_AUTO && l->has_base)
		return vec_ref(l->base[0].z);
	struct vec *mean = vec_new(&l->pool, l->pool.dim);
	const double **x = mem_alloc(l->n_replicas * sizeof *x);
	for (uint32_t i = 0; i < l->n_replicas; i++)
		x[i] = l->replica[i]->x->v;
	vec_sum(mean->v, x, l->n_replicas, 1. / l->n_replicas, l->pool.dim);
	mem_free(x);
	return mean;
}

static double worst_loss(struct learn *l)
{
	double worst = -INFINITY;
	for (uint32_t i = 0; i < l->n_replicas; i++) {
		double loss = problem_loss(l->problem, l->replica[i]->x->v, l->config.threads);
		worst = loss > worst ? loss : worst;
	}
	return l->n_replicas ? worst : NAN;
}

double learn_dispersion(struct learn *l)
{
	size_t n = l->n_replicas, dim = l->pool.dim;
	if (!n)
		return 0;
	double sum = 0;
	for (size_t i = 0; i < dim; i++) { /* sums are relative to the first replica, so that equal replicas give exactly 0 */
		double first = l->replica[0]->x->v[i], total = 0, squares = 0;
		for (size_t k = 1; k < n; k++)
			total += l->replica[k]->x->v[i] - first;
		double mean = total / (double)n;
		for (size_t k = 0; k < n; k++) {
			double d = l->replica[k]->x->v[i] - first - mean;
			squares += d * d;
		}
		sum += squares;
	}
	return sum / (double)n;
}

static void take_point(struct learn *l)
{
	MEM_GROW(l->point, l->n_points, l->cap_points);
	struct learn_point *p = &l->point[l->n_points++];
	*p = (struct learn_point){ .time_s = l->now, .samples = l->samples, .updates = l->updates, .worst = NAN };
	struct vec *m = model(l);
	p->loss = problem_evaluate(l->problem, m->v, l->config.threads, &p->accuracy);
	vec_unref(&l->pool, m);
	if (l->config.eval_worst)
		p->worst = worst_loss(l);
	p->dispersion = learn_dispersion(l);
	l->is_due = false;
}

void series_advance(struct learn *l, double time_s)
{
	if (time_s > l->now && l->is_due)
		take_point(l);
	l->now = time_s;
}

void series_note(struct learn *l)
{
	const struct learn_config *c = &l->config;
	if (c->eval_updates && l->updates >= l->next_eval_update) {
		l->is_due = true;
		l->next_eval_update = (l->updates / c->eval_updates + 1) * c->eval_updates;
	}
	if (c->eval_samples > 0 && l->samples >= l->next_eval_sample) {
		l->is_due = true;
		l->next_eval_sample = (floor(l->samples / c->eval_samples) + 1) * c->eval_samples;
	}
}

void learn_finish(struct learn *l)
{
	const struct learn_point *last = l->n_points ? &l->point[l->n_points - 1] : NULL;
	if (l->gcn && last && !l->is_due)
		return; /* the weights have not changed since the point of the last step */
	if (l->is_due || !last || last->updates != l->updates || last->samples != l->samples || last->time_s != l->now)
		take_point(l);
}

/* ---- results ---- */

const struct learn_point *learn_series(const struct learn *l, size_t *n)
{
	*n = l->n_points;
	return l->point;
}

/* Returns the value of a field of the points (at `offset`) where the loss first reaches the target. */
static double where(const struct learn *l, double target, size_t offset)
{
	for (size_t i = 0; i < l->n_points; i++) {
		const struct learn_point *p = &l->point[i];
		if (!(p->loss <= target))
			continue;
		double here = *(const double *)((const char *)p + offset);
		if (!i || !isfinite(p[-1].loss))
			return here;
		double before = *(const double *)((const char *)(p - 1) + offset);
		return before + (p[-1].loss - target) / (p[-1].loss - p->loss) * (here - before);
	}
	return INFINITY;
}

double learn_time_to(const struct learn *l, double target)
{
	return where(l, target, offsetof(struct learn_point, time_s));
}

double learn_samples_to(const struct learn *l, double target)
{
	return where(l, target, offsetof(struct learn_point, samples));
}

unsigned learn_used(const struct learn *l)
{
	return l->used;
}

double learn_staleness(const struct learn *l)
{
	return l->n_stale > 0 ? l->staleness / l->n_stale : 0;
}

uint64_t learn_history_needed(const struct learn *l)
{
	return l->history_needed;
}

bool learn_reached(const struct learn *l)
{
	const struct learn_point *last = l->n_points ? &l->point[l->n_points - 1] : NULL;
	return last && (last->loss <= l->config.target || last->accuracy >= l->config.target_accuracy);
}

double learn_ghost_staleness(const struct learn *l)
{
	return l->gcn ? gcn_ghost_staleness(l->gcn) : NAN;
}

uint64_t learn_steps(const struct learn *l)
{
	return l->updates;
}

double learn_samples(const struct learn *l)
{
	return l->samples;
}

double learn_floor(struct learn *l)
{
	if (!l->has_floor) {
		l->floor = problem_floor(l->problem);
		l->has_floor = true;
	}
	return l->floor;
}
