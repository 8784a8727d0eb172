/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * micro.h - idle residents of a replica with micro-batches in flight (vllm, sarathi)
 *
 * A replica of S stages has up to S micro-batches in flight (serve.pipeline=micro-batches). A policy chooses the members of the next
 * one among its idle residents: those in no micro-batch. The rules are those of microsoft/vidur, where residents in flight are
 * neither chosen nor evicted (base_replica_scheduler.py, vllm_replica_scheduler.py, sarathi_replica_scheduler.py).
 *
 * Invariant: v[head .. n - 1] are the idle residents that the forming of the current micro-batch has not visited, in order.
 */
#ifndef ORR_POLICIES_SERVE_MICRO_H
#define ORR_POLICIES_SERVE_MICRO_H

#include <orrery/serve.h>

struct micro_idle {
	orr_req *v;
	uint32_t head, n, cap;
};

/* Adds the residents that became idle since the last call. */
static inline void micro_collect(struct orr_serve *w, uint32_t replica, struct micro_idle *x)
{
	for (orr_req r; (r = orr_micro_returned(w, replica)) != 0;) {
		ORR_GROW(x->v, x->n, x->cap);
		x->v[x->n++] = r;
	}
}

/* Sorts by arrival; equal arrivals keep their order. The list is nearly sorted: only returned residents, at its end, are out of order. */
static inline void micro_sort(const struct orr_serve *w, struct micro_idle *x)
{
	for (uint32_t i = 1; i < x->n; i++) {
		orr_req r = x->v[i];
		double arrival = orr_req_arrival(w, r);
		uint32_t at = i;
		for (; at && orr_req_arrival(w, x->v[at - 1]) > arrival; at--)
			x->v[at] = x->v[at - 1];
		x->v[at] = r;
	}
}

/* Moves the residents that were visited and skipped before those that were not visited. */
static inline void micro_keep(struct micro_idle *x, const orr_req *skipped, uint32_t n)
{
	uint32_t kept = 0;
	for (; kept < n; kept++)
		x->v[kept] = skipped[kept];
	while (x->head < x->n)
		x->v[kept++] = x->v[x->head++];
	x->n = kept;
	x->head = 0;
}

/*
 * Demands one free block for the decode r, even if it needs none: while none is free, the last resident not visited restarts, or r
 * itself if no other is left. Returns whether r can decode; *evicted counts those that restart at the front of the queue.
 */
static inline bool micro_demand_block(
	struct orr_serve *w, uint32_t replica, struct micro_idle *x, orr_req r, struct orr_fifo *queue, uint32_t *evicted)
{
	while (!orr_kv_free(w, replica)) {
		bool is_last = x->head == x->n;
		uint64_t room = (uint64_t)orr_kv_held(w, r) * orr_kv_block_tokens(w, replica);
		if (is_last && orr_residents(w, replica) == 1 && orr_req_done(w, r) <= room)
			return true; /* the request holds all blocks, and they suffice, so an eviction would change nothing */
		orr_req victim = is_last ? r : x->v[--x->n];
		orr_evict(w, victim, ORR_EVICT_RESTART);
		orr_fifo_push_front(w, queue, victim);
		++*evicted;
		if (is_last)
			return false;
	}
	return true;
}

/* Returns whether a replica has several micro-batches in flight. */
static inline bool micro_is_used(const struct orr_serve *w)
{
	for (uint32_t i = 0; i < orr_replicas(w); i++)
		if (orr_micro_stages(w, i) > 1)
			return true;
	return false;
}

/* Returns the largest number of members of a micro-batch: an equal share of the residents. */
static inline uint32_t micro_most(const struct orr_serve *w, uint32_t replica, uint32_t max_batch)
{
	uint32_t share = max_batch / orr_micro_stages(w, replica);
	return share ? share : 1;
}

#endif
