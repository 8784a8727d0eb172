/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * run.h - one policy of an open scenario, with its replications; comparison of all policies
 */
#ifndef ORR_WORLD_RUN_H
#define ORR_WORLD_RUN_H

#include "world/scenario.h"

/* Makes the result of a policy's run, with its labels; text and hash: scenario_text(). Free with result_free(). */
struct run_result *scenario_result(const struct scenario *s, size_t policy, const char *text, const char *hash);

/*
 * One policy of an open scenario, with its replications. With several replications, metrics and accounts become means over
 * them; rows are those of the first.
 */
struct trial;
/* Makes a trial. r already has its labels and belongs to the caller. */
struct trial *trial_new(struct scenario *s, size_t policy, struct run_result *r);
void trial_free(struct trial *t);
/*
 * Runs replication k: each once, from any thread and in any order. progress may be NULL. Returns the CPU time, s, that a child
 * process spent on it.
 */
double trial_run(struct trial *t, uint32_t k, world_progress progress, void *ctx);
/* Fills in the result once replications 0 to n-1 are complete, or returns the error of the first that failed. */
int trial_end(struct trial *t, struct orr_error *err);
/*
 * Returns the total number of replications of each policy to run next, after n; n: no more are needed. n 0: the initial number.
 * Without until_precision: `replications`. Skips entries of t that are NULL (runs of an earlier study) or that failed: the
 * others continue until they are precise.
 */
uint32_t trial_next(const struct scenario *s, struct trial *const *t, uint32_t n);

/* Returns the number of the policy to which the run belongs, by its label. */
size_t scenario_policy_of(const struct scenario *s, const struct run_result *r);
/*
 * Adds comparisons with the first run, and remarks. Called when all runs have ended. runs: runs without an error, in the order
 * of policies.
 */
int scenario_finish(struct scenario *s, struct run_result *const *runs, size_t n, struct orr_error *err);
/* Returns the level of intervals: the option ci_level, or 0.95. */
double scenario_level(const struct scenario *s);

#endif
