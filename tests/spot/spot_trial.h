/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spot_trial.h - runs of built-in policies of the spot world, for tests
 */
#ifndef ORR_TESTS_SPOT_TRIAL_H
#define ORR_TESTS_SPOT_TRIAL_H

#include "spot/spot.h"

struct spot_trial {
	const struct orr_policy *policy;
	const char *rows;               /* of Bamboo's format: "ms,add|remove,name" */
	const char *generator;          /* or that */
	const char *job;                /* JSON */
	const char *settings, *options; /* "a=b c=d"; NULL: none */
	uint64_t seed, replication;
	int64_t until_ns; /* 0: none */
	bool exact, check, record;
};

/* NULL: it failed, *err says why. */
struct run_result *spot_try(const struct spot_trial *t, struct orr_error *err);
/* NAN: there is none. */
double spot_metric(const struct run_result *r, const char *name);
/* Seconds of an account. */
double spot_account(const struct run_result *r, const char *name);
/* Equal in all metrics, accounts and rows, bit by bit. */
bool spot_same(const struct run_result *a, const struct run_result *b);
/* The trial in one go and step by step: false, and a line that says why, if one failed or they are not the same. *trained
 * counts those that got anywhere. */
bool spot_both_ways(struct spot_trial t, int *trained);

#endif
