/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --check for policies that claim ORR_SLO_GUARDED: no action makes a request miss a deadline that it would otherwise meet.
 *
 * Before an abort, or the start of a run that slows others down, each request in the affected runs that is projected to end by
 * its deadline is marked with the action. If a marked request ends late or is shed, the error names that action. The loss of a
 * replica, which is no action, clears the marks of its requests. Only runs of table models are checked: the end of a resident
 * is not known in advance.
 */
#include "serve/guard.h"
#include "serve/replica.h"
#include "serve/requests.h"
#include "serve/runs.h"

#include "base/mem.h"

#include <math.h>

static const double LATE_S = 1e-8; /* tolerance for the rounding of sums of times */

struct mark {
	orr_req request; /* 0: none */
	const char *action;
	double at_s, end_s; /* time of the action; projected end */
};

struct guard {
	struct mark *mark; /* marks by slot of the request */
	uint32_t n, cap;
};

void guard_begin(struct orr_serve *w)
{
	if (w->config->check && w->claims & ORR_SLO_GUARDED)
		w->guard = mem_zalloc(1, sizeof *w->guard);
}

void guard_free(struct orr_serve *w)
{
	if (w->guard)
		mem_free(w->guard->mark);
	mem_free(w->guard);
}

static struct mark *mark_of(struct guard *g, uint32_t slot)
{
	while (g->n <= slot) {
		MEM_GROW(g->mark, g->n, g->cap);
		g->mark[g->n++] = (struct mark){ 0 };
	}
	return &g->mark[slot];
}

/* Returns the projected end of the requests of a run; INFINITY: unknown, or the requests continue after it. */
static double will_end(const struct run *x)
{
	return x->keeps || x->leaving >= 0 || x->state != RUN_RUNNING ? INFINITY : x->end_s + x->later_s;
}

/* Returns the projected end of the last run that contains the request. */
static double last_end(const struct orr_serve *w, orr_req r)
{
	double end = 0;
	for (uint32_t i = 0; i < w->n_run; i++) {
		const struct run *x = &w->run[i];
		if (!run_is_live(x))
			continue;
		for (uint32_t k = 0; k < x->n; k++)
			end = x->handle[k] == r ? fmax(end, will_end(x)) : end;
	}
	return end;
}

void guard_before(struct orr_serve *w, const struct run *x, const char *action)
{
	for (uint32_t i = 0; w->guard && i < x->n; i++) {
		const struct req *q = req_of(w, x->handle[i]);
		if (!q || q->state == ORR_REQ_ENDED || !(q->deadline_s < INFINITY))
			continue;
		double end_s = q->runs == 1 ? will_end(x) : last_end(w, x->handle[i]);
		if (end_s <= q->deadline_s)
			*mark_of(w->guard, req_slot(w, q)) = (struct mark){ x->handle[i], action, w->now_s, end_s };
	}
}

void guard_before_beside(struct orr_serve *w, uint32_t replica, const char *action)
{
	if (!w->guard || w->set->interference == INTERFERENCE_NONE)
		return;
	for (uint32_t i = w->replica[replica].runs.first; i != NONE; i = w->run[i].next)
		if (w->run[i].state == RUN_RUNNING)
			guard_before(w, &w->run[i], action);
}

void guard_forget(struct orr_serve *w, const struct req *q)
{
	if (w->guard)
		mark_of(w->guard, req_slot(w, q))->request = 0;
}

void guard_ended(struct orr_serve *w, const struct req *q, double at_s)
{
	if (!w->guard || q->how == ORR_REQ_UNFINISHED)
		return;
	const struct mark *m = mark_of(w->guard, req_slot(w, q));
	if (m->request != req_handle(w, req_slot(w, q)) || (q->how == ORR_REQ_COMPLETED && at_s <= q->deadline_s + LATE_S))
		return;
	serve_fail(w, ORR_EFAIL, q,
		"conservation: the policy claims that no action makes a request late; this request, due at %.9f s, would have ended at "
		"%.9f s without %s at %.9f s, but %s: expected an action that makes no request late",
		q->deadline_s, m->end_s, m->action, m->at_s, q->how == ORR_REQ_COMPLETED ? "ends now" : "is given up");
}

void orr_serve_claim(struct orr_serve *w, unsigned claims)
{
	if (w->self)
		serve_fail(w, ORR_EFAIL, NULL, "orr_serve_claim(): expected a call in create()");
	else if (claims & ~(ORR_WORK_CONSERVING | ORR_SLO_GUARDED))
		serve_fail(
			w, ORR_EFAIL, NULL, "orr_serve_claim(): unknown claims in 0x%x: expected ORR_* claims of orrery/serve.h", claims);
	else
		w->claims |= claims;
}
