/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs of table models: progress at a rate that depends on the other runs of the replica, end, exit points
 * (docs/models/serve.md#runs-that-share-a-replica).
 */
#include "serve/due.h"
#include "serve/memory.h"
#include "serve/metrics.h"
#include "serve/replica.h"
#include "serve/requests.h"
#include "serve/runs.h"

#include "base/mem.h"

#include <math.h>

enum { ON_STACK = 16 };
static void on_end(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

/* ---- slots, and the list of a replica's runs ---- */

struct run *run_new(struct orr_serve *w)
{
	if (w->n_free_run)
		return &w->run[w->free_run[--w->n_free_run]];
	MEM_GROW(w->run, w->n_run, w->cap_run);
	w->run[w->n_run] = (struct run){ .generation = 1 };
	return &w->run[w->n_run++];
}

static void run_free(struct orr_serve *w, struct run *x)
{
	x->state = RUN_FREE;
	x->n = 0;
	if (!++x->generation)
		x->generation = 1;
	MEM_GROW(w->free_run, w->n_free_run, w->cap_free_run);
	w->free_run[w->n_free_run++] = run_slot(w, x);
}

void run_link(struct orr_serve *w, struct run *x)
{
	struct replica *r = &w->replica[x->replica];
	x->prev = r->last_run;
	x->next = NONE;
	if (r->last_run == NONE)
		r->first_run = run_slot(w, x);
	else
		w->run[r->last_run].next = run_slot(w, x);
	r->last_run = run_slot(w, x);
}

static void unlink_run(struct orr_serve *w, struct run *x)
{
	struct replica *r = &w->replica[x->replica];
	if (x->prev == NONE)
		r->first_run = x->next;
	else
		w->run[x->prev].next = x->next;
	if (x->next == NONE)
		r->last_run = x->prev;
	else
		w->run[x->next].prev = x->prev;
	x->prev = x->next = NONE;
}

static void run_count(struct orr_serve *w, uint32_t replica, int by)
{
	struct replica *r = &w->replica[replica];
	uint32_t before = r->n_runs;
	r->n_runs = before + (uint32_t)by;
	if (!before || !r->n_runs)
		replica_set_busy(w, replica, r->n_runs != 0);
}

/* ---- progress ---- */

void run_settle(const struct orr_serve *w, struct run *x)
{
	x->left_s = run_left(w, x);
	x->rate_from_s = w->now_s;
}

void run_set_end(struct orr_serve *w, struct run *x)
{
	double target = x->leaving >= 0 ? x->exit_left_s : 0;
	x->end_s = x->rate == 1 ? x->rate_from_s + x->left_s : x->rate_from_s + x->left_s / x->rate;
	double at = target > 0 ? x->rate_from_s + (x->left_s - target) / x->rate : x->end_s;
	x->end = eng_at(w->host.engine, serve_ns(at), PRIO_RUN_END, on_end, w, run_slot(w, x), 0);
}

static void set_rate(struct orr_serve *w, struct run *x, double rate)
{
	if (rate == x->rate)
		return;
	w->used |= SERVE_USED_SLOWDOWN;
	run_settle(w, x);
	x->rate = rate;
	eng_cancel(w->host.engine, x->end);
	run_set_end(w, x);
}

/* Sets new rates after the runs on the replica have changed. */
static void run_rerate(struct orr_serve *w, uint32_t replica)
{
	if (w->set->interference == INTERFERENCE_NONE)
		return;
	uint32_t n = w->replica[replica].n_runs, k = 0;
	uint32_t model_stack[ON_STACK], *model = n <= ON_STACK ? model_stack : mem_alloc(n * sizeof *model);
	double rate_stack[ON_STACK], *rate = n <= ON_STACK ? rate_stack : mem_alloc(n * sizeof *rate);
	for (uint32_t i = w->replica[replica].first_run; i != NONE; i = w->run[i].next)
		if (w->run[i].state == RUN_RUNNING)
			model[k++] = w->run[i].model;
	interference_rates(w, model, n, rate);
	k = 0;
	for (uint32_t i = w->replica[replica].first_run; i != NONE; i = w->run[i].next)
		if (w->run[i].state == RUN_RUNNING)
			set_rate(w, &w->run[i], rate[k++]);
	if (model != model_stack)
		mem_free(model);
	if (rate != rate_stack)
		mem_free(rate);
}

void run_go(struct orr_serve *w, struct run *x)
{
	x->state = RUN_RUNNING;
	x->rate = 1;
	x->rate_from_s = w->now_s;
	run_set_end(w, x);
	run_count(w, x->replica, 1);
	w->metrics->stacked_runs += w->replica[x->replica].n_runs > 1;
	run_rerate(w, x->replica);
}

/* ---- leaving the replica ---- */

static void run_stop(struct orr_serve *w, struct run *x)
{
	serve_metrics_memory(w, x->replica);
	eng_cancel(w->host.engine, x->end);
	x->end = (struct eng_event){ 0, 0 };
	unlink_run(w, x);
	if (x->state == RUN_RUNNING)
		run_count(w, x->replica, -1);
}

/* Removes the requests from the run; those in no other run wait. */
static void give_members(struct orr_serve *w, struct run *x)
{
	for (uint32_t i = 0; i < x->n; i++) {
		struct req *q = req_of(w, x->handle[i]);
		if (!q || q->state != ORR_REQ_RUNNING || --q->runs)
			continue;
		q->state = ORR_REQ_WAITING;
		w->waiting++;
	}
}

static void count_preemption(struct orr_serve *w, struct run *x)
{
	for (uint32_t i = 0; i < x->n; i++) {
		struct req *q = req_of(w, x->handle[i]);
		if (q)
			q->preemptions++;
	}
}

void run_leave(struct orr_serve *w, struct run *x)
{
	uint32_t replica = x->replica;
	serve_metrics_memory(w, replica);
	count_preemption(w, x);
	run_settle(w, x);
	if (x->leaving == ORR_ABORT_SAVE) {
		eng_cancel(w->host.engine, x->end);
		x->end = (struct eng_event){ 0, 0 };
		x->state = RUN_SUSPENDED;
		x->leaving = -1;
		x->end_s = INFINITY;
		run_count(w, replica, -1);
	} else {
		serve_metrics_lost(w, x->alone_s - x->left_s);
		run_stop(w, x);
		give_members(w, x);
		run_free(w, x);
	}
	run_rerate(w, replica);
}

static void complete_members(struct orr_serve *w, struct run *x)
{
	for (uint32_t i = 0; i < x->n; i++) {
		struct req *q = req_of(w, x->handle[i]);
		if (!q || q->state != ORR_REQ_RUNNING || --q->runs)
			continue;
		q->state = ORR_REQ_WAITING;
		w->waiting++;
		q->is_held = x->keeps;
		if (x->keeps)
			continue;
		if (isnan(q->first_token_s))
			q->first_token_s = x->end_s;
		q->last_token_s = x->end_s;
		req_end(w, q, ORR_REQ_COMPLETED, x->end_s);
	}
}

static void on_end(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct orr_serve *w = ctx;
	uint32_t slot = (uint32_t)subject;
	struct run *x = &w->run[slot];
	uint32_t replica = x->replica;
	if (w->error.code)
		return;
	if (x->leaving >= 0 && x->exit_left_s > 0) {
		serve_happen(w, x->rate_from_s + (x->left_s - x->exit_left_s) / x->rate);
		run_leave(w, x);
		replica_dirty(w, replica);
		return;
	}
	serve_happen(w, x->end_s);
	run_stop(w, x);
	x->state = RUN_OVER;
	x->left_s = 0;
	complete_members(w, x);
	run_rerate(w, replica);
	replica_dirty(w, replica);
	MEM_GROW(w->over, w->n_over, w->cap_over);
	w->over[w->n_over++] = slot;
}

void runs_release_over(struct orr_serve *w)
{
	while (w->n_over)
		run_free(w, &w->run[w->over[--w->n_over]]);
	w->over_told = 0;
}

/* ---- lost replicas, lost requests, the end of the world ---- */

void runs_lost(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	while (r->first_run != NONE) {
		struct run *x = &w->run[r->first_run];
		serve_metrics_lost(w, x->alone_s - run_left(w, x));
		run_stop(w, x);
		give_members(w, x);
		run_free(w, x);
	}
}

static void drop_member(struct run *x, orr_req r, struct req *q)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < x->n; i++) {
		if (x->handle[i] == r)
			q->runs--;
		else
			x->handle[kept++] = x->handle[i];
	}
	x->n = kept;
}

void runs_detach(struct orr_serve *w, struct req *q)
{
	orr_req r = req_handle(w, req_slot(w, q));
	for (uint32_t i = 0; i < w->n_run && q->runs; i++)
		if (run_is_live(&w->run[i]))
			drop_member(&w->run[i], r, q);
}

void runs_free(struct orr_serve *w)
{
	for (uint32_t i = 0; i < w->n_run; i++)
		mem_free(w->run[i].handle);
	mem_free(w->run);
	mem_free(w->free_run);
	mem_free(w->over);
	for (uint32_t i = 0; i < w->n_replicas; i++)
		mem_free(w->replica[i].loaded_s);
}
