/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * serve.h - the serving world as a policy sees it
 *
 * Requests arrive, each for a model; replicas (one or several GPUs each) run them. Two kinds
 * of work, after the kind of the model:
 *
 *  - a model with a latency table runs *batches*: orr_run_start() with some requests, which end
 *    together when the latency of that batch has passed. Several runs may share a replica
 *    ("stacking") as far as memory allows; a run may be aborted.
 *  - a language model runs *iterations* over the requests that are resident on the replica:
 *    each iteration processes some prompt tokens of some requests and one token of each that is
 *    past its prompt. orr_admit() makes a request resident, orr_iter_run() runs iterations.
 *
 * A policy is a table of functions (struct orr_serve_ops) over an object that it makes and frees
 * per run; several runs go on in parallel threads, so keep nothing in static variables.
 *
 * At each instant the world first tells what happened: replica() for each that came or went (before route() is asked
 * where its requests, or new ones, shall go), run_end() for each batch that ended, finish() for each request that ended,
 * arrive() for each that came (or came back). Then schedule() is called once for each replica at which something
 * changed. Actions are allowed in arrive(), run_end(), replica() and schedule(); what they do takes effect at once.
 *
 * A policy sees what a real server would: not the length of an output before it is there, nor the
 * future. orr_req_true_output() tells it all the same and marks the run "oracle" in every table.
 *
 * An impossible request (more memory than there is, a request that runs already) ends the run with
 * an error that names the policy, the request and the time; after it every action is refused,
 * so a policy need not check. Handles carry a generation: that of an ended request is refused.
 *
 * Times: int64_t ns for the clock; double s where durations add up. Sizes: bytes, tokens, blocks.
 */
#ifndef ORRERY_SERVE_H
#define ORRERY_SERVE_H

#include <orrery/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

struct orr_serve;         /* the world */
typedef uint64_t orr_req; /* a request; 0 is none */
typedef uint64_t orr_run; /* a batch that runs, or is suspended; 0 is none */
#define ORR_NO_REPLICA UINT32_MAX
#define ORR_ANY_REPLICA (UINT32_MAX - 1) /* serve.router picks one (auto: the one with the fewest requests) */

/* ---- requests ---- */

enum orr_req_state {
	ORR_REQ_WAITING,  /* neither resident nor in a run */
	ORR_REQ_RUNNING,  /* in at least one run */
	ORR_REQ_RESIDENT, /* holds KV blocks on its replica */
	ORR_REQ_MOVING,   /* its KV cache is on its way */
	ORR_REQ_ENDED
};
enum orr_req_end {
	ORR_REQ_COMPLETED,
	ORR_REQ_REFUSED,   /* could never have been served */
	ORR_REQ_SHED,      /* given up: overload, or its deadline could not be met */
	ORR_REQ_UNFINISHED /* the run ended before */
};

struct orr_req_info {
	uint64_t number; /* 0, 1, ... in order of arrival */
	enum orr_req_state state;
	double arrival_s;
	double deadline_s; /* of its completion, by its SLO; INFINITY: none */
	uint32_t model;
	uint32_t replica;     /* routed to; ORR_NO_REPLICA: to none */
	uint32_t samples;     /* that it brings (images of a camera, ..); 1 for language models */
	uint32_t length;      /* tokens of its input; 0: has none */
	uint32_t max_output;  /* tokens that the user allows; 0: not said */
	uint32_t priority;    /* 0 unless the trace has one; larger is more urgent */
	uint64_t session;     /* equal numbers: one conversation; 0: none */
	uint32_t preemptions; /* so far */
	/* Language models. */
	uint32_t prompt_tokens; /* to be processed before the next output token; what a restart threw away is part of it */
	uint32_t done_tokens;   /* processed of prompt and outputs; is prompt_tokens + 1 when the first output is there */
	uint32_t outputs;       /* tokens given out */
	double first_token_s;   /* NAN: none yet */
};

ORR_API double orr_serve_now(const struct orr_serve *w); /* seconds, exact within this instant */
/* False if the handle is of no live request. */
ORR_API bool orr_req_get(const struct orr_serve *w, orr_req r, struct orr_req_info *out);
ORR_API uint64_t orr_req_number(const struct orr_serve *w, orr_req r);
ORR_API double orr_req_arrival(const struct orr_serve *w, orr_req r);
ORR_API uint32_t orr_req_model(const struct orr_serve *w, orr_req r);
ORR_API uint32_t orr_req_samples(const struct orr_serve *w, orr_req r);
ORR_API uint32_t orr_req_length(const struct orr_serve *w, orr_req r);
ORR_API uint32_t orr_req_replica(const struct orr_serve *w, orr_req r);
ORR_API uint32_t orr_req_prompt(const struct orr_serve *w, orr_req r); /* prompt_tokens above */
ORR_API uint32_t orr_req_done(const struct orr_serve *w, orr_req r);   /* done_tokens above */
ORR_API bool orr_req_is_resident(const struct orr_serve *w, orr_req r);
/* Oracle: tokens of the whole output. Marks the run. */
ORR_API uint32_t orr_req_true_output(struct orr_serve *w, orr_req r);
/* A number of the policy's own, kept with the request; 0 at arrival. */
ORR_API uint64_t orr_req_mark(const struct orr_serve *w, orr_req r);
ORR_API void orr_req_set_mark(struct orr_serve *w, orr_req r, uint64_t mark);

/* Ends a waiting request. */
ORR_API void orr_refuse(struct orr_serve *w, orr_req r, enum orr_req_end how);
/* Ends one whose runs were started with ORR_RUN_KEEP: its answer is complete. */
ORR_API void orr_complete(struct orr_serve *w, orr_req r);
/* From now on it asks for another model (a cascade, a pipeline of models); it waits, on no replica. False: that model could
 * never serve it (too many samples or tokens), and it has ended, refused. A model that no replica serves is an error. */
ORR_API bool orr_forward(struct orr_serve *w, orr_req r, uint32_t model);
/* Gives a waiting request to a replica (what the router does at arrival), or to the one that serve.router picks (ORR_ANY_REPLICA). */
ORR_API void orr_assign(struct orr_serve *w, orr_req r, uint32_t replica);

/* ---- a first-in first-out list for policies: O(1), holds each request at most once in all lists of a run ----
 * A list begins as all zeros and stays where it is while it holds a request. One that ends leaves its list by itself. */
struct orr_fifo {
	orr_req first, last;
	size_t n;
};
ORR_API void orr_fifo_push(struct orr_serve *w, struct orr_fifo *q, orr_req r);
ORR_API void orr_fifo_push_front(struct orr_serve *w, struct orr_fifo *q, orr_req r);
ORR_API orr_req orr_fifo_pop(struct orr_serve *w, struct orr_fifo *q);            /* 0: empty */
ORR_API void orr_fifo_remove(struct orr_serve *w, struct orr_fifo *q, orr_req r); /* must be in q */
ORR_API orr_req orr_fifo_next(const struct orr_serve *w, orr_req r);              /* behind r; 0 at the end */

/* ---- models ---- */

enum orr_model_kind { ORR_MODEL_TABLE, ORR_MODEL_LLM };
struct orr_model_info {
	const char *name; /* valid during the run */
	enum orr_model_kind kind;
	uint32_t layers;    /* where a run can be stopped; 0: unknown */
	uint32_t n_batches; /* batch sizes of the table, ascending */
	const uint32_t *batch;
	double load_s; /* to bring it into memory */
	double weight_bytes, kv_bytes_per_token;
	double slo_s;     /* of a request for it, from arrival to completion; INFINITY: none */
	uint32_t longest; /* tokens of prompt and output that it can take; 0: no limit */
};
ORR_API uint32_t orr_models(const struct orr_serve *w);
ORR_API bool orr_model_get(const struct orr_serve *w, uint32_t model, struct orr_model_info *out);
/* UINT32_MAX if there is none of that name. */
ORR_API uint32_t orr_model_find(const struct orr_serve *w, const char *name);
/* Seconds that a batch takes on the replica when nothing else runs there; NAN if the table does not have it. */
ORR_API double orr_model_latency(const struct orr_serve *w, uint32_t replica, uint32_t model, uint32_t samples, uint32_t length);
/* The largest batch of the table; and the smallest size in the table that is at least `samples` (0: none). */
ORR_API uint32_t orr_model_largest(const struct orr_serve *w, uint32_t model);
ORR_API uint32_t orr_model_batch_for(const struct orr_serve *w, uint32_t model, uint32_t samples);

/* ---- replicas ---- */

enum orr_replica_role { ORR_ROLE_BOTH, ORR_ROLE_PREFILL, ORR_ROLE_DECODE };
enum orr_replica_event {
	ORR_REPLICA_UP,       /* joined and ready */
	ORR_REPLICA_DRAINING, /* takes no new requests; will leave when it is empty, or at the end of its notice */
	ORR_REPLICA_DOWN      /* gone; its requests arrive() again, from scratch */
};
struct orr_replica_info {
	bool is_up, is_draining;
	enum orr_replica_role role;
	uint32_t model; /* it serves this one alone; UINT32_MAX: any */
	uint32_t gpus, node, gpu_type;
	uint32_t runs;   /* on it now, or 1 while an iteration runs */
	uint32_t routed; /* live requests that were routed to it */
	uint32_t residents;
	double memory_bytes, memory_free_bytes; /* table models: now */
};
ORR_API uint32_t orr_replicas(const struct orr_serve *w); /* numbers 0.. below this; some may be down */
ORR_API bool orr_replica_get(const struct orr_serve *w, uint32_t replica, struct orr_replica_info *out);
ORR_API bool orr_replica_is_idle(const struct orr_serve *w, uint32_t replica); /* up, and nothing runs */
/* The lowest idle replica from number `from` on, or ORR_NO_REPLICA. */
ORR_API uint32_t orr_replica_idle_from(const struct orr_serve *w, uint32_t from);
/* Live requests routed to it, waiting and running. */
ORR_API uint32_t orr_replica_routed(const struct orr_serve *w, uint32_t replica);
/* schedule() for that replica at this instant; at time at_s (>= now). Timers do not replace each other. */
ORR_API void orr_wake(struct orr_serve *w, uint32_t replica);
ORR_API void orr_serve_timer(struct orr_serve *w, uint32_t replica, double at_s);
/* [0,1), from the policy's own stream. */
ORR_API double orr_serve_uniform(struct orr_serve *w);

/* ---- batches of table models ---- */

enum orr_run_flag {
	ORR_RUN_KEEP = 1 /* when it has ended its requests wait again: orr_forward() or orr_complete() them in run_end() */
};
struct orr_batch {
	uint32_t model;
	const orr_req *req;
	size_t n;
	uint32_t samples; /* size to run at; 0: the sum of the requests' (larger: padded) */
	uint32_t length;  /* padded to; 0: the longest of the requests' */
	double part;      /* of the model's latency (early exit: 0.5); 0: all of it */
	unsigned flags;
};
/* Starts now. A request may be in several runs at once (students that share one input); it completes when the
 * last of them has ended. 0 on error. */
ORR_API orr_run orr_run_start(struct orr_serve *w, uint32_t replica, const struct orr_batch *b);
/* Does the batch fit into memory beside what runs there, with the times of the peaks, if it starts after delay_s? */
ORR_API bool orr_run_fits(const struct orr_serve *w, uint32_t replica, const struct orr_batch *b, double delay_s);
/* The same now, if that run were aborted at once. */
ORR_API bool orr_run_fits_instead(const struct orr_serve *w, uint32_t replica, const struct orr_batch *b, orr_run instead);
/* The least delay after which it does, as things are now; INFINITY: never. */
ORR_API double orr_run_fits_after(const struct orr_serve *w, uint32_t replica, const struct orr_batch *b);

enum orr_abort_how {
	ORR_ABORT_RESTART, /* progress is lost, its requests wait again */
	ORR_ABORT_SAVE     /* suspended: keeps its memory and progress until orr_run_resume(); its requests stay in it */
};
/* Acts at the next exit point (serve.exit_interval; 0: at once, within this call). run_end() is not called. */
ORR_API void orr_run_abort(struct orr_serve *w, orr_run run, enum orr_abort_how how);
ORR_API void orr_run_resume(struct orr_serve *w, orr_run run);
/* Is there room to keep its memory, if it is aborted with ORR_ABORT_SAVE now? To let a suspended one go on now? */
ORR_API bool orr_run_can_save(const struct orr_serve *w, orr_run run);
ORR_API bool orr_run_can_resume(const struct orr_serve *w, orr_run run);

struct orr_run_info {
	uint32_t replica, model, samples, length;
	bool is_suspended, is_leaving; /* leaving: aborted, exit point not reached */
	double started_s, ends_s;      /* as things are now; suspended: INFINITY */
	double part_done;              /* 0..1 */
	size_t n;                      /* requests in it */
	uint32_t preemptions;          /* most of any of its requests */
};
ORR_API bool orr_run_get(const struct orr_serve *w, orr_run run, struct orr_run_info *out);
ORR_API orr_req orr_run_request(const struct orr_serve *w, orr_run run, size_t i);
/* Runs on a replica in order of start: orr_run_first(), then orr_run_next(); 0 at the end. */
ORR_API orr_run orr_run_first(const struct orr_serve *w, uint32_t replica);
ORR_API orr_run orr_run_next(const struct orr_serve *w, orr_run run);

/* Models in a replica's memory (serve.preloaded says whether all are there at the start). Loading takes the model's
 * load_s, one model at a time, beside what runs; schedule() is called when it is done. False: no room for its weights. */
ORR_API bool orr_model_is_loaded(const struct orr_serve *w, uint32_t replica, uint32_t model);
ORR_API bool orr_model_load(struct orr_serve *w, uint32_t replica, uint32_t model);
ORR_API void orr_model_unload(struct orr_serve *w, uint32_t replica, uint32_t model);

/* ---- language models: residents, KV blocks, iterations ---- */

ORR_API uint32_t orr_kv_block_tokens(const struct orr_serve *w, uint32_t replica);
ORR_API uint32_t orr_kv_total(const struct orr_serve *w, uint32_t replica); /* blocks */
ORR_API uint32_t orr_kv_free(const struct orr_serve *w, uint32_t replica);  /* what the prefix cache could give up counts as free */
ORR_API uint32_t orr_kv_held(const struct orr_serve *w, orr_req r);         /* blocks */
/* Blocks that `tokens` tokens take. */
ORR_API uint32_t orr_kv_blocks(const struct orr_serve *w, uint32_t replica, uint32_t tokens);

/* Makes a waiting request resident on its replica (or one that was swapped out: it comes back), with room for `tokens`
 * tokens, leaving at least keep_free blocks free; false (and nothing changed) if there is no such room. Where the
 * prefix cache has the start of its prompt, that part is done already. */
ORR_API bool orr_admit(struct orr_serve *w, orr_req r, uint32_t tokens, uint32_t keep_free);
/* Room for `tokens` tokens in all; false if there is none. */
ORR_API bool orr_kv_grow(struct orr_serve *w, orr_req r, uint32_t tokens, uint32_t keep_free);
/* Prompt tokens that the replica's prefix cache holds of this request (0 without a cache). */
ORR_API uint32_t orr_prefix_cached(const struct orr_serve *w, uint32_t replica, orr_req r);

enum orr_evict_how {
	ORR_EVICT_RESTART, /* blocks freed; tokens given out so far become part of the prompt */
	ORR_EVICT_SWAP     /* blocks copied to the host at serve.swap_Bps; comes back by orr_admit() */
};
/* The resident waits again. Not while an iteration that it is part of runs. */
ORR_API void orr_evict(struct orr_serve *w, orr_req r, enum orr_evict_how how);
/* A resident that is past its prompt leaves the decodes, with its blocks, or comes back. Not during an iteration. */
ORR_API void orr_pause(struct orr_serve *w, orr_req r);
ORR_API void orr_resume(struct orr_serve *w, orr_req r);
ORR_API bool orr_is_decoding(const struct orr_serve *w, orr_req r); /* past its prompt and not paused */

/* Residents of a replica in order of admission. */
ORR_API orr_req orr_resident_first(const struct orr_serve *w, uint32_t replica);
ORR_API orr_req orr_resident_next(const struct orr_serve *w, orr_req r);
ORR_API uint32_t orr_residents(const struct orr_serve *w, uint32_t replica);
ORR_API uint32_t orr_decodes(const struct orr_serve *w, uint32_t replica); /* how many are decoding */
/* Blocks that the next token of all decodes will take: a decode takes one when the tokens done exceed its blocks. */
ORR_API uint32_t orr_decodes_need(const struct orr_serve *w, uint32_t replica);

enum orr_iter_flag {
	ORR_ITER_DECODE = 1,  /* with one token of each decode */
	ORR_ITER_THROUGH = 2, /* arrivals do not end the repetition */
	ORR_ITER_HOLD = 4     /* residents whose prompt ends now do not join the decodes: orr_resume() does that */
};
/* A resident processes `tokens` tokens of its prompt in the next iteration. */
ORR_API void orr_iter_prefill(struct orr_serve *w, orr_req r, uint32_t tokens);
/*
 * Starts what was listed (and, if flagged, all decodes) on a replica on which nothing runs. An iteration without prompts
 * is repeated, up to `most` times (0: no limit), until a resident completes, a request arrives here, a timer or
 * orr_wake() falls due, or fewer than keep_free blocks would be left after the decodes took theirs; schedule() follows.
 * When a prompt is done its first output token is there; a request whose output is complete ends and frees its blocks.
 */
ORR_API void orr_iter_run(struct orr_serve *w, uint32_t replica, uint64_t most, uint32_t keep_free, unsigned flags);
/* The iteration that is running now is the last of its repetition. */
ORR_API void orr_iter_cut(struct orr_serve *w, uint32_t replica);
/* Seconds that an iteration would take: decodes with `context` tokens done in all; prompts of `tokens` tokens after
 * `before` ones were done (one prompt). */
ORR_API double orr_iter_estimate(
	const struct orr_serve *w, uint32_t replica, uint32_t decodes, double context, uint32_t tokens, uint32_t before);

/* Sends a resident with its KV cache to another replica over the network; it arrive()s there, waiting, with its tokens done,
 * when it is there: orr_admit() makes it resident without processing anything again. Its blocks here are freed then. */
ORR_API void orr_move(struct orr_serve *w, orr_req r, uint32_t replica);

/* ---- what the policy says of itself ---- */

/* In create() alone: what is true of the policy with these parameters (ORR_WORK_CONSERVING, ORR_SLO_GUARDED; policy.h). --check
 * holds it to that: the run fails, naming request, time and action, where it is not so. */
ORR_API void orr_serve_claim(struct orr_serve *w, unsigned claims);

/* Adds a value to a series of the policy's own; its mean is reported under this name. */
ORR_API void orr_serve_observe(struct orr_serve *w, const char *name, double value);
/* Ends the run with a message of the policy's own. */
ORR_API void orr_serve_give_up(struct orr_serve *w, orr_req r, const char *message);

/* ---- what a policy gives ---- */
struct orr_serve_ops {
	/* The object; NULL with *err filled in if the parameters make no sense. Replicas and models are there. */
	void *(*create)(struct orr_serve *w, const struct orr_args *args, struct orr_error *err);
	void (*destroy)(void *self);
	/* Which replica a new request goes to; ORR_NO_REPLICA: to none yet (a queue of the policy's own; orr_assign());
	 * ORR_ANY_REPLICA: the router picks.
	 * NULL: serve.router decides. An explicit serve.router goes before this. */
	uint32_t (*route)(void *self, struct orr_serve *w, orr_req r);
	/* A request came, was thrown off a replica that went, or has moved to another one (done_tokens > 0). */
	void (*arrive)(void *self, struct orr_serve *w, orr_req r);
	/* The request is no more; its handle still answers until this returns. NULL: not interested. */
	void (*finish)(void *self, struct orr_serve *w, orr_req r, enum orr_req_end how);
	/* A batch has ended; its handle answers until this returns. NULL: not interested. */
	void (*run_end)(void *self, struct orr_serve *w, orr_run run);
	void (*schedule)(void *self, struct orr_serve *w, uint32_t replica);
	/* A replica joined, drains or left. NULL: not interested. */
	void (*replica)(void *self, struct orr_serve *w, uint32_t replica, enum orr_replica_event event);
};

/*
 * A policy of this world: see policy.h. ORR_NEEDS_ORACLE: sees true output lengths. ORR_MAY_ORACLE: the same with some of its
 * parameters. ORR_WORK_CONSERVING: never idles a replica that has queued work.
 */
#define ORR_POLICY_SERVE_FLAGS(ident, doc, flags, params, ops) \
	ORR_POLICY_DECLARE(serve_##ident, ident, doc, "serve", flags, params, struct orr_serve_ops, ops)
#define ORR_POLICY_SERVE(ident, doc, params, ops) ORR_POLICY_SERVE_FLAGS(ident, doc, 0u, params, ops)
#define ORR_POLICY_SERVE_ORACLE(ident, doc, params, ops) ORR_POLICY_SERVE_FLAGS(ident, doc, ORR_NEEDS_ORACLE, params, ops)

#ifdef __cplusplus
}
#endif
#endif
