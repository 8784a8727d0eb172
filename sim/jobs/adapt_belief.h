/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * adapt_belief.h - what a job that adapts believes about its own speed (docs/models/jobs-goodput.md#profiles)
 *
 *	known    the fitted model
 *	learned  from its own steps, which are timed without noise: a parameter is exact once two different points of its kind have run;
 *until then it has the value to which Pollux's code pins it; before the first step there is no model wrong    the fitted model with each
 *time and the variance of the gradient times exp(error z), z drawn per job from N(0, 1)
 *
 * Batches are chosen, and policies see goodputs, by the belief. The true times decide how fast the job runs.
 */
#ifndef ORR_JOBS_ADAPT_BELIEF_H
#define ORR_JOBS_ADAPT_BELIEF_H

#include "hwmodel/goodput.h"

enum adapt_profiles { ADAPT_PROFILES_KNOWN, ADAPT_PROFILES_LEARNED, ADAPT_PROFILES_WRONG };

/* A point at which a job has run. gpus 0: none. */
struct adapt_point {
	double gpus, atomic;
};

/* The first two points that differ: `pass` in the batch of a pass; `node` and `net` in the number of GPUs, on one node and on several
 * nodes. */
struct adapt_seen {
	struct adapt_point pass[2], node[2], net[2];
};

struct adapt_belief {
	enum adapt_profiles profiles;
	double error;
	uint64_t seed, number; /* seed of the run; number of the job */
	const struct adapt_seen *seen;
};

void belief_note(struct adapt_seen *seen, double nodes, double gpus, double atomic);
/* Returns whether the job has a model. Fills in the model and the noise that it believes; `truth` and `true_noise` may be the same objects.
 */
bool belief_model(const struct adapt_belief *b, const struct goodput_model *truth, struct goodput_model *model);
struct goodput_noise belief_noise(const struct adapt_belief *b, struct goodput_noise truth);

#endif
