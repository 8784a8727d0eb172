/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * train.h - real SGD under the step world's schedule: time to a target loss, over seeds
 *
 * Each seed runs the step world again (its stragglers too) with a learner attached, until the target is met or
 * learn.max_samples are processed (learn.problem=gcn: learn.epochs steps are made); step.iterations does not apply. Seed i of a run is the
 * run's seed + i; all seeds share the data. Seeds run in parallel and are combined in order, so results do not depend on threads.
 */
#ifndef ORR_LEARN_TRAIN_H
#define ORR_LEARN_TRAIN_H

#include "learn/learn.h"
#include "results/result.h"
#include "results/stats.h"
#include "step/step.h"

struct train_config {
	const struct step_config *step; /* step world; its hook, stop and spans are ignored */
	const struct orr_args *options; /* of learn_options */
	int threads;                    /* 0: OpenMP's default */
};

struct train_seed {
	double time_to_target_s, samples_to_target; /* INFINITY: target not reached, or no target */
	double time_s, samples, final_loss, worst, dispersion, staleness;
	/* LEARN_GCN; else NAN. within: first reached within a point of the best accuracy, interpolated between weight updates */
	double accuracy, best_accuracy, epochs_within, time_within_s, ghost_staleness;
	uint64_t updates;
	unsigned used; /* enum step_use */
	struct learn_point *point;
	size_t n_points;
};

struct train_result {
	struct train_seed *seed;
	uint32_t n_seeds, reached; /* numbers of seeds, and of seeds that reached the target */
	double target, floor;      /* NAN: no target; floor unknown */
	/* t-intervals over seeds; the first two are NAN unless every seed reached the target */
	struct interval time_to_target_s, samples_to_target, final_loss, samples_per_s;
	struct interval accuracy, best_accuracy, epochs_within, time_within_s; /* LEARN_GCN; else NAN */
	double final_loss_sd; /* standard deviation over seeds; NAN: one seed, or a seed without a loss */
};

int train_run(const struct train_config *c, const struct orr_policy *policy, const struct orr_args *policy_args, const char *label,
	struct train_result *out, struct orr_error *err);
void train_result_free(struct train_result *t);

/* Adds the metrics that are known (time_to_target_s, samples_to_target, seeds_reached, final_loss, ..) and the series "loss" and
 * "accuracy". */
void train_metrics(const struct train_result *t, struct run_result *r);

#endif
