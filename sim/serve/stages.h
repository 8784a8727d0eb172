/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stages.h - pipeline stages of a lane with several micro-batches in flight (serve.pipeline=micro-batches)
 *
 * stages.c: state and its checks. micro.c: micro-batches from forming to their end. docs/models/serve-pipeline.md.
 *
 * A micro-batch is an iteration over some of the residents. It is formed while a slot is free (a lane has as many slots as stages),
 * and its members are fixed from then on. It passes the stages in order; a stage runs one micro-batch at a time, first come, first
 * served. Its tokens appear when it leaves the last stage, which also frees its slot.
 *
 * Decodes of such a lane advance one by one, not by the lane's clock (lane.h): a request in no micro-batch does not advance. Their
 * tokens done and outputs are exact in struct req, and req.heap_at is NONE. req.next_tokens is the number of tokens of a request in a
 * micro-batch that is in flight or under construction; 0: the request is idle. lane.is_flying: a micro-batch is in flight.
 *
 * *By stage* (policies with ORR_SERVE_BY_STAGE): the policy starts work on each stage itself, of requests that wait there. micro[i] is
 * what stage i runs. req.next_tokens is set from the first stage to the end of the last one.
 *
 * Invariants: micro-batches in flight + free ones = stages. Each one in flight is in the queue of one stage or runs there. A resident
 * is in at most one micro-batch.
 */
#ifndef ORR_SERVE_STAGES_H
#define ORR_SERVE_STAGES_H

#include "base/mem.h"
#include "serve/lane.h"

struct micro {
	uint32_t *member, n, cap; /* slots of requests, in the order in which the policy listed them */
	struct llm_load load;
	double start_s; /* start of the first stage */
	uint32_t next;  /* in the queue of a stage, and in the list of free ones; NONE: the last */
};

struct stage {
	uint32_t first, last;   /* queue of micro-batches that wait; NONE: none */
	uint32_t running;       /* NONE: none */
	double end_s;           /* running: end */
	uint64_t order;         /* running: number of the start, which decides between equal ends */
	struct eng_event event; /* running: end */
};

struct stages {
	bool is_by_stage;
	uint32_t n; /* stages, and micro-batches */
	struct stage *stage;
	struct micro *micro;
	uint32_t in_flight, free; /* free: first of a list; NONE: none */
	uint64_t starts;
	uint32_t decodes; /* number of residents whose prompt is complete */
	/* Residents that left a micro-batch, or joined with a complete prompt, in order; orr_micro_returned() hands them out. */
	orr_req *back;
	uint32_t n_back, at_back, cap_back;
	/* By stage, on a replica of one stage: the first n_again members of micro[0] have left the stage. They decode, and belong at the
	 * front of `back`. */
	uint32_t n_again;
};

/* ---- stages.c ---- */
void stages_open(struct lane *l, uint32_t n, bool is_by_stage);
void stages_free(struct stages *s);
/* Adds a resident whose prompt is complete. */
void stages_join(struct orr_serve *w, struct lane *l, const struct req *q);
/* Hands a resident to the policy again. */
static inline void stages_return(struct orr_serve *w, struct stages *s, const struct req *q)
{
	MEM_GROW(s->back, s->n_back, s->cap_back);
	s->back[s->n_back++] = req_handle(w, req_slot(w, q));
}
/* Moves the members that could run again to the list of returned residents. */
void stages_return_again(struct orr_serve *w, struct stages *s);
/* Counts a resident that leaves. */
static inline void stages_leave(struct orr_serve *w, struct stages *s, struct req *q)
{
	if (s->n_again)
		stages_return_again(w, s);
	s->decodes -= q->done > q->prompt;
	q->stage = 0;
	q->is_on_stage = false;
	q->stamp = 0;
}
/* Returns whether the request is a resident with a complete prompt of a lane with stages. */
bool stages_is_decoding(const struct orr_serve *w, const struct req *q);
/* Returns the violated law, or NULL. */
const char *stages_check(const struct orr_serve *w, const struct lane *l);

/* ---- micro.c ---- */
/* Starts a micro-batch of the listed requests at start_s. */
void micro_run(struct orr_serve *w, struct lane *l, double start_s, unsigned flags);
/* By stage: runs the listed requests on a stage that is idle. */
void micro_run_stage(struct orr_serve *w, struct lane *l, uint32_t stage, double start_s);
/* By stage, on a replica of one stage: runs the decodes that left the stage last again, unless the replica has other idle work
 * (orr_stage_again()). Returns whether it runs them. */
bool micro_run_again(struct orr_serve *w, struct lane *l, uint64_t most, double start_s);
/* Handles the loss of the replica: all micro-batches end without a result. */
void micro_abandon(struct orr_serve *w, struct lane *l);

#endif
