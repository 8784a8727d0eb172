/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * run.h - one policy of an open scenario, with its replications; and all of them compared
 */
#ifndef ORR_WORLD_RUN_H
#define ORR_WORLD_RUN_H

#include "world/scenario.h"

/* One policy of an open scenario, with its replications. With more than one, metrics and accounts become means over them; rows are
 * those of the first. */
struct trial;
/* r has its labels already and belongs to the caller. */
struct trial *trial_new(struct scenario *s, size_t policy, struct run_result *r);
void trial_free(struct trial *t);
/* Runs replication k: each once, from any thread and in any order. progress may be NULL. */
void trial_run(struct trial *t, uint32_t k, world_progress progress, void *ctx);
/* Once replications 0 to n-1 are complete: fills in the result, or returns the error of the first that failed. */
int trial_end(struct trial *t, struct orr_error *err);
/* Returns the total number of replications of each policy to run next, after n; n: no more are
 * needed. n 0: the initial number. Without until_precision: `replications`. */
uint32_t trial_next(const struct scenario *s, struct trial *const *t, uint32_t n);

/* Returns the number of the policy whose run it is, by its label. */
size_t scenario_policy_of(const struct scenario *s, const struct run_result *r);
/* Once all runs have ended: comparisons with the first, and remarks. runs: those without an error, in the order of policies. */
int scenario_finish(struct scenario *s, struct run_result *const *runs, size_t n, struct orr_error *err);
/* The level of intervals: the option ci_level, or 0.95. */
double scenario_level(const struct scenario *s);

#endif
