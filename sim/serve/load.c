/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Load of replicas: requests routed to them, busy time, and the groups for new requests. Joining the shortest queue costs O(log
 * replicas): each group has a tree of winners by load.
 */
#include "serve/explain.h"
#include "serve/fleet.h"
#include "serve/lane.h"
#include "serve/metrics.h"
#include "serve/requests.h"
#include "serve/router.h"

#include "base/mem.h"

#include <string.h>

/* ---- groups and their trees ---- */

static uint32_t group_of(const struct orr_serve *w, uint32_t replica)
{
	uint32_t model = w->replica[replica].model;
	return model == NONE ? w->config->n_models : model;
}

uint64_t orr_replica_load(const struct orr_serve *w, uint32_t replica, enum orr_load load)
{
	if (replica >= w->n_replicas)
		return 0;
	const struct replica *r = &w->replica[replica];
	return load == ORR_LOAD_TOKENS ? w->fleet->more[replica].outstanding : load == ORR_LOAD_WAITING ? r->n_waiting : r->routed;
}

uint64_t replica_load(const struct orr_serve *w, uint32_t replica)
{
	return orr_replica_load(w, replica, w->router->load);
}

static const struct group_winner NOBODY = { UINT64_MAX, NONE };

/* Finds the winners again after a change of the replica's load or membership, up to the first that is the same. */
static void update(const struct orr_serve *w, struct group *g, uint32_t replica)
{
	uint32_t i = g->size + (replica - g->from);
	g->tree[i] = w->fleet->more[replica].is_member ? (struct group_winner){ replica_load(w, replica), replica } : NOBODY;
	while (i /= 2) {
		const struct group_winner *a = &g->tree[2 * i], *b = a + 1, *best = b->load < a->load ? b : a;
		if (g->tree[i].load == best->load && g->tree[i].replica == best->replica)
			return;
		g->tree[i] = *best;
	}
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
	if (w->fleet->more[replica].is_member || w->replica[replica].role == ORR_ROLE_DECODE)
		return;
	uint32_t at = group_rank(g, replica);
	MEM_GROW(g->member, g->n, g->cap);
	memmove(g->member + at + 1, g->member + at, (g->n - at) * sizeof *g->member);
	g->member[at] = replica;
	g->n++;
	g->kinds_known = false;
	w->fleet->more[replica].is_member = true;
	update(w, g, replica);
}

void group_remove(struct orr_serve *w, uint32_t replica)
{
	struct group *g = &w->fleet->group[group_of(w, replica)];
	if (!w->fleet->more[replica].is_member)
		return;
	uint32_t at = group_rank(g, replica);
	memmove(g->member + at, g->member + at + 1, (g->n - at - 1) * sizeof *g->member);
	g->n--;
	g->kinds_known = false;
	w->fleet->more[replica].is_member = false;
	update(w, g, replica);
}

static void group_update(struct orr_serve *w, uint32_t replica)
{
	if (w->fleet->more[replica].is_member)
		update(w, &w->fleet->group[group_of(w, replica)], replica);
}

uint32_t group_least(const struct orr_serve *w, uint32_t model)
{
	const struct group *own = &w->fleet->group[model], *any = &w->fleet->group[w->config->n_models];
	struct group_winner a = own->n ? own->tree[1] : NOBODY, b = any->n ? any->tree[1] : NOBODY;
	return b.load < a.load || (b.load == a.load && b.replica < a.replica) ? b.replica : a.replica;
}

void groups_compare(struct orr_serve *w)
{
	for (uint32_t i = 0; i < w->n_replicas; i++)
		group_update(w, i);
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

/* Returns whether one of the last kinds has the times of the replica. */
static bool has_kind(const struct orr_serve *w, const struct group *g, const struct served_on *times)
{
	enum { LOOK_BACK = 32 };
	for (uint32_t k = g->n_kinds; k-- > 0 && g->n_kinds - k <= LOOK_BACK;)
		if (w->replica[g->kind[k]].lane->on == times)
			return true;
	return false;
}

const uint32_t *group_kinds(const struct orr_serve *w, struct group *g, uint32_t *n)
{
	if (!g->kinds_known)
		g->n_kinds = 0;
	for (uint32_t i = 0; i < g->n && !g->kinds_known; i++) {
		const struct lane *l = w->replica[g->member[i]].lane;
		if (!l || has_kind(w, g, l->on))
			continue;
		MEM_GROW(g->kind, g->n_kinds, g->cap_kinds);
		g->kind[g->n_kinds++] = g->member[i];
	}
	g->kinds_known = true;
	*n = g->n_kinds;
	return g->kind;
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

static void list_on(struct orr_serve *w, struct req *q, uint32_t replica)
{
	uint32_t slot = req_slot(w, q), *first = &w->replica[replica].first_on;
	q->on_prev = NONE;
	q->on_next = *first;
	if (*first != NONE)
		w->req[*first].on_prev = slot;
	*first = slot;
}

static void unlist_on(struct orr_serve *w, const struct req *q, uint32_t replica)
{
	if (q->on_prev == NONE)
		w->replica[replica].first_on = q->on_next;
	else
		w->req[q->on_prev].on_next = q->on_next;
	if (q->on_next != NONE)
		w->req[q->on_next].on_prev = q->on_prev;
}

void replica_count(struct orr_serve *w, struct req *q, uint32_t from)
{
	struct fleet *f = w->fleet;
	uint32_t to = q->replica;
	if (from == to)
		return;
	f->unrouted[q->model] += (from != NONE) - (uint64_t)(to != NONE);
	if (from != NONE) {
		unlist_on(w, q, from);
		w->replica[from].routed--;
		w->replica[from].n_waiting -= q->state == ORR_REQ_WAITING;
		f->routed--;
		f->more[from].outstanding -= tokens_of(q);
		group_update(w, from);
		router_left(w, req_handle(w, req_slot(w, q)), from);
		replica_leave_if_empty(w, from);
	}
	if (to != NONE) {
		list_on(w, q, to);
		w->replica[to].routed++;
		w->replica[to].n_waiting += q->state == ORR_REQ_WAITING;
		f->routed++;
		f->more[to].outstanding += tokens_of(q);
		f->part[w->replica[to].deployment].came += !q->has_come || w->replica[to].role == ORR_ROLE_DECODE;
		group_update(w, to);
		router_joined(w, req_handle(w, req_slot(w, q)), to);
	}
}

static void update_waiting(struct orr_serve *w, uint32_t replica)
{
	if (w->router->load == ORR_LOAD_WAITING)
		group_update(w, replica);
}

void req_waits(struct orr_serve *w, const struct req *q)
{
	w->waiting++;
	if (q->replica == NONE)
		return;
	w->replica[q->replica].n_waiting++;
	update_waiting(w, q->replica);
}

void req_waits_no_more(struct orr_serve *w, const struct req *q)
{
	w->waiting--;
	if (q->replica == NONE)
		return;
	w->replica[q->replica].n_waiting--;
	update_waiting(w, q->replica);
}

void req_set_replica(struct orr_serve *w, struct req *q, uint32_t replica)
{
	uint32_t from = q->replica;
	if (from == replica)
		return;
	q->replica = replica;
	replica_count(w, q, from);
	if (q->state == ORR_REQ_WAITING)
		explain_waits(w, q);
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

/* Makes the tree of a group, for the range of its replicas. */
static void make_tree(struct group *g)
{
	g->size = 1;
	while (g->size < g->to - g->from)
		g->size *= 2;
	g->tree = mem_alloc(2 * (size_t)g->size * sizeof *g->tree);
	for (uint32_t i = 0; i < 2 * g->size; i++)
		g->tree[i] = NOBODY;
}

void groups_begin(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	f->group = mem_zalloc((size_t)w->config->n_models + 1, sizeof *f->group);
	f->unrouted = mem_zalloc((size_t)w->config->n_models + 1, sizeof *f->unrouted);
	f->turn = mem_zalloc((size_t)w->config->n_models + 1, sizeof *f->turn);
	for (uint32_t i = 0; i < w->n_replicas; i++) {
		struct group *g = &f->group[group_of(w, i)];
		g->from = g->to ? g->from : i;
		g->to = i + 1;
	}
	for (uint32_t i = 0; i <= w->config->n_models; i++)
		if (f->group[i].to)
			make_tree(&f->group[i]);
}

void groups_free(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	for (uint32_t i = 0; f->group && i <= w->config->n_models; i++) {
		mem_free(f->group[i].member);
		mem_free(f->group[i].tree);
		mem_free(f->group[i].kind);
	}
	mem_free(f->group);
	mem_free(f->unrouted);
	mem_free(f->turn);
}
