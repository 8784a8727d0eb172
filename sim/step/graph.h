/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * graph.h - the graph of one iteration: ops as the policy builds them, and instances, which run
 *
 * graph.c records ops; expand.c turns them into instances, one per lane that is simulated. An orr_op is (iteration + 1) << 32 |
 * index + 1, so it is valid for the whole run.
 */
#ifndef ORR_STEP_GRAPH_H
#define ORR_STEP_GRAPH_H

#include "step/step.h"

#include "net/collective.h"

#define NONE UINT32_MAX

enum op_type { OP_COMPUTE, OP_TRANSFER, OP_COLLECTIVE, OP_DELAY, OP_MARK };
enum { NO_STREAM = 255 };

struct op {
	uint8_t type, work, stream, is_detached; /* stream NO_STREAM: the op uses no stream */
	bool is_watched, is_cancelled;
	bool is_gate, is_open; /* is_gate: a mark that waits for orr_open(); is_open: orr_open() was called */
	double occupancy;      /* share of the device used by a compute op; 0 means 1 */
	bool is_invoke;        /* op of orr_invoke(); otherwise, with a function, of orr_returns() */
	uint32_t function;     /* endpoint + 1; 0: none */
	int32_t priority;
	uint32_t device, peer; /* with lanes: positions in a lane */
	double amount;         /* seconds or bytes */
	double counts;         /* number of samples counted as trained when it ends */
	uint32_t counter;      /* ops that count samples are numbered in each iteration; the same number means the same worker */
	uint32_t lane_seconds; /* compute op with its own time in each lane: number from 1 on (experts.h) */
	uint32_t collective;   /* index into coll[]; NONE: no collective */
	uint32_t first_update, n_updates;
	uint32_t first_instance, n_instances;
	uint32_t label;                    /* offset into text[]; NONE: no label */
	uint32_t entry_first, entry_count; /* range of entry[]: ops that take over its dependencies (compression) */
};

struct coll {
	struct orr_collective what;
	uint32_t group_first, n; /* first position in group[]; number of ranks */
	uint32_t size, stride;   /* size and stride of a collective among lanes; size 0: among positions */
	uint32_t plan;           /* index into orr_step.plan[] */
	uint32_t kinds;          /* index into orr_step.kinds[]; NONE: one plan for all lanes */
	uint32_t first_plan;     /* index into kind_plan[]: plans by kind of lane */
};

/* Lanes, or groups of lanes, of equal devices at equal places of their nodes. */
struct lane_kinds {
	uint32_t size, stride; /* of a group; size 1: of a lane */
	uint32_t n;            /* number of kinds */
	uint32_t *kind;        /* by lane */
	uint32_t *first;       /* first lane of each kind */
};

struct memory_use {
	uint32_t op, device;
	double bytes; /* > 0: allocated at the start; < 0: freed at the end */
};

struct dependency {
	orr_op before, after;
};

struct update_use {
	uint32_t op;
	struct orr_update update;
};

struct edge {
	uint32_t to, next;    /* instance; next edge from the same source */
	struct iteration *of; /* iteration of the instance `to` */
};

enum instance_state { WAITING, READY, GOING, ENDED };

struct instance {
	uint32_t op, lane; /* lane: for a collective among lanes, the first lane of the group */
	uint32_t waits;    /* number of incoming edges that have not fired */
	uint32_t first_edge;
	uint8_t state, has_comm; /* has_comm: the last dependency to end was a message */
	union {
		struct { /* state of a collective */
			uint32_t phase, repeat_left, rounds_left, flows_left;
		};
		double busy_s; /* compute op that shares its device: its part of the device's busy time */
	};
	double ready_s, start_s;
	double comm_start_s; /* time at which the message was ready; for a chain of messages, the time of the first message */
};

struct usage;

/* Invariant: the arrays stay in place from build to retirement, when all instances have ended. */
struct iteration {
	uint64_t number;
	struct op *op;
	uint32_t n_ops, cap_ops;
	struct coll *coll;
	uint32_t n_colls, cap_colls;
	uint32_t *kind_plan; /* indices into orr_step.plan[] of collectives whose lanes differ */
	uint32_t n_kind_plans, cap_kind_plans;
	uint32_t *group;
	uint32_t n_group, cap_group;
	struct dependency *dep;
	uint32_t n_deps, cap_deps;
	struct memory_use *memory; /* sorted by op after expand() */
	uint32_t n_memory, cap_memory;
	uint32_t *memory_of; /* offsets into memory[], n_ops + 1 entries */
	uint32_t cap_memory_of, cap_instances;
	struct update_use *update;
	uint32_t n_updates, cap_updates;
	uint32_t *entry;
	uint32_t n_entries, cap_entries;
	uint32_t n_counters; /* ops that count samples */
	char *text;
	uint32_t n_text, cap_text;
	struct instance *instance;
	uint32_t n_instances;
	struct edge *edge;
	uint32_t n_edges, cap_edges;
	uint32_t left, left_attached; /* numbers of instances that have not ended */
	double start_s, end_s, samples;
	double ends_s; /* sum of end - start_s over attached instances */
	bool has_begun, has_row;
	bool has_checkpoint; /* it ends with a pause for a checkpoint, which counts in left and left_attached */
	uint64_t gate;       /* number + 1 of the iteration whose pause its ops wait for; 0: none */
	struct usage *usage; /* by device */
	/* Used with --record explain (path.h). */
	struct trail *trail; /* by instance */
	uint32_t cap_trail, builder_instance;
	struct iteration *builder; /* the instance whose start led to the build; NULL: none */
	double retired_s;
	struct iteration *next; /* free list */
};

/* The messages of a collective. Plans are shared by all collectives of one shape. */
struct plan {
	struct coll_shape shape;
	struct coll_plan phases;
	bool is_even; /* every rank sends the same number of bytes */
};

static inline uint32_t op_index(orr_op op)
{
	return (uint32_t)op - 1;
}
static inline uint64_t op_iteration(orr_op op)
{
	return (op >> 32) - 1;
}
/* Returns the lane of rank r in the group whose first lane is `lane`. */
static inline uint32_t group_lane(const struct coll *c, uint32_t lane, uint32_t r)
{
	return lane + r * c->stride;
}

/* ---- graph.c ---- */
struct iteration *graph_begin(struct orr_step *s, uint64_t number);
void iteration_free(struct iteration *k);

/* ---- expand.c ---- */
/* Makes the instances and edges of the ops. Returns ORR_OK or the run's error. */
int expand(struct orr_step *s, struct iteration *k);
/* Numbers of ops, dependencies and memory changes from which expand_grown() expands a running iteration, to which the policy has added ops.
 */
struct grown {
	uint32_t ops, deps, memory;
};
int expand_grown(struct orr_step *s, struct iteration *k, const struct grown *before);
/* Makes a gate wait for `dep` (0: no op) instead of orr_open(). Returns whether the gate has no more dependencies. */
bool expand_open(struct orr_step *s, orr_op gate, orr_op dep);
/* Returns the device of rank r of a collective's instance. */
uint32_t rank_device(const struct orr_step *s, const struct iteration *k, const struct coll *c, uint32_t lane, uint32_t r);

#endif
