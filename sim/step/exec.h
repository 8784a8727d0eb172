/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * exec.h - the executor: timers, streams, starts and ends of instances
 *
 * Invariants: an instance starts once and ends once; on each (device, stream) at most one instance runs.
 */
#ifndef ORR_STEP_EXEC_H
#define ORR_STEP_EXEC_H

#include "step/world.h"

/* ---- timer.c ---- */
void timer_add(struct orr_step *s, double time_s, struct iteration *k, uint32_t i);
void timer_add_leap(struct orr_step *s, double time_s, uint32_t leap, uint32_t generation);
void timer_add_corun(struct orr_step *s, double time_s, uint32_t device, uint32_t generation);
void timer_add_checkpoint(struct orr_step *s, double time_s, uint32_t what);
struct timer timer_pop(struct orr_step *s);
/* Ends the instance now; the executor then starts the instances that wait for it. */
void instance_end(struct orr_step *s, struct iteration *k, uint32_t i);

/* ---- corun.c ---- */
/* Checks step.interference_curve; returns the code of s->error. */
int corun_options(struct orr_step *s);
void corun_allow(struct orr_step *s);
void corun_free(struct orr_step *s);
void corun_start(struct orr_step *s, uint32_t device, struct iteration *k, uint32_t i, double seconds, double occupancy);
/* Counts the time of running ops up to now. */
void corun_settle(struct orr_step *s);
bool corun_is_busy(const struct orr_step *s, uint32_t device);
void corun_timer(struct orr_step *s, uint32_t device, uint32_t generation);

/* ---- steady.c ---- */
bool steady(struct orr_step *s); /* returns whether iterations repeat */

/* ---- policy.c ---- */
void policy_create(struct orr_step *s, const struct orr_args *args);
int policy_build(struct orr_step *s); /* the next iteration */
/* Calls ended(); returns the number of instances before it. */
uint32_t policy_ended(struct orr_step *s, struct iteration *k, uint32_t op);
void policy_describe(struct orr_step *s, char *out, size_t size);
void policy_destroy(struct orr_step *s);

/* ---- exec.c ---- */
void exec_begin(struct orr_step *s, struct iteration *k); /* starts the instances without dependencies */
bool exec_settle(struct orr_step *s);                     /* handles all events of now_s; returns false if the run is over */
void exec_timers(struct orr_step *s);                     /* handles the timers that are due */
void exec_stuck(struct orr_step *s);                      /* fails the run if work is left */
int exec_run(struct orr_step *s);

#endif
