/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * av_hazard.c - the synthetic preemptions of Bamboo's simulator (Thorpe et al., NSDI 2023; uclasystem/bamboo)
 *
 * For hour h of the day, a(h) is the probability that a request for an instance succeeds; r(h) is the probability that an
 * instance is preempted within the hour. At time 0 each of C slots starts an instance with probability a(h). Then, and at
 * every full hour:
 *  - each instance is marked for removal with probability r(h), at a uniform whole second of the hour;
 *  - C - live + marked requests succeed with probability a(h) each, at such a second.
 * Within the hour, an arrival is dropped if C instances are live. Other arrivals are marked with probability r(h); a mark
 * earlier than the arrival is void. At one second arrivals precede removals, as in the authors' simulator.
 *
 * a = uniform: a(h) from U(0,1) per hour of day, once per run; diurnal: the profile of the simulator, with its r(h).
 * Streams: "avail hazard profile" for a(h), "avail hazard" otherwise.
 */
#include "traces/avail_format.h"
#include "traces/generator.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

enum { HOUR_S = 3600, DAY_H = 24 };

struct plan {
	double a[DAY_H], r[DAY_H];
	bool draws_a;
	int64_t slots, end_h; /* end_h: first hour after the end */
	uint32_t first_hour, zone;
};

struct change {
	uint32_t second;
	uint32_t instance; /* instance removed; unset for an arrival */
};

struct changes {
	struct change *v;
	size_t n, cap;
};

struct state {
	const struct plan *plan;
	struct rng rng;
	double a[DAY_H];
	int64_t hour;   /* next hour to draw; -1: before the start */
	uint32_t *live; /* live instances in order of addition */
	size_t n_live, cap_live;
	uint32_t n_instances;
	struct changes arrivals, removals;
	struct avail_rec *out;
	size_t n_out, next_out, cap_out;
};

static void start(void *state, const void *plan, uint64_t seed, uint64_t index)
{
	struct state *s = state;
	struct rng profile;
	s->plan = plan;
	s->hour = -1;
	rng_init(&s->rng, seed, "avail hazard", index);
	rng_init(&profile, seed, "avail hazard profile", index);
	for (int h = 0; h < DAY_H; h++)
		s->a[h] = s->plan->draws_a ? rng_uniform(&profile) : s->plan->a[h];
}

static void stop(void *state)
{
	struct state *s = state;
	mem_free(s->live);
	mem_free(s->arrivals.v);
	mem_free(s->removals.v);
	mem_free(s->out);
}

static void emit(struct state *s, enum avail_kind kind, uint32_t second, uint32_t instance)
{
	MEM_GROW(s->out, s->n_out, s->cap_out);
	s->out[s->n_out++] = (struct avail_rec){ .t_ns = (s->hour * HOUR_S + second) * ORR_SECOND,
		.usd_per_hour = -1,
		.kind = kind,
		.zone = s->plan->zone,
		.instance = instance };
}

static void add(struct state *s, uint32_t second)
{
	MEM_GROW(s->live, s->n_live, s->cap_live);
	s->live[s->n_live++] = s->n_instances;
	emit(s, AVAIL_ADD, second, s->n_instances++);
}

static void add_change(struct changes *c, uint32_t second, uint32_t instance)
{
	MEM_GROW(c->v, c->n, c->cap);
	c->v[c->n++] = (struct change){ second, instance };
}

static int by_second(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	if (x->second != y->second)
		return x->second < y->second ? -1 : 1;
	return x->instance < y->instance ? -1 : x->instance > y->instance;
}

static void sort(struct changes *c)
{
	if (c->n)
		qsort(c->v, c->n, sizeof *c->v, by_second);
}

/* Inserts a change after all changes of the same second. */
static void insert(struct changes *c, uint32_t second, uint32_t instance)
{
	add_change(c, second, instance);
	size_t at = c->n - 1;
	for (; at && c->v[at - 1].second > second; at--)
		c->v[at] = c->v[at - 1];
	c->v[at] = (struct change){ second, instance };
}

static void remove_live(struct state *s, uint32_t instance)
{
	size_t i = 0;
	while (s->live[i] != instance)
		i++;
	memmove(s->live + i, s->live + i + 1, (s->n_live - i - 1) * sizeof *s->live);
	s->n_live--;
}

/* Draws arrivals and removals of the hour, in order of time. */
static void run_hour(struct state *s, double r)
{
	size_t next_arrival = 0, next_removal = 0;
	while (next_arrival < s->arrivals.n || next_removal < s->removals.n) {
		const struct change *arrival = next_arrival < s->arrivals.n ? &s->arrivals.v[next_arrival] : NULL;
		const struct change *removal = next_removal < s->removals.n ? &s->removals.v[next_removal] : NULL;
		if (arrival && (!removal || arrival->second <= removal->second)) {
			uint32_t second = arrival->second;
			next_arrival++;
			if ((int64_t)s->n_live == s->plan->slots)
				continue;
			add(s, second);
			if (rng_uniform(&s->rng) >= r)
				continue;
			uint32_t end = (uint32_t)rng_below(&s->rng, HOUR_S);
			if (end >= second)
				insert(&s->removals, end, s->n_instances - 1);
			continue;
		}
		remove_live(s, removal->instance);
		emit(s, AVAIL_REMOVE, removal->second, removal->instance);
		next_removal++;
	}
}

static void draw_hour(struct state *s)
{
	uint32_t h = (uint32_t)((s->plan->first_hour + s->hour) % DAY_H);
	double a = s->a[h], r = s->plan->r[h];
	s->arrivals.n = s->removals.n = 0;
	for (size_t i = 0; i < s->n_live; i++)
		if (rng_uniform(&s->rng) < r)
			add_change(&s->removals, (uint32_t)rng_below(&s->rng, HOUR_S), s->live[i]);
	int64_t requests = s->plan->slots - (int64_t)s->n_live + (int64_t)s->removals.n;
	for (int64_t i = 0; i < requests; i++)
		if (rng_uniform(&s->rng) < a)
			add_change(&s->arrivals, (uint32_t)rng_below(&s->rng, HOUR_S), 0);
	sort(&s->arrivals);
	sort(&s->removals);
	run_hour(s, r);
}

static bool next(void *state, struct avail_rec *row)
{
	struct state *s = state;
	while (s->next_out == s->n_out) {
		s->next_out = s->n_out = 0;
		if (s->hour < 0) {
			s->hour = 0;
			for (int64_t i = 0; i < s->plan->slots; i++)
				if (rng_uniform(&s->rng) < s->a[s->plan->first_hour])
					add(s, 0);
		}
		if (s->hour >= s->plan->end_h)
			return false;
		draw_hour(s);
		s->hour++;
	}
	*row = s->out[s->next_out++];
	return true;
}

static int make_plan(void *plan, const struct orr_args *args, struct rowset *set, struct orr_error *err)
{
	struct plan *p = plan;
	const char *a = orr_arg_text(args, "a");
	bool is_diurnal = !strcmp(a, "diurnal");
	double share = 0;
	p->draws_a = !strcmp(a, "uniform");
	if (!p->draws_a && !is_diurnal && !(num_real(a, strlen(a), &share) && share >= 0 && share <= 1))
		return orr_fail(err, ORR_EINPUT, "generator hazard: a: expected uniform, diurnal or a probability, found \"%.60s\"", a);
	for (int h = 0; h < DAY_H; h++) {
		bool is_good = h >= 3 && h <= 5, is_bad = h >= 15 && h <= 22;
		p->a[h] = !is_diurnal ? share : is_good ? 0.5 : is_bad ? 0 : 0.05;
		p->r[h] = !is_diurnal ? orr_arg_real(args, "p") : is_good ? 0.01 : is_bad ? 0.25 : 0.05;
	}
	p->slots = orr_arg_int(args, "slots");
	p->first_hour = (uint32_t)orr_arg_int(args, "hour");
	int64_t length = orr_arg_time_ns(args, "length"), hour_ns = HOUR_S * ORR_SECOND;
	p->end_h = length ? (length + hour_ns - 1) / hour_ns : (int64_t)(TRACE_MAX_SECONDS / HOUR_S);
	const char *zone = orr_arg_text(args, "zone");
	p->zone = rowset_list(set, zone, strlen(zone));
	return ORR_OK;
}

static const struct orr_param params[] = { ORR_PARAM_REAL("p", "0.1", 0, 1, "probability that an instance is preempted within an hour"),
	ORR_PARAM_INT("slots", "48", 1, AVAIL_MAX_SLOTS, "requested instances"),
	ORR_PARAM_TEXT("a", "uniform",
		"probability that a request succeeds: uniform (drawn per hour of day), diurnal (replaces p too), or a number"),
	ORR_PARAM_INT("hour", "0", 0, DAY_H - 1, "hour of day at time 0"), ORR_PARAM_TEXT("zone", "", "zone of all instances"),
	AVAIL_PARAM_LENGTH("24h"), AVAIL_SHIFT_PARAMS, ORR_PARAM_END };

const struct generator avail_generator_hazard = {
	.kind = TRACE_AVAIL,
	.name = "hazard",
	.doc = "preemptions and arrivals per hour, as in Bamboo's simulator",
	.params = params,
	.plan_size = sizeof(struct plan),
	.state_size = sizeof(struct state),
	.make_plan = make_plan,
	.start = start,
	.next_avail = next,
	.stop = stop,
};
