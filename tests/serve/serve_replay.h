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
	double memory_GiB;         /* GiB per replica; 0: infinite */
	const struct orr_policy *policy;
	const char *settings; /* settings of the policy, "name=value name=value"; NULL: none */
	const char *options;  /* options of the world in the same form */
	uint64_t seed, replication;
	double until_s; /* end of the run in s; 0: until all requests have ended */
};

/* Returns NULL if the run failed; *err is then filled in. */
struct run_result *serve_replay(const struct serve_case *c, struct orr_error *err);

/* Returns whether the requests complete at these seconds (NAN: never), within 1e-9. Prints the first difference. */
bool serve_ends_at(const struct run_result *r, const double *end_s, size_t n);

/* Returns the sum of samples x (end - arrival) / the sum of samples, over completed requests. */
double serve_mean_per_sample(const struct run_result *r);

/* Returns the value of a metric, or NAN if the run lacks it. */
double serve_metric(const struct run_result *r, const char *name);

#endif
