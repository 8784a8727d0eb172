/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * requests.h - requests: slots and handles, policies' lists, arrival and end (requests.c)
 *
 * Invariant: a live request is waiting, in `runs` + `silent` > 0 runs, resident on one replica, or moving between two.
 */
#ifndef ORR_SERVE_REQUESTS_H
#define ORR_SERVE_REQUESTS_H

#include "serve/world.h"

/* Why a request was refused or shed. */
enum req_reason {
	REASON_NONE,
	REASON_CONTEXT,     /* prompt and output exceed the model's context */
	REASON_KV,          /* prompt and output exceed the KV cache of every replica */
	REASON_BATCH,       /* the model's table lacks the size or length of the request */
	REASON_MEMORY,      /* the batch of the request exceeds the memory of every replica */
	REASON_NO_REPLICA,  /* no deployment serves the model of the request */
	REASON_QUEUE_LIMIT, /* serve.queue_limit */
	REASON_DEADLINE,    /* serve.shed */
	REASON_POLICY,      /* orr_refuse() */
	REASONS
};

struct req {
	uint32_t generation;
	uint8_t state, how; /* enum orr_req_state, orr_req_end */
	uint8_t why;        /* enum req_reason */
	bool is_paused, is_swapped;
	bool is_on_stage; /* by stage (stages.h): a stage runs the request now */
	uint16_t stage;   /* by stage: the stage that runs it now, or will run it next */
	uint64_t stamp;   /* stamp of the last batch that contains the request */
	bool is_known;    /* arrive() has been called */
	bool has_come;    /* autoscaling by rate has counted the request before it was routed */
	bool is_arriving; /* arrive() is due */
	bool is_copying;  /* blocks of its prompt are in transit (copy.c); the policy cannot start it */
	uint64_t number, session, mark;
	double arrival_s, deadline_s, first_start_s, first_token_s, last_token_s;
	uint32_t id, model, replica, samples, priority;
	uint32_t on_prev, on_next; /* links of the list of live requests on the replica */
	uint32_t prompt_asked, output_asked, max_output;
	uint32_t preemptions, restarts;
	uint32_t q_prev, q_next; /* links of the policy's list */
	struct orr_fifo *list;   /* the policy's list; NULL: in no list */
	/* batches */
	uint32_t runs;                               /* number of runs that contain the request */
	uint32_t silent;                             /* number of runs of the request whose answer is lost */
	bool has_left;                               /* the request left a run before the answer was received, or gave up a lost answer */
	uint32_t first_in;                           /* first entry of the list of the request's runs (runs.h); NONE: in no run */
	uint32_t answers, first_answer, last_answer; /* answers.c */
	/* language models */
	uint32_t prompt, done; /* done: exact if the request does not decode; while it decodes, add (lane clock - joined) */
	uint32_t outputs;      /* output tokens so far; while the request decodes, add (lane clock - joined) */
	uint64_t joined;       /* lane clock at which it joined the decodes */
	uint32_t heap_at;      /* index in the lane's heap of ends; NONE: not decoding */
	uint32_t next_tokens;  /* number of prompt tokens in the listed or running iteration; 0: none */
	uint32_t res_prev, res_next;
	uint32_t kv_held;          /* number of blocks of the request that are not shared */
	uint32_t n_blocks, shared; /* number of hashes of its prompt; number of these blocks that it shares with the prefix cache */
	const uint64_t *block;
	uint32_t *entry;     /* [shared]: their entries in the prefix cache */
	uint32_t cap_entry;  /* memory of the slot too */
	uint64_t *own_block; /* memory of the slot for hashes of a generated request; kept for the slot's next request */
	uint32_t cap_own;
	double max_gap_s;            /* longest time between two tokens */
	uint32_t later_at, fresh_at; /* see lane.h; valid while the request decodes */
	uint64_t gap_from;           /* lane clock from which the lane's gaps apply to the request */
	uint32_t kv_at;              /* waiting, done > 0: the replica that holds its tokens */
	uint32_t set_aside;          /* moving: number of blocks set aside for it on kv_at, where it moves to */
	uint32_t move;               /* number of its transfer, while it is moving */
	uint32_t tests;              /* number of draft tokens that the target has checked so far (speculate.c) */
	uint32_t copies;             /* number of copies of prefixes so far (copy.c) */
	uint32_t next_ended;         /* list of the requests that ended in this instant */
};

static inline orr_req req_handle(const struct orr_serve *w, uint32_t slot)
{
	return (uint64_t)w->req[slot].generation << 32 | (slot + 1u);
}
/* Ends the run with an error if the handle is not 0, which means none. */
void serve_refuse_handle(const struct orr_serve *w, orr_req r);
/* Returns the request of a handle; NULL if the handle is stale. */
static inline struct req *req_of(const struct orr_serve *w, orr_req r)
{
	uint32_t slot = (uint32_t)r - 1u;
	if (slot >= w->n_req || w->req[slot].generation != r >> 32)
		return NULL;
	return &w->req[slot];
}
/* The same. A handle that no request ever had ends the run. */
static inline struct req *req_asked(const struct orr_serve *w, orr_req r)
{
	struct req *q = req_of(w, r);
	if (!q && (uint32_t)r - 1u >= w->n_req)
		serve_refuse_handle(w, r);
	return q;
}
static inline uint32_t req_slot(const struct orr_serve *w, const struct req *q)
{
	return (uint32_t)(q - w->req);
}

/* Returns the number of tokens in the KV cache when the last output is computed; the last token has no entry. */
static inline uint64_t req_whole(const struct req *q)
{
	return (uint64_t)q->prompt_asked + q->output_asked - 1;
}

/* Frees all requests. */
void req_free_all(struct orr_serve *w);
/* Returns a waiting request of which the policy does not know yet; NULL, with w->error set, if its model is not served. */
struct req *req_new(struct orr_serve *w, const struct request_rec *rec);
/* Returns the hashes of a request for use after the next row of a generator, which ends those of this one: copies them to *own, of size
 * *cap. */
const uint64_t *req_keep_blocks(const struct orr_serve *w, const uint64_t *block, uint32_t n, uint64_t **own, uint32_t *cap);
/* Sets at least one token of prompt and of output for a request of a language model; formats without tokens have 0. */
void req_set_tokens(const struct orr_serve *w, struct req *q);
/* Refuses or sheds a request: req_end() with a reason. */
void req_turn_away(struct orr_serve *w, struct req *q, enum orr_req_end how, enum req_reason why, double at_s);
/* Ends a request that holds no blocks. finish() is called before the next schedule(); the slot is freed at the end of the
 * instant. No-op if it has ended. */
void req_end(struct orr_serve *w, struct req *q, enum orr_req_end how, double at_s);
void req_release_ended(struct orr_serve *w);
/* Removes the request from the policy's list. */
void req_unlist(struct orr_serve *w, struct req *q);
/* Returns the request of an action if actions are allowed and it is in that state; else fails the run and returns NULL. */
struct req *req_actor(struct orr_serve *w, orr_req r, enum orr_req_state state, const char *what);

#endif
