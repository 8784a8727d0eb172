/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages under way: transfers and the phases of collectives, as flows or in closed form. */
#include "step/wire.h"

#include "base/mem.h"

#include <string.h>

/* ---- flows ---- */

/* A flow's tag: the run that it is of (together.c) and its slot of going[]. */
static uint64_t flow_tag(const struct orr_step *s, uint32_t slot)
{
	return (uint64_t)s->member << 32 | slot;
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

static void message(const struct orr_step *s, uint32_t from, uint32_t to, uint64_t key, double bytes, struct phase_flow *out)
{
	out->from = from;
	out->to = to;
	out->key = key;
	out->bytes = bytes;
	out->latency_s = out->more_latency_s = 0;
	out->n = topo_route(s->config->topo, from, to, key, out->link);
	for (uint32_t h = 0; h < out->n; h++) {
		out->hop[h] = (struct flow_hop){ out->link[h], 1 };
		out->latency_s += s->config->topo->link[out->link[h]].flow.latency_s;
	}
}

void flow_start(struct orr_step *s, struct iteration *k, uint32_t i, const struct phase_flow *f, double bytes, double passed_s)
{
	struct wire *w = s->wire;
	for (uint32_t h = 0; h < f->n; h++) {
		if (w->lease[f->link[h]] != NONE)
			leap_break(s, f->link[h]);
		w->users[f->link[h]]++;
		w->offered += bytes * f->hop[h].load;
	}
	uint32_t slot = going_add(w, k, i);
	w->going[slot].from = f->from;
	w->going[slot].to = f->to;
	w->going[slot].key = f->key;
	flownet_start(w->net, bytes, f->more_latency_s - passed_s, f->hop, f->n, flow_tag(s, slot));
	s->flows++;
}

static void flow_gone(struct orr_step *s, const struct going *g)
{
	struct wire *w = s->wire;
	uint32_t route[TOPO_MAX_HOPS], n;
	struct flow_hop hop[TOPO_MAX_HOPS];
	if (g->from == NONE) {
		for (n = quotient_route(w->quotient, (uint32_t)g->key, hop); n--;)
			w->users[hop[n].link]--;
		return;
	}
	for (n = topo_route(s->config->topo, g->from, g->to, g->key, route); n--;)
		w->users[route[n]]--;
}

static void change_capacity(struct orr_step *s, uint32_t link, double capacity_Bps)
{
	struct wire *w = s->wire;
	if (w->lease[link] != NONE)
		leap_break(s, link);
	w->capacity[link] = capacity_Bps;
	flownet_set_capacity(w->net, link, capacity_Bps);
}

/* A NIC that other traffic slows for the iteration (step.contention_p, _f): drawn once for all endpoints that use it. */
static void contend(struct orr_step *s, uint32_t endpoint, uint64_t iteration)
{
	struct wire *w = s->wire;
	struct rng r;
	if (w->contention_p <= 0)
		return;
	uint32_t first = w->nic_user[endpoint];
	if (w->slowed_for[first] == iteration + 1)
		return;
	w->slowed_for[first] = iteration + 1;
	rng_init(&r, s->config->seed, "contention", iteration << 24 | first);
	double part = rng_uniform(&r) < w->contention_p ? w->contention_f : 1;
	for (int out = 0; out < 2; out++) {
		uint32_t l = topo_nic(s->config->topo, first, out);
		if (l == NONE)
			continue;
		w->part[l] = part;
		if (w->capacity[l] != w->nominal[l] * part)
			change_capacity(s, l, w->nominal[l] * part);
	}
}

const struct coll_plan *phases_of(const struct orr_step *s, const struct iteration *k, const struct op *o)
{
	return &s->plan[k->coll[o->collective].plan].phases;
}

/* ---- collectives ---- */

uint32_t phase_flows(const struct orr_step *s, const struct iteration *k, const struct instance *x)
{
	const struct op *o = &k->op[x->op];
	uint32_t n = 0;
	if (!s->is_merged)
		return phases_of(s, k, o)->phase[x->phase].count;
	merged_classes(s, k, o, x->phase, &n);
	return n;
}

void phase_flow_at(const struct orr_step *s, const struct iteration *k, const struct instance *x, uint32_t j, struct phase_flow *out)
{
	const struct op *o = &k->op[x->op];
	const struct coll *c = &k->coll[o->collective];
	const struct coll_plan *p = phases_of(s, k, o);
	const struct coll_send *m = &p->send[p->phase[x->phase].first + j];
	uint32_t n;
	if (s->is_merged)
		merged_flow(s, &merged_classes(s, k, o, x->phase, &n)[j], out);
	else
		message(s, rank_device(s, k, c, x->lane, m->from), rank_device(s, k, c, x->lane, m->to), (uint64_t)o->collective << 32 | j,
			m->bytes, out);
}

void phase_start(struct orr_step *s, struct iteration *k, uint32_t i)
{
	struct instance *x = &k->instance[i];
	struct phase_flow f;
	if (s->is_merged && !merged_known(s, k, &k->op[x->op]))
		return;
	if (leap_start(s, k, i))
		return;
	uint32_t n = x->flows_left = phase_flows(s, k, x);
	for (uint32_t j = 0; j < n; j++) {
		phase_flow_at(s, k, x, j, &f);
		flow_start(s, k, i, &f, f.bytes, 0);
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

struct figures routes_idle(const struct orr_step *s, const struct iteration *k, const struct op *o, uint32_t lane)
{
	const struct topo *t = s->config->topo;
	if (o->type == OP_TRANSFER) {
		uint32_t a = real_device(s, lane, o->device), b = real_device(s, lane, o->peer);
		return a == b ? (struct figures){ 0, INFINITY, 0, INFINITY }
			      : (struct figures){ topo_latency(t, a, b), topo_bandwidth(t, a, b), 0, INFINITY };
	}
	/* The slowest hop of the ring of members; islands: the slowest hop inside one. */
	const struct coll *c = &k->coll[o->collective];
	double latency = 0, bandwidth = INFINITY, inner_latency = 0, inner_bandwidth = INFINITY;
	for (uint32_t r = 0; r < c->n && c->n > 1; r++) {
		uint32_t a = rank_device(s, k, c, lane, r), b = rank_device(s, k, c, lane, (r + 1) % c->n);
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
		bandwidth *= fmin(1, (double)topo_nics(t) / beside_first(s, k, c, lane));
	if (isinf(bandwidth)) { /* one island */
		latency = inner_latency;
		bandwidth = inner_bandwidth;
	}
	return (struct figures){ latency, bandwidth, inner_latency, inner_bandwidth };
}

static double idle_time(const struct orr_step *s, const struct iteration *k, const struct instance *x, const struct op *o)
{
	struct figures f = routes_idle(s, k, o, x->lane);
	if (o->type == OP_TRANSFER)
		return f.latency_s + o->amount / f.Bps;
	const struct coll *c = &k->coll[o->collective];
	return c->n < 2 ? 0 : c->what.repeat * coll_time_s(&s->plan[c->plan].shape, f.latency_s, f.Bps, f.inner_latency_s, f.inner_Bps);
}

int wire_start(struct orr_step *s, struct iteration *k, uint32_t i)
{
	struct instance *x = &k->instance[i];
	const struct op *o = &k->op[x->op];
	if (s->is_analytic) {
		if (s->is_merged && !merged_same_figures(s, k, o))
			return s->error.code;
		timer_add(s, s->now_s + idle_time(s, k, x, o), k, i);
		return ORR_OK;
	}
	if (o->type == OP_TRANSFER) {
		uint32_t a = real_device(s, x->lane, o->device), b = real_device(s, x->lane, o->peer);
		if (a == b) {
			timer_add(s, s->now_s, k, i);
			return ORR_OK;
		}
		struct phase_flow f;
		uint32_t n;
		x->flows_left = 1;
		s->is_random |= s->config->topo->routing != TOPO_D_MOD_K; /* another route in each iteration */
		if (s->is_merged) {
			if (!merged_known(s, k, o))
				return s->error.code;
			merged_flow(s, merged_classes(s, k, o, 0, &n), &f);
		} else {
			contend(s, a, k->number);
			contend(s, b, k->number);
			message(s, a, b, k->number << 32 | x->op, o->amount, &f);
		}
		flow_start(s, k, i, &f, o->amount, 0);
		return ORR_OK;
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

double wire_calm_s(const struct orr_step *s)
{
	const struct wire *w = s->wire;
	return w->next_change < w->n_changes ? INFINITY : w->n_changes ? w->change[w->n_changes - 1].time_s : 0;
}

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
		w->nominal[c->link] = fmax(0, c->capacity_Bps - w->background[c->link]);
		change_capacity(s, c->link, w->nominal[c->link] * w->part[c->link]);
	}
	while (flownet_pop(w->net, &tag, &when))
		wire_deliver(s, tag);
}

void wire_deliver(struct orr_step *s, uint64_t tag)
{
	struct wire *w = s->wire;
	uint32_t slot = (uint32_t)tag;
	struct going g = w->going[slot];
	w->going[slot].next_free = w->free_going;
	w->free_going = slot;
	flow_gone(s, &g);
	struct instance *x = &g.of->instance[g.instance];
	if (--x->flows_left)
		return;
	if (g.of->op[x->op].type == OP_TRANSFER)
		instance_end(s, g.of, g.instance);
	else
		phase_next(s, g.of, g.instance);
}

struct flownet *wire_net(const struct orr_step *s)
{
	return s->wire->net;
}

uint32_t wire_link(const struct orr_step *s, uint32_t link)
{
	return s->is_merged && !s->is_analytic ? quotient_link_class(s->wire->quotient, link) : link;
}

double wire_bandwidth_now(const struct orr_step *s, uint32_t from, uint32_t to)
{
	uint32_t route[TOPO_MAX_HOPS], n = topo_route(s->config->topo, from, to, 0, route);
	double least = INFINITY;
	if (s->wire->quotient) /* merged: then nothing changes capacities, and capacity[] is that of classes */
		return topo_bandwidth(s->config->topo, from, to);
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
