/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Telling and asking the policy within one instant: what happened to replicas, run_end() for each batch that ended,
 * finish() for each request that did, arrive() for each that came; then schedule() for one replica at which something
 * changed, and from the start again until nothing is left to tell or to ask.
 */
#include "serve/options.h"
#include "serve/world.h"

#include "base/mem.h"
#include "base/num.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* The policy may act inside. */
#define CALL(w, number, what, ...)                                                 \
	do {                                                                       \
		watch_enter((w)->watch, #what, eng_now((w)->host.engine), number); \
		(w)->is_acting = true;                                             \
		(w)->ops->what(__VA_ARGS__);                                       \
		(w)->is_acting = false;                                            \
		watch_leave((w)->watch);                                           \
	} while (0)

int64_t serve_ns(double s)
{
	if (!(s > 0))
		return 0;
	return s < 9.2e9 ? llrint(s * 1e9) : INT64_MAX;
}

void serve_fail(struct orr_serve *w, int code, const struct req *q, const char *fmt, ...)
{
	if (w->error.code)
		return;
	char text[512], name[96] = "";
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (q && q->id)
		snprintf(name, sizeof name, "request %.80s ", strtab_text(reqset_strings(w->config->requests), q->id));
	else if (q)
		snprintf(name, sizeof name, "request %llu ", (unsigned long long)q->number);
	orr_fail(&w->error, code, "policy %.100s: %sat %.9f s: %s", w->label, name, w->now_s, text);
	w->is_over = true;
}

bool serve_may_act(struct orr_serve *w, const char *what)
{
	if (w->error.code)
		return false;
	if (!w->is_acting)
		serve_fail(w, ORR_EFAIL, NULL, "%s outside arrive(), run_end(), replica() and schedule()", what);
	return w->is_acting;
}

void replica_dirty(struct orr_serve *w, uint32_t replica)
{
	struct replica *x = &w->replica[replica];
	if (x->is_dirty)
		return;
	x->is_dirty = true;
	MEM_GROW(w->dirty, w->n_dirty, w->cap_dirty);
	w->dirty[w->n_dirty++] = replica;
}

/* ---- telling ---- */

static void tell_runs(struct orr_serve *w)
{
	while (w->over_told < w->n_over && !w->is_over) {
		uint32_t slot = w->over[w->over_told++];
		const struct req *first = w->run[slot].n ? req_of(w, w->run[slot].handle[0]) : NULL;
		if (w->ops->run_end)
			CALL(w, first ? first->number : UINT64_MAX, run_end, w->self, w, run_handle(w, slot));
	}
}

/* No time to act: others may have ended too and not been told of. */
static void tell_finish(struct orr_serve *w, const struct req *q)
{
	watch_enter(w->watch, "finish", eng_now(w->host.engine), q->number);
	w->ops->finish(w->self, w, req_handle(w, req_slot(w, q)), (enum orr_req_end)q->how);
	watch_leave(w->watch);
}

static void tell_ended(struct orr_serve *w)
{
	for (;;) {
		uint32_t slot = w->ended_told == NONE ? w->first_ended : w->req[w->ended_told].next_ended;
		if (slot == NONE || w->is_over)
			return;
		w->ended_told = slot;
		const struct req *q = &w->req[slot];
		if (q->is_known && w->ops->finish)
			tell_finish(w, q);
	}
}

static void tell_arrivals(struct orr_serve *w)
{
	while (w->arrived_told < w->n_arrived && !w->is_over) {
		uint32_t slot = w->arrived[w->arrived_told++];
		struct req *q = &w->req[slot];
		if (q->state == ORR_REQ_ENDED || !q->is_arriving)
			continue;
		q->is_arriving = false;
		q->is_known = true;
		if (q->replica != NONE) {
			lane_arrival(w, q->replica);
			replica_dirty(w, q->replica);
		}
		CALL(w, q->number, arrive, w->self, w, req_handle(w, slot));
	}
}

static inline bool has_to_tell(const struct orr_serve *w)
{
	return w->over_told < w->n_over || w->arrived_told < w->n_arrived || w->first_ended != NONE;
}

static void tell(struct orr_serve *w)
{
	replicas_tell(w);
	while (has_to_tell(w) && !w->is_over) {
		tell_runs(w);
		tell_ended(w);
		tell_arrivals(w);
		bool is_told = w->over_told == w->n_over && w->arrived_told == w->n_arrived && w->ended_told == w->last_ended;
		if (!is_told)
			continue;
		batches_release_over(w);
		req_release_ended(w);
		w->n_arrived = w->arrived_told = 0;
	}
}

/* ---- asking ---- */

static void schedule(struct orr_serve *w, uint32_t replica)
{
	int64_t now = eng_now(w->host.engine);
	w->calls_now = w->last_instant == now ? w->calls_now + 1 : 1;
	w->last_instant = now;
	if (w->calls_now > w->max_calls) {
		int64_t most = (int64_t)w->n_replicas * w->set->max_calls;
		if (w->calls_now > most) {
			serve_fail(w, ORR_EFAIL, req_of(w, w->last_acted),
				"schedule() was called %lld times at this instant without an end to it (serve.max_calls_per_instant)",
				(long long)most);
			return;
		}
	}
	w->replica[replica].is_dirty = false;
	if (w->replica[replica].state == REPLICA_OFF || w->replica[replica].state == REPLICA_STARTING)
		return;
	CALL(w, UINT64_MAX, schedule, w->self, w, replica);
}

/* What happened in this instant has happened within half a nanosecond of the clock, or is somebody else's. */
void dispatch_catch_up(struct orr_serve *w)
{
	int64_t now = eng_now(w->host.engine);
	if (serve_ns(w->now_s) < now)
		w->now_s = (double)now / 1e9;
}

void dispatch_instant(struct orr_serve *w)
{
	dispatch_catch_up(w);
	for (;;) {
		tell(w);
		if (w->dirty_told == w->n_dirty || w->is_over)
			break;
		schedule(w, w->dirty[w->dirty_told++]);
	}
	w->dirty_told = w->n_dirty = 0;
	if (w->config->check && !w->is_over)
		check_serve_state(w);
}
