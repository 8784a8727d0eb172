/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * world.h - the inside of the step world
 *
 * graph.c records what a policy builds (struct op); expand.c turns the ops of one
 * iteration into instances, one per lane that is run; exec.c starts an instance when
 * all that it waits for has ended and its streams are free; wire.c carries messages;
 * account.c says where time and memory went; run.c goes from iteration to iteration.
 *
 * Invariants. An instance is started once and ends once. On each (device, stream) at most
 * one instance is under way. An iteration's arrays stay where they are from its build to its
 * retirement, which comes when all of its instances have ended. An orr_op is
 * (iteration + 1) << 32 | index + 1, so that it stays valid for ever.
 */
#ifndef ORR_STEP_WORLD_H
#define ORR_STEP_WORLD_H

#include "step/step.h"

#include "base/rng.h"
#include "engine/watch.h"
#include "net/collective.h"
#include "net/quotient.h"
#include "results/stats.h"
#include "step/compress.h"

#include <math.h>

#define NONE UINT32_MAX

enum op_type { OP_COMPUTE, OP_TRANSFER, OP_COLLECTIVE, OP_DELAY, OP_MARK };

struct op {
	uint8_t type, work, stream, is_detached; /* stream NO_STREAM: takes none */
	int32_t priority;
	uint32_t device, peer; /* positions where there are lanes */
	double amount;         /* seconds or bytes */
	double counts;         /* samples trained on when it ends */
	uint32_t collective;   /* in coll[]; NONE */
	uint32_t first_update, n_updates;
	uint32_t first_instance, n_instances;
	uint32_t label;                    /* offset in text; NONE */
	uint32_t carry_first, carry_count; /* transfers of gradients: layers */
	uint32_t entry_first, entry_count; /* in entry[]: what orr_after() binds instead (compression) */
};

enum { NO_STREAM = 255 };

struct coll {
	struct orr_collective what;
	uint32_t group_first, n; /* in group[]: positions; n ranks */
	uint32_t size, stride;   /* among lanes; size 0: among positions */
	uint32_t plan;           /* in the world's plans */
};

struct memory_use {
	uint32_t op, device;
	double bytes; /* > 0 taken at the start, < 0 given at the end */
};

struct dependency {
	orr_op before, after;
};

struct update_use {
	uint32_t op;
	struct orr_update update;
};

struct edge {
	uint32_t to, next;    /* instance; next edge of the same source */
	struct iteration *of; /* whose instance it is */
};

enum instance_state { WAITING, READY, GOING, ENDED };

struct instance {
	uint32_t op, lane; /* lane: of its group's first where lanes meet */
	uint32_t waits;    /* for so many edges */
	uint32_t first_edge;
	uint8_t state, has_comm;                              /* has_comm: the last that it waited for was a message */
	uint32_t phase, repeat_left, rounds_left, flows_left; /* of a collective */
	double ready_s, start_s;
	double comm_start_s; /* when that message, or the first of a chain of them, could go */
};

/* What a device did in one iteration. */
struct usage {
	double work[ORR_WORK_KINDS];
	double exposed, bubble, sent;
	double sent_alone; /* merged: by this very device; `sent` of lane 0's devices is that of each lane */
};

struct iteration {
	uint64_t number;
	struct op *op;
	uint32_t n_ops, cap_ops;
	struct coll *coll;
	uint32_t n_colls, cap_colls;
	uint32_t *group;
	uint32_t n_group, cap_group;
	struct dependency *dep;
	uint32_t n_deps, cap_deps;
	struct memory_use *memory;
	uint32_t n_memory, cap_memory;
	uint32_t *memory_of; /* by op, n_ops + 1 offsets once memory[] is sorted by op */
	struct update_use *update;
	uint32_t n_updates, cap_updates;
	uint32_t *entry;
	uint32_t n_entries, cap_entries;
	char *text;
	uint32_t n_text, cap_text;
	struct instance *instance;
	uint32_t n_instances;
	struct edge *edge;
	uint32_t n_edges, cap_edges;
	uint32_t left, left_attached; /* instances that have not ended */
	double start_s, end_s, samples;
	double ends_s; /* sum over attached instances, from start_s on */
	bool has_begun;
	struct usage *usage;    /* by device */
	struct iteration *next; /* free list */
};

/* A running thing on the wire or the clock; slots are reused. */
struct going {
	struct iteration *of;
	uint32_t instance, next_free;
	uint32_t from, to; /* a flow's endpoints; from NONE: it stands for a class of flows */
	uint64_t key;
};

struct timer {
	double time_s;
	uint64_t order;
	struct iteration *of;
	uint32_t instance;
	uint32_t leap, generation; /* leap NONE: the instance ends */
};

/* Ready instances of one (device, stream), lowest (priority, order) first. */
struct ready {
	int32_t priority;
	uint64_t order;
	struct iteration *of;
	uint32_t instance;
};
struct stream {
	struct ready *heap;
	uint32_t n, cap;
	bool is_busy, is_dirty;
};

struct device_state {
	double busy_until; /* end of its last compute op */
	double static_bytes, dynamic_bytes, peak_bytes;
	double by_kind[ORR_MEMORY_KINDS];
	double first_s; /* when it first computed; NAN never */
	char *what;     /* "stage 3" */
	double speed;
	bool is_used;
};

/* Samples that one worker has trained on, and when (orr_counts()). */
struct sample_count {
	double time_s, samples;
	uint64_t iteration;
};

struct plan {
	struct coll_shape shape;
	struct coll_plan phases;
	bool is_even; /* every rank sends as much */
};

/* Of an iteration that has ended, beside its row: what tells a steady state from one that looks like it. */
struct row_mark {
	double mean_s; /* mean end of its ops */
	uint64_t left; /* ops under way or to come when it ended, of all iterations */
};
enum { STEP_MARKS = 4 * STEP_MAX_PERIOD };

struct wire; /* wire.c */

struct orr_step {
	const struct step_config *config;
	struct watch *watch; /* over the policy's callbacks; NULL: they may take as long as they like */
	const char *label;
	const struct orr_policy *policy;
	const struct orr_step_ops *ops;
	void *self;
	struct orr_step_facts facts;
	struct orr_error error;
	bool is_building, is_analytic, ignore_memory, is_random;
	enum orr_collective_algorithm algorithm;
	struct compression compression;
	double scale_conv, scale_fc; /* step.compute_s */
	struct asked *asked;         /* source.c */
	bool is_scaled, has_free_update;
	uint32_t endpoints;
	uint32_t *type_of;     /* GPU -> type of the cluster */
	uint32_t *node_of;     /* endpoint -> node */
	double samples;        /* per iteration */
	uint32_t graph_period; /* orr_step_period() */
	/* Lanes. */
	uint32_t lanes, positions, lanes_run; /* lanes_run: 1 when merged */
	uint32_t *map;
	bool is_merged, must_unmerge;
	/* Iterations: a ring of those not retired, oldest first. */
	struct iteration **live;
	uint64_t first_live, n_live, cap_live;
	struct iteration *free_iteration;
	struct iteration *building;
	uint64_t built, wanted, build_until; /* iterations built; asked for; to be built (fewer once they repeat) */
	uint64_t left;                       /* instances of all of them that have not ended */
	bool build_more, is_stopped;
	/* Execution. */
	double now_s;
	struct timer *timer;
	uint32_t n_timers, cap_timers;
	uint64_t order;
	struct stream *stream; /* endpoint * STEP_STREAMS + stream */
	uint32_t *dirty, n_dirty, cap_dirty;
	struct going *done; /* instances that ended now and have not been followed up */
	uint32_t n_done, cap_done;
	struct device_state *device;
	struct plan *plan;
	uint32_t n_plans, cap_plans;
	uint32_t *plan_slot, n_plan_slots; /* hash table of plan[]; NONE: free */
	struct wire *wire;
	struct rng policy_rng;
	/* Results. */
	struct step_iteration *row;
	size_t n_rows, cap_rows;
	struct usage *recent; /* usage of the last STEP_MAX_PERIOD iterations, [k % STEP_MAX_PERIOD][device] */
	struct usage *total;  /* from measured_s on: the end of the first iteration, once it has ended */
	double measured_s;
	bool is_measured;                 /* the last iteration has ended: messages still under way are of none of those measured */
	struct row_mark mark[STEP_MARKS]; /* [k % STEP_MARKS] */
	uint32_t period;
	size_t steady_rows; /* iterations that had ended when the period was found */
	struct sample_count *count;
	size_t n_counts, cap_counts;
	struct step_span *span;
	size_t n_spans, cap_spans, spans_wanted; /* spans_wanted: so many and older ones are forgotten */
	uint64_t flows;
	struct step_link *use; /* by link of the network that is run, sums so far; NULL: not wanted */
	uint32_t n_use;
	double use_from_s, use_until_s;
	bool is_use_open;
	/* One of several over one network (together.c). */
	struct flownet *shared_net; /* NULL: a network of its own */
	uint32_t member;
};

/* ---- facts.c ---- */
int facts_scale(struct orr_step *s);

/* ---- graph.c ---- */
struct iteration *graph_begin(struct orr_step *s, uint64_t number);
/* The world's own complaint about the policy; keeps the first. */
void step_fail(struct orr_step *s, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
static inline uint32_t op_index(orr_op op)
{
	return (uint32_t)op - 1;
}
static inline uint64_t op_iteration(orr_op op)
{
	return (op >> 32) - 1;
}
/* NULL: it has been retired, so all of it has ended; or it is yet to come. */
static inline struct iteration *iteration_live(const struct orr_step *s, uint64_t number)
{
	return number < s->first_live || number - s->first_live >= s->n_live ? NULL : s->live[number - s->first_live];
}
void iteration_free(struct iteration *k);
uint32_t plan_find(struct orr_step *s, const struct coll_shape *shape);

/* ---- use.c ---- */
/* Where compute times come from: questions of the policy, then what is said of them. */
void source_begin(struct orr_step *s);
void source_free(struct orr_step *s);
void source_asked(const struct orr_step *s, uint32_t device, double batch, uint32_t shards, bool is_sequence_parallel);
void source_result(const struct orr_step *s, struct step_result *out);
void use_begin(struct orr_step *s);
void use_pass(struct orr_step *s, double t); /* before the clock moves to t */
void use_result(const struct orr_step *s, struct step_result *out);

/* ---- expand.c ---- */
int expand(struct orr_step *s, struct iteration *k);
/* Real device of position p in the lane of an instance. */
static inline uint32_t real_device(const struct orr_step *s, uint32_t lane, uint32_t p)
{
	return s->map ? s->map[(size_t)lane * s->positions + p] : p;
}
/* Lane of rank r of a group among lanes whose first lane is `lane`. */
static inline uint32_t group_lane(const struct coll *c, uint32_t lane, uint32_t r)
{
	return lane + r * c->stride;
}
/* The real device of rank r of a collective's instance. */
uint32_t rank_device(const struct orr_step *s, const struct iteration *k, const struct coll *c, uint32_t lane, uint32_t r);

/* ---- run.c ---- */
int world_begin(struct orr_step *s, bool may_merge, const struct orr_args *args); /* to be freed on an error as well */
void world_start(struct orr_step *s);                                             /* at now_s */
void world_free(struct orr_step *s);
int iteration_build(struct orr_step *s); /* the next one, and starts it */

bool steady(struct orr_step *s); /* iterations have been found to repeat */

/* ---- exec.c ---- */
void exec_begin(struct orr_step *s, struct iteration *k); /* starts what waits for nothing */
bool exec_settle(struct orr_step *s);                     /* all that happens now; false: it is over, or nothing is left */
double exec_next(struct orr_step *s);                     /* when something happens next */
void exec_timers(struct orr_step *s);                     /* those that end now */
void exec_stuck(struct orr_step *s);                      /* an error if work is left */
int exec_run(struct orr_step *s);
void instance_end(struct orr_step *s, struct iteration *k, uint32_t i);
void timer_add(struct orr_step *s, double time_s, struct iteration *k, uint32_t i);
void timer_add_leap(struct orr_step *s, double time_s, uint32_t leap, uint32_t generation);

/* ---- wire.c ---- */
struct wire *wire_new(struct orr_step *s);
void wire_free(struct wire *w);
int wire_classes(struct orr_step *s); /* merged: the quotient over all built so far; ORR_EINPUT: lanes are not alike */
int wire_start(struct orr_step *s, struct iteration *k, uint32_t i);
void leap_end(struct orr_step *s, uint32_t leap, uint32_t generation);
double wire_next(struct orr_step *s);
double wire_calm_s(const struct orr_step *s); /* no capacity changes from here on; INFINITY: some will */
void wire_advance(struct orr_step *s, double t);
void wire_deliver(struct orr_step *s, uint64_t tag); /* a flow of this run has ended */
struct flownet *wire_net(const struct orr_step *s);
uint32_t wire_link(const struct orr_step *s, uint32_t link); /* of the topology, in wire_net(); NONE: carries nothing */
int wire_verify(struct orr_step *s);
int wire_balance(struct orr_step *s);
double wire_bandwidth_now(const struct orr_step *s, uint32_t from, uint32_t to);

/* ---- account.c ---- */
double stretch(struct orr_step *s, uint32_t device, uint64_t iteration); /* factor on seconds of work */
int account_options(struct orr_step *s);
int account_start(struct orr_step *s, struct iteration *k, uint32_t i);
void account_end(struct orr_step *s, struct iteration *k, uint32_t i);
void account_retire(struct orr_step *s, struct iteration *k);
void account_measure(struct orr_step *s); /* leaves out what came before now */
void account_result(struct orr_step *s, struct step_result *out);

#endif
