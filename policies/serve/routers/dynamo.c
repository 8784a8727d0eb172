/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NVIDIA Dynamo's KV router with KV events: cost = overlap_score_weight x prefill blocks + decode blocks, the lowest wins (dynamo_cost.h).
 * The router knows the prefix caches of the replicas as they are. At temperature 0 ties go to the smallest cache, then to a random
 * replica. Blocks are those of the trace's hashes; without hashes, blocks of the KV cache, and no two prompts share one. Output blocks
 * are not counted, as by default in Dynamo.
 */
#include <orrery/router.h>

#include "dynamo_cost.h"
#include "shares.h"

static const struct orr_param params[] = { ORR_PARAM_REAL(
						   "overlap_score_weight", "1", 0, 1e9, "weight of the blocks that must be computed"),
	ORR_PARAM_REAL(
		"temperature", "0", 0, 1e9, "0: the replica of lowest cost; above 0: a random replica, more probable the lower its cost"),
	ORR_PARAM_END };

/* A request on a replica. */
struct active {
	double tokens;   /* counted in active_tokens; 0 after the prompt */
	uint32_t blocks; /* blocks, of a trace without hashes */
};

struct state {
	double weight, temperature;
	double *tokens, *blocks; /* by replica: active tokens and blocks */
	struct shares hashes;    /* active requests by hash and replica */
	struct active *active;   /* by orr_req_index() */
	uint32_t cap;
	double *cost, *chance;
};

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	(void)err;
	struct state *s = orr_alloc(1, sizeof *s);
	uint32_t n = orr_replicas(w);
	s->weight = orr_arg_real(args, "overlap_score_weight");
	s->temperature = orr_arg_real(args, "temperature");
	s->tokens = orr_alloc(n, sizeof *s->tokens);
	s->blocks = orr_alloc(n, sizeof *s->blocks);
	s->cost = orr_alloc(n, sizeof *s->cost);
	s->chance = orr_alloc(n, sizeof *s->chance);
	return s;
}

static void destroy(void *self)
{
	struct state *s = self;
	orr_free(s->tokens);
	orr_free(s->blocks);
	orr_free(s->cost);
	orr_free(s->chance);
	orr_free(s->active);
	shares_free(&s->hashes);
	orr_free(s);
}

static double block_tokens(const struct orr_serve *w, uint32_t replica)
{
	uint32_t n = orr_hash_tokens(w);
	n = n ? n : orr_kv_block_tokens(w, replica);
	return n ? n : 16;
}

/* Returns the number of full blocks of the prompt. */
static uint32_t full_blocks(const struct orr_serve *w, orr_req r, double block)
{
	const uint64_t *hash;
	uint32_t n = orr_req_hashes(w, r, &hash), full = (uint32_t)(orr_req_length(w, r) / block);
	return n && n < full ? n : full;
}

static double cost_of(const struct state *s, const struct orr_serve *w, orr_req r, uint32_t replica)
{
	const uint64_t *hash;
	double block = block_tokens(w, replica);
	uint32_t n = orr_req_hashes(w, r, &hash), full = full_blocks(w, r, block);
	struct dynamo_load x = { .active_tokens = s->tokens[replica],
		.active_blocks = s->blocks[replica],
		.overlap = orr_prefix_cached(w, replica, r) / block };
	for (uint32_t i = 0; i < n && i < full; i++)
		x.active_own += shares_get(&s->hashes, hash[i], replica) > 0;
	return dynamo_cost(&x, s->weight, orr_req_length(w, r), full, block);
}

static uint32_t drawn(struct state *s, struct orr_serve *w, uint32_t n)
{
	double x = (double)orr_router_below(w, UINT64_C(1) << 53) * 0x1p-53;
	dynamo_chances(s->cost, n, s->temperature, s->chance);
	for (uint32_t i = 0; i + 1 < n; i++)
		if ((x -= s->chance[i]) < 0)
			return i;
	return n - 1;
}

static uint32_t lowest(const struct state *s, struct orr_serve *w, uint32_t model, uint32_t n)
{
	uint32_t best = 0, tied = 1;
	for (uint32_t i = 1; i < n; i++) {
		uint32_t a = orr_prefix_hashes(w, orr_candidate(w, model, i)), b = orr_prefix_hashes(w, orr_candidate(w, model, best));
		if (s->cost[i] < s->cost[best] || (s->cost[i] == s->cost[best] && a < b)) {
			best = i;
			tied = 1;
		} else if (s->cost[i] == s->cost[best] && a == b && !orr_router_below(w, ++tied)) {
			best = i;
		}
	}
	return best;
}

static uint32_t pick(void *self, struct orr_serve *w, orr_req r)
{
	struct state *s = self;
	uint32_t model = orr_req_model(w, r), n = orr_candidates(w, model);
	for (uint32_t i = 0; i < n; i++)
		s->cost[i] = cost_of(s, w, r, orr_candidate(w, model, i));
	return orr_candidate(w, model, s->temperature > 0 ? drawn(s, w, n) : lowest(s, w, model, n));
}

static void joined(void *self, struct orr_serve *w, orr_req r, uint32_t replica)
{
	struct state *s = self;
	const uint64_t *hash;
	double block = block_tokens(w, replica);
	uint32_t n = orr_req_hashes(w, r, &hash), full = full_blocks(w, r, block), i = orr_req_index(r);
	if (i >= s->cap) {
		s->cap = 2 * i + 16;
		s->active = orr_realloc(s->active, s->cap, sizeof *s->active);
	}
	bool is_prefilled = orr_req_done(w, r) > 0; /* it has moved with its KV cache */
	s->active[i] = (struct active){ .tokens = is_prefilled ? 0 : orr_req_length(w, r) - orr_prefix_cached(w, replica, r),
		.blocks = n ? 0 : full };
	s->tokens[replica] += s->active[i].tokens;
	s->blocks[replica] += s->active[i].blocks;
	for (uint32_t k = 0; k < n && k < full; k++) {
		uint32_t has = shares_get(&s->hashes, hash[k], replica);
		shares_set(&s->hashes, hash[k], replica, has + 1);
		s->blocks[replica] += !has;
	}
}

static void prefilled(void *self, struct orr_serve *w, orr_req r, uint32_t replica)
{
	(void)w;
	struct state *s = self;
	struct active *a = &s->active[orr_req_index(r)];
	s->tokens[replica] -= a->tokens;
	a->tokens = 0;
}

static void left(void *self, struct orr_serve *w, orr_req r, uint32_t replica)
{
	struct state *s = self;
	const uint64_t *hash;
	uint32_t n = orr_req_hashes(w, r, &hash), full = full_blocks(w, r, block_tokens(w, replica));
	struct active *a = &s->active[orr_req_index(r)];
	s->tokens[replica] -= a->tokens;
	s->blocks[replica] -= a->blocks;
	for (uint32_t k = 0; k < n && k < full; k++) {
		uint32_t has = shares_get(&s->hashes, hash[k], replica);
		shares_set(&s->hashes, hash[k], replica, has - 1);
		s->blocks[replica] -= has == 1;
	}
}

static const struct orr_router_ops ops = {
	.create = create, .destroy = destroy, .pick = pick, .joined = joined, .left = left, .prefilled = prefilled
};

ORR_ROUTER_FLAGS(dynamo, "Dynamo's KV cost: blocks to compute and blocks in use", ORR_DRAWS, params, ops);
