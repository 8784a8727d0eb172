/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests: slots, lists of policies, arrival and end. */
#include "serve/answers.h"
#include "serve/explain.h"
#include "serve/fleet.h"
#include "serve/guard.h"
#include "serve/metrics.h"
#include "serve/replica.h"
#include "serve/requests.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- arrival ---- */

static uint32_t look_up_model(struct orr_serve *w, const struct request_rec *rec)
{
	const struct serve_config *c = w->config;
	const char *name = strtab_text(reqset_strings(c->requests), rec->model);
	for (uint32_t m = 0; m < c->n_models; m++)
		if (!strcmp(c->model[m]->name, name))
			return m;
	w->used |= SERVE_USED_ANY_MODEL;
	if (w->set->any_model)
		return 0;
	const char *names[64];
	size_t n = 0;
	for (; n < c->n_models && n < 63; n++)
		names[n] = c->model[n]->name;
	names[n] = NULL;
	const char *near = orr_nearest_name(name, names);
	char line[32] = "";
	if (rec->line)
		snprintf(line, sizeof line, ":%llu", (unsigned long long)rec->line);
	orr_fail(&w->error, ORR_EINPUT,
		"%.200s%s: model \"%.100s\" is not served: %s%.100s%sexpected a served model, or serve.any_model=true, which uses "
		"\"%.100s\"",
		reqset_source(c->requests), line, name, near ? "did you mean \"" : "", near ? near : "", near ? "\"? " : "",
		c->model[0]->name);
	return NONE;
}

static uint32_t model_of(struct orr_serve *w, const struct request_rec *rec)
{
	if (!rec->model) {
		w->used |= w->config->n_models > 1 ? SERVE_USED_ANY_MODEL : 0;
		if (w->config->n_models == 1 || w->set->any_model)
			return 0;
		orr_fail(&w->error, ORR_EINPUT,
			"%.200s: request %llu names no model: expected one of the %u served models, or serve.any_model=true, which uses "
			"\"%.100s\"",
			reqset_source(w->config->requests), (unsigned long long)rec->number, w->config->n_models,
			w->config->model[0]->name);
		return NONE;
	}
	if (rec->model >= w->cap_model_of) {
		uint32_t cap = rec->model < 32 ? 64 : rec->model * 2;
		w->model_of = mem_realloc(w->model_of, cap, sizeof *w->model_of);
		memset(w->model_of + w->cap_model_of, 0, (cap - w->cap_model_of) * sizeof *w->model_of);
		w->cap_model_of = cap;
	}
	uint32_t *known = &w->model_of[rec->model];
	if (!*known) {
		uint32_t m = look_up_model(w, rec);
		if (m == NONE)
			return NONE;
		*known = m + 1;
	}
	return *known - 1;
}

static void grow(struct orr_serve *w)
{
	uint32_t cap = w->cap_req ? w->cap_req * 2 : 16;
	struct req *more = mem_alloc_large((size_t)(cap > w->cap_req ? cap : SIZE_MAX / sizeof *more) * sizeof *more);
	if (w->n_req)
		memcpy(more, w->req, w->n_req * sizeof *more);
	mem_free(w->req);
	w->req = more;
	w->cap_req = cap;
}

static uint32_t slot_new(struct orr_serve *w)
{
	if (w->n_free_req)
		return w->free_req[--w->n_free_req];
	if (w->n_req == w->cap_req)
		grow(w);
	w->req[w->n_req] = (struct req){ .generation = 0 };
	return w->n_req++;
}

const uint64_t *req_keep_blocks(const struct orr_serve *w, const uint64_t *block, uint32_t n, uint64_t **own, uint32_t *cap)
{
	if (!n || reqset_is_loaded(w->config->requests))
		return block;
	if (n > *cap) {
		*cap = n + n / 2;
		*own = mem_realloc(*own, *cap, sizeof **own);
	}
	return memcpy(*own, block, n * sizeof **own);
}

void req_free_all(struct orr_serve *w)
{
	for (uint32_t i = 0; i < w->n_req; i++) {
		mem_free(w->req[i].own_block);
		mem_free(w->req[i].entry);
	}
	mem_free(w->req);
}

static double deadline(struct orr_serve *w, const struct request_rec *rec, double arrival_s, uint32_t model)
{
	if (rec->slo_ns >= 0)
		return arrival_s + (double)rec->slo_ns / 1e9;
	w->used |= SERVE_USED_SLO;
	return arrival_s + (w->set->slo_s < INFINITY ? w->set->slo_s : w->config->model[model]->slo_s);
}

void req_set_tokens(const struct orr_serve *w, struct req *q)
{
	if (w->config->model[q->model]->kind != SERVED_LLM)
		return;
	q->output_asked = q->output_asked ? q->output_asked : 1;
	q->prompt = q->prompt_asked = q->prompt_asked ? q->prompt_asked : 1;
}

struct req *req_new(struct orr_serve *w, const struct request_rec *rec)
{
	uint32_t model = model_of(w, rec);
	if (model == NONE)
		return NULL;
	uint32_t slot = slot_new(w);
	struct req *q = &w->req[slot];
	uint32_t generation = q->generation + 1;
	double arrival_s = (double)rec->arrival_ns / 1e9;
	*q = (struct req){ .generation = generation ? generation : 1,
		.state = ORR_REQ_WAITING,
		.number = rec->number,
		.session = rec->session,
		.arrival_s = arrival_s,
		.deadline_s = deadline(w, rec, arrival_s, model),
		.first_start_s = NAN,
		.first_token_s = NAN,
		.last_token_s = NAN,
		.id = rec->id,
		.model = model,
		.replica = NONE,
		.samples = rec->samples,
		.priority = rec->priority,
		.prompt_asked = rec->prompt_tokens,
		.output_asked = rec->output_tokens,
		.max_output = rec->max_output,
		.q_prev = NONE,
		.q_next = NONE,
		.prompt = rec->prompt_tokens,
		.heap_at = NONE,
		.res_prev = NONE,
		.res_next = NONE,
		.n_blocks = rec->n_blocks,
		.block = rec->block,
		.own_block = q->own_block,
		.cap_own = q->cap_own,
		.entry = q->entry,
		.cap_entry = q->cap_entry,
		.first_in = NONE,
		.first_answer = NONE,
		.last_answer = NONE,
		.next_ended = NONE };
	q->block = req_keep_blocks(w, q->block, q->n_blocks, &q->own_block, &q->cap_own);
	if (w->config->model[model]->kind == SERVED_LLM && w->metrics)
		w->metrics->without_tokens += !rec->prompt_tokens || !rec->output_tokens;
	req_set_tokens(w, q);
	w->live++;
	w->fleet->unrouted[model]++;
	w->waiting++;
	serve_metrics_arrival(w);
	explain_arrived(w, q);
	if (w->on_request)
		w->on_request(w, q);
	return q;
}

/* ---- the policy's lists ---- */

void req_unlist(struct orr_serve *w, struct req *q)
{
	struct orr_fifo *l = q->list;
	if (!l)
		return;
	if (q->q_prev == NONE)
		l->first = q->q_next == NONE ? 0 : req_handle(w, q->q_next);
	else
		w->req[q->q_prev].q_next = q->q_next;
	if (q->q_next == NONE)
		l->last = q->q_prev == NONE ? 0 : req_handle(w, q->q_prev);
	else
		w->req[q->q_next].q_prev = q->q_prev;
	l->n--;
	q->list = NULL;
	q->q_prev = q->q_next = NONE;
}

/* Returns the request if it can be added to a list; else fails the run and returns NULL. */
static struct req *listable(struct orr_serve *w, orr_req r, const char *what)
{
	struct req *q = req_of(w, r);
	if (!q || q->state == ORR_REQ_ENDED)
		serve_fail(w, ORR_EFAIL, q, "%s of a request that has ended or never existed (handle %llx): expected a live request", what,
			(unsigned long long)r);
	else if (q->list)
		serve_fail(w, ORR_EFAIL, q, "%s of a request that is already in a list: expected orr_fifo_remove() before", what);
	else
		return q;
	return NULL;
}

void orr_fifo_push(struct orr_serve *w, struct orr_fifo *l, orr_req r)
{
	struct req *q = listable(w, r, "orr_fifo_push()");
	if (!q)
		return;
	q->list = l;
	if (l->n++) {
		q->q_prev = (uint32_t)l->last - 1u;
		w->req[q->q_prev].q_next = (uint32_t)r - 1u;
	} else {
		l->first = r;
	}
	l->last = r;
}

void orr_fifo_push_front(struct orr_serve *w, struct orr_fifo *l, orr_req r)
{
	struct req *q = listable(w, r, "orr_fifo_push_front()");
	if (!q)
		return;
	q->list = l;
	if (l->n++) {
		q->q_next = (uint32_t)l->first - 1u;
		w->req[q->q_next].q_prev = (uint32_t)r - 1u;
	} else {
		l->last = r;
	}
	l->first = r;
}

orr_req orr_fifo_pop(struct orr_serve *w, struct orr_fifo *l)
{
	orr_req r = l->first;
	if (r)
		orr_fifo_remove(w, l, r);
	return r;
}

void orr_fifo_remove(struct orr_serve *w, struct orr_fifo *l, orr_req r)
{
	struct req *q = req_of(w, r);
	if (!q || q->list != l)
		serve_fail(w, ORR_EFAIL, q,
			"orr_fifo_remove() of a request that is not in this list (handle %llx): expected one of its requests",
			(unsigned long long)r);
	else
		req_unlist(w, q);
}

orr_req orr_fifo_next(const struct orr_serve *w, orr_req r)
{
	const struct req *q = req_of(w, r);
	return q && q->q_next != NONE ? req_handle(w, q->q_next) : 0;
}

/* ---- the end ---- */

/* --check: a completed request has all its tokens, in order. */
static void check_completed(struct orr_serve *w, const struct req *q, double at_s)
{
	bool is_llm = w->config->model[q->model]->kind == SERVED_LLM;
	if (is_llm && q->outputs != q->output_asked)
		serve_fail(w, ORR_EFAIL, q, "conservation: the request received %u tokens: expected %u", q->outputs, q->output_asked);
	else if (is_llm && !(q->first_token_s >= q->arrival_s && q->first_token_s <= at_s))
		serve_fail(w, ORR_EFAIL, q,
			"conservation: expected the time of the first token between the arrival of the request and its end");
	else if (!(q->first_start_s >= q->arrival_s - 1e-9 && q->first_start_s <= at_s))
		serve_fail(w, ORR_EFAIL, q, "conservation: expected the start of the request between its arrival and its end");
}

void req_end(struct orr_serve *w, struct req *q, enum orr_req_end how, double at_s)
{
	if (q->state == ORR_REQ_ENDED)
		return;
	uint32_t slot = req_slot(w, q), replica = q->replica;
	req_unlist(w, q);
	if (q->state == ORR_REQ_WAITING)
		req_waits_no_more(w, q);
	q->state = ORR_REQ_ENDED;
	q->how = (uint8_t)how;
	w->live--;
	explain_ended(w, q, at_s);
	serve_metrics_request(w, q, at_s);
	if (w->config->check && how == ORR_REQ_COMPLETED)
		check_completed(w, q, at_s);
	guard_ended(w, q, at_s);
	if (replica != NONE) {
		if (how == ORR_REQ_COMPLETED)
			w->replica[replica].completed++;
		q->replica = NONE;
		replica_count(w, q, replica);
		q->replica = replica; /* finish() may read it */
	}
	w->fleet->unrouted[q->model]--;
	if (w->last_ended == NONE)
		w->first_ended = slot;
	else
		w->req[w->last_ended].next_ended = slot;
	w->last_ended = slot;
	if (w->on_request_end)
		w->on_request_end(w, q, at_s);
}

void req_turn_away(struct orr_serve *w, struct req *q, enum orr_req_end how, enum req_reason why, double at_s)
{
	q->why = (uint8_t)why;
	req_end(w, q, how, at_s);
}

void req_release_ended(struct orr_serve *w)
{
	for (uint32_t slot = w->first_ended, next; slot != NONE; slot = next) {
		struct req *q = &w->req[slot];
		next = q->next_ended;
		answers_forget(w, q);
		q->generation++; /* the handle is stale after this */
		MEM_GROW(w->free_req, w->n_free_req, w->cap_free_req);
		w->free_req[w->n_free_req++] = slot;
	}
	w->first_ended = w->last_ended = w->ended_told = NONE;
}

/* ---- checks before actions ---- */

static const char *const state_text[] = { "waits", "is in a run", "is resident", "is moving", "has ended" };

struct req *req_actor(struct orr_serve *w, orr_req r, enum orr_req_state state, const char *what)
{
	if (!serve_may_act(w, what))
		return NULL;
	struct req *q = req_of(w, r);
	if (!q)
		serve_fail(w, ORR_EFAIL, NULL, "%s of a request that has ended or never existed (handle %llx): expected a live request",
			what, (unsigned long long)r);
	else if (q->state != state)
		serve_fail(w, ORR_EFAIL, q, "%s of a request that %s: expected a request that %s", what, state_text[q->state],
			state_text[state]);
	else {
		w->last_acted = r;
		watch_job(w->watch, q->number);
		return q;
	}
	return NULL;
}
