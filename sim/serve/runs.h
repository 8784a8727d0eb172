/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * runs.h - runs of batches of table models (runs.c); batches.c starts them, preempt.c aborts and resumes them, late.c takes
 * requests out of them
 *
 * Invariants: a running run has exactly one pending event: its end or, if it is leaving, the earlier exit point. A run whose input
 * or answers are being sent has a flow on a link of the front (front.h). A run is in one list of its replica: `queued` (sent or
 * waiting for its turn, started with ORR_RUN_QUEUE), or the list of runs that hold the replica, of which n_runs counts those that
 * compute and n_reserved those whose input is in flight. Runs in later pipeline stages (RUN_LATER) are in a separate list and
 * have one pending event; they hold neither the replica nor memory. Runs whose answers are being sent are in no list. Each request
 * has a list of its runs: req.first_in is the slot of one, and next_in[i] of a run that of the next run of its member i.
 */
#ifndef ORR_SERVE_RUNS_H
#define ORR_SERVE_RUNS_H

#include "serve/world.h"

enum run_state { RUN_FREE, RUN_SENDING, RUN_QUEUED, RUN_RUNNING, RUN_SUSPENDED, RUN_LATER, RUN_ANSWERING, RUN_OVER };
struct run {
	uint32_t generation;
	uint8_t state; /* enum run_state */
	bool keeps;    /* ORR_RUN_KEEP or ORR_RUN_PART */
	bool is_part, queues;
	uint32_t replica, model, samples, length;
	uint32_t n, cap;
	orr_req *handle; /* its requests */
	uint32_t *next_in;
	double started_s;
	double alone_s;           /* duration of the run if no other run shares the replica */
	double later_s;           /* time in later pipeline stages after alone_s; 0: none */
	double whole_s;           /* alone_s with all layers of the model (orr_batch.part) */
	double left_s;            /* rest of alone_s at rate_from_s */
	double exit_left_s;       /* leaving: work left at the exit point */
	double rate, rate_from_s; /* progress per second; depends on the other runs of the replica */
	struct served_memory memory;
	uint32_t asked, flow; /* samples of its requests; transfer of its input or its answers (front.h) */
	double bytes;         /* bytes of this transfer */
	struct eng_event end;
	double end_s;
	int leaving;         /* enum orr_abort_how of the abort at the next exit point; -1: the run is not leaving */
	uint32_t prev, next; /* links of the run's list on the replica */
};

static inline uint32_t run_slot(const struct orr_serve *w, const struct run *x)
{
	return (uint32_t)(x - w->run);
}
static inline orr_run run_handle(const struct orr_serve *w, uint32_t slot)
{
	return (uint64_t)w->run[slot].generation << 32 | (slot + 1u);
}
/* Returns the run of a handle; NULL if the handle is stale. */
static inline struct run *run_of(const struct orr_serve *w, orr_run r)
{
	uint32_t slot = (uint32_t)r - 1u;
	if (slot >= w->n_run || w->run[slot].generation != r >> 32)
		return NULL;
	return &w->run[slot];
}
/* Returns whether the run still has requests: their answers have not been received. */
static inline bool run_is_live(const struct run *x)
{
	return x->state != RUN_FREE && x->state != RUN_OVER;
}
/* Returns whether the run is on a replica: it has not ended its computation there. */
static inline bool run_is_here(const struct run *x)
{
	return run_is_live(x) && x->state != RUN_ANSWERING && x->state != RUN_LATER;
}
/* Returns the seconds of alone_s that are left now. */
static inline double run_left(const struct orr_serve *w, const struct run *x)
{
	if (x->state != RUN_RUNNING)
		return x->left_s;
	double left = x->left_s - (w->now_s - x->rate_from_s) * x->rate;
	return left > 0 ? left : 0;
}

/* Makes the links of the front. */
void runs_begin(struct orr_serve *w);
/* Returns a slot with the handle and cap of its last use. */
struct run *run_new(struct orr_serve *w);
/* Adds a request to a run that has room for it. */
void run_add(struct orr_serve *w, struct run *x, struct req *q);
/* Sends the input of a new run. The run computes when its input has arrived and, if it is queued, when no earlier run computes on
 * the replica. */
void run_begin(struct orr_serve *w, struct run *x);
/* Starts the computation of a run, concurrently with the other runs of the replica. */
void run_go(struct orr_serve *w, struct run *x);
/* Starts the first queued run of the replica if no other run runs there and it fits into memory. */
void run_next(struct orr_serve *w, uint32_t replica);
/* Removes a run that is queued, or whose input or answers are being sent. Removes the run from its requests. */
void run_cancel(struct orr_serve *w, struct run *x);
/* Adds the progress up to now; the rate does not change. */
void run_settle(const struct orr_serve *w, struct run *x);
/* Schedules the event of the run from left_s and rate; no other may be pending. */
void run_set_end(struct orr_serve *w, struct run *x);
/* Aborts or suspends a run at an exit point, according to x->leaving. */
void run_leave(struct orr_serve *w, struct run *x);

/* Removes all runs of a lost replica. */
void runs_lost(struct orr_serve *w, uint32_t replica);
/* Removes a request from a run that contains it; the run continues. */
void run_drop(struct orr_serve *w, struct run *x, struct req *q);
/* Takes a request out of all its runs; it waits (late.c). */
void leave_runs(struct orr_serve *w, struct req *q, enum orr_late_how how);
/* Aborts a run that computes or is suspended, at its next exit point (preempt.c). */
void run_abort(struct orr_serve *w, struct run *x, enum orr_abort_how how);
/* Removes a request from every run that contains it; the runs continue. */
void runs_detach(struct orr_serve *w, struct req *q);
/* Frees the runs whose run_end() has been called. */
void runs_release_over(struct orr_serve *w);
void runs_free(struct orr_serve *w);

#endif
