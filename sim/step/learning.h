/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * learning.h - real SGD under a step policy's schedule: interface for the step world's descriptor
 *
 * The functions are defined in sim/learn, of which the step world uses no other part.
 */
#ifndef ORR_STEP_LEARNING_H
#define ORR_STEP_LEARNING_H

#include "step/step.h"

/* Parameters of `--set learn.NAME=VALUE`. */
extern const struct orr_param learn_options[];

struct step_learning {
	/* Runs SGD and adds metrics and the series "loss" to r. label: for messages. threads 0: OpenMP's default. *used: receives
	 * bits of enum step_use. */
	int (*run)(const struct step_config *step, const struct orr_args *options, const struct orr_policy *policy,
		const struct orr_args *args, const char *label, int threads, struct run_result *r, unsigned *used, struct orr_error *err);
};
extern const struct step_learning step_learning;

#endif
