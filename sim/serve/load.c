/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Load of replicas: requests routed to them, busy time, and the groups for new requests. Joining the shortest queue costs O(log
 * replicas): each group has a tree of winners by load.
 */
#include "serve/fleet.h"
#include "serve/metrics.h"
#include "serve/requests.h"

#include "base/mem.h"

#include <string.h>

/* ---- groups and their trees ---- */

static uint32_t group_of(const struct orr_serve *w, uint32_t replica)
{
	uint32_t model = w->replica[replica].model;
	return model == NONE ? w->config->n_models : model;
}

uint64_t replica_load(const struct orr_serve *w, uint32_t replica)
{
	return w->set->router == ROUTER_LEAST_OUTSTANDING ? w->fleet->more[replica].outstanding : w->replica[replica].routed;
}

/* Returns the better of two indices of members; NONE: no member. */
static uint32_t better(const struct orr_serve *w, const struct group *g, uint32_t a, uint32_t b)
{
	if (a == NONE || b == NONE)
		return a == NONE ? b : a;
	return replica_load(w, g->member[b]) < replica_load(w, g->member[a]) ? b : a;
}

static void rebuild(struct orr_serve *w, struct group *g)
{
	uint32_t size = 1;
	while (size < g->n)
		size *= 2;
	if (size != g->size) {
		g->tree = mem_realloc(g->tree, 2 * (size_t)size, sizeof *g->tree);
		g->size = size;
	}
	for (uint32_t i = 0; i < size; i++)
		g->tree[size + i] = i < g->n ? i : NONE;
	for (uint32_t i = size; --i;)
		g->tree[i] = better(w, g, g->tree[2 * i], g->tree[2 * i + 1]);
	for (uint32_t i = 0; i < g->n; i++)
		w->fleet->more[g->member[i]].place = i;
}

uint32_t group_rank(const struct group *g, uint32_t replica)
{
	uint32_t low = 0, high = g->n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (g->member[middle] < replica)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void group_add(struct orr_serve *w, uint32_t replica)
{
	struct group *g = &w->fleet->group[group_of(w, replica)];
	if (w->fleet->more[replica].place != NONE || w->replica[replica].role == ORR_ROLE_DECODE)
		return;
	uint32_t at = group_rank(g, replica);
	g->member = mem_realloc(g->member, (size_t)g->n + 1, sizeof *g->member);
	memmove(g->member + at + 1, g->member + at, (g->n - at) * sizeof *g->member);
	g->member[at] = replica;
	g->n++;
	rebuild(w, g);
}

void group_remove(struct orr_serve *w, uint32_t replica)
{
	struct group *g = &w->fleet->group[group_of(w, replica)];
	uint32_t at = w->fleet->more[replica].place;
	if (at == NONE)
		return;
	memmove(g->member + at, g->member + at + 1, (g->n - at - 1) * sizeof *g->member);
	g->n--;
	w->fleet->more[replica].place = NONE;
	rebuild(w, g);
}

static void group_update(struct orr_serve *w, uint32_t replica)
{
	uint32_t place = w->fleet->more[replica].place;
	if (place == NONE)
		return;
	struct group *g = &w->fleet->group[group_of(w, replica)];
	for (uint32_t i = (g->size + place) / 2; i; i /= 2)
		g->tree[i] = better(w, g, g->tree[2 * i], g->tree[2 * i + 1]);
}

uint32_t group_count(const struct orr_serve *w, uint32_t model)
{
	return w->fleet->group[model].n + w->fleet->group[w->config->n_models].n;
}

uint32_t group_nth(const struct orr_serve *w, uint32_t model, uint64_t i)
{
	const struct group *own = &w->fleet->group[model];
	return i < own->n ? own->member[i] : w->fleet->group[w->config->n_models].member[i - own->n];
}

/* ---- requests ---- */

/* Returns the tokens of a request, constant during its life, so that replica_count() subtracts the number that it added. */
static uint64_t tokens_of(const struct req *q)
{
	uint64_t tokens = (uint64_t)q->prompt_asked + q->max_output;
	return tokens ? tokens : q->samples;
}

void replica_leave_if_empty(struct orr_serve *w, uint32_t replica)
{
	struct fleet_replica *m = &w->fleet->more[replica];
	const struct replica *r = &w->replica[replica];
	if (r->state != REPLICA_DRAINING || r->routed || m->is_busy || r->sending.n || r->waiting.n || r->later.n || m->leave_is_due)
		return;
	m->leave_is_due = true;
	eng_at(w->host.engine, eng_now(w->host.engine), PRIO_REPLICA, w->fleet->on_empty, w, replica, 0);
}

void replica_count(struct orr_serve *w, struct req *q, uint32_t from)
{
	struct fleet *f = w->fleet;
	uint32_t to = q->replica;
	if (from == to)
		return;
	if (from != NONE) {
		w->replica[from].routed--;
		f->routed--;
		f->more[from].outstanding -= tokens_of(q);
		group_update(w, from);
		replica_leave_if_empty(w, from);
	}
	if (to != NONE) {
		w->replica[to].routed++;
		f->routed++;
		f->more[to].outstanding += tokens_of(q);
		f->part[w->replica[to].deployment].came += !q->has_come || w->replica[to].role == ORR_ROLE_DECODE;
		group_update(w, to);
	}
}

void req_set_replica(struct orr_serve *w, struct req *q, uint32_t replica)
{
	uint32_t from = q->replica;
	if (from == replica)
		return;
	q->replica = replica;
	replica_count(w, q, from);
}

/* ---- busy and idle ---- */

void replica_set_busy(struct orr_serve *w, uint32_t replica, bool is_busy)
{
	struct replica *r = &w->replica[replica];
	bool *was_busy = &w->fleet->more[replica].is_busy;
	if (is_busy == *was_busy)
		return;
	*was_busy = is_busy;
	if (is_busy) {
		r->busy_since_s = w->now_s;
		bitset_remove(w->idle, replica);
	} else {
		r->busy_s += w->now_s - r->busy_since_s;
		if (r->state == REPLICA_UP)
			bitset_add(w->idle, replica);
		replica_leave_if_empty(w, replica);
	}
	serve_metrics_fleet(w, is_busy ? (int64_t)r->gpus : -(int64_t)r->gpus, 0);
}

/* ---- life ---- */

void groups_begin(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	f->group = mem_zalloc((size_t)w->config->n_models + 1, sizeof *f->group);
	f->turn = mem_zalloc((size_t)w->config->n_models + 1, sizeof *f->turn);
	for (uint32_t i = 0; i < w->n_replicas; i++)
		f->more[i].place = NONE;
}

void groups_free(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	for (uint32_t i = 0; f->group && i <= w->config->n_models; i++) {
		mem_free(f->group[i].member);
		mem_free(f->group[i].tree);
	}
	mem_free(f->group);
	mem_free(f->turn);
}
