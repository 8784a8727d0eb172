/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages under way: transfers and the phases of collectives, as flows or in closed form.
 *
 * In a merged run the flows of all lanes are put into classes first (net/quotient.h). The run
 * may go on as one lane only if, for each pattern of messages, every lane (or group of lanes)
 * has flows of the same classes; then one flow per class is sent.
 */
#include "step/world.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/num.h"

#include <stdlib.h>
#include <string.h>

/* What the flows of an op of merged lanes have in common, whatever the iteration. */
struct pattern {
	uint32_t from, to;            /* transfer: positions; collective: its group's positions' hash in from */
	uint32_t plan, size, stride;  /* plan NONE: a transfer */
	uint32_t first_flow;          /* in the quotient, while it is made */
	uint32_t first_phase;         /* in phase_classes[] */
};

/* A class of flows, each of so many bytes (a transfer's bytes are its op's). */
struct sent_class {
	uint32_t flow_class;
	double bytes, more_latency_s;
};

struct change {
	double time_s, capacity_Bps;
	uint32_t link;
};

struct wire {
	struct flownet *net;
	struct going *going;
	uint32_t n_going, cap_going, free_going;
	double *capacity;       /* by link of the topology, now */
	double *nominal;        /* less background flows */
	struct change *change;
	uint32_t n_changes, next_change;
	uint64_t *slowed_for;   /* by endpoint: iteration + 1 whose contention was drawn last */
	double contention_p, contention_f;
	double offered;         /* bytes x links of all flows started */
	/* Merged. */
	struct quotient *quotient;
	struct pattern *pattern;
	uint32_t n_patterns, cap_patterns;
	struct sent_class *class_list; /* of each phase of each pattern */
	uint32_t n_classes, cap_classes;
	uint32_t *phase_at;     /* offsets into class_list, one more than phases */
	uint32_t n_phase_at, cap_phase_at;
};

/* ---- options ---- */

static int add_background(struct orr_step *s, struct wire *w, const char *text)
{
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ",");
		const char *gt = memchr(p, '>', n), *colon = memchr(p, ':', n);
		int64_t from, to;
		double rate;
		if (!gt || !colon || gt > colon || !num_int(p, (size_t)(gt - p), &from) ||
			!num_int(gt + 1, (size_t)(colon - gt - 1), &to) || !num_real(colon + 1, n - (size_t)(colon + 1 - p), &rate) ||
			from < 0 || to < 0 || from >= s->endpoints || to >= s->endpoints || !(rate >= 0))
			return orr_fail(&s->error, ORR_EINPUT, "step.background: expected FROM>TO:BYTES_PER_SECOND,.. with endpoints 0..%u, "
				"found \"%.80s\"", s->endpoints - 1, p);
		uint32_t route[TOPO_MAX_HOPS], hops = topo_route(s->config->topo, (uint32_t)from, (uint32_t)to, 0, route);
		for (uint32_t i = 0; i < hops; i++) {
			w->nominal[route[i]] = fmax(0, w->nominal[route[i]] - rate);
			w->capacity[route[i]] = w->nominal[route[i]];
			flownet_set_capacity(w->net, route[i], w->capacity[route[i]]);
		}
		p += n + (p[n] == ',');
	}
	return ORR_OK;
}

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	return x->time_s < y->time_s ? -1 : x->time_s > y->time_s ? 1 : (x->link > y->link) - (x->link < y->link);
}

static int read_change(struct orr_step *s, const char *path, unsigned line, const char *p, size_t n, struct change *out)
{
	const struct topo *t = s->config->topo;
	const char *a = memchr(p, ',', n), *b = a ? memchr(a + 1, ',', n - (size_t)(a + 1 - p)) : NULL;
	if (!b || !num_real(p, (size_t)(a - p), &out->time_s) || !(out->time_s >= 0) ||
		!num_real(b + 1, n - (size_t)(b + 1 - p), &out->capacity_Bps) || !(out->capacity_Bps >= 0))
		return orr_fail(&s->error, ORR_EINPUT, "%s:%u: expected time_s,link,bandwidth_Bps with figures from 0 on, found \"%.*s\"",
			path, line, (int)(n < 80 ? n : 80), p);
	size_t len = (size_t)(b - a - 1);
	for (out->link = 0; out->link < t->n_links; out->link++)
		if (strlen(t->link[out->link].name) == len && !memcmp(t->link[out->link].name, a + 1, len))
			return ORR_OK;
	return orr_fail(&s->error, ORR_EINPUT, "%s:%u: link: the network has no \"%.*s\"", path, line, (int)(len < 80 ? len : 80),
		a + 1);
}

static int read_changes(struct orr_step *s, struct wire *w, const char *path)
{
	size_t n, cap = 0;
	char *text = bytes_read_file(path, 1u << 28, &n, NULL, &s->error);
	if (!text)
		return s->error.code;
	unsigned line = 0;
	for (const char *p = text; p < text + n && !s->error.code;) {
		const char *end = memchr(p, '\n', (size_t)(text + n - p));
		size_t len = end ? (size_t)(end - p) : (size_t)(text + n - p);
		size_t used = len && p[len - 1] == '\r' ? len - 1 : len;
		line++;
		if (used && !(line == 1 && !strncmp(p, "time_s", 6))) {
			MEM_GROW(w->change, w->n_changes, cap);
			if (!read_change(s, path, line, p, used, &w->change[w->n_changes]))
				w->n_changes++;
		}
		p += len + 1;
	}
	mem_free(text);
	if (w->n_changes)
		qsort(w->change, w->n_changes, sizeof *w->change, by_time);
	return s->error.code;
}

struct wire *wire_new(struct orr_step *s)
{
	struct wire *w = mem_zalloc(1, sizeof *w);
	const struct topo *t = s->config->topo;
	const struct orr_args *o = s->config->options;
	w->net = topo_flownet(t, FLOW_MAX_MIN);
	w->free_going = NONE;
	w->capacity = mem_alloc((t->n_links + 1) * sizeof *w->capacity);
	w->nominal = mem_alloc((t->n_links + 1) * sizeof *w->nominal);
	for (uint32_t i = 0; i < t->n_links; i++)
		w->capacity[i] = w->nominal[i] = t->link[i].flow.capacity_Bps;
	w->contention_p = orr_arg_real(o, "contention_p");
	w->contention_f = orr_arg_real(o, "contention_f");
	w->slowed_for = mem_zalloc(s->endpoints, sizeof *w->slowed_for);
	s->wire = w;
	if (!add_background(s, w, orr_arg_text(o, "background")) && *orr_arg_text(o, "link_changes"))
		read_changes(s, w, orr_arg_text(o, "link_changes"));
	return w;
}

void wire_free(struct wire *w)
{
	if (!w)
		return;
	flownet_free(w->net);
	mem_free(w->going);
	mem_free(w->capacity);
	mem_free(w->nominal);
	mem_free(w->change);
	mem_free(w->slowed_for);
	quotient_free(w->quotient);
	mem_free(w->pattern);
	mem_free(w->class_list);
	mem_free(w->phase_at);
	mem_free(w);
}

/* ---- flows ---- */

static uint64_t going_add(struct wire *w, struct iteration *k, uint32_t i)
{
	uint32_t slot = w->free_going;
	if (slot == NONE) {
		MEM_GROW(w->going, w->n_going, w->cap_going);
		slot = w->n_going++;
	} else {
		w->free_going = w->going[slot].next_free;
	}
	w->going[slot] = (struct going){ k, i, NONE };
	return slot;
}

static void flow_add(struct orr_step *s, struct iteration *k, uint32_t i, uint32_t from, uint32_t to, double bytes,
	uint64_t key)
{
	struct wire *w = s->wire;
	uint32_t route[TOPO_MAX_HOPS], n = topo_route(s->config->topo, from, to, key, route);
	struct flow_hop hop[TOPO_MAX_HOPS];
	for (uint32_t j = 0; j < n; j++)
		hop[j] = (struct flow_hop){ route[j], 1 };
	flownet_start(w->net, bytes, 0, hop, n, going_add(w, k, i));
	w->offered += bytes * n;
	s->flows++;
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
		w->capacity[l] = w->nominal[l] * part;
		flownet_set_capacity(w->net, l, w->capacity[l]);
	}
}

static const struct coll_plan *phases_of(const struct orr_step *s, const struct iteration *k, const struct op *o)
{
	return &s->plan[k->coll[o->collective].plan].phases;
}

/* ---- merged ---- */

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
	return (struct pattern){ .from = hash_group(k, c), .to = k->group[c->group_first], .plan = c->plan, .size = c->size,
		.stride = c->stride };
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

/* Lanes that have their own instance of the pattern: the first lane of each. */
static uint32_t copies(const struct orr_step *s, const struct pattern *p)
{
	return p->size ? s->lanes / p->size : s->lanes;
}

static uint32_t copy_lane(const struct pattern *p, uint32_t i)
{
	return p->size ? i / p->stride * (p->size * p->stride) + i % p->stride : i;
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
				/* Sends of unlike size in a phase are unlike; those of one size may turn out alike. */
				uint32_t shade = 0;
				while (c && plan->send[plan->phase[f].first + shade].bytes != m->bytes)
					shade++;
				uint32_t flow = quotient_flow(w->quotient, from, to, 0, *colour + shade);
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

/* Flows of a class have one size, because unlike sizes had unlike colours from the start. */
static void classes_push(struct wire *w, uint32_t class, const struct coll_plan *plan, uint32_t phase, uint32_t first_flow)
{
	uint32_t j = 0;
	while (quotient_class(w->quotient, first_flow + j) != class)
		j++;
	MEM_GROW(w->class_list, w->n_classes, w->cap_classes);
	w->class_list[w->n_classes++] = (struct sent_class){ class, plan ? plan->send[plan->phase[phase].first + j].bytes : 0,
		quotient_more_latency(w->quotient, class) };
}

static void phase_mark(struct wire *w)
{
	MEM_GROW(w->phase_at, w->n_phase_at, w->cap_phase_at);
	w->phase_at[w->n_phase_at++] = w->n_classes;
}

/* The classes of one phase in copy i, sorted. */
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
				classes_push(w, mine[j], plan, f, flow);
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
	for (uint32_t i = 0; i < n; i++)
		quotient_link(w->quotient, i, &link[i], NULL);
	flownet_free(w->net);
	w->net = flownet_new(link, n, FLOW_MAX_MIN);
	mem_free(link);
}

int wire_classes(struct orr_step *s)
{
	struct wire *w = s->wire;
	if (s->config->topo->routing != TOPO_D_MOD_K)
		return orr_fail(&s->error, ORR_EINPUT, "step.merge=on: lanes cannot be run as one where routes are hashed (routing=ecmp)");
	if (s->is_random || w->n_changes || *orr_arg_text(s->config->options, "background") ||
		*orr_arg_text(s->config->options, "speeds"))
		return orr_fail(&s->error, ORR_EINPUT,
			"step.merge=on: lanes cannot be run as one with stragglers, speeds, contention, background flows or link changes");
	uint32_t colour = 0;
	w->quotient = quotient_new(s->config->topo);
	for (uint64_t j = 0; j < s->n_live; j++)
		for (uint32_t i = 0; i < s->live[j]->n_ops; i++) {
			const struct op *o = &s->live[j]->op[i];
			if (o->type == OP_TRANSFER || o->type == OP_COLLECTIVE)
				pattern_add(s, s->live[j], o, &colour);
		}
	quotient_refine(w->quotient);
	for (uint32_t i = 0; i < w->n_patterns; i++)
		if (!are_alike(s, &w->pattern[i]))
			return orr_fail(&s->error, ORR_EINPUT,
				"step.merge=on: routes or loads of the lanes differ (message pattern %u of %u), so they cannot be run as one", i + 1,
				w->n_patterns);
	merged_net(s);
	return ORR_OK;
}

static uint32_t merged_phase(struct orr_step *s, struct iteration *k, uint32_t i, uint32_t phase, double bytes)
{
	struct wire *w = s->wire;
	struct instance *x = &k->instance[i];
	const struct op *o = &k->op[x->op];
	struct pattern key = pattern_of(k, o);
	const struct pattern *p = pattern_find(w, &key);
	if (!p) { /* new in a later iteration: step_run() starts again without merging */
		s->must_unmerge = true;
		step_fail(s, ORR_EINPUT, "step.merge=on: iteration %llu sends messages that those at the start did not",
			(unsigned long long)k->number);
		return 0;
	}
	uint32_t first = w->phase_at[p->first_phase + phase], end = w->phase_at[p->first_phase + phase + 1];
	struct flow_hop hop[TOPO_MAX_HOPS];
	for (uint32_t j = first; j < end; j++) {
		uint32_t n = quotient_route(w->quotient, w->class_list[j].flow_class, hop);
		double size = p->plan == NONE ? bytes : w->class_list[j].bytes;
		flownet_start(w->net, size, w->class_list[j].more_latency_s, hop, n, going_add(w, k, i));
		for (uint32_t h = 0; h < n; h++)
			w->offered += size * hop[h].load;
		s->flows++;
	}
	return end - first;
}

/* ---- collectives ---- */

static void phase_start(struct orr_step *s, struct iteration *k, uint32_t i)
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
	x->flows_left = f->count;
	for (uint32_t j = 0; j < f->count; j++) {
		const struct coll_send *m = &p->send[f->first + j];
		flow_add(s, k, i, rank_device(s, k, c, x->lane, m->from), rank_device(s, k, c, x->lane, m->to), m->bytes,
			(uint64_t)o->collective << 32 | j);
	}
}

static void phase_next(struct orr_step *s, struct iteration *k, uint32_t i)
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
		w->capacity[c->link] = w->nominal[c->link] = c->capacity_Bps;
		flownet_set_capacity(w->net, c->link, c->capacity_Bps);
	}
	while (flownet_pop(w->net, &tag, &when)) {
		struct going g = w->going[tag];
		w->going[tag].next_free = w->free_going;
		w->free_going = (uint32_t)tag;
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
