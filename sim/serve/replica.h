/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replica.h - a replica, its load, and the groups that requests are routed to (load.c)
 *
 * Invariants: a replica is a member of its group exactly when new requests may go to it (up, not draining, not for decoding
 * alone). The members of a group are sorted by number. In a group's tree, tree[1] is the member with the smallest
 * load (the first on ties), and tree[i] is the better of tree[2i] and tree[2i+1]. The tree holds copies of the loads, so every change of a
 * load ends in a call of update().
 */
#ifndef ORR_SERVE_REPLICA_H
#define ORR_SERVE_REPLICA_H

#include "base/bitset.h"
#include "serve/world.h"

struct lane; /* lane.h */

/* A list of runs, by slot, and their number. */
struct run_list {
	uint32_t first, last, n;
};

enum replica_state { REPLICA_OFF, REPLICA_STARTING, REPLICA_UP, REPLICA_DRAINING };
struct replica {
	uint8_t state;
	enum orr_replica_role role;
	bool is_dirty;              /* schedule() is due */
	uint32_t deployment, model; /* model NONE: any */
	uint32_t gpus, node, gpu_type;
	bool has_alloc;
	struct pool_alloc alloc;
	struct eng_event ready; /* starting */
	double up_since_s, busy_since_s;
	/* sums over the run */
	double busy_s, up_s, gpu_s, usd, kv_use_s; /* kv_use_s: time integral of the share of the KV cache in use */
	uint64_t completed;
	/* live requests routed to the replica */
	uint32_t routed, first_on; /* number of these requests, and the first of their list, in any order (on_next) */
	uint32_t n_waiting;        /* number of these requests that wait */
	/* batches */
	uint32_t n_runs, n_reserved;
	struct run_list later;                  /* list of runs in later pipeline stages */
	double later_until_s;                   /* end of the last run of this list so far */
	struct run_list runs, sending, waiting; /* runs that hold the replica; queued: input in flight; input received */
	double memory, weights;                 /* memory: capacity, bytes; weights: bytes of the loaded models */
	double *loaded_s;                       /* time at which each model is or will be loaded; NAN: not loaded */
	struct lane *lane;                      /* lane of a language model; NULL: none */
};

static inline bool replica_is_up(const struct replica *r)
{
	return r->state == REPLICA_UP || r->state == REPLICA_DRAINING;
}

/* Returns the time that the replica has been up so far. */
static inline double replica_up_s(const struct orr_serve *w, const struct replica *r)
{
	return r->up_s + (replica_is_up(r) ? w->now_s - r->up_since_s : 0);
}

/* Returns the model with its table on the devices of the replica. */
static inline const struct served *served_at(const struct orr_serve *w, uint32_t replica, uint32_t model)
{
	const struct serve_config *c = w->config;
	const struct replica *r = &w->replica[replica];
	if (!c->placed || r->gpu_type >= c->cluster->n_types)
		return c->model[model];
	const struct served *m = c->placed[((size_t)r->deployment * c->cluster->n_types + r->gpu_type) * c->n_models + model];
	return m ? m : c->model[model];
}

/* A replica and its load; NONE has the largest load. */
struct group_winner {
	uint64_t load;
	uint32_t replica;
};

/* Replicas that serve one model only; the last group: those that serve any model. */
struct group {
	uint32_t *member, n, cap; /* members, ascending */
	uint32_t from, to;        /* the group's replicas, members or not, are in [from, to) */
	uint32_t size;
	struct group_winner *tree; /* winners by load among members; leaf size + i: replica from + i, or NONE */
	/* One member for each different time of iterations; not known after a change of the members. */
	uint32_t *kind, n_kinds, cap_kinds;
	bool kinds_known;
};

void groups_begin(struct orr_serve *w);
void groups_free(struct orr_serve *w);
void group_add(struct orr_serve *w, uint32_t replica);
void group_remove(struct orr_serve *w, uint32_t replica);
/* Returns the number of group members whose index is below `replica`. */
uint32_t group_rank(const struct group *g, uint32_t replica);
/* Returns members among which each member has one with equal times of iterations (language models). */
const uint32_t *group_kinds(const struct orr_serve *w, struct group *g, uint32_t *n);
/* Return the number of replicas to which new requests for the model may go; the i-th of these replicas, those of the model's own group
 * first. */
uint32_t group_count(const struct orr_serve *w, uint32_t model);
uint32_t group_nth(const struct orr_serve *w, uint32_t model, uint64_t i);

/* Returns the load that the trees compare (orr_router_load()). */
uint64_t replica_load(const struct orr_serve *w, uint32_t replica);
/* Returns the candidate with the smallest load; NONE: no candidate. */
uint32_t group_least(const struct orr_serve *w, uint32_t model);
/* Finds the winners of all trees again, for another load. */
void groups_compare(struct orr_serve *w);
/* Count a request that begins, or ceases, to wait, on its replica too. Call them where the state changes. */
void req_waits(struct orr_serve *w, const struct req *q);
void req_waits_no_more(struct orr_serve *w, const struct req *q);
/* Routes the request to the replica; NONE: removes it from its replica. */
void req_set_replica(struct orr_serve *w, struct req *q, uint32_t replica);
/* Counts a request whose q->replica has changed from `from`. */
void replica_count(struct orr_serve *w, struct req *q, uint32_t from);
/* Updates the idle set and the busy time. */
void replica_set_busy(struct orr_serve *w, uint32_t replica, bool is_busy);
/* Schedules fleet.on_empty for a draining replica that has no request and runs nothing. */
void replica_leave_if_empty(struct orr_serve *w, uint32_t replica);

#endif
