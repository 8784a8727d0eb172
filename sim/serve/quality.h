/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * quality.h - accuracy of an ensemble for each set of received answers (serve.quality)
 *
 * The source is a list of accuracies, or sub-learners that are trained (learn/boost.h). Formulas: docs/models/boost.md.
 */
#ifndef ORR_SERVE_QUALITY_H
#define ORR_SERVE_QUALITY_H

#include "results/result.h"

struct orr_error;
struct quality;

/* Reads serve.quality: "" (none), "boost:NAME=VALUE,..", or 2^n accuracies separated by commas, by set of received answers: bit k of the
 * position is answer k. Returns NULL if there is none, and on error with *err filled in. Threads may share it. */
struct quality *quality_new(const char *text, struct orr_error *err);
void quality_free(struct quality *q);
/* Returns the number of sub-learners; 0 for NULL. */
uint32_t quality_members(const struct quality *q);
/* Trains the sub-learners of boost:.. at the first call, within seconds to minutes. Call it before the accessors below. */
void quality_train(struct quality *q);
/* Returns the accuracy; NAN for NULL, and for an answer of a sub-learner that does not exist. */
double quality_of(const struct quality *q, uint64_t received);
/* Adds accuracy_all, accuracy_one_missing, .. with intervals over ensembles. NULL adds nothing. */
void quality_metrics(const struct quality *q, double level, struct run_result *r);

#endif
