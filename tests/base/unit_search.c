/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Searches of studies: a bisection finds the point of a scan, and tries few values; a refinement adds points at bends. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/search.h"
#include "tests/tap.h"

#include <math.h>

static const struct search_axis linear = { 0, 10, false }, logarithmic = { 0.25, 4, true };

typedef double (*curve)(double x);

/* Runs a search on a curve. */
static void follow(struct search *s, curve f)
{
	double x;
	for (int i = 0; i < 100000 && search_next(s, &x); i++)
		search_put(s, f(x));
}

static double limit_at;
static double line(double x)
{
	return x - limit_at;
}
static double falling(double x)
{
	return limit_at - x;
}
/* Meets the limit up to 4 and from 4.1 to 4.3, and misses it elsewhere. */
static double twice(double x)
{
	return x <= 4 || (x > 4.1 && x <= 4.3) ? -1 : 1;
}
static double kink(double x)
{
	return fabs(x - 3);
}
static double none(double x)
{
	(void)x;
	return NAN;
}

/* Returns the largest point of the grid that meets the limit, found by a scan. */
static double scan(const struct search_axis *a, double tolerance, curve f)
{
	double found = NAN;
	for (int i = 0;; i++) {
		double x = a->is_log ? a->from * pow(1 + tolerance, i) : a->from + i * tolerance * (a->to - a->from);
		if (x > a->to)
			return found;
		found = f(x) <= 0 ? x : found;
	}
}

static void check_bisection(void)
{
	struct rng g;
	int equal = 0, few = 0, bracketed = 0;
	rng_init(&g, 1, "test", 0);
	for (int i = 0; i < 500; i++) {
		const struct search_axis *a = i % 2 ? &linear : &logarithmic;
		limit_at = a->from + rng_uniform_pos(&g) * (a->to - a->from);
		struct search *s = search_find(a, 0.005, 0, true);
		follow(s, line);
		struct search_answer x = search_answer(s);
		equal += fabs(x.value - scan(a, 0.005, line)) <= 1e-12;
		bracketed += x.outcome == SEARCH_FOUND && x.value <= limit_at && x.above > limit_at && !x.is_scanned &&
			     x.above - x.value <= 0.00501 * (a->is_log ? x.value : 10);
		few += x.tried <= 2 + 10 + 8 && 4 * x.tried <= search_grid(s);
		search_free(s);
	}
	ok(equal == 500, "a bisection finds the point of a scan: %d of 500", equal);
	ok(bracketed == 500, "the limit lies between the value and the next point of the grid: %d of 500", bracketed);
	ok(few == 500, "a bisection tries at most a quarter of the scan's values: %d of 500", few);
}

static void check_ends(void)
{
	struct search *s = search_find(&linear, 0.01, 0, true);
	limit_at = 20;
	follow(s, line);
	struct search_answer x = search_answer(s);
	ok(x.outcome == SEARCH_ALL && x.value == 10 && isnan(x.above) && x.tried == 2, "a limit that holds everywhere");
	search_free(s);
	s = search_find(&linear, 0.01, 0, true);
	limit_at = -1;
	follow(s, line);
	x = search_answer(s);
	ok(x.outcome == SEARCH_NONE && isnan(x.value) && x.above == 0 && x.tried == 2, "a limit that holds nowhere");
	search_free(s);
	s = search_find(&linear, 0.01, 0, true);
	follow(s, none);
	ok(search_answer(s).outcome == SEARCH_NONE, "a run without the metric misses the limit");
	search_free(s);
	s = search_find(&linear, 0.01, 2, false);
	limit_at = 7;
	follow(s, falling);
	x = search_answer(s);
	near_to(x.value, 5, 1e-12, "at least 2: 7 - x");
	near_to(x.result, 2, 1e-12, "the result there");
	search_free(s);
}

static void check_scan(void)
{
	struct search *s = search_find(&linear, 0.005, 0, true);
	follow(s, twice);
	struct search_answer x = search_answer(s);
	ok(x.is_scanned && x.outcome == SEARCH_FOUND, "a second crossing near the first is noticed");
	near_to(x.value, 4.3, 1e-9, "the largest value that meets the limit");
	near_to(x.above, 4.05, 1e-9, "the least that misses it");
	search_free(s);
}

static void check_refinement(void)
{
	struct search *s = search_refine(&linear, 5, 30);
	double x, nearest = INFINITY;
	int n = 0, near_kink = 0;
	for (; n < 1000 && search_next(s, &x); n++) {
		if (n < 5)
			near_to(x, 2.5 * n, 1e-12, "the first points are at equal distances");
		near_kink += fabs(x - 3) < 0.5;
		nearest = fmin(nearest, fabs(x - 3));
		search_put(s, kink(x));
	}
	ok(n == 30, "30 points in all: %d", n);
	ok(near_kink > 10 && nearest < 0.01, "most are near the bend: %d, the nearest at %g", near_kink, nearest);
	search_free(s);
}

/* The result x - 5 has an interval of width 2 * spread. */
static struct search_answer with_intervals(const struct search_axis *a, double limit, bool is_below, double spread)
{
	struct search *s = search_find(a, 0.01, limit, is_below);
	double x;
	while (search_next(s, &x)) {
		double y = is_below ? x - 5 : 5 - x;
		search_put_interval(s, y, y - spread, y + spread);
	}
	struct search_answer answer = search_answer(s);
	search_free(s);
	return answer;
}

static void check_intervals(void)
{
	struct search_answer x = with_intervals(&linear, 0, true, 0.2);
	/* The interval of the result holds 0 from 4.8 to 5.2. Values near the bracket are tried at 1, 2, 4 and 8 steps of 0.1. */
	ok(x.value == 5 && x.low <= 4.8 && x.low >= 4.2 && x.high >= 5.2 - 1e-9 && x.high <= 5.9,
		"the interval %.3g to %.3g holds 4.8 to 5.2", x.low, x.high);
	x = with_intervals(&linear, 0, false, 0.2);
	ok(x.value == 5 && x.low <= 4.8 && x.low >= 4.2 && x.high >= 5.2 - 1e-9 && x.high <= 5.9,
		"a falling result has such an interval too");
	/* Intervals that end at the limit: a result of exactly 0 or above does not miss the limit of 0, so the interval has no end within
	 * the axis. */
	struct search *s = search_find(&linear, 0.01, 0, true);
	double at;
	while (search_next(s, &at)) {
		double y = at - 5;
		search_put_interval(s, y, y < 0 ? y : 0, y);
	}
	x = search_answer(s);
	ok(x.value == 5 && x.high == linear.to, "a value whose interval begins at the limit may hold it: up to %g", x.high);
	search_free(s);
	x = with_intervals(&linear, 0, true, 100);
	ok(x.low == 0 && x.high == 10, "no value is sure: the whole axis");
	x = with_intervals(&linear, 0, true, NAN);
	ok(x.value == 5 && isnan(x.low) && isnan(x.high), "results without intervals: none");
	x = with_intervals(&linear, 0, true, 0);
	ok(x.low == 5 && x.high > 5 && x.high < 5.11, "intervals without width: the bracket");
}

int main(void)
{
	check_intervals();
	check_bisection();
	check_ends();
	check_scan();
	check_refinement();
	return done();
}
