/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * evict.h - eviction when decodes find no free block (vllm, sarathi; orca and fastertransformer beyond their reservations)
 *
 * In order of admission each decode requires one free block, even if it needs none. While no block is free, the last resident
 * not yet visited is evicted, or the decode itself if no other is left (microsoft/vidur, vllm_replica_scheduler.py; vLLM's
 * scheduler, _schedule_running).
 */
#ifndef ORR_POLICIES_SERVE_EVICT_H
#define ORR_POLICIES_SERVE_EVICT_H

#include <orrery/serve.h>

/* Returns whether more blocks are free than the decodes need for their next token. */
static inline bool evict_is_needless(const struct orr_serve *w, uint32_t replica)
{
	return orr_kv_free(w, replica) > orr_decodes_need(w, replica);
}

static inline bool evict_needs_block(const struct orr_serve *w, orr_req r, uint32_t block_tokens)
{
	return orr_req_done(w, r) > (uint64_t)orr_kv_held(w, r) * block_tokens;
}

/* Returns the number of evicted residents, which go to the front of the list. `room` must hold all residents. */
static inline uint32_t evict_for_decodes(
	struct orr_serve *w, uint32_t replica, enum orr_evict_how how, struct orr_fifo *list, orr_req *room)
{
	uint32_t n = 0, spent = 0, evicted = 0, tokens = orr_kv_block_tokens(w, replica);
	for (orr_req r = orr_resident_first(w, replica); r; r = orr_resident_next(w, r))
		room[n++] = r;
	for (uint32_t i = 0; i < n; i++) {
		orr_req r = room[i];
		if (!orr_is_decoding(w, r))
			continue; /* the prompt of the request is not complete, and all blocks of the prompt are allocated */
		while (orr_kv_free(w, replica) <= spent && n > i) {
			if (n == 1 && !evict_needs_block(w, r, tokens))
				return evicted; /* the request holds all blocks, and they suffice, so an eviction would change nothing */
			orr_req victim = room[--n];
			orr_evict(w, victim, how);
			orr_fifo_push_front(w, list, victim);
			evicted++;
		}
		if (n > i && evict_needs_block(w, r, tokens))
			spent++;
	}
	return evicted;
}

/* Handles decodes of policies that reserve: outputs longer than their reservation take blocks one by one. If no block is free, the
 * last residents restart, at the front of the list. */
static inline bool evict_if_short(struct orr_serve *w, uint32_t replica, struct orr_fifo *list, orr_req *room)
{
	return orr_decodes_need(w, replica) > orr_kv_free(w, replica) && evict_for_decodes(w, replica, ORR_EVICT_RESTART, list, room) > 0;
}

/* Caps a reservation at the longest request of the model and, once the request has outputs, at the size of the cache. */
static inline uint32_t evict_cap(const struct orr_serve *w, uint32_t replica, const struct orr_req_info *r, uint64_t tokens)
{
	struct orr_model_info model;
	uint64_t room = (uint64_t)orr_kv_total(w, replica) * orr_kv_block_tokens(w, replica);
	uint64_t most = orr_model_get(w, r->model, &model) && model.longest ? model.longest : UINT32_MAX;
	most = r->outputs && room < most ? room : most;
	return (uint32_t)(tokens < most ? tokens : most);
}

#endif
