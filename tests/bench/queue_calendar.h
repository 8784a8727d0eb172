/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * queue_calendar.h - a calendar queue of sorted lists
 *
 * R. Brown, "Calendar queues: a fast O(1) priority queue implementation for the
 * simulation event set problem", CACM 31(10), 1988: days of equal width form a year.
 * A year doubles or halves with the backlog, and the width is then set
 * from the gaps between the next events. Days have a tail pointer, so an entry
 * later than all others of its day, or equal to the last, needs no search.
 */
#ifndef ORR_TESTS_BENCH_QUEUE_CALENDAR_H
#define ORR_TESTS_BENCH_QUEUE_CALENDAR_H

#include "base/mem.h"
#include "tests/bench/queue.h"

#define CALENDAR_NONE UINT32_MAX

struct calendar_node {
	uint64_t time;
	uint32_t next;
};

struct calendar_day {
	uint32_t first, last;
};

struct calendar {
	struct calendar_node *node; /* by slot */
	struct calendar_day *day;
	size_t days, count; /* days is a power of two */
	uint64_t width;
	uint64_t now;
};

static struct calendar_day *calendar_new_days(size_t n)
{
	struct calendar_day *day = mem_alloc(n * sizeof *day);
	for (size_t i = 0; i < n; i++)
		day[i].first = day[i].last = CALENDAR_NONE;
	return day;
}

static void calendar_open(void *vq, size_t slots, const struct bench_record *records)
{
	struct calendar *q = vq;
	(void)records;
	q->node = mem_alloc(slots * sizeof *q->node);
	q->days = 2;
	q->day = calendar_new_days(2);
	q->width = 1000000000;
}

static void calendar_close(void *vq)
{
	struct calendar *q = vq;
	mem_free(q->node);
	mem_free(q->day);
}

static inline struct calendar_day *calendar_day_of(const struct calendar *q, uint64_t time)
{
	return &q->day[time / q->width & (q->days - 1)];
}

static inline void calendar_insert(struct calendar *q, uint32_t slot)
{
	uint64_t time = q->node[slot].time;
	struct calendar_day *d = calendar_day_of(q, time);
	if (d->last == CALENDAR_NONE || q->node[d->last].time <= time) {
		q->node[slot].next = CALENDAR_NONE;
		if (d->last == CALENDAR_NONE)
			d->first = slot;
		else
			q->node[d->last].next = slot;
		d->last = slot;
		return;
	}
	uint32_t *link = &d->first;
	while (q->node[*link].time <= time)
		link = &q->node[*link].next;
	q->node[slot].next = *link;
	*link = slot;
}

/* Returns the day of the earliest entry: in this year, else by a search of all days. */
static inline struct calendar_day *calendar_find(struct calendar *q)
{
	uint64_t today = q->now / q->width;
	for (size_t i = 0; i < q->days; i++, today++) {
		struct calendar_day *d = &q->day[today & (q->days - 1)];
		if (d->first != CALENDAR_NONE && q->node[d->first].time / q->width <= today)
			return d;
	}
	struct calendar_day *best = NULL;
	for (size_t i = 0; i < q->days; i++) {
		struct calendar_day *d = &q->day[i];
		if (d->first != CALENDAR_NONE && (!best || q->node[d->first].time < q->node[best->first].time))
			best = d;
	}
	return best;
}

static inline uint32_t calendar_take(struct calendar *q)
{
	struct calendar_day *d = calendar_find(q);
	uint32_t slot = d->first;
	d->first = q->node[slot].next;
	if (d->first == CALENDAR_NONE)
		d->last = CALENDAR_NONE;
	q->now = q->node[slot].time;
	return slot;
}

/* Returns three times the mean gap between the next 25 events, without gaps above twice the mean. */
static uint64_t calendar_width(struct calendar *q)
{
	enum { SAMPLE = 25 };
	uint32_t slot[SAMPLE];
	uint64_t now = q->now;
	if (q->count < 2)
		return q->width;
	size_t n = q->count < SAMPLE ? q->count : SAMPLE, kept = 0;
	for (size_t i = 0; i < n; i++)
		slot[i] = calendar_take(q);
	q->now = now;
	uint64_t mean = (q->node[slot[n - 1]].time - q->node[slot[0]].time) / (n - 1), sum = 0;
	for (size_t i = 1; i < n; i++) {
		uint64_t gap = q->node[slot[i]].time - q->node[slot[i - 1]].time;
		if (gap <= 2 * mean) {
			sum += gap;
			kept++;
		}
	}
	/* Pushes entries back at the front, the last one first. They precede all other entries, also those of equal time. */
	for (size_t i = n; i-- > 0;) {
		struct calendar_day *d = calendar_day_of(q, q->node[slot[i]].time);
		q->node[slot[i]].next = d->first;
		if (d->first == CALENDAR_NONE)
			d->last = slot[i];
		d->first = slot[i];
	}
	return sum && kept ? 3 * sum / kept + 1 : q->width;
}

static void calendar_resize(struct calendar *q, size_t days)
{
	uint64_t width = calendar_width(q);
	struct calendar_day *old = q->day;
	size_t old_days = q->days;
	q->day = calendar_new_days(days);
	q->days = days;
	q->width = width;
	for (size_t i = 0; i < old_days; i++)
		for (uint32_t s = old[i].first, next; s != CALENDAR_NONE; s = next) {
			next = q->node[s].next;
			calendar_insert(q, s);
		}
	mem_free(old);
}

static inline void calendar_push(void *vq, uint64_t time, uint32_t slot)
{
	struct calendar *q = vq;
	q->node[slot].time = time;
	calendar_insert(q, slot);
	if (++q->count > 2 * q->days)
		calendar_resize(q, 2 * q->days);
}

static inline uint32_t calendar_pop(void *vq, uint64_t *time)
{
	struct calendar *q = vq;
	uint32_t slot = calendar_take(q);
	*time = q->now;
	if (--q->count < q->days / 2 && q->days > 2)
		calendar_resize(q, q->days / 2);
	return slot;
}

static const struct queue_ops calendar_ops = { "calendar", sizeof(struct calendar), calendar_open, calendar_close, calendar_push,
	calendar_pop };

#endif
