/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * profile.h - an availability profile: what will be free, as a function of time
 *
 * A step function: point i holds from its time up to that of point i + 1, the last one
 * for ever. GPUs (1/1000) per type, CPUs and memory (struct backfill_room, backfill.h).
 *
 * Invariant: times ascend strictly; point 0 is the earliest time that may be asked for.
 * Every operation costs O(points).
 */
#ifndef ORR_POLICIES_PROFILE_H
#define ORR_POLICIES_PROFILE_H

#include "backfill.h"

struct profile {
	int64_t *time;
	int64_t *room; /* [point * width]: GPUs by type, then CPUs, then memory */
	size_t n, cap, width;
};

static inline bool profile_init(struct profile *p, uint32_t n_types)
{
	p->width = n_types + 2;
	p->cap = 16;
	p->time = malloc(p->cap * sizeof *p->time);
	p->room = malloc(p->cap * p->width * sizeof *p->room);
	return p->time && p->room;
}

static inline void profile_free(struct profile *p)
{
	free(p->time);
	free(p->room);
}

static inline int64_t *profile_at(const struct profile *p, size_t i)
{
	return p->room + i * p->width;
}

/* Forgets everything: that much is free from now on. */
static inline void profile_reset(struct profile *p, int64_t now, const struct backfill_room *room)
{
	p->n = 1;
	p->time[0] = now;
	for (size_t t = 0; t + 2 < p->width; t++)
		p->room[t] = room->gpu_milli[t];
	p->room[p->width - 2] = room->cpu_milli;
	p->room[p->width - 1] = room->mem_mib;
}

/* The last point at or before t (t is not before point 0). */
static inline size_t profile_before(const struct profile *p, int64_t t)
{
	size_t low = 0, high = p->n;
	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;
		if (p->time[mid] <= t)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* The past is forgotten, and points that change nothing. */
static inline void profile_trim(struct profile *p, int64_t now)
{
	size_t kept = 0;
	for (size_t i = profile_before(p, now); i < p->n; i++) {
		if (kept && !memcmp(profile_at(p, i), profile_at(p, kept - 1), p->width * sizeof *p->room))
			continue;
		p->time[kept] = p->time[i] > now ? p->time[i] : now;
		memmove(profile_at(p, kept++), profile_at(p, i), p->width * sizeof *p->room);
	}
	p->n = kept;
}

/* Makes a point at t, if there is none; its index, or SIZE_MAX: out of memory. */
static inline size_t profile_split(struct profile *p, int64_t t)
{
	size_t i = profile_before(p, t);
	if (p->time[i] == t)
		return i;
	if (p->n == p->cap) {
		int64_t *time = realloc(p->time, 2 * p->cap * sizeof *time);
		p->time = time ? time : p->time;
		int64_t *room = time ? realloc(p->room, 2 * p->cap * p->width * sizeof *room) : NULL;
		if (!room)
			return SIZE_MAX;
		p->room = room;
		p->cap *= 2;
	}
	memmove(p->time + i + 2, p->time + i + 1, (p->n - i - 1) * sizeof *p->time);
	memmove(profile_at(p, i + 1), profile_at(p, i), (p->n - i) * p->width * sizeof *p->room);
	p->time[i + 1] = t;
	p->n++;
	return i + 1;
}

/* Takes (sign -1) or gives back (sign 1) a need from one time to another; what lies before
 * point 0 is left out. False: out of memory. */
static inline bool profile_move(struct profile *p, int64_t from, int64_t to, uint32_t type, const struct backfill_need *need, int sign)
{
	from = from > p->time[0] ? from : p->time[0];
	if (to <= from)
		return true;
	size_t a = profile_split(p, from), b = a == SIZE_MAX ? a : profile_split(p, to);
	if (b == SIZE_MAX)
		return false;
	for (size_t i = a; i < b; i++) {
		int64_t *room = profile_at(p, i);
		if (type != BACKFILL_NO_TYPE)
			room[type] += sign * need->gpu_milli;
		room[p->width - 2] += sign * need->cpu_milli;
		room[p->width - 1] += sign * need->mem_mib;
	}
	return true;
}

/* The earliest time from `from` on at which the need fits for that long (> 0); ORR_NEVER: at none. */
static inline int64_t profile_find(const struct profile *p, int64_t from, int64_t span, uint32_t type, const struct backfill_need *need)
{
	int64_t start = from > p->time[0] ? from : p->time[0];
	for (size_t i = profile_before(p, start); i < p->n; i++) {
		const int64_t *room = profile_at(p, i);
		bool fits = (type == BACKFILL_NO_TYPE || room[type] >= need->gpu_milli) && room[p->width - 2] >= need->cpu_milli &&
			    room[p->width - 1] >= need->mem_mib;
		bool is_last = i + 1 == p->n;
		if (!fits)
			start = is_last ? ORR_NEVER : p->time[i + 1];
		else if (is_last || p->time[i + 1] - start >= span)
			return start;
	}
	return ORR_NEVER;
}

#endif
