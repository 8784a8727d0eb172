/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * irina_task.h - Irina's tasks, and its GPUs with their running and waiting tasks
 *
 * A task is a batch of requests that run, wait or are merged together. A GPU (a replica) has up to IRINA_MOST running tasks, a
 * queue, and possibly a task that starts as soon as possible (`next`: it waits for memory or for the exit point of an aborted
 * run). Invariants: the mark of a request is the address of its task until the task ends. For each queue, weight = sum B_j and
 * span = sum L_j, with the values at the time of queueing.
 */
#ifndef ORR_POLICIES_IRINA_TASK_H
#define ORR_POLICIES_IRINA_TASK_H

#include <orrery/serve.h>

#include <math.h>
#include <string.h>

enum { IRINA_MOST = 16 };

struct task {
	orr_req *req;
	uint32_t n, cap;
	uint32_t model, samples, length; /* model, size and length of the batch that runs */
	double weight;                   /* number of samples of its requests */
	double arrival_s, deadline_s;    /* earliest values of its requests */
	double latency_s;                /* latency of the task on its GPU */
	double weight_to, span_to;       /* sums over the queue up to and including this task (weight_pushed); with merge_queued, valid
					  * only for open tasks */
	uint32_t heap_at;                /* index in its GPU's heap + 1; 0: not in the heap */
	uint32_t preemptions;
	uint32_t gpu; /* ORR_NO_REPLICA: none yet */
	orr_run run;  /* 0: not running */
	struct task *before, *behind;
};

struct irina_gpu {
	struct task *running[IRINA_MOST];
	uint32_t n_running;
	struct task *next;
	double next_s; /* planned start of `next` */
	struct task *first, *last;
	double weight, span;
	double weight_pushed, span_pushed; /* sums over all tasks ever queued at the end; reference of weight_to and span_to */
	double weight_popped, span_popped; /* sums over tasks removed from the front, without those put back there */
	struct task **heap;                /* heap of waiting tasks that may be in time, least slack first */
	uint32_t n_heap, cap_heap;
	struct task **open; /* last queued task of each model, open to merges */
};

struct irina_gpus {
	struct irina_gpu *gpu;
	uint32_t n, models;
	bool keeps_heaps;
};

void irina_begin(struct irina_gpus *s, struct orr_serve *w);
void irina_end(struct irina_gpus *s);
/* Returns whether every model is loaded on every GPU on which it may run. */
bool irina_all_loaded(const struct irina_gpus *s, const struct orr_serve *w);

/* Makes a task of one request; NULL: the request was refused. */
struct task *irina_task(struct irina_gpus *s, struct orr_serve *w, orr_req r);
/* Returns the latency of the task on the GPU; NAN: it cannot run there. */
double irina_latency(const struct orr_serve *w, uint32_t gpu, const struct task *t);
/* Returns the batch size of the merge of two tasks; 0: the table lacks it. */
uint32_t irina_merged(const struct orr_serve *w, uint32_t gpu, const struct task *a, const struct task *b, bool pads);
/* Returns the time from now to the end of the last running or next task. */
double irina_last_end(const struct orr_serve *w, const struct irina_gpu *g);

void irina_push_back(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu, struct task *t);
void irina_push_front(struct irina_gpus *s, uint32_t gpu, struct task *t);
/* Returns the largest delay of the end of the last run with which, by the projection, every waiting task that is now in time stays in time.
 * Requires keeps_heaps. */
double irina_spare(const struct orr_serve *w, struct irina_gpu *g);
/* Removes the running tasks that have left the GPU: they are in later pipeline stages, or their answers are under way or lost
 * (serve.loss). */
void irina_remove_computed(struct orr_serve *w, struct irina_gpu *g);
/* Aborts a running task and returns it; it is then on no list. */
struct task *irina_stop(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu, uint32_t i);
/* Moves the requests of t to v, whose size is set; frees t. */
void irina_merge(struct orr_serve *w, struct task *v, struct task *t, uint32_t gpu, uint32_t samples);
void irina_merge_queued(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu, struct task *t, uint32_t samples);
void irina_start_when_possible(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu, struct task *t, double delay_s);
/* Starts `next` if possible; on an idle GPU, starts the first task of its own queue or, if that is empty, of another queue. */
void irina_go_on(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu);
void irina_ended(struct irina_gpus *s, struct orr_serve *w, orr_run run);
/* Removes a request that has ended or lost its replica from its task. */
void irina_forget(struct irina_gpus *s, struct orr_serve *w, orr_req r);
void irina_lost(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu);
/* Wakes idle GPUs, which may take tasks from this queue. */
void irina_offer(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu);

static inline struct orr_batch task_batch(const struct task *t)
{
	return (struct orr_batch){ .model = t->model, .req = t->req, .n = t->n, .samples = t->samples, .length = t->length };
}

/* Returns the end of a running task, from now. */
static inline double run_ends(const struct orr_serve *w, const struct task *t)
{
	struct orr_run_info i;
	return orr_run_get(w, t->run, &i) ? i.ends_s - orr_serve_now(w) : 0;
}

#endif
