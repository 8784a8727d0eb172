/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Routing: the choice of a replica for a request; docs/models/serve-routers.md. */
#include "serve/route.h"
#include "serve/fleet.h"
#include "serve/lane.h"
#include "serve/metrics.h"
#include "serve/requests.h"
#include "serve/router.h"

#include <stdio.h>

/* ---- queries of routers ---- */

uint32_t orr_candidates(const struct orr_serve *w, uint32_t model)
{
	return model < w->config->n_models ? group_count(w, model) : 0;
}

uint32_t orr_candidate(const struct orr_serve *w, uint32_t model, uint32_t i)
{
	return i < orr_candidates(w, model) ? group_nth(w, model, i) : ORR_NO_REPLICA;
}

uint32_t orr_candidate_from(const struct orr_serve *w, uint32_t model, uint32_t from)
{
	if (model >= w->config->n_models)
		return ORR_NO_REPLICA;
	const struct group *own = &w->fleet->group[model], *any = &w->fleet->group[w->config->n_models];
	uint32_t a = group_rank(own, from), b = group_rank(any, from);
	uint32_t x = a < own->n ? own->member[a] : NONE, y = b < any->n ? any->member[b] : NONE;
	return x < y ? x : y;
}

bool orr_is_candidate(const struct orr_serve *w, uint32_t model, uint32_t replica)
{
	return replica < w->n_replicas && orr_candidate_from(w, model, replica) == replica;
}

uint32_t orr_candidate_least(const struct orr_serve *w, uint32_t model)
{
	return model < w->config->n_models ? group_least(w, model) : ORR_NO_REPLICA;
}

void orr_router_load(struct orr_serve *w, enum orr_load load)
{
	if (!w->router->is_creating) {
		serve_fail(w, ORR_EFAIL, NULL, "orr_router_load(): expected a call in create() of a router");
		return;
	}
	w->router->load = load;
	groups_compare(w);
}

uint64_t orr_router_below(struct orr_serve *w, uint64_t n)
{
	return n ? rng_below(&w->route_rng, n) : 0;
}

uint32_t orr_req_hashes(const struct orr_serve *w, orr_req r, const uint64_t **hash)
{
	const struct req *q = req_of(w, r);
	*hash = q ? q->block : NULL;
	return q ? q->n_blocks : 0;
}

uint32_t orr_hash_tokens(const struct orr_serve *w)
{
	return reqset_block_tokens(w->config->requests);
}

double orr_slo_ttft(const struct orr_serve *w)
{
	return w->set->slo_ttft_s;
}

double orr_slo_tpot(const struct orr_serve *w)
{
	return w->set->slo_tpot_s;
}

/* ---- the choice ---- */

uint64_t route_tokens(const struct req *q, enum orr_replica_role role)
{
	return role == ORR_ROLE_PREFILL ? q->prompt_asked : req_whole(q);
}

bool route_is_too_small(const struct orr_serve *w, const struct req *q, uint32_t replica)
{
	const struct replica *r = &w->replica[replica];
	return r->lane && !kv_can_hold(r->lane, route_tokens(q, r->role));
}

bool route_fits_now(const struct orr_serve *w, const struct req *q)
{
	for (uint32_t i = 0; i < group_count(w, q->model); i++)
		if (!route_is_too_small(w, q, group_nth(w, q->model, i)))
			return true;
	return false;
}

static uint32_t ask_router(struct orr_serve *w, const struct req *q)
{
	struct router *x = w->router;
	if (!group_count(w, q->model))
		return NONE;
	orr_req r = req_handle(w, req_slot(w, q));
	bool is_plugin = *x->choice.entry.plugin_hash, may_act = w->is_acting;
	x->copy_to = x->copy_from = 0;
	uint64_t call = is_plugin ? watch_enter(w->watch, "pick", eng_now(w->host.engine), q->number) : 0;
	w->is_acting = false; /* the policy may have asked, by orr_assign() */
	uint32_t replica = x->ops->pick(x->self, w, r);
	w->is_acting = may_act;
	if (is_plugin)
		watch_leave(w->watch, call);
	if (replica != ORR_ROUTER_REJECTS && !orr_is_candidate(w, q->model, replica)) {
		serve_fail(w, ORR_EFAIL, q, "router %s: pick() returned replica %u: expected a candidate (orr_candidate())",
			x->choice.entry.name, replica);
		return NONE;
	}
	return replica;
}

/* Returns the replica of the router's choice. If its KV cache can never hold the request, returns the candidate with the fewest live
 * requests that can; if none can, the router's choice. */
static uint32_t settle(struct orr_serve *w, const struct req *q, uint32_t choice)
{
	uint32_t best = NONE;
	if (choice == NONE || choice == ORR_ROUTER_REJECTS || !route_is_too_small(w, q, choice))
		return choice;
	for (uint32_t i = 0; i < group_count(w, q->model); i++) {
		uint32_t x = group_nth(w, q->model, i);
		if (route_is_too_small(w, q, x))
			continue;
		uint64_t live = w->replica[x].routed, least = best == NONE ? UINT64_MAX : w->replica[best].routed;
		if (live < least || (live == least && x < best))
			best = x;
	}
	if (best == NONE)
		return choice;
	w->router->copy_to = w->router->copy_from = 0;
	return best;
}

uint32_t route_by_rule(struct orr_serve *w, const struct req *q)
{
	return settle(w, q, ask_router(w, q));
}

static uint32_t ask_policy(struct orr_serve *w, const struct req *q)
{
	uint64_t call = watch_enter(w->watch, "route", eng_now(w->host.engine), q->number);
	uint32_t replica = w->ops->route(w->self, w, req_handle(w, req_slot(w, q)));
	watch_leave(w->watch, call);
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

/* Returns the candidate with the fewest live requests; ties: the smallest number. */
static uint32_t shortest(const struct orr_serve *w, uint32_t model)
{
	if (w->router->load == ORR_LOAD_REQUESTS)
		return group_least(w, model);
	uint32_t n = group_count(w, model), best = NONE;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t x = group_nth(w, model, i);
		uint64_t routed = w->replica[x].routed, least = best == NONE ? UINT64_MAX : w->replica[best].routed;
		if (routed < least || (routed == least && x < best))
			best = x;
	}
	return best;
}

uint32_t route_pick(struct orr_serve *w, const struct req *q)
{
	if (router_is_auto(w) && w->ops->route)
		return ask_policy(w, q);
	/* Once a choice has differed from shortest(), the remark is decided and the scan is skipped. */
	uint32_t by_jsq = !(w->used & SERVE_USED_OTHER_ROUTE) && !w->ops->route && !router_is_auto(w) ? shortest(w, q->model) : NONE;
	uint32_t picked = ask_router(w, q);
	if (!(w->used & SERVE_USED_OTHER_ROUTE)) {
		bool is_other = by_jsq != NONE && picked != by_jsq;
		w->used |= w->ops->route || is_other ? SERVE_USED_ROUTER : 0;
		w->used |= is_other ? SERVE_USED_OTHER_ROUTE : 0;
	}
	return settle(w, q, picked);
}

void route_reject(struct orr_serve *w, struct req *q)
{
	char why[200];
	w->used |= SERVE_USED_ROUTER | SERVE_USED_OTHER_ROUTE; /* jsq rejects no request */
	snprintf(why, sizeof why, "rejected by router %.120s", w->router->choice.entry.name);
	serve_metrics_policy_reason(w, ORR_REQ_SHED, why);
	req_turn_away(w, q, ORR_REQ_SHED, REASON_POLICY, w->now_s);
}
