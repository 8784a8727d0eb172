/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_arrivals.c - arrival processes of requests: poisson, gamma, periodic, mmpp, alternating
 *
 * poisson      exponential gaps of mean 1/rate
 * gamma        gaps Gamma(1/cv^2, cv^2/rate): mean 1/rate, coefficient of variation cv
 * periodic     gaps of 1/rate
 * mmpp         Poisson with the rate of a phase; the phases are cyclic and have exponential durations (for two phases:
 *              Fischer and Meier-Hellstern, Performance Evaluation 18(2), 1993). The process starts in the stationary
 *              distribution, so the mean rate is the mean of the rates weighted by durations.
 * alternating  Poisson that alternates between the rates low and high, each for a fixed time
 *
 * The first request arrives one gap after time 0. Stream "request arrivals" draws gaps, "request phases" phases.
 */
#include "traces/req_content.h"

#include "base/mem.h"
#include "base/num.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

enum { MAX_PHASES = 16 };

struct plan {
	double gap_ns; /* mean gap, ns; unused with phases */
	double shape;  /* gamma */
	uint32_t n_phases;
	double rate[MAX_PHASES], hold_s[MAX_PHASES];
	bool holds_exactly; /* alternating */
	struct req_content content;
};

struct state {
	const struct plan *plan;
	struct rng gaps, phases;
	struct req_content_draw content;
	int64_t now_ns;
	uint32_t phase;
	double left_s; /* remaining time of the phase, s */
};

#define LATEST_NS INT64_C(4000000000000000000)

static bool arrive(struct state *s, double gap_ns, struct request_rec *row)
{
	int64_t room = LATEST_NS - s->now_ns;
	s->now_ns += gap_ns < (double)room ? (int64_t)(gap_ns + 0.5) : room;
	row->arrival_ns = s->now_ns;
	req_content_draw(&s->content, row);
	return true;
}

static void unplan(void *plan)
{
	req_content_free(&((struct plan *)plan)->content);
}

static void start(void *state, const void *plan, uint64_t seed, uint64_t index)
{
	struct state *s = state;
	const struct plan *p = s->plan = plan;
	rng_init(&s->gaps, seed, "request arrivals", index);
	rng_init(&s->phases, seed, "request phases", index);
	req_content_start(&s->content, &p->content, seed, index);
	if (!p->n_phases)
		return;
	double sum = 0, u = rng_uniform(&s->phases);
	for (uint32_t i = 0; i < p->n_phases; i++)
		sum += p->hold_s[i];
	u *= sum;
	while (!p->holds_exactly && s->phase + 1 < p->n_phases && u >= p->hold_s[s->phase])
		u -= p->hold_s[s->phase++];
	s->left_s = p->holds_exactly ? p->hold_s[0] : rng_exponential(&s->phases, p->hold_s[s->phase]);
}

/* ---- independent gaps ---- */

#define PARAM_RATE ORR_PARAM_REAL("rate", "10", 1e-9, 1e12, "arrivals per second")

static int plan_rate(void *plan, const char *name, const struct orr_args *args, struct rowset *set, struct orr_error *err)
{
	struct plan *p = plan;
	p->gap_ns = 1e9 / orr_arg_real(args, "rate");
	return req_content_plan(&p->content, name, args, set, err);
}

static int plan_poisson(void *plan, const struct orr_args *args, struct rowset *set, struct orr_error *err)
{
	return plan_rate(plan, "poisson", args, set, err);
}

static bool next_poisson(void *state, struct request_rec *row)
{
	struct state *s = state;
	return arrive(s, rng_exponential(&s->gaps, s->plan->gap_ns), row);
}

static const struct orr_param poisson_params[] = { PARAM_RATE, REQUEST_PARAM_N("10000"), REQUEST_PARAMS_CONTENT, ORR_PARAM_END };

const struct generator req_generator_poisson = {
	.kind = TRACE_REQUESTS,
	.name = "poisson",
	.doc = "Poisson arrivals",
	.params = poisson_params,
	.plan_size = sizeof(struct plan),
	.state_size = sizeof(struct state),
	.make_plan = plan_poisson,
	.unplan = unplan,
	.start = start,
	.next_request = next_poisson,
};

static int plan_gamma(void *plan, const struct orr_args *args, struct rowset *set, struct orr_error *err)
{
	double cv = orr_arg_real(args, "cv");
	((struct plan *)plan)->shape = 1 / (cv * cv);
	return plan_rate(plan, "gamma", args, set, err);
}

static bool next_gamma(void *state, struct request_rec *row)
{
	struct state *s = state;
	const struct plan *p = s->plan;
	return arrive(s, gsl_ran_gamma(rng_gsl(&s->gaps), p->shape, p->gap_ns / p->shape), row);
}

static const struct orr_param gamma_params[] = { PARAM_RATE,
	ORR_PARAM_REAL("cv", "2", 1e-3, 1e3, "coefficient of variation of gaps: 1 is Poisson, above 1 is bursty"), REQUEST_PARAM_N("10000"),
	REQUEST_PARAMS_CONTENT, ORR_PARAM_END };

const struct generator req_generator_gamma = {
	.kind = TRACE_REQUESTS,
	.name = "gamma",
	.doc = "gamma gaps with a given coefficient of variation",
	.params = gamma_params,
	.plan_size = sizeof(struct plan),
	.state_size = sizeof(struct state),
	.make_plan = plan_gamma,
	.unplan = unplan,
	.start = start,
	.next_request = next_gamma,
};

static int plan_periodic(void *plan, const struct orr_args *args, struct rowset *set, struct orr_error *err)
{
	return plan_rate(plan, "periodic", args, set, err);
}

/* Places request k at exactly k gaps, so rounding to ns does not accumulate. */
static bool next_periodic(void *state, struct request_rec *row)
{
	struct state *s = state;
	double at = (double)(row->number + 1) * s->plan->gap_ns;
	return arrive(s, at - (double)s->now_ns, row);
}

const struct generator req_generator_periodic = {
	.kind = TRACE_REQUESTS,
	.name = "periodic",
	.doc = "arrivals at fixed intervals",
	.params = poisson_params,
	.plan_size = sizeof(struct plan),
	.state_size = sizeof(struct state),
	.make_plan = plan_periodic,
	.unplan = unplan,
	.start = start,
	.next_request = next_periodic,
};

/* ---- phases ---- */

static const double LEAST_PER_LAP = 1e-4;

static double draw_hold(struct state *s)
{
	double hold = s->plan->hold_s[s->phase];
	return s->plan->holds_exactly ? hold : rng_exponential(&s->phases, hold);
}

static bool next_phased(void *state, struct request_rec *row)
{
	struct state *s = state;
	double gap_s = 0;
	for (;;) {
		double rate = s->plan->rate[s->phase];
		double wait = rate > 0 ? rng_exponential(&s->gaps, 1 / rate) : INFINITY;
		if (wait <= s->left_s) {
			s->left_s -= wait;
			return arrive(s, (gap_s + wait) * 1e9, row);
		}
		/* Memoryless: a gap that ends after the change of phase is redrawn. */
		gap_s += s->left_s;
		s->phase = s->phase + 1 < s->plan->n_phases ? s->phase + 1 : 0;
		s->left_s = draw_hold(s);
	}
}

/* Parses "5|50|0" as numbers, or "10s|5m" as seconds; returns their number; 0: invalid. */
static uint32_t read_parts(const char *s, bool is_time, double out[MAX_PHASES])
{
	for (uint32_t i = 0; i < MAX_PHASES; i++) {
		size_t n = strcspn(s, "|");
		int64_t ns = 0;
		bool good = is_time ? num_duration_ns(s, n, &ns) && ns > 0 && ns <= LATEST_NS
				    : num_real(s, n, &out[i]) && out[i] >= 0 && out[i] <= 1e12;
		if (!good)
			return 0;
		if (is_time)
			out[i] = (double)ns / 1e9;
		if (!s[n])
			return i + 1;
		s += n + 1;
	}
	return 0;
}

/* Limits the work of a draw, because phases without requests are skipped one by one. */
static int check_phases(const struct plan *p, const char *name, struct orr_error *err)
{
	double n = 0;
	for (uint32_t i = 0; i < p->n_phases; i++)
		n += p->rate[i] * p->hold_s[i];
	return n >= LEAST_PER_LAP ? ORR_OK
				  : orr_fail(err, ORR_EINPUT,
					    "generator %s: %.3g requests per cycle of the phases: expected at least %g (longer phases or "
					    "higher rates)",
					    name, n, LEAST_PER_LAP);
}

static int plan_mmpp(void *plan, const struct orr_args *args, struct rowset *set, struct orr_error *err)
{
	struct plan *p = plan;
	const char *rates = orr_arg_text(args, "rates"), *durations = orr_arg_text(args, "durations");
	double most = 0;
	p->n_phases = read_parts(rates, false, p->rate);
	for (uint32_t i = 0; i < p->n_phases; i++)
		most = fmax(most, p->rate[i]);
	if (!p->n_phases || !(most > 0))
		return orr_fail(err, ORR_EINPUT,
			"generator mmpp: rates: expected at most %d rates from 0 to 1e12, separated by |, one above 0, found \"%.60s\"",
			MAX_PHASES, rates);
	if (read_parts(durations, true, p->hold_s) != p->n_phases)
		return orr_fail(err, ORR_EINPUT,
			"generator mmpp: durations: expected %u times above 0 such as 10s|5m, one per rate, found \"%.60s\"", p->n_phases,
			durations);
	int rc = check_phases(p, "mmpp", err);
	return rc ? rc : req_content_plan(&p->content, "mmpp", args, set, err);
}

static const struct orr_param mmpp_params[] = { ORR_PARAM_TEXT("rates", "20|2", "arrivals per second in each phase"),
	ORR_PARAM_TEXT("durations", "10s|60s", "mean time in each phase"), REQUEST_PARAM_N("10000"), REQUEST_PARAMS_CONTENT,
	ORR_PARAM_END };

const struct generator req_generator_mmpp = {
	.kind = TRACE_REQUESTS,
	.name = "mmpp",
	.doc = "Markov-modulated Poisson arrivals: phases of different rates (bursts)",
	.params = mmpp_params,
	.plan_size = sizeof(struct plan),
	.state_size = sizeof(struct state),
	.make_plan = plan_mmpp,
	.unplan = unplan,
	.start = start,
	.next_request = next_phased,
};

static int plan_alternating(void *plan, const struct orr_args *args, struct rowset *set, struct orr_error *err)
{
	struct plan *p = plan;
	p->n_phases = 2;
	p->holds_exactly = true;
	p->rate[0] = orr_arg_real(args, "low");
	p->rate[1] = orr_arg_real(args, "high");
	p->hold_s[0] = p->hold_s[1] = (double)orr_arg_time_ns(args, "phase") / 1e9;
	if (!(p->rate[0] > 0) && !(p->rate[1] > 0))
		return orr_fail(err, ORR_EINPUT, "generator alternating: low and high are 0: expected one above 0");
	if (!(p->hold_s[0] > 0))
		return orr_fail(err, ORR_EINPUT, "generator alternating: phase: expected a time above 0, found \"0\"");
	int rc = check_phases(p, "alternating", err);
	return rc ? rc : req_content_plan(&p->content, "alternating", args, set, err);
}

static const struct orr_param alternating_params[] = { ORR_PARAM_REAL("low", "2.5", 0, 1e12, "arrivals per second in the first phase"),
	ORR_PARAM_REAL("high", "7.5", 0, 1e12, "arrivals per second in the second"),
	ORR_PARAM_TIME("phase", "100s", "duration of each phase"), REQUEST_PARAM_N("10000"), REQUEST_PARAMS_CONTENT, ORR_PARAM_END };

const struct generator req_generator_alternating = {
	.kind = TRACE_REQUESTS,
	.name = "alternating",
	.doc = "Poisson arrivals, with a low and a high rate in phases of fixed length",
	.params = alternating_params,
	.plan_size = sizeof(struct plan),
	.state_size = sizeof(struct state),
	.make_plan = plan_alternating,
	.unplan = unplan,
	.start = start,
	.next_request = next_phased,
};
