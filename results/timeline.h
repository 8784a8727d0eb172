/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * timeline.h - a quantity over time in a bounded number of buckets
 *
 * Invariant: bucket i holds the integral of the value over [start + i width, start +
 * (i+1) width); when time outgrows TIMELINE_MAX buckets, the width doubles and
 * neighbours are added. So the integral is exact whatever the length of the run.
 * Values are whole numbers, integrals 128-bit: no rounding, no order of summation.
 */
#ifndef ORR_RESULTS_TIMELINE_H
#define ORR_RESULTS_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

enum { TIMELINE_MAX = 1024 };

__extension__ typedef unsigned __int128 timeline_sum;

struct timeline {
	int64_t start, width, last; /* last: integrated up to here */
	int64_t edge;               /* end of the bucket that `last` is in */
	uint64_t value;             /* now */
	size_t n, at;               /* buckets touched; the one that `last` is in */
	timeline_sum bucket[TIMELINE_MAX];
	timeline_sum total;
	uint64_t largest;
};

void timeline_begin(struct timeline *t, int64_t start);
/* The value held until time now (> last). */
void timeline_cross(struct timeline *t, int64_t now);
/* The value changes at time now (>= last). */
static inline void timeline_set(struct timeline *t, int64_t now, uint64_t value)
{
	if (now > t->last) {
		if (now < t->edge) { /* no division */
			timeline_sum more = (timeline_sum)t->value * (uint64_t)(now - t->last);
			t->bucket[t->at] += more;
			t->total += more;
			t->n = t->at + 1;
			t->last = now;
		} else {
			timeline_cross(t, now);
		}
	}
	t->value = value;
	if (value > t->largest)
		t->largest = value;
}
/* The mean over bucket i, up to t->last. */
double timeline_mean(const struct timeline *t, size_t i);

#endif
