/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A quantity over time in a bounded number of buckets: the integral is exact. */
#include "base/rng.h"
#include "results/timeline.h"
#include "tests/tap.h"

static const int64_t second = 1000000000;

static timeline_sum sum_of(const struct timeline *t)
{
	timeline_sum sum = 0;
	for (size_t i = 0; i < t->n; i++)
		sum += t->bucket[i];
	return sum;
}

static void by_hand(void)
{
	struct timeline t;
	timeline_begin(&t, 10 * second);
	timeline_set(&t, 10 * second, 3);
	timeline_set(&t, 11 * second + second / 2, 5);
	timeline_set(&t, 13 * second, 0);
	/* The value is 3 for 1.5 s, then 5 for 1.5 s; buckets have one second. */
	near_to(timeline_mean(&t, 0), 3, 0, "the bucket of the first second");
	near_to(timeline_mean(&t, 1), 4, 0, "a bucket with half a second of 3 and half of 5");
	near_to(timeline_mean(&t, 2), 5, 0, "the bucket of the third second");
	ok(t.n == 3, "a bucket that begins at the end is none (%zu)", t.n);
	ok(t.total == (timeline_sum)12 * 1000000000u, "the integral is 12");
	ok(t.largest == 5, "the largest value was 5");
	timeline_set(&t, 13 * second + second / 4, 8);
	timeline_set(&t, 13 * second + second / 2, 0);
	near_to(timeline_mean(&t, 3), 4, 0, "the mean of a partial last bucket is over its part");
	timeline_set(&t, 13 * second + second / 2, 100);
	timeline_set(&t, 13 * second + second / 2, 0);
	ok(t.total == (timeline_sum)14 * 1000000000u, "a value of no duration adds nothing to the integral");
	ok(t.largest == 100, "a value of no duration counts for the maximum");
}

static void doubling(void)
{
	struct timeline t;
	timeline_begin(&t, 0);
	timeline_set(&t, 0, 7);
	timeline_set(&t, 1024 * second - 1, 7);
	ok(t.width == second && t.n == 1024, "1,024 buckets of a second");
	timeline_set(&t, 1024 * second, 7);
	ok(t.width == 2 * second && t.n == 512, "the next instant doubles the width of buckets (%zu)", t.n);
	timeline_set(&t, INT64_MAX / 2, 0);
	ok(sum_of(&t) == t.total && t.total == (timeline_sum)7 * (uint64_t)(INT64_MAX / 2),
		"the integral is exact over the 146 years of the clock");
	ok(t.n <= TIMELINE_MAX && t.n > TIMELINE_MAX / 2, "146 years take %zu buckets", t.n);
	near_to(timeline_mean(&t, t.n / 2), 7, 0, "each bucket has the mean of its time");
}

enum { STEPS = 300 };
struct step {
	int64_t from, to;
	uint64_t value;
};

/* Returns whether each bucket has the integral over its interval, and whether those in use are the ones that have begun. */
static bool is_each_exact(const struct timeline *t, const struct step *step)
{
	static timeline_sum want[TIMELINE_MAX];
	for (size_t i = 0; i < TIMELINE_MAX; i++)
		want[i] = 0;
	for (const struct step *s = step; s < step + STEPS; s++)
		for (int64_t i = (s->from - t->start) / t->width; t->start + i * t->width < s->to; i++) {
			int64_t a = t->start + i * t->width, b = a + t->width;
			want[i] += (timeline_sum)s->value * (uint64_t)((s->to < b ? s->to : b) - (s->from > a ? s->from : a));
		}
	for (size_t i = 0; i < TIMELINE_MAX; i++)
		if ((i < t->n ? t->bucket[i] : 0) != want[i])
			return false;
	return t->n == (size_t)((t->last - t->start + t->width - 1) / t->width);
}

static bool is_same(const struct timeline *a, const struct timeline *b)
{
	bool same = a->n == b->n && a->width == b->width && a->last == b->last && a->total == b->total && a->largest == b->largest;
	for (size_t i = 0; same && i < a->n; i++)
		same = a->bucket[i] == b->bucket[i];
	return same;
}

/* Compares the integral with the sum of value x time, and each bucket with its definition. */
static void at_random(int rounds)
{
	struct rng r;
	struct step step[STEPS];
	bool good = true, is_equal = true;
	rng_init(&r, 1, "timeline", 0);
	for (int k = 0; k < rounds && good; k++) {
		struct timeline t, lazy;
		int64_t now = (int64_t)rng_below(&r, 1000) * second;
		timeline_sum want = 0;
		uint64_t value = 0, largest = 0, span = UINT64_C(1) << (20 + rng_below(&r, 30));
		timeline_begin(&t, now);
		timeline_begin(&lazy, now);
		for (int i = 0; i < STEPS; i++) {
			int64_t dt = rng_below(&r, 4) ? (int64_t)rng_below(&r, span) : 0;
			want += (timeline_sum)value * (uint64_t)dt;
			step[i] = (struct step){ now, now + dt, value };
			now += dt;
			value = rng_below(&r, 3) ? rng_below(&r, 1000000) : 0;
			largest = value > largest ? value : largest;
			timeline_set(&t, now, value);
			timeline_change(&lazy, now, value);
		}
		timeline_set(&lazy, now, value);
		is_equal = is_equal && is_same(&t, &lazy);
		good = t.total == want && sum_of(&t) == want && t.largest == largest && t.last == now && is_each_exact(&t, step);
	}
	ok(good, "random walks: integral and buckets are exact");
	ok(is_equal, "changes of the value alone give the same timeline");
}

int main(void)
{
	by_hand();
	doubling();
	at_random(2000);
	return done();
}
