/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * av_renewal.c - zones that alternate between available and unavailable
 *
 * All instances of a zone are added at the start of an up time and removed at its end. In SkyPilot's traces, all or none are
 * available for more than 94 % of the time (Wu et al., NSDI 2024). Up and down times are independent, exponential or lognormal.
 * At time 0 a zone is up with probability up / (up + down), and an up or down time begins. With exponential times this process
 * is stationary, with lognormal times almost. Stream "avail renewal ZONE".
 */
#include "traces/avail_format.h"
#include "traces/generator.h"

#include "base/num.h"
#include "base/rng.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct plan {
	uint32_t n_zones, nodes, zone[AVAIL_MAX_ZONES];
	double up_s[AVAIL_MAX_ZONES], down_s[AVAIL_MAX_ZONES];
	bool is_lognormal;
	double cv;
};

struct zone {
	struct rng rng;
	bool is_up; /* state that begins at t_ns */
	int64_t t_ns;
	uint32_t first;   /* first instance of the current up time */
	uint32_t n_given; /* number of rows of this change returned so far */
};

struct state {
	const struct plan *plan;
	uint32_t n_instances;
	struct zone zone[AVAIL_MAX_ZONES];
};

#define LATEST_NS INT64_C(4000000000000000000)

static int64_t draw_time(const struct plan *p, struct rng *rng, double mean_s)
{
	double s;
	if (p->is_lognormal) {
		double variance = log1p(p->cv * p->cv);
		s = mean_s * exp(gsl_ran_gaussian(rng_gsl(rng), sqrt(variance)) - variance / 2);
	} else {
		s = rng_exponential(rng, mean_s);
	}
	return s < 4e9 ? (int64_t)llround(s * 1e9) : LATEST_NS;
}

static void start(void *state, const void *plan, uint64_t seed, uint64_t index)
{
	struct state *s = state;
	const struct plan *p = s->plan = plan;
	for (uint32_t i = 0; i < p->n_zones; i++) {
		struct zone *z = &s->zone[i];
		char name[32];
		snprintf(name, sizeof name, "avail renewal %u", i);
		rng_init(&z->rng, seed, name, index);
		z->is_up = rng_uniform(&z->rng) < p->up_s[i] / (p->up_s[i] + p->down_s[i]);
		if (!z->is_up) {
			z->t_ns = draw_time(p, &z->rng, p->down_s[i]);
			z->is_up = true;
		}
	}
}

static bool next(void *state, struct avail_rec *row)
{
	struct state *s = state;
	const struct plan *p = s->plan;
	uint32_t i = 0;
	for (uint32_t k = 1; k < p->n_zones; k++)
		if (s->zone[k].t_ns < s->zone[i].t_ns || (s->zone[k].t_ns == s->zone[i].t_ns && s->zone[k].n_given > s->zone[i].n_given))
			i = k;
	struct zone *z = &s->zone[i];
	if (z->t_ns >= LATEST_NS)
		return false;
	if (z->is_up && !z->n_given) {
		z->first = s->n_instances;
		s->n_instances += p->nodes;
	}
	row->t_ns = z->t_ns;
	row->kind = z->is_up ? AVAIL_ADD : AVAIL_REMOVE;
	row->zone = p->zone[i];
	row->instance = z->first + z->n_given++;
	if (z->n_given < p->nodes)
		return true;
	int64_t time = draw_time(p, &z->rng, z->is_up ? p->up_s[i] : p->down_s[i]);
	z->t_ns = num_add_sat(z->t_ns, time);
	z->is_up = !z->is_up;
	z->n_given = 0;
	return true;
}

/* Parses "3h|1h": a time per zone, or one for all. */
static int read_times(const char *name, const char *text, uint32_t n, double out[], struct orr_error *err)
{
	uint32_t got = 0;
	const char *s = text;
	for (bool more = true; more && got < n;) {
		size_t length = strcspn(s, "|");
		int64_t ns;
		if (!num_duration_ns(s, length, &ns) || ns <= 0)
			break;
		out[got++] = (double)ns / 1e9;
		s += length;
		more = *s == '|';
		s += more;
	}
	for (uint32_t i = 1; got == 1 && i < n && !*s; i++)
		out[i] = out[0];
	if (*s || (got != n && got != 1))
		return orr_fail(err, ORR_EINPUT,
			"generator renewal: %s: expected a time above 0 such as 3h, or one per zone separated by |, found \"%.60s\"", name,
			text);
	return ORR_OK;
}

static int make_plan(void *plan, const struct orr_args *args, struct rowset *set, struct orr_error *err)
{
	struct plan *p = plan;
	p->n_zones = rowset_list_all(set, orr_arg_text(args, "zones"), p->zone, AVAIL_MAX_ZONES, "generator renewal", err);
	if (!p->n_zones || read_times("up", orr_arg_text(args, "up"), p->n_zones, p->up_s, err) ||
		read_times("down", orr_arg_text(args, "down"), p->n_zones, p->down_s, err))
		return ORR_EINPUT;
	p->nodes = (uint32_t)orr_arg_int(args, "nodes");
	p->is_lognormal = !strcmp(orr_arg_text(args, "law"), "lognormal");
	p->cv = orr_arg_real(args, "cv");
	return ORR_OK;
}

static const struct orr_param params[] = { ORR_PARAM_TEXT("zones", "", "names of zones, separated by |; none: one unnamed zone"),
	ORR_PARAM_INT("nodes", "1", 1, AVAIL_MAX_SLOTS, "instances of each zone"),
	ORR_PARAM_TEXT("up", "3h", "mean time for which a zone is available; one value, or one per zone"),
	ORR_PARAM_TEXT("down", "1h", "mean time for which a zone is unavailable"),
	ORR_PARAM_CHOICE("law", "exp", "exp|lognormal", "distribution of the times"),
	ORR_PARAM_REAL("cv", "1", 0, 100, "coefficient of variation of lognormal times"), AVAIL_PARAM_LENGTH("168h"), AVAIL_SHIFT_PARAMS,
	ORR_PARAM_END };

const struct generator avail_generator_renewal = {
	.kind = TRACE_AVAIL,
	.name = "renewal",
	.doc = "zones with alternating periods in which all or none of their instances are available",
	.params = params,
	.plan_size = sizeof(struct plan),
	.state_size = sizeof(struct state),
	.make_plan = make_plan,
	.start = start,
	.next_avail = next,
};
