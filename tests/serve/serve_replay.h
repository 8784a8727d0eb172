/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * serve_replay.h - runs of a few requests, given as text, under one policy
 *
 * Every replay runs with --check. The result's names (models, ids) are NULL.
 */
#ifndef ORR_TESTS_SERVE_REPLAY_H
#define ORR_TESTS_SERVE_REPLAY_H

#include <orrery/serve.h>

#include "results/result.h"

struct serve_case {
	const char *requests;      /* rows of orrery's CSV with a header, or a generator */
	const char *const *models; /* names of the catalogue or JSON texts, NULL at the end */
	uint32_t replicas;         /* 0: one */
	double memory_GiB;         /* of a replica; 0: infinite */
	const struct orr_policy *policy;
	const char *settings; /* "name=value name=value" of the policy; NULL: none */
	const char *options;  /* the same, of the world */
	uint64_t seed, replication;
	double until_s; /* 0: until all requests have ended */
};

/* Returns NULL if the run failed; err has the error. */
struct run_result *serve_replay(const struct serve_case *c, struct orr_error *err);

/* Returns whether the requests complete at these seconds (NAN: never), within 1e-9; prints the first that does not. */
bool serve_ends_at(const struct run_result *r, const double *end_s, size_t n);

/* sum of samples x (end - arrival) / sum of samples, over completed requests. */
double serve_mean_per_sample(const struct run_result *r);

/* Value of a metric; NAN: the run lacks it. */
double serve_metric(const struct run_result *r, const char *name);

#endif
