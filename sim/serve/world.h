/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * world.h - the inside of the serving world, for the files of this folder alone
 *
 * Files: run.c (begin, instants, end), dispatch.c (telling and asking the policy), requests.c (slots, handles, lists, life
 * of a request), replicas.c (their life), route.c (routing, admission), scale.c (autoscaling, failures of nodes), clients.c
 * (closed loop), batches.c (runs of table models: interference, aborts; memory.c, loading.c, preempt.c), options.c, llm.c
 * (language models: lane.h; decodes.c, iterate.c, kv.c, prefix.c), move.c (KV transfer), metrics.c, measures.c, check.c, guard.c,
 * query.c (the public functions that only ask).
 *
 * Invariants: a request slot is live from arrival to the end of the instant in which the request ended; its generation
 * grows each time the slot is used again. A request is in one state (enum orr_req_state) and a live one is waiting in the
 * policy's hands, in `runs` runs, resident on one replica, or moving. Each replica's time is a double of its own: the engine
 * gets it rounded to ns, and now_s is exact within an instant (the latest of what happened at that ns).
 */
#ifndef ORR_SERVE_WORLD_H
#define ORR_SERVE_WORLD_H

#include "engine/engine.h"
#include "base/rng.h"
#include "engine/watch.h"
#include "serve/serve.h"

#define NONE UINT32_MAX
enum { PRIO_RUN_END, PRIO_REPLICA, PRIO_MOVE, PRIO_ARRIVAL, PRIO_TIMER, PRIO_UNTIL };

struct req {
	uint32_t generation;
	uint8_t state, how;                  /* enum orr_req_state, orr_req_end */
	bool is_paused, is_swapped, is_held; /* held: its runs keep it (ORR_RUN_KEEP) */
	uint64_t stamp;                      /* of the last batch that it was put into */
	bool is_known;                       /* the policy was told of it */
	bool has_come;                       /* scaling by rate has counted it, before it was on a replica */
	bool is_arriving;                    /* arrive() is due */
	uint64_t number, session, mark, line;
	double arrival_s, deadline_s, first_start_s, first_token_s, last_token_s;
	uint32_t id, model, replica, samples, priority;
	uint32_t prompt_asked, output_asked, max_output;
	uint32_t preemptions, restarts;
	uint32_t q_prev, q_next; /* in the policy's list */
	struct orr_fifo *list;   /* which, NULL: in none */
	/* batches */
	uint32_t runs; /* that it is in */
	/* language models */
	uint32_t prompt, done; /* done: exact unless it is decoding; then done + (lane clock - joined) */
	uint32_t outputs;      /* given out; likewise */
	uint64_t joined;       /* lane clock when it joined the decodes */
	uint32_t heap_at;      /* in the lane's heap of ends; NONE: not decoding */
	uint32_t next_tokens;  /* prompt tokens in the iteration listed or running; 0 none */
	uint32_t res_prev, res_next;
	uint32_t kv_held;          /* blocks of its own */
	uint32_t n_blocks, shared; /* hashes of its prompt; how many of them it shares with the prefix cache */
	const uint64_t *block;
	double max_gap_s;            /* longest time between two tokens */
	uint32_t later_at, fresh_at; /* lane.h; while it decodes */
	uint64_t gap_from;           /* lane clock from which the lane's gaps count for it */
	uint32_t kv_at;              /* replica that has the tokens done of one that waits */
	uint32_t move;               /* its transfer; while it is moving */
	uint32_t next_ended;         /* list of those that ended in this instant */
};

/* A batch. Slots as for requests. */
struct run {
	uint32_t generation;
	uint8_t state; /* enum run_state */
	bool keeps;    /* ORR_RUN_KEEP */
	uint32_t replica, model, samples, length;
	uint32_t n, cap;
	orr_req *handle; /* its requests */
	double started_s;
	double alone_s;           /* its whole time if nothing else ran */
	double whole_s;           /* as alone_s, with all of its layers (orr_batch.part) */
	double left_s;            /* of alone_s, at rate_from_s */
	double exit_left_s;       /* leaving: what will be left at the exit point */
	double rate, rate_from_s; /* progress per second; changes with what runs beside it */
	struct served_memory memory;
	struct eng_event end;
	double end_s;
	int leaving;         /* -1 no, else enum orr_abort_how: at the next exit point */
	uint32_t prev, next; /* on the replica */
};
enum run_state { RUN_FREE, RUN_RUNNING, RUN_SUSPENDED, RUN_OVER };

struct lane; /* llm.c: residents and iterations of a replica */

enum replica_state { REPLICA_OFF, REPLICA_STARTING, REPLICA_UP, REPLICA_DRAINING };
struct replica {
	uint8_t state;
	enum orr_replica_role role;
	bool is_dirty; /* schedule() is due */
	uint32_t deployment, model;
	uint32_t gpus, node, gpu_type;
	bool has_alloc;
	struct pool_alloc alloc;
	struct eng_event ready; /* starting */
	double up_since_s, busy_since_s;
	/* sums over the run */
	double busy_s, up_s, gpu_s, usd;
	uint64_t completed;
	/* requests routed to it */
	uint32_t routed;
	/* batches */
	uint32_t first_run, last_run, n_runs;
	double memory, weights; /* bytes: capacity; of the models that are loaded */
	double *loaded_s;       /* [model] when it was or will be there; NAN: not loaded */
	struct lane *lane;      /* language models; NULL */
};

struct orr_serve {
	const struct serve_config *config;
	const struct orr_policy *policy;
	const struct orr_serve_ops *ops;
	const char *label;
	void *self;
	struct serve_host host;
	bool owns_host;
	struct reqcursor *cursor;
	struct request_rec next_rec;
	bool has_next;
	double now_s;

	struct req *req;
	uint32_t n_req, cap_req, *free_req, n_free_req, cap_free_req;
	uint64_t live, waiting;
	uint32_t first_ended, last_ended;                        /* of this instant */
	uint32_t ended_told;                                     /* the last of them that finish() was called for; NONE: none yet */
	uint32_t *arrived, n_arrived, cap_arrived, arrived_told; /* to be told to the policy, in order */
	uint32_t *model_of;                                      /* [text of reqset_strings()] model + 1; 0: not looked up yet */
	uint32_t cap_model_of;

	struct run *run;
	uint64_t n_started; /* runs, for stamps */
	uint32_t n_run, cap_run, *free_run, n_free_run, cap_free_run;
	uint32_t *over, n_over, cap_over, over_told; /* run slots whose run_end() is to be told; freed at the end of the instant */

	struct replica *replica;
	uint32_t n_replicas, cap_replicas;
	uint32_t *dirty, n_dirty, cap_dirty, dirty_told; /* replicas on which schedule() is due, in order of becoming so */
	struct bitset *idle;                             /* replicas that are up and on which nothing runs */

	/* the instant */
	bool is_acting, is_over, saw_truth, has_left;
	unsigned claims; /* ORR_WORK_CONSERVING, ORR_SLO_GUARDED: what --check holds the policy to */
	int64_t last_instant, calls_now, max_calls;
	orr_req last_acted;
	struct orr_error error;
	struct watch *watch;
	struct rng route_rng, policy_rng, service_rng;

	/* options, resolved (serve_options in options.c) */
	struct serve_settings *set;

	struct fleet *fleet;     /* fleet.h: classes of replicas, scaling, failures */
	struct clients *clients; /* NULL: requests come at the times of the trace */
	struct moves *moves;     /* move.c; NULL: none yet */
	struct guard *guard;     /* guard.c; NULL: not checked */
	struct serve_metrics *metrics;
	struct observed *observed; /* the policy's own series */
	uint32_t n_observed, cap_observed;
	struct run_result *result;
};

/* What orr_serve_observe() adds up. */
struct observed {
	char *name;
	double sum;
	uint64_t n;
};

/* ---- handles ---- */
static inline orr_req req_handle(const struct orr_serve *w, uint32_t slot)
{
	return (uint64_t)w->req[slot].generation << 32 | (slot + 1u);
}
static inline struct req *req_of(const struct orr_serve *w, orr_req r)
{
	uint32_t slot = (uint32_t)r - 1u;
	if (slot >= w->n_req || w->req[slot].generation != r >> 32)
		return NULL;
	return &w->req[slot];
}
static inline uint32_t req_slot(const struct orr_serve *w, const struct req *q)
{
	return (uint32_t)(q - w->req);
}
static inline orr_run run_handle(const struct orr_serve *w, uint32_t slot)
{
	return (uint64_t)w->run[slot].generation << 32 | (slot + 1u);
}
static inline struct run *run_of(const struct orr_serve *w, orr_run r)
{
	uint32_t slot = (uint32_t)r - 1u;
	if (slot >= w->n_run || w->run[slot].generation != r >> 32)
		return NULL;
	return &w->run[slot];
}
int64_t serve_ns(double s); /* rounded; eng_at() takes what lies before now as now */
/* Something happens at exactly s, within half a nanosecond of the engine's now. Each event's first call. */
static inline void serve_happen(struct orr_serve *w, double s)
{
	if (s > w->now_s)
		w->now_s = s;
}

/* The first error ends the run: "policy P: request N at T s: ..". */
void serve_fail(struct orr_serve *w, int code, const struct req *q, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* True if actions are allowed now; else the run fails naming the function. */
bool serve_may_act(struct orr_serve *w, const char *what);

/* ---- requests.c ---- */
struct req *req_new(struct orr_serve *w, const struct request_rec *rec); /* waiting; not told yet */
/* Ends it now: out of lists and replicas; metrics; finish() is called before the next schedule(). Its slot is freed at the
 * end of the instant. */
void req_end(struct orr_serve *w, struct req *q, enum orr_req_end how, double at_s);
void req_release_ended(struct orr_serve *w);
/* arrive() is due (a new one, one thrown off its replica, one that moved). */
void req_tell_arrival(struct orr_serve *w, struct req *q);
void req_set_replica(struct orr_serve *w, struct req *q, uint32_t replica); /* NONE: none */
/* Takes it out of runs or residents, back to waiting, from scratch (its replica is lost). */
void req_throw_off(struct orr_serve *w, struct req *q);

/* ---- dispatch.c ---- */
void replica_dirty(struct orr_serve *w, uint32_t replica);
void dispatch_instant(struct orr_serve *w);  /* tells and asks until nothing is due now */
void dispatch_catch_up(struct orr_serve *w); /* now_s is not behind the clock */

/* ---- replicas.c ---- */
void replicas_begin(struct orr_serve *w);
void replicas_free(struct orr_serve *w);
/* A new request: shed where it finds serve.queue_limit reached, else replica_place(). */
void replica_admit(struct orr_serve *w, struct req *q);
/* A request waits, on no replica: gives it to one and has arrive() told. With no replica up that serves its model it
 * stays here until there is one. */
void replica_place(struct orr_serve *w, struct req *q);
/* q->replica has changed from `from`; NONE: no replica. Called by req_set_replica(), and by req_end() when it takes the
 * request off its replica. Counts `routed`. */
void replica_count(struct orr_serve *w, struct req *q, uint32_t from);
/* replica() is told what happened since the last time: before run_end(), finish() and arrive() of the instant. */
void replicas_tell(struct orr_serve *w);
/* Pending events that will not by themselves let a waiting request go on: ticks of scaling, failures of nodes. */
uint64_t replicas_background(const struct orr_serve *w);
bool replicas_wait(const struct orr_serve *w);                              /* more of them are wanted than there are GPUs for */
uint32_t replica_route(struct orr_serve *w, const struct req *q);           /* serve.router, or the policy's route() */
uint32_t replica_by_rule(struct orr_serve *w, const struct req *q);         /* serve.router alone; NONE: nobody serves it now */
void replica_set_busy(struct orr_serve *w, uint32_t replica, bool is_busy); /* the idle set, and busy time */
/* Would a request of this size ever fit on some replica that serves its model? */
bool model_has_replicas(const struct orr_serve *w, uint32_t model); /* now or later */
bool replica_could_ever_serve(const struct orr_serve *w, const struct req *q);

/* ---- memory.c, loading.c: what batches.c and metrics ask ---- */
double memory_in_use(const struct orr_serve *w, uint32_t replica); /* bytes now: weights and runs */
/* What would come beside what runs on a replica. */
struct memory_extra {
	bool is_run; /* else weights alone */
	uint32_t model;
	struct served_memory memory;
	double alone_s, delay_s;
	double weights;   /* from now on */
	uint32_t without; /* slot of a run that is taken as gone, plus 1; 0: none */
};
/* Is there room at every instant from now on, as things are now? x NULL: for what runs there already. */
bool memory_fits(const struct orr_serve *w, uint32_t replica, const struct memory_extra *x);
/* The least delay with which the run fits; INFINITY: never. */
double memory_fits_after(const struct orr_serve *w, uint32_t replica, struct memory_extra x);
/* Progress per second of n runs on one replica, by their models (serve.interference). */
void interference_rates(const struct orr_serve *w, const uint32_t *model, uint32_t n, double *rate);
/* A replica comes up: which models are in its memory then. */
void loading_begin(struct orr_serve *w, uint32_t replica);
bool loading_is_done(const struct orr_serve *w, uint32_t replica, uint32_t model);

/* ---- batches.c ---- */
void batches_free(struct orr_serve *w);
void batches_lost(struct orr_serve *w, uint32_t replica); /* the replica is gone: its runs vanish */
void batches_detach(struct orr_serve *w, struct req *q);  /* out of every run that it is in; they go on */
void batches_release_over(struct orr_serve *w);           /* run_end() has been told */
/* Seconds of alone_s that are left now. */
double run_left(const struct orr_serve *w, const struct run *x);

/* ---- llm.c, kv.c, prefix.c, move.c ---- */
struct lane *lane_new(struct orr_serve *w, uint32_t replica, struct orr_error *err);
void lane_free(struct lane *l);
void lane_lost(struct orr_serve *w, uint32_t replica); /* its requests have been thrown off */
bool lane_is_busy(const struct lane *l);
uint32_t lane_blocks(const struct lane *l); /* in all */
uint32_t lane_blocks_for(const struct lane *l, uint32_t tokens);
void lane_forget(struct orr_serve *w, struct req *q); /* its blocks and its place among residents are given up */
/* done and outputs of a request that decodes are brought up to the lane's clock. */
void lane_settle(const struct orr_serve *w, struct req *q);
/* A request came for the replica: a repetition of iterations ends with the one that runs now, unless ORR_ITER_THROUGH. */
void lane_arrival(struct orr_serve *w, uint32_t replica);
/* Likewise a timer or orr_wake(), whatever the flags. */
void lane_wake(struct orr_serve *w, uint32_t replica);
void moves_free(struct orr_serve *w);
const char *lane_check(const struct orr_serve *w, uint32_t replica); /* NULL, or which law is broken */
double lane_kv_in_use(const struct lane *l);                         /* part of the blocks */

/* ---- clients.c: closed loop ---- */
/* After serve_metrics_begin(). True: rows come from here, by serve_arrive(), and w->has_next is kept up here. */
bool clients_begin(struct orr_serve *w);
void clients_ended(struct orr_serve *w, const struct req *q, double at_s); /* called by req_end() */
void clients_free(struct orr_serve *w);

/* ---- run.c ---- */
/* A request comes now: req_new(), refused if it can never be served, else replica_admit(). */
void serve_arrive(struct orr_serve *w, const struct request_rec *rec);

/* ---- metrics.c ---- */
void serve_metrics_begin(struct orr_serve *w);
void serve_metrics_arrival(struct orr_serve *w, const struct req *q);              /* called by req_new() */
void serve_metrics_request(struct orr_serve *w, const struct req *q, double at_s); /* it has ended: q->how */
void serve_metrics_tokens(struct orr_serve *w, uint32_t replica, double iterations, double prompt_tokens, double decode_tokens);
/* Gap between two tokens of one request, `count` times. */
void serve_metrics_gap(struct orr_serve *w, double gap_s, uint64_t count);
void serve_metrics_memory(struct orr_serve *w, uint32_t replica);                    /* before who or what is in its memory changes */
void serve_metrics_looked_up(struct orr_serve *w, uint32_t tokens, uint32_t cached); /* of a prompt, in the prefix cache */
void serve_metrics_padding(struct orr_serve *w, double real, double padded);         /* samples x length of a run */
void serve_metrics_lost(struct orr_serve *w, double s);                              /* device time whose result was thrown away */
void serve_metrics_end(struct orr_serve *w);
void serve_metrics_free(struct orr_serve *w);

/* ---- check.c ---- */
void check_serve_state(struct orr_serve *w);
void check_serve_end(struct orr_serve *w);

/* ---- guard.c: nothing unless the policy claims ORR_SLO_GUARDED and the run is checked ---- */
void guard_begin(struct orr_serve *w); /* after create() */
void guard_free(struct orr_serve *w);
void guard_before(struct orr_serve *w, const struct run *x, const char *action);     /* the run is about to be stopped */
void guard_before_beside(struct orr_serve *w, uint32_t replica, const char *action); /* a run is about to go on beside others */
void guard_forget(struct orr_serve *w, const struct req *q);
void guard_ended(struct orr_serve *w, const struct req *q, double at_s);

#endif
