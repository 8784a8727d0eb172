/* SPDX-License-Identifier: GPL-3.0-or-later */
/* flow.c - the life of a flow: latency, draining, end; flow_solve.c computes its rate */
#include "net/flow_state.h"

#include <stdlib.h>
#include <string.h>

static const double MOST_BPS = 1e200;  /* value of "no limit"; keeps infinities out of the sums */
static const double SAME_TIME = 4e-16; /* ends within this relative distance (two ulps) are simultaneous */

struct flownet *flownet_new(const struct flow_link *links, uint32_t n_links, enum flow_fairness fairness)
{
	struct flownet *f = mem_zalloc(1, sizeof *f);
	f->fairness = fairness;
	f->n_links = n_links;
	f->link = mem_zalloc(n_links, sizeof *f->link);
	f->fill = mem_zalloc(n_links, sizeof *f->fill);
	f->queue = mem_zalloc((size_t)n_links + 1, sizeof *f->queue);
	f->due = mem_zalloc(n_links, sizeof *f->due);
	for (uint32_t i = 0; i < n_links; i++) {
		struct net_link *l = &f->link[i];
		l->capacity = fmin(links[i].capacity_Bps, MOST_BPS);
		l->latency = links[i].latency_s;
		l->level = INFINITY;
		l->due_at = FLOW_NONE;
	}
	for (int i = 0; i < 32; i++)
		f->spare_hops[i] = FLOW_NONE;
	return f;
}

void flownet_free(struct flownet *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->n_links; i++) {
		mem_free(f->link[i].entry);
		mem_free(f->link[i].group);
	}
	mem_free(f->link);
	mem_free(f->fill);
	mem_free(f->queue);
	mem_free(f->due);
	mem_free(f->flow);
	mem_free(f->path);
	mem_free(f->next);
	mem_free(f->bottleneck);
	mem_free(f->hop);
	mem_free(f->waiting);
	mem_free(f->ended_s);
	mem_free(f->sorted);
	mem_free(f->spare.v);
	mem_free(f->ended.v);
	mem_free(f->touched.v);
	mem_free(f->fresh.v);
	mem_free(f->freed.v);
	mem_free(f->seen.v);
	mem_free(f->free_groups.v);
	mem_free(f);
}

double flownet_now(const struct flownet *f)
{
	return f->now;
}

/* ---- slots and routes ---- */

static uint32_t hops_new(struct flownet *f, uint32_t n, uint8_t *room)
{
	uint8_t log = 0;
	while (UINT32_C(1) << log < n)
		log++;
	*room = log;
	uint32_t at = f->spare_hops[log];
	if (at != FLOW_NONE) {
		f->spare_hops[log] = f->hop[at].link;
		return at;
	}
	at = f->n_hops;
	f->n_hops += UINT32_C(1) << log;
	if (f->n_hops > f->cap_hops) {
		f->cap_hops = f->n_hops > 2 * f->cap_hops ? f->n_hops : 2 * f->cap_hops;
		f->hop = mem_realloc(f->hop, f->cap_hops, sizeof *f->hop);
	}
	return at;
}

static uint32_t slot_new(struct flownet *f)
{
	if (f->spare.n)
		return f->spare.v[--f->spare.n];
	if (f->n_flows == f->cap_flows) {
		f->cap_flows = f->cap_flows ? 2 * f->cap_flows : 16;
		f->flow = mem_realloc(f->flow, f->cap_flows, sizeof *f->flow);
		f->path = mem_realloc(f->path, f->cap_flows, sizeof *f->path);
		f->next = mem_realloc(f->next, f->cap_flows, sizeof *f->next);
		f->bottleneck = mem_realloc(f->bottleneck, f->cap_flows, sizeof *f->bottleneck);
	}
	return f->n_flows++;
}

static void slot_free(struct flownet *f, uint32_t flow)
{
	const struct flow_path *p = &f->path[flow];
	struct net_flow *x = &f->flow[flow];
	if (p->n_hops) {
		f->hop[p->hop].link = f->spare_hops[x->room];
		f->spare_hops[x->room] = p->hop;
	}
	x->phase = FLOW_FREE;
	flow_list_add(&f->spare, flow);
}

/* ---- draining ---- */

static void touch(struct flownet *f, uint32_t link)
{
	if (f->link[link].is_touched)
		return;
	f->link[link].is_touched = true;
	flow_list_add(&f->touched, link);
}

static void drain(struct flownet *f, uint32_t flow)
{
	const struct flow_path *p = &f->path[flow];
	f->flow[flow].phase = FLOW_DRAINING;
	f->n_draining++;
	for (uint32_t h = p->hop; h < p->hop + p->n_hops; h++) {
		struct net_link *l = &f->link[f->hop[h].link];
		if (l->n_entries == l->cap_entries) {
			l->cap_entries = l->cap_entries ? 2 * l->cap_entries : 4;
			l->entry = mem_realloc(l->entry, l->cap_entries, sizeof *l->entry);
		}
		const struct net_hop *other = p->n_hops == 2 ? &f->hop[2 * p->hop + 1 - h] : NULL;
		bool is_pair = other && other->share == f->hop[h].share;
		f->hop[h].at = l->n_entries;
		l->entry[l->n_entries++] = (struct link_entry){ f->hop[h].share, flow, h, is_pair ? other->link : FLOW_NONE };
		touch(f, f->hop[h].link);
	}
	flow_list_add(&f->fresh, flow);
}

/* Removes from its links a flow that has sent `bytes`. */
static void undrain(struct flownet *f, uint32_t flow, double bytes)
{
	const struct flow_path *p = &f->path[flow];
	uint32_t bottleneck = f->bottleneck[flow];
	double level = bottleneck == FLOW_NONE ? 0 : f->link[bottleneck].level;
	if (bottleneck != FLOW_NONE)
		flow_group_remove(f, flow);
	f->n_draining--;
	for (uint32_t h = p->hop; h < p->hop + p->n_hops; h++) {
		struct net_link *l = &f->link[f->hop[h].link];
		struct link_entry last = l->entry[--l->n_entries];
		l->used -= l->entry[f->hop[h].at].share * level;
		l->n_updates++;
		l->entry[f->hop[h].at] = last;
		f->hop[last.hop].at = f->hop[h].at;
		if (!l->n_entries)
			l->used = 0;
		l->carried += bytes / f->flow[flow].weight * f->hop[h].share;
		touch(f, f->hop[h].link);
	}
}

static void end(struct flownet *f, uint32_t flow)
{
	f->flow[flow].phase = FLOW_ENDED;
	f->n_active--;
	flow_list_add(&f->ended, flow);
}

uint32_t flownet_start(struct flownet *f, double bytes, double extra_latency_s, const struct flow_hop *route, uint32_t n_hops, uint64_t tag)
{
	uint32_t flow = slot_new(f);
	struct net_flow *x = &f->flow[flow];
	struct flow_path *p = &f->path[flow];
	double latency_s = 0;
	*x = (struct net_flow){ .bytes = bytes, .tag = tag, .order = f->orders++, .phase = FLOW_WAITING };
	*p = (struct flow_path){ .n_hops = n_hops };
	f->bottleneck[flow] = FLOW_NONE;
	f->next[flow] = FLOW_FIXED;
	if (n_hops)
		p->hop = hops_new(f, n_hops, &x->room);
	for (uint32_t h = 0; h < n_hops; h++) {
		f->hop[p->hop + h] = (struct net_hop){ route[h].load, route[h].link, 0 };
		latency_s += f->link[route[h].link].latency;
	}
	x->weight = f->fairness == FLOW_RTT_WEIGHTED && latency_s > 0 ? 1 / latency_s : 1;
	for (uint32_t h = 0; h < n_hops; h++)
		f->hop[p->hop + h].share *= x->weight;
	latency_s = fmax(0, latency_s + extra_latency_s);
	f->n_active++;
	if (n_hops && bytes > 0 && latency_s == 0)
		drain(f, flow);
	else
		flow_wait_push(f, f->now + latency_s, flow);
	return flow;
}

static double bytes_left(struct flownet *f, uint32_t flow)
{
	const struct net_flow *x = &f->flow[flow];
	uint32_t bottleneck = f->bottleneck[flow];
	if (bottleneck == FLOW_NONE)
		return x->bytes;
	double left = (x->due - flow_clock(f, &f->link[bottleneck])) * f->flow[flow].weight;
	return fmin(fmax(left, 0), x->bytes);
}

double flownet_left(struct flownet *f, uint32_t flow)
{
	if (!flow_is_settled(f))
		flow_solve(f);
	return f->flow[flow].phase == FLOW_DRAINING ? bytes_left(f, flow) : f->flow[flow].bytes;
}

void flownet_cancel(struct flownet *f, uint32_t flow)
{
	struct net_flow *x = &f->flow[flow];
	if (x->phase == FLOW_DRAINING) {
		for (uint32_t i = f->fresh.n; f->bottleneck[flow] == FLOW_NONE && i-- > 0;)
			if (f->fresh.v[i] == flow) {
				f->fresh.v[i] = f->fresh.v[--f->fresh.n];
				break;
			}
		undrain(f, flow, x->bytes - bytes_left(f, flow));
		f->n_active--;
		slot_free(f, flow);
	} else if (x->phase == FLOW_WAITING || x->phase == FLOW_ENDED) {
		/* The heap or the list of ended flows still holds the flow; its slot is freed when it is removed there. */
		f->n_active -= x->phase == FLOW_WAITING;
		x->phase = FLOW_CANCELLED;
	}
}

void flownet_set_capacity(struct flownet *f, uint32_t link, double capacity_Bps)
{
	struct net_link *l = &f->link[link];
	if (l->capacity == fmin(capacity_Bps, MOST_BPS))
		return;
	flow_unlone_entries(f, link);
	l->capacity = fmin(capacity_Bps, MOST_BPS);
	touch(f, link);
	for (uint32_t i = 0; i < l->n_entries; i++)
		if (f->bottleneck[l->entry[i].flow] != FLOW_NONE)
			touch(f, f->bottleneck[l->entry[i].flow]);
}

/* ---- time ---- */

/* Cancelled flows at the top of the heap are not events. */
static double next_wait(struct flownet *f)
{
	while (f->n_waiting && f->flow[f->waiting[0].id].phase == FLOW_CANCELLED)
		slot_free(f, flow_wait_pop(f));
	return f->n_waiting ? f->waiting[0].t : INFINITY;
}

double flownet_next(struct flownet *f)
{
	if (!flow_is_settled(f))
		flow_solve(f);
	double t = f->n_due ? f->due[0].t : INFINITY;
	return fmax(fmin(t, next_wait(f)), f->now);
}

static int compare_orders(const void *a, const void *b)
{
	uint64_t x = ((const struct timed *)a)->order, y = ((const struct timed *)b)->order;
	return x < y ? -1 : x > y;
}

/* Sorts the flows that have just ended, f->ended from `first` on, by the order of their start. */
static void sort_ended(struct flownet *f, uint32_t first)
{
	uint32_t n = f->ended.n - first;
	bool is_sorted = true;
	for (uint32_t i = first + 1; i < f->ended.n; i++)
		is_sorted &= f->flow[f->ended.v[i - 1]].order < f->flow[f->ended.v[i]].order;
	if (!is_sorted) {
		if (n > f->cap_sorted) {
			f->cap_sorted = 2 * n;
			f->sorted = mem_realloc(f->sorted, f->cap_sorted, sizeof *f->sorted);
		}
		struct timed *v = f->sorted;
		for (uint32_t i = 0; i < n; i++)
			v[i] = (struct timed){ 0, f->flow[f->ended.v[first + i]].order, f->ended.v[first + i] };
		qsort(v, n, sizeof *v, compare_orders);
		for (uint32_t i = 0; i < n; i++)
			f->ended.v[first + i] = v[i].id;
	}
	if (f->ended.n > f->cap_ended_s) {
		f->cap_ended_s = f->ended.cap;
		f->ended_s = mem_realloc(f->ended_s, f->cap_ended_s, sizeof *f->ended_s);
	}
	for (uint32_t i = first; i < f->ended.n; i++)
		f->ended_s[i] = f->now;
}

/*
 * Handles the events of this instant. The flow that determines the instant ends by definition, even if rounding leaves a remainder of its
 * bytes.
 */
static void happen(struct flownet *f)
{
	double t = f->now * (1 + SAME_TIME);
	uint32_t first = f->ended.n;
	while (f->n_due && f->due[0].t <= t) {
		uint32_t link = f->due[0].id, flow = f->link[link].group[0];
		f->link[link].clock = f->flow[flow].due;
		f->link[link].clock_time = f->now;
		undrain(f, flow, f->flow[flow].bytes);
		end(f, flow);
		if (f->link[link].n_group)
			flow_due_update(f, link);
	}
	while (next_wait(f) <= f->now) {
		uint32_t flow = flow_wait_pop(f);
		if (f->path[flow].n_hops && f->flow[flow].bytes > 0)
			drain(f, flow);
		else
			end(f, flow);
	}
	if (f->ended.n > first)
		sort_ended(f, first);
}

void flownet_advance(struct flownet *f, double t)
{
	for (;;) {
		double next = flownet_next(f);
		if (next > t || next == INFINITY) {
			f->now = t;
			return;
		}
		f->now = next;
		happen(f);
		if (next == t)
			return;
	}
}

bool flownet_pop(struct flownet *f, uint64_t *tag, double *finish_s)
{
	while (f->ended_first < f->ended.n) {
		uint32_t flow = f->ended.v[f->ended_first];
		*tag = f->flow[flow].tag;
		*finish_s = f->ended_s[f->ended_first++];
		bool is_wanted = f->flow[flow].phase == FLOW_ENDED;
		slot_free(f, flow);
		if (f->ended_first == f->ended.n)
			f->ended_first = f->ended.n = 0;
		if (is_wanted)
			return true;
	}
	return false;
}

/* ---- queries ---- */

static double level_of(const struct flownet *f, uint32_t flow)
{
	return f->link[f->bottleneck[flow]].level;
}

double flownet_link_rate(struct flownet *f, uint32_t link)
{
	if (!flow_is_settled(f))
		flow_solve(f);
	const struct net_link *l = &f->link[link];
	double sum = 0;
	for (uint32_t i = 0; i < l->n_entries; i++)
		sum += l->entry[i].share * level_of(f, l->entry[i].flow);
	return sum;
}

double flownet_link_bytes(struct flownet *f, uint32_t link)
{
	const struct net_link *l = &f->link[link];
	double sum = l->carried;
	for (uint32_t i = 0; i < l->n_entries; i++) {
		uint32_t flow = l->entry[i].flow;
		sum += (f->flow[flow].bytes - bytes_left(f, flow)) / f->flow[flow].weight * l->entry[i].share;
	}
	return sum;
}

/* Returns whether the flow is among the fastest on a saturated link. */
static bool has_bottleneck(const struct flownet *f, uint32_t flow, const double *used, const double *top)
{
	const struct flow_path *p = &f->path[flow];
	for (uint32_t h = p->hop; h < p->hop + p->n_hops; h++) {
		uint32_t link = f->hop[h].link;
		if (used[link] >= f->link[link].capacity * (1 - 1e-9) && level_of(f, flow) >= top[link] * (1 - 1e-9))
			return true;
	}
	return false;
}

bool flownet_verify(struct flownet *f, struct orr_error *err)
{
	if (!flow_is_settled(f))
		flow_solve(f);
	double *used = mem_zalloc(f->n_links, sizeof *used), *top = mem_zalloc(f->n_links, sizeof *top);
	bool is_good = true;
	for (uint32_t i = 0; i < f->n_links && is_good; i++) {
		const struct net_link *l = &f->link[i];
		used[i] = flownet_link_rate(f, i);
		for (uint32_t e = 0; e < l->n_entries; e++)
			top[i] = fmax(top[i], level_of(f, l->entry[e].flow));
		is_good = used[i] <= l->capacity * (1 + 1e-9);
		if (!is_good)
			orr_fail(err, ORR_EFAIL, "at %.9g s: link %u carries %.17g bytes/s: expected at most %.17g", f->now, i, used[i],
				l->capacity);
	}
	for (uint32_t i = 0; i < f->n_flows && is_good; i++) {
		if (f->flow[i].phase != FLOW_DRAINING)
			continue;
		is_good = has_bottleneck(f, i, used, top);
		if (!is_good)
			orr_fail(err, ORR_EFAIL, "at %.9g s: the flow with tag %llu, at %.17g bytes/s, has no bottleneck: expected one",
				f->now, (unsigned long long)f->flow[i].tag, f->flow[i].weight * level_of(f, i));
	}
	mem_free(used);
	mem_free(top);
	return is_good;
}
