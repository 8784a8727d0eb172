/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/times.h"

#include "base/mem.h"

#include <math.h>

static const struct part parts[SPENT_CLASSES] = {
#define SAYS(spent, kind_, cause_) [SPENT_##spent] = { .kind = PART_##kind_, .cause = cause_, .number = PART_ALONE }
	SAYS(NO_REPLICA, REPLICA, NULL),
	SAYS(UNROUTED, UNNAMED, NULL),
	SAYS(BEHIND, QUEUED, "the running iteration"),
	SAYS(RUNNING, QUEUED, "the running iteration"),
	SAYS(MEMORY, MEMORY, NULL), /* replaced by the cause that orr_admit() reported last */
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
	SAYS(OUTSIDE, STALLED, "other micro-batches"),
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

/* ---- lines ---- */

void line_advance(struct line *l, int64_t t)
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

void line_set(struct line *l, int64_t t, enum spent class)
{
	line_advance(l, t);
	l->step[0] = l->step[1] = l->step[2] = class;
	l->until_ns[0] = l->until_ns[1] = l->until_ns[2] = INT64_MAX;
}

/* ---- classes and phases of a request ---- */

/* Counts the time of the class up to now. */
void times_settle(struct times *t, int64_t now)
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
				times_count(t, t->line->base + k, more);
		}
		return;
	}
	int64_t own = t->class == SPENT_COMPUTE && t->rate < 1 ? llrint((double)gone * t->rate) : gone;
	times_count(t, t->class, own);
	times_count(t, SPENT_SLOWED, gone - own);
}

/* The request no longer waits on the replica of its line. */
void times_leave_line(struct times *t)
{
	if (t->class == SPENT_LINE)
		t->line->n_waiting--;
	t->class = SPENT_UNNAMED;
}

void times_begin(struct explain *x)
{
	for (unsigned k = 0; k < SPENT_CLASSES; k++)
		x->part[k] = partlog_index(x->log, &parts[k]);
}

/* Adds a part of a class. */
static void add_part(struct explain *x, const struct req *q, const struct times *t, unsigned class, int64_t at, int64_t end)
{
	bool is_preempted = t->is_evicted && t->phase == PHASE_WAIT && class != SPENT_NO_REPLICA;
	bool is_limit = class >= SPENT_LIMIT && class < SPENT_LIMIT + LIMITS, is_memory = class == SPENT_MEMORY && t->replica != NONE;
	if (!is_preempted && !is_memory && !is_limit) {
		partlog_add_known(x->log, q->number, at, end, x->part[class]);
		return;
	}
	struct part part = is_memory ? x->on[t->replica].memory : parts[class];
	if (is_limit)
		part = (struct part){ .kind = PART_HELD, .cause = x->limit[class - SPENT_LIMIT], .number = PART_ALONE };
	if (is_preempted)
		part.kind = PART_PREEMPTED;
	if (is_memory)
		partlog_add_rare(x->log, q->number, at, end, &part, &x->on[t->replica].known[is_preempted]);
	else
		partlog_add(x->log, q->number, at, end, &part);
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
void times_end_phase(struct orr_serve *w, const struct req *q, struct times *t, int64_t now)
{
	struct explain *x = w->explain;
	if (t->phase == PHASE_OVER)
		return;
	times_settle(t, now);
	if (w->config->check)
		check_phase(w, q, t, now);
	int64_t at = t->from_ns;
	for (; t->used; t->used &= t->used - 1) {
		unsigned k = (unsigned)__builtin_ctzll(t->used);
		if (t->ns[k % SLOTS])
			add_part(x, q, t, k, at, at + t->ns[k % SLOTS]);
		at += t->ns[k % SLOTS];
		t->ns[k % SLOTS] = 0;
	}
	if (t->phase == PHASE_WAIT)
		times_leave_line(t);
	t->phase = PHASE_OVER;
	t->told_ns = now;
}

/* Starts a phase unless the request is in it, and counts the time up to now. */
struct times *times_enter(struct orr_serve *w, const struct req *q, enum phase phase)
{
	struct times *t = times_of(w, q);
	int64_t now = now_ns(w);
	if (t->phase == phase) {
		times_settle(t, now);
		return t;
	}
	times_end_phase(w, q, t, now);
	t->phase = phase;
	t->class = SPENT_UNNAMED;
	t->from_ns = t->since_ns = now;
	return t;
}

void times_join(struct orr_serve *w, struct times *t, struct line *l, uint32_t replica)
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
void times_join_later(struct orr_serve *w, const struct req *q, uint32_t replica)
{
	struct replica_times *on = &w->explain->on[replica];
	MEM_GROW(on->later, on->n_later, on->cap_later);
	on->later[on->n_later++] = req_handle(w, req_slot(w, q));
}
