/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fleet.h - replicas as a fleet: who may get requests, how many there should be (replicas.c, route.c, scale.c)
 *
 * A deployment has a fixed range of slots of w->replica, as many as it may ever have replicas (twice as many where nodes
 * give notice); a slot that is off has no GPUs. Invariants: a replica is a member of its group exactly when new requests
 * may go to it (up, not draining, not for decoding alone); members of a group are in order of their numbers; in a group's tree, tree[1] is
 * the place of the member with the least load (on ties the first), and tree[i] the better of tree[2i] and tree[2i+1].
 */
#ifndef ORR_SERVE_FLEET_H
#define ORR_SERVE_FLEET_H

#include "serve/world.h"

enum autoscale { AUTOSCALE_NONE, AUTOSCALE_OUTSTANDING, AUTOSCALE_RATE };

/* Replicas that serve one model alone; the last group: those that serve any. */
struct group {
	uint32_t *member, n;
	uint32_t *tree, size; /* size: leaves, a power of two */
};

/* What a replica has beside struct replica. */
struct fleet_replica {
	uint32_t place;       /* in its group; NONE: not a member */
	uint64_t outstanding; /* tokens of the requests routed to it */
	double taken_s;       /* its GPUs */
	bool is_doomed;       /* drains because its node will go: does not come back */
	bool is_busy;
	bool leave_is_due; /* an event will see whether it is empty */
};

/* A deployment. */
struct fleet_part {
	uint32_t first, slots; /* of w->replica */
	uint32_t least, most;
	uint32_t model; /* NONE: any */
	bool is_scaled;
	uint32_t wanted;
	uint64_t came; /* requests routed to it since the last tick */
	/* Recommendations of the last ticks, for scaling down. */
	uint32_t *asked, n_asked, next_asked, cap_asked;
	double kv_tokens; /* the most that a replica of it ever held; NAN: none was there */
};

struct fleet_news {
	uint32_t replica;
	enum orr_replica_event event;
};

struct fleet {
	/* options */
	enum autoscale autoscale;
	double scale_target;
	int64_t scale_interval, scale_quiet, start_up, notice;

	struct group *group;        /* [n_models + 1] */
	uint32_t *turn;             /* [n_models]: round robin goes on from this replica */
	struct fleet_replica *more; /* [n_replicas] */
	struct fleet_part *part;    /* [n_deployments] */
	orr_req *held;              /* no replica serves their model now; in order of coming */
	uint32_t n_held, cap_held;
	uint64_t routed; /* live requests that are on a replica */
	orr_req *thrown; /* were on replicas that have gone; not placed yet */
	uint32_t n_thrown, cap_thrown;
	struct fleet_news *news;
	uint32_t n_news, news_told, cap_news;
	struct pool_alloc *limbo; /* GPUs of nodes that are about to go, kept out of the pool until then */
	uint32_t n_limbo, cap_limbo;
	struct bitset doomed; /* nodes */
	uint32_t *notices;    /* [node] announced and not come yet */
	struct failure_run *failures;
	uint64_t nodes_down; /* or about to go */
	int64_t row_ns;      /* of the failure or repair that becomes known next */
	uint64_t rows_ahead; /* those that are known and have not happened */
	bool failure_pending, tick_pending, wants_more;
	struct eng_event refill;             /* on a clock that is not its own: replicas that were lost start elsewhere */
	uint64_t same_ticks, longest_window; /* ticks that changed nothing, in a row */
	uint64_t scale_ups, scale_downs, losses;
};

/* ---- replicas.c ---- */
/* Off -> starting, or up at once if delay_ns is 0. False: no GPUs now. */
bool replica_start(struct orr_serve *w, uint32_t replica, int64_t delay_ns);
/* From now on draining: no new requests. */
void replica_close(struct orr_serve *w, uint32_t replica);
/* The same, told to the policy; leaves when it is empty. */
void replica_drain(struct orr_serve *w, uint32_t replica, bool is_doomed);
/* A draining one is taken back. */
void replica_undrain(struct orr_serve *w, uint32_t replica);
/* Gone now; what it has waits until fleet_place_thrown(). Its GPUs go to the pool, or are kept if their node is about to go. */
void replica_leave(struct orr_serve *w, uint32_t replica);
/* The request has been thrown off; it is on no replica now. */
void fleet_thrown(struct orr_serve *w, struct req *q);
/* What was on replicas that have gone is given to others, once all that go together have gone. */
void fleet_place_thrown(struct orr_serve *w);
bool replica_is_on(const struct orr_serve *w, uint32_t replica, uint32_t node);
void fleet_release_held(struct orr_serve *w);

/* ---- route.c ---- */
void group_add(struct orr_serve *w, uint32_t replica);
void group_remove(struct orr_serve *w, uint32_t replica);
void group_update(struct orr_serve *w, uint32_t replica);        /* its load has changed */
uint32_t group_count(const struct orr_serve *w, uint32_t model); /* replicas that new requests for it may go to */
void routes_begin(struct orr_serve *w);
void routes_free(struct orr_serve *w);

/* ---- clients.c ---- */
void clients_arrived(struct orr_serve *w, const struct req *q);

/* ---- metrics.c ---- */
void serve_metrics_fleet(struct orr_serve *w, int64_t busy_gpus, int64_t up_gpus); /* changes now */
void serve_metrics_node(struct orr_serve *w, const char *kind, uint32_t node);

/* ---- scale.c ---- */
void scale_begin(struct orr_serve *w);
void scale_free(struct orr_serve *w);
void scale_fill(struct orr_serve *w); /* starts what is wanted and not there */
void scale_give(struct orr_serve *w, struct pool_alloc *a);

#endif
