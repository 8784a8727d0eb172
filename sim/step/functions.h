/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * functions.h - functions (short-lived workers, orrery/step.h) and the account of money
 *
 * Functions are endpoints after the hosts. Each has a link out and a link in, numbered after those of the topology. Invariants: an
 * invocation runs from the end of its op of orr_invoke() to the end of its op of orr_returns(); a function runs at most one; each is
 * billed once.
 */
#ifndef ORR_STEP_FUNCTIONS_H
#define ORR_STEP_FUNCTIONS_H

#include "step/graph.h"

struct functions;

void functions_free(struct orr_step *s);
double functions_memory(const struct orr_step *s, uint32_t function); /* bytes */

/* Returns the start time of the next invocation, s. For the executor. */
double functions_start_s(struct orr_step *s);
/* Handles the end of an op of orr_invoke() or orr_returns(). */
void functions_op_ended(struct orr_step *s, const struct op *o);

/* money_begin() reads step.prices. money_result() is called at the end of the run, time_s. */
int money_begin(struct orr_step *s);
int money_prices(struct orr_step *s); /* after create() */
int money_check(struct orr_step *s);
void money_result(const struct orr_step *s, double time_s, struct step_money *out);

#endif
