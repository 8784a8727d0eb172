/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The availability profile of conservative backfilling (policies/jobs/availability.h) against an array with an entry per instant. */
#include "policies/jobs/availability.h"

#include "base/rng.h"
#include "tests/tap.h"

enum { TYPES = 2, LAST = 120, MOVES = 40 };

/* capacity[t]: GPUs of both types, CPUs and memory at t; the entry of LAST holds forever. */
static int64_t capacity[LAST + 1][TYPES + 2];

static struct rng rng;

static int64_t draw(int64_t most)
{
	return (int64_t)(rng_uniform(&rng) * (double)(most + 1));
}

static void array_move(int64_t from, int64_t to, uint32_t type, const struct backfill_need *need, int sign)
{
	for (int64_t t = from; t < to; t++) {
		if (type != BACKFILL_NO_TYPE)
			capacity[t][type] += sign * need->gpu_milli;
		capacity[t][TYPES] += sign * need->cpu_milli;
		capacity[t][TYPES + 1] += sign * need->mem_mib;
	}
}

static bool array_fits(int64_t t, uint32_t type, const struct backfill_need *need)
{
	const int64_t *at = capacity[t < LAST ? t : LAST];
	return (type == BACKFILL_NO_TYPE || at[type] >= need->gpu_milli) && at[TYPES] >= need->cpu_milli && at[TYPES + 1] >= need->mem_mib;
}

static int64_t array_find(int64_t from, int64_t span, uint32_t type, const struct backfill_need *need)
{
	for (int64_t t = from; t <= LAST; t++) {
		int64_t u = t;
		while (u < t + span && u <= LAST && array_fits(u, type, need))
			u++;
		if (u == t + span || u > LAST)
			return t;
	}
	return ORR_NEVER;
}

static struct reservation {
	int64_t from, to;
	uint32_t type;
	struct backfill_need need;
} made[MOVES];

static struct reservation any(int64_t now)
{
	static const uint32_t types[] = { 0, 1, BACKFILL_NO_TYPE };
	int64_t from = now + draw(60);
	return (struct reservation){ from, from + 1 + draw(LAST - from > 30 ? 30 : LAST - from - 1), types[draw(2)],
		{ 1000 * draw(3), 1000 * draw(4), draw(6) } };
}

/* Makes random reservations, takes some back, and lets time pass; returns the number of differing searches. */
static int compare(struct availability *p)
{
	struct backfill_room room = { .cpu_milli = 1000 * (4 + draw(4)), .mem_mib = 6 + draw(6) };
	size_t n = 0;
	int wrong = 0;
	int64_t now = draw(9);
	for (int t = 0; t < TYPES; t++)
		room.gpu_milli[t] = 1000 * (2 + draw(4));
	for (int t = 0; t <= LAST; t++)
		memcpy(capacity[t], (int64_t[]){ room.gpu_milli[0], room.gpu_milli[1], room.cpu_milli, room.mem_mib }, sizeof capacity[t]);
	availability_reset(p, now, &room);
	for (int i = 0; i < MOVES; i++) {
		int64_t what = draw(9);
		if (what < 6) {
			struct reservation x = any(now);
			made[n++] = x;
			availability_move(p, x.from, x.to, x.type, &x.need, -1);
			array_move(x.from, x.to, x.type, &x.need, -1);
		} else if (what < 8 && n) {
			size_t k = (size_t)draw((int64_t)n - 1);
			struct reservation x = made[k];
			made[k] = made[--n];
			availability_move(p, x.from, x.to, x.type, &x.need, 1);
			array_move(x.from > now ? x.from : now, x.to, x.type, &x.need, 1);
		} else if (now < 40) {
			now += draw(4);
			availability_trim(p, now);
		}
		for (int k = 0; k < 6; k++) {
			struct reservation x = any(now);
			/* A search from the past begins now. */
			int64_t span = x.to - x.from, got = availability_find(p, k ? x.from : now - 1, span, x.type, &x.need),
				want = array_find(k ? x.from : now, span, x.type, &x.need);
			if (got != want && !wrong++)
				printf("# at %lld, from %lld for %lld: got %lld, expected %lld\n", (long long)now, (long long)x.from,
					(long long)span, (long long)got, (long long)want);
		}
	}
	return wrong;
}

int main(void)
{
	struct availability p = { 0 };
	int wrong = 0;
	rng_init(&rng, 7, "availability", 0);
	availability_init(&p, TYPES);
	for (int i = 0; i < 400; i++)
		wrong += compare(&p);
	ok(!wrong, "400 profiles of up to 40 changes: all searches agree");
	/* Reservations that are all taken back leave one point. */
	struct backfill_room room = { .gpu_milli = { 4000, 4000 }, .cpu_milli = 8000, .mem_mib = 10 };
	const struct backfill_need need = { 4000, 8000, 10 }, more = { 4000, 8000, 11 };
	availability_reset(&p, 0, &room);
	for (int64_t i = 0; i < 50; i++)
		availability_move(&p, 10 * i, 10 * i + 15, 0, &(struct backfill_need){ 1000, 2000, 3 }, -1);
	ok(availability_find(&p, 0, 1, 0, &need) == 505 && availability_find(&p, 0, 1, 1, &need) == 505, "free after the last reservation");
	for (int64_t i = 49; i >= 0; i--)
		availability_move(&p, 10 * i, 10 * i + 15, 0, &(struct backfill_need){ 1000, 2000, 3 }, 1);
	ok(p.root && availability_find(&p, 0, 1000, 0, &need) == 0, "free at once when all are taken back");
	ok(availability_find(&p, 0, 1, 0, &more) == ORR_NEVER, "a need above the capacity never fits");
	availability_move(&p, 20, 20, 0, &need, -1);
	availability_move(&p, 30, 20, 0, &need, -1);
	ok(availability_find(&p, 0, 1000, 0, &need) == 0, "an empty interval changes nothing");
	/* Jobs of 10 s run one after another. Each job has a point at its start, which is the end of the previous job, and a point at its
	 * end. After the trim to its end, the profile has one point. The place of this point is taken before the other places are given
	 * back. Place 0 holds no point. */
	struct availability line = { 0 };
	availability_init(&line, TYPES);
	availability_reset(&line, 0, &room);
	for (int64_t i = 0; i < 50; i++) {
		availability_move(&line, 10 * i, 10 * i + 10, 0, &need, -1);
		availability_trim(&line, 10 * i + 10);
	}
	ok(line.n == 4, "points of the past are dropped: %zu places", line.n);
	availability_free(&line);
	availability_free(&p);
	return done();
}
