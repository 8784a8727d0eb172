/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dorylus.h - state shared by the source files of Dorylus
 *
 * dorylus_plan.c reads the parameters and computes the sizes and times of tasks. dorylus_calls.c runs tasks on functions, relaunches
 * stragglers and tunes the number of functions. dorylus.c advances each chunk from task to task.
 */
#ifndef ORR_POLICIES_DORYLUS_H
#define ORR_POLICIES_DORYLUS_H

#include <orrery/step.h>

enum { MOST_TASKS = 80 };
#define NO_SLOT UINT32_MAX
enum dorylus_mode { BY_LAMBDA, BY_CPU, BY_GPU };
enum dorylus_variant { PIPE, NO_PIPE, ASYNC };
enum task_kind { GA, AV, SC, AE, WU, TASK_KINDS };

/* A task of a chunk. Bytes and seconds are per chunk. */
struct task {
	enum task_kind kind;
	uint32_t layer;
	bool is_backward;
	bool is_fused;              /* flag: AV of the last layer, forward and backward in one task */
	bool has_gradient;          /* flag: the result includes the gradient of the layer's weights */
	bool has_barrier;           /* flag: a barrier of all chunks follows the task */
	double *seconds;            /* [graph server] compute time on it or on a function */
	double in_bytes, out_bytes; /* bytes pulled from and pushed to the graph server; SC: out_bytes is the sum over receivers */
	double weight_bytes;        /* bytes of weights to pull, and of their gradient to push if has_gradient */
};

/* Actions of ended() at the end of a watched op. */
enum event_kind { ON_START, ON_TASK, ON_TURN, ON_RETURN, ON_UPDATE, ON_SHARED, ON_CHECK };
struct event {
	enum event_kind kind;
	uint32_t chunk; /* ON_UPDATE, ON_SHARED: the layer */
	uint32_t slot;
};

struct chunk {
	uint32_t server;
	uint32_t weights, weights_at; /* endpoint of its weight server; index of this server, from 0 */
	uint32_t task;                /* index of the current task */
	uint64_t epoch;               /* current epoch; the next epoch if is_waiting */
	bool is_waiting;              /* flag: waits for the start of `epoch` */
	orr_op turn;                  /* gate that ends the wait for a function; 0: not waiting */
};

/* State of an epoch, kept until its last timer and invocation have ended. */
struct epoch {
	uint64_t number;
	uint32_t watched;             /* number of watched ops that have not ended */
	orr_op *start;                /* [chunk] op at whose end the chunk starts the epoch */
	orr_op end;                   /* gate that ends the epoch */
	uint32_t done;                /* number of chunks that have completed all tasks */
	uint32_t pending;             /* number of weight updates in flight */
	uint32_t arrived[MOST_TASKS]; /* [task] number of chunks at the barrier after it */
	bool is_checking, is_over;
	struct event *event; /* [index of the op] */
	uint32_t cap;
};

/* The latest invocation of a function. */
struct call {
	bool is_running;
	uint32_t chunk, task;
	uint64_t epoch;
	double since_s;
};

struct dorylus {
	struct orr_step_facts f;
	struct orr_step_graph g;
	const struct orr_args *args;
	enum dorylus_mode mode;
	enum dorylus_variant variant;
	uint32_t staleness, servers, weight_servers, chunks_each, n; /* n: total number of chunks */
	uint32_t peers;
	double rows;   /* vertices per chunk */
	double ghosts; /* ghosts per chunk: pairs (vertex, server) */
	bool is_fused, rematerialises;
	struct task task[MOST_TASKS];
	uint32_t tasks;
	double *update_s;      /* [weight server] time of WU per gradient, s, mean over layers */
	double step_bytes[16]; /* [layer] bytes of weights */
	const double *given_s; /* [task_kind] times from task_s, s; NULL: computed by the models */
	struct chunk *chunk;
	struct epoch **epoch; /* [epoch % ring] */
	uint32_t ring;
	uint64_t built, least; /* number of epochs built; epoch of the slowest chunk */
	uint64_t ahead;        /* largest lead of a chunk over the slowest chunk, epochs */
	uint32_t *window;      /* [weight server] gradients per optimizer step */
	uint32_t arrived[16];  /* [layer] gradients received since the last optimizer step */
	/* Functions. */
	uint32_t lambdas, limit, slots; /* per server: largest and current number of concurrent functions; number of
					 * slots */
	uint32_t first;                 /* endpoint of the first function */
	struct call *call;              /* [server * slots + i] */
	uint32_t *free_slot, *n_free;   /* stack of free slots of each server; its size */
	uint32_t *active;               /* [server] number of invocations that run */
	uint64_t **queue;               /* [server] min-heap of (epoch, task, chunk) */
	uint32_t *n_queue;
	double ema[MOST_TASKS];
	bool relaunches;
	double ratio, least_age_s, edge_age_s, check_s, tail_p, tail_s, tail_exponent;
	uint64_t relaunched, wasted; /* number of relaunches; number of results after the first of a task */
	/* Tuner of `limit`. */
	bool is_tuning;
	double factor, best_value, epoch_s, epoch_usd; /* epoch_s, epoch_usd: time and cost at the start of the epoch, s and USD */
	uint32_t best;
	int direction;
	uint32_t visited[24], n_visited;
};

/* ---- dorylus_plan.c ---- */
extern const struct orr_param dorylus_params[];
/* Reads the parameters and fills in the list of tasks. Returns 0, or an error code with *err filled in. */
int dorylus_plan(struct dorylus *d, struct orr_step *s, const struct orr_args *args, struct orr_error *err);

static inline uint64_t epoch_of(orr_op op)
{
	return (op >> 32) - 1;
}
static inline struct epoch *epoch_at(const struct dorylus *d, uint64_t epoch)
{
	return d->epoch[epoch % d->ring];
}
/* Watches an op and detaches it from the end of the iteration. */
void dorylus_on(struct dorylus *d, struct orr_step *s, orr_op op, enum event_kind kind, uint32_t chunk, uint32_t slot);
/* Declares the parameter updates of a chunk's task (orr_updates()). */
void dorylus_updates(const struct dorylus *d, struct orr_step *s, orr_op op, uint32_t chunk, const struct task *t);

/* ---- dorylus_calls.c ---- */
/* Creates the functions and the state of their invocations. Errors as in dorylus_plan(). */
int dorylus_functions(struct dorylus *d, struct orr_step *s, struct orr_error *err);
void dorylus_calls_free(struct dorylus *d);
/* Invokes a function for the chunk's task, or queues the task until a function is free. */
void dorylus_queue(struct dorylus *d, struct orr_step *s, uint32_t chunk);
/* Invokes a function for the chunk's task and schedules the next check for stragglers. */
void dorylus_launch(struct dorylus *d, struct orr_step *s, uint32_t chunk);
/* Handles the end of an invocation. Returns whether its result is the first one of the task. */
bool dorylus_returned(struct dorylus *d, struct orr_step *s, uint32_t slot);
/* Relaunches the stragglers of an epoch and schedules the next check. */
void dorylus_check(struct dorylus *d, struct orr_step *s, uint64_t epoch);
/* Adjusts the number of functions. Called at the end of each epoch. */
void dorylus_tune(struct dorylus *d, struct orr_step *s);

#endif
