/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lane.h - a replica that serves a language model: residents, decodes, KV blocks, the running iteration
 *
 * Files, bottom first: prefix.c (prefix cache), decodes.c (set of decodes), kv.c (blocks), lane.c (life of a lane;
 * residents), stages.c and micro.c (stages.h: pipelines with several micro-batches in flight), iterate.c (iterations and their repetition),
 * move.c (transfer of KV caches between replicas).
 *
 * Every iteration with decodes advances all of them by one token, so decodes need no counters. The lane has a clock of such
 * iterations: a decode that joined at clock j with d tokens done has now done d + (clock - j). An iteration that no decode
 * joins or leaves takes O(1) for any number of decodes:
 *
 *  - ends: a heap of the decodes by the clock at which their output is complete.
 *  - ring: ring[c % block_tokens] is the number of decodes that take a block in the iteration at clock c. A decode that
 *    holds h blocks takes one at the clock t at which d + (t - j) = h x block_tokens + 1, then every block_tokens
 *    iterations, in the same cell.
 *  - later: a heap of the decodes whose t is too far ahead for the ring (they hold more blocks than they need yet).
 *  - context: sum of the decodes' tokens done at the clock.
 *
 * A repetition needs no event per iteration (iterate.c). plan[] holds the times of the iterations after the one in flight, as they
 * are if nothing reaches the lane; the lane's event is at the end of the last one. lane_seen() first brings
 * the lane to the present instant; lane_on(), lane_of() and lane_at() also drop the rest of the plan. So all other code sees the
 * state that an event per iteration would give.
 *
 * While an iteration with decodes is in flight, the clock is still that of its start, but its blocks are taken.
 * lane_next_clock() is the clock of the first iteration of a decode that joins now.
 *
 * Invariants: free + own blocks of requests + blocks of the cache in use = total. Each cell of the ring counts decodes whose
 * next block is due within block_tokens iterations. A decode has done at most one token more than its blocks hold (the next
 * iteration stores the last token given out).
 */
#ifndef ORR_SERVE_LANE_H
#define ORR_SERVE_LANE_H

#include "serve/replica.h"
#include "serve/requests.h"

struct prefix;
struct group_net;
struct stages;

enum { LANE_PLAN = 16 };

struct lane_key {
	uint64_t clock, number; /* number: the number of the request, which decides ties */
	uint32_t slot;
};
struct lane_heap {
	struct lane_key *v;
	uint32_t n, cap;
};

/* A gap between two consecutive tokens that all decodes of an iteration have, and the clock of the iteration. */
struct lane_gap {
	uint64_t clock;
	double gap_s;
};

/* Each of the last `alike` iterations took each_s; the first of them started at base_s. alike 0: the next iteration starts a series. */
struct lane_series {
	double base_s, each_s;
	uint64_t alike;
};

struct lane {
	uint32_t replica;
	const struct served *model;
	struct served_on *on;
	struct group_net *group; /* messages between nodes; NULL: no message of the replica leaves a node */

	/* residents in order of admission */
	uint32_t first, last, n;

	/* blocks */
	uint32_t block_tokens, total;
	uint32_t avail;          /* number of blocks that are free, or cached without users */
	double use_s, counted_s; /* time integral of the number of blocks in use, until counted_s */
	struct prefix *prefix;   /* NULL: no cache */
	uint32_t hash_blocks;    /* blocks per hash */

	/* decodes */
	uint64_t clock, context;
	uint64_t first_clock; /* clock at the start of the repetition */
	struct lane_heap ends, later;
	uint32_t *ring;
	uint32_t *fresh, n_fresh, cap_fresh; /* decodes before their first iteration */
	struct lane_gap *gap;                /* gaps, clocks ascending and gaps descending: give the largest gap since a clock */
	uint32_t n_gap, cap_gap;
	double last_decode_s; /* end of the last iteration with decodes */

	/* the iteration */
	uint32_t *list, n_list, cap_list; /* prompts of the iteration; between iterations, prompts of the next one */
	double copy_s, copying_s;         /* swap time for which the next iteration waits, and for which the current one waited, s */
	double loaded_s;                  /* time at which the blocks of residents have been loaded (tiers.h); the next iteration waits */
	bool overlaps, has_tiers;         /* serve.kv_overlap; tiers.h */
	bool hands_off;                   /* requests leave at the end of their prompts (orr_serve.hand_off) */
	bool is_flying, is_cut;           /* an iteration is in flight; it is the last of its repetition */
	unsigned flags;                   /* enum orr_iter_flag */
	uint32_t flying;                  /* number of decodes in the iteration */
	uint32_t taken;                   /* number of blocks that the decodes took for the iteration */
	uint32_t late;                    /* number of decodes that joined since the start of the iteration */
	bool speculates;                  /* serve.draft_tokens > 0 */
	uint32_t drafts, reserved;        /* speculation: draft tokens per decode of the iteration; blocks reserved for them */
	uint64_t left;                    /* number of later iterations of the repetition */
	uint32_t keep_free;
	double network_bytes;  /* bytes that the iteration sends out of nodes */
	double start_s, end_s; /* start and end; end_s -1: no iteration yet */
	struct lane_series series;
	int64_t again_ns;            /* instant at which a repetition continued; -1: none */
	uint32_t n_plan, at_plan;    /* the iterations plan[at_plan .. n_plan - 1] follow the one in flight */
	uint32_t plan_most;          /* largest length of the next plan: doubled if one is completed, halved if one is cut */
	double plan[LANE_PLAN];      /* duration, s */
	struct eng_event event;      /* end of the last iteration of the plan, or of the one in flight */
	uint32_t incoming, outgoing; /* numbers of requests that move to the replica; away from it */
	uint32_t set_aside;          /* blocks for requests that move to the replica (serve.decode_admission) */
	double link_free_s;          /* serve.kv_link=fifo: end of the last transfer of the replica's link */
	struct stages *stages;       /* stages.h: pipeline with several micro-batches in flight; NULL: one iteration at a time */
};

/* Brings a lane with a plan to the present instant; lane_interrupt() also drops the rest of the plan (iterate.c). */
void lane_catch_up(struct orr_serve *w, struct lane *l);
void lane_interrupt(struct orr_serve *w, struct lane *l);
/* Makes the engine prefetch lanes before the ends of their iterations. */
void lanes_foresee(const struct orr_serve *w);

static inline uint64_t lane_next_clock(const struct lane *l)
{
	return l->clock + (l->is_flying && l->flying ? 1 : 0);
}
/* Returns the lane of a replica as it is now, for reading; NULL if it has none. */
static inline const struct lane *lane_seen(const struct orr_serve *w, uint32_t replica)
{
	struct lane *l = replica < w->n_replicas ? w->replica[replica].lane : NULL;
	if (l && l->at_plan < l->n_plan)
		lane_catch_up((struct orr_serve *)(uintptr_t)w, l); /* brings the lane to the state that readers expect */
	return l;
}
/* Returns the lane of a replica, for changes; NULL if it has none. */
static inline struct lane *lane_on(struct orr_serve *w, uint32_t replica)
{
	struct lane *l = replica < w->n_replicas ? w->replica[replica].lane : NULL;
	if (l && l->at_plan < l->n_plan)
		lane_interrupt(w, l);
	return l;
}
static inline struct lane *lane_of(struct orr_serve *w, const struct req *q)
{
	return lane_on(w, q->replica);
}
/* Returns whether the request is part of the running iteration. */
static inline bool lane_is_in_flight(const struct lane *l, const struct req *q)
{
	return l->is_flying && (q->next_tokens || (l->flying && q->heap_at != NONE && q->joined <= l->clock));
}

/* ---- prefix.c: blocks of prompts by hash ---- */
struct prefix *prefix_new(void);
void prefix_free(struct prefix *p);
#define PREFIX_NONE UINT32_MAX
uint32_t prefix_find(const struct prefix *p, uint64_t hash);
/* Like prefix_find(), faster if the hash was the last one added behind the entry (PREFIX_NONE: none). */
uint32_t prefix_after(const struct prefix *p, uint32_t entry, uint64_t hash);
/* Adds a user; returns true if the entry had no users. */
bool prefix_use(struct prefix *p, uint32_t entry);
/* Removes a user. Returns true if the entry has no users left; it is then dropped after all other such entries. */
bool prefix_leave(struct prefix *p, uint32_t entry);
bool prefix_is_used(const struct prefix *p, uint32_t entry);
/* Fetch memory ahead of time: for a find or an addition, first far ahead and then near; for prefix_leave(). A fleet's caches are larger
 * than the processor's. */
void prefix_expect(const struct prefix *p, uint64_t hash, bool is_near);
void prefix_expect_leave(const struct prefix *p, uint32_t entry);
enum { PREFIX_AHEAD = 8 }; /* number of hashes between the fetch and the use */
/* Adds an entry with one user behind the entry `after` (PREFIX_NONE: none) and returns it. The hash must be absent. */
uint32_t prefix_add(struct prefix *p, uint64_t hash, uint32_t after);
uint32_t prefix_unused(const struct prefix *p);
uint32_t prefix_used(const struct prefix *p);
/* Drops the least recently used entry without users; one must exist. Returns its hash and its number. */
uint64_t prefix_drop(struct prefix *p, uint32_t *entry);
/* Returns the number of leading hashes that are present. */
uint32_t prefix_run(const struct prefix *p, const uint64_t *hash, uint32_t n);

/* ---- decodes.c ---- */
void decodes_init(struct lane *l);
void decodes_free(struct lane *l);
void decodes_join(struct orr_serve *w, struct lane *l, struct req *q);
/* Settles q and removes it. */
void decodes_leave(struct orr_serve *w, struct lane *l, struct req *q);
/* Updates done, outputs and kv_held to the clock; a block taken for the running iteration is not counted yet. */
void decodes_settle(const struct lane *l, struct req *q);
/* Returns whether q, which is settled, took a block for the running iteration. */
bool decodes_took_in_flight(const struct lane *l, const struct req *q);
/* Returns the number of blocks that the iteration at the next clock takes. */
uint32_t decodes_need(struct orr_serve *w, struct lane *l);
/* Adds `more` blocks to q->kv_held. */
void decodes_hold(struct orr_serve *w, struct lane *l, struct req *q, uint32_t more);
/* Handles the end at end_s of the iteration in flight: advances clock, context and gaps. */
void decodes_advance(struct orr_serve *w, struct lane *l, double end_s);
/* Advances a settled decode by n further tokens of the iteration that has ended, and returns the number of blocks that it
 * holds for them, which the caller spends. */
uint32_t decodes_jump(struct orr_serve *w, struct lane *l, struct req *q, uint32_t n);
/* Returns the slot of a decode whose output is complete at the clock; NONE: no such decode. */
uint32_t decodes_ended(const struct lane *l);
/* Returns the violated law, or NULL. */
const char *decodes_check(const struct orr_serve *w, const struct lane *l);

/* ---- kv.c ---- */
/* Returns the number of blocks that hold the request's tokens, own and shared. */
static inline uint64_t kv_holds(const struct lane *l, const struct req *q)
{
	return (uint64_t)q->kv_held + (uint64_t)q->shared * l->hash_blocks;
}
static inline uint32_t kv_blocks_for(const struct lane *l, uint32_t tokens)
{
	return tokens / l->block_tokens + (tokens % l->block_tokens != 0);
}
/* Returns whether the tokens fit into the empty cache. */
static inline bool kv_can_hold(const struct lane *l, uint64_t tokens)
{
	return tokens <= (uint64_t)l->total * l->block_tokens;
}
/* Like orr_kv_can_hold(); fails the run with an error that names the function if it is false. */
bool kv_ever_holds(const struct orr_serve *w, uint32_t replica, const struct req *q);
bool kv_must_hold(struct orr_serve *w, uint32_t replica, const struct req *q, const char *what);
/* Returns the share of the blocks in use. */
static inline double kv_in_use(const struct lane *l)
{
	return (double)(l->total - l->avail) / l->total;
}
bool kv_open(struct orr_serve *w, struct lane *l, uint32_t deployment, struct orr_error *err);
/* Takes blocks for a waiting request; returns false if too few are free. A request without progress gets its cached blocks, and loads those
 * of tiers.h. */
bool kv_take(struct orr_serve *w, struct lane *l, struct req *q, uint32_t tokens, uint32_t keep_free);
/* Counts the use of the cache until at_s. Must be called before avail changes at that time. */
static inline void kv_count(struct lane *l, double at_s)
{
	l->use_s += (double)(l->total - l->avail) * (at_s - l->counted_s);
	l->counted_s = at_s;
}
/* Returns the time integral of the share of the blocks in use, until at_s. */
static inline double kv_use_s(const struct lane *l, double at_s)
{
	return (l->use_s + (double)(l->total - l->avail) * (at_s - l->counted_s)) / l->total;
}
/* Takes n blocks (avail >= n) at at_s, or now. */
void kv_spend_at(struct orr_serve *w, struct lane *l, uint32_t n, double at_s);
static inline void kv_spend(struct orr_serve *w, struct lane *l, uint32_t n)
{
	kv_spend_at(w, l, n, w->now_s);
}
/* Frees n blocks now. */
static inline void kv_free(const struct orr_serve *w, struct lane *l, uint32_t n)
{
	kv_count(l, w->now_s);
	l->avail += n;
}
/* Returns the number of leading hashes of the prompt that may be shared: at least one token remains to be processed. */
uint32_t kv_sharable(const struct lane *l, const struct req *q);
/*
 * Returns the share of a cache, of whole_s, that remains to be sent when the last iteration of its prompt, of prompt_s, has ended. With
 * serve.kv_overlap each layer is sent as soon as it is computed; L equal layers take whole_s in total. The last layer arrives
 * at prompt_s / L + (L - 1) max(prompt_s, whole_s) / L + whole_s / L. A cache that is loaded layer by layer delays the iteration that
 * reads it by the same share.
 */
static inline double kv_part_left(double whole_s, double prompt_s, uint32_t layers)
{
	if (layers < 2 || !(whole_s > 0))
		return 1;
	double n = layers;
	return whole_s <= prompt_s ? 1 / n : (whole_s - prompt_s * (n - 1) / n) / whole_s;
}
/* Returns the time by which loads delay an iteration of d seconds that starts at start_s. */
static inline double kv_load_wait_s(const struct lane *l, double start_s, double d)
{
	double left = l->loaded_s - start_s;
	return left > 0 ? left * (l->overlaps ? kv_part_left(left, d, l->model->layers) : 1) : 0;
}
void kv_give(struct orr_serve *w, struct lane *l, struct req *q);
/* Sets n blocks aside for a request that moves to the lane (serve.decode_admission=reserve); kv_unreserve() frees them. */
void kv_reserve(struct orr_serve *w, struct lane *l, struct req *q, uint32_t n);
static inline void kv_unreserve(struct orr_serve *w, struct req *q)
{
	struct lane *l = q->set_aside && q->kv_at < w->n_replicas ? w->replica[q->kv_at].lane : NULL;
	if (l) {
		kv_free(w, l, q->set_aside);
		l->set_aside -= q->set_aside;
		w->blocks_freed = true;
	}
	q->set_aside = 0;
}
/* Adds hashes [0, n) of the request to the cache as blocks without users, as far as there is room; hashes that are present stay. */
void kv_insert(struct orr_serve *w, struct lane *l, const struct req *q, uint32_t n);
/* Moves whole blocks of the processed prompt to the cache. */
void kv_publish(struct orr_serve *w, struct lane *l, struct req *q);
/* Returns the violated law, or NULL. moving: number of own blocks of requests that move away. */
const char *kv_check(const struct orr_serve *w, const struct lane *l, uint64_t moving);

/* ---- lane.c ---- */
struct lane *lane_new(struct orr_serve *w, uint32_t replica, struct orr_error *err);
/* Frees what the lane holds; its own memory is that of its replica. */
void lane_free(struct lane *l);
/* Frees the times of iterations that replicas share. */
void lanes_free_times(struct orr_serve *w);
/* Returns the replica's lane. If it has none, fails the run with an error that names the function, and returns NULL. */
struct lane *lane_at(struct orr_serve *w, uint32_t replica, const char *what);
/* Like req_actor(), for a request on a replica with a lane. */
struct req *lane_actor(struct orr_serve *w, orr_req r, enum orr_req_state state, const char *what);
/* Removes a resident from decodes, list and residents; it still holds its blocks. */
void lane_depart(struct orr_serve *w, struct lane *l, struct req *q);
/* Counts the bytes that an iteration sends out of nodes. */
void lane_count_messages(struct orr_serve *w, struct lane *l, const struct llm_load *x);
/* Settles a request that may be decoding. */
void lane_settle(const struct orr_serve *w, struct req *q);

/* ---- iterate.c ---- */
/* Handles the arrival of a request at the replica: the running iteration is the last of its repetition, unless ORR_ITER_THROUGH. */
void lane_arrival(struct orr_serve *w, uint32_t replica);
/* Like lane_arrival(), for a timer or orr_wake(), regardless of the flags. */
void lane_wake(struct orr_serve *w, uint32_t replica);
/* Handles the loss of the replica: the running iteration ends without a result. */
void lane_abandon(struct orr_serve *w, struct lane *l);

/* ---- move.c ---- */
void moves_free(struct orr_serve *w);
bool moves_hand_off(struct orr_serve *w, struct lane *l, struct req *q);
/* Returns the number of own blocks of requests that move away from the replica. */
uint64_t moves_held(const struct orr_serve *w, uint32_t replica);
/* Returns the next request that moves to the replica, starting the search at transfer *at; NULL: none. */
struct req *moves_to(const struct orr_serve *w, uint32_t replica, uint32_t *at);
/* Returns the number of requests that wait on a prefill replica for a decode replica with room (serve.decode_admission=reserve). */
uint32_t moves_pending(const struct orr_serve *w);
/* Sends those for which there is room now. Call it after blocks were freed, or replicas changed (orr_serve.blocks_freed). */
void moves_retry(struct orr_serve *w);
/* Cancels the transfer of a moving request, which then waits. */
void moves_drop(struct orr_serve *w, struct req *q);

#endif
