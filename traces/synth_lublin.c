/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * synth_lublin.c - the workload model of Lublin and Feitelson for parallel machines
 *
 * "The workload on parallel supercomputers: modeling the characteristics of rigid
 * jobs", Journal of Parallel and Distributed Computing 63(11), 2003; their program
 * is known as lublin99.c. This is its variant with one type of job:
 *  - size: 1 with probability 0.244, else 2^u with u two-stage uniform on
 *    [0.8, log2(nodes)], the break 2.5 below the top, 0.86 below the break; with
 *    probability 0.576 (of all jobs) rounded to a power of two;
 *  - ln(run time) hyper-gamma: Gamma(4.2, 0.94) with probability p, else
 *    Gamma(312, 0.03), p = 0.78 - 0.0054 x size; at most 12 (45 hours);
 *  - gaps: ln(gap) is Gamma(10.2303, 0.4871), at most 13, on a clock that runs
 *    at the pace of the time of day: half-hour slots weighted by the
 *    Gamma(8.1737, 3.9631) density, starting at 5:30.
 * Run times and submissions are rounded to seconds. docs/traces.md lists omissions.
 */
#include "traces/draw.h"
#include "traces/generator.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>

enum { SLOTS = 48, DAY_STARTS_IN_SLOT = 11 };
#define SLOT_S 1800.0
#define MAX_LN_RUN 12.0
#define MAX_LN_GAP 13.0

struct lublin {
	struct rng arrivals, service, sizes;
	double top;         /* log2 of the number of processors */
	double pace[SLOTS]; /* pace of the clock by time of day, mean 1 over the day */
	double now_s, end_s, load;
};

static const struct orr_param params[] = { GENERATOR_PARAM_N("10000"),
	ORR_PARAM_INT("nodes", "128", 2, 1e6, "number of processors, the largest size of a job"),
	ORR_PARAM_REAL("days", "0", 0, 36500, "length of the trace in days; 0: determined by n"),
	ORR_PARAM_REAL("load", "1", 1e-3, 1e3, "divisor of all gaps"), ORR_PARAM_END };

static bool ends(const struct orr_args *args)
{
	return orr_arg_real(args, "days") > 0;
}

static void start(void *state, const void *args, uint64_t seed, uint64_t index)
{
	struct lublin *l = state;
	rng_init(&l->arrivals, seed, "arrivals", index);
	rng_init(&l->service, seed, "service", index);
	rng_init(&l->sizes, seed, "sizes", index);
	l->top = log2((double)orr_arg_int(args, "nodes"));
	l->end_s = orr_arg_real(args, "days") * 86400;
	l->load = orr_arg_real(args, "load");
	double sum = 0;
	for (int i = 0; i < SLOTS; i++) {
		int slot = (i + DAY_STARTS_IN_SLOT) % SLOTS;
		l->pace[slot] = gsl_cdf_gamma_P(i + 0.5, 8.1737, 3.9631) - gsl_cdf_gamma_P(i - 0.5, 8.1737, 3.9631);
		sum += l->pace[slot];
	}
	for (int i = 0; i < SLOTS; i++)
		l->pace[i] = fmax(l->pace[i] * SLOTS / sum, 1e-4);
}

static uint32_t draw_size(struct lublin *l)
{
	double u = rng_uniform(&l->sizes);
	if (u <= 0.244)
		return 1;
	double low = fmin(0.8, l->top), middle = fmax(l->top - 2.5, low);
	double from = low, to = middle;
	if (rng_uniform(&l->sizes) > 0.86) {
		from = middle;
		to = l->top;
	}
	double size = from + (to - from) * rng_uniform(&l->sizes);
	if (u <= 0.244 + 0.576)
		size = floor(size + 0.5);
	return (uint32_t)fmin(floor(exp2(size) + 0.5), exp2(l->top));
}

static double draw_run(struct lublin *l, uint32_t size)
{
	double p = fmin(fmax(0.78 - 0.0054 * size, 0), 1);
	double ln;
	do
		ln = rng_uniform(&l->service) < p ? gsl_ran_gamma(rng_gsl(&l->service), 4.2, 0.94)
						  : gsl_ran_gamma(rng_gsl(&l->service), 312, 0.03);
	while (ln > MAX_LN_RUN);
	return exp(ln);
}

/* Advances by a gap drawn for the mean pace. Slots with a higher pace shorten the gap. */
static void advance(struct lublin *l)
{
	double ln;
	do
		ln = gsl_ran_gamma(rng_gsl(&l->arrivals), 10.2303, 0.4871);
	while (ln > MAX_LN_GAP);
	double left = exp(ln) / l->load;
	for (;;) {
		double into = fmod(l->now_s, SLOTS * SLOT_S);
		int slot = (int)(into / SLOT_S) % SLOTS;
		double rest = (slot + 1) * SLOT_S - into;
		if (left <= rest * l->pace[slot]) {
			l->now_s += left / l->pace[slot];
			return;
		}
		left -= rest * l->pace[slot];
		l->now_s += rest;
	}
}

static bool next(void *state, struct job_rec *row)
{
	struct lublin *l = state;
	advance(l);
	if (l->end_s > 0 && l->now_s > l->end_s)
		return false;
	row->gpus = draw_size(l);
	row->submit_ns = draw_to_ns(floor(l->now_s));
	row->duration_ns = draw_to_ns(round(draw_run(l, row->gpus)));
	return true;
}

const struct generator generator_lublin = {
	.name = "lublin",
	.doc = "Lublin and Feitelson 2003: rigid jobs of a parallel machine, daily cycle (suits SWF)",
	.params = params,
	.state_size = sizeof(struct lublin),
	.ends_by_itself = ends,
	.start = start,
	.next = next,
};
