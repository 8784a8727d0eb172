/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Micro-batches of a lane with pipeline stages: formed by the policy, passed from stage to stage, ended. */
#include "serve/due.h"
#include "serve/explain.h"
#include "serve/metrics.h"
#include "serve/router.h"
#include "serve/stages.h"

#include "base/mem.h"

#include <math.h>

/* ---- stages ---- */

/* Lanes with stages have no plan to catch up with. */
static struct lane *plain_lane(const struct orr_serve *w, uint32_t replica)
{
	return replica < w->n_replicas ? w->replica[replica].lane : NULL;
}

static void on_stage_end(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

/* Starts the head of a stage's queue if the stage is free. */
static void kick(struct orr_serve *w, struct lane *l, uint32_t stage, double now_s)
{
	struct stages *s = l->stages;
	struct stage *x = &s->stage[stage];
	if (x->running != NONE || x->first == NONE)
		return;
	struct micro *m = &s->micro[x->first];
	double d = served_stage_s(l->on, &m->load, stage);
	x->running = x->first;
	x->first = m->next;
	if (x->first == NONE)
		x->last = NONE;
	if (!stage) {
		d += l->copy_s + kv_load_wait_s(l, now_s, d);
		l->copy_s = 0;
		m->start_s = now_s;
		explain_micro_starts(w, m->member, m->n);
	}
	x->end_s = now_s + d;
	x->order = s->starts++;
	x->event = eng_at(w->host.engine, serve_ns(x->end_s), PRIO_RUN_END, on_stage_end, w, l->replica, 0);
}

static void enqueue(struct stages *s, uint32_t stage, uint32_t micro)
{
	struct stage *x = &s->stage[stage];
	s->micro[micro].next = NONE;
	*(x->last == NONE ? &x->first : &s->micro[x->last].next) = micro;
	x->last = micro;
}

/* ---- end of a micro-batch ---- */

/* Equal gaps in a row, which are counted together. */
struct gaps {
	double gap_s;
	uint64_t n;
};

static void count_gap(struct orr_serve *w, struct req *q, double end_s, struct gaps *g)
{
	if (isnan(q->first_token_s)) {
		q->first_token_s = end_s;
	} else {
		double gap = end_s - q->last_token_s;
		q->max_gap_s = gap > q->max_gap_s ? gap : q->max_gap_s;
		if (gap < g->gap_s || gap > g->gap_s) {
			if (g->n)
				serve_metrics_gap(w, g->gap_s, g->n);
			*g = (struct gaps){ gap, 0 };
		}
		g->n++;
	}
	q->last_token_s = end_s;
}

/* Adds the tokens of the micro-batch to a member; returns the number of its prompt tokens among them. */
static uint32_t add_tokens(struct orr_serve *w, struct lane *l, struct req *q, double end_s, struct gaps *g)
{
	uint32_t prompt_tokens = q->done < q->prompt ? q->next_tokens : 0;
	q->is_on_stage = false;
	q->stage = 0;
	q->done += q->next_tokens;
	q->next_tokens = 0;
	if (prompt_tokens) {
		kv_publish(w, l, q);
		if (q->done < q->prompt)
			return prompt_tokens;
		q->done++;
		router_prefilled(w, req_handle(w, req_slot(w, q)), l->replica);
		l->stages->decodes++;
	}
	q->outputs++;
	count_gap(w, q, end_s, g);
	return prompt_tokens;
}

/* Ends members whose output is complete, in order; the others are idle, or leave for a decode replica. */
static void release(struct orr_serve *w, struct lane *l, struct micro *m, double end_s)
{
	struct stages *s = l->stages;
	uint32_t kept = 0, n = m->n;
	/* A policy that starts the only stage itself may run the same decodes again (orr_stage_again()). */
	bool may_stay = s->is_by_stage && s->n == 1 && !m->load.prompts && !s->n_back;
	for (uint32_t i = 0; i < n; i++) {
		struct req *q = &w->req[m->member[i]];
		if (q->outputs >= q->output_asked && q->done >= q->prompt) {
			lane_depart(w, l, q);
			kv_give(w, l, q);
			req_end(w, q, ORR_REQ_COMPLETED, end_s);
			continue;
		}
		bool has_ended_prompt = q->done == q->prompt + 1; /* decodes stay, also after a change of roles */
		if (may_stay)
			m->member[kept++] = m->member[i];
		else if (!l->hands_off || !has_ended_prompt || !w->hand_off(w, l, q))
			stages_return(w, s, q);
	}
	s->n_again = kept;
}

/* Gives the members their tokens. */
static void land(struct orr_serve *w, struct lane *l, struct micro *m)
{
	double prompt_tokens = 0;
	struct gaps g = { 0, 0 };
	explain_micro_ends(w, m->member, m->n);
	for (uint32_t i = 0; i < m->n; i++)
		prompt_tokens += add_tokens(w, l, &w->req[m->member[i]], l->end_s, &g);
	if (g.n)
		serve_metrics_gap(w, g.gap_s, g.n);
	explain_micro_idle(w, m->member, m->n);
	l->start_s = m->start_s; /* for orr_move(): the iteration that ended now */
	release(w, l, m, l->end_s);
	serve_metrics_tokens(w, 1, prompt_tokens);
}

/* Counts the end of a micro-batch, or of the run of a stage. */
static void settle(struct orr_serve *w, struct lane *l)
{
	l->stages->in_flight--;
	l->is_flying = l->stages->in_flight > 0;
	if (!l->is_flying)
		replica_set_busy(w, l->replica, false);
	replica_dirty(w, l->replica);
}

/* By stage: hands the members of the stage's run to the policy, or gives them their tokens. */
static void leave_stage(struct orr_serve *w, struct lane *l, uint32_t stage)
{
	struct stages *s = l->stages;
	struct micro *m = &s->micro[stage];
	if (stage + 1 == s->n) {
		land(w, l, m);
	} else {
		for (uint32_t i = 0; i < m->n; i++) {
			struct req *q = &w->req[m->member[i]];
			q->is_on_stage = false;
			q->stage = (uint16_t)(stage + 1);
			stages_return(w, s, q);
		}
		explain_micro_ends(w, m->member, m->n);
	}
	settle(w, l);
}

/* Returns the stage that ends first at this instant. Ends within one ns are handled in the order of their exact times. */
static uint32_t first_end(const struct stages *s, int64_t now)
{
	uint32_t best = NONE;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct stage *x = &s->stage[i], *y = best == NONE ? NULL : &s->stage[best];
		if (x->running == NONE || serve_ns(x->end_s) > now)
			continue;
		if (!y || x->end_s < y->end_s || (x->end_s == y->end_s && x->order < y->order))
			best = i;
	}
	return best;
}

static void on_stage_end(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)arg;
	struct orr_serve *w = ctx;
	struct lane *l = w->replica[subject].lane;
	struct stages *s = l->stages;
	uint32_t i = first_end(s, eng_now(e)), micro = s->stage[i].running;
	serve_happen(w, s->stage[i].end_s);
	l->end_s = s->stage[i].end_s;
	s->stage[i].running = NONE;
	if (s->is_by_stage) {
		leave_stage(w, l, i);
		return;
	}
	kick(w, l, i, l->end_s);
	if (i + 1 < s->n) {
		enqueue(s, i + 1, micro);
		kick(w, l, i + 1, l->end_s);
	} else {
		land(w, l, &s->micro[micro]);
		s->micro[micro].next = s->free;
		s->free = micro;
		settle(w, l);
	}
}

void micro_abandon(struct orr_serve *w, struct lane *l)
{
	struct stages *s = l->stages;
	double since_s = w->now_s;
	for (uint32_t i = 0; i < s->n; i++) {
		struct stage *x = &s->stage[i];
		if (x->running == NONE)
			continue;
		eng_cancel(w->host.engine, x->event);
		since_s = fmin(since_s, s->micro[x->running].start_s);
	}
	serve_metrics_lost(w, w->now_s - since_s);
	s->in_flight = 0;
	l->is_flying = false;
	while (l->n_list)
		w->req[l->list[--l->n_list]].next_tokens = 0;
	replica_set_busy(w, l->replica, false);
}

/* ---- forming ---- */

/* Adds the work of a member. Returns the tokens in its cache if it decodes. */
static uint64_t add_work(struct llm_load *x, const struct req *q)
{
	if (q->done > q->prompt) {
		x->decodes++;
		return q->done;
	}
	x->prompts++;
	x->prompt_tokens += q->next_tokens;
	x->prompt_pairs += (double)q->next_tokens * ((double)q->done + q->next_tokens);
	return 0;
}

/* The members and the work of the micro-batch are set. */
static void begin(struct orr_serve *w, struct lane *l, const struct micro *m)
{
	explain_micro_formed(w, l->replica, m->member, m->n);
	l->is_flying = true;
	l->stages->in_flight++;
	replica_set_busy(w, l->replica, true);
}

/* Moves the list to the micro-batch. */
static void take_members(struct orr_serve *w, struct lane *l, struct micro *m, double start_s)
{
	struct llm_load x = { 0 };
	uint64_t context = 0;
	uint32_t *member = l->list, n = l->n_list, cap = l->cap_list;
	if (l->stages->n_again)
		stages_return_again(w, l->stages);
	for (uint32_t i = 0; i < n; i++) {
		struct req *q = &w->req[member[i]];
		if (isnan(q->first_start_s))
			q->first_start_s = start_s;
		q->stamp = 0;
		q->is_on_stage = l->stages->is_by_stage;
		context += add_work(&x, q);
	}
	l->list = m->member; /* the lists change places */
	l->cap_list = m->cap;
	l->n_list = 0;
	m->member = member;
	m->cap = cap;
	m->n = n;
	x.decode_context = (double)context;
	m->load = x;
	begin(w, l, m);
}

static const char *wrong_run(const struct lane *l, unsigned flags)
{
	return l->stages->is_by_stage ? "expected orr_stage_run(), because the policy declares ORR_SERVE_BY_STAGE"
	       : flags & ORR_ITER_DECODE
		       ? "ORR_ITER_DECODE with micro-batches in flight: expected the decodes to be listed by orr_micro_decode()"
	       : flags & ORR_ITER_HOLD
		       ? "ORR_ITER_HOLD with micro-batches in flight: expected none, because no request decodes unless listed"
	       : !l->n_list              ? "there is nothing to do: expected a prefill or a decode"
	       : l->stages->free == NONE ? "all micro-batches are in flight: expected a call while orr_micro_slots() is above 0"
					 : NULL;
}

void micro_run(struct orr_serve *w, struct lane *l, double start_s, unsigned flags)
{
	struct stages *s = l->stages;
	const char *wrong = wrong_run(l, flags);
	if (wrong) {
		serve_fail(w, ORR_EFAIL, NULL, "orr_iter_run() on replica %u: %s", l->replica, wrong);
		return;
	}
	uint32_t micro = s->free;
	struct micro *m = &s->micro[micro];
	s->free = m->next;
	take_members(w, l, m, start_s);
	if (l->group)
		lane_count_messages(w, l, &m->load);
	enqueue(s, 0, micro);
	kick(w, l, 0, start_s);
}

/* ---- by stage ---- */

/* Runs micro[stage] on the stage. */
static void start_stage(struct orr_serve *w, struct lane *l, uint32_t stage, double start_s)
{
	struct stages *s = l->stages;
	struct micro *m = &s->micro[stage];
	struct stage *x = &s->stage[stage];
	if (l->group && !stage)
		lane_count_messages(w, l, &m->load);
	double d = served_stage_s(l->on, &m->load, stage);
	if (!stage) {
		d += l->copy_s + kv_load_wait_s(l, start_s, d);
		l->copy_s = 0;
	}
	m->start_s = start_s;
	explain_micro_starts(w, m->member, m->n);
	x->running = stage;
	x->end_s = start_s + d;
	x->order = s->starts++;
	x->event = eng_at(w->host.engine, serve_ns(x->end_s), PRIO_RUN_END, on_stage_end, w, l->replica, 0);
}

void micro_run_stage(struct orr_serve *w, struct lane *l, uint32_t stage, double start_s)
{
	struct stages *s = l->stages;
	for (uint32_t i = 0; i < l->n_list && s->n > 1; i++) {
		struct req *q = &w->req[l->list[i]];
		if (q->stage == stage)
			continue;
		serve_fail(w, ORR_EFAIL, q, "orr_stage_run() on stage %u of replica %u: this request waits at stage %u: expected one stage",
			stage, l->replica, q->stage);
		return;
	}
	take_members(w, l, &s->micro[stage], start_s);
	start_stage(w, l, stage, start_s);
}

/* A decode takes a block when its tokens fill those that it holds. */
static inline bool needs_a_block(const struct lane *l, const struct req *q)
{
	return q->done > kv_holds(l, q) * l->block_tokens;
}

bool micro_run_again(struct orr_serve *w, struct lane *l, uint64_t most, double start_s)
{
	struct stages *s = l->stages;
	struct micro *m = &s->micro[0];
	uint64_t context = 0;
	uint32_t n = s->n_again, need = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct req *q = &w->req[m->member[i]];
		context += q->done;
		need += needs_a_block(l, q);
	}
	if (!n || s->n_back || l->n_list || context > most || need > l->avail)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct req *q = &w->req[m->member[i]];
		q->kv_held += needs_a_block(l, q);
		q->next_tokens = 1;
		q->is_on_stage = true;
	}
	if (need)
		kv_spend(w, l, need);
	s->n_again = 0;
	m->n = n;
	m->load = (struct llm_load){ .decodes = n, .decode_context = (double)context };
	begin(w, l, m);
	start_stage(w, l, 0, start_s);
	return true;
}

void orr_stage_add(struct orr_serve *w, orr_req r)
{
	struct req *q = lane_actor(w, r, ORR_REQ_RESIDENT, "orr_stage_add()");
	if (!q)
		return;
	struct lane *l = plain_lane(w, q->replica);
	if (!l->stages || !l->stages->is_by_stage || !q->stage || q->is_on_stage || q->stamp) {
		serve_fail(w, ORR_EFAIL, q, "orr_stage_add(): expected a request that waits at a stage after the first, listed once");
		return;
	}
	q->stamp = 1; /* listed */
	MEM_GROW(l->list, l->n_list, l->cap_list);
	l->list[l->n_list++] = req_slot(w, q);
}

bool orr_stage_is_idle(const struct orr_serve *w, uint32_t replica, uint32_t stage)
{
	const struct lane *l = plain_lane(w, replica);
	return l && l->stages && stage < l->stages->n && l->stages->stage[stage].running == NONE;
}

uint32_t orr_req_stage(const struct orr_serve *w, orr_req r)
{
	const struct req *q = req_of(w, r);
	return q ? q->stage : 0;
}

/* ---- queries of policies ---- */

uint32_t orr_micro_stages(const struct orr_serve *w, uint32_t replica)
{
	bool has_stages = w->set->pipeline == PIPELINE_MICRO_BATCHES || (w->policy->flags & ORR_SERVE_BY_STAGE);
	if (replica >= w->n_replicas || !has_stages)
		return 1;
	return w->config->deployment[w->replica[replica].deployment].pp;
}

uint32_t orr_micro_slots(const struct orr_serve *w, uint32_t replica)
{
	const struct lane *l = plain_lane(w, replica);
	return !l ? 0 : l->stages ? l->stages->n - l->stages->in_flight : !l->is_flying;
}

orr_req orr_micro_returned(struct orr_serve *w, uint32_t replica)
{
	struct lane *l = plain_lane(w, replica);
	struct stages *s = l ? l->stages : NULL;
	if (s && s->n_again)
		stages_return_again(w, s);
	while (s && s->at_back < s->n_back) {
		orr_req r = s->back[s->at_back++];
		const struct req *q = req_of(w, r);
		if (q && q->state == ORR_REQ_RESIDENT && q->replica == replica && (s->is_by_stage ? !q->is_on_stage : !q->next_tokens))
			return r;
	}
	if (s)
		s->n_back = s->at_back = 0;
	return 0;
}

void orr_micro_decode(struct orr_serve *w, orr_req r)
{
	struct req *q = lane_actor(w, r, ORR_REQ_RESIDENT, "orr_micro_decode()");
	if (!q)
		return;
	struct lane *l = plain_lane(w, q->replica);
	bool needs_block = needs_a_block(l, q);
	if (!l->stages)
		serve_fail(w, ORR_EFAIL, q,
			"orr_micro_decode() on replica %u, which runs one iteration at a time: expected ORR_ITER_DECODE", q->replica);
	else if (q->next_tokens)
		serve_fail(w, ORR_EFAIL, q, "orr_micro_decode(): the request is in a micro-batch: expected an idle resident");
	else if (q->done <= q->prompt)
		serve_fail(w, ORR_EFAIL, q, "orr_micro_decode(): the request has not finished its prompt: expected orr_iter_prefill()");
	else if (needs_block && !l->avail)
		serve_fail(w, ORR_EFAIL, q, "orr_micro_decode(): its next token needs a block: expected a free block");
	else {
		if (needs_block)
			kv_spend(w, l, 1);
		q->kv_held += needs_block;
		q->next_tokens = 1;
		MEM_GROW(l->list, l->n_list, l->cap_list);
		l->list[l->n_list++] = req_slot(w, q);
	}
}
