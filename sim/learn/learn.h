/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * learn.h - real stochastic gradient descent under a simulated schedule of updates
 *
 * The effect of an op on the parameters (enum orr_update_kind, orrery/step.h) is reported twice, in order of time. When the op
 * starts, its inputs are saved; when it ends, it takes effect. Any number of ops may be in flight. Each device that appears has
 * one replica, or up to 16 (learners). A replica has parameters x, a gradient g, a window of gradients with sum A, and an inbox
 * R. The server holds one copy X. All x and X start from the same point; the other vectors start at zero.
 *
 * Invariant: the results are a function of the configuration and of the order of calls. Gradients are computed lazily: reading
 * one computes all pending gradients in parallel. Mini-batches come from one stream per device and sums have a fixed order, so
 * results do not depend on the number of threads.
 *
 * The size of a mini-batch is that of the toy problem (`batch`), regardless of the model of the step world. Formulas and
 * sources: docs/models/learn.md.
 */
#ifndef ORR_LEARN_LEARN_H
#define ORR_LEARN_LEARN_H

#include <orrery/step.h>

enum learn_problem {
	LEARN_LEAST_SQUARES, /* 1/2 mean (a.x - y)^2 */
	LEARN_LOGISTIC,      /* mean log(1 + exp(-y a.x)), y = -1, +1 */
	LEARN_MLP,           /* inputs, one hidden layer, softmax; cross entropy */
	LEARN_NOISE,         /* Gaussian gradient, independent, variance noise^2 for any batch; with l2, a noisy quadratic */
	LEARN_NONE,          /* gradient 0. Without l2, the loss of LEARN_NOISE and LEARN_NONE is NAN */
	LEARN_GCN            /* a graph neural network (gcn.h), for updates of graph servers */
};
enum learn_sampling {
	LEARN_REPLACE, /* rows of the shard, drawn with replacement */
	LEARN_SHUFFLE, /* rows of the shard in a new random order per pass */
	LEARN_CYCLE    /* rows of the shard in order */
};
enum learn_split {
	LEARN_SPLIT_NONE, /* all devices draw from all rows */
	LEARN_SPLIT_EVEN, /* device d has rows d, d + shards, d + 2 shards, .. (rows are independent draws) */
	LEARN_SPLIT_LABEL /* rows are sorted by label and cut into equal runs */
};
enum { LEARN_DECAY_SAMPLES = 100000 }; /* the default of learn.decay_samples */
enum learn_schedule {                  /* factor of lr after s samples; u = s / decay_samples */
	LEARN_RATE_CONSTANT,
	LEARN_RATE_STEP,         /* decay ^ floor(u) */
	LEARN_RATE_INVERSE,      /* 1 / (1 + u) */
	LEARN_RATE_INVERSE_SQRT, /* 1 / sqrt(1 + u) */
	LEARN_RATE_COSINE        /* (1 + cos(pi min(u, 1))) / 2 */
};
enum learn_optimizer { LEARN_ADAM, LEARN_SGD };
enum learn_activation { LEARN_TANH, LEARN_RELU };
enum learn_model {        /* model whose loss is evaluated */
	LEARN_MODEL_AUTO, /* the server's model after the first push, or a base model after its first update; before that, the mean
			   * of the replicas */
	LEARN_MODEL_MEAN,
	LEARN_MODEL_SERVER
};

struct learn_config {
	enum learn_problem problem;
	uint32_t rows, inputs;    /* size of the data; LEARN_NOISE and LEARN_NONE: inputs is the number of parameters */
	uint32_t hidden, classes; /* LEARN_MLP */
	enum learn_activation activation;
	double condition;         /* linear problems: variance of the first input / variance of the last */
	double noise;             /* standard deviation of the noise in targets, margins, inputs or, with LEARN_NOISE, gradients */
	double l2;                /* coefficient: adds l2/2 |x|^2 to the loss */
	double init_spread;       /* standard deviation of the replicas' initial parameters, per coordinate */
	uint64_t data_seed, seed; /* data_seed: seed of the data; seed: seed of start, mini-batches and noise */

	uint32_t batch;
	enum learn_sampling sampling;
	enum learn_split split;
	uint32_t shards; /* number of shards: device d has shard d mod shards; ignored with LEARN_SPLIT_NONE */

	double lr, momentum;
	enum learn_schedule schedule;
	double decay, decay_samples, warmup_samples; /* warmup_samples: length of the warm-up, linear from 0 */

	enum learn_model model;
	uint64_t eval_updates; /* updates between two evaluations of the loss; 0: evaluation does not depend on updates */
	double eval_samples;   /* samples between two evaluations of the loss; 0: evaluation does not depend on samples */
	uint32_t history;      /* number of older gradients kept per sending device */
	bool eval_worst;       /* whether the worst replica's loss is evaluated too: one evaluation per replica */
	double target;         /* loss to reach; NAN: none */
	int threads;           /* 0: OpenMP's default */

	/* LEARN_GCN; its features and units of the hidden layer are `inputs` and `hidden`. */
	uint32_t vertices, communities; /* the communities are the classes */
	double degree_in, degree_out;   /* expected number of neighbours of a vertex in its community, and in all other communities
					 * together */
	double feature_noise;           /* standard deviation of a feature around the centre of the class, of N(0, 1) */
	double train_share;             /* share of the vertices used for training; accuracy is measured on the other vertices */
	enum learn_optimizer optimizer; /* optimizer of the weight servers; SGD uses lr, momentum and schedule */
	double adam_lr;
	uint64_t epochs;        /* number of weight updates in a run */
	double target_accuracy; /* a fraction; NAN: none */
};

/* Loss after all events at time_s. */
struct learn_point {
	double time_s, samples;
	uint64_t updates;
	double loss;       /* INFINITY if the parameters have diverged */
	double accuracy;   /* LEARN_GCN: a fraction; else NAN */
	double worst;      /* largest value over the replicas; NAN: not requested */
	double dispersion; /* mean over replicas of |x_i - mean x|^2 */
};

/* Parameters of `--set learn.NAME=VALUE`. */
extern const struct orr_param learn_options[];
void learn_config_read(struct learn_config *c, const struct orr_args *options);

struct learn;
struct learn *learn_new(const struct learn_config *c, struct orr_error *err);
void learn_free(struct learn *l);

/*
 * Report that an op with updates starts or ends. op is a number, unique per first device among the ops in flight. Its upper 32
 * bits are 1 + the iteration, as in an orr_op, or 0. ORR_PUSH and ORR_SEND_SLICE read the last gradient up to their iteration,
 * because a message may start after its worker has computed newer gradients. Without an iteration they read the newest
 * gradient.
 *
 * group: the devices of the op; for a transfer, sender and receiver. ORR_AVERAGE_ kinds and kinds of one device apply to every
 * device of the group. ORR_SEND_SLICE goes from the first to the second. ORR_PUSH and ORR_PULL apply to the update's `worker`.
 * All kinds except ORR_GRADIENT and ORR_ACCUMULATE support slices.
 */
int learn_begin(struct learn *l, double time_s, uint64_t op, const struct orr_update *u, uint32_t n_updates, const uint32_t *group,
	uint32_t n_group, struct orr_error *err);
int learn_end(struct learn *l, double time_s, uint64_t op, uint32_t first_device, struct orr_error *err);
bool learn_is_in_flight(const struct learn *l, uint64_t op, uint32_t first_device);
/* Evaluates the loss at the end, unless the series already has that point. */
void learn_finish(struct learn *l);

/* ---- results ---- */

const struct learn_point *learn_series(const struct learn *l, size_t *n);
/* Returns the time at which the series first reaches the target, linear between its points; INFINITY: never. */
double learn_time_to(const struct learn *l, double target);
double learn_samples_to(const struct learn *l, double target);
bool learn_reached(const struct learn *l); /* a configured target */
/* Returns, for LEARN_GCN, the mean over gathered rows of other chunks of (the reader's epoch - the row's epoch); otherwise NAN. */
double learn_ghost_staleness(const struct learn *l);
double learn_samples(const struct learn *l);
uint64_t learn_steps(const struct learn *l); /* updates; LEARN_GCN: steps that all layers have made */
/*
 * Returns the value of learn_config.history that the messages so far required; 0: the given value sufficed. If not 0, some
 * messages have sent a gradient newer than their iteration, and all results are wrong.
 */
uint64_t learn_history_needed(const struct learn *l);
/* Returns the mean staleness. For a push: the server's steps since the worker pulled the parameters of its gradient. A step is one
 * push, or all pushes that the server applies together (orr_update.window). For a gradient that arrives in an inbox: the updates
 * from inboxes, by any worker, since then (the worker's own: 0). */
double learn_staleness(const struct learn *l);
unsigned learn_used(const struct learn *l); /* returns bits of enum step_use so far */
double learn_floor(struct learn *l);        /* returns the minimum loss; NAN if unknown */

#endif
