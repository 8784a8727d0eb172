/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * evict.h - decodes that find no free block: who gives way (vllm, sarathi)
 *
 * In order of admission each decode asks for one free block, whether or not it needs one: while none is free, the last
 * resident that was not asked yet is evicted, or the decode itself if there is no other. (microsoft/vidur,
 * vllm_replica_scheduler.py; vLLM's scheduler, _schedule_running.)
 */
#ifndef ORR_POLICIES_SERVE_EVICT_H
#define ORR_POLICIES_SERVE_EVICT_H

#include <orrery/policy.h>

/* All of them get their block, and one is left for the last to ask. */
static inline bool evict_is_needless(const struct orr_serve *w, uint32_t replica)
{
	return orr_kv_free(w, replica) > orr_decodes_need(w, replica);
}

/* Those evicted go to the front of the list. `room` is for all residents. Returns how many. */
static inline uint32_t evict_for_decodes(struct orr_serve *w, uint32_t replica, enum orr_evict_how how, struct orr_fifo *list,
	orr_req *room)
{
	uint32_t n = 0, spent = 0, evicted = 0, tokens = orr_kv_block_tokens(w, replica);
	for (orr_req r = orr_resident_first(w, replica); r; r = orr_resident_next(w, r))
		room[n++] = r;
	for (uint32_t i = 0; i < n; i++) {
		orr_req r = room[i];
		if (!orr_is_decoding(w, r))
			continue; /* in its prompt: has its blocks */
		while (orr_kv_free(w, replica) <= spent && n > i) {
			orr_req victim = room[--n];
			orr_evict(w, victim, how);
			orr_fifo_push_front(w, list, victim);
			evicted++;
		}
		if (n > i && orr_req_done(w, r) > (uint64_t)orr_kv_held(w, r) * tokens)
			spent++;
	}
	return evicted;
}

#endif
