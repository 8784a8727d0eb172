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
 * build() is called for iteration 0 at the start, and for iteration k+1 as soon as an op of iteration k has begun. An op may
 * therefore wait for ops of any earlier iteration (handles stay valid). Only dependencies synchronise workers. An iteration
 * ends when all its ops have ended, except those given to orr_detach().
 *
 * Endpoints: GPU 0..gpus-1 in the order of the cluster, then the host of each node, gpus..gpus+nodes-1 (for parameter
 * servers on CPUs), then the functions, if any (orr_functions()). A "device" below is an endpoint. Every device computes one op at a time
 * on stream 0. Times are seconds, sizes bytes.
 *
 * A policy can also react to ends of ops while an iteration runs: see orr_watch().
 *
 * A call with invalid arguments ends the run with an error that names the policy, the iteration and the op. The call returns 0
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
	ORR_LAYER_MATMUL, /* layers without parameters: attention scores and context */
	ORR_LAYER_RNN,
	ORR_LAYER_EMBEDDING, /* gather */
	ORR_LAYER_NORM,
	ORR_LAYER_ACTIVATION,
	ORR_LAYER_POOL,
	ORR_LAYER_SOFTMAX,
	ORR_LAYER_ELEMENTWISE, /* memory-bound layers: add, concat, rope, gates */
	ORR_LAYER_KINDS
};

struct orr_layer_info {
	const char *name; /* name of the layer; valid during the run */
	enum orr_layer_kind kind;
	double params;
	double fwd_flops;              /* per sample */
	double out_elems, saved_elems; /* elements per sample: those of the output, and those kept for the backward pass */
	double rows, columns;          /* shape of the parameters as a matrix (PowerSGD); 0: no parameters */
	uint32_t block;                /* number of the repeated block (a transformer layer); UINT32_MAX: none */
	double tensors;                /* number of parameter tensors (query, key and value: 6) */
};

struct orr_step_facts {
	uint32_t gpus, nodes;
	uint32_t layers;
	uint32_t fc_first; /* first layer of the fully connected classifier; == layers: none */
	uint32_t blocks;   /* number of transformer layers; 0: not a transformer */
	double params;
	double batch;                     /* number of samples per GPU and iteration */
	double gradient_bytes;            /* bytes of a gradient per parameter in a message */
	double weight_bytes;              /* bytes of a weight per parameter in computations */
	double activation_bytes;          /* bytes per activation element */
	double optimizer_bytes;           /* bytes of optimizer state per parameter, besides weight and gradient (master copies,
					   * moments) */
	double hidden, seq, heads, vocab; /* dimensions of a transformer; else 0 */
};

ORR_API void orr_step_facts(const struct orr_step *s, struct orr_step_facts *out);
ORR_API void orr_step_layer(const struct orr_step *s, uint32_t layer, struct orr_layer_info *out);
/* Return sums over layers first..first+count-1. */
ORR_API double orr_step_params(const struct orr_step *s, uint32_t first, uint32_t count);
ORR_API uint32_t orr_node_of(const struct orr_step *s, uint32_t device);
ORR_API uint32_t orr_rack_of(const struct orr_step *s, uint32_t device);
ORR_API double orr_device_memory(const struct orr_step *s, uint32_t device); /* memory of the device, bytes; INFINITY for hosts */

/* The graph of a graph neural network, whose samples are its vertices. */
struct orr_step_graph {
	double vertices, edges; /* edges are directed */
	bool has_attention;     /* GAT */
	uint32_t layers;        /* layers of the network; each consists of `of_each` layers of the model, from l * of_each on */
	uint32_t of_each;
	uint32_t gather, apply, edge; /* index among the `of_each` layers of: the sum over neighbours; the product; the edge scores
					 (UINT32_MAX: no such layer) */
};
/* Returns false if the model is no graph network. */
ORR_API bool orr_step_graph(const struct orr_step *s, struct orr_step_graph *out);
/* Returns the number of pairs (vertex, other server that needs a copy of it) if `parts` servers own equal random shares of the vertices.
 * Graphs of at most 2 million edges are generated and counted; for larger graphs the expected number is returned
 * (docs/models/step-dorylus.md). */
ORR_API double orr_step_ghosts(const struct orr_step *s, uint32_t parts);

/* ---- mixtures of experts ---- */

struct orr_step_experts {
	uint32_t experts, top_k, shared, width; /* experts of a layer; experts per token; experts that all tokens use; width of an expert */
	uint32_t groups, top_groups;            /* a token's experts are in at most top_groups of `groups` equal groups */
};
/* Returns false if the model has no routed experts. */
ORR_API bool orr_step_experts(const struct orr_step *s, struct orr_step_experts *out);
/* Returns the number of routed experts of a layer (of a product: those whose weights it holds); 0: none. */
ORR_API uint32_t orr_layer_experts(const struct orr_step *s, uint32_t layer);
enum orr_split { ORR_SPLIT_AUTO, ORR_SPLIT_NONE, ORR_SPLIT_COLUMNS, ORR_SPLIT_ROWS };
/* Returns how tensor parallelism splits a linear layer; AUTO: layers of a block by columns and by rows in turn. */
ORR_API enum orr_split orr_layer_split(const struct orr_step *s, uint32_t layer);

struct orr_step_attention {
	double head_dim, v_dim; /* width of a head: queries and keys; values; 0: no transformer */
	double kv_heads;
	double cached; /* values that a decoder keeps per token and layer */
};
ORR_API void orr_step_attention(const struct orr_step *s, struct orr_step_attention *out);

/* AUTO: balanced if there are copies, else contiguous. BALANCED: DeepSeek's balancer (docs/models/step-experts.md). */
enum orr_expert_placement { ORR_PLACE_AUTO, ORR_PLACE_CONTIGUOUS, ORR_PLACE_BALANCED };
struct orr_routing_terms {
	uint32_t experts, top_k, groups, top_groups;
	const double *load; /* relative load of each expert; NULL: 1 / (e + 1)^skew for expert e */
	double skew;
	uint32_t ranks, per_node; /* GPUs that share the experts, and those of a node */
	uint32_t copies;          /* redundant copies of hot experts */
	enum orr_expert_placement placement;
	double capacity; /* limit on the pairs of an expert, in units of the mean; pairs above it are dropped. 0: none */
};
struct orr_routing {
	uint32_t number;                       /* for orr_routing_messages() */
	const double *rank_pairs;              /* [rank] expected (token, expert) pairs per token; valid during the run, as the next two */
	const double *rank_visits;             /* [rank] probability that a token goes there */
	const uint32_t *rank_experts;          /* [rank] number of experts and copies */
	double distinct_ranks, distinct_nodes; /* expected numbers for a token */
	double imbalance, dropped;             /* pairs of the busiest rank / mean; share of dropped pairs */
};
/* Reads the loads of n experts from the text of a file: numbers separated by blanks, commas or line ends. */
ORR_API int orr_routing_loads(const char *file, const char *text, size_t size, uint32_t n, double *out, struct orr_error *err);
/* Computes where the tokens go. In create(). */
ORR_API int orr_step_route(struct orr_step *s, const struct orr_routing_terms *t, struct orr_routing *out, struct orr_error *err);
/* What a token is sent as: once for each of its experts, of its ranks, or of its nodes (then passed on inside the node). */
enum orr_expert_mode { ORR_EXPERT_PER_EXPERT, ORR_EXPERT_PER_RANK, ORR_EXPERT_PER_NODE };
/* Returns the number of the messages of a dispatch (or of the combine that returns its results), for orr_exchange(); each rank has tokens
 * of `bytes` in all. start_s: additional latency. In create(). */
ORR_API uint32_t orr_routing_messages(
	struct orr_step *s, uint32_t routing, enum orr_expert_mode mode, double bytes, bool is_combine, double start_s);
/* Returns the number of other messages, bytes[from * n + to] (copied). In create(). */
ORR_API uint32_t orr_step_messages(struct orr_step *s, uint32_t n, const double *bytes, double start_s);

/* ---- costs ---- */

enum orr_pass { ORR_PASS_FORWARD, ORR_PASS_BACKWARD_DATA, ORR_PASS_BACKWARD_WEIGHT };

/* Returns the time, s, of a pass over layers first..first+count-1 for `batch` samples, with each product split over `shards` devices
 * (1: not split). Excludes stragglers: the world applies them when ops run. */
ORR_API double orr_cost(
	const struct orr_step *s, uint32_t device, enum orr_pass pass, uint32_t first, uint32_t count, double batch, uint32_t shards);
/* Like orr_cost(), with element-wise layers split too (sequence parallelism). */
ORR_API double orr_cost_sequence_parallel(
	const struct orr_step *s, uint32_t device, enum orr_pass pass, uint32_t first, uint32_t count, double batch, uint32_t shards);
/* Returns the time, s, of a pass over a layer of routed experts, on a device that holds `experts` of them and computes `pairs` (token,
 * expert) pairs. 0 for other layers. */
ORR_API double orr_cost_experts(
	const struct orr_step *s, uint32_t device, enum orr_pass pass, uint32_t layer, double pairs, double experts, uint32_t shards);
/* Returns the number of a device's multiprocessors; 0: unknown. */
ORR_API double orr_device_sms(const struct orr_step *s, uint32_t device);
ORR_API double orr_update_cost(const struct orr_step *s, uint32_t device, double params);
/* Return the bandwidth of the bottleneck of the route: the nominal one, and the present one (contention, time-varying capacity). */
ORR_API double orr_bandwidth(const struct orr_step *s, uint32_t from, uint32_t to);
ORR_API double orr_bandwidth_now(const struct orr_step *s, uint32_t from, uint32_t to);
ORR_API double orr_latency(const struct orr_step *s, uint32_t from, uint32_t to);
/* Returns the number of NICs of a node, which its GPUs share. */
ORR_API uint32_t orr_step_nics(const struct orr_step *s);
ORR_API double orr_step_uniform(struct orr_step *s); /* returns a number in [0,1) from the policy's own random stream */

/* ---- settings, in create() ---- */

/* Sets the total number of samples of one iteration (default: batch x gpus). */
ORR_API void orr_step_samples(struct orr_step *s, double samples);

/* The run also reports the stages of a pipeline in its first iteration, which starts empty: makespan, longest stage, bubbles, peak of
 * the activations (docs/reference/schema.md). A stage is a device that does work other than ORR_OPTIMIZER. */
ORR_API void orr_step_stages(struct orr_step *s);

/* Declares that the graphs of iterations k and k + period are equal (default 1; local SGD: its number of local steps). 0: all may
 * differ. Steady-state detection compares whole periods only. For a policy with a function ended() it requires this call, and that
 * no op is watched. */
ORR_API void orr_step_period(struct orr_step *s, uint32_t period);

/* Allows compute ops on streams 0..7 of their device (orr_on_stream()), so that up to eight run at once. step.interference gives
 * their rates. */
ORR_API void orr_step_co_run(struct orr_step *s);

enum orr_memory {
	ORR_MEMORY_WEIGHTS,
	ORR_MEMORY_GRADIENTS,
	ORR_MEMORY_OPTIMIZER,
	ORR_MEMORY_ACTIVATIONS,
	ORR_MEMORY_BUFFERS,
	ORR_MEMORY_KINDS
};
/* Declares memory held during the whole run; calls add up. Exceeding the device's memory ends the run with an error that quotes
 * `what` ("stage 3"; copied). */
ORR_API void orr_hold(struct orr_step *s, uint32_t device, enum orr_memory kind, double bytes, const char *what);

/* In create(): names the row of an endpoint in timelines ("weight server 0"; copied). Endpoints with equal names share a row. If any
 * endpoint has a name, timeline figures show only these. */
ORR_API void orr_endpoint_name(struct orr_step *s, uint32_t endpoint, const char *name);

/*
 * Declares lanes: parallel copies of one graph (data-parallel replicas, ranks of a tensor-parallel group). After this call the
 * "device" of an op is a position 0..positions-1, and an op represents the same op in every lane. Position p of lane l is the
 * GPU map[l * positions + p] (copied). Dependencies stay within a lane; orr_collective_lanes() joins lanes. If routes and loads
 * are equal, the world simulates one lane for all, else every lane. Cost and memory functions always take real devices.
 */
ORR_API void orr_step_lanes(struct orr_step *s, uint32_t lanes, uint32_t positions, const uint32_t *map);

/* ---- functions and money ---- */

/*
 * Functions are short-lived workers outside the cluster, billed by use. Each is an endpoint with its own link: a message between a
 * function and a device takes this link and the NIC of the device's node. Compute and transfer ops use a function like a
 * device, between orr_invoke() and orr_returns().
 */
struct orr_functions {
	uint32_t n;                           /* each runs one invocation at a time */
	double bandwidth_Bps, latency_s;      /* bandwidth and latency of the link in each direction */
	double start_s, start_spread;         /* time that an invocation takes to start: median; sigma of its logarithm (0: constant) */
	double memory_bytes;                  /* memory of each device */
	double usd_per_GB_s, usd_per_request; /* GB: 2^30 bytes */
	double rounding_s;                    /* the billed time is rounded up to a multiple of this; 0: no rounding */
};
/* Declares functions and returns the endpoint of the first function. For create(), at most once. */
ORR_API uint32_t orr_functions(struct orr_step *s, const struct orr_functions *what);
/* In create(): the run has an account of money. It has nodes, from 0 to the end of the last iteration, at step.prices or the
 * catalogue's prices, and functions. orr_functions() implies it. */
ORR_API void orr_step_money(struct orr_step *s);
/* USD spent so far, on nodes and on invocations that have returned. */
ORR_API double orr_step_usd(const struct orr_step *s);

/* ---- the graph: in build() ---- */

enum orr_work {
	ORR_FORWARD,
	ORR_BACKWARD,
	ORR_RECOMPUTE,
	ORR_OPTIMIZER,
	ORR_CODEC,
	ORR_OTHER_WORK,
	ORR_BACKWARD_WEIGHT, /* the part of a split backward pass that computes gradients of weights */
	ORR_WORK_KINDS
};

/* Makes an op that occupies stream 0 of the device for `seconds`. */
ORR_API orr_op orr_compute(struct orr_step *s, uint32_t device, enum orr_work work, double seconds);
/* Makes an op that sends one message. It uses no stream unless orr_on_stream() assigns one. */
ORR_API orr_op orr_transfer(struct orr_step *s, uint32_t from, uint32_t to, double bytes);
/* Makes an op that waits `seconds` and occupies no device. */
ORR_API orr_op orr_delay(struct orr_step *s, double seconds);
/* Makes an op of zero duration that other ops can wait for. */
ORR_API orr_op orr_mark(struct orr_step *s);

/* Makes an op that takes the start time of an invocation of a function. The invocation is billed from its end on, to the end of the op
 * that orr_returns() is called for; until then the function cannot be invoked again. */
ORR_API orr_op orr_invoke(struct orr_step *s, uint32_t function);
ORR_API void orr_returns(struct orr_step *s, orr_op op, uint32_t function);

enum orr_collective_op { ORR_ALL_REDUCE, ORR_REDUCE_SCATTER, ORR_ALL_GATHER, ORR_BROADCAST, ORR_REDUCE, ORR_ALL_TO_ALL };
enum orr_collective_algorithm {
	ORR_ALGORITHM_DEFAULT, /* algorithm of the scenario: step.algorithm */
	ORR_RING,
	ORR_HALVING_DOUBLING,
	ORR_DOUBLE_TREE,
	ORR_HIERARCHICAL,
	ORR_DIRECT,              /* each rank sends to every other rank at once */
	ORR_HIERARCHICAL_LEADER, /* all-reduce: only one rank of each island communicates with others; otherwise like
				  * ORR_HIERARCHICAL */
	ORR_MULTI_RING,          /* one ring for each NIC that the ranks of a node use; a plain ring if they use one NIC */
	ORR_MULTI_TREE,          /* all-reduce: a double tree over nodes for each NIC, a chain of ranks in each node */
	ORR_NVLS_TREE /* like ORR_MULTI_TREE, but the switch of each node reduces and copies; in one node: the switch alone (NVLS) */
};

struct orr_collective {
	enum orr_collective_op op;
	enum orr_collective_algorithm algorithm;
	double bytes;    /* bytes per rank of an all-reduce; bytes of the whole result or input of other collectives */
	uint32_t root;   /* root: rank, for broadcast and reduce */
	uint32_t inner;  /* hierarchical: number of ranks per island; 0: ranks of one node */
	uint32_t repeat; /* number of collectives in sequence; 0 means 1 */
	/* The collective carries the gradients of n_layers layers from first_layer on (n_layers 0: no gradients); step.compression
	 * applies to them. */
	uint32_t first_layer, n_layers;
	uint32_t chunks; /* trees and chains: number of pipelined pieces; 0: chosen by size */
};
struct orr_group {
	const uint32_t *device; /* devices in ring order; copied */
	uint32_t n;
};
ORR_API orr_op orr_collective(struct orr_step *s, const struct orr_group *g, const struct orr_collective *c);
/* Makes a collective among lanes at one position. The group of lane l is the `size` lanes l - (l / stride % size) * stride + i *
 * stride. */
ORR_API orr_op orr_collective_lanes(struct orr_step *s, uint32_t position, uint32_t size, uint32_t stride, const struct orr_collective *c);

/* Makes an op that sends all messages of one number at once (an all-to-all of unequal messages): among a group, or among lanes as
 * orr_collective_lanes(). */
ORR_API orr_op orr_exchange(struct orr_step *s, const struct orr_group *g, uint32_t messages);
ORR_API orr_op orr_exchange_lanes(struct orr_step *s, uint32_t position, uint32_t size, uint32_t stride, uint32_t messages);

/* In create(), after orr_step_lanes(): returns the number of times by lane, seconds[lane] (copied). If they differ, every lane is
 * simulated. */
ORR_API uint32_t orr_step_lane_seconds(struct orr_step *s, const double *seconds);
/* Makes a compute op like orr_compute(), which takes another time in each lane. */
ORR_API orr_op orr_compute_lanes(struct orr_step *s, uint32_t position, enum orr_work work, uint32_t lane_seconds);

/* Sets the number of samples of this iteration, if iterations differ; in build() only. */
ORR_API void orr_iteration_samples(struct orr_step *s, double samples);
/* Makes op wait for dep; both may be 0. dep must belong to an earlier iteration or be created before op. */
ORR_API void orr_after(struct orr_step *s, orr_op op, orr_op dep);
/* Assigns a transfer or collective to stream 1..7 of its devices: the sender of a transfer, each member of a collective. Compute ops
 * use stream 0; after orr_step_co_run(), any stream. A (device, stream) runs one op at a time. Among ready ops the lowest priority
 * number runs first, then the op created first. An op on several devices waits until all are free and occupies them at once. */
ORR_API void orr_on_stream(struct orr_step *s, orr_op op, uint32_t stream);
ORR_API void orr_priority(struct orr_step *s, orr_op op, int32_t priority);
/* Allows the iteration to end before op ends. */
ORR_API void orr_detach(struct orr_step *s, orr_op op);
/* Counts `samples` as trained when op ends. A policy with asynchronous workers calls it for each worker's iteration. Throughput then
 * counts these samples while all workers are active, instead of whole iterations. */
ORR_API void orr_counts(struct orr_step *s, orr_op op, double samples);
/* orr_takes() allocates memory of `device` when op starts; orr_gives() frees it when op ends. */
ORR_API void orr_takes(struct orr_step *s, orr_op op, uint32_t device, double bytes);
ORR_API void orr_gives(struct orr_step *s, orr_op op, uint32_t device, double bytes);
/* Sets the share of a device that a compute op uses when it runs alone, above 0 and at most 1 (default 1). Ops whose shares sum to
 * at most 1 do not slow one another down (step.interference=occupancy). */
ORR_API void orr_occupies(struct orr_step *s, orr_op op, double share);
/* Sets the label of an op in the timeline; copied. */
ORR_API void orr_label(struct orr_step *s, orr_op op, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Declares that a transfer carries the gradients of these layers; step.compression then applies to it. Call it right after
 * orr_transfer(), before orr_after(). */
ORR_API void orr_carries(struct orr_step *s, orr_op op, uint32_t first_layer, uint32_t n_layers);

/* ---- effects of ops on the parameters (sim/learn applies them to real SGD) ---- */

enum orr_update_kind {
	ORR_GRADIENT,           /* the op's device: g = gradient of a mini-batch at its parameters when op starts */
	ORR_LOCAL_UPDATE,       /* the op's device: x -= eta * g */
	ORR_AVERAGE_GRADIENTS,  /* the op's group: each g = mean of g */
	ORR_AVERAGE_PARAMETERS, /* the op's group: each x = mean of x */
	ORR_PUSH,               /* transfer worker -> server: X[slice] -= eta * scale * g[slice], g of its iteration */
	ORR_PULL,               /* transfer server -> worker: x[slice] = X[slice] when op starts; for a window, see below */
	ORR_ACCUMULATE,         /* the op's device: A = sum of its last `window` gradients */
	ORR_SEND_SLICE,         /* transfer i -> j: R_j[slice] += scale * A_i[slice], A_i of its iteration */
	ORR_APPLY_INBOX,        /* the op's device: x -= eta * (g + R); subtracts the used part from R */
	/* Synchronous model averaging: each device has a base model Z and the sum C of the corrections. */
	ORR_REMEMBER,   /* the op's device: D = x */
	ORR_CORRECT,    /* the op's device: c = scale (D - Z), x -= c, C += c */
	ORR_APPLY_BASE, /* the op's group: Z += sum of all C + momentum (Z - the previous Z), C = 0, on each device */
	ORR_RESTART,    /* the op's device: x = Z */
	/* A graph neural network, whose vertices are divided into `chunks` chunks, each on a graph server. `layer` counts from 0; the epoch
	 * is the op's iteration. docs/models/learn.md has the formulas. */
	ORR_GATHER, /* the chunk sums the rows of layer `layer` over its neighbours (backward: their gradients). It reads the values that
		       are visible on its server when the op starts */
	ORR_APPLY_VERTEX, /* the chunk computes its rows of layer + 1 (backward: their gradient and the gradient of the weights). They
			     become visible on its server */
	ORR_SCATTER, /* the rows that the chunk computed last become visible: after a transfer, on the receiver; after a collective, on all
			devices; after a compute op, on all servers */
	ORR_WEIGHT_GRADIENT /* the chunk's gradient of the weights of `layer` has been added at weight server `slice` of `slices` */
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
	double scale; /* PUSH, SEND_SLICE, CORRECT: the factor in the formulas above; 0 means 1 */
	/* GRADIENT, LOCAL_UPDATE, REMEMBER, CORRECT, RESTART: learner of the device, 0..15, if several share it. */
	uint32_t learner;
	double momentum; /* momentum of APPLY_BASE */
	/* GATHER, APPLY_VERTEX, SCATTER, WEIGHT_GRADIENT */
	uint32_t chunk, chunks; /* index of the chunk, and number of chunks */
	uint32_t layer;
	bool is_backward;
};
/* Adds an update, which takes effect when op ends; several updates of an op apply in order. */
ORR_API void orr_updates(struct orr_step *s, orr_op op, const struct orr_update *u);

/* ---- policies that react ---- */

/*
 * Watches an op: the world calls ended() when it ends, in order of the ends. ended() may build more ops and dependencies with
 * the functions of build(); the iteration of the watched op ends after them. They may wait for any earlier op. A watched
 * orr_delay() is a timer. A policy with ended() has no lanes, and every iteration is simulated.
 */
ORR_API void orr_watch(struct orr_step *s, orr_op op);
/* Makes an op of zero duration that cannot end before orr_open() is called for it. Ops of later iterations can wait for it, and so
 * for ops that ended() adds. */
ORR_API orr_op orr_gate(struct orr_step *s);
/* Opens a gate of any built iteration; in ended() only, once per gate. The gate ends when `dep` and its own dependencies have ended;
 * dep 0: its own dependencies only. */
ORR_API void orr_open(struct orr_step *s, orr_op gate, orr_op dep);
/* Returns the simulated time, s; 0 before the start. */
ORR_API double orr_step_now(const struct orr_step *s);
/* Cancels an op that has not started; in ended() only. The op ends when its dependencies have ended and takes no time, sends no
 * messages, and changes neither parameters nor memory. */
ORR_API void orr_cancel(struct orr_step *s, orr_op op);

/* ---- the policy ---- */

struct orr_step_ops {
	/* Returns the policy's object of one run, or NULL with *err filled in. */
	void *(*create)(struct orr_step *s, const struct orr_args *args, struct orr_error *err);
	void (*destroy)(void *self);
	/* Builds the graph of one iteration. A non-zero return value ends the run with *err. */
	int (*build)(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err);
	/* Writes one line for tables about the policy's choices ("F=1, C=9"), at most size - 1 bytes; size is at least 1000. A text that
	 * fills the buffer is cut at its last space. May be NULL. */
	void (*describe)(void *self, char *out, size_t size);
	/* Called when a watched op has ended; filling in *err ends the run. May be NULL. */
	void (*ended)(void *self, struct orr_step *s, orr_op op, struct orr_error *err);
};

/* Declares a policy of the step world: see policy.h. */
#define ORR_POLICY_STEP_FLAGS(ident, doc, flags, params, ops) \
	ORR_POLICY_DECLARE(ident, ident, doc, "step", flags, params, struct orr_step_ops, ops)
#define ORR_POLICY_STEP(ident, doc, params, ops) ORR_POLICY_STEP_FLAGS(ident, doc, 0u, params, ops)

#ifdef __cplusplus
}
#endif
#endif
