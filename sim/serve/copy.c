/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Copies of cached prompts between replicas, for routers (orr_router_copy()): the request reaches its replica, and the policy, when the
 * blocks have arrived. The end of a copy is ignored if the request has ended, has lost its replica, was placed again without a copy, or has
 * begun another copy.
 */
#include "serve/due.h"
#include "serve/lane.h"
#include "serve/metrics.h"
#include "serve/route.h"
#include "serve/router.h"
#include "serve/tiers.h"

double orr_kv_copy_s(const struct orr_serve *w, uint32_t replica, uint32_t tokens)
{
	const struct lane *l = lane_seen(w, replica);
	return l && tokens ? w->set->kv_latency_s + (double)tokens * l->model->kv_bytes / w->set->kv_Bps : 0;
}

void orr_router_copy(struct orr_serve *w, orr_req r, uint32_t to, uint32_t from)
{
	const struct req *q = req_of(w, r);
	struct router *x = w->router;
	x->copy_to = q ? (to < q->prompt_asked ? to : q->prompt_asked) : 0;
	x->copy_from = from < x->copy_to ? from : x->copy_to;
}

uint32_t orr_prefix_hashes(const struct orr_serve *w, uint32_t replica)
{
	const struct lane *l = lane_seen(w, replica);
	return l && l->prefix ? prefix_used(l->prefix) + prefix_unused(l->prefix) : 0;
}

static void on_copied(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e;
	struct orr_serve *w = ctx;
	struct req *q = req_of(w, subject);
	if (!q || !q->is_copying || q->state != ORR_REQ_WAITING || q->replica == NONE || q->copies != (uint32_t)arg || w->error.code)
		return;
	q->is_copying = false;
	struct lane *l = lane_on(w, q->replica);
	uint32_t hash_tokens = reqset_block_tokens(w->config->requests);
	serve_happen(w, serve_clock_s(w));
	if (l && hash_tokens)
		kv_insert(w, l, q, (uint32_t)(arg >> 32) / hash_tokens);
	due_arrival(w, q);
}

/* serve.kv_prefetch: loads blocks of the prompt from tiers before the policy sees the request. Returns whether it waits for them. */
static bool prefetch(struct orr_serve *w, struct req *q)
{
	struct lane *l = w->tiers && w->set->kv_prefetch && q->replica != NONE && !q->done ? lane_on(w, q->replica) : NULL;
	if (!l || !l->prefix)
		return false;
	uint32_t most = kv_sharable(l, q), run = prefix_run(l->prefix, q->block, most);
	struct tier_plan p = tiers_plan(w, l, q, run, most);
	if (!p.n)
		return false;
	tiers_load(w, l, q, &p);
	q->is_copying = true;
	q->copies++;
	eng_at(w->host.engine, serve_ns(p.end_s), PRIO_MOVE, on_copied, w, req_handle(w, req_slot(w, q)),
		(uint64_t)(run + p.n) * reqset_block_tokens(w->config->requests) << 32 | q->copies);
	return true;
}

bool copy_start(struct orr_serve *w, struct req *q)
{
	uint32_t to = w->router->copy_to, tokens = to - w->router->copy_from;
	q->is_copying = false;
	w->router->copy_to = w->router->copy_from = 0;
	if (!tokens || q->replica == NONE || !w->replica[q->replica].lane || !w->replica[q->replica].lane->prefix)
		return prefetch(w, q);
	double s = orr_kv_copy_s(w, q->replica, tokens);
	q->is_copying = true;
	q->copies++;
	w->metrics->prefix_copies++;
	w->metrics->prefix_tokens_copied += tokens;
	eng_at(w->host.engine, serve_ns(w->now_s + s), PRIO_MOVE, on_copied, w, req_handle(w, req_slot(w, q)),
		(uint64_t)to << 32 | q->copies);
	return true;
}
