/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Iterations of a lane, and their repetition without calls of the policy. */
#include "serve/due.h"
#include "serve/explain.h"
#include "serve/lane.h"
#include "serve/metrics.h"
#include "serve/router.h"
#include "serve/speculate.h"
#include "serve/stages.h"

#include "base/mem.h"

#include <math.h>

/* ---- one iteration ---- */

/* Every field is initialised by name, because compilers clear the other fields of such a struct with a slow block-store instruction. */
static double decode_s(const struct lane *l, uint32_t decodes, uint64_t context)
{
	struct llm_load x = {
		.decodes = decodes, .prompts = 0, .prompt_tokens = 0, .decode_context = (double)context, .prompt_pairs = 0, .checked = 0
	};
	return served_iteration(l->on, &x);
}

static double iteration_s(struct orr_serve *w, struct lane *l, uint32_t need)
{
	struct llm_load x = { .decodes = l->flying,
		.prompts = 0,
		.prompt_tokens = 0,
		.decode_context = l->flying ? (double)l->context : 0,
		.prompt_pairs = 0,
		.checked = 0 };
	for (uint32_t i = 0; i < l->n_list; i++) {
		const struct req *q = &w->req[l->list[i]];
		x.prompts++;
		x.prompt_tokens += q->next_tokens;
		x.prompt_pairs += (double)q->next_tokens * ((double)q->done + q->next_tokens);
	}
	double s = l->speculates ? speculate_s(w, l, &x, need) : served_iteration(l->on, &x);
	if (l->group)
		lane_count_messages(w, l, &x);
	return s;
}

/*
 * Returns the end of an iteration of d seconds. If all iterations of a repetition take equally long, the end is the start of
 * the first plus a multiple of d, so rounding errors do not add up.
 */
static double end_after(struct lane_series *l, double start_s, double d)
{
	if (!l->alike || d != l->each_s) {
		l->base_s = start_s;
		l->each_s = d;
		l->alike = 0;
	}
	l->alike++;
	return l->base_s + d * (double)l->alike;
}

/* Starts an iteration of d seconds at start_s; the decodes take `need` blocks for it. */
static void take_off_for(struct orr_serve *w, struct lane *l, double start_s, uint32_t need, double d)
{
	l->start_s = start_s;
	l->is_flying = true;
	if (need)
		kv_spend_at(w, l, need, start_s);
	l->taken = need;
	l->late = 0;
	l->copying_s = l->copy_s + kv_load_wait_s(l, start_s, d);
	l->copy_s = 0;
	l->end_s = end_after(&l->series, start_s, d + l->copying_s);
}

static void take_off(struct orr_serve *w, struct lane *l, double start_s, uint32_t need)
{
	take_off_for(w, l, start_s, need, iteration_s(w, l, need));
	if (l->copying_s > 0)
		explain_iteration(w, l);
}

/* Adds the processed part of a prompt. Returns whether the prompt and the output are complete. */
static bool land_prompt(struct orr_serve *w, struct lane *l, struct req *q)
{
	q->done += q->next_tokens;
	q->next_tokens = 0;
	kv_publish(w, l, q);
	if (q->done < q->prompt)
		return false;
	q->done++;
	q->outputs++;
	router_prefilled(w, req_handle(w, req_slot(w, q)), l->replica);
	if (isnan(q->first_token_s)) {
		q->first_token_s = l->end_s;
	} else {
		double gap = l->end_s - q->last_token_s;
		q->max_gap_s = gap > q->max_gap_s ? gap : q->max_gap_s;
		serve_metrics_gap(w, gap, 1);
	}
	q->last_token_s = l->end_s;
	if (q->outputs >= q->output_asked)
		return true;
	if (l->hands_off && w->hand_off(w, l, q))
		return false;
	q->is_paused = l->flags & ORR_ITER_HOLD;
	if (q->is_paused)
		explain_paused(w, q);
	else
		decodes_join(w, l, q);
	return false;
}

/* Ends a request whose output is complete. */
static void complete(struct orr_serve *w, struct lane *l, struct req *q)
{
	lane_depart(w, l, q);
	kv_give(w, l, q);
	req_end(w, q, ORR_REQ_COMPLETED, l->end_s);
}

/* Handles the end of the iteration in flight. Returns whether a request ended at the same time. */
static bool land(struct orr_serve *w, struct lane *l)
{
	double prompt_tokens = 0;
	bool has_ended = false;
	explain_landed(w, l);
	uint32_t decodes = l->flying;
	if (decodes)
		decodes_advance(w, l, l->end_s);
	l->is_flying = false;
	l->flying = 0;
	if (l->speculates)
		speculate_land(w, l, decodes);
	for (uint32_t slot; (slot = decodes_ended(l)) != NONE; has_ended = true)
		complete(w, l, &w->req[slot]);
	for (uint32_t i = 0; i < l->n_list; i++) {
		struct req *q = &w->req[l->list[i]];
		prompt_tokens += q->next_tokens;
		if (land_prompt(w, l, q)) {
			complete(w, l, q);
			has_ended = true;
		}
	}
	l->n_list = 0;
	serve_metrics_tokens(w, 1, prompt_tokens);
	return has_ended;
}

/* ---- repetition ---- */

static void on_end(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

static void await_end_at(struct orr_serve *w, struct lane *l, double end_s)
{
	l->event = eng_at(w->host.engine, serve_ns(end_s), PRIO_RUN_END, on_end, w, l->replica, 0);
}

static void await_end(struct orr_serve *w, struct lane *l)
{
	await_end_at(w, l, l->end_s);
}

static void stop(struct orr_serve *w, struct lane *l)
{
	l->again_ns = -1;
	explain_rests(w, l);
	replica_set_busy(w, l->replica, false);
	replica_dirty(w, l->replica);
}

static inline bool has_room(const struct lane *l, uint32_t need)
{
	return (uint64_t)need + l->keep_free <= l->avail;
}

/* Returns whether neither the policy nor another world on the clock acts before the next event. */
static bool is_quiet(const struct orr_serve *w)
{
	bool others_rest = w->owns_host || (w->host.is_quiet && w->host.is_quiet(w->host.ctx));
	return others_rest && !w->n_dirty && !w->n_arrived && !w->n_over && w->first_ended == NONE && !w->n_event;
}

/* Returns the time before which ends of iterations affect no other event: the time of the next event or of the end of the run, less the
 * rounding. */
static double quiet_until(struct orr_serve *w)
{
	int64_t next, end = w->config->until_ns;
	if (!is_quiet(w))
		return -INFINITY;
	if (!eng_next_time(w->host.engine, &next) || next > end)
		next = end;
	if (next == ORR_NEVER)
		return INFINITY;
	return next <= eng_now(w->host.engine) + 2 ? -INFINITY : (double)(next - 2) / 1e9;
}

/*
 * Plans the iterations that follow the one in flight until a decode ends, blocks run short, or the plan is full. Changes nothing else.
 * first_end: the clock at which the first decode ends. Returns the end of the last iteration of the plan. Lanes with messages between nodes
 * have no plan, because the bytes of an iteration are counted when it starts. Lanes with tiers have none, because other lanes see their
 * blocks.
 */
static double plan(struct lane *l, uint64_t first_end)
{
	struct lane_series x = l->series;
	uint64_t next = l->clock + 1, context = l->context + l->flying, avail = l->avail;
	uint64_t most = l->left < l->plan_most ? l->left : l->plan_most;
	double end_s = l->end_s;
	struct served_decodes f;
	l->at_plan = l->n_plan = 0;
	if (l->group || l->has_tiers)
		return end_s;
	bool has_form = served_decodes(l->on, l->ends.n, &f);
	for (; l->n_plan < most && next < first_end; next++, context += l->ends.n) {
		uint32_t need = l->ring[next % l->block_tokens];
		bool is_in_ring = !l->later.n || l->later.v[0].clock >= next + l->block_tokens;
		if (!is_in_ring || need + (uint64_t)l->keep_free > avail)
			break;
		avail -= need;
		double d = has_form ? served_decodes_s(&f, (double)context) : decode_s(l, l->ends.n, context);
		l->plan[l->n_plan++] = d;
		end_s = end_after(&x, end_s, d);
	}
	return end_s;
}

/*
 * Starts the next iteration of a repetition. The repetition must have at least one iteration left, and room for it. Inlined:
 * iterations that end before any other event and do not end the repetition have no separate event.
 */
static void go_on(struct orr_serve *w, struct lane *l, uint32_t need)
{
	bool speculates = l->speculates;
	double until = speculates ? -INFINITY : quiet_until(w);
	uint64_t first_end = l->ends.v[0].clock, ahead = 0; /* ahead: number of iterations that end without an event */
	uint32_t flying = l->ends.n;
	for (;;) {
		l->flying = flying;
		take_off(w, l, l->end_s, need);
		l->left--;
		if (!(l->end_s < until) || !l->left || l->clock + 1 >= first_end)
			break;
		uint32_t next = decodes_need(w, l);
		if (!has_room(l, next))
			break;
		decodes_advance(w, l, l->end_s);
		l->is_flying = false;
		need = next;
		ahead++;
	}
	serve_metrics_tokens(w, (double)ahead, 0);
	l->again_ns = ahead ? -1 : eng_now(w->host.engine);
	await_end_at(w, l, speculates ? l->end_s : plan(l, first_end));
}

/* Ends the iteration in flight, which is not the last of the plan, and starts the next one. */
static void pass(struct orr_serve *w, struct lane *l)
{
	double end_s = l->end_s;
	decodes_advance(w, l, end_s);
	l->is_flying = false;
	serve_metrics_tokens(w, 1, 0);
	uint32_t need = decodes_need(w, l);
	l->flying = l->ends.n;
	take_off_for(w, l, end_s, need, l->plan[l->at_plan++]);
	l->left--;
	l->again_ns = serve_ns(end_s);
}

void lane_catch_up(struct orr_serve *w, struct lane *l)
{
	int64_t now = eng_now(w->host.engine);
	while (l->at_plan < l->n_plan && serve_ns(l->end_s) <= now) {
		if (serve_ns(l->end_s) == now)
			serve_happen(w, l->end_s);
		pass(w, l);
	}
}

void lane_interrupt(struct orr_serve *w, struct lane *l)
{
	lane_catch_up(w, l);
	if (l->at_plan == l->n_plan)
		return;
	l->at_plan = l->n_plan = 0;
	l->plan_most = l->plan_most > 1 ? l->plan_most / 2 : 1;
	eng_cancel(w->host.engine, l->event);
	await_end(w, l);
}

static void on_end(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct orr_serve *w = ctx;
	struct lane *l = w->replica[subject].lane;
	if (l->n_plan == l->plan_most && l->plan_most < LANE_PLAN)
		l->plan_most *= 2;
	while (l->at_plan < l->n_plan)
		pass(w, l);
	serve_happen(w, l->end_s);
	bool has_ended = land(w, l);
	if (has_ended || l->is_cut || !l->left || !l->ends.n || w->error.code) {
		stop(w, l);
		return;
	}
	uint32_t need = decodes_need(w, l);
	if (has_room(l, need))
		go_on(w, l, need);
	else
		stop(w, l);
}

static inline void fetch_bytes(const void *from, size_t n)
{
	for (const char *at = from, *end = at + n; at < end; at += 64)
		mem_fetch_to_write(at);
}

/* The lanes of a large fleet exceed the processor's caches. */
static void fetch_lane(const void *ctx, uint64_t subject, unsigned step)
{
	const struct orr_serve *w = ctx;
	const struct replica *r = &w->replica[subject];
	const struct lane *l = r->lane;
	switch (step) {
	case 0:
		mem_fetch(&r->lane);
		mem_fetch(&r->up_since_s);
		break;
	case 1:
		fetch_bytes(l, sizeof *l);
		break;
	case 2:
		mem_fetch(l->ends.v);
		mem_fetch(l->fresh);
		mem_fetch_to_write(l->ring);
		if (l->n_gap)
			mem_fetch_to_write(&l->gap[l->n_gap - 1]);
		break;
	default:
		if (l->ends.n && l->ends.v[0].clock <= l->clock + 1 + (l->n_plan - l->at_plan))
			fetch_bytes(&w->req[l->ends.v[0].slot], sizeof *w->req);
		if (l->n_fresh)
			fetch_bytes(&w->req[l->fresh[0]], sizeof *w->req);
	}
}

void lanes_foresee(const struct orr_serve *w)
{
	eng_foresee(w->host.engine, on_end, fetch_lane);
}

/* Undoes an iteration of a repetition that started in this instant, if possible. */
static bool take_back(struct orr_serve *w, struct lane *l)
{
	if (l->again_ns != eng_now(w->host.engine) || l->late)
		return false;
	eng_cancel(w->host.engine, l->event);
	explain_landed(w, l);
	l->end_s = l->start_s;
	kv_free(w, l, l->taken);
	speculate_drop(w, l);
	l->copy_s += l->copying_s;
	w->metrics->group_bytes -= l->network_bytes;
	l->is_flying = false;
	l->flying = 0;
	stop(w, l);
	return true;
}

/* Sets the end of the running iteration to now plus its remaining time. */
static void end_from_now(struct orr_serve *w, struct lane *l)
{
	double gone = w->now_s - l->series.base_s, end_s = w->now_s + (l->series.each_s * (double)l->series.alike - gone);
	if (!(gone >= 0) || floor(gone / l->series.each_s) + 1 != (double)l->series.alike || serve_ns(end_s) < eng_now(w->host.engine))
		return;
	eng_cancel(w->host.engine, l->event);
	l->end_s = end_s;
	await_end(w, l);
}

static void cut(struct orr_serve *w, struct lane *l)
{
	if (!l->is_flying || l->is_cut || take_back(w, l))
		return;
	l->is_cut = true;
	end_from_now(w, l);
}

/* Returns the number of iterations per call of the scheduler; like the host's other values, for models by layers only. */
static uint64_t steps_of(const struct orr_serve *w, const struct lane *l)
{
	return served_has_precision(l->model) ? w->set->steps : 1;
}

/*
 * Returns the number of iterations after the one in flight that an arrival has to wait for: the remaining steps of this call of
 * the scheduler.
 */
static uint64_t steps_left(const struct orr_serve *w, const struct lane *l)
{
	uint64_t steps = steps_of(w, l), done = l->clock - l->first_clock;
	bool is_first = done % steps == 0 && l->again_ns == eng_now(w->host.engine); /* take_back() can undo it */
	return l->n_list || l->stages || is_first ? 0 : steps - 1 - done % steps;
}

void lane_arrival(struct orr_serve *w, uint32_t replica)
{
	struct lane *l = lane_on(w, replica);
	if (!l || l->flags & ORR_ITER_THROUGH)
		return;
	uint64_t more = steps_of(w, l) > 1 && l->is_flying ? steps_left(w, l) : 0;
	w->used |= more ? SERVE_USED_STEPS : 0;
	if (!more)
		cut(w, l);
	else if (l->left > more)
		l->left = more;
}

void lane_wake(struct orr_serve *w, uint32_t replica)
{
	struct lane *l = lane_on(w, replica);
	if (l)
		cut(w, l);
}

void lane_abandon(struct orr_serve *w, struct lane *l)
{
	lane_interrupt(w, l);
	if (!l->is_flying)
		return;
	if (l->stages) {
		micro_abandon(w, l);
		return;
	}
	eng_cancel(w->host.engine, l->event);
	explain_landed(w, l);
	explain_rests(w, l);
	serve_metrics_lost(w, w->now_s - l->start_s);
	kv_free(w, l, l->taken);
	speculate_drop(w, l);
	l->is_flying = false;
	l->flying = 0;
	while (l->n_list)
		w->req[l->list[--l->n_list]].next_tokens = 0;
	replica_set_busy(w, l->replica, false);
}

/* ---- actions ---- */

void orr_iter_prefill(struct orr_serve *w, orr_req r, uint32_t tokens)
{
	struct req *q = lane_actor(w, r, ORR_REQ_RESIDENT, "orr_iter_prefill()");
	if (!q)
		return;
	struct lane *l = lane_of(w, q);
	if (l->is_flying && !l->stages)
		serve_fail(w, ORR_EFAIL, q, "orr_iter_prefill(): an iteration runs on replica %u: expected a call between iterations",
			q->replica);
	else if (q->next_tokens)
		serve_fail(w, ORR_EFAIL, q, "orr_iter_prefill() twice for one iteration: expected one call per request");
	else if (q->done >= q->prompt)
		serve_fail(w, ORR_EFAIL, q, "orr_iter_prefill() of a request whose prompt is complete: expected tokens left to prefill");
	else if (!tokens || tokens > q->prompt - q->done)
		serve_fail(w, ORR_EFAIL, q, "orr_iter_prefill() of %u tokens: expected 1 to %u, the tokens left of its prompt", tokens,
			q->prompt - q->done);
	else if ((uint64_t)q->done + tokens > kv_holds(l, q) * l->block_tokens)
		serve_fail(w, ORR_EFAIL, q, "orr_iter_prefill() of %u tokens after %u: its %u blocks hold %u: expected enough blocks",
			tokens, q->done, (unsigned)kv_holds(l, q), (unsigned)(kv_holds(l, q) * l->block_tokens));
	else {
		q->next_tokens = tokens;
		MEM_GROW(l->list, l->n_list, l->cap_list);
		l->list[l->n_list++] = req_slot(w, q);
	}
}

/* The lane's own time is exact; the engine's time is rounded. */
static double start_time(const struct orr_serve *w, const struct lane *l)
{
	return l->end_s >= 0 && serve_ns(l->end_s) == eng_now(w->host.engine) ? l->end_s : w->now_s;
}

void orr_iter_run(struct orr_serve *w, uint32_t replica, uint64_t most, uint32_t keep_free, unsigned flags)
{
	struct lane *l = serve_may_act(w, "orr_iter_run()") ? lane_at(w, replica, "orr_iter_run()") : NULL;
	if (!l)
		return;
	if (flags & ~(unsigned)(ORR_ITER_DECODE | ORR_ITER_THROUGH | ORR_ITER_HOLD)) {
		serve_fail(w, ORR_EFAIL, NULL, "orr_iter_run() on replica %u: unknown flags in 0x%x: expected ORR_ITER_* flags", replica,
			flags);
		return;
	}
	if (l->stages) {
		micro_run(w, l, start_time(w, l), flags);
		return;
	}
	uint32_t decodes = flags & ORR_ITER_DECODE ? l->ends.n : 0, need = decodes ? decodes_need(w, l) : 0;
	if (l->is_flying || (!decodes && !l->n_list)) {
		serve_fail(w, ORR_EFAIL, NULL, "orr_iter_run() on replica %u: %s", replica,
			l->is_flying ? "an iteration runs: expected a call between iterations"
				     : "there is nothing to do: expected a prefill or a decode");
		return;
	}
	if (need > l->avail) {
		serve_fail(w, ORR_EFAIL, NULL,
			"orr_iter_run() on replica %u: its decodes need %u blocks for their next token: expected at most %u, the free "
			"blocks",
			replica, need, l->avail);
		return;
	}
	double start_s = start_time(w, l);
	for (uint32_t i = 0; i < l->n_list; i++)
		if (isnan(w->req[l->list[i]].first_start_s))
			w->req[l->list[i]].first_start_s = start_s;
	l->flags = flags;
	l->left = l->n_list ? 0 : most ? most - 1 : UINT64_MAX;
	l->keep_free = keep_free;
	l->is_cut = false;
	l->first_clock = l->clock;
	l->flying = decodes;
	l->series.alike = 0;
	take_off(w, l, start_s, need);
	if (!(l->copying_s > 0))
		explain_iteration(w, l);
	l->again_ns = -1;
	replica_set_busy(w, replica, true);
	await_end(w, l);
}

void orr_stage_run(struct orr_serve *w, uint32_t replica, uint32_t stage)
{
	struct lane *l = serve_may_act(w, "orr_stage_run()") ? lane_at(w, replica, "orr_stage_run()") : NULL;
	if (!l)
		return;
	if (!orr_stage_is_idle(w, replica, stage) || !l->stages->is_by_stage || !l->n_list) {
		serve_fail(w, ORR_EFAIL, NULL, "orr_stage_run() on stage %u of replica %u: %s", stage, replica,
			!l->stages || !l->stages->is_by_stage ? "expected a policy that declares ORR_SERVE_BY_STAGE"
			: !l->n_list                          ? "there is nothing to do: expected a prefill or a decode"
							      : "expected an idle stage");
		return;
	}
	micro_run_stage(w, l, stage, start_time(w, l));
}

bool orr_stage_again(struct orr_serve *w, uint32_t replica, uint64_t most)
{
	struct lane *l = serve_may_act(w, "orr_stage_again()") ? lane_at(w, replica, "orr_stage_again()") : NULL;
	if (!l)
		return false;
	if (!l->stages || !l->stages->is_by_stage) {
		serve_fail(
			w, ORR_EFAIL, NULL, "orr_stage_again() on replica %u: expected a policy that declares ORR_SERVE_BY_STAGE", replica);
		return false;
	}
	return orr_stage_is_idle(w, replica, 0) && micro_run_again(w, l, most, start_time(w, l));
}

void orr_iter_cut(struct orr_serve *w, uint32_t replica)
{
	struct lane *l = serve_may_act(w, "orr_iter_cut()") ? lane_at(w, replica, "orr_iter_cut()") : NULL;
	if (!l)
		return;
	if (l->is_flying)
		cut(w, l);
	else
		serve_fail(w, ORR_EFAIL, NULL, "orr_iter_cut() on replica %u: expected a running iteration", replica);
}

bool orr_req_in_flight(const struct orr_serve *w, orr_req r)
{
	const struct req *q = req_of(w, r);
	const struct lane *l = q && q->state == ORR_REQ_RESIDENT ? lane_seen(w, q->replica) : NULL;
	return l && (q->next_tokens || lane_is_in_flight(l, q));
}

uint32_t orr_decodes_need(const struct orr_serve *w, uint32_t replica)
{
	struct lane *l = (struct lane *)(uintptr_t)lane_seen(w, replica);
	return l ? decodes_need((struct orr_serve *)(uintptr_t)w, l) : 0;
}

double orr_iter_estimate(const struct orr_serve *w, uint32_t replica, uint32_t decodes, double context, uint32_t tokens, uint32_t before)
{
	const struct lane *l = lane_seen(w, replica);
	struct llm_load x = { .decodes = decodes,
		.prompts = tokens ? 1 : 0,
		.prompt_tokens = tokens,
		.decode_context = context,
		.prompt_pairs = (double)tokens * ((double)before + tokens) };
	return l ? served_iteration(l->on, &x) : NAN;
}
