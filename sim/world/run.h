/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * run.h - one policy of an open scenario, with its replications; and all of them compared
 */
#ifndef ORR_WORLD_RUN_H
#define ORR_WORLD_RUN_H

#include "world/scenario.h"

/* The run of policy i, which has its labels already; threads run different i at once. With replications, metrics and accounts
 * become means over them; rows are those of the first. */
void scenario_run(struct scenario *s, size_t i, struct run_result *r, world_progress progress, void *ctx, struct orr_error *err);
/* Returns the number of the policy whose run it is, by its label. */
size_t scenario_policy_of(const struct scenario *s, const struct run_result *r);
/* Once all runs have ended: comparisons with the first, and remarks. runs: those without an error, in the order of policies. */
int scenario_finish(struct scenario *s, struct run_result *const *runs, size_t n, struct orr_error *err);
/* The level of intervals: the option ci_level, or 0.95. */
double scenario_level(const struct scenario *s);

#endif
