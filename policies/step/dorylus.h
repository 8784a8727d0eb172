/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dorylus.h - state that the files of Dorylus share
 *
 * dorylus_plan.c reads the parameters and computes sizes and times of tasks; dorylus_calls.c runs tasks on functions, starts stragglers
 * again and tunes the number of functions; dorylus.c moves chunks from task to task.
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
	bool is_fused;              /* AV of the last layer, forward and backward */
	bool has_gradient;          /* its result includes the gradient of the layer's weights */
	bool has_barrier;           /* no-pipe: all; pipe: scatters */
	double seconds;             /* time on the graph server, or compute time of the function */
	double in_bytes, out_bytes; /* bytes of a function from and to the graph server; for SC, out_bytes is to all servers */
	double weight_bytes;        /* bytes of weights that are pulled, and also pushed if has_gradient */
};

/* What ended() does at the end of a watched op. */
enum event_kind { ON_START, ON_TASK, ON_TURN, ON_RETURN, ON_UPDATE, ON_SHARED, ON_CHECK };
struct event {
	enum event_kind kind;
	uint32_t chunk; /* ON_UPDATE, ON_SHARED: the layer */
	uint32_t slot;
};

struct chunk {
	uint32_t server;
	uint32_t weights, weights_at; /* weight server: its endpoint, its number from 0 */
	uint32_t task;                /* index of the current task */
	uint64_t epoch;               /* current epoch, or the next epoch while the chunk waits for it */
	bool is_waiting;              /* flag: waits for the start of `epoch` */
	orr_op turn;                  /* gate, while it waits for a function */
};

/* An epoch that runs, or whose last timers and functions have not ended. */
struct epoch {
	uint64_t number;
	uint32_t watched;             /* ops that have not ended */
	orr_op *start;                /* by chunk: gates */
	orr_op end;                   /* gate */
	uint32_t done;                /* chunks that have done all tasks */
	uint32_t pending;             /* updates of weights that have not ended */
	uint32_t arrived[MOST_TASKS]; /* chunks at the barrier after a task */
	bool is_checking, is_over;
	struct event *event; /* by op */
	uint32_t cap;
};

/* A function. */
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
	uint32_t staleness, servers, weight_servers, chunks_each, n; /* n: chunks of all servers */
	uint32_t peers;
	double rows;   /* vertices per chunk */
	double ghosts; /* pairs (vertex, server) per chunk */
	bool is_fused, rematerialises;
	struct task task[MOST_TASKS];
	uint32_t tasks;
	double update_s, step_bytes[16]; /* WU per gradient and layer's share of it; weights of a layer */
	const double *given_s;           /* times of TASK_KINDS, which replace the models; NULL: none */
	struct chunk *chunk;
	struct epoch **epoch; /* [e % ring] */
	uint32_t ring;
	uint64_t built, least; /* epochs built; the slowest chunk's epoch */
	uint64_t ahead;        /* largest difference between epochs under way */
	uint32_t *window;      /* number of gradients of a step, by weight server */
	uint32_t arrived[16];  /* number of gradients since the last step, by layer */
	/* Functions. */
	uint32_t lambdas, limit, slots; /* per server: number of simultaneous functions at the start, and now; number of slots of
					 * functions */
	uint32_t first;                 /* endpoint */
	struct call *call;              /* [server * slots + i] */
	uint32_t *free_slot, *n_free;   /* stack of each server */
	uint32_t *active;               /* by server */
	uint64_t **queue;               /* heap of (epoch, task, chunk), by server */
	uint32_t *n_queue;
	double ema[MOST_TASKS];
	bool relaunches;
	double ratio, least_age_s, edge_age_s, check_s, tail_p, tail_s, tail_exponent;
	uint64_t relaunched, wasted; /* number of relaunches; number of results that arrived after another result of the same task */
	/* Tuner of `limit`. */
	bool is_tuning;
	double factor, best_value, epoch_s, epoch_usd; /* start of the epoch, and USD then */
	uint32_t best;
	int direction;
	uint32_t visited[24], n_visited;
};

/* ---- dorylus_plan.c ---- */
extern const struct orr_param dorylus_params[];
/* Reads the parameters, makes the list of tasks. Non-zero: *err is filled in. */
int dorylus_plan(struct dorylus *d, struct orr_step *s, const struct orr_args *args, struct orr_error *err);

static inline uint64_t epoch_of(orr_op op)
{
	return (op >> 32) - 1;
}
static inline struct epoch *epoch_at(const struct dorylus *d, uint64_t epoch)
{
	return d->epoch[epoch % d->ring];
}
/* Watches an op that does not count for the end of an iteration. */
void dorylus_on(struct dorylus *d, struct orr_step *s, orr_op op, enum event_kind kind, uint32_t chunk, uint32_t slot);
/* Reports the updates that a chunk's task makes (sim/learn). */
void dorylus_updates(const struct dorylus *d, struct orr_step *s, orr_op op, uint32_t chunk, const struct task *t);

/* ---- dorylus_calls.c ---- */
int dorylus_functions(struct dorylus *d, struct orr_step *s, struct orr_error *err);
void dorylus_calls_free(struct dorylus *d);
/* Makes the chunk's task wait for a function. */
void dorylus_queue(struct dorylus *d, struct orr_step *s, uint32_t chunk);
/* Its turn has come: its gate has ended. */
void dorylus_launch(struct dorylus *d, struct orr_step *s, uint32_t chunk);
/* Handles the return of an invocation. Returns whether it is the first one of its task. */
bool dorylus_returned(struct dorylus *d, struct orr_step *s, uint32_t slot);
/* Starts the stragglers of an epoch again, and sets the next check. */
void dorylus_check(struct dorylus *d, struct orr_step *s, uint64_t epoch);
/* Must be called at the end of an epoch. */
void dorylus_tune(struct dorylus *d, struct orr_step *s);

#endif
