/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * late_plan.h - the cheapest way to a deadline when the whole future of one spot instance is known
 *
 * One job: `work` to be done between `from` and `deadline`, on spot while it is available, on demand at any time, or idle. A
 * stint on an instance begins with a change-over that is paid and does no work. Times ns, prices per unit of time, constant.
 *
 * The optimum is exact over all schedules in continuous time, not over those of a grid: with spot cheaper than on-demand,
 * an exchange of time between two stints shows that one optimum uses each available interval whole or not at all, and
 * that on-demand stints fill the gaps between them whole or not at all, up to what is not needed in the end. If n spot stints of
 * total length L are used beside m > 0 on demand, the rest is on demand:
 *
 *	cost = q work - gain, gain = (q - p) L - q (n d_spot + m d_on_demand), feasible if lost = idle + n d_spot + m d_on_demand <=
 *deadline - from - work
 *
 * so a dynamic programme over the intervals keeps, for idle and on-demand, the pairs (lost, gain) of which none is better in
 * both. If spot alone can do it, with n* of the longest intervals, a plan with on-demand is only better with fewer stints, and
 * pairs are kept for each number of them. With all times multiples of u there are at most (deadline - from - work) / u pairs in a set:
 *steps are polynomial in intervals x ticks.
 *
 * Work is done in whole steps, as the world does it: what is left of a stint after the last whole step is lost. Where all times are
 * multiples of a step that is exact too; elsewhere each on-demand stint is charged a step more of time than it may need.
 */
#ifndef ORR_POLICIES_SPOT_LATE_PLAN_H
#define ORR_POLICIES_SPOT_LATE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Spot is available from, and gone at to. */
struct late_interval {
	int64_t from_ns, to_ns;
};

struct late_problem {
	const struct late_interval *spot; /* ascending, disjoint; two that touch are two instances */
	size_t n;
	int64_t from_ns, deadline_ns;
	int64_t work_ns, step_ns; /* work: a whole number of steps */
	int64_t spot_changeover_ns, on_demand_changeover_ns;
	double spot_price, on_demand_price;
};

struct late_stint {
	int64_t from_ns, to_ns; /* change-over included */
	bool is_spot;
};

struct late_plan {
	struct late_stint *stint; /* in order of time */
	size_t n;
	double cost;                   /* prices x ns */
	int64_t spot_ns, on_demand_ns; /* without change-overs */
	bool is_late;                  /* not even on demand throughout keeps the deadline: this is that plan */
};

/* *out is overwritten; free it with late_plan_free(). */
void late_plan_best(const struct late_problem *p, struct late_plan *out);
void late_plan_free(struct late_plan *plan);

#endif
