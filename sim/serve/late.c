/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests that leave their runs before all answers have been received; timers of requests. */
#include "serve/explain.h"
#include "serve/guard.h"
#include "serve/metrics.h"
#include "serve/requests.h"
#include "serve/runs.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* Cancels a run that no request needs. A run that computes ends at its next exit point. */
static void cancel_empty(struct orr_serve *w, struct run *x)
{
	if (x->state == RUN_RUNNING || x->state == RUN_SUSPENDED)
		run_abort(w, x, ORR_ABORT_RESTART);
	else
		run_cancel(w, x);
}

void leave_runs(struct orr_serve *w, struct req *q, enum orr_late_how how)
{
	q->has_left = q->has_left || q->runs || q->silent;
	while (q->first_in != NONE && !w->error.code) {
		struct run *x = &w->run[q->first_in];
		run_drop(w, x, q);
		if (!x->n && how == ORR_LATE_CANCEL)
			cancel_empty(w, x);
	}
	if (q->state == ORR_REQ_RUNNING)
		req_waits(w, q);
	q->state = ORR_REQ_WAITING;
	q->silent = 0;
	explain_waits(w, q);
}

void orr_leave_runs(struct orr_serve *w, orr_req r, enum orr_late_how how)
{
	struct req *q = req_actor(w, r, ORR_REQ_RUNNING, "orr_leave_runs()");
	if (!q)
		return;
	if (how != ORR_LATE_DETACH && how != ORR_LATE_CANCEL) {
		serve_fail(w, ORR_EFAIL, q, "orr_leave_runs() with how = %d: expected ORR_LATE_DETACH or ORR_LATE_CANCEL", (int)how);
		return;
	}
	leave_runs(w, q, how);
}

/* ---- timers ---- */

static void on_timer(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e;
	struct orr_serve *w = ctx;
	const struct req *q = req_of(w, subject);
	double at_s;
	if (!q || q->state == ORR_REQ_ENDED || w->error.code)
		return;
	memcpy(&at_s, &arg, sizeof at_s);
	serve_happen(w, at_s);
	MEM_GROW(w->timed, w->n_timed, w->cap_timed);
	w->timed[w->n_timed++] = subject;
}

void orr_req_timer(struct orr_serve *w, orr_req r, double at_s)
{
	if (!serve_may_act(w, "orr_req_timer()"))
		return;
	const struct req *q = req_of(w, r);
	if (!q || q->state == ORR_REQ_ENDED)
		serve_fail(w, ORR_EFAIL, q,
			"orr_req_timer() of a request that has ended or never existed (handle %llx): expected a live request",
			(unsigned long long)r);
	else if (isnan(at_s))
		serve_fail(w, ORR_EFAIL, q, "orr_req_timer() at NaN: expected a time");
	else if (!w->ops->timer)
		serve_fail(w, ORR_EFAIL, q,
			"orr_req_timer() of a policy without a function timer(): expected a policy that has this function");
	else if (at_s < INFINITY) {
		uint64_t arg;
		memcpy(&arg, &at_s, sizeof arg);
		eng_at(w->host.engine, serve_ns(at_s), PRIO_TIMER, on_timer, w, r, arg);
	}
}
