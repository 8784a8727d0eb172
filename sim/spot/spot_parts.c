/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spot/spot_parts.h"

#include "base/mem.h"
#include "results/parts.h"

/* The open part of an instance: of `kind` since `since`, and of kind `next` from `at` on. `next` may change within this instant. */
struct inst_part {
	int64_t since, at;
	enum part_kind kind, next;
};

/* A stretch: n periods of `pace` ns each, from `begin` on. */
struct stretch {
	int64_t begin, pace;
	uint64_t n;
	bool is_open; /* the steps of the stretch are provisional */
	double redundant;
	struct part what; /* kind and cause of the stretch, unless it is open */
};

struct spot_parts {
	struct partlog *job, *nodes;
	struct inst_part *inst; /* by slot */
	uint32_t cap_inst;
	/* The event of the last instant at which an event occurred. */
	int64_t event_at;
	uint64_t event_number;
	enum orr_inst_event event;
	/* Stretches that are not recorded yet, the first of which is open. */
	struct stretch *stretch;
	size_t first, n, cap;
	/* Useful time that is not recorded yet. */
	int64_t useful_from, useful_to, redundant_ns;
	/* The last pause. */
	int64_t pause_to;
	struct part pause_part;
	uint32_t least; /* instances of the smallest shape of the job */
};

void spot_parts_new(struct orr_spot *w)
{
	struct spot_parts *p = w->parts = mem_zalloc(1, sizeof *p);
	p->job = partlog_new("job", w->config->max_rows);
	p->nodes = partlog_new("node", w->config->max_rows);
	p->event_at = p->pause_to = -1;
	p->least = elastic_least(w->config->job);
}

void spot_parts_free(struct orr_spot *w)
{
	struct spot_parts *p = w->parts;
	if (!p)
		return;
	partlog_free(p->job);
	partlog_free(p->nodes);
	mem_free(p->inst);
	mem_free(p->stretch);
	mem_free(p);
	w->parts = NULL;
}

/* ---- instances ---- */

static enum part_kind part_of_role(enum role role)
{
	return role == ROLE_STARTING ? PART_STARTING : role == ROLE_IDLE ? PART_IDLE : PART_IN_USE;
}

void spot_parts_inst_begin(struct orr_spot *w, uint32_t slot)
{
	struct spot_parts *p = w->parts;
	if (!p)
		return;
	if (slot >= p->cap_inst) {
		p->cap_inst = 2 * slot + 64;
		p->inst = mem_realloc(p->inst, p->cap_inst, sizeof *p->inst);
	}
	p->inst[slot] = (struct inst_part){ w->now, w->now, PART_STARTING, PART_STARTING };
}

static void add_inst(struct orr_spot *w, uint32_t slot, int64_t end, const char *detail)
{
	const struct inst_part *x = &w->parts->inst[slot];
	struct part what = { .kind = x->kind, .number = PART_ALONE, .detail = detail };
	partlog_add(w->parts->nodes, w->slot[slot].number, x->since, end, &what);
}

static void settle_inst(struct orr_spot *w, uint32_t slot)
{
	struct inst_part *x = &w->parts->inst[slot];
	if (x->next == x->kind)
		return;
	add_inst(w, slot, x->at, NULL);
	x->kind = x->next;
	x->since = x->at;
}

void spot_parts_inst_role(struct orr_spot *w, uint32_t slot, enum role role)
{
	if (!w->parts)
		return;
	struct inst_part *x = &w->parts->inst[slot];
	if (x->at != w->now) {
		settle_inst(w, slot);
		x->at = w->now;
	}
	x->next = part_of_role(role);
}

static void end_inst(struct orr_spot *w, uint32_t slot, const char *detail)
{
	if (w->parts->inst[slot].at != w->now)
		settle_inst(w, slot);
	add_inst(w, slot, w->now, detail);
}

void spot_parts_inst_end(struct orr_spot *w, uint32_t slot)
{
	struct spot_parts *p = w->parts;
	const struct slot *s = &w->slot[slot];
	if (!p)
		return;
	bool is_preempted = p->event_at == w->now && p->event == ORR_INST_GONE && p->event_number == s->number;
	end_inst(w, slot, !is_preempted ? "released by the policy" : s->has_notice ? "preempted with notice" : "preempted without notice");
}

static int rank(enum orr_inst_event event)
{
	return event == ORR_INST_GONE ? 3 : event == ORR_INST_NOTICE ? 2 : 1;
}

void spot_parts_event(struct orr_spot *w, uint32_t slot, enum orr_inst_event event)
{
	struct spot_parts *p = w->parts;
	if (!p || (p->event_at == w->now && rank(p->event) > rank(event)))
		return;
	p->event_at = w->now;
	p->event_number = w->slot[slot].number;
	p->event = event;
}

/* ---- the job ---- */

/* Sets the cause to the event at this time, else to the policy. */
static struct part blame(const struct spot_parts *p, enum part_kind kind, int64_t at)
{
	static const char *const event[] = { [1] = "ready", [2] = "given notice", [3] = "preempted" };
	if (p->event_at != at)
		return (struct part){ .kind = kind, .cause = "a decision of the policy", .number = PART_ALONE };
	return (struct part){ .kind = kind, .cause = "instance", .number = p->event_number, .detail = event[rank(p->event)] };
}

static void flush_useful(struct spot_parts *p)
{
	int64_t middle = p->useful_to - p->redundant_ns;
	partlog_add(p->job, 0, p->useful_from, middle, &(struct part){ .kind = PART_USEFUL, .number = PART_ALONE });
	partlog_add(p->job, 0, middle, p->useful_to, &(struct part){ .kind = PART_REDUNDANT, .number = PART_ALONE });
	p->useful_from = p->useful_to = p->redundant_ns = 0;
}

static void add_useful(struct spot_parts *p, int64_t begin, int64_t length, double redundant)
{
	if (begin != p->useful_to)
		flush_useful(p);
	if (p->useful_from == p->useful_to)
		p->useful_from = begin;
	p->useful_to = begin + length;
	p->redundant_ns += (int64_t)((double)length * redundant);
}

static void add_other(struct spot_parts *p, int64_t begin, int64_t end, const struct part *what)
{
	flush_useful(p);
	partlog_add(p->job, 0, begin, end, what);
}

/* Records the stretches before the first open one. */
static void record_known(struct spot_parts *p)
{
	for (; p->first < p->n && !p->stretch[p->first].is_open; p->first++) {
		const struct stretch *s = &p->stretch[p->first];
		add_other(p, s->begin, s->begin + (int64_t)s->n * s->pace, &s->what);
	}
	if (p->first == p->n)
		p->first = p->n = 0;
}

static void keep(struct spot_parts *p, const struct stretch *s)
{
	if (p->n == p->cap && p->first > p->n / 2) {
		for (size_t i = p->first; i < p->n; i++)
			p->stretch[i - p->first] = p->stretch[i];
		p->n -= p->first;
		p->first = 0;
	}
	MEM_GROW(p->stretch, p->n, p->cap);
	p->stretch[p->n++] = *s;
}

static void add_part(struct spot_parts *p, int64_t begin, int64_t end, const struct part *what)
{
	if (end <= begin)
		return;
	if (p->first == p->n)
		add_other(p, begin, end, what);
	else
		keep(p, &(struct stretch){ .begin = begin, .pace = end - begin, .n = 1, .what = *what });
}

/* Without owners no account gets time: the job waits, regardless of the last call of orr_pause_as(). */
static struct part pause_now(const struct orr_spot *w, int64_t from)
{
	const struct spot_parts *p = w->parts;
	uint32_t ready = w->count[ROLE_IDLE] + w->count[ROLE_OWNER];
	enum orr_account account = w->count[ROLE_OWNER] ? w->pause : ORR_IDLE;
	if (account == ORR_CHECKPOINT)
		return (struct part){ .kind = PART_CHECKPOINT, .number = PART_ALONE };
	if (account == ORR_RESTART)
		return blame(p, PART_RESTART, from);
	if (account == ORR_RECONFIGURE)
		return blame(p, PART_RECONFIGURE, from);
	return (struct part){ .kind = PART_WAITING,
		.cause = ready < p->least ? "instances" : "the policy",
		.number = PART_ALONE,
		.detail = "% ready, % needed",
		.value = { ready, p->least } };
}

void spot_parts_pause(struct orr_spot *w, int64_t from, int64_t to)
{
	struct spot_parts *p = w->parts;
	if (!p)
		return;
	/* A pause keeps its cause, except that a preemption begins a new one. */
	struct part what = pause_now(w, from);
	bool goes_on = p->pause_to == from && p->pause_part.kind == what.kind && !(p->event_at == from && p->event != ORR_INST_READY);
	if (goes_on && (what.kind != PART_WAITING || what.cause == p->pause_part.cause))
		what = p->pause_part;
	p->pause_part = what;
	p->pause_to = to;
	add_part(p, from, to, &what);
}

void spot_parts_steps(struct orr_spot *w, uint64_t n, int64_t began, int64_t pace)
{
	struct spot_parts *p = w->parts;
	if (!p)
		return;
	if (!w->steps.is_provisional) {
		add_useful(p, began, (int64_t)n * pace, w->steps.redundant);
		return;
	}
	struct stretch *last = p->first < p->n ? &p->stretch[p->n - 1] : NULL;
	if (last && last->is_open && last->pace == pace && last->redundant == w->steps.redundant &&
		last->begin + (int64_t)last->n * pace == began)
		last->n += n;
	else
		keep(p, &(struct stretch){ .begin = began, .pace = pace, .n = n, .is_open = true, .redundant = w->steps.redundant });
}

void spot_parts_stop(struct orr_spot *w, bool at_end)
{
	struct spot_parts *p = w->parts;
	if (!p || !w->steps.is_in_flight)
		return;
	struct part what = blame(p, PART_WASTED, w->now);
	if (at_end)
		what = (struct part){ .kind = PART_WASTED, .cause = "the end of the run", .number = PART_ALONE };
	add_part(p, w->steps.began, w->now, &what);
}

void spot_parts_commit(struct orr_spot *w, uint64_t n)
{
	struct spot_parts *p = w->parts;
	if (!p)
		return;
	record_known(p);
	while (n && p->first < p->n) {
		struct stretch *s = &p->stretch[p->first];
		uint64_t k = n < s->n ? n : s->n;
		add_useful(p, s->begin, (int64_t)k * s->pace, s->redundant);
		s->begin += (int64_t)k * s->pace;
		s->n -= k;
		n -= k;
		if (s->n)
			return;
		p->first++;
		record_known(p);
	}
}

void spot_parts_lose(struct orr_spot *w, uint64_t n)
{
	struct spot_parts *p = w->parts;
	if (!p)
		return;
	struct part what = blame(p, PART_WASTED, w->now);
	for (size_t i = p->n; n && i-- > p->first;) {
		struct stretch *s = &p->stretch[i];
		if (!s->is_open)
			continue;
		if (s->n > n) { /* the stretch is divided */
			MEM_GROW(p->stretch, p->n, p->cap);
			for (size_t j = p->n++; j > i; j--)
				p->stretch[j] = p->stretch[j - 1];
			s = &p->stretch[i];
			s->n -= n;
			s++;
			s->begin += (int64_t)(s->n - n) * s->pace;
			s->n = n;
		}
		n -= s->n;
		s->is_open = false;
		s->what = what;
	}
	record_known(p);
}

void spot_parts_end(struct orr_spot *w)
{
	struct spot_parts *p = w->parts;
	if (!p)
		return;
	spot_parts_commit(w, UINT64_MAX);
	flush_useful(p);
	for (uint32_t i = live_first(w); i != NONE; i = live_next(w, i))
		end_inst(w, orr_inst_slot(w->order[i]), "the run ends");
	partlog_finish(p->job, w->result, w->now, NULL, NULL);
	partlog_finish(p->nodes, w->result, w->now, NULL, NULL);
	p->job = p->nodes = NULL;
}
