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
	uint32_t nodes;                /* of a gang: pipelines of depth 1; 0: one */
	uint64_t replication, seed;
	bool is_exact, is_checked;
};

struct late_got {
	bool good, kept, is_oracle;
	double usd, spot_h, on_demand_h; /* hours of progress, excluding change-overs */
	double makespan_h, changeovers, restart_h, idle_h, wasted_h;
};

/* Runs x. !good: the run ended with an error, which is printed. */
struct late_got late_go(const struct late_run *x);
/* Returns the error message of the run; "" if it succeeds. */
const char *late_error(const struct late_run *x);
/* A trace of one instance, live from hours[0] to hours[1], from hours[2] to hours[3], .. NULL: an error, printed. */
struct availset *late_trace(const double *hours, size_t n);
/* A trace of one instance, live while at least `least` nodes of the set are. *span_h: hours until the end. */
struct availset *late_threshold(const struct availset *s, uint32_t least, double *span_h);

#endif
