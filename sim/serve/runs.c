/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs of table models: progress at a rate that depends on the other runs of the replica, end, exit points
 * (docs/models/serve.md#runs-that-share-a-replica).
 */
#include "serve/answers.h"
#include "serve/due.h"
#include "serve/explain.h"
#include "serve/front.h"
#include "serve/memory.h"
#include "serve/metrics.h"
#include "serve/replica.h"
#include "serve/requests.h"
#include "serve/runs.h"

#include "base/mem.h"

#include <math.h>

enum { ON_STACK = 16 };
static void on_end(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);
static void run_answered(struct orr_serve *w, struct run *x, double at_s);

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

/* Returns the list of the run's replica that the run belongs to in its state. */
static struct run_list *list_of(const struct orr_serve *w, const struct run *x)
{
	struct replica *r = &w->replica[x->replica];
	if (x->state == RUN_LATER)
		return &r->later;
	return !x->queues || x->state == RUN_RUNNING || x->state == RUN_SUSPENDED ? &r->runs
	       : x->state == RUN_SENDING                                          ? &r->sending
										  : &r->waiting;
}

static void link_run(struct orr_serve *w, struct run *x)
{
	struct run_list *l = list_of(w, x);
	x->prev = l->last;
	x->next = NONE;
	if (l->last == NONE)
		l->first = run_slot(w, x);
	else
		w->run[l->last].next = run_slot(w, x);
	l->last = run_slot(w, x);
	l->n++;
}

static void unlink_run(struct orr_serve *w, struct run *x)
{
	struct run_list *l = list_of(w, x);
	if (x->prev == NONE)
		l->first = x->next;
	else
		w->run[x->prev].next = x->next;
	if (x->next == NONE)
		l->last = x->prev;
	else
		w->run[x->next].prev = x->prev;
	x->prev = x->next = NONE;
	l->n--;
}

/* Moves the run to the list of its new state. */
static void run_become(struct orr_serve *w, struct run *x, enum run_state state)
{
	unlink_run(w, x);
	x->state = (uint8_t)state;
	link_run(w, x);
}

/* Updates the idle set after the numbers of runs have changed. */
static void count_busy(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	replica_set_busy(w, replica, r->n_runs || r->n_reserved);
}

static void run_count(struct orr_serve *w, uint32_t replica, int by)
{
	w->replica[replica].n_runs += (uint32_t)by;
	count_busy(w, replica);
}

/* ---- the requests of a run, and the runs of a request ---- */

void run_add(struct orr_serve *w, struct run *x, struct req *q)
{
	x->handle[x->n] = req_handle(w, req_slot(w, q));
	x->next_in[x->n++] = q->first_in;
	q->first_in = run_slot(w, x);
	q->runs++;
}

/* Removes the run from the list of the runs of its member i. */
static void forget_run(struct orr_serve *w, const struct run *x, uint32_t i, struct req *q)
{
	uint32_t slot = run_slot(w, x), *at = &q->first_in;
	while (*at != slot) {
		struct run *other = &w->run[*at];
		uint32_t k = 0;
		while (other->handle[k] != x->handle[i])
			k++;
		at = &other->next_in[k];
	}
	*at = x->next_in[i];
	q->runs--;
}

void run_drop(struct orr_serve *w, struct run *x, struct req *q)
{
	orr_req r = req_handle(w, req_slot(w, q));
	uint32_t i = 0;
	while (x->handle[i] != r)
		i++;
	forget_run(w, x, i, q);
	for (x->n--; i < x->n; i++) {
		x->handle[i] = x->handle[i + 1];
		x->next_in[i] = x->next_in[i + 1];
	}
}

void runs_detach(struct orr_serve *w, struct req *q)
{
	while (q->first_in != NONE)
		run_drop(w, &w->run[q->first_in], q);
	q->silent = 0;
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
	explain_run(w, x);
	eng_cancel(w->host.engine, x->end);
	run_set_end(w, x);
}

/* Sets new rates after the runs on the replica have changed. */
static void run_rerate(struct orr_serve *w, uint32_t replica)
{
	if (w->set->interference == INTERFERENCE_NONE)
		return;
	uint32_t n = w->replica[replica].n_runs, k = 0;
	struct sharer stack[ON_STACK], *run = n <= ON_STACK ? stack : mem_alloc(n * sizeof *run);
	double rate_stack[ON_STACK], *rate = n <= ON_STACK ? rate_stack : mem_alloc(n * sizeof *rate);
	for (uint32_t i = w->replica[replica].runs.first; i != NONE; i = w->run[i].next)
		if (w->run[i].state == RUN_RUNNING)
			run[k++] =
				(struct sharer){ w->run[i].model, served_occupancy(w->config->model[w->run[i].model], w->run[i].samples) };
	interference_rates(w, run, n, rate);
	k = 0;
	for (uint32_t i = w->replica[replica].runs.first; i != NONE; i = w->run[i].next)
		if (w->run[i].state == RUN_RUNNING)
			set_rate(w, &w->run[i], rate[k++]);
	if (run != stack)
		mem_free(run);
	if (rate != rate_stack)
		mem_free(rate);
}

void run_go(struct orr_serve *w, struct run *x)
{
	x->state = RUN_RUNNING;
	x->rate = 1;
	x->rate_from_s = w->now_s;
	explain_run(w, x);
	run_set_end(w, x);
	run_count(w, x->replica, 1);
	w->metrics->stacked_runs += w->replica[x->replica].n_runs > 1;
	run_rerate(w, x->replica);
}

/* ---- queues ---- */

void run_next(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	if (r->n_runs || r->n_reserved || r->waiting.first == NONE || w->error.code)
		return;
	struct run *x = &w->run[r->waiting.first];
	struct memory_extra extra = {
		.is_run = true, .model = x->model, .samples = x->samples, .memory = x->memory, .alone_s = x->alone_s
	};
	if (!memory_fits(w, replica, &extra))
		return;
	serve_metrics_memory(w, replica);
	run_become(w, x, RUN_RUNNING);
	for (uint32_t i = 0; i < x->n; i++) {
		struct req *q = req_of(w, x->handle[i]);
		if (isnan(q->first_start_s))
			q->first_start_s = w->now_s;
	}
	run_go(w, x);
}

/* Handles the arrival of the run's input. */
static void run_arrived(struct orr_serve *w, struct run *x)
{
	if (x->queues) {
		run_become(w, x, RUN_QUEUED);
		explain_run(w, x);
		run_next(w, x->replica);
		return;
	}
	w->replica[x->replica].n_reserved--;
	run_go(w, x);
}

void runs_begin(struct orr_serve *w)
{
	front_begin(w);
	if (!w->front)
		return;
	w->front->on_input = run_arrived;
	w->front->on_answer = run_answered;
}

void run_begin(struct orr_serve *w, struct run *x)
{
	x->state = RUN_SENDING;
	link_run(w, x);
	w->replica[x->replica].n_reserved += !x->queues;
	if (!w->front) {
		run_arrived(w, x);
		return;
	}
	count_busy(w, x->replica);
	explain_run(w, x);
	front_send(w, x);
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

/* Makes a request wait that has left its last run. */
static void wait_without_runs(struct orr_serve *w, struct req *q)
{
	explain_runs_of(w, q);
	if (q->state != ORR_REQ_RUNNING || q->runs || q->silent)
		return;
	q->state = ORR_REQ_WAITING;
	req_waits(w, q);
	explain_waits(w, q);
}

/* Removes the requests from the run; requests in no other run wait. The answers of a lost run with ORR_RUN_PART are lost. */
static void give_members(struct orr_serve *w, struct run *x, bool is_lost)
{
	explain_lost(w, x);
	for (uint32_t i = 0; i < x->n; i++) {
		struct req *q = req_of(w, x->handle[i]);
		forget_run(w, x, i, q);
		q->silent += is_lost && x->is_part;
		wait_without_runs(w, q);
	}
}

static void count_preemption(struct orr_serve *w, struct run *x)
{
	for (uint32_t i = 0; i < x->n; i++)
		req_of(w, x->handle[i])->preemptions++;
}

void run_cancel(struct orr_serve *w, struct run *x)
{
	uint32_t replica = x->replica;
	if (x->state == RUN_LATER) {
		eng_cancel(w->host.engine, x->end);
		unlink_run(w, x);
	} else if (x->state != RUN_QUEUED) {
		front_cancel(w, x);
	}
	if (run_is_here(x)) {
		w->replica[replica].n_reserved -= x->state == RUN_SENDING && !x->queues;
		unlink_run(w, x);
		count_busy(w, replica);
	}
	give_members(w, x, false);
	run_free(w, x);
	run_next(w, replica);
	replica_leave_if_empty(w, replica);
	replica_dirty(w, replica);
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
		explain_run(w, x);
		x->leaving = -1;
		x->end_s = INFINITY;
		run_count(w, replica, -1);
	} else {
		serve_metrics_lost(w, x->alone_s - x->left_s);
		run_stop(w, x);
		give_members(w, x, false);
		run_free(w, x);
	}
	run_rerate(w, replica);
	run_next(w, replica);
}

/* Adds the answers of the run to its requests. A request without other runs then waits or completes. */
static void give_answers(struct orr_serve *w, struct run *x, double at_s)
{
	uint32_t answered = 0, n = x->n;
	for (uint32_t i = 0; i < n; i++) {
		struct req *q = req_of(w, x->handle[i]);
		forget_run(w, x, i, q);
		if (front_loses(w, q, x->replica)) {
			w->metrics->answers_lost++;
			q->silent++;
			explain_runs_of(w, q);
			continue;
		}
		w->metrics->answers++;
		answers_add(w, q, x->replica, x->model, at_s);
		x->handle[answered] = x->handle[i];
		answered++;
		wait_without_runs(w, q);
		if (q->state != ORR_REQ_WAITING || x->keeps)
			continue;
		if (isnan(q->first_token_s))
			q->first_token_s = at_s;
		q->last_token_s = at_s;
		req_end(w, q, ORR_REQ_COMPLETED, at_s);
	}
	x->n = answered;
}

/* Handles the receipt of the run's answers at the front. */
static void run_answered(struct orr_serve *w, struct run *x, double at_s)
{
	uint32_t n = x->n;
	give_answers(w, x, at_s);
	if (n && !x->n) { /* all answers are lost, so the policy is not called */
		run_free(w, x);
		return;
	}
	x->state = RUN_OVER;
	MEM_GROW(w->over, w->n_over, w->cap_over);
	w->over[w->n_over++] = run_slot(w, x);
}

/* Sends the answers when the computation has ended. */
static void send_answers(struct orr_serve *w, struct run *x)
{
	x->state = RUN_ANSWERING;
	explain_run(w, x);
	if (w->front)
		front_answer(w, x);
	else
		run_answered(w, x, x->end_s);
}

/* Event of the end of the last pipeline stage. */
static void on_last_stage(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct orr_serve *w = ctx;
	struct run *x = &w->run[subject];
	uint32_t replica = x->replica;
	if (w->error.code)
		return;
	serve_happen(w, x->end_s);
	unlink_run(w, x);
	send_answers(w, x);
	replica_leave_if_empty(w, replica);
	replica_dirty(w, replica);
}

/* Frees the first stage for the next batch; this batch continues in the later stages. Batches leave the last stage in the order of
 * their starts. */
static void enter_later_stages(struct orr_serve *w, struct run *x)
{
	struct replica *r = &w->replica[x->replica];
	x->state = RUN_LATER;
	explain_run(w, x);
	x->end_s = fmax(x->end_s + x->later_s, r->later_until_s);
	r->later_until_s = x->end_s;
	link_run(w, x);
	x->end = eng_at(w->host.engine, serve_ns(x->end_s), PRIO_RUN_END, on_last_stage, w, run_slot(w, x), 0);
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
	x->left_s = 0;
	if (x->later_s > 0)
		enter_later_stages(w, x);
	else
		send_answers(w, x);
	run_rerate(w, replica);
	run_next(w, replica);
	replica_dirty(w, replica);
}

void runs_release_over(struct orr_serve *w)
{
	while (w->n_over)
		run_free(w, &w->run[w->over[--w->n_over]]);
	w->over_told = 0;
}

/* ---- lost replicas, lost requests, the end of the world ---- */

static void lose_queue(struct orr_serve *w, const struct run_list *l)
{
	while (l->first != NONE) {
		struct run *x = &w->run[l->first];
		if (x->state == RUN_SENDING && w->front)
			front_cancel(w, x);
		if (x->state == RUN_LATER)
			eng_cancel(w->host.engine, x->end);
		unlink_run(w, x);
		give_members(w, x, true);
		run_free(w, x);
	}
}

void runs_lost(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	lose_queue(w, &r->sending);
	lose_queue(w, &r->waiting);
	lose_queue(w, &r->later);
	r->later_until_s = 0;
	while (r->runs.first != NONE) {
		struct run *x = &w->run[r->runs.first];
		serve_metrics_lost(w, x->alone_s - run_left(w, x));
		r->n_reserved -= x->state == RUN_SENDING;
		if (x->state == RUN_SENDING)
			front_cancel(w, x);
		run_stop(w, x);
		give_members(w, x, true);
		run_free(w, x);
	}
}

void runs_free(struct orr_serve *w)
{
	front_free(w);
	for (uint32_t i = 0; i < w->n_run; i++) {
		mem_free(w->run[i].handle);
		mem_free(w->run[i].next_in);
	}
	mem_free(w->run);
	mem_free(w->free_run);
	mem_free(w->over);
	for (uint32_t i = 0; i < w->n_replicas; i++)
		mem_free(w->replica[i].loaded_s);
}
