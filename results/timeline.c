/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/timeline.h"

#include <string.h>

void timeline_begin(struct timeline *t, int64_t start)
{
	memset(t, 0, offsetof(struct timeline, bucket));
	t->start = t->last = start;
	t->width = 1000000000;
	t->edge = start + t->width;
	t->bucket[0] = 0;
	t->zeroed = 1;
}

/* Zeroes new buckets before bucket n, some at a time. */
static void zero_to(struct timeline *t, size_t n)
{
	if (n <= t->zeroed)
		return;
	n = n + 31 < TIMELINE_MAX ? n + 31 : TIMELINE_MAX;
	memset(t->bucket + t->zeroed, 0, (n - t->zeroed) * sizeof *t->bucket);
	t->zeroed = n;
}

static void double_width(struct timeline *t)
{
	zero_to(t, TIMELINE_MAX);
	for (size_t i = 0; i < TIMELINE_MAX / 2; i++)
		t->bucket[i] = t->bucket[2 * i] + t->bucket[2 * i + 1];
	memset(t->bucket + TIMELINE_MAX / 2, 0, sizeof t->bucket / 2);
	t->width *= 2;
	t->n = (t->n + 1) / 2;
	t->at = (size_t)((t->last - t->start) / t->width);
	t->edge = t->start + ((int64_t)t->at + 1) * t->width;
}

void timeline_cross(struct timeline *t, int64_t now)
{
	while ((uint64_t)(now - t->start) >= (uint64_t)t->width * TIMELINE_MAX)
		double_width(t);
	/* Divides only if more than one edge is crossed. */
	size_t from = t->at, to = now - t->edge < 0 ? from : now - t->edge < t->width ? from + 1 : (size_t)((now - t->start) / t->width);
	zero_to(t, to + 1);
	for (size_t i = from; t->value && i <= to; i++) {
		int64_t a = t->start + (int64_t)i * t->width, b = a + t->width;
		int64_t dt = (now < b ? now : b) - (t->last > a ? t->last : a);
		t->bucket[i] += (timeline_sum)t->value * (uint64_t)dt;
	}
	t->total += (timeline_sum)t->value * (uint64_t)(now - t->last);
	int64_t begun = t->start + (int64_t)to * t->width;
	t->n = to + (now > begun); /* a bucket that would start now is not in use yet */
	t->last = now;
	t->at = to;
	t->edge = begun + t->width;
}

double timeline_mean(const struct timeline *t, size_t i)
{
	int64_t a = t->start + (int64_t)i * t->width, b = a + t->width;
	if (t->last < b)
		b = t->last;
	return b > a ? (double)t->bucket[i] / (double)(b - a) : 0;
}
