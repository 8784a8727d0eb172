/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages under way: transfers and the phases of collectives, as flows or in closed form. */
#include "step/wire.h"

#include "base/mem.h"

#include <string.h>

/* ---- flows ---- */

uint64_t going_add(struct wire *w, struct iteration *k, uint32_t i)
{
	uint32_t slot = w->free_going;
	if (slot == NONE) {
		MEM_GROW(w->going, w->n_going, w->cap_going);
		slot = w->n_going++;
	} else {
		w->free_going = w->going[slot].next_free;
	}
	w->going[slot] = (struct going){ .of = k, .instance = i, .next_free = NONE, .from = NONE };
	return slot;
}

void flow_add_late(struct orr_step *s, struct iteration *k, uint32_t i, uint32_t from, uint32_t to, double bytes, uint64_t key,
	double latency_s)
{
	struct wire *w = s->wire;
	uint32_t route[TOPO_MAX_HOPS], n = topo_route(s->config->topo, from, to, key, route);
	struct flow_hop hop[TOPO_MAX_HOPS];
	for (uint32_t j = 0; j < n; j++) {
		if (w->lease[route[j]] != NONE)
			leap_break(s, route[j]);
		hop[j] = (struct flow_hop){ route[j], 1 };
		w->users[route[j]]++;
	}
	uint64_t slot = going_add(w, k, i);
	w->going[slot].from = from;
	w->going[slot].to = to;
	w->going[slot].key = key;
	flownet_start(w->net, bytes, -latency_s, hop, n, slot);
	w->offered += bytes * n;
	s->flows++;
}

void flow_add(struct orr_step *s, struct iteration *k, uint32_t i, uint32_t from, uint32_t to, double bytes, uint64_t key)
{
	flow_add_late(s, k, i, from, to, bytes, key, 0);
}

static void flow_gone(struct orr_step *s, const struct going *g)
{
	uint32_t route[TOPO_MAX_HOPS];
	if (g->from == NONE)
		return; /* merged: it stands for many */
	for (uint32_t n = topo_route(s->config->topo, g->from, g->to, g->key, route); n--;)
		s->wire->users[route[n]]--;
}

static void change_capacity(struct orr_step *s, uint32_t link, double capacity_Bps)
{
	struct wire *w = s->wire;
	if (w->lease[link] != NONE)
		leap_break(s, link);
	w->capacity[link] = capacity_Bps;
	flownet_set_capacity(w->net, link, capacity_Bps);
}

/* A NIC that other traffic slows for the iteration (step.contention_p, _f). */
static void contend(struct orr_step *s, uint32_t endpoint, uint64_t iteration)
{
	struct wire *w = s->wire;
	struct rng r;
	if (w->contention_p <= 0 || w->slowed_for[endpoint] == iteration + 1)
		return;
	w->slowed_for[endpoint] = iteration + 1;
	rng_init(&r, s->config->seed, "contention", iteration << 24 | endpoint);
	double part = rng_uniform(&r) < w->contention_p ? w->contention_f : 1;
	for (int out = 0; out < 2; out++) {
		uint32_t l = topo_nic(s->config->topo, endpoint, out);
		if (l == NONE || w->capacity[l] == w->nominal[l] * part)
			continue;
		change_capacity(s, l, w->nominal[l] * part);
	}
}

const struct coll_plan *phases_of(const struct orr_step *s, const struct iteration *k, const struct op *o)
{
	return &s->plan[k->coll[o->collective].plan].phases;
}

/* ---- collectives ---- */

void phase_start(struct orr_step *s, struct iteration *k, uint32_t i)
{
	struct instance *x = &k->instance[i];
	const struct op *o = &k->op[x->op];
	const struct coll *c = &k->coll[o->collective];
	const struct coll_plan *p = phases_of(s, k, o);
	const struct coll_phase *f = &p->phase[x->phase];
	if (s->is_merged) {
		x->flows_left = merged_phase(s, k, i, x->phase, 0);
		return;
	}
	if (leap_start(s, k, i))
		return;
	x->flows_left = f->count;
	for (uint32_t j = 0; j < f->count; j++) {
		const struct coll_send *m = &p->send[f->first + j];
		flow_add(s, k, i, rank_device(s, k, c, x->lane, m->from), rank_device(s, k, c, x->lane, m->to), m->bytes,
			send_key(o, j));
	}
}

void phase_next(struct orr_step *s, struct iteration *k, uint32_t i)
{
	struct instance *x = &k->instance[i];
	const struct op *o = &k->op[x->op];
	const struct coll_plan *p = phases_of(s, k, o);
	if (--x->repeat_left) {
		phase_start(s, k, i);
		return;
	}
	if (++x->phase == p->n_phases) {
		if (!--x->rounds_left) {
			instance_end(s, k, i);
			return;
		}
		x->phase = 0;
	}
	x->repeat_left = p->phase[x->phase].repeat;
	phase_start(s, k, i);
}

/* Ranks of the first island on its first rank's node. */
static uint32_t beside_first(const struct orr_step *s, const struct iteration *k, const struct coll *c, uint32_t lane)
{
	uint32_t n = 1, node = s->node_of[rank_device(s, k, c, lane, 0)];
	while (n < c->what.inner && s->node_of[rank_device(s, k, c, lane, n)] == node)
		n++;
	return n;
}

static double idle_time(const struct orr_step *s, const struct iteration *k, const struct instance *x, const struct op *o)
{
	const struct topo *t = s->config->topo;
	if (o->type == OP_TRANSFER) {
		uint32_t a = real_device(s, x->lane, o->device), b = real_device(s, x->lane, o->peer);
		return a == b ? 0 : topo_latency(t, a, b) + o->amount / topo_bandwidth(t, a, b);
	}
	/* The slowest hop of the ring of members; islands: the slowest hop inside one. */
	const struct coll *c = &k->coll[o->collective];
	double latency = 0, bandwidth = INFINITY, inner_latency = 0, inner_bandwidth = INFINITY;
	for (uint32_t r = 0; r < c->n && c->n > 1; r++) {
		uint32_t a = rank_device(s, k, c, x->lane, r), b = rank_device(s, k, c, x->lane, (r + 1) % c->n);
		bool is_inner = c->what.inner > 1 && (r + 1) % c->n && (r + 1) % c->what.inner;
		double l = topo_latency(t, a, b), B = topo_bandwidth(t, a, b);
		if (is_inner) {
			inner_latency = fmax(inner_latency, l);
			inner_bandwidth = fmin(inner_bandwidth, B);
		} else {
			latency = fmax(latency, l);
			bandwidth = fmin(bandwidth, B);
		}
	}
	/* A rank's share of its node's NICs, while all ranks of an island send. */
	if (c->what.inner > 1 && !s->plan[c->plan].shape.leader)
		bandwidth *= fmin(1, (double)topo_nics(t) / beside_first(s, k, c, x->lane));
	if (isinf(bandwidth)) { /* one island */
		latency = inner_latency;
		bandwidth = inner_bandwidth;
	}
	return c->n > 1 ? c->what.repeat * coll_time_s(&s->plan[c->plan].shape, latency, bandwidth, inner_latency, inner_bandwidth) : 0;
}

int wire_start(struct orr_step *s, struct iteration *k, uint32_t i)
{
	struct instance *x = &k->instance[i];
	const struct op *o = &k->op[x->op];
	if (s->is_analytic) {
		timer_add(s, s->now_s + idle_time(s, k, x, o), k, i);
		return ORR_OK;
	}
	if (o->type == OP_TRANSFER) {
		uint32_t a = real_device(s, x->lane, o->device), b = real_device(s, x->lane, o->peer);
		if (a == b) {
			timer_add(s, s->now_s, k, i);
			return ORR_OK;
		}
		x->flows_left = 1;
		contend(s, a, k->number);
		contend(s, b, k->number);
		if (s->is_merged)
			merged_phase(s, k, i, 0, o->amount);
		else
			flow_add(s, k, i, a, b, o->amount, k->number << 32 | x->op);
		return s->error.code;
	}
	const struct coll *c = &k->coll[o->collective];
	const struct coll_plan *p = phases_of(s, k, o);
	if (!p->n_phases) {
		timer_add(s, s->now_s, k, i);
		return ORR_OK;
	}
	for (uint32_t r = 0; r < c->n && !s->is_merged; r++)
		contend(s, rank_device(s, k, c, x->lane, r), k->number);
	x->phase = 0;
	x->rounds_left = c->what.repeat;
	x->repeat_left = p->phase[0].repeat;
	phase_start(s, k, i);
	return s->error.code;
}

/* ---- time ---- */

double wire_next(struct orr_step *s)
{
	const struct wire *w = s->wire;
	double t = flownet_next(w->net);
	if (w->next_change < w->n_changes && w->change[w->next_change].time_s < t)
		t = fmax(w->change[w->next_change].time_s, s->now_s);
	return t;
}

void wire_advance(struct orr_step *s, double t)
{
	struct wire *w = s->wire;
	uint64_t tag;
	double when;
	flownet_advance(w->net, t);
	for (; w->next_change < w->n_changes && w->change[w->next_change].time_s <= t; w->next_change++) {
		const struct change *c = &w->change[w->next_change];
		w->nominal[c->link] = c->capacity_Bps;
		change_capacity(s, c->link, c->capacity_Bps);
	}
	while (flownet_pop(w->net, &tag, &when)) {
		struct going g = w->going[tag];
		w->going[tag].next_free = w->free_going;
		w->free_going = (uint32_t)tag;
		flow_gone(s, &g);
		struct instance *x = &g.of->instance[g.instance];
		if (--x->flows_left)
			continue;
		if (g.of->op[x->op].type == OP_TRANSFER)
			instance_end(s, g.of, g.instance);
		else
			phase_next(s, g.of, g.instance);
	}
}

double wire_bandwidth_now(const struct orr_step *s, uint32_t from, uint32_t to)
{
	uint32_t route[TOPO_MAX_HOPS], n = topo_route(s->config->topo, from, to, 0, route);
	double least = INFINITY;
	for (uint32_t i = 0; i < n; i++)
		least = fmin(least, s->wire->capacity[route[i]]);
	return least;
}

/* ---- --check ---- */

int wire_verify(struct orr_step *s)
{
	if (!s->error.code && !s->is_analytic)
		flownet_verify(s->wire->net, &s->error);
	return s->error.code;
}

int wire_balance(struct orr_step *s)
{
	struct wire *w = s->wire;
	if (s->is_analytic)
		return s->error.code; /* nothing went over links */
	uint32_t n = s->is_merged ? quotient_links(w->quotient) : s->config->topo->n_links;
	double carried = 0;
	for (uint32_t i = 0; i < n; i++)
		carried += flownet_link_bytes(w->net, i);
	if (!s->error.code && fabs(carried - w->offered) > 1e-9 * w->offered)
		return orr_fail(&s->error, ORR_EFAIL, "check: links carried %.17g bytes, flows sent %.17g over them", carried, w->offered);
	return s->error.code;
}
