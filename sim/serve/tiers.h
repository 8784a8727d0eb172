/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tiers.h - KV caches of prompts below the GPUs' memory: DRAM and SSD of a node, a pool of the fleet (tiers.c)
 *
 * A tier holds whole blocks of prompts by hash, like the prefix cache of a lane (prefix.c), without users: DRAM and SSD serve the replicas
 * whose first GPU is on the node, the pool serves all replicas. Links carry one request at a time, first come first served, each
 * direction separately: a replica has its own links to DRAM and to the pool, a node has the link to its SSD. docs/models/serve-tiers.md.
 *
 * Invariants: the bytes of a tier's blocks are at most its size. A block that is still being written is not read.
 */
#ifndef ORR_SERVE_TIERS_H
#define ORR_SERVE_TIERS_H

#include "serve/lane.h"

enum tier { TIER_DRAM, TIER_SSD, TIER_POOL, TIERS };

/* Blocks that a request loads: n hashes from number `from` on, by tier, and when they have arrived. */
struct tier_plan {
	uint32_t from, n, by_tier[TIERS];
	double end_s;
};

/* Returns NULL if serve.kv_dram, kv_ssd and kv_pool are 0. */
struct tiers *tiers_new(const struct orr_serve *w);
void tiers_free(struct tiers *t);
/* A block of the prompts left the prefix cache of the lane: it moves down a tier (serve.kv_write=demote). */
void tiers_evicted(struct orr_serve *w, const struct lane *l, uint64_t hash);
/* The lane has processed a block: it is written to all tiers (serve.kv_write=through). */
void tiers_computed(struct orr_serve *w, const struct lane *l, uint64_t hash);
/* Returns the number of hashes [from, most) of the request that can be read by the replica, in unbroken order. */
uint32_t tiers_run(const struct orr_serve *w, const struct lane *l, const struct req *q, uint32_t from, uint32_t most);
/* Chooses the hashes [from, from + n) to load so that load and prefill take the shortest time (serve.kv_load). Changes nothing. */
struct tier_plan tiers_plan(const struct orr_serve *w, const struct lane *l, const struct req *q, uint32_t from, uint32_t most);
/* Takes the links for the plan. */
void tiers_load(struct orr_serve *w, const struct lane *l, const struct req *q, const struct tier_plan *p);
/* The node has failed: its DRAM and SSD are empty. */
void tiers_node_lost(struct orr_serve *w, uint32_t node);
/* Returns the violated law, or NULL. */
const char *tiers_check(const struct orr_serve *w);

#endif
