/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cheapest plan to a deadline against the enumeration of all choices in each tick. The rules: spot costs p and on-demand q
 * per tick; a change-over takes d ticks without work; each new instance needs a change-over.
 */
#include "policies/spot/late_plan.h"

#include "base/rng.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <time.h>

enum { MAX_TICKS = 240, MAX_CHANGEOVER = 6, STATES = 2 + 2 * MAX_CHANGEOVER + 1 };
#define TICK INT64_C(100)

struct small {
	int ticks, work, changeover;
	bool is_there[MAX_TICKS], is_new[MAX_TICKS]; /* is_new: whether the instance differs from that of the previous tick */
	double p, q;
};

/* Returns the smallest cost from tick t on. state: 0 idle, 1 spot, 2 on demand; left: remaining ticks of the change-over; done: work
 * done. */
static double enumerate(const struct small *c, int t, int state, int left, int done)
{
	if (done >= c->work)
		return 0;
	if (t == c->ticks || c->work - done > c->ticks - t)
		return INFINITY;
	double best = enumerate(c, t + 1, 0, 0, done);
	if (c->is_there[t]) {
		int wait = state == 1 && !c->is_new[t] ? left : c->changeover;
		best = fmin(best, c->p + enumerate(c, t + 1, 1, wait ? wait - 1 : 0, done + !wait));
	}
	int wait = state == 2 ? left : c->changeover;
	return fmin(best, c->q + enumerate(c, t + 1, 2, wait ? wait - 1 : 0, done + !wait));
}

/* Returns the smallest cost for larger cases, with a table over work done, state and remaining change-over, tick by tick. */
static double tabulate(const struct small *c)
{
	static double now[MAX_TICKS + 1][STATES], next[MAX_TICKS + 1][STATES];
	int spot = 1, on_demand = spot + MAX_CHANGEOVER + 1;
	double best = INFINITY;
	for (int done = 0; done <= c->work; done++)
		for (int s = 0; s < STATES; s++)
			now[done][s] = done || s ? INFINITY : 0;
	for (int t = 0; t < c->ticks; t++) {
		for (int done = 0; done <= c->work; done++)
			for (int s = 0; s < STATES; s++)
				next[done][s] = INFINITY;
		for (int done = 0; done < c->work; done++)
			for (int s = 0; s < STATES; s++) {
				double cost = now[done][s];
				if (isinf(cost))
					continue;
				next[done][0] = fmin(next[done][0], cost);
				for (int to = spot; to <= on_demand; to += on_demand - spot) {
					if (to == spot && !c->is_there[t])
						continue;
					bool goes_on = s >= to && s <= to + MAX_CHANGEOVER && (to == on_demand || !c->is_new[t]);
					int wait = goes_on ? s - to : c->changeover, after = wait ? wait - 1 : 0, more = done + !wait;
					double *cell = &next[more][to + after];
					*cell = fmin(*cell, cost + (to == spot ? c->p : c->q));
					if (more == c->work)
						best = fmin(best, *cell);
				}
			}
		memcpy(now, next, sizeof now);
	}
	return best;
}

static size_t intervals(const struct small *c, int64_t start, struct late_interval *out)
{
	size_t n = 0;
	for (int t = 0; t < c->ticks; t++) {
		if (!c->is_there[t])
			continue;
		if (!t || !c->is_there[t - 1] || c->is_new[t])
			out[n++].from_ns = start + t * TICK;
		out[n - 1].to_ns = start + (t + 1) * TICK;
	}
	return n;
}

/* Returns the cost of a plan, in ticks; NAN if the plan breaks the rules. */
static double cost_of(const struct late_problem *p, const struct late_plan *plan)
{
	int64_t at = p->from_ns, work = 0;
	double cost = 0;
	for (size_t i = 0; i < plan->n; i++) {
		const struct late_stint *s = &plan->stint[i];
		bool is_there = !s->is_spot;
		for (size_t k = 0; k < p->n; k++)
			is_there = is_there || (p->spot[k].from_ns <= s->from_ns && s->to_ns <= p->spot[k].to_ns);
		int64_t useful = s->to_ns - s->from_ns - (s->is_spot ? p->spot_changeover_ns : p->on_demand_changeover_ns);
		if (!is_there || s->from_ns < at || useful <= 0 || useful % p->step_ns || s->to_ns > p->deadline_ns)
			return NAN;
		cost += (double)(s->to_ns - s->from_ns) * (s->is_spot ? p->spot_price : p->on_demand_price);
		work += useful;
		at = s->to_ns;
	}
	return work == p->work_ns && fabs(cost - plan->cost) < 1e-9 * cost ? cost / (double)TICK : NAN;
}

static struct small draw(struct rng *rng, int ticks, uint64_t run)
{
	struct small c = { .ticks = ticks, .changeover = (int)rng_below(rng, ticks < 20 ? 4 : MAX_CHANGEOVER + 1) };
	c.work = 1 + (int)rng_below(rng, (uint64_t)ticks - 1);
	c.p = 1;
	c.q = 1.25 + rng_uniform(rng) * (rng_below(rng, 2) ? 1 : 8);
	double share = 0.3 + 0.7 * rng_uniform(rng), again = 0.15 * rng_uniform(rng);
	for (int t = 0; t < ticks; t++) {
		c.is_there[t] = t && rng_below(rng, run) ? c.is_there[t - 1] : rng_uniform(rng) < share;
		c.is_new[t] = rng_uniform(rng) < again;
	}
	return c;
}

static bool is_sanitized(void)
{
	const char *s = getenv("ORR_SANITIZED");
	return s && *s == '1';
}

/* Compares the cost of the plan with the smallest cost, by one of the two functions above. */
static void test_against(const char *what, double (*best)(const struct small *c), int cases, int least, int most, uint64_t run)
{
	int wrong = 0, late = 0, spot_alone = 0, mixed = 0;
	struct rng rng;
	rng_init(&rng, 6, what, 0);
	for (int i = 0; i < cases; i++) {
		struct small c = draw(&rng, least + (int)rng_below(&rng, (uint64_t)(most - least)), run);
		struct late_interval spot[MAX_TICKS];
		int64_t start = (int64_t)rng_below(&rng, 3) * 7;
		struct late_problem p = { spot, intervals(&c, start, spot), start, start + c.ticks * TICK, c.work * TICK, TICK,
			c.changeover * TICK, c.changeover * TICK, c.p, c.q };
		struct late_plan plan;
		double want = best(&c);
		late_plan_best(&p, &plan);
		double got = cost_of(&p, &plan);
		bool good = isinf(want) ? plan.is_late : !plan.is_late && fabs(got - want) < 1e-9 * want;
		if (!good && wrong++ < 3)
			printf("# case %d: got %.9g%s, want %.9g\n", i, got, plan.is_late ? " (late)" : "", want);
		late += plan.is_late;
		spot_alone += plan.spot_ns > 0 && plan.on_demand_ns == 0;
		mixed += plan.spot_ns > 0 && plan.on_demand_ns > 0;
		late_plan_free(&plan);
	}
	ok(!wrong, "%d random cases, %s: the plan keeps the rules and costs as much as the best of all sequences", cases, what);
	ok(late > 0 && spot_alone > cases / 10 && mixed > cases / 10,
		"among them %d that cannot be done in time, %d on spot alone, %d mixed", late, spot_alone, mixed);
}

static double enumerate_all(const struct small *c)
{
	return enumerate(c, 0, 0, 0, 0);
}

/* Uses times in ns: at most one step is lost per stint. */
static void test_odd_times(void)
{
	struct late_interval spot[] = { { 3, 1004 }, { 1004, 2500 }, { 5001, 9007 } };
	struct late_problem p = { spot, 3, 0, 12000, 6000, 10, 105, 105, 1, 3 };
	struct late_plan plan;
	late_plan_best(&p, &plan);
	/* By hand, two spot stints have 1,290 + 3,900 and one on-demand stint has 810. The three intervals hold 1,001 - 105, 1,496 -
	 * 105 and 4,006 - 105, in whole steps 890 + 1,390 + 3,900 = 6,180 >= 6,000. So the cheapest plan uses only spot, with 3
	 * change-overs, and costs 6,315. */
	near_to(plan.cost, 6315, 1e-12, "spot alone, in whole steps");
	late_plan_free(&plan);
	p.deadline_ns = 12000;
	p.work_ns = 7000;
	late_plan_best(&p, &plan);
	/* 6,180 of work on spot and 820 on demand cost 6,180 + 315 + 3 x (820 + 105). Without the first interval the cost is higher:
	 * 5,290 + 210 + 3 (1,710 + 105). */
	near_to(plan.cost, 6180 + 315 + 3 * 925, 1e-12, "spot and on-demand, in whole steps");
	late_plan_free(&plan);
}

/* Uses arbitrary times, often with little slack: the work is done in whole steps within the deadline, and costs at least as much as
 * without steps. */
static void test_steps(void)
{
	int cases = is_sanitized() ? 200 : 3000, wrong = 0, near = 0;
	struct rng rng;
	rng_init(&rng, 8, "late plan steps", 0);
	for (int i = 0; i < cases; i++) {
		struct late_interval spot[40];
		size_t n = 1 + (size_t)rng_below(&rng, 40);
		int64_t at = 0, d = (int64_t)rng_below(&rng, 300);
		for (size_t k = 0; k < n; k++) {
			spot[k].from_ns = at += 1 + (int64_t)rng_below(&rng, 900);
			spot[k].to_ns = at += 1 + (int64_t)rng_below(&rng, 900);
		}
		int64_t slack = d + 10 + (int64_t)rng_below(&rng, i % 2 ? 40 : 4000), work = at / 10 * 5 + 10;
		struct late_problem p = { spot, n, 3, 3 + work + slack, work - work % 10, 10, d, d, 1, 3 };
		struct late_plan plan, free_of_steps;
		late_plan_best(&p, &plan);
		double got = cost_of(&p, &plan);
		p.step_ns = 1;
		late_plan_best(&p, &free_of_steps);
		bool good = !plan.is_late && got * (double)TICK >= free_of_steps.cost * (1 - 1e-12);
		if (!good && wrong++ < 3)
			printf("# case %d: %.9g, %.9g without steps\n", i, got * (double)TICK, free_of_steps.cost);
		near += got * (double)TICK <= free_of_steps.cost + 3 * 10 * (double)(plan.n + 1);
		late_plan_free(&plan);
		late_plan_free(&free_of_steps);
	}
	ok(!wrong, "%d cases with odd times keep the rules, and cost no less than without steps", cases);
	ok(near > cases * 9 / 10,
		"in %d of the cases the plan costs at most one step per stint more (in the others steps make another plan the best)", near);
}

/* Measures the time of planning at the published size, 48 h of work in 60 h, and over a month. */
static void test_time(void)
{
	struct rng rng;
	double worst = 0;
	int64_t hour = 3600 * INT64_C(1000000000);
	for (int kind = 0; kind < 6; kind++) {
		double up_h = (double[]){ 0.76, 1.61, 3.13, 0.06, 0.5, 0.76 }[kind],
		       down_h = (double[]){ 0.87, 3, 0.82, 0.03, 0.5, 0.87 }[kind];
		int64_t horizon = (kind < 5 ? 60 : 720) * hour, at = 0, change = kind == 3 || kind == 4 ? hour / 20 : hour / 5;
		static struct late_interval spot[2000];
		size_t n = 0;
		rng_init(&rng, 7, "late plan time", (uint64_t)kind);
		while (at < horizon && n < 2000) {
			at += (int64_t)(rng_exponential(&rng, down_h) * (double)hour);
			spot[n].from_ns = at;
			at += (int64_t)(rng_exponential(&rng, up_h) * (double)hour);
			spot[n++].to_ns = at;
		}
		struct late_problem p = { spot, n, 0, horizon, horizon / 5 * 4, hour / 3600, change, change, 1, 3 };
		struct late_plan plan;
		clock_t start = clock();
		late_plan_best(&p, &plan);
		double s = (double)(clock() - start) / CLOCKS_PER_SEC;
		printf("# %zu intervals in %d h: %.4f s, %.2f h on spot\n", n, kind < 5 ? 60 : 720, s, (double)plan.spot_ns / (double)hour);
		worst = kind < 5 && s > worst ? s : worst;
		ok(!isnan(cost_of(&p, &plan)), "a plan for %zu intervals keeps the rules", n);
		late_plan_free(&plan);
	}
	ok(worst < 1, "60 hours take less than a second");
}

int main(void)
{
	test_against("enumerated", enumerate_all, is_sanitized() ? 300 : 6000, 6, 14, 3);
	test_against("tabulated", tabulate, is_sanitized() ? 60 : 200, 100, MAX_TICKS, 9);
	test_against("tabulated, short runs", tabulate, is_sanitized() ? 60 : 200, 100, MAX_TICKS, 4);
	test_steps();
	test_odd_times();
	test_time();
	return done();
}
