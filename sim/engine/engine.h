/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * engine.h - the clock and the events that move it
 *
 * Time is int64_t nanoseconds and never goes back. Events happen in the total
 * order (time, priority, sequence), sequence being the order of scheduling; so
 * the same calls give the same run, whatever the queue inside. The engine knows
 * nothing of what an event means: it calls a function.
 *
 * Invariant: every pending event lies at or after eng_now(). Handles carry a
 * generation, so cancelling an event that has happened is harmless. No memory
 * is allocated per event once the pools have grown to the largest backlog.
 * An engine belongs to one thread.
 */
#ifndef ORR_ENGINE_ENGINE_H
#define ORR_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;

/* What happens: ctx is the model, subject and arg are its own business. */
typedef void (*eng_fn)(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

/* A pending event. {0,0} is no event; eng_cancel() of it returns false. */
struct eng_event {
	uint32_t slot, generation;
};

struct engine *eng_new(void);
void eng_free(struct engine *e);

/* An engine begins with its clock: reading it costs no call. */
struct eng_clock {
	int64_t now_ns;
};
static inline int64_t eng_now(const struct engine *e)
{
	return ((const struct eng_clock *)(const void *)e)->now_ns;
}
size_t eng_pending(const struct engine *e);    /* events not yet happened or cancelled */
uint64_t eng_happened(const struct engine *e); /* events that have happened */

/* Schedules fn at t_ns >= eng_now(e); an earlier time is taken as now. Lower
 * priorities go first at equal times (0..255). */
struct eng_event eng_at(struct engine *e, int64_t t_ns, unsigned priority, eng_fn fn, void *ctx, uint64_t subject, uint64_t arg);

/* True if the event was pending; it will not happen. */
bool eng_cancel(struct engine *e, struct eng_event ev);

/* The time of the next event, or false if there is none. */
bool eng_next_time(struct engine *e, int64_t *t_ns);

/* Lets one event happen; false if there is none. */
bool eng_step(struct engine *e);

/* Steps until there is no event or eng_stop() was called from one. */
void eng_run(struct engine *e);
void eng_stop(struct engine *e);

#endif
