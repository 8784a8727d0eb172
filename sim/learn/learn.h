/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * learn.h - real stochastic gradient descent under a simulated schedule of updates
 *
 * What an op does to the parameters (enum orr_update_kind, orrery/step.h) is told twice, in order of time: when
 * the op starts, so that what it reads is kept as it was, and when it ends, when it takes effect. Any number of ops
 * may be in flight. Each device that appears is a replica: parameters x, gradient g, window of gradients and their
 * sum A, inbox R; there is one server's copy X. All x and X start from the same point, all else from zero.
 *
 * Invariant: the numbers are a function of the configuration and of the order of calls. Gradients wait until
 * somebody reads one, then all that wait are computed, in parallel; mini-batches come from a stream per device
 * and sums have a fixed order, so the number of threads cannot change a bit.
 *
 * A mini-batch here is of the toy problem (`batch`), whatever the model that the step world times. Formulas and
 * sources: docs/models.md, "Learn".
 */
#ifndef ORR_LEARN_LEARN_H
#define ORR_LEARN_LEARN_H

#include <orrery/step.h>

enum learn_problem {
	LEARN_LEAST_SQUARES, /* 1/2 mean (a.x - y)^2 */
	LEARN_LOGISTIC,      /* mean log(1 + exp(-y a.x)), y = -1, +1 */
	LEARN_MLP,           /* inputs, one hidden layer, softmax; cross entropy */
	LEARN_NOISE,         /* gradient: Gaussian, independent, variance noise^2 for any batch; with l2, a noisy quadratic */
	LEARN_NONE           /* gradient 0; without l2, LEARN_NOISE and this have no loss: NAN */
};
enum learn_sampling {
	LEARN_REPLACE, /* each row drawn from all of the shard */
	LEARN_SHUFFLE, /* the shard in an order drawn anew for each pass */
	LEARN_CYCLE    /* the shard in its order */
};
enum learn_split {
	LEARN_SPLIT_NONE, /* all devices draw from all rows */
	LEARN_SPLIT_EVEN, /* device d: rows d, d + shards, d + 2 shards, .. (rows are drawn independently) */
	LEARN_SPLIT_LABEL /* rows in order of label, cut into equal runs */
};
enum learn_schedule { /* factor of lr when s samples have been processed; u = s / decay_samples */
	LEARN_RATE_CONSTANT,
	LEARN_RATE_STEP,         /* decay ^ floor(u) */
	LEARN_RATE_INVERSE,      /* 1 / (1 + u) */
	LEARN_RATE_INVERSE_SQRT, /* 1 / sqrt(1 + u) */
	LEARN_RATE_COSINE        /* (1 + cos(pi min(u, 1))) / 2 */
};
enum learn_activation { LEARN_TANH, LEARN_RELU };
enum learn_model {        /* of which model the loss is taken */
	LEARN_MODEL_AUTO, /* the server's from the first push on, the mean of the replicas before */
	LEARN_MODEL_MEAN,
	LEARN_MODEL_SERVER
};

struct learn_config {
	enum learn_problem problem;
	uint32_t rows, inputs;    /* data; parameters of LEARN_NOISE and LEARN_NONE: inputs */
	uint32_t hidden, classes; /* LEARN_MLP */
	enum learn_activation activation;
	double condition;         /* linear problems: variance of the first input over that of the last */
	double noise;             /* standard deviation added to targets, margins, inputs or, LEARN_NOISE, gradients */
	double l2;                /* adds l2/2 |x|^2 to the loss */
	double init_spread;       /* replicas start so far apart (standard deviation per coordinate) */
	uint64_t data_seed, seed; /* of the data; of start, mini-batches and noise */

	uint32_t batch;
	enum learn_sampling sampling;
	enum learn_split split;
	uint32_t shards; /* device d has shard d mod shards; ignored with LEARN_SPLIT_NONE */

	double lr, momentum;
	enum learn_schedule schedule;
	double decay, decay_samples, warmup_samples; /* warm-up: linear from 0 */

	enum learn_model model;
	uint64_t eval_updates; /* loss every so many changes of parameters, 0: never for that reason */
	double eval_samples;   /* and every so many samples, 0: likewise */
	uint32_t history;      /* gradients kept that later ones replaced, of those who send them */
	bool eval_worst;       /* the worst replica's loss too: as much work per replica as the loss */
	double target;         /* loss to reach; NAN: none */
	int threads;           /* 0: as many as OpenMP gives */
};

/* The loss after all that happened at time_s. */
struct learn_point {
	double time_s, samples;
	uint64_t updates;
	double loss;       /* INFINITY if the parameters have run away */
	double worst;      /* of the replicas; NAN unless asked for */
	double dispersion; /* mean over replicas of |x_i - mean x|^2 */
};

/* As data: what `--set learn.NAME=VALUE` sets. */
extern const struct orr_param learn_options[];
void learn_config_read(struct learn_config *c, const struct orr_args *options);

struct learn;
struct learn *learn_new(const struct learn_config *c, struct orr_error *err);
void learn_free(struct learn *l);

/*
 * An op with updates starts or ends. op: one number per op in flight (ops of different first devices may share one); its
 * upper 32 bits are 1 + the iteration, as in an orr_op, or 0. ORR_PUSH and ORR_SEND_SLICE read what was last made up to
 * their iteration, as messages may wait until their worker has made more; without iteration, what there is.
 * group: the devices that the op concerns; of a transfer, from and to. ORR_AVERAGE_ kinds and those of one device
 * apply to every device of the group, ORR_SEND_SLICE goes from the first to the second, ORR_PUSH and ORR_PULL
 * concern the update's `worker`. Slices apply to all kinds but ORR_GRADIENT and ORR_ACCUMULATE.
 */
int learn_begin(struct learn *l, double time_s, uint64_t op, const struct orr_update *u, uint32_t n_updates, const uint32_t *group,
	uint32_t n_group, struct orr_error *err);
int learn_end(struct learn *l, double time_s, uint64_t op, uint32_t first_device, struct orr_error *err);
/* Takes the loss at the end of the time seen so far, if it is not the series' last. */
void learn_finish(struct learn *l);

/* ---- what came of it ---- */

const struct learn_point *learn_series(const struct learn *l, size_t *n);
/* When the series first is at or below target, linear between its points; INFINITY if never. */
double learn_time_to(const struct learn *l, double target);
double learn_samples_to(const struct learn *l, double target);
bool learn_reached(const struct learn *l); /* the target of the configuration */
double learn_samples(const struct learn *l);
/* Mean over pushes of the pushes that the server took since the worker pulled what its gradient was taken at; over
 * gradients that reach a replica by its inbox, of the updates from an inbox, by any worker, since then (the own: 0). */
double learn_staleness(const struct learn *l);
double learn_floor(struct learn *l); /* the least loss there is; NAN where it is not known */

#endif
