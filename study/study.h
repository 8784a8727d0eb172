/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * study.h - a study: every policy of every scenario is a run; runs execute in parallel, are
 * stored in order or read from the database, and reported
 *
 * Invariant: stored and reported values depend on the scenarios alone, not on the number of
 * threads.
 */
#ifndef ORR_STUDY_STUDY_H
#define ORR_STUDY_STUDY_H

#include "world/scenario.h"

/* One scenario from beginning to end, results on standard output, those of the other policies too if one fails. */
int study_run(const cJSON *scenario, const struct world_output *o, struct orr_error *err);

/* ---- several scenarios, results to the caller ---- */

struct study;
struct study *study_new(const struct world_output *o);
/* Checks the scenario before anything runs. where (NULL: none) precedes the message of a run that fails. */
int study_add(struct study *s, const cJSON *scenario, const char *where, struct orr_error *err);
/* Call it once. what: the text of the progress bar. A run that fails leaves the results of the others, stored too: its error is that
 * of the study. */
int study_carry_out(struct study *s, const char *what, struct orr_error *err);
/* The runs of scenario k without an error, in the order of its policies; until study_free(). */
struct run_result *const *study_results(const struct study *s, size_t k, size_t *n);
void study_free(struct study *s);

#endif
