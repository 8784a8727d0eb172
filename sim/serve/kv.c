/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks of the KV cache: the number that each request holds, and the cached blocks of prompts. */
#include "serve/tiers.h"

#include "base/mem.h"

#include <math.h>

bool kv_open(struct orr_serve *w, struct lane *l, uint32_t deployment, struct orr_error *err)
{
	const struct serve_deployment *d = &w->config->deployment[deployment];
	l->block_tokens = w->set->kv_block;
	double tokens = d->kv_blocks ? 0 : served_kv_tokens(l->on, w->set->kv_part);
	if (!d->kv_blocks && !isfinite(tokens)) {
		orr_fail(err, ORR_EINPUT,
			"model %.80s: the size of the KV cache is unknown: expected \"kv_blocks\", or a size of the memory and the bytes "
			"of a token",
			l->model->name);
		return false;
	}
	double blocks = d->kv_blocks ? d->kv_blocks : floor(tokens / l->block_tokens);
	if (blocks < 1 && tokens >= 1) {
		orr_fail(err, ORR_EINPUT, "model %.80s: the KV cache holds %.0f tokens: expected serve.kv_block of at most that, found %u",
			l->model->name, tokens, l->block_tokens);
		return false;
	}
	if (blocks < 1) {
		orr_fail(err, ORR_EINPUT,
			"model %.80s: the weights leave no memory for a KV cache (serve.kv_part=%g of %u GPUs): expected more GPUs per "
			"replica (--tp, --pp), smaller weights (--weights) or another device",
			l->model->name, w->set->kv_part, d->tp * d->pp);
		return false;
	}
	l->total = l->avail = blocks < 4e9 ? (uint32_t)blocks : 4000000000u;
	uint32_t hash_tokens = reqset_block_tokens(w->config->requests);
	if (!w->set->prefix_cache || !hash_tokens)
		return true;
	if (hash_tokens % l->block_tokens) {
		orr_fail(err, ORR_EINPUT,
			"serve.prefix_cache: a hash of the trace covers %u tokens: expected a multiple of serve.kv_block=%u", hash_tokens,
			l->block_tokens);
		return false;
	}
	l->hash_blocks = hash_tokens / l->block_tokens;
	l->prefix = prefix_new();
	return true;
}

/* Returns the number of tokens for which the replica needs room, sooner or later. */
static uint64_t tokens_on(const struct orr_serve *w, uint32_t replica, const struct req *q)
{
	return w->replica[replica].role == ORR_ROLE_PREFILL ? q->prompt : req_whole(q);
}

bool kv_ever_holds(const struct orr_serve *w, uint32_t replica, const struct req *q)
{
	const struct lane *l = replica < w->n_replicas ? w->replica[replica].lane : NULL;
	return !l || kv_can_hold(l, tokens_on(w, replica, q));
}

bool kv_must_hold(struct orr_serve *w, uint32_t replica, const struct req *q, const char *what)
{
	if (kv_ever_holds(w, replica, q))
		return true;
	const struct lane *l = w->replica[replica].lane;
	serve_fail(w, ORR_EFAIL, q,
		"%s: the KV cache of replica %u holds %llu tokens, and the request needs %llu: expected orr_kv_can_hold()", what, replica,
		(unsigned long long)l->total * l->block_tokens, (unsigned long long)tokens_on(w, replica, q));
	return false;
}

/* Drops cache entries without users until the others fit. To be called after blocks were taken. */
static void trim(struct orr_serve *w, struct lane *l)
{
	uint32_t entry;
	while ((uint64_t)prefix_unused(l->prefix) * l->hash_blocks > l->avail) {
		uint64_t hash = prefix_drop(l->prefix, &entry);
		if (w->tiers)
			tiers_evicted(w, l, hash);
	}
}

void kv_spend_at(struct orr_serve *w, struct lane *l, uint32_t n, double at_s)
{
	kv_count(l, at_s);
	l->avail -= n;
	if (l->prefix)
		trim(w, l);
}

uint32_t kv_sharable(const struct lane *l, const struct req *q)
{
	uint32_t n = q->prompt ? (q->prompt - 1) / (l->hash_blocks * l->block_tokens) : 0;
	return n < q->n_blocks ? n : q->n_blocks;
}

/* Returns the number of leading hashes of its prompt in the cache. */
static uint32_t cached_run(const struct lane *l, const struct req *q)
{
	return prefix_run(l->prefix, q->block, kv_sharable(l, q));
}

/* Makes room for the entries of all hashes of the request. */
static void make_entries(struct req *q)
{
	if (q->n_blocks <= q->cap_entry)
		return;
	q->cap_entry = q->n_blocks + q->n_blocks / 2;
	q->entry = mem_realloc(q->entry, q->cap_entry, sizeof *q->entry);
}

/* Sets q->entry to the entries of the leading hashes of its prompt in the cache; returns their number. */
static uint32_t find_run(const struct lane *l, struct req *q)
{
	uint32_t n = kv_sharable(l, q), i = 0, entry = PREFIX_NONE;
	make_entries(q);
	while (i < n && (entry = prefix_after(l->prefix, entry, q->block[i])) != PREFIX_NONE)
		q->entry[i++] = entry;
	return i;
}

/*
 * Makes the request a user of hash i of its prompt, which follows the cached hashes and whose block is being loaded. Adds the hash to the
 * cache unless it came earlier in the prompt. Returns the number of blocks that are no longer free.
 */
static uint32_t use_loaded(struct lane *l, struct req *q, uint32_t i)
{
	uint32_t entry = q->entry[i] = prefix_find(l->prefix, q->block[i]);
	if (entry != PREFIX_NONE)
		return prefix_use(l->prefix, entry) ? l->hash_blocks : 0;
	q->entry[i] = prefix_add(l->prefix, q->block[i], i ? q->entry[i - 1] : PREFIX_NONE);
	return l->hash_blocks;
}

/* Returns the blocks without users among n hashes behind those in the cache. */
static uint64_t unused_behind(const struct lane *l, const struct req *q, uint32_t from, uint32_t n)
{
	uint64_t blocks = 0;
	for (uint32_t i = from; i < from + n; i++) {
		uint32_t entry = prefix_find(l->prefix, q->block[i]);
		blocks += entry != PREFIX_NONE && prefix_is_used(l->prefix, entry) ? 0 : l->hash_blocks;
	}
	return blocks;
}

bool kv_take(struct orr_serve *w, struct lane *l, struct req *q, uint32_t tokens, uint32_t keep_free)
{
	bool looks = l->prefix && !q->done;
	uint32_t there = looks ? find_run(l, q) : 0;
	struct tier_plan load = { .from = there };
	if (looks && w->tiers)
		load = tiers_plan(w, l, q, there, kv_sharable(l, q));
	uint32_t run = there + load.n;
	uint32_t shared = run * (l->prefix ? l->hash_blocks : 0);
	uint32_t content = q->done > q->prompt ? q->done - 1 : q->done;
	uint32_t blocks = kv_blocks_for(l, tokens > content ? tokens : content);
	uint32_t own = blocks > shared ? blocks - shared : 0;
	uint64_t need = own;
	for (uint32_t i = 0; i < there; i++)
		need += prefix_is_used(l->prefix, q->entry[i]) ? 0 : l->hash_blocks;
	need += unused_behind(l, q, there, load.n);
	if (need + keep_free > l->avail)
		return false;
	if (load.n) {
		tiers_load(w, l, q, &load);
		l->loaded_s = fmax(l->loaded_s, load.end_s);
	}
	uint32_t spent = own;
	for (uint32_t i = 0; i < there; i++)
		spent += prefix_use(l->prefix, q->entry[i]) ? l->hash_blocks : 0;
	for (uint32_t i = there; i < run; i++)
		spent += use_loaded(l, q, i);
	q->shared = run;
	q->kv_held = own;
	if (run)
		q->done = run * l->hash_blocks * l->block_tokens;
	kv_spend(w, l, spent);
	return true;
}

void kv_give(struct orr_serve *w, struct lane *l, struct req *q)
{
	w->blocks_freed = true;
	uint32_t freed = q->kv_held;
	/* The end of a prompt is dropped first, because it cannot be used without the beginning. */
	for (uint32_t i = q->shared; i-- > 0;) {
		if (i >= PREFIX_AHEAD)
			prefix_expect_leave(l->prefix, q->entry[i - PREFIX_AHEAD]);
		if (prefix_leave(l->prefix, q->entry[i]))
			freed += l->hash_blocks;
	}
	kv_free(w, l, freed);
	q->kv_held = q->shared = 0;
}

void kv_publish(struct orr_serve *w, struct lane *l, struct req *q)
{
	if (!l->prefix)
		return;
	uint32_t tokens = q->done < q->prompt_asked ? q->done : q->prompt_asked;
	uint32_t whole = tokens / (l->hash_blocks * l->block_tokens);
	make_entries(q);
	for (; q->shared < whole && q->shared < q->n_blocks && q->kv_held >= l->hash_blocks; q->shared++) {
		uint64_t hash = q->block[q->shared];
		uint32_t last = q->shared ? q->entry[q->shared - 1] : PREFIX_NONE, entry = prefix_after(l->prefix, last, hash);
		if (q->shared + 2 * PREFIX_AHEAD < q->n_blocks)
			prefix_expect(l->prefix, q->block[q->shared + 2 * PREFIX_AHEAD], false);
		if (q->shared + PREFIX_AHEAD < q->n_blocks)
			prefix_expect(l->prefix, q->block[q->shared + PREFIX_AHEAD], true);
		q->kv_held -= l->hash_blocks;
		if (w->tiers)
			tiers_computed(w, l, hash);
		q->entry[q->shared] = entry == PREFIX_NONE ? prefix_add(l->prefix, hash, last) : entry;
		if (entry == PREFIX_NONE)
			continue;
		if (!prefix_use(l->prefix, entry))
			kv_free(w, l, l->hash_blocks); /* another request has added the same block to the cache, so this copy is freed */
	}
}

void kv_reserve(struct orr_serve *w, struct lane *l, struct req *q, uint32_t n)
{
	kv_spend(w, l, n);
	l->set_aside += n;
	q->set_aside = n;
	q->kv_at = l->replica;
}

/* The entries have a user until all are present, so that trim() drops none of them; the end of the prompt is the first to be dropped later.
 */
void kv_insert(struct orr_serve *w, struct lane *l, const struct req *q, uint32_t n)
{
	uint32_t end = 0, last = PREFIX_NONE;
	uint64_t own = 0; /* blocks of entries without other users */
	for (; l->prefix && end < n && end < q->n_blocks; end++) {
		uint32_t entry = prefix_after(l->prefix, last, q->block[end]);
		bool is_free = entry == PREFIX_NONE || !prefix_is_used(l->prefix, entry);
		if (is_free && own + l->hash_blocks > l->avail)
			break;
		own += is_free ? l->hash_blocks : 0;
		if (entry == PREFIX_NONE)
			entry = prefix_add(l->prefix, q->block[end], last);
		else
			prefix_use(l->prefix, entry);
		last = entry;
	}
	while (end-- > 0)
		prefix_leave(l->prefix, prefix_find(l->prefix, q->block[end]));
	if (l->prefix)
		trim(w, l);
}

const char *kv_check(const struct orr_serve *w, const struct lane *l, uint64_t moving)
{
	uint64_t own = moving + l->set_aside + (l->is_flying ? l->taken + l->reserved : 0);
	for (uint32_t s = l->first; s != NONE; s = w->req[s].res_next) {
		struct req q = w->req[s];
		if (q.heap_at != NONE)
			decodes_settle(l, &q);
		own += q.kv_held;
	}
	uint64_t used = l->prefix ? (uint64_t)prefix_used(l->prefix) * l->hash_blocks : 0;
	uint64_t unused = l->prefix ? (uint64_t)prefix_unused(l->prefix) * l->hash_blocks : 0;
	if (own + used + l->avail != l->total)
		return "blocks held and free do not sum to all blocks";
	return unused > l->avail ? "the prefix cache keeps blocks that are not free" : NULL;
}

/* ---- queries of policies ---- */

uint32_t orr_kv_block_tokens(const struct orr_serve *w, uint32_t replica)
{
	const struct lane *l = lane_seen(w, replica);
	return l ? l->block_tokens : 0;
}

uint32_t orr_kv_total(const struct orr_serve *w, uint32_t replica)
{
	const struct lane *l = lane_seen(w, replica);
	return l ? l->total : 0;
}

uint32_t orr_kv_free(const struct orr_serve *w, uint32_t replica)
{
	const struct lane *l = lane_seen(w, replica);
	return l ? l->avail : 0;
}

uint32_t orr_kv_blocks(const struct orr_serve *w, uint32_t replica, uint32_t tokens)
{
	const struct lane *l = lane_seen(w, replica);
	return l ? kv_blocks_for(l, tokens) : 0;
}

bool orr_kv_can_hold(const struct orr_serve *w, uint32_t replica, orr_req r)
{
	const struct req *q = req_of(w, r);
	return q && kv_ever_holds(w, replica, q);
}

uint32_t orr_kv_held(const struct orr_serve *w, orr_req r)
{
	const struct req *q = req_of(w, r);
	const struct lane *l = q ? lane_seen(w, q->replica) : NULL;
	if (!l || (q->state != ORR_REQ_RESIDENT && q->state != ORR_REQ_MOVING))
		return 0;
	if (q->heap_at == NONE)
		return (uint32_t)kv_holds(l, q);
	struct req now = *q;
	decodes_settle(l, &now);
	return (uint32_t)kv_holds(l, &now) + decodes_took_in_flight(l, &now);
}

uint32_t orr_prefix_cached(const struct orr_serve *w, uint32_t replica, orr_req r)
{
	const struct req *q = req_of(w, r);
	const struct lane *l = lane_seen(w, replica);
	return q && l && l->prefix ? cached_run(l, q) * l->hash_blocks * l->block_tokens : 0;
}

uint32_t orr_prefix_stored(const struct orr_serve *w, uint32_t replica, orr_req r)
{
	const struct req *q = req_of(w, r);
	const struct lane *l = lane_seen(w, replica);
	if (!q || !l || !l->prefix)
		return 0;
	uint32_t run = cached_run(l, q);
	if (w->tiers)
		run += tiers_run(w, l, q, run, kv_sharable(l, q));
	return run * l->hash_blocks * l->block_tokens;
}
