/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls of the policy within one instant: replica() for each event of a replica, run_end() for each batch that ended, finish()
 * for each request that ended, arrive() for each that arrived, timer() for each timer of a request; then schedule() for one replica whose
 * state changed. The calls are repeated from the start until none is due.
 */
#include "serve/dispatch.h"
#include "serve/due.h"
#include "serve/explain.h"
#include "serve/lane.h"
#include "serve/runs.h"

/* ---- events ---- */

static void tell_runs(struct orr_serve *w)
{
	while (w->over_told < w->n_over && !w->is_over) {
		uint32_t slot = w->over[w->over_told++];
		const struct req *first = w->run[slot].n ? req_of(w, w->run[slot].handle[0]) : NULL;
		if (w->ops->run_end)
			POLICY_CALL(w, first ? first->number : UINT64_MAX, run_end, w->self, w, run_handle(w, slot));
	}
}

/* Calls finish(), which must not act, because other ended requests may not have been reported yet. */
static void tell_finish(struct orr_serve *w, const struct req *q)
{
	uint64_t call = watch_enter(w->watch, "finish", eng_now(w->host.engine), q->number);
	w->ops->finish(w->self, w, req_handle(w, req_slot(w, q)), (enum orr_req_end)q->how);
	watch_leave(w->watch, call);
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
		POLICY_CALL(w, q->number, arrive, w->self, w, req_handle(w, slot));
	}
}

static void tell_timers(struct orr_serve *w)
{
	while (w->timed_told < w->n_timed && !w->is_over) {
		orr_req r = w->timed[w->timed_told++];
		const struct req *q = req_of(w, r);
		if (q && q->state != ORR_REQ_ENDED)
			POLICY_CALL(w, q->number, timer, w->self, w, r);
	}
	w->n_timed = w->timed_told = 0;
}

static inline bool has_to_tell(const struct orr_serve *w)
{
	return w->over_told < w->n_over || w->arrived_told < w->n_arrived || w->first_ended != NONE || w->n_timed;
}

static void tell(struct orr_serve *w)
{
	due_tell_events(w);
	while (has_to_tell(w) && !w->is_over) {
		tell_runs(w);
		tell_ended(w);
		tell_arrivals(w);
		tell_timers(w);
		bool is_told = w->over_told == w->n_over && w->arrived_told == w->n_arrived && w->ended_told == w->last_ended;
		if (!is_told)
			continue;
		runs_release_over(w);
		req_release_ended(w);
		w->n_arrived = w->arrived_told = 0;
	}
}

/* ---- decisions ---- */

static void schedule(struct orr_serve *w, uint32_t replica)
{
	int64_t now = eng_now(w->host.engine);
	w->calls_now = w->last_instant == now ? w->calls_now + 1 : 1;
	w->last_instant = now;
	int64_t most = (int64_t)w->n_replicas * w->set->max_calls;
	if (w->calls_now > most) {
		serve_fail(w, ORR_EFAIL, req_of(w, w->last_acted),
			"schedule() still acts after %lld calls at one instant: expected at most serve.max_calls_per_instant",
			(long long)most);
		return;
	}
	w->replica[replica].is_dirty = false;
	if (w->replica[replica].state == REPLICA_OFF || w->replica[replica].state == REPLICA_STARTING)
		return;
	explain_asked(w, replica);
	POLICY_CALL(w, UINT64_MAX, schedule, w->self, w, replica);
	explain_answered(w, replica);
}

/* Advances now_s. It is within half a ns of the clock if an event of this world happened at this instant. */
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
		if (w->is_over)
			break;
		if (w->dirty_told < w->n_dirty)
			schedule(w, w->dirty[w->dirty_told++]);
		else if (w->blocks_freed && moves_pending(w))
			moves_retry(w); /* blocks that the policy has left free */
		else
			break;
	}
	w->dirty_told = w->n_dirty = 0;
	if (w->config->check && !w->is_over)
		check_serve_instant(w);
}
