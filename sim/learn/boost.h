/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * boost.h - trains ensembles of small classifiers of several widths and input sizes; measures accuracy when some answers are
 * missing
 *
 * Sub-learner k is a perceptron with one hidden layer (ReLU). It sees the image averaged down to its input size and gives one logit per
 * class, f_k. Boosting trains the sub-learners one after another: k minimises
 *
 *	(CE(f_1 + .. + f_k) + supervised x CE(f_k)) / (1 + supervised)
 *
 * where f_1 .. f_(k-1) are fixed and CE is the mean cross entropy of the training images. The second term is the sub-learner's
 * own supervised part. Bagging minimises CE(f_k) alone, on a bootstrap sample of the images. Fusion: the sum of all logits, or
 * the mean of those received; the predicted class has the largest value. Source: MDP (Wang et al., MSN 2023), abstract;
 * formulas: docs/models/boost.md.
 *
 * Data: images of size x size pixels, generated. The training of one ensemble is serial, and its sums have a fixed order.
 */
#ifndef ORR_LEARN_BOOST_H
#define ORR_LEARN_BOOST_H

#include <orrery/param.h>

#include <stdbool.h>
#include <stdint.h>

struct rng;

enum { BOOST_MOST = 8, BOOST_MASKS = 1 << BOOST_MOST };
enum boost_method {
	BOOST_BOOSTING,
	BOOST_BAGGING,
	BOOST_WIDE /* one learner of the largest input size, with as many weights as all sub-learners together */
};

struct boost_learner {
	uint32_t width, size; /* hidden units; pixels per side */
};
struct boost_config {
	struct boost_learner learner[BOOST_MOST];
	uint32_t n; /* number of sub-learners */
	enum boost_method method;
	double supervised; /* weight of the supervised part */
	bool bootstrap;    /* bagging: draw a bootstrap sample */
	uint32_t size;     /* pixels per side of an image */
	uint32_t classes;
	uint32_t rows, tested; /* training and test images */
	double noise;          /* standard deviation of a pixel's noise; the signal has 1 */
	uint32_t epochs, batch;
	double lr, momentum;
	uint64_t data_seed, seed;
	uint32_t seeds; /* boost_run() */
	int threads;    /* boost_run(); 0: OpenMP's default */
};

extern const struct orr_param boost_params[];
/* Reads "widths=8|12,sizes=4|6,..". */
int boost_config_read(struct boost_config *c, const char *spec, struct orr_error *err);

/* ---- parts ---- */

/* A network: W1 (width x inputs), b1, W2 (classes x width), b2. */
struct boost_net {
	uint32_t inputs, width, classes;
	double *w; /* boost_net_dim() numbers */
};
size_t boost_net_dim(const struct boost_net *n);
/* Computes hidden (width) and logits (classes) of one image. */
void boost_net_forward(const struct boost_net *n, const double *image, double *hidden, double *logit);
/* Adds `weight` times the gradient of CE(before + f) (if before is given) + supervised x CE(f) of one image to g. Returns this loss.
 * hidden, logit: of boost_net_forward(); error: scratch, width + classes numbers. */
double boost_net_gradient(const struct boost_net *n, const double *image, uint32_t label, const double *before, double supervised,
	double weight, const double *hidden, const double *logit, double *error, double *g);

/* Averages an image of `from` x `from` pixels down to `to` x `to` pixels; a pixel on an edge counts by its area on either side. */
void boost_shrink(const double *image, uint32_t from, uint32_t to, double *out);

/* Images, drawn from the data seed: test and training images of the same classes. */
struct boost_data {
	double *pixel; /* rows x size x size */
	uint32_t *label;
};
void boost_data_new(const struct boost_config *c, struct boost_data *train, struct boost_data *test);
void boost_data_free(struct boost_data *d);

/* Returns the share of rows for which the sum of the logits of the received answers (bits of `received`) is largest at the label; the
 * lowest class wins ties. logit[k]: rows x classes. No answer: 1 / classes. */
double boost_accuracy(const double *const *logit, uint32_t n, uint32_t rows, uint32_t classes, const uint32_t *label, uint32_t received);

/* ---- one ensemble; several seeds ---- */

struct boost_result {
	uint32_t n;                   /* sub-learners; BOOST_WIDE: 1 */
	double accuracy[BOOST_MASKS]; /* on the test images, by received answers: bit k is sub-learner k */
	double loss[BOOST_MOST + 1];  /* cross entropy of the training images with the first k sub-learners */
	double weights;               /* number of weights of all sub-learners */
};
void boost_train(const struct boost_config *c, const struct boost_data *train, const struct boost_data *test, struct boost_result *out);

/* Mean accuracies and losses over seeds: seed i has data seed data_seed + i and seed + i. each: NULL, or results by seed. */
void boost_run(const struct boost_config *c, struct boost_result *mean, struct boost_result *each);

/* Return the accuracy with all answers, and the mean and the smallest over single missing answers. */
double boost_all(const struct boost_result *r);
double boost_one_missing(const struct boost_result *r, double *worst);

#endif
