/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replay_state.h - the state of a replay: ranks, collectives, messages
 *
 * Files, bottom first: replay_state.c (errors), replay_plan.c (steps of a collective), replay_net.c (messages on links), replay_coll.c
 * (collectives), replay.c (nodes).
 */
#ifndef ORR_STEP_REPLAY_STATE_H
#define ORR_STEP_REPLAY_STATE_H

#include "engine/engine.h"
#include "step/replay.h"

/* ---- the steps of a collective (replay_plan.c) ---- */

/* A collective is cut into chunks; each chunk is a sequence of steps, in which every member sends messages of one size and waits for the
 * same number of messages. */
struct replay_plan {
	const struct replay_config *c;
	enum astra_collective op;
	enum astra_algorithm algorithm;
	uint32_t n; /* members */
	uint64_t bytes, chunk_bytes;
	uint32_t chunks, steps;
};
struct replay_step {
	uint64_t bytes;    /* bytes of a message */
	int64_t reduce_ns; /* reduction after the step */
	uint32_t peers;    /* number of messages that each member sends and receives */
	uint32_t distance; /* halving-doubling: the partner of member i is i ^ distance */
};
/* Makes the plan of a collective. Returns NULL, or the requirement of the algorithm that is not met, for a message. */
const char *replay_plan_new(const struct replay_config *c, enum astra_collective op, uint64_t bytes, uint32_t n, struct replay_plan *out);
struct replay_step replay_plan_step(const struct replay_plan *p, uint32_t chunk, uint32_t step);
/* Returns the receiver of message `which` of member i. */
uint32_t replay_plan_peer(const struct replay_plan *p, const struct replay_step *s, uint32_t i, uint32_t which);

/* ---- messages ---- */

struct replay;
/* A message in flight. */
struct message {
	uint64_t bytes;
	uint32_t from, to;    /* ranks */
	uint32_t at;          /* congestion-aware: the rank reached so far, or the switch (n_ranks) */
	uint32_t instance;    /* collective; UINT32_MAX: of a send node */
	uint32_t member;      /* collective: the receiver */
	uint32_t chunk, step; /* collective; a send node: the node in chunk */
	uint32_t next;        /* free list */
};

/* One chunk of a collective on one member, by messages. */
struct progress {
	uint32_t step;
	bool has_sent; /* the messages of the step */
};

/* A collective that some members have begun. */
struct instance {
	struct replay_plan plan;
	uint32_t group, begun, ended;
	uint64_t number; /* number of collectives of the group */
	uint8_t type;    /* enum chakra_collective */
	uint64_t bytes;
	uint32_t first_rank; /* the rank that began first, for messages */
	uint32_t first_node;
	int64_t *start; /* by member; -1: not begun */
	uint32_t *node; /* by member */
	/* By messages. */
	struct progress *progress;   /* [member * chunks + chunk] */
	uint32_t *arrived;           /* [(member * chunks + chunk) * steps + step] */
	uint32_t *next_chunk, *left; /* by member: first chunk not begun; number of chunks not ended */
	size_t cap, cap_progress, cap_arrived;
	uint32_t next_free;
};

struct group_state {
	uint32_t *open; /* ring of instances, by number modulo cap */
	uint64_t first, last;
	uint32_t cap;
};

/* Position of a rank in a group. */
struct membership {
	uint32_t group, position;
	uint64_t issued; /* number of collectives that the rank has begun in the group */
};

/* Slots from SLOT_STREAM on belong to streams (attribute orrery_slot). */
enum slot { SLOT_HOST, SLOT_COMPUTE, SLOT_COMM, SLOT_NONE, SLOT_STREAM, SLOTS = SLOT_STREAM + CHAKRA_STREAMS };
struct ready {
	uint32_t *node; /* heap of indices */
	uint32_t n, cap;
};
struct rank_state {
	const struct chakra_rank *trace;
	struct replay_rank *result;
	uint32_t *waits; /* by node: dependencies that have not ended */
	int slots;       /* used: SLOT_STREAM or SLOTS */
	struct ready ready[SLOTS];
	bool is_busy[SLOTS];
	uint32_t *freed; /* nodes that became ready during a pass */
	uint32_t n_freed, cap_freed;
	uint32_t in_flight, ended;
	bool in_pass;
	struct membership *member; /* by ascending group */
	uint32_t n_members;
};

/* Messages and receives with the same tag, source, destination and size. */
struct channel {
	uint64_t bytes;
	uint32_t from, to, tag;
	bool is_used;
	uint32_t first, last; /* entries of the pool, UINT32_MAX: none */
	bool has_receives;    /* the entries are receives that wait; else messages that wait */
};
struct entry {
	uint32_t node, next;
};

struct replay {
	const struct replay_config *c;
	struct engine *engine;
	struct orr_error err;
	bool by_messages;
	uint32_t n_ranks;
	struct rank_state *rank;
	struct group_state *group;
	struct instance *instance;
	uint32_t n_instances, cap_instances, free_instance;
	struct message *message;
	uint32_t n_messages, cap_messages, free_message;
	struct channel *channel; /* hash table */
	uint32_t n_channels, n_slots;
	struct entry *entry;
	uint32_t n_entries, cap_entries, free_entry;
	int64_t *link_free; /* congestion-aware: by link */
	int64_t *time;      /* scratch of collectives */
	size_t cap_time;
	struct replay_result *result;
	eng_fn node_ends; /* subject: rank; arg: node */
	void (*node_arrived)(struct replay *r, const struct message *m);
	void (*coll_arrived)(struct replay *r, const struct message *m);
};

#define REPLAY_NONE UINT32_MAX
/* Latest time of an event. */
#define REPLAY_END (INT64_C(1) << 62)

/* ---- replay_state.c ---- */
/* Fails the run with the file, the rank and the node. Later errors are ignored. */
void replay_fail(struct replay *r, uint32_t rank, uint32_t node, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Schedules the end of a node. */
void replay_end_at(struct replay *r, int64_t t_ns, uint32_t rank, uint32_t node);

/* ---- replay_net.c ---- */
/* Returns the time of a message without congestion, ns. */
int64_t net_time(const struct replay *r, uint32_t from, uint32_t to, uint64_t bytes);
void net_begin(struct replay *r);
void net_end(struct replay *r);
/* Sends a message now. When it arrives, it is freed and r->node_arrived or r->coll_arrived is called. */
struct message *net_new(struct replay *r, uint32_t from, uint32_t to, uint64_t bytes);
void net_send(struct replay *r, struct message *m);
void net_arrive(struct replay *r, struct message *m); /* like net_send(), for a message that takes no time */

/* ---- replay_coll.c ---- */
void coll_begin(struct replay *r);
void coll_free(struct replay *r);
/* The rank begins the collective of the node now. */
void coll_issue(struct replay *r, uint32_t rank, uint32_t node);
/* Fails a run that is stuck: names the rank that a collective waits for. */
void coll_stuck(struct replay *r, uint32_t rank, uint32_t node);

#endif
