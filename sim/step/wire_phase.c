/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flows of a message, and of a phase of a collective. */
#include "step/wire_state.h"

void message_flow(const struct orr_step *s, uint32_t from, uint32_t to, uint64_t key, double bytes, struct phase_flow *out)
{
	out->from = from;
	out->to = to;
	out->key = key;
	out->bytes = bytes;
	out->latency_s = out->more_latency_s = 0;
	out->n = wire_route(s, from, to, key, out->link);
	for (uint32_t h = 0; h < out->n; h++) {
		out->hop[h] = (struct flow_hop){ out->link[h], 1 };
		out->latency_s += wire_link_latency(s, out->link[h]);
	}
}

/* Replaces the latency of the route. */
static void set_latency(struct phase_flow *f, double hop_s)
{
	f->more_latency_s += hop_s - f->latency_s;
	f->latency_s = hop_s;
}

void class_flow(const struct orr_step *s, const struct sent_class *c, struct phase_flow *out)
{
	struct flow_link link;
	out->from = out->to = NONE;
	out->key = c->flow_class;
	out->bytes = c->bytes;
	out->latency_s = 0;
	out->n = quotient_route(s->wire->quotient, c->flow_class, out->hop);
	for (uint32_t h = 0; h < out->n; h++) {
		out->link[h] = out->hop[h].link;
		quotient_link(s->wire->quotient, out->link[h], &link, NULL);
		out->latency_s += link.latency_s;
	}
	out->more_latency_s = c->more_latency_s;
	out->latency_s += out->more_latency_s;
	if (!isnan(c->hop_s))
		set_latency(out, c->hop_s);
}

uint32_t phase_flows(const struct orr_step *s, const struct iteration *k, const struct instance *x)
{
	const struct op *o = &k->op[x->op];
	uint32_t n = 0;
	if (!s->is_merged)
		return phases_of(s, k, x)->phase[x->phase].count;
	merged_classes(s, k, o, x->phase, &n);
	return n;
}

void phase_flow_at(const struct orr_step *s, const struct iteration *k, const struct instance *x, uint32_t j, struct phase_flow *out)
{
	const struct op *o = &k->op[x->op];
	const struct coll *c = &k->coll[o->collective];
	const struct plan *plan = plan_of(s, k, c, x->lane);
	const struct coll_send *m = &plan->phases.send[plan->phases.phase[x->phase].first + j];
	uint32_t n;
	if (s->is_merged)
		class_flow(s, &merged_classes(s, k, o, x->phase, &n)[j], out);
	else
		message_flow(s, rank_device(s, k, c, x->lane, m->from), rank_device(s, k, c, x->lane, m->to),
			rail_key(s, &plan->shape) | (uint64_t)o->collective << 32 | j, sent_bytes(s, plan, m), out);
	if (s->is_merged)
		return;
	if (!isnan(send_hop_s(plan, m)))
		set_latency(out, send_hop_s(plan, m));
	set_latency(out, out->latency_s + send_fill_s(plan, m));
}
