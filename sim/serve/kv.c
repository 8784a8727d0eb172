/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks of KV cache: who holds how many, and which of a prompt's the cache has already. */
#include "serve/lane.h"
#include "serve/options.h"

#include "base/mem.h"

#include <math.h>

bool kv_open(struct orr_serve *w, struct lane *l, uint32_t deployment, struct orr_error *err)
{
	const struct serve_deployment *d = &w->config->deployment[deployment];
	l->block_tokens = w->set->kv_block;
	double tokens = d->kv_blocks ? 0 : served_kv_tokens(l->on, w->set->kv_part);
	if (!d->kv_blocks && !isfinite(tokens)) {
		orr_fail(err, ORR_EINPUT,
			"model %.80s: how much KV cache fits is not known (no memory size, or no kv_bytes): give kv_blocks",
			l->model->name);
		return false;
	}
	double blocks = d->kv_blocks ? d->kv_blocks : floor(tokens / l->block_tokens);
	if (blocks < 1) {
		orr_fail(err, ORR_EINPUT, "model %.80s: no block of KV cache fits beside the weights (serve.kv_part=%g of %u GPUs)",
			l->model->name, w->set->kv_part, d->tp * d->pp);
		return false;
	}
	l->total = l->avail = blocks < 4e9 ? (uint32_t)blocks : 4000000000u;
	uint32_t hash_tokens = reqset_block_tokens(w->config->requests);
	if (!w->set->prefix_cache || !hash_tokens)
		return true;
	if (hash_tokens % l->block_tokens) {
		orr_fail(err, ORR_EINPUT,
			"serve.prefix_cache: a hash of the trace stands for %u tokens, which is no multiple of serve.kv_block=%u",
			hash_tokens, l->block_tokens);
		return false;
	}
	l->hash_blocks = hash_tokens / l->block_tokens;
	l->prefix = prefix_new();
	return true;
}

uint32_t lane_blocks(const struct lane *l)
{
	return l->total;
}

uint32_t lane_blocks_for(const struct lane *l, uint32_t tokens)
{
	return tokens / l->block_tokens + (tokens % l->block_tokens != 0);
}

double lane_kv_in_use(const struct lane *l)
{
	return (double)(l->total - l->avail) / l->total;
}

/* What was free is spent: the cache gives up what nobody uses. */
static void trim(struct lane *l)
{
	while ((uint64_t)prefix_unused(l->prefix) * l->hash_blocks > l->avail)
		prefix_drop(l->prefix);
}

void kv_spend(struct lane *l, uint32_t n)
{
	l->avail -= n;
	if (l->prefix)
		trim(l);
}

/* Leading hashes of its prompt that the cache has; one token at least is left to process. */
static uint32_t cached_run(const struct lane *l, const struct req *q)
{
	uint32_t n = q->prompt ? (q->prompt - 1) / (l->hash_blocks * l->block_tokens) : 0;
	return prefix_run(l->prefix, q->block, n < q->n_blocks ? n : q->n_blocks);
}

bool kv_take(struct lane *l, struct req *q, uint32_t tokens, uint32_t keep_free)
{
	uint32_t run = l->prefix && !q->done ? cached_run(l, q) : 0, shared = run * (l->prefix ? l->hash_blocks : 0);
	uint32_t content = q->done > q->prompt ? q->done - 1 : q->done;
	uint32_t blocks = lane_blocks_for(l, tokens > content ? tokens : content);
	uint32_t own = blocks > shared ? blocks - shared : 0;
	uint64_t need = own;
	for (uint32_t i = 0; i < run; i++)
		need += prefix_is_used(l->prefix, prefix_find(l->prefix, q->block[i])) ? 0 : l->hash_blocks;
	if (need + keep_free > l->avail)
		return false;
	uint32_t spent = own;
	for (uint32_t i = 0; i < run; i++)
		spent += prefix_use(l->prefix, prefix_find(l->prefix, q->block[i])) ? l->hash_blocks : 0;
	q->shared = run;
	q->kv_held = own;
	if (run)
		q->done = run * l->hash_blocks * l->block_tokens;
	kv_spend(l, spent);
	return true;
}

void kv_give(struct lane *l, struct req *q)
{
	l->avail += q->kv_held;
	/* The end of a prompt goes first: without its beginning it is of no use. */
	for (uint32_t i = q->shared; i-- > 0;)
		if (prefix_leave(l->prefix, prefix_find(l->prefix, q->block[i])))
			l->avail += l->hash_blocks;
	q->kv_held = q->shared = 0;
}

void kv_publish(struct lane *l, struct req *q)
{
	if (!l->prefix)
		return;
	uint32_t tokens = q->done < q->prompt_asked ? q->done : q->prompt_asked;
	uint32_t whole = tokens / (l->hash_blocks * l->block_tokens);
	for (; q->shared < whole && q->shared < q->n_blocks && q->kv_held >= l->hash_blocks; q->shared++) {
		uint32_t entry = prefix_find(l->prefix, q->block[q->shared]);
		q->kv_held -= l->hash_blocks;
		if (entry == PREFIX_NONE)
			prefix_add(l->prefix, q->block[q->shared]);
		else if (!prefix_use(l->prefix, entry))
			l->avail += l->hash_blocks; /* somebody did the same beside it: theirs stays */
	}
}

const char *kv_check(const struct orr_serve *w, const struct lane *l)
{
	uint64_t own = l->is_flying ? l->taken : 0;
	for (uint32_t s = l->first; s != NONE; s = w->req[s].res_next) {
		struct req q = w->req[s];
		if (q.heap_at != NONE)
			decodes_settle(l, &q);
		own += q.kv_held;
	}
	own += moves_held(w, l->replica);
	uint64_t used = l->prefix ? (uint64_t)prefix_used(l->prefix) * l->hash_blocks : 0;
	uint64_t unused = l->prefix ? (uint64_t)prefix_unused(l->prefix) * l->hash_blocks : 0;
	if (own + used + l->avail != l->total)
		return "blocks held and free do not add up";
	return unused > l->avail ? "the prefix cache keeps blocks that are not free" : NULL;
}

/* ---- what policies ask ---- */

uint32_t orr_kv_block_tokens(const struct orr_serve *w, uint32_t replica)
{
	return replica < w->n_replicas && w->replica[replica].lane ? w->replica[replica].lane->block_tokens : 0;
}

uint32_t orr_kv_total(const struct orr_serve *w, uint32_t replica)
{
	return replica < w->n_replicas && w->replica[replica].lane ? w->replica[replica].lane->total : 0;
}

uint32_t orr_kv_free(const struct orr_serve *w, uint32_t replica)
{
	return replica < w->n_replicas && w->replica[replica].lane ? w->replica[replica].lane->avail : 0;
}

uint32_t orr_kv_blocks(const struct orr_serve *w, uint32_t replica, uint32_t tokens)
{
	return replica < w->n_replicas && w->replica[replica].lane ? lane_blocks_for(w->replica[replica].lane, tokens) : 0;
}

uint32_t orr_kv_held(const struct orr_serve *w, orr_req r)
{
	const struct req *q = req_of(w, r);
	const struct lane *l = q ? lane_of(w, q) : NULL;
	if (!l || (q->state != ORR_REQ_RESIDENT && q->state != ORR_REQ_MOVING))
		return 0;
	struct req now = *q;
	if (q->heap_at == NONE)
		return (uint32_t)kv_holds(l, q);
	decodes_settle(l, &now);
	return (uint32_t)kv_holds(l, &now) + decodes_took_in_flight(l, &now);
}

bool orr_kv_grow(struct orr_serve *w, orr_req r, uint32_t tokens, uint32_t keep_free)
{
	struct req *q = lane_actor(w, r, ORR_REQ_RESIDENT, "orr_kv_grow()");
	if (!q)
		return false;
	struct lane *l = lane_of(w, q);
	uint32_t has = orr_kv_held(w, r), wants = lane_blocks_for(l, tokens);
	if (wants <= has)
		return true;
	if ((uint64_t)(wants - has) + keep_free > l->avail)
		return false;
	decodes_hold(w, l, q, wants - has);
	kv_spend(l, wants - has);
	return true;
}

uint32_t orr_prefix_cached(const struct orr_serve *w, uint32_t replica, orr_req r)
{
	const struct req *q = req_of(w, r);
	const struct lane *l = q && replica < w->n_replicas ? w->replica[replica].lane : NULL;
	return l && l->prefix ? cached_run(l, q) * l->hash_blocks * l->block_tokens : 0;
}
