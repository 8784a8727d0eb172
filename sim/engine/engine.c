/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An entry of the queue holds a time, a priority and a slot; the record of the slot holds the callback. A cancelled event keeps
 * its entry and its record, without a function, until the entry is reached or swept. So a slot never has two entries in the
 * queue.
 */
#include "engine/engine.h"

#include <assert.h>
#include <stdalign.h>

#include "base/mem.h"
#include "engine/ladder.h"

enum {
	CHUNK_BITS = 12, /* records per chunk: 256 KiB */
	CHUNK_RECORDS = 1 << CHUNK_BITS,
	DEAD_ALLOWED = 1024 /* limit on cancelled events in the queue, in addition to half the number of pending events */
};

static const uint32_t NO_SLOT = UINT32_MAX;

/* One cache line per record: each event touches one. */
struct record {
	alignas(64) eng_fn fn; /* NULL: cancelled */
	void *ctx;
	uint64_t subject, arg;
	uint32_t generation; /* incremented when the event happens or is cancelled; 0: exhausted */
	uint32_t next_free;
};

struct engine {
	struct eng_clock clock;                  /* must be first: see eng_now() */
	uint64_t scheduled, happened, cancelled; /* numbers of events so far */
	uint32_t free_slot;                      /* never empty */
	uint32_t slots;                          /* number of records used so far */
	size_t dead;                             /* number of cancelled events in the queue */
	struct record **chunk;
	void **raw; /* pointer to free of each chunk */
	size_t chunks, chunk_capacity, raw_capacity;
	eng_fn foreseen; /* eng_foresee(); NULL: none */
	eng_fetch_fn fetch;
	struct ladder queue;
};

static inline struct record *record_of(const struct engine *e, uint32_t slot)
{
	return &e->chunk[slot >> CHUNK_BITS][slot & (CHUNK_RECORDS - 1)];
}

/* Fetches what the callbacks of the entries will need, step by step for all entries, so that their misses overlap. */
static void fetch_subjects(const struct engine *e, const struct ladder_entry *x, size_t count)
{
	for (unsigned step = 0; step < ENG_FETCH_STEPS; step++)
		for (size_t i = 0; i < count; i++) {
			const struct record *r = record_of(e, x[i].slot);
			if (r->fn == e->foreseen)
				e->fetch(r->ctx, r->subject, step);
		}
}

static void fetch_ahead(void *ctx, const struct ladder_entry *x, size_t count, bool is_front)
{
	const struct engine *e = ctx;
	if (is_front && e->foreseen)
		fetch_subjects(e, x, count);
	for (size_t i = 0; i < count && !is_front; i++)
		mem_fetch_to_write(record_of(e, x[i].slot));
}

static void add_chunk(struct engine *e)
{
	const size_t line = alignof(struct record);
	char *raw = mem_alloc(CHUNK_RECORDS * sizeof(struct record) + line);
	size_t n = e->chunks;
	MEM_GROW(e->raw, n, e->raw_capacity);
	MEM_GROW(e->chunk, n, e->chunk_capacity);
	e->raw[n] = raw;
	e->chunk[n] = (struct record *)(void *)(raw + (-(uintptr_t)raw & (line - 1)));
	e->chunks++;
}

/* Adds an unused slot to the free list, which is empty. */
__attribute__((noinline, cold)) static void add_slot(struct engine *e)
{
	if (e->slots == NO_SLOT)
		mem_alloc(PTRDIFF_MAX); /* mem_fail() does not return */
	if (e->slots == e->chunks << CHUNK_BITS)
		add_chunk(e);
	struct record *r = record_of(e, e->slots);
	r->generation = 1;
	r->next_free = NO_SLOT;
	e->free_slot = e->slots++;
}

struct engine *eng_new(void)
{
	struct engine *e = mem_zalloc(1, sizeof *e);
	e->clock.next_ns = -1;
	ladder_open(&e->queue, fetch_ahead, e);
	add_slot(e);
	return e;
}

void eng_free(struct engine *e)
{
	if (!e)
		return;
	ladder_close(&e->queue);
	for (size_t i = 0; i < e->chunks; i++)
		mem_free(e->raw[i]);
	mem_free(e->raw);
	mem_free(e->chunk);
	mem_free(e);
}

void eng_foresee(struct engine *e, eng_fn fn, eng_fetch_fn fetch)
{
	e->foreseen = fn;
	e->fetch = fetch;
}

size_t eng_pending(const struct engine *e)
{
	return (size_t)(e->scheduled - e->happened - e->cancelled);
}

uint64_t eng_happened(const struct engine *e)
{
	return e->happened;
}

/* A slot with exhausted generations is retired, so that no handle ever names two
 * events. */
static inline void release_slot(struct engine *e, uint32_t slot, struct record *r)
{
	if (r->generation == 0)
		return;
	r->next_free = e->free_slot;
	e->free_slot = slot;
}

struct eng_event eng_at(struct engine *e, int64_t t_ns, unsigned priority, eng_fn fn, void *ctx, uint64_t subject, uint64_t arg)
{
	assert(fn && priority <= 255);
	uint32_t slot = e->free_slot;
	struct record *r = record_of(e, slot);
	struct eng_event ev = { slot, r->generation };
	r->fn = fn;
	r->ctx = ctx;
	r->subject = subject;
	r->arg = arg;
	e->scheduled++;
	e->free_slot = r->next_free;
	if (t_ns < e->clock.now_ns)
		t_ns = e->clock.now_ns;
	if (t_ns < e->clock.next_ns)
		e->clock.next_ns = t_ns;
	ladder_push(&e->queue, (uint64_t)t_ns, priority, slot);
	if (e->free_slot == NO_SLOT)
		add_slot(e);
	return ev;
}

static bool keep_or_release(void *ctx, uint32_t slot)
{
	struct engine *e = ctx;
	struct record *r = record_of(e, slot);
	if (r->fn)
		return true;
	release_slot(e, slot, r);
	return false;
}

bool eng_cancel(struct engine *e, struct eng_event ev)
{
	if (ev.generation == 0 || ev.slot >= e->slots)
		return false;
	struct record *r = record_of(e, ev.slot);
	if (r->generation != ev.generation)
		return false;
	r->generation++;
	r->fn = NULL;
	e->clock.next_ns = -1;
	e->cancelled++;
	e->dead++;
	if (e->dead > DEAD_ALLOWED + eng_pending(e) / 2) {
		ladder_sweep(&e->queue, keep_or_release, e);
		e->dead = 0;
	}
	return true;
}

/* Returns the first entry that was not cancelled, or NULL. */
static inline const struct ladder_entry *first_alive(struct engine *e)
{
	for (;;) {
		const struct ladder_entry *x = ladder_first(&e->queue);
		if (!x)
			return NULL;
		struct record *r = record_of(e, x->slot);
		if (r->fn)
			return x;
		release_slot(e, x->slot, r);
		e->dead--;
		ladder_drop_first(&e->queue);
	}
}

bool eng_find_next(struct engine *e, int64_t *t_ns)
{
	const struct ladder_entry *x = first_alive(e);
	if (x)
		*t_ns = e->clock.next_ns = (int64_t)x->time;
	return x != NULL;
}

/* Releases the record before the callback: the next event that the callback schedules reuses the record while it is in the cache. */
bool eng_step(struct engine *e)
{
	const struct ladder_entry *x = first_alive(e);
	if (!x)
		return false;
	struct record *r = record_of(e, x->slot);
	eng_fn fn = r->fn;
	void *ctx = r->ctx;
	uint64_t subject = r->subject, arg = r->arg;
	r->generation++;
	release_slot(e, x->slot, r);
	e->clock.now_ns = (int64_t)x->time;
	e->clock.next_ns = -1;
	ladder_drop_first(&e->queue);
	e->happened++;
	fn(e, ctx, subject, arg);
	return true;
}
