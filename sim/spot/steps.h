/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * steps.h - the steps of the job: the run of steps in flight, and records of the steps that are done
 *
 * Invariant: done = committed + the steps of all records from `first` on.
 */
#ifndef ORR_SPOT_STEPS_H
#define ORR_SPOT_STEPS_H

#include "spot/spot.h"
#include "cluster/ledger.h"

/* Consecutive steps of equal length, time and cost. */
struct steprun {
	uint64_t count;
	int64_t since_last; /* time from the end of the previous step to the end of this one */
	double samples;
	struct ledger owners, redundant; /* redundant: the part of `owners` that is redundant */
	timeline_sum cost;               /* cost of all instances since the end of the previous step */
};

/* Committed steps that have equal contributions to floating-point sums. */
struct alike {
	uint64_t count;
	int64_t since_last;
	double samples;
	timeline_sum cost;
};

struct steps {
	bool is_in_flight, is_last, has_ended;         /* has_ended: steps() must be called */
	int64_t began, ends, pace, asked;              /* asked: step time that the policy requested, for the job's own nodes */
	uint64_t left;                                 /* number of steps left in the run, including the one in flight; UINT64_MAX:
							* no end */
	double samples, redundant, egress, own_egress; /* own_egress: egress reported by the policy */
	double samples_once;                           /* samples of the step in flight; -1: as in the other steps */
	unsigned flags;
	struct ledger bucket; /* time and money of the owners in the step in flight */
	/* State of the whole run of the world. */
	bool is_provisional;
	uint64_t done, committed, lost, orphaned; /* done: number of steps done and not lost */
	struct steprun *run;                      /* records of uncommitted steps, from `first` on */
	size_t first, n, cap;
	struct ledger pending;         /* time and money of these records */
	int64_t first_began, last_end; /* -1: none */
	timeline_sum live_ns_at_end;
	struct alike alike;             /* last committed steps, not yet added to the sums */
	double samples_safe, value_sum; /* value_sum: sum of samples x ns / money; unit: report.c */
	bool was_free;                  /* some steps cost nothing, so their value has no bound */
	uint64_t rows_stride;           /* one out of this many iteration rows is kept */
	uint64_t rows_seen;
};

/* Returns whether a pipeline remains that was not dropped. */
bool steps_have_owners(const struct orr_spot *w);
/* Returns the time at which the run of steps ends if no other event occurs; ORR_NEVER: it has no end. */
int64_t steps_target(const struct orr_spot *w);
/* Advances steps and accounts to t; with_t: also finishes a step that ends at t. */
void steps_advance(struct orr_spot *w, int64_t t, bool with_t);
/* Sets length and egress of the steps after the one in flight, because owners changed. */
void steps_follow_owners(struct orr_spot *w);
/* Commits the remaining steps at the end of the run. */
void steps_settle(struct orr_spot *w);
void steps_free(struct orr_spot *w);

#endif
