/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of requests by cause: classes, lines and phases; see explain.h. */
#include "serve/explain.h"
#include "serve/fleet.h"
#include "serve/lane.h"
#include "serve/runs.h"

#include "base/mem.h"
#include "results/parts.h"

#include <math.h>
#include <string.h>

/* Classes of time, in the order of the parts of a phase. */
enum spent {
	/* waits */
	SPENT_NO_REPLICA,
	SPENT_UNROUTED,
	SPENT_BEHIND, /* the iteration that ran when the request came */
	/* the line of requests that wait on a replica */
	SPENT_RUNNING, /* nothing waited when the iteration started */
	SPENT_MEMORY,
	SPENT_TAKEN,
	SPENT_BUSY,
	SPENT_LOADING,
	SPENT_UNNAMED,
	SPENT_LIMIT, /* LIMITS classes, one per reason of the policy */
	LIMITS = 6,
	SPENT_TRANSFER = SPENT_LIMIT + LIMITS,
	/* the prompt */
	SPENT_UNLISTED,
	SPENT_AGAIN,
	SPENT_PREFILL,
	SPENT_BESIDE,
	/* the line of the decodes of a replica, and pauses */
	SPENT_SWAP,
	SPENT_DECODE,
	SPENT_STALLED,
	SPENT_IDLE,
	SPENT_PAUSED,
	/* runs of table models; RUN_QUEUED is SPENT_TURN */
	SPENT_INPUT,
	SPENT_TURN,
	SPENT_LOST_RUN,
	SPENT_COMPUTE,
	SPENT_SLOWED,
	SPENT_SUSPENDED,
	SPENT_ANSWER,
	SPENT_SILENT,
	SPENT_CLASSES,
	SPENT_LINE /* the class of a line */
};
static const struct part parts[SPENT_CLASSES] = {
#define SAYS(spent, kind_, cause_) [SPENT_##spent] = { .kind = PART_##kind_, .cause = cause_, .number = PART_ALONE }
	SAYS(NO_REPLICA, REPLICA, NULL),
	SAYS(UNROUTED, UNNAMED, NULL),
	SAYS(BEHIND, QUEUED, "the running iteration"),
	SAYS(RUNNING, QUEUED, "the running iteration"),
	SAYS(MEMORY, MEMORY, NULL), /* replaced by the last failure */
	SAYS(TAKEN, QUEUED, "decodes that took the free blocks"),
	SAYS(BUSY, QUEUED, "running batches"),
	SAYS(LOADING, LOADING, NULL),
	SAYS(UNNAMED, UNNAMED, NULL),
	SAYS(TRANSFER, TRANSFER, "the KV cache"),
	SAYS(UNLISTED, STALLED, "iterations without it"),
	[SPENT_AGAIN] = { .kind = PART_LOST, .number = PART_ALONE, .detail = "prompt and outputs that are processed again" },
	SAYS(PREFILL, PREFILL, NULL),
	SAYS(BESIDE, STALLED, "other requests of the same iterations"),
	SAYS(SWAP, SWAP, NULL),
	SAYS(DECODE, DECODE, NULL),
	SAYS(STALLED, STALLED, "prompts of others"),
	SAYS(IDLE, HELD, "policy, which ran no iteration"),
	SAYS(PAUSED, HELD, "policy, which paused it"),
	SAYS(INPUT, TRANSFER, "the input"),
	SAYS(TURN, QUEUED, "earlier runs of the replica"),
	[SPENT_LOST_RUN] = { .kind = PART_LOST, .number = PART_ALONE, .detail = "a run that was aborted" },
	SAYS(COMPUTE, COMPUTE, NULL),
	SAYS(SLOWED, STALLED, "runs on the same replica"),
	SAYS(SUSPENDED, PREEMPTED, "the runs that the policy prefers"),
	SAYS(ANSWER, TRANSFER, "the answer"),
	SAYS(SILENT, TRANSFER, "an answer that was lost"),
#undef SAYS
};

enum { SLOTS = 16 };
_Static_assert(
	(int)SPENT_TRANSFER <= SLOTS && (int)SPENT_INPUT - (int)SPENT_TRANSFER <= SLOTS, "the classes of a phase have places of their own");
_Static_assert((int)SPENT_CLASSES - (int)SPENT_INPUT <= SLOTS, "the same, of runs");
enum { LINE_CLASSES = SPENT_TRANSFER - SPENT_UNROUTED, LINE_STEPS = 3 };
_Static_assert(SPENT_PAUSED - SPENT_SWAP <= LINE_CLASSES, "a line holds the sums of all classes of decodes");
_Static_assert(SPENT_CLASSES <= 64, "a word has a bit for each class");

/* Times shared by the requests of a line. The class is step[0] until until_ns[0], then step[1], .. */
struct line {
	enum spent base;
	unsigned n_classes;
	uint64_t n_waiting; /* requests in phase PHASE_WAIT */
	int64_t since_ns, sum[LINE_CLASSES];
	enum spent step[LINE_STEPS];
	int64_t until_ns[LINE_STEPS];
};

enum phase { PHASE_OVER, PHASE_WAIT, PHASE_PROMPT, PHASE_DECODE, PHASE_TRANSFER, PHASE_RUNS };

struct times {
	enum phase phase;
	enum spent class;  /* SPENT_LINE: that of the line */
	struct line *line; /* NULL: none */
	uint32_t replica;  /* of the line */
	int64_t told_ns;   /* end of the last phase */
	int64_t from_ns;   /* start of the phase */
	int64_t since_ns;  /* the class is counted since then */
	int64_t at_joining[LINE_CLASSES];
	int64_t ns[SLOTS]; /* by class % SLOTS: the classes of a phase differ */
	uint64_t used;     /* bits of the classes with time; all others have ns 0 */
	double rate;       /* SPENT_COMPUTE: progress of its run per second */
	uint32_t again;    /* tokens to process again */
	bool is_evicted;   /* the wait follows an eviction */
};

struct replica_times {
	struct line wait, decodes;
	struct part memory; /* of the last orr_admit() that failed */
	orr_req holder, failed;
	bool has_evicted;         /* orr_evict() since explain_asked() */
	enum spent limit;         /* reason stated by the policy since explain_asked(); SPENT_UNNAMED: none */
	bool was_busy, has_begun; /* an iteration ran at explain_asked(); has begun since the last explain_answered() */
	orr_req *later;           /* requests that join a line when the iteration in flight is over */
	uint32_t n_later, cap_later;
};

struct explain {
	struct partlog *log;
	struct times *of; /* by request slot */
	uint32_t cap_of;
	struct replica_times *on;  /* by replica */
	struct line unrouted;      /* requests that the policy has not routed */
	const char *limit[LIMITS]; /* reasons of the policy */
};

enum { ROWS_PER_REQUEST = 8 }; /* rows of parts that are kept, per row of requests */

static inline int64_t now_ns(const struct orr_serve *w)
{
	return eng_now(w->host.engine);
}

/* ---- lines ---- */

static void line_advance(struct line *l, int64_t t)
{
	while (l->since_ns < t) {
		int64_t end = l->until_ns[0] < t ? l->until_ns[0] : t;
		if (end > l->since_ns) {
			l->sum[l->step[0] - l->base] += end - l->since_ns;
			l->since_ns = end;
		}
		if (l->until_ns[0] > t)
			return;
		for (int i = 1; i < LINE_STEPS; i++) {
			l->step[i - 1] = l->step[i];
			l->until_ns[i - 1] = l->until_ns[i];
		}
		l->until_ns[LINE_STEPS - 1] = INT64_MAX;
	}
}

static void line_set(struct line *l, int64_t t, enum spent class)
{
	line_advance(l, t);
	l->step[0] = l->step[1] = l->step[2] = class;
	l->until_ns[0] = l->until_ns[1] = l->until_ns[2] = INT64_MAX;
}

/* ---- classes and phases of a request ---- */

static struct times *times_of(const struct orr_serve *w, const struct req *q)
{
	return &w->explain->of[req_slot(w, q)];
}

static inline int64_t at_most(int64_t ns, int64_t limit)
{
	return ns < limit ? ns : limit;
}

static inline void count(struct times *t, unsigned class, int64_t ns)
{
	t->ns[class % SLOTS] += ns;
	t->used |= 1ull << class;
}

/* Counts the time of the class up to now. */
static void settle(struct times *t, int64_t now)
{
	int64_t gone = now - t->since_ns;
	if (!gone)
		return;
	t->since_ns = now;
	if (t->class == SPENT_LINE) {
		line_advance(t->line, now);
		for (unsigned k = 0; k < t->line->n_classes; k++) {
			int64_t more = t->line->sum[k] - t->at_joining[k];
			t->at_joining[k] = t->line->sum[k];
			if (more)
				count(t, t->line->base + k, more);
		}
		return;
	}
	int64_t own = t->class == SPENT_COMPUTE && t->rate < 1 ? llrint((double)gone * t->rate) : gone;
	count(t, t->class, own);
	count(t, SPENT_SLOWED, gone - own);
}

/* The request no longer waits on the replica of its line. */
static void leave_line(struct times *t)
{
	if (t->class == SPENT_LINE)
		t->line->n_waiting--;
	t->class = SPENT_UNNAMED;
}

static struct part part_of(const struct explain *x, const struct times *t, unsigned class)
{
	struct part part = class == SPENT_MEMORY && t->replica != NONE ? x->on[t->replica].memory : parts[class];
	if (class >= SPENT_LIMIT && class < SPENT_LIMIT + LIMITS)
		part = (struct part){ .kind = PART_HELD, .cause = x->limit[class - SPENT_LIMIT], .number = PART_ALONE };
	if (t->is_evicted && t->phase == PHASE_WAIT && class != SPENT_NO_REPLICA)
		part.kind = PART_PREEMPTED;
	return part;
}

/* --check: the classes divide the phase, which starts where the last one ended. */
static void check_phase(struct orr_serve *w, const struct req *q, const struct times *t, int64_t now)
{
	int64_t sum = 0;
	bool is_good = t->from_ns == t->told_ns;
	for (unsigned k = 0; k < SLOTS; k++) {
		sum += t->ns[k % SLOTS];
		is_good &= t->ns[k % SLOTS] >= 0;
	}
	if (!is_good || sum != now - t->from_ns)
		serve_fail(w, ORR_EFAIL, q, "conservation: its times by cause sum to %lld ns: expected %lld ns, from %lld ns on",
			(long long)sum, (long long)(now - t->from_ns), (long long)t->told_ns);
}

/* Ends the phase: adds its parts. */
static void end_phase(struct orr_serve *w, const struct req *q, struct times *t, int64_t now)
{
	struct explain *x = w->explain;
	if (t->phase == PHASE_OVER)
		return;
	settle(t, now);
	if (w->config->check)
		check_phase(w, q, t, now);
	int64_t at = t->from_ns;
	for (; t->used; t->used &= t->used - 1) {
		unsigned k = (unsigned)__builtin_ctzll(t->used);
		struct part part = part_of(x, t, k);
		partlog_add(x->log, q->number, at, at + t->ns[k % SLOTS], &part);
		at += t->ns[k % SLOTS];
		t->ns[k % SLOTS] = 0;
	}
	if (t->phase == PHASE_WAIT)
		leave_line(t);
	t->phase = PHASE_OVER;
	t->told_ns = now;
}

/* Starts a phase unless the request is in it, and counts the time up to now. */
static struct times *enter(struct orr_serve *w, const struct req *q, enum phase phase)
{
	struct times *t = times_of(w, q);
	int64_t now = now_ns(w);
	if (t->phase == phase) {
		settle(t, now);
		return t;
	}
	end_phase(w, q, t, now);
	t->phase = phase;
	t->class = SPENT_UNNAMED;
	t->from_ns = t->since_ns = now;
	return t;
}

static void join(struct orr_serve *w, struct times *t, struct line *l, uint32_t replica)
{
	line_advance(l, now_ns(w));
	for (unsigned k = 0; k < l->n_classes; k++)
		t->at_joining[k] = l->sum[k];
	t->class = SPENT_LINE;
	t->line = l;
	t->replica = replica;
	l->n_waiting += t->phase == PHASE_WAIT;
}

/* Lets the request join a line when the iteration in flight is over. */
static void join_later(struct orr_serve *w, const struct req *q, uint32_t replica)
{
	struct replica_times *on = &w->explain->on[replica];
	MEM_GROW(on->later, on->n_later, on->cap_later);
	on->later[on->n_later++] = req_handle(w, req_slot(w, q));
}

/* ---- waits ---- */

void explain_arrived(struct orr_serve *w, const struct req *q)
{
	struct explain *x = w->explain;
	uint32_t slot = req_slot(w, q);
	if (!x)
		return;
	if (slot >= x->cap_of) {
		uint32_t cap = slot < 32 ? 64 : slot * 2;
		x->of = mem_realloc(x->of, cap, sizeof *x->of);
		memset(x->of + x->cap_of, 0, (cap - x->cap_of) * sizeof *x->of);
		x->cap_of = cap;
	}
	struct times *t = &x->of[slot]; /* its last use has left all times at 0 */
	t->phase = PHASE_WAIT;
	t->class = SPENT_UNROUTED;
	t->replica = NONE;
	t->told_ns = t->from_ns = t->since_ns = serve_ns(q->arrival_s);
	t->again = 0;
	t->is_evicted = false;
}

/* Returns whether some model is being loaded on the replica. */
static bool is_loading(const struct orr_serve *w, const struct replica *r)
{
	for (uint32_t m = 0; r->loaded_s && m < w->config->n_models; m++)
		if (r->loaded_s[m] > w->now_s)
			return true;
	return false;
}

/* Sets the class of requests without a replica: no replica is idle, or one is. */
static void consider_unrouted(struct orr_serve *w)
{
	uint32_t idle = bitset_next(w->idle, 0);
	enum spent class = idle >= w->n_replicas ? SPENT_BUSY : is_loading(w, &w->replica[idle]) ? SPENT_LOADING : SPENT_UNROUTED;
	line_set(&w->explain->unrouted, now_ns(w), class);
}

static bool has_replica(const struct orr_serve *w, uint32_t model)
{
	return w->fleet->group[model].n || w->fleet->group[w->config->n_models].n;
}

void explain_waits(struct orr_serve *w, const struct req *q)
{
	if (!w->explain)
		return;
	struct times *t = enter(w, q, PHASE_WAIT);
	leave_line(t);
	if (q->replica == NONE && has_replica(w, q->model)) {
		consider_unrouted(w);
		join(w, t, &w->explain->unrouted, NONE);
		return;
	}
	if (q->replica == NONE) {
		t->class = SPENT_NO_REPLICA;
		return;
	}
	const struct lane *l = w->replica[q->replica].lane;
	if (l && l->is_flying && !(l->flags & ORR_ITER_THROUGH)) {
		t->class = SPENT_BEHIND;
		join_later(w, q, q->replica);
	} else {
		join(w, t, &w->explain->on[q->replica].wait, q->replica);
	}
}

void explain_ended(struct orr_serve *w, const struct req *q, double at_s)
{
	if (w->explain)
		end_phase(w, q, times_of(w, q), serve_ns(at_s));
}

static bool is_flying(const struct orr_serve *w, uint32_t replica)
{
	const struct lane *l = w->replica[replica].lane;
	return l && l->is_flying;
}

void explain_asked(struct orr_serve *w, uint32_t replica)
{
	if (!w->explain)
		return;
	struct replica_times *on = &w->explain->on[replica];
	on->was_busy = is_flying(w, replica);
	if (on->was_busy)
		return;
	on->failed = 0;
	on->has_evicted = false;
	on->limit = SPENT_UNNAMED;
}

/* Returns why requests wait on a replica after schedule(). */
static enum spent reason(const struct orr_serve *w, uint32_t replica)
{
	const struct replica_times *on = &w->explain->on[replica];
	const struct replica *r = &w->replica[replica];
	if (on->failed)
		return SPENT_MEMORY;
	if (on->limit != SPENT_UNNAMED)
		return on->limit;
	if (r->lane)
		return on->has_evicted ? SPENT_TAKEN : on->wait.n_waiting || !r->lane->is_flying ? SPENT_UNNAMED : SPENT_RUNNING;
	if (r->n_runs || r->n_reserved || r->waiting.n)
		return SPENT_BUSY;
	return is_loading(w, r) ? SPENT_LOADING : SPENT_UNNAMED;
}

void explain_answered(struct orr_serve *w, uint32_t replica)
{
	if (!w->explain)
		return;
	struct replica_times *on = &w->explain->on[replica];
	if (!on->was_busy || on->has_begun || on->failed)
		line_set(&on->wait, now_ns(w), reason(w, replica));
	on->has_begun = false;
	if (w->explain->unrouted.n_waiting)
		consider_unrouted(w);
}

void explain_limit(struct orr_serve *w, uint32_t replica, const char *why)
{
	struct explain *x = w->explain;
	unsigned k = 0;
	while (k < LIMITS - 1 && x->limit[k] && strcmp(x->limit[k], why) != 0)
		k++;
	if (!x->limit[k])
		x->limit[k] = result_text(w->result, k < LIMITS - 1 ? why : "other reasons of the policy");
	x->on[replica].limit = SPENT_LIMIT + k;
}

/* ---- language models ---- */

bool explain_lacks_blocks(struct orr_serve *w, const struct lane *l, const struct req *q, uint32_t blocks)
{
	struct replica_times *on = &w->explain->on[l->replica];
	const struct req *holder = req_of(w, on->holder);
	on->failed = req_handle(w, req_slot(w, q));
	on->memory.value[0] = blocks;
	on->memory.value[1] = l->avail;
	return !holder || holder->state != ORR_REQ_RESIDENT || holder->replica != l->replica;
}

void explain_holder(struct orr_serve *w, const struct lane *l, const struct req *q, uint64_t held)
{
	struct replica_times *on = &w->explain->on[l->replica];
	on->holder = q ? req_handle(w, req_slot(w, q)) : 0;
	on->memory.kind = PART_MEMORY;
	on->memory.cause = q ? "request" : "KV caches that are transferred";
	on->memory.number = q ? q->number : PART_ALONE;
	on->memory.detail = q ? "% blocks asked, % free; it held %" : "% blocks asked, % free";
	on->memory.value[2] = (uint32_t)held;
}

void explain_admitted(struct orr_serve *w, const struct req *q)
{
	if (!w->explain)
		return;
	struct replica_times *on = &w->explain->on[q->replica];
	if (on->failed == req_handle(w, req_slot(w, q)))
		on->failed = 0;
	struct times *t = enter(w, q, PHASE_PROMPT);
	t->class = SPENT_UNLISTED;
	t->is_evicted = false;
}

void explain_decodes(struct orr_serve *w, const struct lane *l, const struct req *q)
{
	if (!w->explain)
		return;
	struct times *t = enter(w, q, PHASE_DECODE);
	if (l->is_flying) {
		t->class = SPENT_UNLISTED;
		join_later(w, q, l->replica);
	} else {
		join(w, t, &w->explain->on[l->replica].decodes, l->replica);
	}
}

void explain_paused(struct orr_serve *w, const struct req *q)
{
	if (w->explain)
		enter(w, q, PHASE_DECODE)->class = SPENT_PAUSED;
}

/* Counts the time of aborted runs as lost. */
static void lose_work(struct times *t, int64_t now)
{
	settle(t, now);
	count(t, SPENT_LOST_RUN, t->ns[SPENT_COMPUTE % SLOTS]);
	t->ns[SPENT_COMPUTE % SLOTS] = 0;
}

void explain_evicted(struct orr_serve *w, const struct req *q, uint32_t tokens)
{
	if (!w->explain)
		return;
	struct times *t = times_of(w, q);
	t->again = tokens > t->again ? tokens : t->again;
	if (t->phase == PHASE_RUNS)
		lose_work(t, now_ns(w));
	else if (q->replica != NONE)
		w->explain->on[q->replica].has_evicted = true;
	end_phase(w, q, t, now_ns(w));
	t->is_evicted = true;
}

void explain_moves(struct orr_serve *w, const struct req *q)
{
	if (w->explain)
		enter(w, q, PHASE_TRANSFER)->class = SPENT_TRANSFER;
}

static double decodes_s(const struct lane *l)
{
	struct llm_load x = { .decodes = l->flying, .decode_context = (double)l->context };
	return served_iteration(l->on, &x);
}

void explain_iteration(struct orr_serve *w, const struct lane *l)
{
	struct explain *x = w->explain;
	if (!x)
		return;
	struct line *d = &x->on[l->replica].decodes;
	x->on[l->replica].has_begun = true;
	int64_t start = serve_ns(l->start_s);
	double from_s = l->start_s + l->copying_s;
	for (uint32_t i = 0; i < l->n_list; i++) {
		settle(&x->of[l->list[i]], start);
		x->of[l->list[i]].class = SPENT_PREFILL;
	}
	if (!l->ends.n)
		return;
	line_set(d, start, l->flying ? SPENT_DECODE : SPENT_STALLED);
	if (l->flying && l->n_list) {
		d->step[2] = SPENT_STALLED;
		d->until_ns[1] = serve_ns(from_s + decodes_s(l));
	}
	d->until_ns[0] = serve_ns(from_s);
	if (l->copying_s > 0)
		d->step[0] = SPENT_SWAP;
}

/* Divides the time of an iteration for one of its prompts. */
static void divide_prompt(struct orr_serve *w, const struct lane *l, const struct req *q, int64_t now)
{
	struct times *t = times_of(w, q);
	bool is_again = q->done < t->again;
	int64_t whole = now - t->since_ns, copied = 0;
	if (l->copying_s > 0)
		copied = at_most(serve_ns(l->start_s + l->copying_s) - t->since_ns, whole);
	int64_t own = whole - copied;
	if (l->n_list > 1 || l->flying) {
		struct llm_load alone = { .prompts = 1,
			.prompt_tokens = q->next_tokens,
			.prompt_pairs = (double)q->next_tokens * ((double)q->done + q->next_tokens) };
		own = at_most(serve_ns(served_iteration(l->on, &alone)), own);
	}
	count(t, SPENT_SWAP, copied);
	count(t, is_again ? SPENT_AGAIN : SPENT_PREFILL, own);
	count(t, SPENT_BESIDE, whole - copied - own);
	t->since_ns = now;
	t->class = SPENT_UNLISTED;
}

void explain_landed(struct orr_serve *w, const struct lane *l)
{
	if (!w->explain)
		return;
	struct replica_times *on = &w->explain->on[l->replica];
	int64_t now = now_ns(w);
	for (uint32_t i = 0; i < l->n_list; i++)
		divide_prompt(w, l, &w->req[l->list[i]], now);
	for (uint32_t i = 0; i < on->n_later; i++) {
		const struct req *q = req_of(w, on->later[i]);
		struct times *t = q ? times_of(w, q) : NULL;
		if (!t || q->replica != l->replica || (t->class != SPENT_BEHIND && t->class != SPENT_UNLISTED))
			continue;
		bool is_waiting = q->state == ORR_REQ_WAITING;
		if (!is_waiting && q->heap_at == NONE)
			continue;
		settle(t, now);
		join(w, t, is_waiting ? &on->wait : &on->decodes, l->replica);
	}
	on->n_later = 0;
}

void explain_rests(struct orr_serve *w, const struct lane *l)
{
	if (w->explain)
		line_set(&w->explain->on[l->replica].decodes, now_ns(w), SPENT_IDLE);
}

/* ---- table models ---- */

static enum spent class_of(const struct run *x)
{
	switch (x->state) {
	case RUN_SENDING:
		return SPENT_INPUT;
	case RUN_QUEUED:
		return SPENT_TURN;
	case RUN_SUSPENDED:
		return SPENT_SUSPENDED;
	case RUN_ANSWERING:
		return SPENT_ANSWER;
	default:
		return SPENT_COMPUTE;
	}
}

/* Returns the order in which the runs of a request give its class: that of the first. */
static int rank(const struct run *x)
{
	static const int of[] = { [RUN_RUNNING] = 0,
		[RUN_LATER] = 1,
		[RUN_ANSWERING] = 2,
		[RUN_SENDING] = 3,
		[RUN_QUEUED] = 4,
		[RUN_SUSPENDED] = 5,
		[RUN_FREE] = 6,
		[RUN_OVER] = 6 };
	return of[x->state];
}

static uint32_t next_run(const struct run *x, orr_req r)
{
	uint32_t i = 0;
	while (x->handle[i] != r)
		i++;
	return x->next_in[i];
}

static void set_run(struct orr_serve *w, const struct req *q, const struct run *x)
{
	struct times *t = enter(w, q, PHASE_RUNS);
	t->class = x ? class_of(x) : SPENT_SILENT;
	t->rate = x && x->state == RUN_RUNNING ? x->rate : 1;
	t->is_evicted = false;
}

void explain_runs_of(struct orr_serve *w, const struct req *q)
{
	if (!w->explain || q->state != ORR_REQ_RUNNING)
		return;
	const struct run *best = NULL;
	orr_req r = req_handle(w, req_slot(w, q));
	for (uint32_t i = q->first_in; i != NONE; i = next_run(&w->run[i], r))
		if (!best || rank(&w->run[i]) < rank(best) || (rank(&w->run[i]) == rank(best) && w->run[i].rate > best->rate))
			best = &w->run[i];
	set_run(w, q, best);
}

void explain_run(struct orr_serve *w, const struct run *x)
{
	for (uint32_t i = 0; w->explain && i < x->n; i++) {
		const struct req *q = req_of(w, x->handle[i]);
		if (q->runs == 1)
			set_run(w, q, x);
		else
			explain_runs_of(w, q);
	}
}

void explain_lost(struct orr_serve *w, const struct run *x)
{
	for (uint32_t i = 0; w->explain && i < x->n; i++) {
		const struct req *q = req_of(w, x->handle[i]);
		struct times *t = times_of(w, q);
		if (q->runs > 1 || t->phase != PHASE_RUNS)
			continue;
		lose_work(t, now_ns(w));
		t->is_evicted = true;
	}
}

/* ---- life ---- */

void explain_begin(struct orr_serve *w)
{
	if (!w->config->explain)
		return;
	struct explain *x = w->explain = mem_zalloc(1, sizeof *x);
	x->log = partlog_new("request", (size_t)w->config->max_rows * ROWS_PER_REQUEST);
	x->on = mem_zalloc((size_t)w->n_replicas + 1, sizeof *x->on);
	x->unrouted.base = SPENT_UNROUTED;
	x->unrouted.n_classes = SPENT_TRANSFER - SPENT_UNROUTED;
	x->unrouted.since_ns = now_ns(w);
	line_set(&x->unrouted, now_ns(w), SPENT_UNROUTED);
	for (uint32_t i = 0; i < w->n_replicas; i++) {
		struct replica_times *on = &x->on[i];
		on->wait.base = SPENT_RUNNING;
		on->wait.n_classes = SPENT_TRANSFER - SPENT_RUNNING;
		on->decodes.base = SPENT_SWAP;
		on->decodes.n_classes = SPENT_PAUSED - SPENT_SWAP;
		on->wait.since_ns = on->decodes.since_ns = now_ns(w);
		line_set(&on->wait, now_ns(w), SPENT_UNNAMED);
		line_set(&on->decodes, now_ns(w), SPENT_IDLE);
		on->limit = SPENT_UNNAMED;
		on->memory = parts[SPENT_MEMORY];
	}
}

void explain_end(struct orr_serve *w)
{
	struct explain *x = w->explain;
	if (!x)
		return;
	partlog_finish(x->log, w->result, now_ns(w), NULL, NULL);
	x->log = NULL;
}

void explain_free(struct orr_serve *w)
{
	struct explain *x = w->explain;
	if (!x)
		return;
	partlog_free(x->log);
	for (uint32_t i = 0; i < w->n_replicas; i++)
		mem_free(x->on[i].later);
	mem_free(x->on);
	mem_free(x->of);
	mem_free(x);
	w->explain = NULL;
}
