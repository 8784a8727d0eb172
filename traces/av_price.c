/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * av_price.c - mean-reverting spot prices
 *
 * The logarithm of the price is an Ornstein-Uhlenbeck process (Uhlenbeck and Ornstein, Physical Review 36, 1930), sampled
 * exactly every `step`: x' = x e^(-step/revert) + sd sqrt(1 - e^(-2 step/revert)) z, price = mean e^(x - sd^2/2). The mean
 * price is `mean`. The process starts in its stationary distribution. `most` is an upper limit, which lowers the mean. Stream
 * "avail price ZONE".
 */
#include "traces/avail_format.h"
#include "traces/generator.h"

#include "base/rng.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct plan {
	uint32_t n_zones, type, zone[AVAIL_MAX_ZONES];
	double mean, sd, keep, noise, most;
	int64_t step_ns;
};

struct state {
	const struct plan *plan;
	struct rng rng[AVAIL_MAX_ZONES];
	double x[AVAIL_MAX_ZONES];
	uint32_t next;
	int64_t t_ns;
};

static void start(void *state, const void *plan, uint64_t seed, uint64_t index)
{
	struct state *s = state;
	s->plan = plan;
	for (uint32_t i = 0; i < s->plan->n_zones; i++) {
		char name[32];
		snprintf(name, sizeof name, "avail price %u", i);
		rng_init(&s->rng[i], seed, name, index);
		s->x[i] = gsl_ran_gaussian(rng_gsl(&s->rng[i]), s->plan->sd);
	}
}

static bool next(void *state, struct avail_rec *row)
{
	struct state *s = state;
	const struct plan *p = s->plan;
	uint32_t i = s->next;
	if (s->t_ns > INT64_C(4000000000000000000) - p->step_ns)
		return false;
	double price = p->mean * exp(s->x[i] - p->sd * p->sd / 2);
	row->kind = AVAIL_PRICE;
	row->t_ns = s->t_ns;
	row->zone = p->zone[i];
	row->type = p->type;
	row->usd_per_hour = p->most > 0 && price > p->most ? p->most : price;
	s->x[i] = s->x[i] * p->keep + gsl_ran_gaussian(rng_gsl(&s->rng[i]), p->noise);
	s->next = i + 1 < p->n_zones ? i + 1 : 0;
	s->t_ns += s->next ? 0 : p->step_ns;
	return true;
}

static int make_plan(void *plan, const struct orr_args *args, struct rowset *set, struct orr_error *err)
{
	struct plan *p = plan;
	const char *type = orr_arg_text(args, "type");
	p->n_zones = rowset_list_all(set, orr_arg_text(args, "zones"), p->zone, AVAIL_MAX_ZONES, "generator price", err);
	if (!p->n_zones)
		return ORR_EINPUT;
	p->type = rowset_text(set, type, strlen(type));
	p->mean = orr_arg_real(args, "mean");
	p->sd = orr_arg_real(args, "sd");
	p->most = orr_arg_real(args, "most");
	p->step_ns = orr_arg_time_ns(args, "step");
	double revert_ns = (double)orr_arg_time_ns(args, "revert");
	if (!p->step_ns || !(revert_ns > 0))
		return orr_fail(
			err, ORR_EINPUT, "generator price: %s: expected a time above 0, found \"0\"", p->step_ns ? "revert" : "step");
	p->keep = exp(-(double)p->step_ns / revert_ns);
	p->noise = p->sd * sqrt(-expm1(-2 * (double)p->step_ns / revert_ns));
	return ORR_OK;
}

static const struct orr_param params[] = { ORR_PARAM_REAL("mean", "0.918", 1e-6, 1e4, "USD per hour"),
	ORR_PARAM_REAL("sd", "0.05", 0, 5, "standard deviation of the logarithm of the price"),
	ORR_PARAM_TIME("revert", "168h", "time in which a deviation from the mean falls to 1/e"),
	ORR_PARAM_TIME("step", "1h", "time between prices"), ORR_PARAM_REAL("most", "0", 0, 1e6, "upper bound of the price; 0: none"),
	ORR_PARAM_TEXT("zones", "", "names of zones, separated by |, each with its price; none: one price"),
	ORR_PARAM_TEXT("type", "", "type of instance"), AVAIL_PARAM_LENGTH("168h"), AVAIL_SHIFT_PARAMS, ORR_PARAM_END };

const struct generator avail_generator_price = {
	.kind = TRACE_AVAIL,
	.name = "price",
	.doc = "mean-reverting spot prices",
	.params = params,
	.makes_prices = true,
	.plan_size = sizeof(struct plan),
	.state_size = sizeof(struct state),
	.make_plan = make_plan,
	.start = start,
	.next_avail = next,
};
