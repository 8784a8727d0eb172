/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scores of stages: from the flow, from a law with noise, or the loss of real SGD (sim/learn). */
#include "jobs/flows.h"

#include "base/rng.h"
#include "jobs/world.h"
#include "learn/learn.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

static struct learn_config config_of(const struct orr_jobs *w, const struct flow_run *run, const struct flow_score *s, double value)
{
	struct orr_error err = { 0 };
	struct orr_args *args = args_new(learn_options, "score", &err);
	struct learn_config c;
	learn_config_read(&c, args);
	args_free(args);
	bool is_rate = !strcmp(s->parameter, "lr"), is_hidden = !strcmp(s->parameter, "hidden"), is_batch = !strcmp(s->parameter, "batch");
	c.problem = !strcmp(s->problem, "mlp") ? LEARN_MLP : !strcmp(s->problem, "logistic") ? LEARN_LOGISTIC : LEARN_LEAST_SQUARES;
	c.rows = s->rows;
	c.inputs = s->inputs;
	c.hidden = is_hidden ? (uint32_t)fmax(1, value) : s->hidden;
	c.batch = is_batch ? (uint32_t)fmax(1, value) : s->batch;
	c.lr = is_rate ? fmax(0, value) : s->lr;
	c.data_seed = s->seed + w->config->seed + 1000003 * w->config->replication + run->number;
	c.seed = c.data_seed;
	c.eval_samples = 0;
	c.eval_updates = 0;
	c.threads = 1;
	return c;
}

/* Returns the loss after the steps of SGD on one device. All branches use the same data, start and mini-batches. */
static double loss_of_sgd(struct orr_jobs *w, const struct flow_run *run, const struct flow_op *o, double value)
{
	static const struct orr_update step[] = { { .kind = ORR_GRADIENT }, { .kind = ORR_LOCAL_UPDATE } };
	struct learn_config c = config_of(w, run, &o->score, value);
	const uint32_t device = 0;
	struct learn *l = learn_new(&c, &w->error);
	int rc = l ? 0 : -1;
	for (uint32_t i = 0; !rc && i < o->score.steps; i++)
		for (uint32_t k = 0; !rc && k < 2; k++) {
			uint64_t op = (uint64_t)(i + 1) << 32 | k;
			rc = learn_begin(l, i, op, &step[k], 1, &device, 1, &w->error);
			if (!rc)
				rc = learn_end(l, i, op, device, &w->error);
		}
	double loss = NAN;
	if (!rc) {
		size_t n;
		learn_finish(l);
		const struct learn_point *p = learn_series(l, &n);
		loss = n ? p[n - 1].loss : NAN;
	}
	learn_free(l);
	return isfinite(loss) ? loss : INFINITY;
}

static double of_law(const struct orr_jobs *w, const struct flow_run *run, uint32_t op, uint64_t path)
{
	const struct flow *f = run->flow;
	const struct flow_score *s = &f->op[op].score;
	uint64_t n = f->op[op].instances;
	double x = n > 1 ? (double)path / (double)(n - 1) : 0, v = 0;
	struct rng r;
	rng_init(&r, rng_seed_of(w->config->seed, w->config->replication), "scores",
		(run->base + f->op[op].position) * UINT64_C(0x9e3779b97f4a7c15) + path);
	double drawn = rng_uniform(&r);
	switch (s->how) {
	case FLOW_SCORE_VALUES:
		v = flow_value(&s->values, path);
		break;
	case FLOW_SCORE_LINEAR:
		v = s->slope * x;
		break;
	case FLOW_SCORE_QUADRATIC:
		v = -s->slope * (x - s->best) * (x - s->best);
		break;
	default:
		v = s->slope * drawn;
	}
	return s->noise > 0 ? v + gsl_ran_gaussian_ziggurat(rng_gsl(&r), s->noise) : v;
}

double flow_score_of(struct orr_jobs *w, const struct flow_run *run, uint32_t op, uint64_t path)
{
	const struct flow_op *o = &run->flow->op[op];
	if (o->score.how == FLOW_SCORE_SGD)
		return loss_of_sgd(w, run, o, o->scope == FLOW_ROOT ? 0 : flow_value(&run->flow->op[o->scope].value, path));
	return of_law(w, run, op, path);
}
