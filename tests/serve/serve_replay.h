/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * serve_replay.h - a few requests, written in the test as text, served under one policy
 *
 * Every replay runs with --check. The result's names (models, ids) are NULL.
 */
#ifndef ORR_TESTS_SERVE_REPLAY_H
#define ORR_TESTS_SERVE_REPLAY_H

#include <orrery/serve.h>

#include "results/result.h"

struct serve_case {
	const char *requests;      /* rows of our own CSV with a header, or a generator */
	const char *const *models; /* names of the catalogue or JSON texts, NULL at the end */
	uint32_t replicas;         /* 0: one */
	double memory_GiB;         /* of a replica; 0: without end */
	const struct orr_policy *policy;
	const char *settings; /* "name=value name=value" of the policy; NULL: none */
	const char *options;  /* likewise, of the world */
	uint64_t seed, replication;
	double until_s; /* 0: when all have ended */
};

/* NULL if the run ended with an error; err says which. */
struct run_result *serve_replay(const struct serve_case *c, struct orr_error *err);

/* Do the requests complete at these seconds (NAN: not at all), within 1e-9? Prints the first that does not. */
bool serve_ends_at(const struct run_result *r, const double *end_s, size_t n);

/* sum of samples x (end - arrival) / sum of samples, over those that completed. */
double serve_mean_per_sample(const struct run_result *r);

/* The value of a metric; NAN if there is none. */
double serve_metric(const struct run_result *r, const char *name);

#endif
