/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * av_churn.c - instances that are preempted and replaced: one by one (churn), or several of a zone at once (bulk)
 *
 * churn  each instance is removed at rate `rate` per hour: the next removal is exponential with rate x live, of a random
 * instance
 * bulk   removals are Poisson with mean gap `every`. Their size is drawn from `sizes` (default: Bamboo's p3 trace), at most
 * the number of instances. All victims are in the zone of a random instance; with probability `cross`, in any zone.
 * A removed instance is replaced in its zone after `delay`, exactly or on average (exponential). Slots are assigned to zones
 * in turn; all slots are occupied at time 0. Streams: "avail removals" (instants and sizes), "avail victims", "avail delays".
 */
#include "traces/avail_format.h"
#include "traces/generator.h"
#include "traces/draw.h"

#include "base/mem.h"
#include "base/num.h"

#include <math.h>
#include <string.h>

enum { MAX_SIZES = 64 };
#define LATEST_NS INT64_C(4000000000000000000)

struct plan {
	uint32_t slots, n_zones, zone[AVAIL_MAX_ZONES];
	double node_s; /* churn: mean lifetime of an instance; 0: bulk */
	double gap_s;  /* bulk: mean time between removal instants */
	double weight[MAX_SIZES + 1];
	uint32_t size[MAX_SIZES];
	double cross, delay_s;
	bool is_exact;
};

struct instance {
	uint32_t number, zone;
};

struct pending {
	int64_t t_ns;
	uint32_t zone;
};

struct state {
	const struct plan *plan;
	struct rng removals, victims, delays;
	struct instance *live;
	size_t n_live;
	struct pending *pending; /* pending replacements by time, the latest first */
	size_t n_pending;
	uint32_t n_instances, n_started;
	int64_t removal_ns;
	/* Victims of the current instant whose rows are not yet returned. */
	struct instance *victim;
	size_t n_victims, next_victim;
	int64_t now_ns;
};

static int64_t later(int64_t ns, double wait_s)
{
	return wait_s < 4e9 ? num_add_sat(ns, (int64_t)llround(wait_s * 1e9)) : LATEST_NS;
}

static void draw_removal(struct state *s)
{
	const struct plan *p = s->plan;
	if (p->node_s > 0)
		s->removal_ns = s->n_live ? later(s->now_ns, rng_exponential(&s->removals, p->node_s / (double)s->n_live)) : LATEST_NS;
	else
		s->removal_ns = later(s->now_ns, rng_exponential(&s->removals, p->gap_s));
}

static void start(void *state, const void *plan, uint64_t seed, uint64_t index)
{
	struct state *s = state;
	s->plan = plan;
	rng_init(&s->removals, seed, "avail removals", index);
	rng_init(&s->victims, seed, "avail victims", index);
	rng_init(&s->delays, seed, "avail delays", index);
	s->live = mem_zalloc(s->plan->slots, sizeof *s->live);
	s->pending = mem_zalloc(s->plan->slots, sizeof *s->pending);
	s->victim = mem_zalloc(s->plan->slots, sizeof *s->victim);
}

static void stop(void *state)
{
	struct state *s = state;
	mem_free(s->live);
	mem_free(s->pending);
	mem_free(s->victim);
}

static void add(struct state *s, uint32_t zone, struct avail_rec *row)
{
	s->live[s->n_live++] = (struct instance){ s->n_instances, zone };
	row->t_ns = s->now_ns;
	row->kind = AVAIL_ADD;
	row->zone = s->plan->zone[zone];
	row->instance = s->n_instances++;
}

static void replace_later(struct state *s, uint32_t zone)
{
	int64_t t = later(s->now_ns, s->plan->is_exact ? s->plan->delay_s : rng_exponential(&s->delays, s->plan->delay_s));
	size_t at = s->n_pending++;
	for (; at && s->pending[at - 1].t_ns <= t; at--)
		s->pending[at] = s->pending[at - 1];
	s->pending[at] = (struct pending){ t, zone };
}

/* Draws a random instance of `zone`, or of any zone; returns false if there is none. */
static bool draw_victim(struct state *s, bool is_any, uint32_t zone)
{
	uint64_t n = is_any ? s->n_live : 0;
	for (size_t i = 0; !is_any && i < s->n_live; i++)
		n += s->live[i].zone == zone;
	if (!n)
		return false;
	uint64_t k = rng_below(&s->victims, n);
	size_t i = is_any ? k : 0;
	for (; !is_any; i++)
		if (s->live[i].zone == zone && !k--)
			break;
	s->victim[s->n_victims++] = s->live[i];
	memmove(s->live + i, s->live + i + 1, (s->n_live - i - 1) * sizeof *s->live);
	s->n_live--;
	return true;
}

/* Draws the victims of the removal at removal_ns. */
static void draw_victims(struct state *s)
{
	const struct plan *p = s->plan;
	s->now_ns = s->removal_ns;
	s->n_victims = s->next_victim = 0;
	uint32_t size = p->node_s > 0 ? 1 : p->size[draw_index(&s->removals, p->weight)];
	bool is_any = p->node_s > 0 || rng_uniform(&s->removals) < p->cross;
	uint32_t zone = !is_any && s->n_live ? s->live[rng_below(&s->victims, s->n_live)].zone : 0;
	for (uint32_t i = 0; i < size && draw_victim(s, is_any, zone); i++)
		;
	for (size_t i = 0; i < s->n_victims; i++)
		replace_later(s, s->victim[i].zone);
	draw_removal(s);
}

static bool next(void *state, struct avail_rec *row)
{
	struct state *s = state;
	const struct plan *p = s->plan;
	if (s->n_started < p->slots) {
		add(s, s->n_started % p->n_zones, row);
		if (++s->n_started == p->slots)
			draw_removal(s);
		return true;
	}
	while (s->next_victim == s->n_victims) {
		int64_t ready_ns = s->n_pending ? s->pending[s->n_pending - 1].t_ns : LATEST_NS;
		if (ready_ns >= LATEST_NS && s->removal_ns >= LATEST_NS)
			return false;
		if (ready_ns <= s->removal_ns) {
			s->now_ns = ready_ns;
			add(s, s->pending[--s->n_pending].zone, row);
			if (p->node_s > 0)
				draw_removal(s); /* memoryless: redrawn for the new number of instances */
			return true;
		}
		draw_victims(s);
	}
	const struct instance *v = &s->victim[s->next_victim++];
	row->t_ns = s->now_ns;
	row->kind = AVAIL_REMOVE;
	row->zone = p->zone[v->zone];
	row->instance = v->number;
	return true;
}

static int plan_common(struct plan *p, const struct orr_args *args, struct rowset *set, const char *where, struct orr_error *err)
{
	p->n_zones = rowset_list_all(set, orr_arg_text(args, "zones"), p->zone, AVAIL_MAX_ZONES, where, err);
	p->slots = (uint32_t)orr_arg_int(args, "slots");
	p->delay_s = (double)orr_arg_time_ns(args, "delay") / 1e9;
	p->is_exact = !strcmp(orr_arg_text(args, "delays"), "fixed");
	return p->n_zones ? ORR_OK : ORR_EINPUT;
}

static int plan_churn(void *plan, const struct orr_args *args, struct rowset *set, struct orr_error *err)
{
	struct plan *p = plan;
	p->node_s = 3600 / orr_arg_real(args, "rate");
	return plan_common(p, args, set, "generator churn", err);
}

/* Parses "1*39|2*13": sizes and their weights. */
static bool read_sizes(struct plan *p, const char *s)
{
	double sum = 0;
	for (size_t i = 0; i < MAX_SIZES; i++) {
		size_t n = strcspn(s, "*|"), m = 0;
		int64_t size;
		double weight = 1;
		if (!num_int(s, n, &size) || size < 1 || size > AVAIL_MAX_SLOTS)
			return false;
		s += n;
		if (*s == '*') {
			m = strcspn(++s, "|");
			if (!num_real(s, m, &weight) || weight < 0 || weight > 1e9)
				return false;
			s += m;
		}
		p->size[i] = (uint32_t)size;
		p->weight[i] = weight;
		p->weight[i + 1] = -1;
		sum += weight;
		if (!*s)
			return sum > 0;
		s++;
	}
	return false;
}

static int plan_bulk(void *plan, const struct orr_args *args, struct rowset *set, struct orr_error *err)
{
	struct plan *p = plan;
	const char *sizes = orr_arg_text(args, "sizes");
	p->gap_s = (double)orr_arg_time_ns(args, "every") / 1e9;
	p->cross = orr_arg_real(args, "cross");
	if (!(p->gap_s > 0))
		return orr_fail(err, ORR_EINPUT, "generator bulk: every: expected a time above 0, found \"0\"");
	if (!read_sizes(p, sizes))
		return orr_fail(err, ORR_EINPUT, "generator bulk: sizes: expected at most %d sizes >= 1 such as 1*39|2*13, found \"%.60s\"",
			MAX_SIZES, sizes);
	return plan_common(p, args, set, "generator bulk", err);
}

#define COMMON_PARAMS                                                                                 \
	ORR_PARAM_TEXT("zones", "", "names of zones, separated by |; none: one unnamed zone"),        \
		ORR_PARAM_TIME("delay", "10m", "mean time to the replacement of a removed instance"), \
		ORR_PARAM_CHOICE("delays", "exp", "exp|fixed", "distribution of delays"), AVAIL_PARAM_LENGTH("24h"), AVAIL_SHIFT_PARAMS

static const struct orr_param churn_params[] = { ORR_PARAM_INT("slots", "32", 1, AVAIL_MAX_SLOTS, "number of instances requested"),
	ORR_PARAM_REAL("rate", "0.1", 1e-9, 3600, "removals per instance and hour"), COMMON_PARAMS, ORR_PARAM_END };
static const struct orr_param bulk_params[] = { ORR_PARAM_INT("slots", "32", 1, AVAIL_MAX_SLOTS, "number of instances requested"),
	ORR_PARAM_TIME("every", "518s", "mean time between removals"),
	ORR_PARAM_TEXT("sizes", "1*39|2*13|3*15|4*7|5|6*4", "numbers of instances removed at once, with weights"),
	ORR_PARAM_REAL("cross", "0", 0, 1, "share of removals that affect all zones"), COMMON_PARAMS, ORR_PARAM_END };

const struct generator avail_generator_churn = {
	.kind = TRACE_AVAIL,
	.name = "churn",
	.doc = "independent preemptions at a constant rate, replaced after a delay",
	.params = churn_params,
	.plan_size = sizeof(struct plan),
	.state_size = sizeof(struct state),
	.make_plan = plan_churn,
	.start = start,
	.next_avail = next,
	.stop = stop,
};

const struct generator avail_generator_bulk = {
	.kind = TRACE_AVAIL,
	.name = "bulk",
	.doc = "simultaneous preemptions of several instances of a zone, replaced after a delay",
	.params = bulk_params,
	.plan_size = sizeof(struct plan),
	.state_size = sizeof(struct state),
	.make_plan = plan_bulk,
	.start = start,
	.next_avail = next,
	.stop = stop,
};
