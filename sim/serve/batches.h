/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * batches.h - what batches.c and preempt.c share
 *
 * Invariant: a running run has exactly one pending event, its end or, if it is leaving, the exit point before that; a
 * suspended one has none. Both are in the list of their replica, which counts the running ones alone.
 */
#ifndef ORR_SERVE_BATCHES_H
#define ORR_SERVE_BATCHES_H

#include "serve/world.h"

/* Progress up to now is booked; from now on at the same rate. */
void run_settle(const struct orr_serve *w, struct run *x);
/* Its event, from what is left and its rate; there is none pending. */
void run_set_end(struct orr_serve *w, struct run *x);
/* Goes on from now, beside what runs there. */
void run_go(struct orr_serve *w, struct run *x);
/* Who runs on the replica has changed: new rates. */
void run_rerate(struct orr_serve *w, uint32_t replica);
void run_count(struct orr_serve *w, uint32_t replica, int by);
/* Off its replica; its requests still count it. */
void run_stop(struct orr_serve *w, struct run *x);
void run_free(struct orr_serve *w, struct run *x);
/* At an exit point: gone or suspended. */
void run_leave(struct orr_serve *w, struct run *x);

#endif
