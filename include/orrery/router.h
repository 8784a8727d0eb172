/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * router.h - the interface between the serving world and a router (--router)
 *
 * A router chooses the replica of each new request. It is a table of functions (struct orr_router_ops) and an object that it
 * creates and frees in each run. It works with the policy of the run (serve.h), which decides what the replica does with its requests.
 * Runs execute in parallel threads: keep no state in static variables.
 *
 * The *candidates* of a request are the replicas that are up, do not drain, serve its model and are not for decoding alone.
 * A router reads the state through the functions below and the queries of serve.h; it must not act.
 *
 * One file, one router, built in (policies/serve/routers) or a plugin:
 *
 *	ORR_ROUTER(my_router, "what it does, in one line", params, my_ops);
 *
 * `orrery serve .. --router my-router:param=value,..` or `--router ./my_router.so` runs it.
 */
#ifndef ORRERY_ROUTER_H
#define ORRERY_ROUTER_H

#include <orrery/serve.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Loads of a replica that orr_candidate_least() compares. */
enum orr_load {
	ORR_LOAD_REQUESTS, /* live requests that are routed to the replica, waiting or running */
	ORR_LOAD_TOKENS,   /* tokens of these requests: prompt and max_output; samples, if a request has neither */
	ORR_LOAD_WAITING   /* requests on the replica that wait: neither resident nor in a run */
};

/* ---- candidates ---- */

/* Returns the number of candidates for the model; never 0 in pick(). */
ORR_API uint32_t orr_candidates(const struct orr_serve *w, uint32_t model);
/* Returns candidate i of 0 .. orr_candidates() - 1. The order is that of the numbers among the replicas of one model, and then among
 * those that serve any model. */
ORR_API uint32_t orr_candidate(const struct orr_serve *w, uint32_t model, uint32_t i);
/* Returns the candidate with the smallest number of at least `from`, or ORR_NO_REPLICA. O(log replicas). */
ORR_API uint32_t orr_candidate_from(const struct orr_serve *w, uint32_t model, uint32_t from);
ORR_API bool orr_is_candidate(const struct orr_serve *w, uint32_t model, uint32_t replica);
/* Sets the load that orr_candidate_least() compares, in create() only; ORR_LOAD_REQUESTS if it is not called. */
ORR_API void orr_router_load(struct orr_serve *w, enum orr_load load);
/* Returns the candidate with the smallest load, the smallest number on ties. O(1); each change of a load costs O(log replicas). */
ORR_API uint32_t orr_candidate_least(const struct orr_serve *w, uint32_t model);
ORR_API uint64_t orr_replica_load(const struct orr_serve *w, uint32_t replica, enum orr_load load);
/* Returns a uniform number in [0, n) from the router's random stream. A router that calls it declares ORR_DRAWS. */
ORR_API uint64_t orr_router_below(struct orr_serve *w, uint64_t n);

/* ---- requests ---- */

/* Returns the number of hashes of the prompt, one per whole block of the trace, and sets *hash to them; valid until the request
 * ends. 0: the trace has none. Equal hashes mean equal prompts up to and including the block. */
ORR_API uint32_t orr_req_hashes(const struct orr_serve *w, orr_req r, const uint64_t **hash);
/* Returns the number of tokens of a block of the trace; 0: the trace has no hashes. */
ORR_API uint32_t orr_hash_tokens(const struct orr_serve *w);
/* Returns a small number that identifies the request among the live ones: an index of arrays. Numbers are used again. */
static inline uint32_t orr_req_index(orr_req r)
{
	return (uint32_t)r - 1u;
}
/* Returns the time, s, to copy the KV cache of that many tokens to the replica from another one: serve.kv_latency +
 * bytes / serve.kv_Bps. */
ORR_API double orr_kv_copy_s(const struct orr_serve *w, uint32_t replica, uint32_t tokens);
/* In pick(): the first `to` tokens of the prompt, of which the chosen replica has `from`, are copied to its prefix cache, in the time of
 * to - from tokens. The request reaches its replica when they have arrived. */
ORR_API void orr_router_copy(struct orr_serve *w, orr_req r, uint32_t to, uint32_t from);
/* Returns the number of hashes in the prefix cache of the replica; 0 without a cache. */
ORR_API uint32_t orr_prefix_hashes(const struct orr_serve *w, uint32_t replica);
/* Return the limits of TTFT and of the time per output token of the run (serve.slo_ttft, serve.slo_tpot), s; INFINITY: none. */
ORR_API double orr_slo_ttft(const struct orr_serve *w);
ORR_API double orr_slo_tpot(const struct orr_serve *w);

/* ---- functions of a router ---- */

#define ORR_ROUTER_REJECTS (UINT32_MAX - 2) /* pick(): the request is shed (early rejection) */

struct orr_router_ops {
	/* Returns the router's object, or NULL with *err filled in if parameters are invalid. Replicas and models are known. */
	void *(*create)(struct orr_serve *w, const struct orr_args *args, struct orr_error *err);
	void (*destroy)(void *self);
	/* Returns the replica of the request, one of its candidates, or ORR_ROUTER_REJECTS. The request is new, or lost its
	 * replica. */
	uint32_t (*pick)(void *self, struct orr_serve *w, orr_req r);
	/* The request now counts on the replica, or no longer does: it ended, moved, or lost the replica. All requests are reported,
	 * also those that the policy assigned. May be NULL. */
	void (*joined)(void *self, struct orr_serve *w, orr_req r, uint32_t replica);
	void (*left)(void *self, struct orr_serve *w, orr_req r, uint32_t replica);
	/* The prompt of a request of a language model is complete; again after a restart. May be NULL. */
	void (*prefilled)(void *self, struct orr_serve *w, orr_req r, uint32_t replica);
	/* A replica joined, drains or left. May be NULL. */
	void (*replica)(void *self, struct orr_serve *w, uint32_t replica, enum orr_replica_event event);
};

/* Declares a router: see policy.h. ORR_DRAWS: may draw random numbers. */
#define ORR_ROUTER_FLAGS(ident, doc, flags, params, ops) \
	ORR_POLICY_DECLARE(router_##ident, ident, doc, "router", flags, params, struct orr_router_ops, ops)
#define ORR_ROUTER(ident, doc, params, ops) ORR_ROUTER_FLAGS(ident, doc, 0u, params, ops)

#ifdef __cplusplus
}
#endif
#endif
