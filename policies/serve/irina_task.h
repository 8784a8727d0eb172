/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * irina_task.h - Irina's tasks, and its GPUs with what runs and waits there
 *
 * A task is a batch of requests that runs, waits or is merged as one. A GPU (a replica) has up to IRINA_MOST running tasks,
 * perhaps one that is to start as soon as it can (`next`: memory, or the exit point of an aborted run, is waited for), and
 * a queue. Invariant: the mark of a request is the address of its task until that runs to its end; over a queue
 * weight = sum B_j and span = sum L_j, as they were when each was queued.
 */
#ifndef ORR_POLICIES_IRINA_TASK_H
#define ORR_POLICIES_IRINA_TASK_H

#include <orrery/serve.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IRINA_MOST = 16 };

struct task {
	orr_req *req;
	uint32_t n, cap;
	uint32_t model, samples, length; /* as it runs */
	double weight;                   /* samples of its requests */
	double arrival_s, deadline_s;    /* the earliest */
	double latency_s;                /* on its GPU */
	double weight_to, span_to;       /* of the queue up to and with it, see weight_pushed; with merge_queued of open ones alone */
	uint32_t heap_at;                /* in its GPU's heap, plus 1; 0: not there */
	uint32_t preemptions;
	uint32_t gpu; /* ORR_NO_REPLICA: nowhere yet */
	bool is_queued;
	orr_run run; /* 0: does not run */
	struct task *before, *behind;
};

struct irina_gpu {
	struct task *running[IRINA_MOST];
	uint32_t n_running;
	struct task *next;
	double next_s; /* when it is to start */
	struct task *first, *last;
	double weight, span;
	double weight_pushed, span_pushed; /* of all that was ever queued at the end; of a queued task's weight_to and span_to */
	double weight_popped, span_popped; /* of all that left at the front */
	struct task **heap;                /* those that wait and may still be in time, the one with the least to spare first */
	uint32_t n_heap, cap_heap;
	struct task **open; /* [model] the last one queued, with which others may be merged */
};

struct irina_gpus {
	struct irina_gpu *gpu;
	uint32_t n, models;
	bool keeps_heaps;
};

bool irina_begin(struct irina_gpus *s, struct orr_serve *w);
void irina_end(struct irina_gpus *s);
bool irina_all_loaded(const struct irina_gpus *s, const struct orr_serve *w); /* every model wherever it may run */

/* A task of one request; NULL: it was refused, or there is no memory. */
struct task *irina_task(struct irina_gpus *s, struct orr_serve *w, orr_req r);
/* No GPU is up that could ever run it: it waits for one. */
void irina_no_place(struct irina_gpus *s, struct orr_serve *w, struct task *t);
/* Seconds that the task takes on the GPU; NAN: it does not run there. */
double irina_latency(const struct orr_serve *w, uint32_t gpu, const struct task *t);
/* The size at which both run as one; 0: not in the table. */
uint32_t irina_merged(const struct orr_serve *w, uint32_t gpu, const struct task *a, const struct task *b, bool pads);
/* From now, when the last of what runs (or is to start next) ends. */
double irina_last_end(const struct orr_serve *w, const struct irina_gpu *g);

void irina_push_back(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu, struct task *t);
void irina_push_front(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu, struct task *t);
/* By how much the last run may end later without making one late that waits and is in time, as projected; needs keeps_heaps. */
double irina_spare(const struct orr_serve *w, struct irina_gpu *g);
/* Aborts a running task, which is then nowhere. */
struct task *irina_stop(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu, uint32_t i);
/* The requests of t join v, which runs at that size from now on; t is no more. */
void irina_merge(struct irina_gpus *s, struct orr_serve *w, struct task *v, struct task *t, uint32_t gpu, uint32_t samples);
void irina_merge_queued(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu, struct task *t, uint32_t samples);
void irina_start_when_possible(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu, struct task *t, double delay_s);
/* Starts what can start: `next`, or if nothing runs the first that waits, here or, if none does, elsewhere. */
void irina_go_on(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu);
void irina_ended(struct irina_gpus *s, struct orr_serve *w, orr_run run);
/* The request is no more. */
void irina_forget(struct irina_gpus *s, struct orr_serve *w, orr_req r);
void irina_lost(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu);
/* Others may take what waits there. */
void irina_offer(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu);

static inline struct orr_batch task_batch(const struct task *t)
{
	return (struct orr_batch){ .model = t->model, .req = t->req, .n = t->n, .samples = t->samples, .length = t->length };
}

/* From now. */
static inline double run_ends(const struct orr_serve *w, const struct task *t)
{
	struct orr_run_info i;
	return orr_run_get(w, t->run, &i) ? i.ends_s - orr_serve_now(w) : 0;
}

#endif
