/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "availability.h"

#include <string.h>

void availability_init(struct availability *p, uint32_t n_types)
{
	p->width = n_types + 2;
	p->cap = 16;
	p->time = orr_alloc(p->cap, sizeof *p->time);
	p->room = orr_alloc(p->cap * p->width, sizeof *p->room);
}

void availability_free(struct availability *p)
{
	orr_free(p->time);
	orr_free(p->room);
}

static int64_t *room_at(const struct availability *p, size_t i)
{
	return p->room + i * p->width;
}

void availability_reset(struct availability *p, int64_t now, const struct backfill_room *room)
{
	p->n = 1;
	p->time[0] = now;
	for (size_t t = 0; t + 2 < p->width; t++)
		p->room[t] = room->gpu_milli[t];
	p->room[p->width - 2] = room->cpu_milli;
	p->room[p->width - 1] = room->mem_mib;
}

/* The last point at or before t (t is not before point 0). */
static size_t point_before(const struct availability *p, int64_t t)
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

void availability_trim(struct availability *p, int64_t now)
{
	size_t kept = 0;
	for (size_t i = point_before(p, now); i < p->n; i++) {
		if (kept && !memcmp(room_at(p, i), room_at(p, kept - 1), p->width * sizeof *p->room))
			continue;
		p->time[kept] = p->time[i] > now ? p->time[i] : now;
		memmove(room_at(p, kept++), room_at(p, i), p->width * sizeof *p->room);
	}
	p->n = kept;
}

/* Returns the index of the point at t, which it adds if it is missing. */
static size_t split(struct availability *p, int64_t t)
{
	size_t i = point_before(p, t);
	if (p->time[i] == t)
		return i;
	if (p->n == p->cap) {
		p->cap *= 2;
		p->time = orr_realloc(p->time, p->cap, sizeof *p->time);
		p->room = orr_realloc(p->room, p->cap * p->width, sizeof *p->room);
	}
	memmove(p->time + i + 2, p->time + i + 1, (p->n - i - 1) * sizeof *p->time);
	memmove(room_at(p, i + 1), room_at(p, i), (p->n - i) * p->width * sizeof *p->room);
	p->time[i + 1] = t;
	p->n++;
	return i + 1;
}

void availability_move(struct availability *p, int64_t from, int64_t to, uint32_t type, const struct backfill_need *need, int sign)
{
	from = from > p->time[0] ? from : p->time[0];
	if (to <= from)
		return;
	size_t a = split(p, from), b = split(p, to);
	for (size_t i = a; i < b; i++) {
		int64_t *room = room_at(p, i);
		if (type != BACKFILL_NO_TYPE)
			room[type] += sign * need->gpu_milli;
		room[p->width - 2] += sign * need->cpu_milli;
		room[p->width - 1] += sign * need->mem_mib;
	}
}

int64_t availability_find(const struct availability *p, int64_t from, int64_t span, uint32_t type, const struct backfill_need *need)
{
	int64_t start = from > p->time[0] ? from : p->time[0];
	for (size_t i = point_before(p, start); i < p->n; i++) {
		const int64_t *room = room_at(p, i);
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
