/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * engine.h - simulated clock and event queue
 *
 * Time is int64_t nanoseconds and never decreases. Events happen in the total order (time, priority, sequence), where sequence
 * is the order of scheduling, so equal calls give equal runs for any implementation of the queue. An event is a callback.
 *
 * Invariant: the time of every pending event is at least eng_now(). Handles carry a generation, so cancelling an event that has
 * happened is a no-op. No memory is allocated per event once the pools have grown to the largest backlog. An engine belongs to
 * one thread.
 */
#ifndef ORR_ENGINE_ENGINE_H
#define ORR_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;

/* Callback of an event; ctx, subject and arg are those given to eng_at(). */
typedef void (*eng_fn)(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

/* A pending event. {0,0} is no event; eng_cancel() then returns false. */
struct eng_event {
	uint32_t slot, generation;
};

struct engine *eng_new(void);
void eng_free(struct engine *e);

/* The first member of an engine is its clock, so that eng_now() and eng_next_time() are inlined. */
struct eng_clock {
	int64_t now_ns, next_ns; /* next_ns: the time of the next event; -1: unknown */
};
static inline int64_t eng_now(const struct engine *e)
{
	return ((const struct eng_clock *)(const void *)e)->now_ns;
}
size_t eng_pending(const struct engine *e);    /* number of pending events */
uint64_t eng_happened(const struct engine *e); /* number of events that have happened */

/* Schedules fn at t_ns >= eng_now(e); an earlier time becomes now. At equal times, lower priorities (0..255) run first. */
struct eng_event eng_at(struct engine *e, int64_t t_ns, unsigned priority, eng_fn fn, void *ctx, uint64_t subject, uint64_t arg);

/* Cancels an event; returns true if it was pending. */
bool eng_cancel(struct engine *e, struct eng_event ev);

bool eng_find_next(struct engine *e, int64_t *t_ns);
/* Sets the time of the next event; returns false if there is none. Asked several times per event, so the answer is kept. */
static inline bool eng_next_time(struct engine *e, int64_t *t_ns)
{
	const struct eng_clock *c = (const struct eng_clock *)(const void *)e;
	if (c->next_ns < 0)
		return eng_find_next(e, t_ns);
	*t_ns = c->next_ns;
	return true;
}

/*
 * Asks for calls of fetch() shortly before events of fn, with their ctx and subject, so that it prefetches the memory that fn will read:
 * once per step, 0 to ENG_FETCH_STEPS - 1; step i may read what step i - 1 has fetched. fetch() may change nothing. It is a hint: events
 * scheduled for the near future are left out. One fn per engine, the last one given.
 */
enum { ENG_FETCH_STEPS = 4 };
typedef void (*eng_fetch_fn)(const void *ctx, uint64_t subject, unsigned step);
void eng_foresee(struct engine *e, eng_fn fn, eng_fetch_fn fetch);

/* Runs the next event; returns false if there is none. */
bool eng_step(struct engine *e);

#endif
