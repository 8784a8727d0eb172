/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fleet.h - the fleet of replicas: their GPUs (gpus.c), life (replicas.c) and number (scale.c)
 *
 * A deployment has a fixed range of slots of w->replica, as many as it may ever have replicas (twice as many if nodes give
 * notice). A slot that is off has no GPUs.
 */
#ifndef ORR_SERVE_FLEET_H
#define ORR_SERVE_FLEET_H

#include "serve/replica.h"

enum autoscale { AUTOSCALE_NONE, AUTOSCALE_OUTSTANDING, AUTOSCALE_RATE };

/* Why a replica stops, by increasing weight: a replica that drains keeps the greater reason. */
enum replica_stop { STOP_SCALED = 1, STOP_NOTICE, STOP_FAILED, STOP_OVER };

/* State of a replica beside struct replica. */
struct fleet_replica {
	uint32_t place;       /* index in its group; NONE: not a member */
	uint64_t outstanding; /* tokens of the requests routed to it */
	double taken_s;       /* when it took its GPUs */
	bool is_doomed;       /* drains because its node was given notice: is never reactivated */
	bool is_busy;
	bool leave_is_due; /* on_empty is scheduled */
	size_t row;        /* 1 + its row of the result; 0: none */
	uint8_t why;       /* enum replica_stop, of a replica that drains or leaves; 0: none */
};

/* A deployment. */
struct fleet_part {
	uint32_t first, slots; /* of w->replica */
	uint32_t least, most;
	uint32_t model; /* NONE: any */
	bool is_scaled;
	uint32_t wanted;
	uint64_t came; /* requests routed to the deployment since the last tick */
	/* Recommendations of the last ticks, for scaling down. */
	uint32_t *asked, n_asked, next_asked, cap_asked;
	uint32_t window, plain_window; /* ticks of serve.scale_quiet, and of its default */
	double kv_tokens;              /* largest KV cache of its replicas so far; NAN: there was none yet */
};

struct fleet {
	/* options */
	enum autoscale autoscale;
	double scale_target;
	int64_t scale_interval, scale_quiet, start_up, notice;

	struct group *group;        /* [n_models + 1] */
	uint32_t *turn;             /* [n_models] replica at which round robin continues */
	struct fleet_replica *more; /* [n_replicas] */
	size_t cap_rows;            /* of the result's replicas */
	struct fleet_part *part;    /* [n_deployments] */
	orr_req *held;              /* requests that no replica serves now, in order of arrival */
	uint32_t n_held, cap_held;
	uint64_t routed; /* live requests that are on a replica */
	orr_req *thrown; /* requests of replicas that are lost, not routed again yet */
	uint32_t n_thrown, cap_thrown;
	eng_fn on_empty;          /* event: a draining replica is empty; set by scale.c */
	struct pool_alloc *limbo; /* GPUs of nodes given notice, kept out of the pool */
	uint32_t n_limbo, cap_limbo;
	struct bitset doomed; /* nodes given notice */
	uint32_t *notices;    /* [node] notices whose failure has not happened yet */
	struct failure_run *failures;
	uint64_t nodes_down; /* or given notice */
	int64_t row_ns;      /* time of the failure or repair that becomes known next */
	uint64_t rows_ahead; /* failures and repairs that are known and have not happened */
	bool failure_pending, tick_pending, wants_more;
	struct eng_event refill;             /* shared clock: starts replacements for lost replicas */
	uint64_t same_ticks, longest_window; /* consecutive ticks that changed nothing */
	uint64_t scale_ups, scale_downs, losses;
	uint64_t failures_in_vain, ended_before; /* node failures since a request last ended; number of ended requests then */
};

/* ---- gpus.c ---- */
/* Takes GPUs for a replica; false: none are free now. */
bool gpus_take(struct orr_serve *w, uint32_t replica);
/* Releases them and accounts for GPU time and cost. GPUs of nodes given notice are kept out of the pool. */
void gpus_give(struct orr_serve *w, uint32_t replica);
/* Takes the free GPUs of a node out of the pool until gpus_release(). */
void gpus_withhold(struct orr_serve *w, uint32_t node);
/* Returns withheld GPUs to the pool, then withholds the free GPUs of the nodes that are still given notice. */
void gpus_release(struct orr_serve *w);
bool replica_is_on(const struct orr_serve *w, uint32_t replica, uint32_t node);

/* ---- replicas.c ---- */
void replicas_begin(struct orr_serve *w);
void replicas_free(struct orr_serve *w);
/* Changes a replica from off to starting, or to up if delay_ns is 0. False: no GPUs are free now. */
bool replica_start(struct orr_serve *w, uint32_t replica, int64_t delay_ns);
/* Notes why the replica will stop. */
void replica_stops(struct orr_serve *w, uint32_t replica, enum replica_stop why);
/* Drains it without telling the policy: it takes no new requests. */
void replica_close(struct orr_serve *w, uint32_t replica);
/* Drains the replica and notifies the policy; an empty replica is removed. */
void replica_drain(struct orr_serve *w, uint32_t replica, bool is_doomed);
/* Reactivates a draining replica. */
void replica_undrain(struct orr_serve *w, uint32_t replica);
/* Removes it now; its requests wait for replicas_place_thrown(). */
void replica_leave(struct orr_serve *w, uint32_t replica);
/* Routes the requests of lost replicas again, after all replicas that are lost together have left. */
void replicas_place_thrown(struct orr_serve *w);

/* ---- scale.c ---- */
void scale_begin(struct orr_serve *w);
void scale_free(struct orr_serve *w);

#endif
