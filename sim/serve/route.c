/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Routing: the choice of a replica for a request; docs/models/serve.md#the-service. */
#include "serve/fleet.h"
#include "serve/requests.h"
#include "serve/route.h"

/* ---- the rules: over the two groups that serve the model ---- */

static uint32_t shortest(const struct orr_serve *w, uint32_t model)
{
	const struct group *own = &w->fleet->group[model], *any = &w->fleet->group[w->config->n_models];
	uint32_t a = own->n ? own->tree[1] : NONE;
	uint32_t b = any->n ? any->tree[1] : NONE;
	if (a == NONE || b == NONE)
		return a == NONE ? b : a;
	uint64_t x = replica_load(w, a), y = replica_load(w, b);
	return y < x || (y == x && b < a) ? b : a;
}

static uint32_t round_robin(struct orr_serve *w, uint32_t model)
{
	const struct group *own = &w->fleet->group[model], *any = &w->fleet->group[w->config->n_models];
	uint32_t *turn = &w->fleet->turn[model];
	for (int lap = 0; lap < 2; lap++, *turn = 0) {
		uint32_t a = group_rank(own, *turn), b = group_rank(any, *turn);
		uint32_t x = a < own->n ? own->member[a] : NONE, y = b < any->n ? any->member[b] : NONE;
		if (x != NONE || y != NONE) {
			*turn = (x < y ? x : y) + 1;
			return *turn - 1;
		}
	}
	return NONE;
}

static uint32_t at_random(struct orr_serve *w, uint32_t model)
{
	uint32_t n = group_count(w, model);
	return n ? group_nth(w, model, rng_below(&w->route_rng, n)) : NONE;
}

/* Draws two different replicas and returns the one with the shorter queue, on ties the first drawn (Mitzenmacher 2001). */
static uint32_t power_of_two(struct orr_serve *w, uint32_t model)
{
	uint32_t n = group_count(w, model);
	if (n < 2)
		return n ? group_nth(w, model, 0) : NONE;
	uint64_t i = rng_below(&w->route_rng, n), j = rng_below(&w->route_rng, n - 1);
	uint32_t a = group_nth(w, model, i), b = group_nth(w, model, j + (j >= i));
	return w->replica[b].routed < w->replica[a].routed ? b : a;
}

static uint32_t prefix_aware(struct orr_serve *w, const struct req *q)
{
	if (!q->n_blocks)
		return shortest(w, q->model);
	orr_req r = req_handle(w, req_slot(w, q));
	uint32_t n = group_count(w, q->model), best = NONE, most = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t x = group_nth(w, q->model, i), cached = orr_prefix_cached(w, x, r);
		bool is_tie = best != NONE && cached == most;
		if (best == NONE || cached > most || (is_tie && w->replica[x].routed < w->replica[best].routed)) {
			best = x;
			most = cached;
		}
	}
	return best;
}

uint32_t route_by_rule(struct orr_serve *w, const struct req *q)
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

static uint32_t ask_policy(struct orr_serve *w, const struct req *q)
{
	watch_enter(w->watch, "route", eng_now(w->host.engine), q->number);
	uint32_t replica = w->ops->route(w->self, w, req_handle(w, req_slot(w, q)));
	watch_leave(w->watch);
	if (replica == ORR_NO_REPLICA)
		return NONE;
	if (replica == ORR_ANY_REPLICA)
		return route_by_rule(w, q);
	if (replica >= w->n_replicas || (w->replica[replica].state != REPLICA_UP)) {
		serve_fail(w, ORR_EFAIL, q, "route() returned replica %u: expected a replica that is up", replica);
		return NONE;
	}
	return replica;
}

uint32_t route_pick(struct orr_serve *w, const struct req *q)
{
	if (w->set->router == ROUTER_AUTO && w->ops->route)
		return ask_policy(w, q);
	uint32_t picked = route_by_rule(w, q);
	if (!(w->used & SERVE_USED_OTHER_ROUTE)) {
		bool is_other = !w->ops->route && picked != shortest(w, q->model);
		w->used |= w->ops->route || is_other ? SERVE_USED_ROUTER : 0;
		w->used |= is_other ? SERVE_USED_OTHER_ROUTE : 0;
	}
	return picked;
}
