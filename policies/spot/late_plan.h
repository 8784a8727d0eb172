/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * late_plan.h - the cheapest schedule to a deadline if the whole future of one spot instance is known
 *
 * One job must do `work` between `from` and `deadline`. It is on spot (while available), on demand (at any time), or idle. A
 * stint on an instance starts with a change-over, which costs money and does no work. Times in ns, constant prices per unit of
 * time.
 *
 * The optimum is exact over all schedules in continuous time. If spot is cheaper than on-demand, some optimum uses each
 * available interval completely or not at all; the proof exchanges time between two stints. This optimum also fills each gap
 * between intervals with on-demand completely or not at all, except for surplus time at the end. With n spot stints of total
 * length L and m > 0 on-demand stints:
 *
 *	cost = q work - gain, gain = (q - p) L - q (n d_spot + m d_on_demand)
 *	feasible if lost = idle + n d_spot + m d_on_demand <= deadline - from - work
 *
 * A dynamic programme over the intervals keeps, for the states idle and on-demand, the Pareto-optimal pairs (lost, gain). If spot alone
 * suffices, with the n* longest intervals, a plan with on-demand is better only with fewer stints, so pairs are kept for each number of
 * stints. If all times are multiples of u, a set has at most (deadline - from - work) / u pairs: time is polynomial in intervals x ticks.
 *
 * As in the world, work is done in whole steps: the rest of a stint after its last whole step is lost. This is exact if all times are
 * multiples of a step; otherwise each on-demand stint is charged up to one step of time too much.
 */
#ifndef ORR_POLICIES_SPOT_LATE_PLAN_H
#define ORR_POLICIES_SPOT_LATE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Spot is available from from_ns to to_ns. */
struct late_interval {
	int64_t from_ns, to_ns;
};

struct late_problem {
	const struct late_interval *spot; /* intervals in ascending order, disjoint; adjacent intervals are different instances */
	size_t n;
	int64_t from_ns, deadline_ns;
	int64_t work_ns, step_ns; /* work: a whole number of steps, in ns */
	int64_t spot_changeover_ns, on_demand_changeover_ns;
	double spot_price, on_demand_price;
};

struct late_stint {
	int64_t from_ns, to_ns; /* including the change-over */
	bool is_spot;
};

struct late_plan {
	struct late_stint *stint; /* stints in order of time */
	size_t n;
	double cost;                   /* prices x ns */
	int64_t spot_ns, on_demand_ns; /* excluding change-overs */
	bool is_late;                  /* no plan meets the deadline; this one is on demand all the time */
};

/* Finds the best plan. Overwrites *out; the caller frees it with late_plan_free(). */
void late_plan_best(const struct late_problem *p, struct late_plan *out);
void late_plan_free(struct late_plan *plan);

#endif
