/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Abort, suspension and resumption of runs. */
#include "serve/guard.h"
#include "serve/memory.h"
#include "serve/metrics.h"
#include "serve/replica.h"
#include "serve/requests.h"
#include "serve/runs.h"

#include <math.h>

static const double AT_ONCE_S = 1e-9; /* an exit point within this time is reached */

/* ---- exit points ---- */

/* Returns the progress from one exit point to the next; 0: any point is an exit point. */
static double exit_interval(const struct orr_serve *w, const struct run *x, enum serve_exit rule)
{
	uint32_t layers = w->config->model[x->model]->layers;
	switch (rule) {
	case EXIT_LAYER:
		return layers ? x->whole_s / layers : INFINITY;
	case EXIT_INTERVAL:
		return w->set->exit_interval_s;
	default:
		return 0;
	}
}

/* Returns the progress at the next exit point; INFINITY: unknown. */
static double next_point(const struct orr_serve *w, const struct run *x, double interval)
{
	double done = x->alone_s - run_left(w, x);
	return interval > 0 && interval < INFINITY ? fmax(ceil((done - AT_ONCE_S) / interval) * interval, done)
	       : interval > 0                      ? interval
						   : done;
}

static bool is_elsewhere(double a, double b)
{
	return a < b || a > b;
}

/* Returns the progress at the next exit point under the rule of the scenario. */
static double exit_point(const struct orr_serve *w, const struct run *x)
{
	double at = next_point(w, x, exit_interval(w, x, w->set->exit));
	if (is_elsewhere(at, next_point(w, x, exit_interval(w, x, EXIT_INTERVAL))))
		w->metrics->used |= SERVE_USED_EXIT;
	if (is_elsewhere(at, next_point(w, x, SERVE_EXIT_INTERVAL_S)))
		w->metrics->used |= SERVE_USED_EXIT_INTERVAL;
	return at;
}

/* Returns the work left at that progress, s; 0: no exit point before the end. */
static double left_at(const struct run *x, double done)
{
	return done < x->alone_s - AT_ONCE_S ? x->alone_s - done : 0;
}

/* ---- abort and resume ---- */

/* Returns the run if actions are allowed and it is live; else sets the error and returns NULL. */
static struct run *acting_on(struct orr_serve *w, orr_run run, const char *what)
{
	if (!serve_may_act(w, what))
		return NULL;
	struct run *x = run_of(w, run);
	if (x && run_is_here(x))
		return x;
	serve_fail(w, ORR_EFAIL, NULL, "%s of a run that has ended or never existed (handle %llx): expected a live run", what,
		(unsigned long long)run);
	return NULL;
}

static const struct req *first_of(const struct orr_serve *w, const struct run *x)
{
	return x->n ? req_of(w, x->handle[0]) : NULL;
}

/* Returns whether all runs of the replica fit if this run keeps its memory from that progress on. */
static bool can_hold(const struct orr_serve *w, struct run *x, double at)
{
	struct run saved = *x;
	x->leaving = ORR_ABORT_SAVE;
	x->exit_left_s = left_at(x, at);
	bool fits = memory_fits(w, x->replica, NULL);
	*x = saved;
	return fits;
}

bool orr_run_can_save(const struct orr_serve *w, orr_run run)
{
	struct run *x = run_of(w, run);
	if (!x || x->state != RUN_RUNNING || x->leaving >= 0)
		return false;
	double at = exit_point(w, x);
	return at < INFINITY && can_hold(w, x, at);
}

void orr_run_abort(struct orr_serve *w, orr_run run, enum orr_abort_how how)
{
	struct run *x = acting_on(w, run, "orr_run_abort()");
	if (!x)
		return;
	if (x->state == RUN_SENDING || x->state == RUN_QUEUED) {
		if (how == ORR_ABORT_RESTART)
			run_cancel(w, x);
		else
			serve_fail(w, ORR_EFAIL, first_of(w, x),
				"orr_run_abort() with ORR_ABORT_SAVE of a run that has not begun: expected ORR_ABORT_RESTART");
		return;
	}
	run_abort(w, x, how);
}

void run_abort(struct orr_serve *w, struct run *x, enum orr_abort_how how)
{
	const struct req *q = first_of(w, x);
	if (how != ORR_ABORT_RESTART && how != ORR_ABORT_SAVE) {
		serve_fail(w, ORR_EFAIL, q, "orr_run_abort() with how = %d: expected ORR_ABORT_RESTART or ORR_ABORT_SAVE", (int)how);
		return;
	}
	if (x->leaving >= 0 || (x->state == RUN_SUSPENDED && how == ORR_ABORT_SAVE)) {
		serve_fail(w, ORR_EFAIL, q, "orr_run_abort() of a run that is already %s: expected a running one",
			x->leaving >= 0 ? "ending" : "suspended");
		return;
	}
	double at = exit_point(w, x), done = x->alone_s - run_left(w, x);
	if (at == INFINITY) {
		serve_fail(w, ORR_EINPUT, q, "orr_run_abort(): serve.exit=layer: expected a model with a number of layers, found %s",
			w->config->model[x->model]->name);
		return;
	}
	if (how == ORR_ABORT_SAVE && !can_hold(w, x, at)) {
		serve_fail(w, ORR_EFAIL, q,
			"orr_run_abort(): the saved memory of the run does not fit beside the other runs on replica %u: expected "
			"orr_run_can_save() to be true",
			x->replica);
		return;
	}
	guard_before(w, x, "orr_run_abort()");
	x->leaving = (int)how;
	if (x->state == RUN_SUSPENDED || at <= done + AT_ONCE_S) {
		run_leave(w, x);
		return;
	}
	x->exit_left_s = left_at(x, at);
	run_settle(w, x);
	eng_cancel(w->host.engine, x->end);
	run_set_end(w, x);
}

/* Resumes a run now. The added work is done first, so the peak is later by this work. */
static void revive(const struct orr_serve *w, struct run *x)
{
	x->state = RUN_RUNNING;
	x->rate = 1;
	x->rate_from_s = w->now_s;
	x->left_s += w->set->resume_cost_s;
	x->alone_s += w->set->resume_cost_s;
	if (x->alone_s - x->left_s < x->memory.peak_from_s)
		x->memory.peak_from_s += w->set->resume_cost_s;
}

bool orr_run_can_resume(const struct orr_serve *w, orr_run run)
{
	struct run *x = run_of(w, run);
	if (!x || x->state != RUN_SUSPENDED || w->replica[x->replica].state == REPLICA_OFF)
		return false;
	struct run saved = *x;
	revive(w, x);
	bool fits = memory_fits(w, x->replica, NULL);
	*x = saved;
	return fits;
}

void orr_run_resume(struct orr_serve *w, orr_run run)
{
	struct run *x = acting_on(w, run, "orr_run_resume()");
	if (!x)
		return;
	if (x->state != RUN_SUSPENDED) {
		serve_fail(w, ORR_EFAIL, first_of(w, x), "orr_run_resume() of a run that is not suspended: expected a suspended run");
		return;
	}
	if (!orr_run_can_resume(w, run)) {
		serve_fail(w, ORR_EFAIL, first_of(w, x),
			"orr_run_resume(): the rest of the run does not fit on replica %u: expected orr_run_can_resume() to be true",
			x->replica);
		return;
	}
	guard_before_beside(w, x->replica, "orr_run_resume()");
	serve_metrics_memory(w, x->replica);
	w->used |= SERVE_USED_RESUME;
	revive(w, x);
	run_go(w, x);
}
