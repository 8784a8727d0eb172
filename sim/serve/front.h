/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * front.h - the links between the front, which takes requests and gives answers, and the replicas (serve.front; front.c)
 *
 * Each link has two directions that do not share bandwidth. With `shared`, all inputs share one link, and all answers; with
 * `per-replica`, each replica has its own. Invariant: w->front is NULL exactly if serve.front=none. Bytes are counted when they are
 * sent: sent = received + lost + in flight.
 */
#ifndef ORR_SERVE_FRONT_H
#define ORR_SERVE_FRONT_H

#include "serve/runs.h"

struct share;

/* One direction of a link. */
struct front_link {
	struct share *share;
	struct eng_event event; /* event at awaited_ns */
	int64_t awaited_ns;     /* ORR_NEVER: no event is pending */
};

struct front {
	uint32_t n;             /* number of links: 1, or replicas */
	struct front_link *in;  /* directions to the replicas, [n] */
	struct front_link *out; /* directions to the front, [n] */
	/* Bytes of inputs and of answers. */
	double sent_in, sent_out, received_in, received_out, lost;
	/* The input or the answers of the run have been received; set by runs.c. */
	void (*on_input)(struct orr_serve *w, struct run *x);
	void (*on_answer)(struct orr_serve *w, struct run *x, double at_s);
};

void front_begin(struct orr_serve *w);
void front_free(struct orr_serve *w);
/* Sends the input of a run to its replica now. */
void front_send(struct orr_serve *w, struct run *x);
/* Sends the answers of a run to the front now. */
void front_answer(struct orr_serve *w, struct run *x);
/* Cancels the transfer of the run's input or answers. The bytes sent so far are lost. */
void front_cancel(struct orr_serve *w, struct run *x);
/* Returns the time, s, of a transfer that has its link alone; 0 without links. */
double front_alone_s(const struct orr_serve *w, double bytes);
/* Returns the law that is broken, or NULL. For --check. */
const char *front_verify(const struct orr_serve *w);
/* Adds the metrics of the links to the result. */
void front_measure(struct orr_serve *w);

/* Returns whether the answer of the replica to the request is lost (serve.loss). The result is the same for every run and policy. */
bool front_loses(const struct orr_serve *w, const struct req *q, uint32_t replica);

#endif
