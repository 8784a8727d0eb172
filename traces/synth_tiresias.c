/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * synth_tiresias.c - the queue of a small deep-learning cluster, in whole seconds
 *
 * GPUs 1, 2, 4, 8, 16 with probability .55, .12, .15, .14, .04; durations lognormal(mu, sigma), clamped to [low, high];
 * exponential gaps of the given mean, rounded. Comparisons with other simulators use this model.
 */
#include "traces/draw.h"
#include "traces/generator.h"

#include "base/num.h"

#include <gsl/gsl_randist.h>
#include <math.h>

static const uint32_t sizes[] = { 1, 2, 4, 8, 16 };
static const double size_weight[] = { 0.55, 0.12, 0.15, 0.14, 0.04, -1 };

struct model {
	struct rng arrivals, service, mix;
	double gap, mu, sigma, low, high;
	int64_t now_ns;
	bool has_begun;
};

static const struct orr_param params[] = { GENERATOR_PARAM_N("10000"),
	ORR_PARAM_REAL("gap", "120", 1e-6, 1e9, "mean time between submissions, seconds"),
	ORR_PARAM_REAL("mu", "6.8", -20, 20, "mean of the logarithm of the duration"),
	ORR_PARAM_REAL("sigma", "1.6", 0, 10, "standard deviation of that logarithm"),
	ORR_PARAM_REAL("low", "30", 0, 1e9, "shortest duration, seconds"),
	ORR_PARAM_REAL("high", "200000", 0, 1e9, "longest duration, seconds"), GENERATOR_PARAM_TRAINING, ORR_PARAM_END };

static int check(const struct orr_args *args, struct orr_error *err)
{
	if (orr_arg_real(args, "low") <= orr_arg_real(args, "high"))
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT, "generator tiresias-like: low: expected at most high");
}

static void start(void *state, const void *args, uint64_t seed, uint64_t index)
{
	struct model *m = state;
	rng_init(&m->arrivals, seed, "arrivals", index);
	rng_init(&m->service, seed, "service", index);
	rng_init(&m->mix, seed, "mix", index);
	m->gap = orr_arg_real(args, "gap");
	m->mu = orr_arg_real(args, "mu");
	m->sigma = orr_arg_real(args, "sigma");
	m->low = orr_arg_real(args, "low");
	m->high = orr_arg_real(args, "high");
}

static bool next(void *state, struct job_rec *row)
{
	struct model *m = state;
	double gap = round(rng_exponential(&m->arrivals, m->gap));
	if (m->has_begun)
		m->now_ns = num_add_sat(m->now_ns, draw_to_ns(gap));
	m->has_begun = true;
	double duration = gsl_ran_lognormal(rng_gsl(&m->service), m->mu, m->sigma);
	row->submit_ns = m->now_ns;
	row->duration_ns = draw_to_ns(round(fmin(fmax(duration, m->low), m->high)));
	row->gpus = sizes[draw_index(&m->mix, size_weight)];
	return true;
}

const struct generator generator_tiresias = {
	.name = "tiresias-like",
	.doc = "1 to 16 GPUs, lognormal durations, Poisson arrivals, whole seconds",
	.params = params,
	.state_size = sizeof(struct model),
	.check = check,
	.start = start,
	.next = next,
};
