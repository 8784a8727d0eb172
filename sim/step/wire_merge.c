/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A merged run first computes classes of the flows of all lanes (net/quotient.h). It may simulate a single lane if, for each
 * pattern of messages, every lane (or group of lanes) has flows of the same classes. It then sends one flow per class.
 */
#include "step/wire_state.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_group(const struct iteration *k, const struct coll *c)
{
	uint32_t h = 2166136261u;
	for (uint32_t i = 0; i < (c->size ? 1 : c->n); i++)
		h = (h ^ k->group[c->group_first + i]) * 16777619u;
	return h;
}

static struct pattern pattern_of(const struct iteration *k, const struct op *o)
{
	if (o->type == OP_TRANSFER)
		return (struct pattern){ .from = o->device, .to = o->peer, .plan = NONE };
	const struct coll *c = &k->coll[o->collective];
	return (struct pattern){
		.from = hash_group(k, c), .to = k->group[c->group_first], .plan = c->plan, .size = c->size, .stride = c->stride
	};
}

static struct pattern *pattern_find(const struct wire *w, const struct pattern *p)
{
	for (uint32_t i = 0; i < w->n_patterns; i++) {
		struct pattern *q = &w->pattern[i];
		if (q->from == p->from && q->to == p->to && q->plan == p->plan && q->size == p->size && q->stride == p->stride)
			return q;
	}
	return NULL;
}

/* Returns the number of lanes (or groups of lanes) with an instance of the pattern. */
static uint32_t copies(const struct orr_step *s, const struct pattern *p)
{
	return p->size ? s->lanes / p->size : s->lanes;
}

static uint32_t copy_lane(const struct pattern *p, uint32_t i)
{
	return p->size ? i / p->stride * (p->size * p->stride) + i % p->stride : i;
}

static bool are_equal(const struct coll_send *a, const struct coll_send *b)
{
	return a->bytes == b->bytes && a->follows == b->follows;
}

static void pattern_add(struct orr_step *s, const struct iteration *k, const struct op *o, uint32_t *colour)
{
	struct wire *w = s->wire;
	struct pattern p = pattern_of(k, o);
	if (pattern_find(w, &p))
		return;
	const struct coll *c = o->type == OP_COLLECTIVE ? &k->coll[o->collective] : NULL;
	const struct coll_plan *plan = c ? &s->plan[c->plan].phases : NULL;
	uint32_t n = copies(s, &p);
	p.first_flow = NONE;
	for (uint32_t f = 0; f < (c ? plan->n_phases : 1); f++) {
		uint32_t sends = c ? plan->phase[f].count : 1;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t lane = copy_lane(&p, i);
			for (uint32_t j = 0; j < sends; j++) {
				const struct coll_send *m = c ? &plan->send[plan->phase[f].first + j] : NULL;
				uint32_t from = c ? rank_device(s, k, c, lane, m->from) : real_device(s, lane, o->device);
				uint32_t to = c ? rank_device(s, k, c, lane, m->to) : real_device(s, lane, o->peer);
				/* Sends of different size or latency in a phase get different colours. Equal ones may be equivalent. */
				uint32_t shade = 0;
				while (c && !are_equal(&plan->send[plan->phase[f].first + shade], m))
					shade++;
				uint32_t flow =
					quotient_flow(w->quotient, from, to, c ? rail_key(s, &s->plan[c->plan].shape) : 0, *colour + shade);
				if (p.first_flow == NONE)
					p.first_flow = flow;
			}
		}
		*colour += sends;
	}
	MEM_GROW(w->pattern, w->n_patterns, w->cap_patterns);
	w->pattern[w->n_patterns++] = p;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* All flows of a class have one size and latency, because different ones had different initial colours. */
static void classes_push(struct orr_step *s, uint32_t class, const struct plan *plan, uint32_t phase, uint32_t first_flow)
{
	struct wire *w = s->wire;
	uint32_t j = 0;
	while (quotient_class(w->quotient, first_flow + j) != class)
		j++;
	MEM_GROW(w->class_list, w->n_classes, w->cap_classes);
	const struct coll_send *m = plan ? &plan->phases.send[plan->phases.phase[phase].first + j] : NULL;
	w->class_list[w->n_classes++] = (struct sent_class){ class, m ? sent_bytes(s, plan, m) : 0,
		quotient_more_latency(w->quotient, class) + (m ? send_fill_s(plan, m) : 0), m ? send_hop_s(plan, m) : NAN };
}

static void phase_mark(struct wire *w)
{
	MEM_GROW(w->phase_at, w->n_phase_at, w->cap_phase_at);
	w->phase_at[w->n_phase_at++] = w->n_classes;
}

/* Returns the sorted classes of one phase in copy i. */
static void copy_classes(const struct wire *w, uint32_t first_flow, uint32_t sends, uint32_t i, uint32_t *out)
{
	for (uint32_t j = 0; j < sends; j++)
		out[j] = quotient_class(w->quotient, first_flow + i * sends + j);
	qsort(out, sends, sizeof *out, by_number);
}

static bool are_alike(struct orr_step *s, struct pattern *p)
{
	struct wire *w = s->wire;
	const struct coll_plan *plan = p->plan == NONE ? NULL : &s->plan[p->plan].phases;
	uint32_t flow = p->first_flow, n = copies(s, p);
	p->first_phase = w->n_phase_at;
	for (uint32_t f = 0; f < (plan ? plan->n_phases : 1); f++) {
		uint32_t sends = plan ? plan->phase[f].count : 1;
		uint32_t *mine = mem_alloc(2 * sends * sizeof *mine), *other = mine + sends;
		bool same = true;
		copy_classes(w, flow, sends, 0, mine);
		for (uint32_t i = 1; i < n && same; i++) {
			copy_classes(w, flow, sends, i, other);
			same = !memcmp(mine, other, sends * sizeof *mine);
		}
		phase_mark(w);
		for (uint32_t j = 0; j < sends; j++)
			if (!j || mine[j] != mine[j - 1])
				classes_push(s, mine[j], plan ? &s->plan[p->plan] : NULL, f, flow);
		mem_free(mine);
		if (!same)
			return false;
		flow += sends * n;
	}
	phase_mark(w);
	return true;
}

static void merged_net(struct orr_step *s)
{
	struct wire *w = s->wire;
	uint32_t n = quotient_links(w->quotient);
	struct flow_link *link = mem_alloc((n + 1) * sizeof *link);
	w->capacity = mem_realloc(w->capacity, n + 1, sizeof *w->capacity);
	w->lease = mem_realloc(w->lease, n + 1, sizeof *w->lease);
	w->users = mem_realloc(w->users, n + 1, sizeof *w->users);
	for (uint32_t i = 0; i < n; i++) {
		quotient_link(w->quotient, i, &link[i], NULL);
		w->capacity[i] = link[i].capacity_Bps;
		w->lease[i] = NONE;
		w->users[i] = 0;
	}
	flownet_free(w->net);
	w->net = flownet_new(link, n, FLOW_MAX_MIN);
	mem_free(link);
}

bool merged_same_routes(struct orr_step *s, const struct iteration *k, const struct op *o)
{
	struct wire *w = s->wire;
	struct pattern p = pattern_of(k, o);
	if (pattern_find(w, &p))
		return true;
	struct idle_route first = idle_route(s, k, o, 0);
	for (uint32_t i = 1; i < copies(s, &p); i++) {
		struct idle_route f = idle_route(s, k, o, copy_lane(&p, i));
		if (f.latency_s == first.latency_s && f.Bps == first.Bps && f.inner_latency_s == first.inner_latency_s &&
			f.inner_Bps == first.inner_Bps)
			continue;
		s->must_unmerge = true;
		step_fail(s, ORR_EINPUT, "step.merge=on: the routes of the lanes differ: expected equal routes, or step.merge=auto");
		return false;
	}
	MEM_GROW(w->pattern, w->n_patterns, w->cap_patterns);
	w->pattern[w->n_patterns++] = p;
	return true;
}

/* Returns whether one lane's memory represents all: all lanes hold the same bytes in devices of the same size. */
static bool has_same_memory(const struct orr_step *s)
{
	for (uint32_t l = 1; l < s->lanes; l++)
		for (uint32_t p = 0; p < s->positions; p++) {
			uint32_t a = real_device(s, 0, p), b = real_device(s, l, p);
			if (s->device[a].static_bytes != s->device[b].static_bytes || orr_device_memory(s, a) != orr_device_memory(s, b))
				return false;
		}
	return true;
}

int wire_classes(struct orr_step *s)
{
	struct wire *w = s->wire;
	if (!has_same_memory(s))
		return orr_fail(&s->error, ORR_EINPUT,
			"step.merge=on: the devices of the lanes differ in the memory in use: expected equal devices, or step.merge=auto");
	bool has_speeds = *orr_arg_text(s->config->options, "speeds");
	if (s->is_analytic)
		return has_speeds || s->is_random ? orr_fail(&s->error, ORR_EINPUT, "step.merge=on: expected no stragglers and no speeds")
						  : ORR_OK;
	if (s->config->topo->routing != TOPO_D_MOD_K)
		return orr_fail(&s->error, ORR_EINPUT, "step.merge=on: expected routing=d-mod-k, found hashed routes (routing=ecmp)");
	if (s->is_random || w->n_changes || *orr_arg_text(s->config->options, "background") || has_speeds)
		return orr_fail(&s->error, ORR_EINPUT,
			"step.merge=on: expected no stragglers, speeds, contention, background flows or link changes");
	uint32_t colour = 0;
	w->quotient = quotient_new(s->config->topo);
	for (uint64_t j = 0; j < s->n_live; j++)
		for (uint32_t i = 0; i < s->live[j]->n_ops; i++) {
			const struct op *o = &s->live[j]->op[i];
			if (o->type == OP_TRANSFER || o->type == OP_COLLECTIVE)
				pattern_add(s, s->live[j], o, &colour);
		}
	storage_merge(s, colour);
	quotient_refine(w->quotient);
	for (uint32_t i = 0; i < w->n_patterns; i++)
		if (!are_alike(s, &w->pattern[i]))
			return orr_fail(&s->error, ORR_EINPUT,
				"step.merge=on: routes or loads of the lanes differ (message pattern %u of %u): expected equal lanes, or "
				"step.merge=auto",
				i + 1, w->n_patterns);
	merged_net(s);
	return ORR_OK;
}

bool merged_known(struct orr_step *s, const struct iteration *k, const struct op *o)
{
	struct pattern key = pattern_of(k, o);
	if (pattern_find(s->wire, &key))
		return true;
	s->must_unmerge = true; /* step_run() restarts without merging */
	step_fail(s, ORR_EINPUT,
		"step.merge=on: iteration %llu sends new messages: expected the messages of earlier iterations, or step.merge=auto",
		(unsigned long long)k->number);
	return false;
}

const struct sent_class *merged_classes(
	const struct orr_step *s, const struct iteration *k, const struct op *o, uint32_t phase, uint32_t *n)
{
	const struct wire *w = s->wire;
	struct pattern key = pattern_of(k, o);
	const struct pattern *p = pattern_find(w, &key);
	uint32_t first = w->phase_at[p->first_phase + phase];
	*n = w->phase_at[p->first_phase + phase + 1] - first;
	return &w->class_list[first];
}
