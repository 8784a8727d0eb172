/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * timeline.h - a quantity over time in a bounded number of buckets
 *
 * Invariant: bucket i holds the integral of the value over [start + i width, start + (i+1) width); when the time exceeds
 * TIMELINE_MAX buckets, the width doubles and neighbours are merged. Values are integers and integrals have 128 bits, so sums
 * are exact for any length of run and independent of their order. Buckets from n on have no value: their memory is not written, so
 * that a short run does not touch it.
 */
#ifndef ORR_RESULTS_TIMELINE_H
#define ORR_RESULTS_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

enum { TIMELINE_MAX = 1024 };

__extension__ typedef unsigned __int128 timeline_sum;

struct timeline {
	int64_t start, width, last; /* last: time up to which the value is integrated */
	int64_t edge;               /* end of the bucket that contains `last` */
	uint64_t value;             /* current value */
	size_t n, at;               /* number of buckets in use; index of the bucket that contains `last` */
	size_t zeroed;              /* buckets from this one on have no value yet; more than `at` */
	timeline_sum total;
	uint64_t largest;
	timeline_sum bucket[TIMELINE_MAX];
};

void timeline_begin(struct timeline *t, int64_t start);
/* Integrates the value up to time now (> last). */
void timeline_cross(struct timeline *t, int64_t now);
/* Changes the value at time now (>= last). */
static inline void timeline_set(struct timeline *t, int64_t now, uint64_t value)
{
	if (now > t->last) {
		if (now < t->edge) { /* fast path without a division */
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
/* Like timeline_set(), but does nothing while the value is the same. timeline_set() integrates the rest before the timeline is read. */
static inline void timeline_change(struct timeline *t, int64_t now, uint64_t value)
{
	if (value != t->value)
		timeline_set(t, now, value);
}
/* Returns the mean over bucket i, up to t->last. */
double timeline_mean(const struct timeline *t, size_t i);

#endif
