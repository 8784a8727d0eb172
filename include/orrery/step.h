/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * step.h - what a step policy sees and can do
 *
 * A step policy turns (model, workers, parameters) into the graph of each training
 * iteration: compute, transfers, collectives, and what waits for what. The world runs
 * the graph on devices and network and overlaps whatever the graph lets overlap.
 *
 *	static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
 *	{
 *		orr_op backward = orr_compute(s, device, ORR_BACKWARD, seconds);
 *		orr_op sum = orr_collective(s, &group, &all_reduce);
 *		orr_after(s, sum, backward);
 *		...
 *	}
 *
 * build() is called for iteration 0 at the start and for k+1 as soon as an op of k has
 * begun, so an op may wait for ops of any earlier iteration (their numbers stay valid) and
 * workers may run apart: nothing is synchronous unless the graph says so. An iteration ends
 * when all of its ops have, those given to orr_detach() aside.
 *
 * Endpoints: GPU 0..gpus-1 in the order of the cluster, then the host of each node,
 * gpus..gpus+nodes-1 (for parameter servers on CPUs). A "device" below is an endpoint.
 * Every device computes one op at a time on stream 0. Times are seconds, sizes bytes.
 *
 * Functions that cannot do what they are asked end the run with an error that names the
 * policy, the iteration and the op; they then return 0 (no op), which every function accepts.
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
	double out_elems, saved_elems; /* per sample: passed on; kept for backward */
	double rows, columns;          /* of the parameters seen as a matrix (PowerSGD); 0 if none */
	uint32_t block;                /* repeated block (a transformer layer), UINT32_MAX if none */
	double tensors;                /* so many tensors make up the parameters (query, key and value: 6) */
};

struct orr_step_facts {
	uint32_t gpus, nodes;
	uint32_t layers;
	uint32_t fc_first; /* first layer of the fully connected classifier; == layers if none */
	uint32_t blocks;   /* transformer layers; 0 if not a transformer */
	double params;
	double batch;                     /* samples per GPU and iteration */
	double gradient_bytes;            /* of one parameter's gradient as sent */
	double weight_bytes;              /* of one parameter as computed with */
	double activation_bytes;          /* of one activation element */
	double optimizer_bytes;           /* of state per parameter beside weight and gradient (master copies, moments) */
	double hidden, seq, heads, vocab; /* transformers; else 0 */
};

ORR_API void orr_step_facts(const struct orr_step *s, struct orr_step_facts *out);
ORR_API void orr_step_layer(const struct orr_step *s, uint32_t layer, struct orr_layer_info *out);
/* Sums over layers first..first+count-1. */
ORR_API double orr_step_params(const struct orr_step *s, uint32_t first, uint32_t count);
ORR_API uint32_t orr_node_of(const struct orr_step *s, uint32_t device);
ORR_API uint32_t orr_rack_of(const struct orr_step *s, uint32_t device);
ORR_API double orr_device_memory(const struct orr_step *s, uint32_t device); /* bytes; INFINITY for hosts */

/* ---- what things cost ---- */

enum orr_pass { ORR_PASS_FORWARD, ORR_PASS_BACKWARD_DATA, ORR_PASS_BACKWARD_WEIGHT };

/* Seconds of a pass over layers first..first+count-1, batch samples, each product split over `shards`
 * devices (1: not split). Stragglers are the world's business: it stretches ops as they run. */
ORR_API double orr_cost(
	const struct orr_step *s, uint32_t device, enum orr_pass pass, uint32_t first, uint32_t count, double batch, uint32_t shards);
/* The same with the element-wise kinds split as well (sequence parallelism). */
ORR_API double orr_cost_sequence_parallel(
	const struct orr_step *s, uint32_t device, enum orr_pass pass, uint32_t first, uint32_t count, double batch, uint32_t shards);
ORR_API double orr_update_cost(const struct orr_step *s, uint32_t device, double params);
/* Nominal bottleneck of the route, and as it is now (contention, time-varying capacity). */
ORR_API double orr_bandwidth(const struct orr_step *s, uint32_t from, uint32_t to);
ORR_API double orr_bandwidth_now(const struct orr_step *s, uint32_t from, uint32_t to);
ORR_API double orr_latency(const struct orr_step *s, uint32_t from, uint32_t to);
ORR_API double orr_step_uniform(struct orr_step *s); /* [0,1), from the policy's own stream */

/* ---- what a policy says in create() ---- */

/* Samples that one iteration trains on, in all (default: batch x gpus). */
ORR_API void orr_step_samples(struct orr_step *s, double samples);

/* The graphs of iterations k and k + period are alike, those between may differ (default 1; local SGD: its number of
 * local steps). 0: none need be alike. The world looks for a steady state in whole periods alone. */
ORR_API void orr_step_period(struct orr_step *s, uint32_t period);

enum orr_memory {
	ORR_MEMORY_WEIGHTS,
	ORR_MEMORY_GRADIENTS,
	ORR_MEMORY_OPTIMIZER,
	ORR_MEMORY_ACTIVATIONS,
	ORR_MEMORY_BUFFERS,
	ORR_MEMORY_KINDS
};
/* Held during the whole run; adds up. What does not fit ends the run, naming `what` ("stage 3"; copied) and the device. */
ORR_API void orr_hold(struct orr_step *s, uint32_t device, enum orr_memory kind, double bytes, const char *what);

/*
 * Lanes: copies of the same graph side by side (data-parallel replicas, ranks of a tensor-parallel group). After
 * this call a "device" given to an op is a position 0..positions-1, an op stands for the same op in every lane, and
 * lane l's position p is the GPU map[l * positions + p] (copied). Waiting is within a lane; lanes meet in
 * orr_collective_lanes(). The world runs one lane for all where routes and loads are equal, else each. Cost and memory
 * functions always take real devices.
 */
ORR_API void orr_step_lanes(struct orr_step *s, uint32_t lanes, uint32_t positions, const uint32_t *map);

/* ---- the graph: in build() ---- */

enum orr_work { ORR_FORWARD, ORR_BACKWARD, ORR_RECOMPUTE, ORR_OPTIMIZER, ORR_CODEC, ORR_OTHER_WORK, ORR_WORK_KINDS };

/* Stream 0 of the device, for so long. */
ORR_API orr_op orr_compute(struct orr_step *s, uint32_t device, enum orr_work work, double seconds);
/* One message. It takes no stream unless orr_on_stream() says so. */
ORR_API orr_op orr_transfer(struct orr_step *s, uint32_t from, uint32_t to, double bytes);
/* Time that passes on no device. */
ORR_API orr_op orr_delay(struct orr_step *s, double seconds);
/* No time: something to wait for. */
ORR_API orr_op orr_mark(struct orr_step *s);

enum orr_collective_op { ORR_ALL_REDUCE, ORR_REDUCE_SCATTER, ORR_ALL_GATHER, ORR_BROADCAST, ORR_REDUCE, ORR_ALL_TO_ALL };
enum orr_collective_algorithm {
	ORR_ALGORITHM_DEFAULT, /* the scenario's: step.algorithm */
	ORR_RING,
	ORR_HALVING_DOUBLING,
	ORR_DOUBLE_TREE,
	ORR_HIERARCHICAL,
	ORR_DIRECT,             /* everyone sends to everyone at once */
	ORR_HIERARCHICAL_LEADER /* all-reduce: one rank of each island talks for it; else as ORR_HIERARCHICAL */
};

struct orr_collective {
	enum orr_collective_op op;
	enum orr_collective_algorithm algorithm;
	double bytes;    /* the buffer of an all-reduce; the whole result or input of the others */
	uint32_t root;   /* rank; broadcast and reduce */
	uint32_t inner;  /* hierarchical: ranks per island; 0: ranks of one node */
	uint32_t repeat; /* so many of the same, one after the other (0: 1) */
	/* Gradients of layers first..first+count-1 (count 0: not gradients): what step.compression applies to. */
	uint32_t first_layer, n_layers;
	uint32_t chunks; /* trees and chains: pieces in the pipeline; 0: chosen */
};
struct orr_group {
	const uint32_t *device; /* in ring order; copied */
	uint32_t n;
};
ORR_API orr_op orr_collective(struct orr_step *s, const struct orr_group *g, const struct orr_collective *c);
/* Among lanes, at one position: lane l's group are the `size` lanes that differ from l by multiples of `stride`,
 * l - (l / stride % size) * stride + i * stride. */
ORR_API orr_op orr_collective_lanes(struct orr_step *s, uint32_t position, uint32_t size, uint32_t stride, const struct orr_collective *c);

/* op waits for dep; both may be 0. dep may be of an earlier iteration; in the same, it was made before op. */
ORR_API void orr_after(struct orr_step *s, orr_op op, orr_op dep);
/* One op at a time on (device, stream): for each member of a collective, for the sender of a transfer; stream 1..7.
 * (Work is always on stream 0.) Among ready ops the lowest
 * priority number goes first, then the first made; an op that needs several devices waits until all are free and takes
 * them at once. orr_compute() ops are on stream 0 from the start. */
ORR_API void orr_on_stream(struct orr_step *s, orr_op op, uint32_t stream);
ORR_API void orr_priority(struct orr_step *s, orr_op op, int32_t priority);
/* Its end is not part of the iteration's. */
ORR_API void orr_detach(struct orr_step *s, orr_op op);
/* So many samples have been trained on when op ends. A policy whose workers run apart calls it for each worker's
 * iteration; throughput is then counted while all workers are at work, not by whole iterations. */
ORR_API void orr_counts(struct orr_step *s, orr_op op, double samples);
/* Memory of `device` taken when op starts, given back when op ends. */
ORR_API void orr_takes(struct orr_step *s, orr_op op, uint32_t device, double bytes);
ORR_API void orr_gives(struct orr_step *s, orr_op op, uint32_t device, double bytes);
/* For the timeline; copied. */
ORR_API void orr_label(struct orr_step *s, orr_op op, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A transfer carries the gradients of these layers: what step.compression applies to. Call it right after
 * orr_transfer(), before orr_after(). */
ORR_API void orr_carries(struct orr_step *s, orr_op op, uint32_t first_layer, uint32_t n_layers);

/* ---- what an op does to the parameters (sim/learn applies it to real SGD) ---- */

enum orr_update_kind {
	ORR_GRADIENT,           /* the op's device: gradient of a mini-batch at its parameters as op starts */
	ORR_LOCAL_UPDATE,       /* the op's device: x -= eta * g */
	ORR_AVERAGE_GRADIENTS,  /* the op's group: every g = mean of g */
	ORR_AVERAGE_PARAMETERS, /* the op's group: every x = mean of x */
	ORR_PUSH,               /* transfer worker -> server: X[slice] -= eta * scale * g[slice], g of its iteration */
	ORR_PULL,               /* transfer server -> worker: x[slice] = X[slice] as the op starts */
	ORR_ACCUMULATE,         /* the op's device: A = sum of its last `window` gradients */
	ORR_SEND_SLICE,         /* transfer i -> j: R_j[slice] += scale * A_i[slice], A_i of its iteration */
	ORR_APPLY_INBOX         /* the op's device: x -= eta * (g + R), and R loses what was used */
};
struct orr_update {
	enum orr_update_kind kind;
	uint32_t worker;        /* PUSH, PULL: the worker's device (the other end is a server) */
	uint32_t slice, slices; /* of equal parts of the parameters; slices 0 means 1 */
	uint32_t window;
	double scale; /* 0 means 1 */
};
/* Takes effect when op ends; several per op in the order given. */
ORR_API void orr_updates(struct orr_step *s, orr_op op, const struct orr_update *u);

/* ---- the policy ---- */

struct orr_step_ops {
	/* State of one run, or NULL with *err filled in. */
	void *(*create)(struct orr_step *s, const struct orr_args *args, struct orr_error *err);
	void (*destroy)(void *self);
	/* The graph of one iteration; non-zero ends the run with *err. */
	int (*build)(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err);
	/* May be NULL: a line for tables on what was chosen ("F=1, C=9"). */
	void (*describe)(void *self, char *out, size_t size);
};

/* A policy of this world: see policy.h. */
#define ORR_POLICY_STEP(ident, doc, params, ops) ORR_POLICY_DECLARE(ident, ident, doc, "step", 0u, params, struct orr_step_ops, ops)

#ifdef __cplusplus
}
#endif
#endif
