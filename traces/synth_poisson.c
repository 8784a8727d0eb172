/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * synth_poisson.c - Poisson and Markov-modulated Poisson arrivals
 *
 * poisson: exponential gaps of mean 1/rate. With one GPU per job and exp or det
 * service, on c GPUs, this is M/M/c or M/D/c. service=hyper draws from two
 * exponentials with balanced means (the shares p and 1-p have equal load) and the
 * squared coefficient of variation scv.
 *
 * mmpp: two alternating states with exponential durations of mean hold1 and hold2; arrivals are Poisson of rate1 or rate2
 * (Fischer and Meier-Hellstern, "The Markov-modulated Poisson process (MMPP) cookbook", Performance Evaluation 18(2), 1993).
 * Stream "state" draws the durations.
 */
#include "traces/draw.h"
#include "traces/generator.h"

#include "base/num.h"

#include <math.h>
#include <string.h>

enum service { SERVICE_EXP, SERVICE_DET, SERVICE_HYPER };

struct service_law {
	struct rng rng;
	enum service kind;
	double mean;
	double p, mean1, mean2; /* hyper */
	uint32_t gpus;
};

#define SERVICE_PARAMS                                                                               \
	ORR_PARAM_CHOICE("service", "exp", "exp|det|hyper", "distribution of durations"),            \
		ORR_PARAM_REAL("mean", "1", 1e-9, 1e9, "mean duration, seconds"),                    \
		ORR_PARAM_REAL("scv", "4", 1, 1e6, "squared coefficient of variation (hyper only)"), \
		ORR_PARAM_INT("gpus", "1", 0, 1e6, "GPUs of each job")

static void service_start(struct service_law *s, const struct orr_args *args, uint64_t seed, uint64_t index)
{
	const char *kind = orr_arg_text(args, "service");
	rng_init(&s->rng, seed, "service", index);
	s->kind = !strcmp(kind, "det") ? SERVICE_DET : !strcmp(kind, "hyper") ? SERVICE_HYPER : SERVICE_EXP;
	s->mean = orr_arg_real(args, "mean");
	s->gpus = (uint32_t)orr_arg_int(args, "gpus");
	double scv = orr_arg_real(args, "scv");
	s->p = (1 + sqrt((scv - 1) / (scv + 1))) / 2;
	s->mean1 = s->mean / (2 * s->p);
	s->mean2 = s->mean / (2 * (1 - s->p));
}

static void service_draw(struct service_law *s, struct job_rec *row)
{
	double mean = s->mean;
	if (s->kind == SERVICE_HYPER)
		mean = rng_uniform(&s->rng) < s->p ? s->mean1 : s->mean2;
	row->duration_ns = draw_to_ns(s->kind == SERVICE_DET ? mean : rng_exponential(&s->rng, mean));
	row->gpus = s->gpus;
}

/* ---- poisson ---- */

struct poisson {
	struct rng arrivals;
	struct service_law service;
	double mean_gap;
	int64_t now_ns;
};

static const struct orr_param poisson_params[] = { ORR_PARAM_REAL("rate", "0.5", 1e-9, 1e9, "arrivals per second"),
	GENERATOR_PARAM_N("10000"), SERVICE_PARAMS, GENERATOR_PARAM_TRAINING, ORR_PARAM_END };

static void poisson_start(void *state, const void *args, uint64_t seed, uint64_t index)
{
	struct poisson *p = state;
	rng_init(&p->arrivals, seed, "arrivals", index);
	service_start(&p->service, args, seed, index);
	p->mean_gap = 1 / orr_arg_real(args, "rate");
}

static bool poisson_next(void *state, struct job_rec *row)
{
	struct poisson *p = state;
	p->now_ns = num_add_sat(p->now_ns, draw_to_ns(rng_exponential(&p->arrivals, p->mean_gap)));
	row->submit_ns = p->now_ns;
	service_draw(&p->service, row);
	return true;
}

const struct generator generator_poisson = {
	.name = "poisson",
	.doc = "Poisson arrivals; exponential, constant or hyperexponential durations (M/M/c, M/D/c)",
	.params = poisson_params,
	.state_size = sizeof(struct poisson),
	.is_alike = true,
	.start = poisson_start,
	.next = poisson_next,
};

/* ---- mmpp ---- */

struct mmpp {
	struct rng arrivals, states;
	struct service_law service;
	double rate[2], hold[2];
	int state;
	double left; /* remaining time of the state, s */
	int64_t now_ns;
};

static const struct orr_param mmpp_params[] = { ORR_PARAM_REAL("rate1", "1", 0, 1e9, "arrivals per second in state 1"),
	ORR_PARAM_REAL("rate2", "0.05", 0, 1e9, "arrivals per second in state 2"),
	ORR_PARAM_REAL("hold1", "600", 1e-9, 1e9, "mean time in state 1, seconds"),
	ORR_PARAM_REAL("hold2", "3000", 1e-9, 1e9, "mean time in state 2, seconds"), GENERATOR_PARAM_N("10000"), SERVICE_PARAMS,
	GENERATOR_PARAM_TRAINING, ORR_PARAM_END };

static int mmpp_check(const struct orr_args *args, struct orr_error *err)
{
	if (orr_arg_real(args, "rate1") > 0 || orr_arg_real(args, "rate2") > 0)
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT, "generator mmpp: rate1 and rate2 are 0: expected one above 0");
}

static void mmpp_start(void *state, const void *args, uint64_t seed, uint64_t index)
{
	struct mmpp *m = state;
	rng_init(&m->arrivals, seed, "arrivals", index);
	rng_init(&m->states, seed, "state", index);
	service_start(&m->service, args, seed, index);
	m->rate[0] = orr_arg_real(args, "rate1");
	m->rate[1] = orr_arg_real(args, "rate2");
	m->hold[0] = orr_arg_real(args, "hold1");
	m->hold[1] = orr_arg_real(args, "hold2");
	/* Starts in the stationary distribution. */
	m->state = rng_uniform(&m->states) * (m->hold[0] + m->hold[1]) < m->hold[0] ? 0 : 1;
	m->left = rng_exponential(&m->states, m->hold[m->state]);
}

static bool mmpp_next(void *state, struct job_rec *row)
{
	struct mmpp *m = state;
	double gap = 0;
	for (;;) {
		double rate = m->rate[m->state];
		double wait = rate > 0 ? rng_exponential(&m->arrivals, 1 / rate) : INFINITY;
		if (wait <= m->left) {
			m->left -= wait;
			gap += wait;
			break;
		}
		/* Memoryless: a gap that ends after the change of state is redrawn. */
		gap += m->left;
		m->state = !m->state;
		m->left = rng_exponential(&m->states, m->hold[m->state]);
	}
	m->now_ns = num_add_sat(m->now_ns, draw_to_ns(gap));
	row->submit_ns = m->now_ns;
	service_draw(&m->service, row);
	return true;
}

const struct generator generator_mmpp = {
	.name = "mmpp",
	.doc = "Markov-modulated Poisson arrivals with two states (bursts)",
	.params = mmpp_params,
	.state_size = sizeof(struct mmpp),
	.is_alike = true,
	.check = mmpp_check,
	.start = mmpp_start,
	.next = mmpp_next,
};
