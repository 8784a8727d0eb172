/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * study.h - a study: every policy of every scenario is a run; runs execute in parallel, are stored in order or read from the
 * database, and are reported
 *
 * Invariant: stored and reported values depend only on the scenarios, not on the number of threads.
 */
#ifndef ORR_STUDY_STUDY_H
#define ORR_STUDY_STUDY_H

#include "results/report_compare.h"
#include "world/scenario.h"

/* Runs one scenario from beginning to end, with results on standard output. If a policy fails, the results of the others are still
 * printed. */
int study_run(const cJSON *scenario, const struct world_output *o, struct orr_error *err);

/* ---- several scenarios; the caller gets the results ---- */

struct study;
struct study *study_new(const struct world_output *o);
/* Adds a scenario, and checks it before any run starts. where (NULL: none) precedes the message of a run that fails. */
int study_add(struct study *s, const cJSON *scenario, const char *where, struct orr_error *err);
/* Executes all runs; call it once. what: text of the progress bar. If a run fails, the results of the others are kept and stored,
 * and its error is that of the study. */
int study_carry_out(struct study *s, const char *what, struct orr_error *err);
/* Returns the runs of scenario k without an error, in the order of its policies; valid until study_free(). */
struct run_result *const *study_results(const struct study *s, size_t k, size_t *n);
/* Returns the comparisons of these runs over replications (study/compare.h); NULL before study_carry_out(). */
const struct report_comparisons *study_comparisons(const struct study *s, size_t k);
void study_free(struct study *s);

#endif
