/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * noise_scale.h - the gradient noise scale of real SGD, and the samples to a loss that it predicts for other batches
 *
 * At a point of the run, with the gradients g_i of all n rows and their mean G (McCandlish et al., "An Empirical Model of Large-Batch
 * Training", 2018; "simple" noise scale):
 *
 *	phi = (mean |g_i|^2 - |G|^2) / |G|^2        samples
 *	r   = (phi + M0) M / ((phi + M) M0)         steps of the batch M0 that a step of the batch M is worth (AdaScale; Pollux)
 *
 * A run with batch M has the learning rate r lr, as in Pollux. Its predicted samples follow from the run with batch M0: each of its steps
 *takes M / r samples. Rows are drawn with replacement. docs/models/jobs-goodput.md#noise-scale-of-real-sgd.
 */
#ifndef ORR_LEARN_NOISE_SCALE_H
#define ORR_LEARN_NOISE_SCALE_H

#include "learn/learn.h"

#include <stddef.h>

struct noise_run {
	double samples;  /* to the target; INFINITY: not reached within max_samples */
	double progress; /* steps of M0, by r */
	double phi_first, phi_last;
};

struct noise_scale {
	struct learn_config config; /* batch: M0; target, lr; problems with data */
	double max_samples;
	double every; /* minimum number of steps of M0 between two evaluations of loss and phi; later, 2 % of the steps so far */
};

struct problem;

/* Runs SGD with one batch. If n_batches > 0, also adds to predicted[i] the samples that the run takes, by its noise scales, with batch[i].
 */
int noise_scale_run(const struct noise_scale *c, const struct problem *p, double batch, uint64_t seed, struct noise_run *out,
	const double *batches, double *predicted, size_t n_batches, struct orr_error *err);
/* Makes the problem, or returns an error that states what the measurement needs. The caller frees it by problem_free(). */
struct problem *noise_scale_problem(const struct noise_scale *c, struct orr_error *err);

#endif
