/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spot_runs.h - many runs of one policy of the spot world over one trace and job, for tests and benchmarks
 */
#ifndef ORR_TESTS_SPOT_RUNS_H
#define ORR_TESTS_SPOT_RUNS_H

#include "spot/spot.h"

struct spot_runs {
	struct spot_config config; /* the caller may change it between runs */
	const struct orr_policy *policy;
	struct availset *set;
	struct elastic *job;
	struct orr_args *options, *args;
};

/* Opens the inputs of many runs. rows: lines of Bamboo's format, or of a file of instances with its header (time_s,..); if NULL,
 * capacity is a file or a generator. job: a name, a file, or JSON that starts with a brace. settings of the policy and options of
 * the world: "a=b c=d". Returns false if *err is filled in. The caller calls spot_runs_close() in any case. */
bool spot_runs_open(struct spot_runs *s, const char *capacity, const char *rows, const char *job, const struct orr_policy *policy,
	const char *settings, const char *options, struct orr_error *err);
void spot_runs_close(struct spot_runs *s);
/* Returns the result of one run of this replication, or NULL on an error. */
struct run_result *spot_runs_run(struct spot_runs *s, uint64_t replication, struct orr_error *err);
/* Returns NAN if there is no such metric. */
double spot_runs_metric(const struct run_result *r, const char *name);

#endif
