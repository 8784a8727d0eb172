/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Starts flows, one by one or as a leap.
 *
 * If the links of a phase's flows carry no other flow, every repeat of the phase (a ring's steps) takes the same time. All
 * repeats are then one event, a leap, and the links are leased. When another flow needs a leased link, the leap is broken:
 * the current repeat continues as flows with their remaining bytes.
 */
#include "step/wire_state.h"

#include "step/exec.h"
#include "step/path.h"

#include "base/mem.h"

struct leap {
	struct iteration *of;
	uint32_t instance, generation, next_free;
	uint64_t steps;
	uint32_t link;            /* with s->path: bottleneck of the flow; NONE: none */
	bool is_going, is_shared; /* is_shared: flows of the phase share links */
	double begin_s, step_s;
};

/* Returns the rate of the flow if no other flow uses its links. */
static double rate_alone(const struct orr_step *s, const struct phase_flow *f)
{
	double rate = INFINITY;
	for (uint32_t h = 0; h < f->n; h++)
		rate = fmin(rate, s->wire->capacity[f->link[h]]);
	return rate;
}

/* Returns the link that takes the longest to carry the flows of a phase; NONE: they use no link. */
static uint32_t most_loaded(struct orr_step *s, const struct iteration *k, const struct instance *x)
{
	struct path *p = s->path;
	struct phase_flow f;
	uint32_t n = phase_flows(s, k, x), worst = NONE;
	for (uint32_t j = 0; j < n; j++) {
		phase_flow_at(s, k, x, j, &f);
		for (uint32_t h = 0; h < f.n; h++) {
			uint32_t link = f.link[h];
			path_reserve(s, link);
			p->load[link] += f.bytes * f.hop[h].load / s->wire->capacity[link];
			if (worst == NONE || p->load[link] > p->load[worst])
				worst = link;
		}
	}
	for (uint32_t j = 0; j < n; j++) {
		phase_flow_at(s, k, x, j, &f);
		for (uint32_t h = 0; h < f.n; h++)
			p->load[f.link[h]] = 0;
	}
	return worst;
}

/* Returns the link with the smallest capacity on the route of a flow; NONE: it has no link. */
static uint32_t narrowest(const struct orr_step *s, const struct phase_flow *f)
{
	uint32_t link = NONE;
	for (uint32_t h = 0; h < f->n; h++)
		if (link == NONE || s->wire->capacity[f->link[h]] < s->wire->capacity[link])
			link = f->link[h];
	return link;
}

/* Leases all links of the phase to the leap. Returns false and leases none if a link is in use. *is_shared: flows of the phase share
 * links. *link: with s->path, the bottleneck of the phase. */
static bool lease(struct orr_step *s, const struct iteration *k, const struct instance *x, uint32_t leap, bool *is_shared, double *step_s,
	uint32_t *link)
{
	struct wire *w = s->wire;
	struct phase_flow f;
	uint32_t n = phase_flows(s, k, x), j = 0;
	bool is_free = true;
	*step_s = 0;
	*is_shared = false;
	*link = NONE;
	for (; is_free && j < n; j++) {
		phase_flow_at(s, k, x, j, &f);
		for (uint32_t h = 0; is_free && h < f.n; h++) {
			bool is_mine = w->lease[f.link[h]] == leap;
			note_background(s, f.link[h]);
			is_free = !w->users[f.link[h]] && (is_mine || w->lease[f.link[h]] == NONE);
			*is_shared |= is_mine || f.hop[h].load != 1;
			if (is_free)
				w->lease[f.link[h]] = leap;
		}
		double time = f.latency_s + f.bytes / rate_alone(s, &f);
		if (s->path && time > *step_s)
			*link = narrowest(s, &f);
		*step_s = fmax(*step_s, time);
	}
	if (is_free && *is_shared)
		*step_s = phase_alone(s, k, x, INFINITY, NULL);
	if (is_free && *is_shared && s->path)
		*link = most_loaded(s, k, x);
	if (is_free && isfinite(*step_s))
		return true;
	for (uint32_t i = 0; i < j; i++) {
		phase_flow_at(s, k, x, i, &f);
		for (uint32_t h = 0; h < f.n; h++)
			if (w->lease[f.link[h]] == leap)
				w->lease[f.link[h]] = NONE;
	}
	return false;
}

static void release(struct orr_step *s, uint32_t leap)
{
	struct wire *w = s->wire;
	struct leap *l = &w->leap[leap];
	const struct instance *x = &l->of->instance[l->instance];
	struct phase_flow f;
	uint32_t n = phase_flows(s, l->of, x);
	for (uint32_t j = 0; j < n; j++) {
		phase_flow_at(s, l->of, x, j, &f);
		for (uint32_t h = 0; h < f.n; h++)
			w->lease[f.link[h]] = NONE;
	}
	l->is_going = false;
	l->generation++;
	l->next_free = w->free_leap;
	w->free_leap = leap;
}

/* Returns the number of repeats left in the phase; in the collective, if it has one phase. */
static uint64_t steps_left(const struct coll_plan *p, const struct instance *x)
{
	return x->repeat_left + (p->n_phases == 1 ? (x->rounds_left - UINT64_C(1)) * p->phase[0].repeat : 0);
}

static void set_steps_left(const struct coll_plan *p, struct instance *x, uint64_t steps)
{
	uint64_t repeat = p->phase[x->phase].repeat;
	if (p->n_phases == 1)
		x->rounds_left = (uint32_t)((steps + repeat - 1) / repeat);
	x->repeat_left = (uint32_t)(p->n_phases == 1 ? steps - (x->rounds_left - 1) * repeat : steps);
}

static uint32_t going_add(struct wire *w, struct iteration *k, uint32_t i)
{
	uint32_t slot = w->free_going;
	if (slot == NONE) {
		MEM_GROW(w->going, w->n_going, w->cap_going);
		slot = w->n_going++;
	} else {
		w->free_going = w->going[slot].next_free;
	}
	w->going[slot] = (struct going){ .of = k, .instance = i };
	return slot;
}

uint32_t flow_start(struct orr_step *s, struct iteration *k, uint32_t i, const struct phase_flow *f, double bytes, double passed_s)
{
	struct wire *w = s->wire;
	for (uint32_t h = 0; h < f->n; h++) {
		if (w->lease[f->link[h]] != NONE)
			leap_break(s, f->link[h]);
		note_background(s, f->link[h]);
		w->users[f->link[h]]++;
		w->offered += bytes * f->hop[h].load;
	}
	if (s->path)
		path_flow(s, w->capacity, f->link, f->n, true);
	uint32_t slot = going_add(w, k, i);
	w->going[slot].from = f->from;
	w->going[slot].to = f->to;
	w->going[slot].key = f->key;
	w->going[slot].handle = flownet_start(w->net, bytes, f->more_latency_s - passed_s, f->hop, f->n, flow_tag(s, slot));
	s->flows++;
	return slot;
}

bool leap_start(struct orr_step *s, struct iteration *k, uint32_t i)
{
	struct wire *w = s->wire;
	struct instance *x = &k->instance[i];
	const struct coll_plan *p = phases_of(s, k, x);
	uint64_t steps = steps_left(p, x);
	uint32_t at = w->free_leap, link;
	bool is_shared;
	double step_s;
	/* No leaps on a shared network, where flows of other runs are unknown, or when link use is measured, which needs the rates
	 * of flows. */
	if (steps < 2 || s->shared_net || s->use)
		return false;
	if (at == NONE) {
		MEM_GROW(w->leap, w->n_leaps, w->cap_leaps);
		w->leap[w->n_leaps] = (struct leap){ .next_free = NONE };
		at = w->free_leap = w->n_leaps++;
	}
	if (!lease(s, k, x, at, &is_shared, &step_s, &link))
		return false;
	struct leap *l = &w->leap[at];
	w->free_leap = l->next_free;
	l->of = k;
	l->instance = i;
	l->steps = steps;
	l->is_going = true;
	l->is_shared = is_shared;
	l->begin_s = s->now_s;
	l->step_s = step_s;
	l->link = link;
	timer_add_leap(s, s->now_s + (double)steps * step_s, at, l->generation);
	return true;
}

bool leap_end(struct orr_step *s, uint32_t leap, uint32_t generation, struct iteration **k, uint32_t *i)
{
	struct leap l = s->wire->leap[leap];
	if (!l.is_going || l.generation != generation)
		return false;
	*k = l.of;
	*i = l.instance;
	struct instance *x = &l.of->instance[l.instance];
	if (s->path) {
		s->path->link = l.link;
		s->path->flows = 0;
	}
	release(s, leap);
	s->flows += l.steps * phase_flows(s, l.of, x);
	set_steps_left(phases_of(s, l.of, x), x, 1);
	return true;
}

void leap_break(struct orr_step *s, uint32_t link)
{
	uint32_t leap = s->wire->lease[link];
	struct leap l = s->wire->leap[leap];
	struct instance *x = &l.of->instance[l.instance];
	const struct coll_plan *p = phases_of(s, l.of, x);
	struct phase_flow f;
	double since = s->now_s - l.begin_s, over = l.step_s > 0 ? floor(since / l.step_s) : 0;
	if (over > (double)(l.steps - 1))
		over = (double)(l.steps - 1);
	since -= over * l.step_s;
	release(s, leap);
	uint32_t n = x->flows_left = phase_flows(s, l.of, x);
	double *left = l.is_shared ? mem_alloc((n + 1) * sizeof *left) : NULL;
	if (left)
		phase_alone(s, l.of, x, fmax(since, 0), left);
	s->flows += (uint64_t)over * n;
	set_steps_left(p, x, l.steps - (uint64_t)over);
	for (uint32_t j = 0; j < n; j++) {
		phase_flow_at(s, l.of, x, j, &f);
		double passed = fmin(since, f.latency_s), draining = since - passed;
		double bytes = draining > 0 ? fmax(0, f.bytes - draining * rate_alone(s, &f)) : f.bytes;
		flow_start(s, l.of, l.instance, &f, left ? left[j] : bytes, passed);
	}
	mem_free(left);
}
