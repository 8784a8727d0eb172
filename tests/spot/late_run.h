/* SPDX-License-Identifier: GPL-3.0-or-later */
/* late_run.h - runs of a job with a deadline on spot and on-demand instances, for tests */
#ifndef ORR_TESTS_LATE_RUN_H
#define ORR_TESTS_LATE_RUN_H

#include <orrery/spot.h>

#include "traces/avail.h"

extern const struct orr_policy orr_policy_spot_greedy, orr_policy_spot_time_sliced, orr_policy_spot_uniform_progress, orr_policy_spot_rsf,
	orr_policy_spot_omniscient, orr_policy_spot_partial_lookahead;

struct late_run {
	const struct availset *capacity;
	const struct orr_policy *policy;
	const char *settings; /* settings of the policy and, as spot.name=value, of the world, "name=value name=value"; NULL: none */
	double work_h, deadline_h, changeover_h, probe_h;
	double price, on_demand_price; /* USD per hour of spot and on-demand; 0: 1 and 3 */
	double step_s;                 /* 0: one */
	uint32_t nodes;                /* number of instances of a gang, that is, of pipelines of depth 1; 0: one */
	uint64_t replication, seed;
	bool is_exact, is_checked;
};

struct late_got {
	bool good, kept, is_oracle;
	double usd, spot_h, on_demand_h; /* cost in USD; hours of progress on spot and on-demand, excluding change-overs */
	double makespan_h, changeovers, restart_h, idle_h, wasted_h;
};

/* Runs x. If the run fails, prints the error and returns !good. */
struct late_got late_go(const struct late_run *x);
/* Returns the error message of the run; "" if it succeeds. */
const char *late_error(const struct late_run *x);
/* Returns a trace of one instance, live from hours[0] to hours[1], from hours[2] to hours[3], .. On an error, prints it and returns
 * NULL. */
struct availset *late_trace(const double *hours, size_t n);
/* Returns a trace of one instance that is live while at least `least` nodes of the set are live. *span_h: hours until its end. */
struct availset *late_threshold(const struct availset *s, uint32_t least, double *span_h);

#endif
