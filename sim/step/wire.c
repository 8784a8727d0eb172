/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages in flight: transfers and the phases of collectives, as flows or in closed form. */
#include "step/wire_state.h"

#include "step/checkpoint.h"
#include "step/exec.h"
#include "step/path.h"

#include "base/mem.h"

#include <string.h>

/* ---- flows ---- */

static void flow_gone(struct orr_step *s, const struct going *g)
{
	struct wire *w = s->wire;
	uint32_t route[TOPO_MAX_HOPS], n;
	struct flow_hop hop[TOPO_MAX_HOPS];
	if (g->from == FROM_STORED) {
		n = stored_route(w, (uint32_t)g->key, route);
	} else if (g->from == NONE) {
		n = quotient_route(w->quotient, (uint32_t)g->key, hop);
		for (uint32_t h = 0; h < n; h++)
			route[h] = hop[h].link;
	} else {
		n = wire_route(s, g->from, g->to, g->key, route);
	}
	if (s->path)
		path_flow(s, w->capacity, route, n, false);
	while (n--)
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

/* Draws whether other traffic slows a NIC in the iteration (step.contention_p, _f), once for all endpoints that use the NIC. */
static void contend(struct orr_step *s, uint32_t endpoint, uint64_t iteration)
{
	struct wire *w = s->wire;
	struct rng r;
	if (w->contention_p <= 0 || is_function(s, endpoint))
		return;
	uint32_t first = w->nic_user[endpoint];
	if (w->slowed_for[first] == iteration + 1)
		return;
	w->slowed_for[first] = iteration + 1;
	*s->uses |= STEP_USED_RANDOM;
	rng_init(&r, s->config->seed, "contention", iteration << 24 | first);
	double part = rng_uniform(&r) < w->contention_p ? w->contention_f : 1;
	*s->uses |= part < 1 ? STEP_USED_SLOWED_NIC : 0;
	for (int out = 0; out < 2; out++) {
		uint32_t l = topo_nic(s->config->topo, first, out);
		if (l == NONE)
			continue;
		w->part[l] = part;
		if (w->capacity[l] != w->nominal[l] * part)
			change_capacity(s, l, w->nominal[l] * part);
	}
}

/* ---- collectives ---- */

static void phase_start(struct orr_step *s, struct iteration *k, uint32_t i)
{
	struct instance *x = &k->instance[i];
	struct phase_flow f;
	path_phase_begins(s, k, i);
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

static void phase_next(struct orr_step *s, struct iteration *k, uint32_t i)
{
	struct instance *x = &k->instance[i];
	const struct coll_plan *p = phases_of(s, k, x);
	path_phase_ends(s, k, i);
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

void wire_leap_over(struct orr_step *s, uint32_t leap, uint32_t generation)
{
	struct iteration *k;
	uint32_t i;
	if (leap_end(s, leap, generation, &k, &i))
		phase_next(s, k, i);
}

int wire_start(struct orr_step *s, struct iteration *k, uint32_t i)
{
	struct instance *x = &k->instance[i];
	const struct op *o = &k->op[x->op];
	*s->uses |= STEP_USED_MESSAGES | (s->config->topo->routing != TOPO_D_MOD_K ? STEP_USED_RANDOM : 0);
	if (o->type == OP_TRANSFER && s->node_of[real_device(s, x->lane, o->device)] != s->node_of[real_device(s, x->lane, o->peer)])
		*s->uses |= STEP_USED_NETWORK;
	if (s->is_analytic) {
		if (s->is_merged && !merged_same_routes(s, k, o))
			return s->error.code;
		timer_add(s, s->now_s + idle_time_s(s, k, x, o), k, i);
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
		s->is_random |= s->config->topo->routing != TOPO_D_MOD_K; /* routes differ between iterations */
		if (s->is_merged) {
			if (!merged_known(s, k, o))
				return s->error.code;
			class_flow(s, merged_classes(s, k, o, 0, &n), &f);
		} else {
			contend(s, a, k->number);
			contend(s, b, k->number);
			message_flow(s, a, b, k->number << 32 | x->op, o->amount, &f);
			s->wire->function_bytes += o->amount * (is_function(s, a) + is_function(s, b));
		}
		flow_start(s, k, i, &f, o->amount, 0);
		return ORR_OK;
	}
	const struct coll *c = &k->coll[o->collective];
	const struct coll_plan *p = phases_of(s, k, x);
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
	if (!g.of) {
		checkpoint_flow_ended(s, g.instance);
		return;
	}
	struct instance *x = &g.of->instance[g.instance];
	if (--x->flows_left)
		return;
	if (g.of->op[x->op].type == OP_TRANSFER) {
		path_phase_ends(s, g.of, g.instance);
		instance_end(s, g.of, g.instance);
	} else {
		phase_next(s, g.of, g.instance);
	}
}

/* ---- checks of --check ---- */

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
		return s->error.code; /* links carry nothing */
	uint32_t n = s->is_merged ? quotient_links(w->quotient) : w->n_links;
	double carried = 0;
	for (uint32_t i = 0; i < n; i++)
		carried += flownet_link_bytes(w->net, i);
	if (!s->error.code && fabs(carried - w->offered) > 1e-9 * w->offered)
		return orr_fail(&s->error, ORR_EFAIL, "check: links carried %.17g bytes: expected the bytes that flows sent, %.17g",
			carried, w->offered);
	return s->error.code;
}
