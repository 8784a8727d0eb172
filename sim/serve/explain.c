/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What happens to requests, as changes of the classes of their times; see explain.h. */
#include "serve/explain.h"
#include "serve/fleet.h"
#include "serve/lane.h"
#include "serve/stages.h"
#include "serve/runs.h"
#include "serve/times.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

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
	struct times *t = &x->of[slot]; /* the last use of the slot has left all times at 0 */
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

void explain_lacks_replica(struct orr_serve *w, const struct req *q)
{
	if (!w->explain)
		return;
	struct times *t = times_enter(w, q, PHASE_WAIT);
	times_leave_line(t);
	t->class = SPENT_NO_REPLICA;
}

void explain_waits(struct orr_serve *w, const struct req *q)
{
	if (!w->explain)
		return;
	if (q->replica == NONE && !has_replica(w, q->model)) {
		explain_lacks_replica(w, q);
		return;
	}
	struct times *t = times_enter(w, q, PHASE_WAIT);
	times_leave_line(t);
	if (q->replica == NONE) {
		consider_unrouted(w);
		times_join(w, t, &w->explain->unrouted, NONE);
		return;
	}
	const struct lane *l = w->replica[q->replica].lane;
	if (l && l->is_flying && !(l->flags & ORR_ITER_THROUGH)) {
		t->class = SPENT_BEHIND;
		times_join_later(w, q, q->replica);
	} else {
		times_join(w, t, &w->explain->on[q->replica].wait, q->replica);
	}
}

void explain_ended(struct orr_serve *w, const struct req *q, double at_s)
{
	if (w->explain)
		times_end_phase(w, q, times_of(w, q), serve_ns(at_s));
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
	const struct lane *l = w->replica[replica].lane;
	on->was_busy = l && l->stages ? l->stages->free == NONE : is_flying(w, replica);
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
	if (r->lane && r->lane->stages)
		return on->has_evicted ? SPENT_TAKEN : r->lane->is_flying ? SPENT_RUNNING : SPENT_UNNAMED;
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
	on->known[0] = on->known[1] = 0;
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
	on->known[0] = on->known[1] = 0;
}

void explain_admitted(struct orr_serve *w, const struct req *q)
{
	if (!w->explain)
		return;
	struct replica_times *on = &w->explain->on[q->replica];
	if (on->failed == req_handle(w, req_slot(w, q)))
		on->failed = 0;
	struct times *t = times_enter(w, q, PHASE_PROMPT);
	t->class = SPENT_UNLISTED;
	t->is_evicted = false;
}

void explain_decodes(struct orr_serve *w, const struct lane *l, const struct req *q)
{
	if (!w->explain)
		return;
	struct times *t = times_enter(w, q, PHASE_DECODE);
	if (l->is_flying) {
		t->class = SPENT_UNLISTED;
		times_join_later(w, q, l->replica);
	} else {
		times_join(w, t, &w->explain->on[l->replica].decodes, l->replica);
	}
}

void explain_paused(struct orr_serve *w, const struct req *q)
{
	if (w->explain)
		times_enter(w, q, PHASE_DECODE)->class = SPENT_PAUSED;
}

/* Counts the time of aborted runs as lost. */
static void lose_work(struct times *t, int64_t now)
{
	times_settle(t, now);
	times_count(t, SPENT_LOST_RUN, t->ns[SPENT_COMPUTE % SLOTS]);
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
	times_end_phase(w, q, t, now_ns(w));
	t->is_evicted = true;
}

void explain_moves(struct orr_serve *w, const struct req *q)
{
	if (w->explain)
		times_enter(w, q, PHASE_TRANSFER)->class = SPENT_TRANSFER;
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
		times_settle(&x->of[l->list[i]], start);
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
	times_count(t, SPENT_SWAP, copied);
	times_count(t, is_again ? SPENT_AGAIN : SPENT_PREFILL, own);
	times_count(t, SPENT_BESIDE, whole - copied - own);
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
		times_settle(t, now);
		times_join(w, t, is_waiting ? &on->wait : &on->decodes, l->replica);
	}
	on->n_later = 0;
}

void explain_rests(struct orr_serve *w, const struct lane *l)
{
	if (w->explain)
		line_set(&w->explain->on[l->replica].decodes, now_ns(w), SPENT_IDLE);
}

static void set_classes(struct orr_serve *w, const uint32_t *member, uint32_t n, enum spent prompt, enum spent decode)
{
	int64_t now = now_ns(w);
	for (uint32_t i = 0; w->explain && i < n; i++) {
		const struct req *q = &w->req[member[i]];
		struct times *t = times_of(w, q);
		bool is_again = prompt == SPENT_PREFILL && q->done < t->again;
		times_settle(t, now);
		t->class = q->done > q->prompt ? decode : is_again ? SPENT_AGAIN : prompt;
	}
}

void explain_micro_formed(struct orr_serve *w, uint32_t replica, const uint32_t *member, uint32_t n)
{
	if (w->explain)
		w->explain->on[replica].has_begun = true;
	set_classes(w, member, n, SPENT_OUTSIDE, SPENT_OUTSIDE);
}

void explain_micro_starts(struct orr_serve *w, const uint32_t *member, uint32_t n)
{
	set_classes(w, member, n, SPENT_PREFILL, SPENT_DECODE);
}

void explain_micro_ends(struct orr_serve *w, const uint32_t *member, uint32_t n)
{
	set_classes(w, member, n, SPENT_OUTSIDE, SPENT_OUTSIDE);
}

void explain_micro_idle(struct orr_serve *w, const uint32_t *member, uint32_t n)
{
	for (uint32_t i = 0; w->explain && i < n; i++)
		if (w->req[member[i]].done > w->req[member[i]].prompt)
			times_enter(w, &w->req[member[i]], PHASE_DECODE)->class = SPENT_OUTSIDE;
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

/* Returns the position of a run in the order in which the runs of a request determine its class: the first run decides. */
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
	struct times *t = times_enter(w, q, PHASE_RUNS);
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
	times_begin(x);
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
		on->memory = (struct part){ .kind = PART_MEMORY, .number = PART_ALONE };
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
