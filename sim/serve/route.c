/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which replica a request goes to, and whether it is let in; docs/models.md, "Serving: metrics, routing, scaling".
 * Joining the shortest queue costs O(log replicas): a tree of winners over each group.
 */
#include "serve/fleet.h"
#include "serve/options.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

static uint32_t group_of(const struct orr_serve *w, uint32_t replica)
{
	uint32_t model = w->replica[replica].model;
	return model == NONE ? w->config->n_models : model;
}

/* ---- groups and their trees ---- */

static uint64_t load_of(const struct orr_serve *w, uint32_t replica)
{
	return w->set->router == ROUTER_LEAST_OUTSTANDING ? w->fleet->more[replica].outstanding : w->replica[replica].routed;
}

/* The better of two places (NONE: nobody). */
static uint32_t better(const struct orr_serve *w, const struct group *g, uint32_t a, uint32_t b)
{
	if (a == NONE || b == NONE)
		return a == NONE ? b : a;
	return load_of(w, g->member[b]) < load_of(w, g->member[a]) ? b : a;
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

/* Members with numbers below `replica`. */
static uint32_t rank_of(const struct group *g, uint32_t replica)
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
	uint32_t at = rank_of(g, replica);
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

void group_update(struct orr_serve *w, uint32_t replica)
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

/* ---- the rules: over the two groups that serve the model ---- */

static uint32_t shortest(const struct orr_serve *w, uint32_t model)
{
	const struct group *own = &w->fleet->group[model], *any = &w->fleet->group[w->config->n_models];
	uint32_t a = own->n ? own->member[own->tree[1]] : NONE;
	uint32_t b = any->n ? any->member[any->tree[1]] : NONE;
	if (a == NONE || b == NONE)
		return a == NONE ? b : a;
	uint64_t x = load_of(w, a), y = load_of(w, b);
	return y < x || (y == x && b < a) ? b : a;
}

static uint32_t round_robin(struct orr_serve *w, uint32_t model)
{
	const struct group *own = &w->fleet->group[model], *any = &w->fleet->group[w->config->n_models];
	uint32_t *turn = &w->fleet->turn[model];
	for (int lap = 0; lap < 2; lap++, *turn = 0) {
		uint32_t a = rank_of(own, *turn), b = rank_of(any, *turn);
		uint32_t x = a < own->n ? own->member[a] : NONE, y = b < any->n ? any->member[b] : NONE;
		if (x != NONE || y != NONE) {
			*turn = (x < y ? x : y) + 1;
			return *turn - 1;
		}
	}
	return NONE;
}

/* The i-th of both groups. */
static uint32_t nth(const struct orr_serve *w, uint32_t model, uint64_t i)
{
	const struct group *own = &w->fleet->group[model];
	return i < own->n ? own->member[i] : w->fleet->group[w->config->n_models].member[i - own->n];
}

static uint32_t at_random(struct orr_serve *w, uint32_t model)
{
	uint32_t n = group_count(w, model);
	return n ? nth(w, model, rng_below(&w->route_rng, n)) : NONE;
}

/* Two different ones; the shorter queue, on ties the first drawn (Mitzenmacher 2001). */
static uint32_t power_of_two(struct orr_serve *w, uint32_t model)
{
	uint32_t n = group_count(w, model);
	if (n < 2)
		return n ? nth(w, model, 0) : NONE;
	uint64_t i = rng_below(&w->route_rng, n), j = rng_below(&w->route_rng, n - 1);
	uint32_t a = nth(w, model, i), b = nth(w, model, j + (j >= i));
	return w->replica[b].routed < w->replica[a].routed ? b : a;
}

static uint32_t prefix_aware(struct orr_serve *w, const struct req *q)
{
	if (!q->n_blocks)
		return shortest(w, q->model);
	orr_req r = req_handle(w, req_slot(w, q));
	uint32_t n = group_count(w, q->model), best = NONE, most = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t x = nth(w, q->model, i), cached = orr_prefix_cached(w, x, r);
		bool is_tie = best != NONE && cached == most;
		if (best == NONE || cached > most || (is_tie && w->replica[x].routed < w->replica[best].routed)) {
			best = x;
			most = cached;
		}
	}
	return best;
}

static uint32_t ask_policy(struct orr_serve *w, const struct req *q)
{
	watch_enter(w->watch, "route", eng_now(w->host.engine), q->number);
	uint32_t replica = w->ops->route(w->self, w, req_handle(w, req_slot(w, q)));
	watch_leave(w->watch);
	if (replica == ORR_NO_REPLICA)
		return NONE;
	if (replica == ORR_ANY_REPLICA)
		return replica_by_rule(w, q);
	if (replica >= w->n_replicas || (w->replica[replica].state != REPLICA_UP)) {
		serve_fail(w, ORR_EFAIL, q, "route() returned replica %u, which is not up", replica);
		return NONE;
	}
	return replica;
}

uint32_t replica_route(struct orr_serve *w, const struct req *q)
{
	return w->set->router == ROUTER_AUTO && w->ops->route ? ask_policy(w, q) : replica_by_rule(w, q);
}

uint32_t replica_by_rule(struct orr_serve *w, const struct req *q)
{
	switch (w->set->router) {
	case ROUTER_ROUND_ROBIN:
		return round_robin(w, q->model);
	case ROUTER_RANDOM:
		return at_random(w, q->model);
	case ROUTER_POWER_OF_TWO:
		return power_of_two(w, q->model);
	case ROUTER_PREFIX_AWARE:
		return prefix_aware(w, q);
	case ROUTER_AUTO:
	case ROUTER_JSQ:
	case ROUTER_LEAST_OUTSTANDING:
		break;
	}
	return shortest(w, q->model);
}

/* ---- admission ---- */

/* How long it takes at the least from its start to its end, as far as that is known then. */
static double shortest_service(const struct orr_serve *w, const struct req *q)
{
	const struct served *m = w->config->model[q->model];
	if (m->kind == SERVED_TABLE) {
		double s = served_latency(m, served_batch_for(m, q->samples), q->prompt_asked);
		return isfinite(s) ? s : 0;
	}
	uint32_t n = group_count(w, q->model);
	return n ? orr_iter_estimate(w, nth(w, q->model, 0), 0, 0, q->prompt_asked, 0) : 0;
}

/* serve.shed = late: it still waits at its deadline. */
static void on_late(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct orr_serve *w = ctx;
	struct req *q = req_of(w, subject);
	if (!q || q->state != ORR_REQ_WAITING || w->error.code)
		return;
	serve_happen(w, q->deadline_s);
	req_end(w, q, ORR_REQ_SHED, q->deadline_s);
}

/* hopeless: it has not started, and a ns ago was the last moment. */
static void on_hopeless(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)arg;
	struct orr_serve *w = ctx;
	struct req *q = req_of(w, subject);
	if (!q || q->state != ORR_REQ_WAITING || !isnan(q->first_start_s) || w->error.code)
		return;
	serve_happen(w, (double)eng_now(e) / 1e9);
	req_end(w, q, ORR_REQ_SHED, w->now_s);
}

static void watch_deadline(struct orr_serve *w, const struct req *q)
{
	if (w->set->shed == SHED_NO || !(q->deadline_s < 4e9))
		return;
	orr_req r = req_handle(w, req_slot(w, q));
	if (w->set->shed == SHED_LATE)
		eng_at(w->host.engine, serve_ns(q->deadline_s), PRIO_TIMER, on_late, w, r, 0);
	else
		eng_at(w->host.engine, serve_ns(q->deadline_s - shortest_service(w, q)) + 1, PRIO_TIMER, on_hopeless, w, r, 0);
}

static bool is_full(const struct orr_serve *w, const struct req *q, uint32_t replica)
{
	uint64_t limit = w->set->queue_limit, n = group_count(w, q->model);
	if (limit == UINT64_MAX)
		return false;
	if (replica != NONE)
		return w->replica[replica].routed >= limit;
	return w->live - w->fleet->routed > limit * (n ? n : 1); /* it is one of them */
}

/* No replica, and nobody but us will find one. */
static bool must_hold(const struct orr_serve *w, const struct req *q, uint32_t replica)
{
	return replica == NONE && (w->set->router != ROUTER_AUTO || !w->ops->route || !group_count(w, q->model));
}

/* The policy chooses among the replicas that it knows of: it is told first what became of them. In replica() it may deal
 * with the request itself. */
static bool is_still_to_place(struct orr_serve *w, const struct req *q)
{
	if (w->fleet->n_news && w->ops->route && w->set->router == ROUTER_AUTO)
		replicas_tell(w);
	return !w->error.code && q->state == ORR_REQ_WAITING && q->replica == NONE;
}

/* For scaling by rate it has come to all that could serve it, and does not come again when one of them takes it. */
static void count_unrouted(struct orr_serve *w, struct req *q)
{
	for (uint32_t d = 0; d < w->config->n_deployments && !q->has_come; d++) {
		struct fleet_part *p = &w->fleet->part[d];
		p->came += (p->model == NONE || p->model == q->model) && w->config->deployment[d].role != ORR_ROLE_DECODE;
	}
	q->has_come = true;
}

static void place(struct orr_serve *w, struct req *q, bool is_new)
{
	struct fleet *f = w->fleet;
	f->same_ticks = 0; /* no look at the load has seen it yet */
	if (!is_still_to_place(w, q))
		return;
	bool nobody = !group_count(w, q->model); /* a policy is not asked to choose from nothing */
	uint32_t replica = nobody ? NONE : replica_route(w, q);
	if (w->error.code)
		return;
	if (is_new && is_full(w, q, replica)) {
		req_end(w, q, ORR_REQ_SHED, w->now_s);
		return;
	}
	if (must_hold(w, q, replica)) {
		count_unrouted(w, q);
		MEM_GROW(f->held, f->n_held, f->cap_held);
		f->held[f->n_held++] = req_handle(w, req_slot(w, q));
		q->is_arriving = false;
		return;
	}
	if (replica != NONE)
		req_set_replica(w, q, replica);
	else
		count_unrouted(w, q);
	req_tell_arrival(w, q);
}

void replica_admit(struct orr_serve *w, struct req *q)
{
	watch_deadline(w, q);
	place(w, q, true);
}

void replica_place(struct orr_serve *w, struct req *q)
{
	place(w, q, false);
}

/* A replica has come: those that could not go anywhere try again, in order. */
void fleet_release_held(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	uint32_t n = f->n_held, kept = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct req *q = req_of(w, f->held[i]);
		if (!q || q->state == ORR_REQ_ENDED)
			continue;
		if (group_count(w, q->model))
			place(w, q, false);
		else
			f->held[kept++] = f->held[i];
	}
	f->n_held = kept;
}

/* ---- counting ---- */

/* Fixed for the life of a request, so that what was added is taken off again. */
static uint64_t tokens_of(const struct req *q)
{
	uint64_t tokens = (uint64_t)q->prompt_asked + q->max_output;
	return tokens ? tokens : q->samples;
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
		if (w->replica[from].state == REPLICA_DRAINING)
			replica_drain(w, from, f->more[from].is_doomed);
	}
	if (to != NONE) {
		w->replica[to].routed++;
		f->routed++;
		f->more[to].outstanding += tokens_of(q);
		f->part[w->replica[to].deployment].came += !q->has_come || w->replica[to].role == ORR_ROLE_DECODE;
		group_update(w, to);
	}
}

void routes_begin(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	f->group = mem_zalloc((size_t)w->config->n_models + 1, sizeof *f->group);
	f->turn = mem_zalloc((size_t)w->config->n_models + 1, sizeof *f->turn);
	for (uint32_t i = 0; i < w->n_replicas; i++)
		f->more[i].place = NONE;
}

void routes_free(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	for (uint32_t i = 0; f->group && i <= w->config->n_models; i++) {
		mem_free(f->group[i].member);
		mem_free(f->group[i].tree);
	}
	mem_free(f->group);
	mem_free(f->turn);
	mem_free(f->held);
}
