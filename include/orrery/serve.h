/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * serve.h - the interface between the serving world and a policy
 *
 * Requests arrive, each for a model; replicas (one or several GPUs each) run them. The kind of the model gives the kind of
 * work:
 *
 *  - A model with a latency table runs *batches*: orr_run_start() starts one with some requests, which end together after
 *    the latency of that batch. Several runs may share a replica ("stacking") as memory allows; a run may be aborted. With
 *    serve.front, inputs cross links to the replicas and answers cross back: run_end() follows the receipt of the answers. A
 *    request may be in several runs on several replicas, and may be completed with the answers received so far.
 *  - A language model runs *iterations* over the requests that are resident on the replica: each iteration processes some
 *    prompt tokens of some requests and one token of each request whose prompt is complete. orr_admit() makes a request
 *    resident, orr_iter_run() runs iterations.
 *
 * A policy is a table of functions (struct orr_serve_ops) and an object that it creates and frees in each run. Runs execute in
 * parallel threads: keep no state in static variables.
 *
 * At each instant the world first reports events: replica() for each replica that joined, drains or left (before route() is
 * called), run_end() for each batch that ended, finish() for each request that ended, arrive() for each request that arrived,
 * timer() for each timer of a request. Then it calls schedule() once for each replica whose state changed. Actions are allowed in
 * arrive(), run_end(), replica(), timer() and schedule() and take effect at once. Events caused by actions are reported in order.
 * An answer that is received at the instant of a timer precedes the timer.
 *
 * A policy sees only information that a real server has. Output lengths and the future are hidden: orr_req_true_output()
 * returns the length, and marks the run "oracle" in every table.
 *
 * An impossible action (too little memory, a request that is in the batch twice) ends the run with an error that
 * names the policy, the request and the time. All later actions are refused, so a policy need not check. Handles carry a
 * generation: the handle of an ended request is refused.
 *
 * Times are double seconds from the start of the run. Sizes are in bytes, tokens or blocks.
 */
#ifndef ORRERY_SERVE_H
#define ORRERY_SERVE_H

#include <orrery/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

struct orr_serve;         /* the world */
typedef uint64_t orr_req; /* handle of a request; 0: no request */
typedef uint64_t orr_run; /* handle of a running or suspended batch; 0: no batch */
#define ORR_NO_REPLICA UINT32_MAX
#define ORR_ANY_REPLICA (UINT32_MAX - 1) /* serve.router chooses the replica (auto: the one with the fewest requests) */

/* ---- requests ---- */

enum orr_req_state {
	ORR_REQ_WAITING,  /* the request is neither resident nor in a run */
	ORR_REQ_RUNNING,  /* the request is in at least one run */
	ORR_REQ_RESIDENT, /* the request holds KV blocks on its replica */
	ORR_REQ_MOVING,   /* the KV cache of the request is being transferred */
	ORR_REQ_ENDED
};
enum orr_req_end {
	ORR_REQ_COMPLETED,
	ORR_REQ_REFUSED,   /* the request can never be served */
	ORR_REQ_SHED,      /* the request was dropped: overload, or its deadline cannot be met */
	ORR_REQ_UNFINISHED /* the run ended before the request */
};

struct orr_req_info {
	uint64_t number; /* number of the request: 0, 1, ... in order of arrival */
	enum orr_req_state state;
	double arrival_s;
	double deadline_s; /* deadline of the request, from its SLO; INFINITY: none */
	uint32_t model;
	uint32_t replica;     /* replica that the request is routed to; ORR_NO_REPLICA: none */
	uint32_t samples;     /* number of inputs in the request (images, ..); 1 for language models */
	uint32_t length;      /* number of tokens of the input; 0: none */
	uint32_t max_output;  /* limit of output tokens set by the user; 0: unknown */
	uint32_t priority;    /* priority in the trace, else 0; larger is more urgent */
	uint64_t session;     /* conversation; 0: none */
	uint32_t preemptions; /* so far */
	/* Language models. */
	uint32_t prompt_tokens; /* tokens to process before the next output token; includes outputs lost by a restart */
	uint32_t done_tokens;   /* processed tokens of prompt and outputs; prompt_tokens + 1 at the first output */
	uint32_t outputs;       /* number of output tokens so far */
	double first_token_s;   /* NAN: none yet */
	/* Table models. */
	uint32_t answers; /* number of answers received so far */
};

ORR_API double orr_serve_now(const struct orr_serve *w); /* returns the current time, s; equal for all calls at one instant */
/* Fills in *info; returns false if the handle is stale. */
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
/* Returns the number of tokens of the whole output. Marks the run as oracle. */
ORR_API uint32_t orr_req_true_output(struct orr_serve *w, orr_req r);
/* Returns a number that the policy stores with the request; initially 0. */
ORR_API uint64_t orr_req_mark(const struct orr_serve *w, orr_req r);
ORR_API void orr_req_set_mark(struct orr_serve *w, orr_req r, uint64_t mark);

/* Ends a waiting request. */
ORR_API void orr_refuse(struct orr_serve *w, orr_req r, enum orr_req_end how);
/* Ends a waiting request. `why` ("prompt longer than max_tokens") is copied to the remark below the table that counts refused
 * requests; NULL: no reason. */
ORR_API void orr_refuse_because(struct orr_serve *w, orr_req r, enum orr_req_end how, const char *why);
/* Completes a request with the answers received so far, at least one. The request leaves its other runs, as by orr_leave_runs() with
 * ORR_LATE_DETACH. */
ORR_API void orr_complete(struct orr_serve *w, orr_req r);
/* Changes the model of a waiting request (a cascade, a pipeline of models) and removes it from its replica. Returns false if the
 * model can never serve the request (too many samples or tokens): the request is refused. A model that no replica serves is an
 * error. */
ORR_API bool orr_forward(struct orr_serve *w, orr_req r, uint32_t model);
/* Routes a waiting request to a replica, like the router at arrival. ORR_ANY_REPLICA: serve.router chooses the replica. */
ORR_API void orr_assign(struct orr_serve *w, orr_req r, uint32_t replica);

/* ---- a first-in first-out list for policies ---- All operations are O(1). A request is in at most one list of a run and is removed
 * when it ends. A list starts as all zeros and must not move in memory while it holds requests. */
struct orr_fifo {
	orr_req first, last;
	size_t n;
};
ORR_API void orr_fifo_push(struct orr_serve *w, struct orr_fifo *q, orr_req r);
ORR_API void orr_fifo_push_front(struct orr_serve *w, struct orr_fifo *q, orr_req r);
ORR_API orr_req orr_fifo_pop(struct orr_serve *w, struct orr_fifo *q);            /* 0: empty */
ORR_API void orr_fifo_remove(struct orr_serve *w, struct orr_fifo *q, orr_req r); /* requires that r is in q */
ORR_API orr_req orr_fifo_next(const struct orr_serve *w, orr_req r);              /* returns the request after r; 0 at the end */

/* ---- models ---- */

enum orr_model_kind { ORR_MODEL_TABLE, ORR_MODEL_LLM };
struct orr_model_info {
	const char *name; /* name of the model; valid during the run */
	enum orr_model_kind kind;
	uint32_t layers;    /* number of exit points of a run; 0: unknown */
	uint32_t n_batches; /* number of batch sizes of the table, ascending */
	const uint32_t *batch;
	double load_s; /* time to load the model into memory, s */
	double weight_bytes, kv_bytes_per_token;
	double slo_s;                     /* limit of the time from arrival to completion, s; INFINITY: none */
	uint32_t longest;                 /* largest number of tokens of prompt and output, of a table its largest length; 0: no limit */
	double input_bytes, output_bytes; /* bytes per sample that cross the links of serve.front */
};
ORR_API uint32_t orr_models(const struct orr_serve *w);
ORR_API bool orr_model_get(const struct orr_serve *w, uint32_t model, struct orr_model_info *out);
/* Returns the number of the model of that name, or UINT32_MAX. */
ORR_API uint32_t orr_model_find(const struct orr_serve *w, const char *name);
/* Returns the latency, s, of a batch that runs alone on the replica; NAN if the table lacks it. */
ORR_API double orr_model_latency(const struct orr_serve *w, uint32_t replica, uint32_t model, uint32_t samples, uint32_t length);
/* Returns the time, s, from the start of such a run to the receipt of its answers if nothing else uses the links or the replica:
 * the latency above and, with serve.front, both transfers. NAN as above. */
ORR_API double orr_model_round_trip(const struct orr_serve *w, uint32_t replica, uint32_t model, uint32_t samples, uint32_t length);
/* Returns whether each run alone on a replica or beside others ends exactly its latency after its start, with an answer, and an abort takes
 * effect at once: no random times (noise), serve.interference, serve.front, serve.loss, pipeline stages or exit points. */
ORR_API bool orr_latencies_are_exact(const struct orr_serve *w);
/* The links between the front and the replicas (serve.front). */
enum orr_front_kind { ORR_FRONT_NONE, ORR_FRONT_SHARED, ORR_FRONT_PER_REPLICA };
struct orr_front_info {
	enum orr_front_kind kind;
	double bandwidth_Bps, latency_s; /* bandwidth and latency of a link in each direction; INFINITY and 0 without links */
};
ORR_API struct orr_front_info orr_front_get(const struct orr_serve *w);
/* Return the largest batch size of the table; the smallest size that is at least `samples` (0: none). */
ORR_API uint32_t orr_model_largest(const struct orr_serve *w, uint32_t model);
ORR_API uint32_t orr_model_batch_for(const struct orr_serve *w, uint32_t model, uint32_t samples);

/* ---- replicas ---- */

enum orr_replica_role { ORR_ROLE_BOTH, ORR_ROLE_PREFILL, ORR_ROLE_DECODE };
enum orr_replica_event {
	ORR_REPLICA_UP,       /* joined and ready */
	ORR_REPLICA_DRAINING, /* the replica accepts no new requests; it leaves when it is empty or its notice ends */
	ORR_REPLICA_DOWN      /* the replica has left; the world calls arrive() for its requests, whose progress is lost */
};
struct orr_replica_info {
	bool is_up, is_draining;
	enum orr_replica_role role;
	uint32_t model; /* number of the only model that the replica serves; UINT32_MAX: any model */
	uint32_t gpus, node, gpu_type;
	uint32_t runs;   /* number of batches that run or whose input is in transit, or 1 while an iteration runs */
	uint32_t queued; /* number of other runs, started with ORR_RUN_QUEUE, whose input is in transit, or whose turn has not come */
	uint32_t routed; /* number of live requests routed to the replica */
	uint32_t residents;
	double memory_bytes, memory_free_bytes; /* memory of all its GPUs; free: without weights and without the running
						 * batches of table models */
};
ORR_API uint32_t orr_replicas(const struct orr_serve *w); /* number n of replicas: 0 to n - 1; some may be down */
ORR_API bool orr_replica_get(const struct orr_serve *w, uint32_t replica, struct orr_replica_info *out);
ORR_API bool orr_replica_is_idle(const struct orr_serve *w, uint32_t replica); /* returns whether the replica is up and idle */
/* Returns the first idle replica with a number of at least `from`, or ORR_NO_REPLICA. */
ORR_API uint32_t orr_replica_idle_from(const struct orr_serve *w, uint32_t from);
/* Returns the number of live requests routed to the replica, waiting or running. */
ORR_API uint32_t orr_replica_routed(const struct orr_serve *w, uint32_t replica);
/* Request a schedule() call for the replica: at this instant, or at time at_s (>= now). A timer does not replace another one. */
ORR_API void orr_wake(struct orr_serve *w, uint32_t replica);
ORR_API void orr_serve_timer(struct orr_serve *w, uint32_t replica, double at_s);
/* Returns a uniform number in [0,1) from the policy's random stream. */
ORR_API double orr_serve_uniform(struct orr_serve *w);

/* ---- accuracy of an ensemble by the answers received (serve.quality) ---- */

/* Returns the number of sub-learners of serve.quality; 0: not set. */
ORR_API uint32_t orr_serve_quality_members(const struct orr_serve *w);
/* Returns the accuracy with the answers whose bits are set in `received` (bit k: sub-learner k); NAN if serve.quality is not set or has no
 * such sub-learner. */
ORR_API double orr_serve_quality(const struct orr_serve *w, uint64_t received);

/* ---- batches of table models ---- */

enum orr_run_flag {
	ORR_RUN_KEEP = 1,  /* at the end of the run its requests wait again: call orr_forward() or orr_complete() in run_end() */
	ORR_RUN_PART = 2,  /* the run gives one of several answers. Like ORR_RUN_KEEP; the requests are not routed to the replica. If it
			    * is lost they lose this run, whose answers never come, and are not restarted */
	ORR_RUN_QUEUE = 4, /* the input is sent now. The run waits on the replica until no other run computes there; waiting runs start in
			      the order in which their inputs arrive. A waiting run holds no memory, and the replica may be idle */
};
struct orr_batch {
	uint32_t model;
	const orr_req *req;
	size_t n;
	uint32_t samples; /* size of the batch, larger than the sum if padded; 0: the sum of the requests' samples */
	uint32_t length;  /* length after padding; 0: length of the longest request */
	double part;      /* share of the model's latency (0.5 for an early exit); 0: the whole latency */
	unsigned flags;
};
/* Starts a batch now; returns 0 on error. A request may be in several runs at once (students that share one input); it
 * completes with the last of them. With serve.front the input crosses a link first. Without ORR_RUN_QUEUE the replica is busy from
 * this call to the end of the computation. */
ORR_API orr_run orr_run_start(struct orr_serve *w, uint32_t replica, const struct orr_batch *b);
/* Returns whether the batch, started after delay_s, fits in memory beside the current runs at the times of their peaks. */
ORR_API bool orr_run_fits(const struct orr_serve *w, uint32_t replica, const struct orr_batch *b, double delay_s);
/* Returns whether the batch fits in the memory of the replica, which is up, if no other run and no other model is there. */
ORR_API bool orr_run_fits_alone(const struct orr_serve *w, uint32_t replica, const struct orr_batch *b);
/* Returns whether the batch, started now, fits if run `instead` is aborted. */
ORR_API bool orr_run_fits_instead(const struct orr_serve *w, uint32_t replica, const struct orr_batch *b, orr_run instead);
/* Returns the shortest delay after which the batch fits, given the current runs; INFINITY: never. */
ORR_API double orr_run_fits_after(const struct orr_serve *w, uint32_t replica, const struct orr_batch *b);

enum orr_abort_how {
	ORR_ABORT_RESTART, /* the run loses its progress; its requests wait again */
	ORR_ABORT_SAVE     /* the run is suspended until orr_run_resume(); it keeps its memory, progress and requests */
};
/* Aborts a run. Takes effect at the next exit point (serve.exit); with an exit_interval of 0, within this call. run_end() is not
 * called. A run whose input is in transit, or that is queued, is cancelled at once. */
ORR_API void orr_run_abort(struct orr_serve *w, orr_run run, enum orr_abort_how how);
ORR_API void orr_run_resume(struct orr_serve *w, orr_run run);
/* Return whether memory allows ORR_ABORT_SAVE now; orr_run_resume() now. */
ORR_API bool orr_run_can_save(const struct orr_serve *w, orr_run run);
ORR_API bool orr_run_can_resume(const struct orr_serve *w, orr_run run);

enum orr_run_phase {
	ORR_PHASE_SENDING,  /* the input is in transit */
	ORR_PHASE_QUEUED,   /* the input has arrived, and the run waits for its turn */
	ORR_PHASE_RUNNING,  /* the run computes or is suspended */
	ORR_PHASE_ANSWERING /* the answers are in transit, or have been received */
};
struct orr_run_info {
	uint32_t replica, model, samples, length;
	enum orr_run_phase phase;
	bool is_suspended, is_leaving; /* is_leaving: aborted, and not yet at its exit point */
	double started_s, ends_s;      /* ends_s: end of the computation at the current rates; INFINITY: not running */
	double later_s;                /* part of the computation in later pipeline stages, while the replica takes the next batch */
	double part_done;              /* 0..1, without later_s */
	size_t n;                      /* number of requests in the run */
	uint32_t preemptions;          /* largest number of preemptions of a request of the run */
};
ORR_API bool orr_run_get(const struct orr_serve *w, orr_run run, struct orr_run_info *out);
ORR_API orr_req orr_run_request(const struct orr_serve *w, orr_run run, size_t i);
/* Iterate over the runs of a replica in order of start, queued ones excluded; return 0 at the end. */
ORR_API orr_run orr_run_first(const struct orr_serve *w, uint32_t replica);
ORR_API orr_run orr_run_next(const struct orr_serve *w, orr_run run);

/* ---- answers of table models ---- A run gives each of its requests one answer, which has been received when run_end() is called. With
 * serve.loss an answer is lost with this probability: run_end() is not called for a lost answer, and the request remains in the run. */

struct orr_answer {
	uint32_t replica, model;
	double received_s;
};
/* Returns the number of answers received so far; 0 for a stale handle. */
ORR_API uint32_t orr_req_answers(const struct orr_serve *w, orr_req r);
/* Reads answer i of 0 .. orr_req_answers() - 1, in order of receipt. It is an error to read an answer that has not been received. */
ORR_API struct orr_answer orr_req_answer(struct orr_serve *w, orr_req r, uint32_t i);
/* Reads the answer of a replica, the first one if the replica gave several. It is an error to read an answer that has not been received. */
ORR_API struct orr_answer orr_req_answer_of(struct orr_serve *w, orr_req r, uint32_t replica);
/* Returns whether an answer of the replica has been received. */
ORR_API bool orr_req_has_answer(const struct orr_serve *w, orr_req r, uint32_t replica);
enum orr_late_how {
	ORR_LATE_DETACH, /* the runs continue without the request, and their answers to it are discarded */
	ORR_LATE_CANCEL  /* runs of this request alone are also cancelled, as by orr_run_abort() with ORR_ABORT_RESTART */
};
/* Takes a request out of all its runs, also out of runs whose answers are lost. The request then waits, with the answers received so far.
 */
ORR_API void orr_leave_runs(struct orr_serve *w, orr_req r, enum orr_late_how how);
/* Requests a timer() call for the request at time at_s (>= now). A timer does not replace another one. No call follows if the
 * request has ended by then. */
ORR_API void orr_req_timer(struct orr_serve *w, orr_req r, double at_s);

/* Models in a replica's memory; with serve.preloaded, all models are loaded at the start. A load takes the model's load_s, one model
 * at a time, while batches run; schedule() follows. orr_model_load() returns false if the weights do not fit. */
ORR_API bool orr_model_is_loaded(const struct orr_serve *w, uint32_t replica, uint32_t model);
ORR_API bool orr_model_load(struct orr_serve *w, uint32_t replica, uint32_t model);
ORR_API void orr_model_unload(struct orr_serve *w, uint32_t replica, uint32_t model);

/* ---- language models: residents, KV blocks, iterations ---- */

ORR_API uint32_t orr_kv_block_tokens(const struct orr_serve *w, uint32_t replica);
ORR_API uint32_t orr_kv_total(const struct orr_serve *w, uint32_t replica); /* blocks */
ORR_API uint32_t orr_kv_free(const struct orr_serve *w, uint32_t replica);  /* number of free blocks, including cached blocks without
									     * users */
ORR_API uint32_t orr_kv_held(const struct orr_serve *w, orr_req r);         /* blocks */
/* Returns the number of blocks for that many tokens. */
ORR_API uint32_t orr_kv_blocks(const struct orr_serve *w, uint32_t replica, uint32_t tokens);

/* Returns whether the empty cache of the replica holds the request: on a replica that prefills only its prompt, else all tokens up to the
 * end of its output. The world refuses requests at their arrival for the same reason; orr_assign() and orr_move() to a replica that can
 * never hold the request are errors. True for other models, and for a replica that is down. */
ORR_API bool orr_kv_can_hold(const struct orr_serve *w, uint32_t replica, orr_req r);
/* Makes a waiting or swapped-out request resident on its replica, with blocks for `tokens` tokens, and leaves at least keep_free
 * blocks free. Returns false, without effect, if too few blocks are free. The part of its prompt that is in the prefix cache counts
 * as processed. */
ORR_API bool orr_admit(struct orr_serve *w, orr_req r, uint32_t tokens, uint32_t keep_free);
/* Extends the blocks of a resident to `tokens` tokens. Returns false, without effect, if too few blocks are free. */
ORR_API bool orr_kv_grow(struct orr_serve *w, orr_req r, uint32_t tokens, uint32_t keep_free);
/* Returns the number of prompt tokens of the request in the prefix cache of the replica; 0 without a cache. */
ORR_API uint32_t orr_prefix_cached(const struct orr_serve *w, uint32_t replica, orr_req r);
/* The same, with the tokens behind these that the replica can load from DRAM, SSD or pool (serve.kv_dram, kv_ssd, kv_pool). */
ORR_API uint32_t orr_prefix_stored(const struct orr_serve *w, uint32_t replica, orr_req r);

enum orr_evict_how {
	ORR_EVICT_RESTART, /* frees the blocks of the request; its outputs so far become part of the prompt */
	ORR_EVICT_SWAP     /* copies the blocks of the request to the host at serve.swap_Bps; orr_admit() copies them back */
};
/* Evicts a resident, which then waits again. Not allowed while it is part of the running iteration. */
ORR_API void orr_evict(struct orr_serve *w, orr_req r, enum orr_evict_how how);
/* Pauses a resident whose prompt is complete: it leaves the decodes and keeps its blocks. orr_resume() ends the pause. Not allowed
 * during an iteration. */
ORR_API void orr_pause(struct orr_serve *w, orr_req r);
ORR_API void orr_resume(struct orr_serve *w, orr_req r);
ORR_API bool orr_is_decoding(const struct orr_serve *w, orr_req r); /* returns whether the prompt is complete and the request is not
								     * paused */

/* Iterate over the residents of a replica in order of admission. */
ORR_API orr_req orr_resident_first(const struct orr_serve *w, uint32_t replica);
ORR_API orr_req orr_resident_next(const struct orr_serve *w, orr_req r);
ORR_API uint32_t orr_residents(const struct orr_serve *w, uint32_t replica);
ORR_API uint32_t orr_decodes(const struct orr_serve *w, uint32_t replica); /* number of decoding residents */
/* Returns the number of blocks that the next iteration of all decodes allocates. A decode allocates one when its tokens exceed its
 * blocks. */
ORR_API uint32_t orr_decodes_need(const struct orr_serve *w, uint32_t replica);

enum orr_iter_flag {
	ORR_ITER_DECODE = 1,  /* the iteration includes one token of each decode */
	ORR_ITER_THROUGH = 2, /* arrivals do not end the repetition of the iteration */
	ORR_ITER_HOLD = 4     /* residents whose prompt ends join the decodes only after orr_resume() */
};
/* Adds `tokens` tokens of a resident's prompt to the next iteration. */
ORR_API void orr_iter_prefill(struct orr_serve *w, orr_req r, uint32_t tokens);
/*
 * Starts an iteration of the listed prompts (and, if flagged, all decodes) on an idle replica. An iteration without prompts is
 * repeated up to `most` times (0: no limit). The repetition ends when a resident completes, a request arrives at the replica, a
 * timer or orr_wake() is due, or fewer than keep_free blocks would be left. schedule() follows. The end of a prompt produces
 * the first output token. A request whose output is complete ends and frees its blocks.
 */
ORR_API void orr_iter_run(struct orr_serve *w, uint32_t replica, uint64_t most, uint32_t keep_free, unsigned flags);
/* Makes the running iteration the last of its repetition. */
ORR_API void orr_iter_cut(struct orr_serve *w, uint32_t replica);
/* Returns the time, s, of an iteration with `decodes` decodes, whose tokens done sum to `context`, and one prompt: `tokens` tokens
 * after `before` processed ones. */
ORR_API double orr_iter_estimate(
	const struct orr_serve *w, uint32_t replica, uint32_t decodes, double context, uint32_t tokens, uint32_t before);

/*
 * With serve.pipeline=micro-batches a replica of several pipeline stages has up to orr_micro_stages() *micro-batches* in flight: an
 * iteration over some of the residents, whose tokens appear when it leaves the last stage. orr_iter_prefill() and orr_micro_decode()
 * list its members, orr_iter_run() starts it, with no flags; it is not repeated. Members are fixed from then on: they cannot be
 * listed again or evicted before it ends. schedule() follows each end of a micro-batch. A policy that uses these functions declares
 * ORR_SERVE_STAGES. docs/models/serve-pipeline.md.
 */
/* Returns the number of stages through which micro-batches pass; 1: the replica runs one iteration at a time, as above. */
ORR_API uint32_t orr_micro_stages(const struct orr_serve *w, uint32_t replica);
/* Returns the number of iterations or micro-batches that may start now. */
ORR_API uint32_t orr_micro_slots(const struct orr_serve *w, uint32_t replica);
/* Adds one token of a resident whose prompt is complete to the next micro-batch. Takes a free block if the request has filled its
 * blocks. */
ORR_API void orr_micro_decode(struct orr_serve *w, orr_req r);
/* Returns whether the resident is in the running iteration, in a micro-batch in flight, or listed. */
ORR_API bool orr_req_in_flight(const struct orr_serve *w, orr_req r);
/* Returns the next resident that has left a micro-batch, or was admitted with a complete prompt, since the last call, in order (members
 * of a micro-batch in the order of their listing); 0: none. */
ORR_API orr_req orr_micro_returned(struct orr_serve *w, uint32_t replica);

/*
 * A policy that declares ORR_SERVE_BY_STAGE starts work on each pipeline stage itself, also on replicas of one stage. For stage 0 it
 * lists requests by orr_iter_prefill() and orr_micro_decode(), for later stages by orr_stage_add(); orr_stage_run() starts the stage.
 * Requests that leave a stage are handed out by orr_micro_returned(), and wait at the next one; those that leave the last stage have
 * their tokens. A request cannot be evicted between the first stage and the end of the last one.
 */
ORR_API void orr_stage_add(struct orr_serve *w, orr_req r);
ORR_API void orr_stage_run(struct orr_serve *w, uint32_t replica, uint32_t stage);
/* On a replica of one stage: lists the decodes of the run that ended last, in order, and runs them again, if no other resident has been
 * returned since, all of them are idle, their tokens done sum to at most `most`, and each that needs a block finds one. Returns false,
 * without effect, if not; else orr_micro_returned() does not hand them out. */
ORR_API bool orr_stage_again(struct orr_serve *w, uint32_t replica, uint64_t most);
ORR_API bool orr_stage_is_idle(const struct orr_serve *w, uint32_t replica, uint32_t stage);
/* Returns the stage at which the resident waits or runs; 0: it is between two iterations, or at the first stage. */
ORR_API uint32_t orr_req_stage(const struct orr_serve *w, orr_req r);
/* Returns the number of requests that wait on the replica of a language model, evicted ones included: neither resident nor being sent
 * away. */
ORR_API uint32_t orr_replica_waiting(const struct orr_serve *w, uint32_t replica);
/* Returns the number of requests whose KV cache is being sent to the replica. */
ORR_API uint32_t orr_replica_incoming(const struct orr_serve *w, uint32_t replica);

/* Sends a resident with its KV cache to another replica over the network. After the transfer its blocks are freed, and the world
 * calls arrive() at the other replica. The request waits there with its tokens done; orr_admit() makes it resident. */
ORR_API void orr_move(struct orr_serve *w, orr_req r, uint32_t replica);

/* ---- claims, series and errors of the policy ---- */

/* Claims ORR_WORK_CONSERVING or ORR_SLO_GUARDED (policy.h) for these parameters; in create() only. --check verifies the claim: a
 * violation fails the run with an error that names request, time and action. */
ORR_API void orr_serve_claim(struct orr_serve *w, unsigned claims);

/* States why requests on the replica wait after this call ("limit max_batch"), for --record explain; the text is copied. Holds until the
 * next schedule() of the replica that finds it idle. A failed orr_admit() needs no statement. */
ORR_API void orr_serve_why(struct orr_serve *w, uint32_t replica, const char *why);

/* Adds a value to a series of the policy; the mean of the series becomes a metric of this name. */
ORR_API void orr_serve_observe(struct orr_serve *w, const char *name, double value);
/* Like orr_serve_observe(), with one value per request: the mean has a confidence interval. */
ORR_API void orr_req_observe(struct orr_serve *w, orr_req r, const char *name, double value);
/* Ends the run with the policy's error message. */
ORR_API void orr_serve_give_up(struct orr_serve *w, orr_req r, const char *message);

/* ---- functions of a policy ---- */
struct orr_serve_ops {
	/* Returns the policy's object, or NULL with *err filled in if parameters are invalid. Replicas and models are known. */
	void *(*create)(struct orr_serve *w, const struct orr_args *args, struct orr_error *err);
	void (*destroy)(void *self);
	/* Returns the replica of a new request. ORR_NO_REPLICA: none yet, so the request waits in the policy's queue until
	 * orr_assign(). ORR_ANY_REPLICA: the router chooses. NULL: serve.router decides. An explicit serve.router overrides this
	 * function. */
	uint32_t (*route)(void *self, struct orr_serve *w, orr_req r);
	/* A request is new, lost its replica, or has moved to another one (done_tokens > 0). */
	void (*arrive)(void *self, struct orr_serve *w, orr_req r);
	/* A request has ended; its handle is valid until this returns. Must not act. May be NULL. */
	void (*finish)(void *self, struct orr_serve *w, orr_req r, enum orr_req_end how);
	/* A batch has ended; its handle is valid until this returns. May be NULL. */
	void (*run_end)(void *self, struct orr_serve *w, orr_run run);
	/* The state of the replica changed, or a timer is due: starts work. */
	void (*schedule)(void *self, struct orr_serve *w, uint32_t replica);
	/* A replica joined, drains or left. May be NULL. */
	void (*replica)(void *self, struct orr_serve *w, uint32_t replica, enum orr_replica_event event);
	/* A timer of the request is due (orr_req_timer()). May be NULL. */
	void (*timer)(void *self, struct orr_serve *w, orr_req r);
};

/*
 * Declares a policy of the serving world: see policy.h. ORR_NEEDS_ORACLE: sees true output lengths. ORR_MAY_ORACLE: only with
 * some of its parameters. ORR_WORK_CONSERVING: never idles a replica that has queued work. ORR_SERVE_ROLES: distinguishes
 * prefill and decode replicas itself. ORR_SERVE_HANDS_OFF: at the end of a prompt on a prefill replica the world sends the request to a
 * decode replica (serve.decode_router), where it arrives with done_tokens > prompt_tokens; so residents may leave without an action of the
 * policy. All other policies refuse a scenario whose deployments have such roles. ORR_SERVE_STAGES: forms micro-batches; all other policies
 * refuse serve.pipeline=micro-batches with replicas of several stages.
 */
#define ORR_POLICY_SERVE_FLAGS(ident, doc, flags, params, ops) \
	ORR_POLICY_DECLARE(serve_##ident, ident, doc, "serve", flags, params, struct orr_serve_ops, ops)
#define ORR_POLICY_SERVE(ident, doc, params, ops) ORR_POLICY_SERVE_FLAGS(ident, doc, 0u, params, ops)
#define ORR_POLICY_SERVE_ORACLE(ident, doc, params, ops) ORR_POLICY_SERVE_FLAGS(ident, doc, ORR_NEEDS_ORACLE, params, ops)

#ifdef __cplusplus
}
#endif
#endif
