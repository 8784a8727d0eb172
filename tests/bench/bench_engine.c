/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench_engine - event queues and the whole engine step on the HOLD model
 *
 * Three kinds of hold: bare (the queue alone), with a record (64 bytes read and half written per event, as in the engine), and
 * the engine's step (queue, record, clock, call of a handler that schedules again). All contestants of one load and one backlog
 * run in turns, slice by slice. A result is the median CPU time over the slices. The popped slots are hashed; contestants that
 * disagree on the order end the benchmark with an error.
 */
#include <getopt.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/engine.h"
#include "tests/bench/load.h"
#include "tests/bench/queue_calendar.h"
#include "tests/bench/queue_heap.h"
#include "tests/bench/queue_ladder.h"
#include "tests/bench/queue_radix.h"

enum { SLICES = 5, BACKLOGS = 3, CONTESTANTS = 11, CHECK_EVERY = 10000 };

static const size_t backlogs[BACKLOGS] = { 1000, 100000, 1000000 };
static const double PATIENCE_S = 1.0; /* CPU time of a slice beyond which a queue is dropped */

/* A queue or engine with its events and its results. */
struct run {
	void *queue;
	struct engine *engine;
	struct bench_record *records;
	const int64_t *draws;
	size_t pending;
	uint32_t drawn; /* index of the next increment; wraps around at the end of the table */
	uint64_t hash;
	size_t left;       /* number of holds until the engine stops */
	double ns[SLICES]; /* per hold */
	double bytes;      /* per pending event */
	bool is_slow;
};

struct contestant {
	const char *name;
	int reference; /* index of the contestant against which ratios are computed */
	void (*fill)(struct run *r);
	void (*hold)(struct run *r, size_t holds);
	void (*end)(struct run *r);
};

static inline int64_t next_draw(struct run *r)
{
	return r->draws[r->drawn++ & (LOAD_DRAWS - 1)];
}

static inline void note_slot(struct run *r, uint64_t slot)
{
	r->hash = (r->hash ^ slot) * UINT64_C(0x9e3779b97f4a7c15);
}

/* ---- bare queues, with and without a record ---- */

#define INLINE static inline __attribute__((always_inline))

INLINE void queue_fill(struct run *r, const struct queue_ops *ops, bool has_record)
{
	if (has_record) {
		r->records = mem_alloc(r->pending * sizeof *r->records);
		memset(r->records, 1, r->pending * sizeof *r->records);
	}
	r->queue = mem_zalloc(1, ops->size);
	ops->open(r->queue, r->pending, r->records);
	for (size_t i = 0; i < r->pending; i++)
		ops->push(r->queue, (uint64_t)next_draw(r), (uint32_t)i);
}

INLINE void queue_hold(struct run *r, const struct queue_ops *ops, bool has_record, size_t holds)
{
	for (size_t i = 0; i < holds; i++) {
		uint64_t now;
		uint32_t slot = ops->pop(r->queue, &now);
		uint64_t payload = 0;
		if (has_record) {
			struct bench_record *x = &r->records[slot];
			payload = x->word[0] + x->word[1] + x->word[2] + x->word[3];
			x->word[0] = now;
			x->word[1] = payload;
			x->word[2] = slot;
			x->word[3] = x->word[4] + 1;
		}
		note_slot(r, slot);
		ops->push(r->queue, now + (uint64_t)next_draw(r), slot);
	}
}

INLINE void queue_end(struct run *r, const struct queue_ops *ops)
{
	ops->close(r->queue);
	mem_free(r->queue);
	mem_free(r->records);
}

/* The functions of one queue, fully inlined. */
#define QUEUE(name)                                                 \
	static void name##_fill(struct run *r)                      \
	{                                                           \
		queue_fill(r, &name##_ops, false);                  \
	}                                                           \
	static void name##_fill_record(struct run *r)               \
	{                                                           \
		queue_fill(r, &name##_ops, true);                   \
	}                                                           \
	static void name##_hold(struct run *r, size_t holds)        \
	{                                                           \
		queue_hold(r, &name##_ops, false, holds);           \
	}                                                           \
	static void name##_hold_record(struct run *r, size_t holds) \
	{                                                           \
		queue_hold(r, &name##_ops, true, holds);            \
	}                                                           \
	static void name##_end(struct run *r)                       \
	{                                                           \
		queue_end(r, &name##_ops);                          \
	}

QUEUE(ladder)
QUEUE(radix)
QUEUE(calendar)
QUEUE(quad)
QUEUE(binary)

/* ---- the engine ---- */

static void hold_event(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	struct run *r = ctx;
	note_slot(r, subject);
	eng_at(e, eng_now(e) + next_draw(r), 0, hold_event, ctx, subject, arg);
	r->left--;
}

static void engine_fill(struct run *r)
{
	r->engine = eng_new();
	for (size_t i = 0; i < r->pending; i++)
		eng_at(r->engine, next_draw(r), 0, hold_event, r, i, 0);
}

static void engine_hold(struct run *r, size_t holds)
{
	r->left = holds;
	while (r->left && eng_step(r->engine))
		;
}

static void engine_end(struct run *r)
{
	eng_free(r->engine);
}

/* ---- measuring ---- */

enum { LADDER_BARE = 0, LADDER_RECORD = 5 };

static const struct contestant contestants[CONTESTANTS] = {
	{ "ladder of blocks", LADDER_BARE, ladder_fill, ladder_hold, ladder_end },
	{ "radix heap of blocks", LADDER_BARE, radix_fill, radix_hold, radix_end },
	{ "calendar", LADDER_BARE, calendar_fill, calendar_hold, calendar_end },
	{ "4-ary heap, integer key", LADDER_BARE, quad_fill, quad_hold, quad_end },
	{ "binary heap", LADDER_BARE, binary_fill, binary_hold, binary_end },
	{ "ladder, record", LADDER_RECORD, ladder_fill_record, ladder_hold_record, ladder_end },
	{ "engine step", LADDER_RECORD, engine_fill, engine_hold, engine_end },
	{ "radix heap, record", LADDER_RECORD, radix_fill_record, radix_hold_record, radix_end },
	{ "calendar, record", LADDER_RECORD, calendar_fill_record, calendar_hold_record, calendar_end },
	{ "4-ary heap, record", LADDER_RECORD, quad_fill_record, quad_hold_record, quad_end },
	{ "binary heap, record", LADDER_RECORD, binary_fill_record, binary_hold_record, binary_end },
};

/* Returns the resident memory after returning freed memory to the system; 0 without /proc. */
static double resident_bytes(void)
{
	unsigned long pages = 0;
#ifdef __GLIBC__
	malloc_trim(0);
#endif
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f)
		return 0;
	if (fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Returns ns per hold; drops a queue that takes too long. */
static double timed_holds(struct run *r, const struct contestant *c, size_t holds)
{
	double start = cpu_seconds(), spent = 0;
	size_t done = 0;
	while (done < holds && !r->is_slow) {
		size_t n = holds - done < CHECK_EVERY ? holds - done : CHECK_EVERY;
		c->hold(r, n);
		done += n;
		spent = cpu_seconds() - start;
		r->is_slow = spent > PATIENCE_S && done < holds;
	}
	return spent / (double)done * 1e9;
}

/* Runs the slices of all contestants in turns. A dropped queue keeps its last result. */
static void run_slices(struct run run[CONTESTANTS], size_t holds)
{
	for (int s = 0; s < SLICES; s++)
		for (int c = 0; c < CONTESTANTS; c++)
			run[c].ns[s] = run[c].is_slow ? run[c].ns[s ? s - 1 : 0] : timed_holds(&run[c], &contestants[c], holds);
}

static bool is_order_equal(const struct run run[CONTESTANTS])
{
	bool is_equal = true;
	for (int c = 1; c < CONTESTANTS; c++)
		if (!run[c].is_slow && run[c].hash != run[0].hash) {
			printf("%s and %s pop in different orders\n", contestants[c].name, contestants[0].name);
			is_equal = false;
		}
	return is_equal;
}

/* Measures one load at one backlog: fills the queues, warms up with one hold per pending event, measures. */
static bool measure(struct run run[CONTESTANTS], const int64_t *draws, size_t pending, size_t holds)
{
	memset(run, 0, CONTESTANTS * sizeof *run);
	for (int c = 0; c < CONTESTANTS; c++) {
		double before = resident_bytes();
		run[c].draws = draws;
		run[c].pending = pending;
		contestants[c].fill(&run[c]);
		run[c].ns[0] = timed_holds(&run[c], &contestants[c], pending);
		run[c].bytes = (resident_bytes() - before) / (double)pending;
	}
	run_slices(run, holds);
	bool is_equal = is_order_equal(run);
	for (int c = 0; c < CONTESTANTS; c++)
		contestants[c].end(&run[c]);
	return is_equal;
}

static void print_table(const struct load *l, struct run run[BACKLOGS][CONTESTANTS])
{
	double ns[BACKLOGS][CONTESTANTS];
	for (int b = 0; b < BACKLOGS; b++)
		for (int c = 0; c < CONTESTANTS; c++)
			ns[b][c] = median(run[b][c].ns, SLICES);
	printf("\n%s increments (%s)\n\n| million holds/s |", l->name, l->what);
	for (int b = 0; b < BACKLOGS; b++)
		printf(" %zu pending | ratio |", backlogs[b]);
	printf(" bytes/event at %zu |\n|---|", backlogs[BACKLOGS - 1]);
	for (int b = 0; b < BACKLOGS; b++)
		printf("---|---|");
	printf("---|\n");
	for (int c = 0; c < CONTESTANTS; c++) {
		printf("| %-23s |", contestants[c].name);
		for (int b = 0; b < BACKLOGS; b++)
			printf(" %6.2f%c | %4.2f |", 1e3 / ns[b][c], run[b][c].is_slow ? '*' : ' ',
				ns[b][contestants[c].reference] / ns[b][c]);
		printf(" %5.0f |\n", run[BACKLOGS - 1][c].bytes);
	}
	fflush(stdout);
}

static int usage(const char *name, int status)
{
	printf("usage: %s [--quick] [--holds N] [--load NAME]\n"
	       "  --quick      a fifth of the holds\n"
	       "  --holds N    holds per slice (default 500000), %d slices each\n"
	       "  --load NAME  only this load:",
		name, SLICES);
	for (int i = 0; i < loads_count; i++)
		printf(" \"%s\"", loads[i].name);
	printf("\n");
	return status;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "quick", no_argument, NULL, 'q' }, { "holds", required_argument, NULL, 'n' },
		{ "load", required_argument, NULL, 'l' }, { "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 } };
	static struct run run[BACKLOGS][CONTESTANTS];
	size_t holds = 500000;
	const char *only = NULL;
	bool is_good = true;
	for (int o; (o = getopt_long(argc, argv, "qn:l:h", options, NULL)) != -1;) {
		if (o == 'q')
			holds = 100000;
		else if (o == 'n' && atol(optarg) > 0)
			holds = (size_t)atol(optarg);
		else if (o == 'l')
			only = optarg;
		else
			return usage(argv[0], o == 'h' ? 0 : 2);
	}
	printf("Ratios: queues to the ladder; those with a 64-byte record and the engine's step to the\n"
	       "ladder with a record. *: given up after %.0f s of CPU time, figure of the part done.\n",
		PATIENCE_S);
	for (int l = 0; l < loads_count; l++) {
		if (only && strcmp(only, loads[l].name) != 0)
			continue;
		int64_t *draws = load_draws(&loads[l]);
		for (int b = 0; b < BACKLOGS; b++)
			is_good = measure(run[b], draws, backlogs[b], holds) && is_good;
		print_table(&loads[l], run);
		mem_free(draws);
	}
	return is_good ? 0 : 1;
}
