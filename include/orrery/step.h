/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * step.h - the interface of step policies
 *
 * A step policy builds the graph of each training iteration from a model, workers and parameters: compute, transfers,
 * collectives, and their dependencies. The world runs the graph on devices and network, and overlaps all ops that the graph
 * allows.
 *
 *	static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
 *	{
 *		orr_op backward = orr_compute(s, device, ORR_BACKWARD, seconds);
 *		orr_op sum = orr_collective(s, &group, &all_reduce);
 *		orr_after(s, sum, backward);
 *		...
 *	}
 *
 * build() is called for iteration 0 at the start, and for k+1 as soon as an op of k has begun. So an op may wait for ops of
 * any earlier iteration (handles stay valid), and workers may drift apart: only dependencies synchronise them. An iteration
 * ends when all its ops have ended, except those given to orr_detach().
 *
 * Endpoints: GPU 0..gpus-1 in the order of the cluster, then the host of each node, gpus..gpus+nodes-1 (for parameter
 * servers on CPUs). A "device" below is an endpoint. Every device computes one op at a time on stream 0. Times are seconds,
 * sizes bytes.
 *
 * A policy can also react to what happens while an iteration runs: see orr_watch().
 *
 * A call with invalid arguments ends the run with an error that names the policy, the iteration and the op. It returns 0
 * (no op), which every function accepts.
 */
#ifndef ORRERY_STEP_H
#define ORRERY_STEP_H

#include <orrery/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

struct orr_step;         /* the world */
typedef uint64_t orr_op; /* 0: no op */

/* ---- the model ---- */

enum orr_layer_kind {
	ORR_LAYER_CONV,
	ORR_LAYER_LINEAR,
	ORR_LAYER_MATMUL, /* no parameters: attention scores and context */
	ORR_LAYER_RNN,
	ORR_LAYER_EMBEDDING, /* gather */
	ORR_LAYER_NORM,
	ORR_LAYER_ACTIVATION,
	ORR_LAYER_POOL,
	ORR_LAYER_SOFTMAX,
	ORR_LAYER_ELEMENTWISE, /* add, concat, rope, gates: bound by memory */
	ORR_LAYER_KINDS
};

struct orr_layer_info {
	const char *name; /* valid during the run */
	enum orr_layer_kind kind;
	double params;
	double fwd_flops;              /* per sample */
	double out_elems, saved_elems; /* per sample: output; kept for backward */
	double rows, columns;          /* of the parameters as a matrix (PowerSGD); 0 if none */
	uint32_t block;                /* repeated block (a transformer layer), UINT32_MAX if none */
	double tensors;                /* number of parameter tensors (query, key and value: 6) */
};

struct orr_step_facts {
	uint32_t gpus, nodes;
	uint32_t layers;
	uint32_t fc_first; /* first layer of the fully connected classifier; == layers if none */
	uint32_t blocks;   /* transformer layers; 0 if not a transformer */
	double params;
	double batch;                     /* samples per GPU and iteration */
	double gradient_bytes;            /* per parameter, of a gradient as sent */
	double weight_bytes;              /* per parameter, as used in compute */
	double activation_bytes;          /* per activation element */
	double optimizer_bytes;           /* per parameter, of state besides weight and gradient (master copies, moments) */
	double hidden, seq, heads, vocab; /* of transformers; else 0 */
};

ORR_API void orr_step_facts(const struct orr_step *s, struct orr_step_facts *out);
ORR_API void orr_step_layer(const struct orr_step *s, uint32_t layer, struct orr_layer_info *out);
/* Sums over layers first..first+count-1. */
ORR_API double orr_step_params(const struct orr_step *s, uint32_t first, uint32_t count);
ORR_API uint32_t orr_node_of(const struct orr_step *s, uint32_t device);
ORR_API uint32_t orr_rack_of(const struct orr_step *s, uint32_t device);
ORR_API double orr_device_memory(const struct orr_step *s, uint32_t device); /* bytes; INFINITY for hosts */

/* ---- costs ---- */

enum orr_pass { ORR_PASS_FORWARD, ORR_PASS_BACKWARD_DATA, ORR_PASS_BACKWARD_WEIGHT };

/* Seconds of a pass over layers first..first+count-1 for batch samples, each product split over `shards` devices (1: not
 * split). Excludes stragglers, which the world applies when ops run. */
ORR_API double orr_cost(
	const struct orr_step *s, uint32_t device, enum orr_pass pass, uint32_t first, uint32_t count, double batch, uint32_t shards);
/* Same, with element-wise layers split too (sequence parallelism). */
ORR_API double orr_cost_sequence_parallel(
	const struct orr_step *s, uint32_t device, enum orr_pass pass, uint32_t first, uint32_t count, double batch, uint32_t shards);
ORR_API double orr_update_cost(const struct orr_step *s, uint32_t device, double params);
/* Bottleneck of the route: nominal, and now (contention, time-varying capacity). */
ORR_API double orr_bandwidth(const struct orr_step *s, uint32_t from, uint32_t to);
ORR_API double orr_bandwidth_now(const struct orr_step *s, uint32_t from, uint32_t to);
ORR_API double orr_latency(const struct orr_step *s, uint32_t from, uint32_t to);
ORR_API double orr_step_uniform(struct orr_step *s); /* [0,1), from the policy's own random stream */

/* ---- settings, in create() ---- */

/* Sets the total number of samples that one iteration trains on (default: batch x gpus). */
ORR_API void orr_step_samples(struct orr_step *s, double samples);

/* The graphs of iterations k and k + period are equal (default 1; local SGD: its number of local steps). 0: all may
 * differ. Steady-state detection looks at whole periods only. */
ORR_API void orr_step_period(struct orr_step *s, uint32_t period);

/* Compute ops may use streams 0..7 of their device (orr_on_stream()), so that up to eight run at once. They then progress as
 * step.interference says. */
ORR_API void orr_step_co_run(struct orr_step *s);

enum orr_memory {
	ORR_MEMORY_WEIGHTS,
	ORR_MEMORY_GRADIENTS,
	ORR_MEMORY_OPTIMIZER,
	ORR_MEMORY_ACTIVATIONS,
	ORR_MEMORY_BUFFERS,
	ORR_MEMORY_KINDS
};
/* Memory held during the whole run; calls add up. Exceeding the device's memory ends the run with an error that has
 * `what` ("stage 3"; copied). */
ORR_API void orr_hold(struct orr_step *s, uint32_t device, enum orr_memory kind, double bytes, const char *what);

/*
 * Lanes: parallel copies of one graph (data-parallel replicas, ranks of a tensor-parallel group). After this call a
 * "device" of an op is a position 0..positions-1, and an op stands for the same op in every lane. Lane l's position p is
 * the GPU map[l * positions + p] (copied). Dependencies stay within a lane; lanes meet in orr_collective_lanes(). The world
 * simulates one lane for all if routes and loads are equal, else every lane. Cost and memory functions always take real
 * devices.
 */
ORR_API void orr_step_lanes(struct orr_step *s, uint32_t lanes, uint32_t positions, const uint32_t *map);

/* ---- the graph: in build() ---- */

enum orr_work { ORR_FORWARD, ORR_BACKWARD, ORR_RECOMPUTE, ORR_OPTIMIZER, ORR_CODEC, ORR_OTHER_WORK, ORR_WORK_KINDS };

/* Takes stream 0 of the device for `seconds`. */
ORR_API orr_op orr_compute(struct orr_step *s, uint32_t device, enum orr_work work, double seconds);
/* Sends one message. It uses no stream unless orr_on_stream() gives it one. */
ORR_API orr_op orr_transfer(struct orr_step *s, uint32_t from, uint32_t to, double bytes);
/* Makes a delay that occupies no device. */
ORR_API orr_op orr_delay(struct orr_step *s, double seconds);
/* Makes an op without duration, for other ops to wait for. */
ORR_API orr_op orr_mark(struct orr_step *s);

enum orr_collective_op { ORR_ALL_REDUCE, ORR_REDUCE_SCATTER, ORR_ALL_GATHER, ORR_BROADCAST, ORR_REDUCE, ORR_ALL_TO_ALL };
enum orr_collective_algorithm {
	ORR_ALGORITHM_DEFAULT, /* that of the scenario: step.algorithm */
	ORR_RING,
	ORR_HALVING_DOUBLING,
	ORR_DOUBLE_TREE,
	ORR_HIERARCHICAL,
	ORR_DIRECT,              /* every rank sends to every other at once */
	ORR_HIERARCHICAL_LEADER, /* all-reduce: only one rank of each island communicates with others; else as ORR_HIERARCHICAL */
	ORR_MULTI_RING,          /* a ring for each NIC that the ranks of a node use; a plain ring if there is one */
	ORR_MULTI_TREE,          /* all-reduce: a double tree over nodes for each NIC, a chain of ranks in each node */
	ORR_NVLS_TREE /* as ORR_MULTI_TREE, but the switch of each node reduces and copies; in one node: the switch alone (NVLS) */
};

struct orr_collective {
	enum orr_collective_op op;
	enum orr_collective_algorithm algorithm;
	double bytes;    /* per rank of an all-reduce; the whole result or input of the others */
	uint32_t root;   /* rank, for broadcast and reduce */
	uint32_t inner;  /* hierarchical: ranks per island; 0: ranks of one node */
	uint32_t repeat; /* this many in sequence (0: 1) */
	/* The gradients of layers first_layer.. are sent (n_layers 0: no gradients); step.compression applies to them. */
	uint32_t first_layer, n_layers;
	uint32_t chunks; /* trees and chains: pieces in the pipeline; 0: chosen by size */
};
struct orr_group {
	const uint32_t *device; /* in ring order; copied */
	uint32_t n;
};
ORR_API orr_op orr_collective(struct orr_step *s, const struct orr_group *g, const struct orr_collective *c);
/* Among lanes, at one position: the group of lane l is the `size` lanes l - (l / stride % size) * stride + i * stride. */
ORR_API orr_op orr_collective_lanes(struct orr_step *s, uint32_t position, uint32_t size, uint32_t stride, const struct orr_collective *c);

/* In build(): the samples that this iteration trains on, where iterations differ. */
ORR_API void orr_iteration_samples(struct orr_step *s, double samples);
/* Makes op wait for dep; both may be 0. dep belongs to an earlier iteration, or was created before op. */
ORR_API void orr_after(struct orr_step *s, orr_op op, orr_op dep);
/* Puts a transfer or collective on stream 1..7 of its devices: the sender of a transfer, each member of a collective. A
 * (device, stream) runs one op at a time. Compute ops are on stream 0, after orr_step_co_run() on any. Among ready ops the lowest priority
 * number goes first, then the first created. An op on several devices waits until all are free and takes them at once. */
ORR_API void orr_on_stream(struct orr_step *s, orr_op op, uint32_t stream);
ORR_API void orr_priority(struct orr_step *s, orr_op op, int32_t priority);
/* The iteration may end before op ends. */
ORR_API void orr_detach(struct orr_step *s, orr_op op);
/* Reports samples trained on when op ends. A policy with asynchronous workers calls it for each worker's iteration;
 * throughput then counts these samples while all workers are active, instead of whole iterations. */
ORR_API void orr_counts(struct orr_step *s, orr_op op, double samples);
/* Memory of `device` allocated when op starts, or freed when op ends. */
ORR_API void orr_takes(struct orr_step *s, orr_op op, uint32_t device, double bytes);
ORR_API void orr_gives(struct orr_step *s, orr_op op, uint32_t device, double bytes);
/* The share of a device that a compute op uses when it runs alone, above 0 and at most 1 (default 1): ops whose shares sum to
 * at most 1 do not slow one another down (step.interference=occupancy). */
ORR_API void orr_occupies(struct orr_step *s, orr_op op, double share);
/* Label for the timeline; copied. */
ORR_API void orr_label(struct orr_step *s, orr_op op, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Declares that a transfer carries the gradients of these layers: step.compression applies to them. Call it right after
 * orr_transfer(), before orr_after(). */
ORR_API void orr_carries(struct orr_step *s, orr_op op, uint32_t first_layer, uint32_t n_layers);

/* ---- effects of ops on the parameters (sim/learn applies them to real SGD) ---- */

enum orr_update_kind {
	ORR_GRADIENT,           /* the op's device: gradient of a mini-batch at its parameters as op starts */
	ORR_LOCAL_UPDATE,       /* the op's device: x -= eta * g */
	ORR_AVERAGE_GRADIENTS,  /* the op's group: every g = mean of g */
	ORR_AVERAGE_PARAMETERS, /* the op's group: every x = mean of x */
	ORR_PUSH,               /* transfer worker -> server: X[slice] -= eta * scale * g[slice], g of its iteration */
	ORR_PULL,               /* transfer server -> worker: x[slice] = X[slice] as the op starts; with a window, see below */
	ORR_ACCUMULATE,         /* the op's device: A = sum of its last `window` gradients */
	ORR_SEND_SLICE,         /* transfer i -> j: R_j[slice] += scale * A_i[slice], A_i of its iteration */
	ORR_APPLY_INBOX,        /* the op's device: x -= eta * (g + R); subtracts the used part from R */
	/* Synchronous model averaging: each device has a base model Z and a sum C of corrections. */
	ORR_REMEMBER,   /* the op's device: D = x */
	ORR_CORRECT,    /* the op's device: c = scale (D - Z), x -= c, C += c */
	ORR_APPLY_BASE, /* the op's group: Z += sum of all C + momentum (Z - the previous Z), C = 0, on each device */
	ORR_RESTART,    /* the op's device: x = Z */
	/* A graph neural network, whose vertices are cut into `chunks` runs, each at a graph server. `layer` counts from 0; the epoch is
	 * the op's iteration. docs/models/learn.md has the formulas. */
	ORR_GATHER,         /* a chunk sums over its neighbours the rows of layer `layer`, or backward their gradients, as visible
			       on the chunk's server when the op starts */
	ORR_APPLY_VERTEX,   /* the chunk's rows of layer + 1, or backward their gradient and that of the weights; visible on its server */
	ORR_SCATTER,        /* the rows that the chunk applied last become visible on the receiver of a transfer, on all devices of a
			       collective, after a compute op on all servers */
	ORR_WEIGHT_GRADIENT /* the chunk's gradient of the weights of `layer` has been added up at weight server slice of `slices` */
};
struct orr_update {
	enum orr_update_kind kind;
	/* PUSH, PULL: the worker's device (the other end is a server). GATHER, APPLY_VERTEX, SCATTER: the chunk's graph server. */
	uint32_t worker;
	uint32_t slice, slices; /* one of `slices` equal parts of the parameters; slices 0 means 1 */
	/* ACCUMULATE: number of gradients in the sum. PUSH: number of pushes that make one step of the server (0 means 1); only
	 * staleness depends on it. PULL of iteration k: the parameters apply to gradients from iteration k + 1 + window on.
	 * WEIGHT_GRADIENT: number of gradients that make the sum of this server complete. */
	uint32_t window;
	double scale; /* 0 means 1 */
	/* GRADIENT, LOCAL_UPDATE, REMEMBER, CORRECT, RESTART: replica of the device, 0..15, for several learners on one. */
	uint32_t learner;
	double momentum; /* of APPLY_BASE */
	/* GATHER, APPLY_VERTEX, SCATTER, WEIGHT_GRADIENT */
	uint32_t chunk, chunks; /* the chunk, and their number in all */
	uint32_t layer;
	bool is_backward;
};
/* Takes effect when op ends; several updates of an op apply in order. */
ORR_API void orr_updates(struct orr_step *s, orr_op op, const struct orr_update *u);

/* ---- policies that react ---- */

/*
 * A policy with a function ended() learns of the ends of the ops that it watches, in the order in which they end. In ended() it may
 * build further ops and dependencies, with the functions of build(): they belong to the iteration of the op, which does not end
 * before them. They may wait for any earlier op. A watched orr_delay() is a timer. Such a policy has no lanes, and every
 * iteration is simulated.
 */
ORR_API void orr_watch(struct orr_step *s, orr_op op);
/* Makes an op without duration that does not end before orr_open() is called for it. Ops of later iterations can so wait for ops
 * that ended() adds. */
ORR_API orr_op orr_gate(struct orr_step *s);
/* In ended(): the gate, of any iteration that is built, ends when `dep` and its own dependencies have; dep 0: when those have. Once
 * per gate. */
ORR_API void orr_open(struct orr_step *s, orr_op gate, orr_op dep);
/* Simulated time, s; 0 before the start. */
ORR_API double orr_step_now(const struct orr_step *s);
/* In ended(): an op that has not started will end at once when its dependencies have, without time, messages, updates or memory. */
ORR_API void orr_cancel(struct orr_step *s, orr_op op);

/* ---- the policy ---- */

struct orr_step_ops {
	/* Returns the state of one run, or NULL with *err filled in. */
	void *(*create)(struct orr_step *s, const struct orr_args *args, struct orr_error *err);
	void (*destroy)(void *self);
	/* Builds the graph of one iteration; non-zero ends the run with *err. */
	int (*build)(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err);
	/* May be NULL: writes a line for tables about its choices ("F=1, C=9"). */
	void (*describe)(void *self, char *out, size_t size);
	/* May be NULL: a watched op has ended. *err filled in ends the run. */
	void (*ended)(void *self, struct orr_step *s, orr_op op, struct orr_error *err);
};

/* A policy of this world: see policy.h. */
#define ORR_POLICY_STEP_FLAGS(ident, doc, flags, params, ops) \
	ORR_POLICY_DECLARE(ident, ident, doc, "step", flags, params, struct orr_step_ops, ops)
#define ORR_POLICY_STEP(ident, doc, params, ops) ORR_POLICY_STEP_FLAGS(ident, doc, 0u, params, ops)

#ifdef __cplusplus
}
#endif
#endif
