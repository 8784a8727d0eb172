/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Identical steps are solved once. A phase that is repeated (a ring's) and whose flows have
 * every link that they use to themselves takes as long each time; so all of its repeats are
 * one event, a leap, during which the links are leased. If anything else comes to need one of
 * them, the leap is broken: the repeats that are over are over, and the flows of the one under
 * way start with what they have left.
 */
#include "step/wire.h"

#include "base/mem.h"

struct leap {
	struct iteration *of;
	uint32_t instance, generation, next_free;
	uint32_t steps;
	bool is_going;
	double begin_s, step_s;
};

void leaps_free(struct wire *w)
{
	mem_free(w->leap);
}

struct hop_sum {
	double latency_s, rate_Bps;
};

/* The j-th flow of the phase: its links into route, what it has to itself. */
static struct hop_sum flow_of(const struct orr_step *s, const struct iteration *k, const struct instance *x, uint32_t j,
	uint32_t *route, uint32_t *n)
{
	const struct op *o = &k->op[x->op];
	const struct coll *c = &k->coll[o->collective];
	const struct coll_plan *p = phases_of(s, k, o);
	const struct coll_send *m = &p->send[p->phase[x->phase].first + j];
	struct hop_sum sum = { 0, INFINITY };
	*n = topo_route(s->config->topo, rank_device(s, k, c, x->lane, m->from), rank_device(s, k, c, x->lane, m->to),
		send_key(o, j), route);
	for (uint32_t h = 0; h < *n; h++) {
		sum.latency_s += s->config->topo->link[route[h]].flow.latency_s;
		sum.rate_Bps = fmin(sum.rate_Bps, s->wire->capacity[route[h]]);
	}
	return sum;
}

/* Sets the lease of all links of the phase; false (and nothing is leased) if one of them is in use, or used twice. */
static bool lease(struct orr_step *s, const struct iteration *k, const struct instance *x, uint32_t leap, double *step_s)
{
	const struct coll_plan *p = phases_of(s, k, &k->op[x->op]);
	const struct coll_phase *f = &p->phase[x->phase];
	uint32_t route[TOPO_MAX_HOPS], n, j = 0, h = 0;
	struct wire *w = s->wire;
	bool is_free = true;
	*step_s = 0;
	for (; is_free && j < f->count; j++) {
		struct hop_sum sum = flow_of(s, k, x, j, route, &n);
		for (h = 0; is_free && h < n; h++) {
			is_free = !w->users[route[h]] && w->lease[route[h]] == NONE;
			if (is_free)
				w->lease[route[h]] = leap;
		}
		*step_s = fmax(*step_s, sum.latency_s + p->send[f->first + j].bytes / sum.rate_Bps);
	}
	if (is_free && isfinite(*step_s))
		return true;
	for (uint32_t i = 0; i < j; i++) {
		flow_of(s, k, x, i, route, &n);
		for (h = 0; h < n; h++)
			if (w->lease[route[h]] == leap)
				w->lease[route[h]] = NONE;
	}
	return false;
}

static void release(struct orr_step *s, uint32_t leap)
{
	struct wire *w = s->wire;
	struct leap *l = &w->leap[leap];
	const struct instance *x = &l->of->instance[l->instance];
	const struct coll_plan *p = phases_of(s, l->of, &l->of->op[x->op]);
	uint32_t route[TOPO_MAX_HOPS], n;
	for (uint32_t j = 0; j < p->phase[x->phase].count; j++) {
		flow_of(s, l->of, x, j, route, &n);
		for (uint32_t h = 0; h < n; h++)
			w->lease[route[h]] = NONE;
	}
	l->is_going = false;
	l->generation++;
	l->next_free = w->free_leap;
	w->free_leap = leap;
}

/* Repeats from here to the end of the phase, or of the collective if it has this phase alone. */
static uint32_t steps_left(const struct coll_plan *p, const struct instance *x)
{
	return x->repeat_left + (p->n_phases == 1 ? (x->rounds_left - 1) * p->phase[0].repeat : 0);
}

static void set_steps_left(const struct coll_plan *p, struct instance *x, uint32_t steps)
{
	uint32_t repeat = p->phase[x->phase].repeat;
	if (p->n_phases == 1)
		x->rounds_left = (steps + repeat - 1) / repeat;
	x->repeat_left = p->n_phases == 1 ? steps - (x->rounds_left - 1) * repeat : steps;
}

bool leap_start(struct orr_step *s, struct iteration *k, uint32_t i)
{
	struct wire *w = s->wire;
	struct instance *x = &k->instance[i];
	const struct coll_plan *p = phases_of(s, k, &k->op[x->op]);
	uint32_t steps = steps_left(p, x), at = w->free_leap;
	double step_s;
	if (steps < 2 && p->phase[x->phase].count > 4)
		return false; /* nothing is repeated: not worth the look */
	if (at == NONE) {
		MEM_GROW(w->leap, w->n_leaps, w->cap_leaps);
		w->leap[w->n_leaps] = (struct leap){ .next_free = NONE };
		at = w->free_leap = w->n_leaps++;
	}
	if (!lease(s, k, x, at, &step_s))
		return false;
	struct leap *l = &w->leap[at];
	w->free_leap = l->next_free;
	l->of = k;
	l->instance = i;
	l->steps = steps;
	l->is_going = true;
	l->begin_s = s->now_s;
	l->step_s = step_s;
	timer_add_leap(s, s->now_s + steps * step_s, at, l->generation);
	return true;
}

void leap_end(struct orr_step *s, uint32_t leap, uint32_t generation)
{
	struct leap l = s->wire->leap[leap];
	if (!l.is_going || l.generation != generation)
		return; /* was broken */
	struct instance *x = &l.of->instance[l.instance];
	const struct coll_plan *p = phases_of(s, l.of, &l.of->op[x->op]);
	release(s, leap);
	s->flows += (uint64_t)l.steps * p->phase[x->phase].count;
	set_steps_left(p, x, 1);
	phase_next(s, l.of, l.instance);
}

void leap_break(struct orr_step *s, uint32_t link)
{
	uint32_t leap = s->wire->lease[link];
	struct leap l = s->wire->leap[leap];
	struct instance *x = &l.of->instance[l.instance];
	const struct op *o = &l.of->op[x->op];
	const struct coll *c = &l.of->coll[o->collective];
	const struct coll_plan *p = phases_of(s, l.of, o);
	const struct coll_phase *f = &p->phase[x->phase];
	double since = s->now_s - l.begin_s, over = l.step_s > 0 ? floor(since / l.step_s) : 0;
	if (over > l.steps - 1)
		over = l.steps - 1;
	since -= over * l.step_s;
	uint32_t route[TOPO_MAX_HOPS], n;
	release(s, leap);
	s->flows += (uint64_t)over * f->count;
	set_steps_left(p, x, l.steps - (uint32_t)over);
	x->flows_left = f->count;
	for (uint32_t j = 0; j < f->count; j++) {
		const struct coll_send *m = &p->send[f->first + j];
		struct hop_sum sum = flow_of(s, l.of, x, j, route, &n);
		double passed = fmin(since, sum.latency_s);
		double left = fmax(0, m->bytes - (since - passed) * sum.rate_Bps);
		flow_add_late(s, l.of, l.instance, rank_device(s, l.of, c, x->lane, m->from), rank_device(s, l.of, c, x->lane, m->to),
			since - passed > 0 ? left : m->bytes, send_key(o, j), passed);
	}
}
