/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expected lengths of runs, and the order of a round: by hand, and its effect on two threads. */
#include "study/pace.h"

#include "tests/tap.h"

#include <math.h>
#include <stddef.h>

static void lengths(void)
{
	struct pace *p = pace_new();
	ok(pace_expect(p, "a", 50) == 50 && pace_expect(p, "a", 0) == 1, "before the first run: the size, or 1");
	pace_learn(p, "a", 100, 20);
	pace_learn(p, "a", 300, 60);
	ok(fabs(pace_expect(p, "a", 50) - 10) < 1e-12, "80 s for 400 units: 50 units take 10 s");
	ok(fabs(pace_expect(p, "b", 50) - 10) < 1e-12, "a label without runs takes the mean of the others");
	pace_learn(p, "b", 100, 100);
	ok(fabs(pace_expect(p, "b", 50) - 50) < 1e-12, "and then its own");
	ok(pace_expect(p, "a", 0) == 1, "runs without a size learn from such runs only");
	pace_learn(p, "a", 0, 3);
	pace_learn(p, "a", 0, 5);
	ok(pace_expect(p, "a", 0) == 4 && pace_expect(p, "b", 0) == 4, "their mean");
	pace_free(p);
}

/* Returns the time at which the last of two threads ends, each of which takes the next run when it is free. */
static double two_threads(const struct pace_run *list, size_t n)
{
	double end[2] = { 0, 0 };
	for (size_t i = 0; i < n; i++)
		end[end[1] < end[0]] += list[i].expected;
	return fmax(end[0], end[1]);
}

static void orders(void)
{
	struct pace_run list[] = { { 0, 1 }, { 1, 9 }, { 2, 3 }, { 3, 4 }, { 4, 3 }, { 5, 8 } };
	static const size_t want[] = { 0, 1, 5, 3, 2, 4 };
	bool same = true;
	pace_order(list, 6, 4);
	for (size_t i = 0; i < 6; i++)
		same &= list[i].run == want[i];
	ok(same, "the last four, longest first; equal ones and earlier ones keep their order");
	pace_order(list, 6, 100);
	ok(list[0].run == 1 && list[5].run == 0, "a window beyond all runs");
	pace_order(list, 0, 4);
	ok(1, "no runs");
	struct pace_run many[200];
	double sum = 0;
	for (size_t i = 0; i < 200; i++) {
		many[i] = (struct pace_run){ i, pow(80, (double)i / 199) }; /* the last run is the longest */
		sum += many[i].expected;
	}
	double before = sum / two_threads(many, 200);
	pace_order(many, 200, 64);
	double after = sum / two_threads(many, 200);
	ok(before < 1.99 && after > 1.995, "200 runs of lengths 1 to 80, ascending: two threads are %.3f times as fast as one, before %.3f",
		after, before);
}

int main(void)
{
	lengths();
	orders();
	return done();
}
