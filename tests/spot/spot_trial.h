/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spot_trial.h - runs of built-in policies of the spot world, for tests
 */
#ifndef ORR_TESTS_SPOT_TRIAL_H
#define ORR_TESTS_SPOT_TRIAL_H

#include "spot/spot.h"

struct spot_trial {
	const struct orr_policy *policy;
	const char *rows;               /* rows of Bamboo's format: "ms,add|remove,name" */
	const char *generator;          /* or a generator */
	const char *job;                /* JSON */
	const char *settings, *options; /* "a=b c=d"; NULL: none */
	uint64_t seed, replication;
	int64_t until_ns; /* 0: none */
	bool exact, check, record, explain;
};

/* Returns NULL on an error, and fills in *err. */
struct run_result *spot_try(const struct spot_trial *t, struct orr_error *err);
/* Returns NAN if there is no such metric. */
double spot_metric(const struct run_result *r, const char *name);
/* Returns the seconds of an account. */
double spot_account(const struct run_result *r, const char *name);
/* Returns whether all metrics, accounts and rows are bitwise equal. */
bool spot_same(const struct run_result *a, const struct run_result *b);
/* Runs the trial in one go and with an event per step. Returns false, with a line of explanation, if a run failed or the results
 * differ. *trained counts trials that made progress. */
bool spot_both_ways(struct spot_trial t, int *trained);

#endif
