/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * world.h - the state of one run of the serving world; errors and time (world.c)
 *
 * Files of this folder, bottom first; sources.mk lists them in this order, and a file calls only files before it:
 *
 *   options.c                 options of `--set serve.NAME=VALUE`
 *   world.c, router.c, due.c  errors, time; the router (--router); calls of the policy that are due in this instant
 *   metrics.c, guard.c        counts during the run; --check of policies that claim ORR_SLO_GUARDED
 *   times.c, explain.c        where the time of each request went (--record explain)
 *   load.c .. requests.c      load of replicas and their groups; answers; requests: slots, lists, end
 *   memory.c .. late.c        batches of table models (runs.h, memory.h)
 *   prefix.c .. move.c        iterations of language models (lane.h); tiers of KV caches (tiers.h)
 *   route.c, copy.c, admit.c  routing, copies of prefixes, and admission
 *   gpus.c, replicas.c, roles.c, scale.c  the fleet: GPUs, life of a replica, changes of roles, autoscaling and failures (fleet.h)
 *   actions.c, clients.c      actions on waiting requests; closed-loop clients
 *   measures.c, remarks.c, query.c, check.c  results; the public functions that only read; conservation laws
 *   dispatch.c, serve.c       calls of the policy within an instant; begin, loop, end of a run
 *
 * Invariants: a request slot is live from arrival to the end of the instant in which the request ended; its generation grows
 * each time the slot is reused. A request is in one state (enum orr_req_state). Each replica has its own time as a double,
 * which is rounded to ns for the engine. Within an instant now_s is exact: the latest event time of that ns.
 */
#ifndef ORR_SERVE_WORLD_H
#define ORR_SERVE_WORLD_H

#include "base/rng.h"
#include "engine/engine.h"
#include "engine/watch.h"
#include "serve/options.h"
#include "serve/serve.h"

#define NONE UINT32_MAX
enum { PRIO_RUN_END, PRIO_REPLICA, PRIO_MOVE, PRIO_ARRIVAL, PRIO_TIMER, PRIO_UNTIL };

struct answer;
struct explain;
struct front;
struct lane;
struct req;
struct run;
struct replica;
struct router;
struct served_on;
struct tiers;

/* A replica() call that is due. */
struct due_event {
	uint32_t replica;
	enum orr_replica_event event;
};

/* A series of orr_serve_observe(). */
struct observed {
	char *name;
	double sum;
	uint64_t n;
	struct blocks *by_request; /* orr_req_observe(); NULL: values are not of requests */
};

struct orr_serve {
	const struct serve_config *config;
	const struct orr_policy *policy;
	const struct orr_serve_ops *ops;
	const char *label;
	void *self;
	struct serve_settings *set;
	struct serve_host host;
	bool owns_host;
	struct reqcursor *cursor;
	struct request_rec next_rec;
	bool has_next;
	double now_s;

	/* requests.c */
	struct req *req;
	uint32_t n_req, cap_req, *free_req, n_free_req, cap_free_req;
	uint64_t live, waiting;
	uint32_t first_ended, last_ended; /* list of the requests that ended in this instant */
	uint32_t *model_of, cap_model_of; /* model + 1 by text of reqset_strings(); 0: not looked up yet */
	/* Hooks of closed-loop clients; NULL: requests arrive at the times of the trace. */
	void (*on_request)(struct orr_serve *w, const struct req *q);
	void (*on_request_end)(struct orr_serve *w, const struct req *q, double at_s);

	/* answers.c */
	struct answer *answer;
	uint32_t n_answer, cap_answer, free_answer; /* free_answer: the first of a list; NONE: none */

	struct front *front; /* front.h; NULL: no links */
	uint64_t loss_seed, draft_seed;

	/* runs.c */
	struct run *run;
	uint64_t n_started; /* number of runs so far, for stamps */
	uint32_t n_run, cap_run, *free_run, n_free_run, cap_free_run;

	/* replicas.c, load.c */
	struct replica *replica;
	struct lane *lane; /* [n_replicas], one per replica, large pages; NULL: no language model yet */
	uint32_t n_replicas;
	struct bitset *idle;   /* replicas that are up and idle */
	struct served_on **on; /* lane.c: times of iterations by deployment and GPU type; NULL until needed */

	/* Calls of the policy that are due in this instant, in order. X_told: number of X calls already made. */
	struct due_event *event;
	uint32_t n_event, cap_event, event_told;
	uint32_t *arrived, n_arrived, cap_arrived, arrived_told; /* request slots: arrive() */
	uint32_t *over, n_over, cap_over, over_told;             /* run slots for run_end(); freed at the end of the instant */
	orr_req *timed;                                          /* timer() */
	uint32_t n_timed, cap_timed, timed_told;
	uint32_t ended_told;                             /* last request slot for which finish() was called; NONE: none */
	uint32_t *dirty, n_dirty, cap_dirty, dirty_told; /* replicas: schedule() */

	/* the instant */
	bool is_acting, is_over, saw_truth, has_left;
	unsigned claims; /* ORR_WORK_CONSERVING, ORR_SLO_GUARDED: the claims that --check verifies */
	int64_t last_instant, calls_now;
	orr_req last_acted;
	struct orr_error error;
	struct watch *watch;
	struct rng route_rng, policy_rng, service_rng;

	struct router *router;   /* router.h */
	struct fleet *fleet;     /* fleet.h */
	struct clients *clients; /* clients.c; NULL: requests arrive at the times of the trace */
	/* move.c: sends a request whose prompt is complete to a decode replica; returns false if none is up. */
	bool (*hand_off)(struct orr_serve *w, struct lane *l, struct req *q);
	struct moves *moves; /* state of move.c; NULL: no transfers yet */
	struct tiers *tiers; /* tiers.h; NULL: none */
	bool blocks_freed;   /* blocks of a KV cache were freed, or a replica changed, since moves_retry() */
	struct guard *guard; /* guard.c; NULL: not checked */
	struct serve_metrics *metrics;
	struct explain *explain;   /* explain.h; NULL: not recorded */
	struct observed *observed; /* series that the policy reports */
	uint32_t n_observed, cap_observed;
	struct run_result *result;
	unsigned used; /* enum serve_use */
};

/* Rounds to ns; eng_at() replaces a past time by the present. */
int64_t serve_ns(double s);
/* Returns the engine's clock in seconds; now_s may be up to half a ns later. */
static inline double serve_clock_s(const struct orr_serve *w)
{
	return (double)eng_now(w->host.engine) / 1e9;
}
/* Sets the exact time s of an event, within half a ns of the engine's clock. Each event handler calls it first. */
static inline void serve_happen(struct orr_serve *w, double s)
{
	if (s > w->now_s)
		w->now_s = s;
}

/* Ends the run with "policy P: request N at T s: ..". Later errors are ignored. q may be NULL. */
void serve_fail(struct orr_serve *w, int code, const struct req *q, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Returns whether actions are allowed now; if not, fails the run with an error that names the function. */
bool serve_may_act(struct orr_serve *w, const char *what);

#endif
