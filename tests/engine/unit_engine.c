/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/engine.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tests/tap.h"

static void run(struct engine *e)
{
	while (eng_step(e))
		;
}

/* ---- counted allocations: the linker redirects these calls (--wrap) ---- */

static size_t allocations, allocated_bytes;

void *__real_mem_alloc(size_t size);
void *__real_mem_zalloc(size_t count, size_t size);
void *__real_mem_realloc(void *p, size_t count, size_t size);
void *__wrap_mem_alloc(size_t size);
void *__wrap_mem_zalloc(size_t count, size_t size);
void *__wrap_mem_realloc(void *p, size_t count, size_t size);

static void count_allocation(size_t size)
{
	allocations++;
	allocated_bytes += size;
}

void *__wrap_mem_alloc(size_t size)
{
	count_allocation(size);
	return __real_mem_alloc(size);
}

void *__wrap_mem_zalloc(size_t count, size_t size)
{
	count_allocation(count * size);
	return __real_mem_zalloc(count, size);
}

void *__wrap_mem_realloc(void *p, size_t count, size_t size)
{
	count_allocation(count * size);
	return __real_mem_realloc(p, count, size);
}

/* ---- handlers ---- */

struct log {
	uint64_t subject[16];
	size_t n;
};

static void note(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	struct log *l = ctx;
	(void)e;
	(void)arg;
	if (l->n < 16)
		l->subject[l->n++] = subject;
}

/* ---- the reference: all scheduled events, sorted at the end ---- */

struct planned {
	int64_t t_ns;
	unsigned priority;
	uint64_t sequence;
	struct eng_event handle;
	bool is_cancelled, has_happened;
};

struct plan {
	struct planned *v;
	size_t n, cap;
	uint64_t *happened; /* sequence numbers in the order in which the events happened */
	size_t happened_n, happened_cap;
	struct rng rng;
	int64_t (*draw)(struct rng *);
	unsigned priorities;
	size_t limit;        /* number of events to schedule */
	double cancel_share; /* share of steps that cancel events, and the number cancelled */
	int cancel_count;
	double peek_share;
	bool is_peek_wrong, is_now_wrong, is_cancel_wrong;
};

static int64_t exponential(struct rng *r)
{
	return (int64_t)rng_exponential(r, 1e9);
}

static int64_t bimodal(struct rng *r)
{
	return rng_uniform(r) < 0.9 ? (int64_t)rng_below(r, 1000000) : 10000000000 + (int64_t)rng_below(r, 10000000000);
}

static int64_t equal(struct rng *r)
{
	(void)r;
	return 1000000;
}

static int64_t small_whole(struct rng *r)
{
	return (int64_t)rng_below(r, 8);
}

static int64_t mostly_zero(struct rng *r)
{
	return rng_below(r, 100) ? 0 : 1;
}

/* Draws a delay from 1 ns to 36 years whose logarithm is uniform. */
static int64_t all_scales(struct rng *r)
{
	return (int64_t)(rng_u64(r) >> (4 + rng_below(r, 60)));
}

static int64_t far_cluster(struct rng *r)
{
	return rng_below(r, 50) ? (int64_t)rng_below(r, 300) : INT64_C(4000000000000000000);
}

static void happen(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

static void plan_one(struct plan *p, struct engine *e)
{
	MEM_GROW(p->v, p->n, p->cap);
	struct planned *x = &p->v[p->n];
	int64_t increment = p->draw(&p->rng);
	int64_t now = eng_now(e);
	*x = (struct planned){ .t_ns = now > INT64_MAX - increment ? INT64_MAX : now + increment,
		.priority = (unsigned)rng_below(&p->rng, p->priorities),
		.sequence = p->n };
	x->handle = eng_at(e, x->t_ns, x->priority, happen, p, x->sequence, ~x->sequence);
	p->n++;
}

/* Cancels one of the last thousand events, in any state. */
static void cancel_one(struct plan *p, struct engine *e)
{
	size_t back = rng_below(&p->rng, p->n < 1000 ? p->n : 1000);
	struct planned *x = &p->v[p->n - 1 - back];
	bool was_pending = !x->is_cancelled && !x->has_happened;
	if (eng_cancel(e, x->handle) != was_pending)
		p->is_cancel_wrong = true;
	if (was_pending)
		x->is_cancelled = true;
}

static void happen(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	struct plan *p = ctx;
	struct planned *x = &p->v[subject];
	if (eng_now(e) != x->t_ns || arg != ~subject || x->is_cancelled || x->has_happened)
		p->is_now_wrong = true;
	x->has_happened = true;
	MEM_GROW(p->happened, p->happened_n, p->happened_cap);
	p->happened[p->happened_n++] = subject;
	if (p->n < p->limit)
		plan_one(p, e);
	if (p->n < p->limit && rng_uniform(&p->rng) < p->cancel_share) {
		for (int i = 0; i < p->cancel_count; i++)
			cancel_one(p, e);
		plan_one(p, e);
	}
}

static int by_order(const void *va, const void *vb)
{
	const struct planned *a = va, *b = vb;
	if (a->t_ns != b->t_ns)
		return a->t_ns < b->t_ns ? -1 : 1;
	if (a->priority != b->priority)
		return a->priority < b->priority ? -1 : 1;
	return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

/* Checks that the order of events is that of the sort. The sort places an event correctly unless it is scheduled at the present
 * instant with a lower priority than an event that has happened. So runs with several priorities have increments above zero. */
static bool is_in_sorted_order(struct plan *p)
{
	qsort(p->v, p->n, sizeof *p->v, by_order);
	size_t k = 0;
	for (size_t i = 0; i < p->n; i++) {
		if (p->v[i].is_cancelled)
			continue;
		if (k >= p->happened_n || p->happened[k] != p->v[i].sequence)
			return false;
		k++;
	}
	return k == p->happened_n;
}

static void run_plan(struct plan *p, struct engine *e)
{
	int64_t next;
	do {
		if (rng_uniform(&p->rng) < p->peek_share && eng_next_time(e, &next)) {
			if (next < eng_now(e))
				p->is_peek_wrong = true;
			for (int i = 0; i < 3 && p->n < p->limit; i++)
				plan_one(p, e);
		}
	} while (eng_step(e));
}

static struct plan plan_new(int64_t (*draw)(struct rng *), unsigned priorities, size_t limit)
{
	struct plan p = { .draw = draw, .priorities = priorities, .limit = limit, .cancel_count = 1 };
	rng_init(&p.rng, 1, "plan", 0);
	return p;
}

static void plan_free(struct plan *p)
{
	mem_free(p->v);
	mem_free(p->happened);
}

struct mix {
	const char *name;
	int64_t (*draw)(struct rng *);
	unsigned priorities; /* number of priorities; 1 if increments may be zero: see is_in_sorted_order() */
};

static const struct mix mixes[] = {
	{ "exponential", exponential, 1 },
	{ "bimodal", bimodal, 1 },
	{ "all equal", equal, 1 },
	{ "all equal, 256 priorities", equal, 256 },
	{ "0 to 7 ns", small_whole, 1 },
	{ "mostly at once", mostly_zero, 1 },
	{ "all scales", all_scales, 1 },
	{ "a cluster and outliers", far_cluster, 1 },
};

static void order(size_t backlog, size_t limit, double cancel_share, double peek_share)
{
	for (size_t k = 0; k < sizeof mixes / sizeof *mixes; k++) {
		struct plan p = plan_new(mixes[k].draw, mixes[k].priorities, limit);
		p.cancel_share = cancel_share;
		p.peek_share = peek_share;
		struct engine *e = eng_new();
		while (p.n < backlog)
			plan_one(&p, e);
		run_plan(&p, e);
		ok(is_in_sorted_order(&p) && eng_pending(e) == 0 && eng_happened(e) == p.happened_n,
			"%s, %zu pending, %.0f%% cancelled, %.0f%% peeked: the order of a sort", mixes[k].name, backlog, 100 * cancel_share,
			100 * peek_share);
		ok(!p.is_now_wrong && !p.is_peek_wrong && !p.is_cancel_wrong, "time, peek and cancel return the right values");
		eng_free(e);
		plan_free(&p);
	}
}

/* Many ties and random priorities, all scheduled before the first step, so the sort
 * defines the order. */
static void order_of_a_batch(const char *name, int64_t (*draw)(struct rng *))
{
	struct plan p = plan_new(draw, 256, 200000);
	struct engine *e = eng_new();
	while (p.n < p.limit)
		plan_one(&p, e);
	run_plan(&p, e);
	ok(is_in_sorted_order(&p), "200000 events at once, %s, 256 priorities: the order of a sort", name);
	eng_free(e);
	plan_free(&p);
}

/* All events are earlier than one that was peeked at, with further peeks in between;
 * all are scheduled before the first step, so the sort defines the order. */
static void order_before_a_peek(const char *name, int64_t (*draw)(struct rng *))
{
	struct plan p = plan_new(draw, 4, 20000);
	struct engine *e = eng_new();
	struct rng r;
	int64_t next = 0;
	rng_init(&r, 1, "peeks", 0);
	eng_at(e, INT64_C(1) << 62, 0, note, &(struct log){ .n = 0 }, 0, 0);
	while (p.n < p.limit) {
		if (!rng_below(&r, 100))
			eng_next_time(e, &next);
		plan_one(&p, e);
	}
	for (size_t i = 0; i < p.limit; i++)
		eng_step(e);
	ok(is_in_sorted_order(&p), "20000 events before one that was peeked at, %s: the order of a sort", name);
	eng_free(e);
	plan_free(&p);
}

/* ---- a slow engine, correct by inspection ---- */

/* Returns the next pending event by definition; NULL: none. */
static const struct planned *next_by_search(const struct plan *p)
{
	const struct planned *best = NULL;
	for (size_t i = 0; i < p->n; i++)
		if (!p->v[i].has_happened && !p->v[i].is_cancelled && (!best || by_order(&p->v[i], best) < 0))
			best = &p->v[i];
	return best;
}

/* Events scheduled at the present instant with lower priorities precede pending ones. A search at each step covers this case; a sort
 * of the whole run does not. */
static void order_within_an_instant(int64_t (*draw)(struct rng *), const char *name, unsigned priorities, size_t backlog, int cancel_count)
{
	struct plan p = plan_new(draw, priorities, 3 * backlog);
	p.cancel_share = 0.2;
	p.cancel_count = cancel_count;
	struct engine *e = eng_new();
	bool is_right = true;
	while (p.n < backlog)
		plan_one(&p, e);
	for (;;) {
		const struct planned *want = next_by_search(&p);
		uint64_t sequence = want ? want->sequence : 0;
		int64_t t_ns = want ? want->t_ns : 0, peeked = 0;
		if (rng_uniform(&p.rng) < 0.5 && eng_next_time(e, &peeked) && peeked != t_ns)
			is_right = false;
		if (!eng_step(e)) {
			is_right = is_right && !want;
			break;
		}
		if (!want || p.happened[p.happened_n - 1] != sequence)
			is_right = false;
	}
	ok(is_right && !p.is_now_wrong && !p.is_cancel_wrong,
		"%s, %u priorities, %zu pending, scheduling into the present: each step is the next", name, priorities, backlog);
	eng_free(e);
	plan_free(&p);
}

/* ---- single properties ---- */

static void do_nothing(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e;
	(void)ctx;
	(void)subject;
	(void)arg;
}

static void peek_then_earlier(void)
{
	struct engine *e = eng_new();
	struct log l = { .n = 0 };
	int64_t t;
	ok(!eng_next_time(e, &t) && !eng_step(e), "an engine without events has no next time and no step");
	eng_at(e, 1000, 5, note, &l, 3, 0);
	ok(eng_next_time(e, &t) && t == 1000 && eng_now(e) == 0, "peeking does not move the clock");
	eng_at(e, 500, 5, note, &l, 1, 0);
	ok(eng_next_time(e, &t) && t == 500, "an earlier event after a peek is the next");
	eng_at(e, 1000, 4, note, &l, 2, 0);
	eng_at(e, 1000, 5, note, &l, 4, 0);
	run(e);
	ok(l.n == 4 && l.subject[0] == 1 && l.subject[1] == 2 && l.subject[2] == 3 && l.subject[3] == 4,
		"time, then priority, then sequence");
	eng_at(e, 10, 0, note, &l, 5, 0);
	ok(eng_next_time(e, &t) && t == 1000, "a time in the past becomes now");
	eng_free(e);
	eng_free(NULL);
}

/* The front leaves a lane for a lower priority and for an earlier time, and resumes at
 * the same entry. */
static void peek_into_an_instant(void)
{
	struct engine *e = eng_new();
	struct log l = { .n = 0 };
	int64_t t;
	for (uint64_t i = 0; i < 100; i++)
		eng_at(e, 1000, 7, do_nothing, NULL, i, 0);
	for (int i = 0; i < 15; i++)
		eng_step(e);
	eng_at(e, 1000, 3, note, &l, 1, 0);
	eng_next_time(e, &t);
	eng_at(e, 1000, 2, note, &l, 0, 0);
	eng_at(e, 1000, 7, note, &l, 2, 0);
	run(e);
	ok(l.n == 3 && l.subject[0] == 0 && l.subject[1] == 1 && l.subject[2] == 2 && eng_happened(e) == 103,
		"in an instant of many events a lower priority goes first");
	for (uint64_t i = 0; i < 100; i++)
		eng_at(e, 5000, 7, do_nothing, NULL, i, 0);
	eng_next_time(e, &t);
	l.n = 0;
	for (uint64_t i = 0; i < 10; i++)
		eng_at(e, 4000 - (int64_t)i, 7, note, &l, i, 0);
	eng_step(e);
	ok(eng_now(e) == 3991 && l.subject[0] == 9 && eng_next_time(e, &t) && t == 3992,
		"an earlier event precedes a peeked instant of many events");
	run(e);
	ok(eng_happened(e) == 213 && eng_now(e) == 5000, "the peeked instant of many events follows");
	eng_free(e);
}

/* Each instant of many events precedes the previous one and is peeked at: the worst order for a ladder. */
static void crowds_backwards(void)
{
	struct engine *e = eng_new();
	int64_t t = 0, last = -1;
	bool is_right = true;
	for (int64_t k = 1000; k > 0; k--) {
		for (int i = 0; i < 70; i++)
			eng_at(e, k, 1, do_nothing, NULL, 0, 0);
		is_right = is_right && eng_next_time(e, &t) && t == k;
	}
	for (; eng_step(e); last = eng_now(e))
		is_right = is_right && eng_now(e) >= last;
	ok(is_right && eng_happened(e) == 70000, "instants of many events scheduled backwards, each peeked at");
	eng_free(e);
}

static void the_end_of_time(void)
{
	struct engine *e = eng_new();
	struct log l = { .n = 0 };
	for (uint64_t i = 0; i < 4; i++)
		eng_at(e, INT64_MAX, 0, note, &l, i, 0);
	for (uint64_t i = 0; i < 200; i++)
		eng_at(e, INT64_MAX - (int64_t)i % 3, 1, do_nothing, NULL, 0, 0);
	eng_at(e, INT64_MIN, 0, note, &l, 4, 0);
	int64_t t;
	ok(eng_next_time(e, &t) && t == 0, "the earliest int64 is now");
	run(e);
	ok(eng_now(e) == INT64_MAX && l.n == 5 && l.subject[0] == 4 && l.subject[4] == 3, "the latest int64 is a valid time");
	eng_free(e);
}

static void cancellation(void)
{
	struct engine *e = eng_new();
	struct log l = { .n = 0 };
	ok(!eng_cancel(e, (struct eng_event){ 0, 0 }), "the null event cannot be cancelled");
	struct eng_event a = eng_at(e, 10, 0, note, &l, 1, 0);
	ok(!eng_cancel(e, (struct eng_event){ 0, 0 }) && !eng_cancel(e, (struct eng_event){ 12345, 1 }),
		"the null event cannot be cancelled while slot 0 is in use");
	ok(eng_cancel(e, a) && !eng_cancel(e, a) && eng_pending(e) == 0, "an event is cancelled once");
	ok(!eng_step(e) && l.n == 0 && eng_now(e) == 0, "a cancelled event does not happen nor move the clock");
	struct eng_event b = eng_at(e, 10, 0, note, &l, 2, 0);
	ok(b.slot == a.slot && b.generation != a.generation, "the slot is reused with a new generation");
	ok(!eng_cancel(e, a) && eng_pending(e) == 1, "the old handle is harmless");
	run(e);
	ok(l.n == 1 && l.subject[0] == 2 && !eng_cancel(e, b), "an event that has happened cannot be cancelled");
	eng_free(e);
}

static void cancel_itself(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	*(bool *)ctx = eng_cancel(e, (struct eng_event){ (uint32_t)subject, (uint32_t)arg });
}

static void cancelling_the_event_that_happens(void)
{
	struct engine *e = eng_new();
	bool did = true;
	eng_at(e, 1, 0, cancel_itself, &did, 0, 1);
	run(e);
	ok(!did && eng_pending(e) == 0, "an event that is happening is no longer pending");
	eng_free(e);
}

/* Tests one timeout per request, nearly all of them cancelled: 3e5 timeouts, of which 100 are pending. The bound is that 1024 dead
 * entries and a third of all records, at 64 + 17 bytes, fit in the first chunks. */
static void cancelled_events_do_not_pile_up(void)
{
	size_t before = allocated_bytes;
	struct engine *e = eng_new();
	for (int64_t i = 0; i < 300000; i++) {
		struct eng_event timeout = eng_at(e, i + INT64_C(1000000000000), 0, do_nothing, NULL, 0, 0);
		eng_at(e, i, 0, do_nothing, NULL, 0, 0);
		eng_step(e);
		eng_cancel(e, timeout);
	}
	ok(eng_pending(e) == 0 && allocated_bytes - before < 600000, "300000 cancelled events leave %zu bytes", allocated_bytes - before);
	eng_free(e);
}

/* A sweep mixes near and far events; events scheduled between them afterwards still
 * happen in order. */
static void scheduling_after_a_sweep(void)
{
	enum { FAR = 1600 };
	struct engine *e = eng_new();
	struct log l = { .n = 0 };
	struct eng_event far[FAR];
	int64_t t;
	for (uint64_t i = 0; i < 10; i++)
		eng_at(e, 100 + (int64_t)i, 0, note, &l, i, 0);
	for (int i = 0; i < FAR; i++)
		far[i] = eng_at(e, 1000000000 + i, 0, do_nothing, NULL, 0, 0);
	eng_next_time(e, &t);
	for (int i = 0; i < FAR; i++)
		eng_cancel(e, far[i]);
	eng_at(e, 5000, 0, note, &l, 10, 0);
	run(e);
	bool is_right = l.n == 11 && eng_now(e) == 5000;
	for (uint64_t i = 0; i < l.n; i++)
		is_right = is_right && l.subject[i] == i;
	ok(is_right, "events scheduled after a sweep are in order");
	eng_free(e);
}

/* ---- memory ---- */

static void hold(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	int64_t increment = exponential(ctx);
	eng_at(e, eng_now(e) + increment, 0, hold, ctx, subject, arg);
}

static void memory(size_t pending)
{
	size_t before = allocated_bytes;
	struct engine *e = eng_new();
	struct rng r;
	rng_init(&r, 1, "memory", 0);
	for (size_t i = 0; i < pending; i++)
		eng_at(e, exponential(&r), 0, hold, &r, i, 0);
	for (size_t i = 0; i < 3 * pending; i++)
		eng_step(e);
	double bytes = (double)(allocated_bytes - before) / (double)pending;
	ok(bytes <= 100, "%zu pending events take %.1f bytes each, at most 100", pending, bytes);
	size_t calls = allocations;
	for (size_t i = 0; i < 5 * pending; i++)
		eng_step(e);
	size_t more = allocations - calls;
	ok(more <= pending / 10000, "%zu holds at a steady backlog allocate %zu times", 5 * pending, more);
	eng_free(e);
}

int main(void)
{
	order(300, 30000, 0, 0);
	order(300, 30000, 0.5, 0.1);
	order(20000, 100000, 0.1, 0.01);
	order_of_a_batch("at one instant", equal);
	order_of_a_batch("over 8 instants", small_whole);
	order_of_a_batch("over all scales", all_scales);
	order_before_a_peek("exponential", exponential);
	order_before_a_peek("0 to 7 ns", small_whole);
	order_before_a_peek("all scales", all_scales);
	order_within_an_instant(mostly_zero, "mostly at once", 3, 1000, 1);
	order_within_an_instant(mostly_zero, "mostly at once", 256, 1000, 1);
	order_within_an_instant(small_whole, "0 to 7 ns", 256, 1000, 1);
	order_within_an_instant(mostly_zero, "mostly at once", 3, 4000, 20);
	order_within_an_instant(all_scales, "all scales", 256, 4000, 20);
	peek_then_earlier();
	peek_into_an_instant();
	crowds_backwards();
	the_end_of_time();
	cancellation();
	cancelling_the_event_that_happens();
	cancelled_events_do_not_pile_up();
	scheduling_after_a_sweep();
	memory(100000);
	memory(300000);
	return done();
}
