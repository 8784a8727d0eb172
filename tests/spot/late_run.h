/* SPDX-License-Identifier: GPL-3.0-or-later */
/* late_run.h - one job with a deadline on spot and on-demand, for tests */
#ifndef ORR_TESTS_LATE_RUN_H
#define ORR_TESTS_LATE_RUN_H

#include <orrery/spot.h>

#include "traces/avail.h"

extern const struct orr_policy orr_policy_spot_greedy, orr_policy_spot_time_sliced, orr_policy_spot_uniform_progress, orr_policy_spot_rsf,
	orr_policy_spot_omniscient, orr_policy_spot_partial_lookahead;

struct late_run {
	const struct availset *capacity;
	const struct orr_policy *policy;
	const char *settings; /* "name=value name=value" of the policy, and of the world as spot.name=value; NULL: none */
	double work_h, deadline_h, changeover_h, probe_h;
	double price, on_demand_price; /* 0: 1 and 3 */
	double step_s;                 /* 0: one */
	uint32_t nodes;                /* a gang, as pipelines of depth 1; 0: one */
	uint64_t replication, seed;
	bool is_exact, is_checked;
};

struct late_got {
	bool good, kept, is_oracle;
	double usd, spot_h, on_demand_h; /* of the job's progress: without change-overs */
	double makespan_h, changeovers, restart_h, idle_h, wasted_h;
};

/* Not good: the run ended with an error, which is printed. */
struct late_got late_go(const struct late_run *x);
/* The error of a run that ends with one; "" if it does not. */
const char *late_error(const struct late_run *x);
/* One instance from each first to each second of n hours. NULL: an error, printed. */
struct availset *late_trace(const double *hours, size_t n);
/* Of any nodes of the set as long as at least `least` are there, one of ours. *span_h: hours until the end. */
struct availset *late_threshold(const struct availset *s, uint32_t least, double *span_h);

#endif
