/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * functions.h - serverless functions (short-lived workers, orrery/step.h) and the cost of a run
 *
 * Functions are endpoints, numbered after the hosts. Each has an outgoing and an incoming link, numbered after the links of the topology.
 * Invariants: an invocation lasts from the end of its orr_invoke() op to the end of its orr_returns() op; a function runs at most one
 * invocation at a time; each invocation is billed once.
 */
#ifndef ORR_STEP_FUNCTIONS_H
#define ORR_STEP_FUNCTIONS_H

#include "step/graph.h"

struct functions;

void functions_free(struct orr_step *s);
/* Returns the memory of a function, bytes. */
double functions_memory(const struct orr_step *s, uint32_t function);

/* Draws and returns the start time of the next invocation, s. Called by the executor. */
double functions_start_s(struct orr_step *s);
/* Checks that an op uses a function only during an invocation. Called when the op starts. */
void functions_op_starts(struct orr_step *s, const struct op *o, uint32_t device, uint32_t peer);
/* Handles the end of an orr_invoke() or orr_returns() op. */
void functions_op_ended(struct orr_step *s, const struct op *o);

/* Reads step.prices. Returns 0, or the code of s->error, as the next two functions do. */
int money_begin(struct orr_step *s);
/* Fills in missing prices from the catalogue. Called after create(). */
int money_prices(struct orr_step *s);
/* Checks at the end of a run that all invocations have returned. */
int functions_returned(struct orr_step *s);
/* Checks at the end of a run that the bills agree with the invocations. */
int money_check(struct orr_step *s);
/* Writes the cost of a run that ended at time_s to *out. */
void money_result(const struct orr_step *s, double time_s, struct step_money *out);

#endif
