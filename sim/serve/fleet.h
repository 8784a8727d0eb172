/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fleet.h - the fleet of replicas: their GPUs (gpus.c), life (replicas.c) and number (scale.c)
 *
 * A deployment has a fixed range of slots of w->replica: its largest number of replicas, twice that number if nodes are given
 * notice. A slot that is off has no GPUs.
 */
#ifndef ORR_SERVE_FLEET_H
#define ORR_SERVE_FLEET_H

#include "serve/replica.h"

enum autoscale { AUTOSCALE_NONE, AUTOSCALE_OUTSTANDING, AUTOSCALE_RATE };

/* Why a replica stops, in increasing precedence: a replica that drains keeps the greater reason. */
enum replica_stop { STOP_SCALED = 1, STOP_NOTICE, STOP_FAILED, STOP_OVER };

/* State of a replica in addition to struct replica. */
struct fleet_replica {
	bool is_member;       /* the replica is a member of its group */
	uint64_t outstanding; /* number of tokens of the requests routed to it */
	double taken_s;       /* time at which the replica took its GPUs */
	bool is_doomed;       /* the replica drains because its node was given notice, and is never reactivated */
	bool is_busy;
	bool leave_is_due; /* on_empty is scheduled */
	size_t row;        /* number of its row of the result + 1; 0: none */
	uint8_t why;       /* enum replica_stop: why the replica drains or leaves; 0: it does neither */
};

/* A deployment. */
struct fleet_part {
	uint32_t first, slots; /* range of w->replica */
	uint32_t least, most;
	uint32_t model; /* NONE: any */
	bool is_scaled;
	uint32_t wanted, present; /* present: replicas that start or are up */
	uint64_t came;            /* number of requests routed to the deployment since the last tick */
	/* Required numbers of replicas at the last ticks, for decisions to remove replicas. */
	uint32_t *asked, n_asked, next_asked, cap_asked;
	uint32_t window, plain_window; /* number of ticks in serve.scale_quiet, and in the default of this option */
	double kv_tokens;              /* largest KV cache of its replicas so far; NAN: none yet */
};

struct fleet {
	/* options */
	enum autoscale autoscale;
	double scale_target;
	int64_t scale_interval, scale_quiet, start_up, notice;

	struct group *group;        /* groups by model, [n_models + 1] */
	uint32_t *turn;             /* replica at which round robin continues, by model */
	struct fleet_replica *more; /* [n_replicas] */
	struct bitset off;          /* replicas that are off */
	struct bitset revivable;    /* replicas that drain and may be reactivated */
	size_t cap_rows;            /* capacity of the result's rows of replicas */
	struct fleet_part *part;    /* [n_deployments] */
	orr_req *held;              /* requests that no replica serves now, in order of arrival */
	uint32_t n_held, cap_held;
	uint64_t routed;    /* number of live requests that are on a replica */
	uint64_t *unrouted; /* numbers of the other live requests, by model */
	orr_req *thrown;    /* requests of lost replicas that are not routed again yet */
	uint32_t n_thrown, cap_thrown;
	eng_fn on_empty;          /* event for an empty draining replica; set by scale.c */
	struct pool_alloc *limbo; /* GPUs of nodes given notice, withheld from the pool */
	uint32_t n_limbo, cap_limbo;
	struct bitset doomed; /* nodes given notice */
	uint32_t *notices;    /* by node: number of notices whose failures are still to happen */
	struct failure_run *failures;
	uint64_t nodes_down; /* number of nodes that are down or were given notice */
	int64_t row_ns;      /* time of the next failure or repair to become known */
	uint64_t rows_ahead; /* number of failures and repairs that are known and have not happened */
	bool failure_pending, tick_pending, wants_more;
	bool role_pending;                   /* the next decision of roles.c is scheduled */
	struct eng_event refill;             /* shared clock: event that starts replacements for lost replicas */
	uint64_t same_ticks, longest_window; /* number of consecutive ticks without a change */
	uint64_t scale_ups, scale_downs, losses;
	uint64_t at_once;                        /* number of replicas that were added after the start and served without a time to start */
	uint64_t failures_in_vain, ended_before; /* number of node failures since a request last ended; number of ended requests at
						  * that time */
};

/* ---- gpus.c ---- */
/* Takes GPUs for a replica; returns false if none are free now. */
bool gpus_take(struct orr_serve *w, uint32_t replica);
/* Releases the GPUs of a replica and accounts for their time and cost. GPUs of nodes given notice are kept out of the pool. */
void gpus_give(struct orr_serve *w, uint32_t replica);
/* Takes the free GPUs of a node out of the pool until gpus_release(). */
void gpus_withhold(struct orr_serve *w, uint32_t node);
/* Returns withheld GPUs to the pool, then withholds the free GPUs of the nodes that are still given notice. */
void gpus_release(struct orr_serve *w);
bool replica_is_on(const struct orr_serve *w, uint32_t replica, uint32_t node);

/* ---- replicas.c ---- */
void replicas_begin(struct orr_serve *w);
void replicas_free(struct orr_serve *w);
/* Changes a replica from off to starting, or to up if delay_ns is 0. Returns false if no GPUs are free now. */
bool replica_start(struct orr_serve *w, uint32_t replica, int64_t delay_ns);
/* Records the reason why the replica will stop. */
void replica_stops(struct orr_serve *w, uint32_t replica, enum replica_stop why);
/* Drains the replica without notifying the policy: it accepts no new requests. */
void replica_close(struct orr_serve *w, uint32_t replica);
/* Drains the replica and notifies the policy. Removes it if it is empty. */
void replica_drain(struct orr_serve *w, uint32_t replica, bool is_doomed);
/* Reactivates a draining replica. */
void replica_undrain(struct orr_serve *w, uint32_t replica);
/* Removes the replica now; its requests wait for replicas_place_thrown(). */
void replica_leave(struct orr_serve *w, uint32_t replica);
/* Routes the requests of lost replicas again, after all replicas that are lost at the same time have left. */
void replicas_place_thrown(struct orr_serve *w);

/* ---- roles.c ---- */
void roles_begin(struct orr_serve *w);
/* Returns the number of pending decisions on roles, 0 or 1, that cannot help a request. */
uint64_t roles_background(const struct orr_serve *w);

/* ---- scale.c ---- */
void scale_begin(struct orr_serve *w);
void scale_free(struct orr_serve *w);

#endif
