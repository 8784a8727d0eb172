/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * step.h - the step world: runs the iterations that a step policy builds
 *
 * Each step_run() has its own state, so several runs may share a cluster, topology, model and policy in parallel threads.
 * Times are seconds (double) from the run's start.
 *
 * Steady state: when the durations of iterations repeat to 1e-9 with a period of at most STEP_MAX_PERIOD, the rest is
 * extrapolated. Exceptions: a run that is random or has a hook, and step.exact.
 */
#ifndef ORR_STEP_STEP_H
#define ORR_STEP_STEP_H

#include <orrery/step.h>

#include "base/param.h"
#include "hwmodel/cost.h"
#include "net/topology.h"
#include "results/result.h"

enum { STEP_MAX_PERIOD = 32, STEP_STREAMS = 8, STEP_MAX_FUNCTIONS = 1000000 };

/* Inputs that a run depended on. */
enum step_use {
	STEP_USED_ALGORITHM = 1,            /* a collective used step.algorithm where auto chooses another one */
	STEP_USED_NICS = 1 << 1,            /* a collective used several NICs of a node */
	STEP_USED_COMPRESSION = 1 << 2,     /* gradients were compressed */
	STEP_USED_MEMORY_LIMIT = 1 << 3,    /* a device held more than its memory */
	STEP_USED_MESSAGES = 1 << 4,        /* messages between devices */
	STEP_USED_RANDOM = 1 << 5,          /* draws */
	STEP_USED_STEADY_STATE = 1 << 6,    /* iterations repeated */
	STEP_USED_EVERY_ITERATION = 1 << 7, /* the mean is over all iterations */
	STEP_USED_LANES = 1 << 8,           /* the policy describes equal lanes */
	STEP_USED_CORUN = 1 << 9,           /* compute ops ran together on a device */
	STEP_USED_RAILS = 1 << 10,          /* an all-to-all used several NICs of a node */
	STEP_USED_NETWORK = 1 << 11,        /* a message left a node, or the policy queried the bandwidth between nodes */
	STEP_USED_SLOWED_NIC = 1 << 12,     /* step.contention_p slowed a NIC, and messages were sent */
	STEP_USED_MERGE = 1 << 13,          /* a job that trains has another rate than without step.merge */
	STEP_USED_MONEY = 1 << 14,          /* the policy keeps an account of money */
	STEP_USED_OTHER_SENDS = 1 << 15,    /* step.algorithm sent other messages than auto, not only other times inside a node */
	STEP_USED_BACKGROUND = 1 << 27,     /* a simulated message, or a query of the policy, used a link of step.background */
	/* Only together with STEP_USED_CHECKPOINT; the other worlds have bits of their own here. */
	STEP_USED_STORAGE = 1 << 16,     /* the storage makes a write longer */
	STEP_USED_STORAGE_NIC = 1 << 17, /* the links to the storage make a write longer */
	STEP_USED_SOME_NODES = 1 << 18,  /* a node with state writes none of it */
	STEP_USED_UPDATE = 1 << 23,      /* the policy queried the cost of an update; the jobs world clears it */
	STEP_USED_CHECKPOINT = 1 << 26,  /* a checkpoint was written */
	STEP_USED_ITERATIONS = 1 << 24,  /* jobs: a rate differs by 1e-8 or more from that with the default of step.iterations */
	STEP_USED_EXACT = 1 << 25,       /* jobs: a rate differs by 1e-8 or more from that with the default of step.exact */
	STEP_USED_LEARN_DECAY = 1 << 28, /* learn.schedule=step: samples reached learn.decay_samples or its default */
	STEP_USED_LEARN_RATE = 1 << 29,  /* learn.schedule changed the rate of an update */
	STEP_USED_LEARN_MODEL = 1 << 30  /* learn.model differed from the model that auto chooses */
};

/* A busy interval of a device, or a message, for the timeline. */
struct step_span {
	double start_s, end_s;
	uint64_t iteration;
	uint32_t device, stream; /* stream 0: compute; STEP_STREAMS: not on a stream */
	uint32_t peer;           /* receiver of a transfer; else UINT32_MAX */
	uint8_t work;            /* enum orr_work; ORR_WORK_KINDS: communication */
	const char *label;       /* label, owned by the result; may be NULL */
};

/* Use of one device per iteration (mean over the measured iterations). */
struct step_device {
	uint32_t device, node;
	double compute_s; /* time of forward, backward, recompute and other work */
	double optimizer_s, codec_s;
	double exposed_s; /* idle time while a message that the device waited for was in flight */
	double bubble_s;  /* other idle time: waiting for other devices */
	double idle_s;    /* time after its last op of the iteration */
	double peak_memory_bytes;
	double sent_bytes;
};

struct step_iteration {
	uint64_t number;
	double start_s, end_s, samples;
};

struct path_log;
struct iteration;

/* Use of one link of the topology over the measured iterations. */
struct step_link {
	double bytes_per_s; /* mean */
	double busy;        /* fraction of the time in which the link carried a flow */
	double peak_Bps;
};

/* The account of money of a run (orr_step_money()). */
struct step_money {
	bool is_kept;
	double time_s;                 /* time from 0 to the end of the last iteration */
	double node_usd, function_usd; /* function_usd includes requests */
	double function_GB_s;          /* billed */
	double function_s;             /* used: seconds of invocations, without start times */
	uint64_t invocations;
	uint32_t functions;
};

/* The stages of a pipeline in the first iteration, without updates (orr_step_stages()). */
struct step_stages {
	bool is_kept;
	double makespan_s, longest_s;     /* time from the first start to the last end: over all stages; of the longest stage */
	double bubble_s, busy_s;          /* largest waiting time of a stage between its first and its last op; work of that stage */
	double most_busy_s, least_busy_s; /* work of a stage */
	double peak_bytes;                /* largest memory of a stage beyond its static memory, over all iterations */
};

/* The checkpoints of a run (step.checkpoint_every). */
struct step_checkpoints {
	uint64_t n, period; /* period: iterations after which checkpoints and the policy repeat together */
	double bytes;       /* of one checkpoint */
	double pause_s;     /* sum of the pauses of training */
	double write_s;     /* mean time of a write */
	double iteration_s; /* mean of the same run without checkpoints; NAN: not run */
};

struct step_result {
	struct step_iteration *iteration;
	size_t n_iterations;
	uint64_t simulated;    /* number of simulated iterations; the others are extrapolated */
	uint32_t period;       /* period of the steady state; 0: none was found */
	uint32_t graph_period; /* number of iterations after which the policy repeats; 0: it does not */
	uint64_t first;        /* first iteration of the means, without a steady state */
	struct step_device *device;
	size_t n_devices; /* number of devices that computed or held memory */
	struct step_span *span;
	size_t n_spans;
	char **name; /* [endpoint] name of its row in timelines, owned by the result; NULL: its number */
	uint32_t n_names;
	double samples_per_s;    /* rate; without the first iteration if the run has several */
	double iteration_s;      /* mean, without the first iteration if the run has several */
	bool has_workers;        /* workers are not synchronised, and samples are counted by worker */
	bool has_own_parameters; /* the parameters of workers differ between averages, or while slices are in flight */
	bool was_merged;
	uint64_t flows;    /* number of flows started in the network */
	unsigned used;     /* enum step_use */
	char choice[1024]; /* the policy's description of its choice */
	char cost_source[3072];
	bool has_large_scores;      /* attention is not fused, and most of the activations that the model keeps are its scores */
	bool is_transformer_on_sgd; /* the policy queried the update of a transformer without optimizer state */
	/* Numbers of kernels whose times the policy queried, of those timed by laws of a profile, and of these outside the range of
	 * their law; the error that the laws state (NAN: none). */
	uint64_t kernels, kernels_by_law, kernels_outside;
	double profile_error;
	struct step_money money;
	struct step_stages stages;
	struct step_checkpoints checkpoints; /* n 0: none */
	struct step_link *link;              /* with step_config.link_use */
	size_t n_links;
	void *strings;
	struct path_log *paths; /* critical paths, with step_config.paths; path_parts() reads them */
};
void step_result_free(struct step_result *r);

/* Called when an op with updates starts or ends (sim/learn). group: the devices of the op. */
typedef void (*step_update_hook)(void *ctx, double time_s, bool is_end, uint64_t op, const struct orr_update *u, uint32_t n_updates,
	const uint32_t *group, uint32_t n_group);

struct step_config {
	const struct cluster *cluster;
	const struct topo *topo;
	const struct dnn *dnn;
	const struct cost *const *cost;     /* costs by GPU type of the cluster */
	const struct device *const *device; /* devices by GPU type of the cluster */
	const struct orr_args *options;     /* of step_options */
	double batch;                       /* samples per GPU */
	enum precision precision;           /* precision; FP16 and BF16: mixed, with master copies in FP32 */
	uint64_t seed;                      /* seed of all random streams; each replication has its own (rng_seed_of()) */
	double policy_timeout_s;            /* time limit of one call of the policy (engine/watch.h) */
	bool check;                         /* check conservation laws at run time */
	bool link_use;                      /* fill in step_result.link */
	uint32_t spans;                     /* number of last simulated iterations whose spans are recorded; 0: none */
	bool paths;                         /* record the critical path of each iteration */
	step_update_hook hook;              /* called for each update, may be NULL; if a hook is set, every iteration is simulated */
	void *hook_ctx;
	/* Called with each iteration that the policy has built, in which no lanes are merged (export.c); may be NULL. */
	void (*built)(void *ctx, const struct orr_step *s, const struct iteration *k);
	void *built_ctx;
	bool (*stop)(void *ctx, double time_s); /* called at the end of each iteration; the run stops if it returns true; may be NULL */
};

/* Parameters of `--set step.NAME=VALUE`. */
extern const struct orr_param step_options[];
bool step_draws(const struct orr_args *options); /* whether times are drawn at random: stragglers, jitter, contention */

/* Checks the options of checkpoints. storage.c */
int storage_check(const struct orr_args *options, const struct cluster *c, const struct device *const *device, struct orr_error *err);

/* Runs a policy; label names it in messages. The error's code gives the cause: ORR_EINPUT for the model, cluster or options,
 * ORR_EFAIL for the policy. */
int step_run(const struct step_config *c, const struct orr_policy *policy, const struct orr_args *policy_args, const char *label,
	struct step_result *out, struct orr_error *err);

/* Returns a run without policy and iterations, for its facts and costs (orr_cost(), orr_step_layer(), ..); NULL on error. c must
 * outlive it. */
struct orr_step *step_facts_new(const struct step_config *c, struct orr_error *err);
void step_facts_free(struct orr_step *s);

/* One of several simultaneous runs, whose topologies have the same links (net/topology_part.h). */
struct step_member {
	const struct step_config *config;
	const struct orr_policy *policy;
	const struct orr_args *args;
	const char *label;
	double start_s; /* start of its first iteration */
};
struct step_together {
	double tolerance;    /* a rate is steady if it changes by less than this fraction */
	uint64_t most;       /* limit on the iterations of the slowest member */
	uint64_t most_flows; /* limit on the messages of all members; at this limit a rate is 0 if no whole iteration was measured */
	/* Results. */
	double *samples_per_s; /* rates by member, owned by the caller */
	bool has_settled;
	uint64_t iterations; /* number of simulated iterations, over all members */
	unsigned used;       /* bits of enum step_use, over all members */
};
/* Runs the members independently over one network until all rates are steady. Rates are measured over the second half of the time;
 * the time is doubled until they are steady. */
int step_run_together(const struct step_member *m, uint32_t n, struct step_together *out, struct orr_error *err);

/* Fills in metrics, rows and notes of the general result (tables, store). Spans: those of named endpoints, or of the first
 * STEP_FIGURE_DEVICES devices that compute or send. docs/reference/schema.md lists the metrics. */
enum { STEP_FIGURE_DEVICES = 16, STEP_FIGURE_SPANS = 20000, STEP_MAX_ROWS = 1000000 };
void step_metrics(const struct step_result *s, struct run_result *r);
/* Moves the critical paths to r->parts; each part is a stretch of a path. path.c */
void path_parts(struct path_log *l, struct run_result *r);
void path_log_free(struct path_log *l);
/* Returns "forward", ..; "send" for ORR_WORK_KINDS. */
const char *step_work_name(unsigned work);

#endif
