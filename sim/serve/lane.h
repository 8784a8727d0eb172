/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lane.h - a replica that serves a language model: residents, decodes, blocks, the iteration that runs
 *
 * Files: llm.c (life of a lane; residents), decodes.c (the set of decodes), iterate.c (iterations and their repetition),
 * kv.c (blocks), prefix.c (the prefix cache), move.c (caches on their way to another replica).
 *
 * Every iteration with decodes moves all of them by one token, so what each has done need not be counted: the lane has
 * a clock of such iterations, and a decode that joined at clock j with d tokens done has done d + (clock - j) now. An
 * iteration that nobody joins or leaves then costs the same for any number of decodes:
 *
 *  - ends: a heap by the clock at which a decode's output is complete;
 *  - ring: how many decodes take a block in the iteration at clock c stands in ring[c % block_tokens]. A decode that
 *    holds h blocks takes one at the clock t at which d + (t - j) = h x block_tokens + 1, then every block_tokens
 *    iterations, in the same cell. `later`: a heap of those with t too far ahead for the ring (they hold more blocks
 *    than they need yet);
 *  - context: tokens done, summed over decodes, as of the clock.
 *
 * While an iteration with decodes runs ("flies") the clock is still that of its start, but the blocks for it are taken:
 * lane_next_clock() is the clock of the iteration that a decode which joins now would first be in.
 *
 * Invariants: free + own blocks of requests + blocks of the cache that are in use = total; every cell of the ring counts
 * decodes whose next block is due within block_tokens iterations; a decode has done at most one token more than its
 * blocks have room for (the last token that was given out is stored by the next iteration).
 */
#ifndef ORR_SERVE_LANE_H
#define ORR_SERVE_LANE_H

#include "serve/world.h"

struct prefix;

struct lane_key {
	uint64_t clock, number; /* number: of the request, for ties */
	uint32_t slot;
};
struct lane_heap {
	struct lane_key *v;
	uint32_t n, cap;
};

/* A gap between two tokens of all decodes that were in the iteration at that clock and in the one before it. */
struct lane_gap {
	uint64_t clock;
	double gap_s;
};

struct lane {
	uint32_t replica;
	const struct served *model;
	struct served_on *on;

	/* residents in order of admission */
	uint32_t first, last, n;

	/* blocks */
	uint32_t block_tokens, total;
	uint32_t avail;        /* free, or in the cache and in nobody's use */
	struct prefix *prefix; /* NULL: no cache */
	uint32_t hash_blocks;  /* blocks for which a hash stands */

	/* decodes */
	uint64_t clock, context;
	struct lane_heap ends, later;
	uint32_t *ring;
	uint32_t *fresh, n_fresh, cap_fresh; /* decodes that were in no iteration yet */
	struct lane_gap *gap;                /* clocks ascending, gaps descending: for the largest one since a clock */
	uint32_t n_gap, cap_gap;
	double last_decode_s; /* end of the last iteration with decodes */

	/* the iteration */
	uint32_t *list, n_list, cap_list; /* prompts in it, or in the next one */
	double copy_s, copying_s;         /* swapping that the next one waits for; that the one that runs waited for */
	bool is_flying, is_cut;
	unsigned flags;  /* enum orr_iter_flag */
	uint32_t flying; /* decodes in it */
	uint32_t taken;  /* blocks that they took for it */
	uint32_t late;   /* decodes that joined since it began */
	uint64_t ahead;  /* iterations before it that were done with no event */
	uint64_t left;   /* iterations of the repetition after this one */
	uint32_t keep_free;
	double start_s, end_s; /* end_s -1: there was none yet */
	double base_s, each_s; /* the last `alike` iterations took each_s, the first of them from base_s on */
	uint64_t alike;        /* 0: the next one begins anew */
	int64_t again_ns;      /* a repetition went on at this instant; -1 */
	struct eng_event event;
};

static inline uint64_t lane_next_clock(const struct lane *l)
{
	return l->clock + (l->is_flying && l->flying ? 1 : 0);
}
static inline struct lane *lane_of(const struct orr_serve *w, const struct req *q)
{
	return q->replica < w->n_replicas ? w->replica[q->replica].lane : NULL;
}
/* It is part of the iteration that runs. */
static inline bool lane_is_in_flight(const struct lane *l, const struct req *q)
{
	return l->is_flying && (q->next_tokens || (l->flying && q->heap_at != NONE && q->joined <= l->clock));
}

/* The request of an action on it, if actions are allowed and it is in that state on a replica with a lane; else the run
 * fails. */
struct req *lane_actor(struct orr_serve *w, orr_req r, enum orr_req_state state, const char *what);
/* The replica's lane; NULL: it has none (what != NULL: and the run fails). */
struct lane *lane_at(struct orr_serve *w, uint32_t replica, const char *what);
/* Out of decodes, list and residents; it still holds its blocks. */
void lane_depart(struct orr_serve *w, struct lane *l, struct req *q);
/* All that is done of the request becomes prompt. */
void lane_restart(struct req *q);

/* ---- decodes.c ---- */
void decodes_init(struct lane *l);
void decodes_free(struct lane *l);
void decodes_join(struct orr_serve *w, struct lane *l, struct req *q);
void decodes_leave(struct orr_serve *w, struct lane *l, struct req *q); /* brings q up to date */
/* done, outputs and blocks as of the clock; a block taken for the iteration that runs is not among them yet. */
void decodes_settle(const struct lane *l, struct req *q);
bool decodes_took_in_flight(const struct lane *l, const struct req *q); /* settled */
/* Blocks that the iteration at the next clock takes. */
uint32_t decodes_need(struct orr_serve *w, struct lane *l);
/* q->kv_held grows by that many. */
void decodes_hold(struct orr_serve *w, struct lane *l, struct req *q, uint32_t more);
/* The iteration that flew has ended at end_s: clock, context, gaps between tokens. */
void decodes_advance(struct orr_serve *w, struct lane *l, double end_s);
/* A decode whose output is complete at the clock, or NONE. */
uint32_t decodes_ended(const struct lane *l);
const char *decodes_check(const struct orr_serve *w, const struct lane *l);

/* ---- kv.c ---- */
/* Blocks that hold the request's tokens, its own and shared ones. */
static inline uint64_t kv_holds(const struct lane *l, const struct req *q)
{
	return (uint64_t)q->kv_held + (uint64_t)q->shared * l->hash_blocks;
}
bool kv_open(struct orr_serve *w, struct lane *l, uint32_t deployment, struct orr_error *err);
/* Room for a request that waits; false: there is none. Finds what the cache has of a prompt of which nothing is done. */
bool kv_take(struct lane *l, struct req *q, uint32_t tokens, uint32_t keep_free);
/* Decodes take n blocks (avail >= n). */
void kv_spend(struct lane *l, uint32_t n);
void kv_give(struct lane *l, struct req *q);
/* Prompt tokens have been processed: whole blocks of them go to the cache. */
void kv_publish(struct lane *l, struct req *q);
const char *kv_check(const struct orr_serve *w, const struct lane *l);

/* ---- prefix.c: blocks of prompts by their hashes ---- */
struct prefix *prefix_new(void);
void prefix_free(struct prefix *p);
#define PREFIX_NONE UINT32_MAX
uint32_t prefix_find(const struct prefix *p, uint64_t hash);
/* A user more; true: it had none. */
bool prefix_use(struct prefix *p, uint32_t entry);
/* A user less; true: it has none now, and is the last of those that will be thrown out. */
bool prefix_leave(struct prefix *p, uint32_t entry);
bool prefix_is_used(const struct prefix *p, uint32_t entry);
uint32_t prefix_add(struct prefix *p, uint64_t hash); /* is not in it; has one user */
uint32_t prefix_unused(const struct prefix *p);
uint32_t prefix_used(const struct prefix *p);
/* Throws the entry out that has been without a user for longest. There must be one. */
void prefix_drop(struct prefix *p);
/* Leading hashes that it has. */
uint32_t prefix_run(const struct prefix *p, const uint64_t *hash, uint32_t n);

/* ---- iterate.c ---- */
/* The replica is lost: the iteration ends without a result. */
void iterate_abandon(struct orr_serve *w, struct lane *l);
void iterate_unlist(struct lane *l, struct req *q, uint32_t slot);

/* ---- move.c ---- */
uint64_t moves_held(const struct orr_serve *w, uint32_t replica); /* own blocks of requests that move away from it */
/* Caches on their way from or to the replica are lost with it. */
void moves_lost(struct orr_serve *w, uint32_t replica);
void moves_drop(struct orr_serve *w, struct req *q); /* the request is no more, or starts again */

#endif
