/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * explain.h - where the time of each request went (--record explain); docs/howto/explain.md
 *
 * Each request is in one class of time (enum spent) at each instant of the clock, in ns. The classes of requests that wait on a
 * replica, and those of its decodes, are shared: a *line* holds the class of all of them, and the sum of its time in each class. A
 * request stores the sums when it joins a line; the differences when it leaves are its own times. So an iteration costs O(1) for
 * any number of waiting requests and of decodes.
 *
 * A *phase* is a wait, the prompt, the decodes, a transfer, or a stay in runs. At its end, each class of the phase gives one part. The
 * parts of a phase are in the order of enum spent, which need not be the order in which the times alternated.
 *
 * All functions are no-ops unless w->explain is set. They change nothing else, so the results are the same without them.
 */
#ifndef ORR_SERVE_EXPLAIN_H
#define ORR_SERVE_EXPLAIN_H

#include "serve/world.h"

struct lane;
struct run;

void explain_begin(struct orr_serve *w);
/* Moves the parts to the result. */
void explain_end(struct orr_serve *w);
void explain_free(struct orr_serve *w);

/* The request has arrived: it waits. */
void explain_arrived(struct orr_serve *w, const struct req *q);
/* The request begins to wait, or waits on another replica, or has turned out to lack a replica. */
void explain_waits(struct orr_serve *w, const struct req *q);
/* The request begins to wait for a replica that can hold it: none is up. */
void explain_lacks_replica(struct orr_serve *w, const struct req *q);
/* The request, or the world, ended at at_s. */
void explain_ended(struct orr_serve *w, const struct req *q, double at_s);
/* schedule() of the replica is about to be called, or has returned. */
void explain_asked(struct orr_serve *w, uint32_t replica);
void explain_answered(struct orr_serve *w, uint32_t replica);
/* The policy states why requests wait on the replica. Requires that w->explain is set. */
void explain_limit(struct orr_serve *w, uint32_t replica, const char *why);

/* ---- language models ---- */

/* orr_admit() failed: the request needs `blocks` free blocks. Returns whether explain_holder() is due. Requires that w->explain is set. */
bool explain_lacks_blocks(struct orr_serve *w, const struct lane *l, const struct req *q, uint32_t blocks);
/* The resident q holds the most blocks of the lane; NULL: there is no resident. */
void explain_holder(struct orr_serve *w, const struct lane *l, const struct req *q, uint64_t held);
/* The request has become resident. */
void explain_admitted(struct orr_serve *w, const struct req *q);
/* The request joins the decodes of the lane. */
void explain_decodes(struct orr_serve *w, const struct lane *l, const struct req *q);
/* The policy pauses the decode. */
void explain_paused(struct orr_serve *w, const struct req *q);
/* The request stops being resident and loses `tokens` processed tokens; explain_waits() follows. */
void explain_evicted(struct orr_serve *w, const struct req *q, uint32_t tokens);
/* The KV cache of the request starts to move to another replica. */
void explain_moves(struct orr_serve *w, const struct req *q);
/* An iteration starts that has prompts, is the first after an idle time, or waits for copies. */
void explain_iteration(struct orr_serve *w, const struct lane *l);
/* The iteration in flight ends now; its tokens are not counted yet. */
void explain_landed(struct orr_serve *w, const struct lane *l);
/* No iteration follows now. */
void explain_rests(struct orr_serve *w, const struct lane *l);

/* A micro-batch (stages.h) was formed of these requests; enters the first stage; leaves the last stage; its tokens are counted, so
 * that its members are idle. */
void explain_micro_formed(struct orr_serve *w, uint32_t replica, const uint32_t *member, uint32_t n);
void explain_micro_starts(struct orr_serve *w, const uint32_t *member, uint32_t n);
void explain_micro_ends(struct orr_serve *w, const uint32_t *member, uint32_t n);
void explain_micro_idle(struct orr_serve *w, const uint32_t *member, uint32_t n);

/* ---- table models ---- */

/* The state or the rate of the run has changed. */
void explain_run(struct orr_serve *w, const struct run *x);
/* The set of the request's runs has changed. */
void explain_runs_of(struct orr_serve *w, const struct req *q);
/* The run has lost its progress. */
void explain_lost(struct orr_serve *w, const struct run *x);

#endif
