/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replay.h - replays a small trace, given as text, under one policy
 *
 * Every replay runs with --check. The result has no names, because the trace owns them; rows are in order of submission.
 */
#ifndef ORR_TESTS_REPLAY_H
#define ORR_TESTS_REPLAY_H

#include <orrery/jobs.h>

#include "results/result.h"

/* Replays a trace. csv: rows in orrery's own format, with a header. settings: "name=value name=value" of the policy. Returns NULL
 * with err filled in if the run fails; else the caller frees the result. */
struct run_result *replay(const char *csv, const char *cluster, const char *placement, const struct orr_policy *policy,
	const char *settings, struct orr_error *err);

/* Returns whether the jobs start and end at these seconds. Prints the jobs that do not. */
bool replay_matches(const struct run_result *r, const double *start_s, const double *end_s, size_t n);

#endif
