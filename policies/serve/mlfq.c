/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Skip-join multi-level feedback queue over iterations (FastServe: Wu et al., "Fast Distributed Inference Serving for Large
 * Language Models", arXiv 2305.05920, section 4). Quanta double from level to level. A request joins at the level whose quantum
 * covers its first iteration; after its quantum it moves one level down. The highest levels run. Preempted requests keep their
 * KV cache while memory suffices; then they are swapped out, lowest level first.
 *
 * With `starve`, a request that has waited that long returns to the first level. It is off by default. If all requests wait for
 * longer, as in a burst, all of them are on the first level, and each short quantum swaps one KV cache in and another out. A
 * swap takes longer than the quantum, so waits increase, and the next requests return to the first level too.
 */
#include <orrery/serve.h>

#include "kinds.h"

#include <math.h>
#include <string.h>

enum { MAX_LEVELS = 24 };

struct entry {
	double used_s;   /* part of the current quantum that is used, s */
	double queued_s; /* time at which it last joined a level or ran */
	uint32_t level;
	bool is_chosen;
};

struct server {
	struct orr_fifo level[MAX_LEVELS];
	orr_req *batch, *before; /* before: the previous batch */
	uint32_t n_batch, n_before;
	orr_req *victim; /* residents outside the batch; the last one is swapped out next */
	uint32_t n_victims, cap_victims;
	bool has_victims; /* victim is up to date in this instant */
	uint32_t need;    /* blocks that the batch takes for its next tokens */
	double from_s;    /* start time of the batch */
};

struct mlfq {
	struct server *server;
	uint32_t servers, levels, most;
	double first_s, starve_s;
	struct entry *entry;
	uint32_t *free_entry, n_free, cap;
};

static struct entry *entry_of(const struct mlfq *m, const struct orr_serve *w, orr_req r)
{
	return &m->entry[orr_req_mark(w, r) - 1];
}

static double quantum(const struct mlfq *m, uint32_t level)
{
	return ldexp(m->first_s, (int)level);
}

static void grow(struct mlfq *m)
{
	uint32_t cap = m->cap ? m->cap * 2 : 256;
	m->entry = orr_realloc(m->entry, cap, sizeof *m->entry);
	m->free_entry = orr_realloc(m->free_entry, cap, sizeof *m->free_entry);
	for (uint32_t i = cap; i-- > m->cap;)
		m->free_entry[m->n_free++] = i;
	m->cap = cap;
}

/* ---- arrival and end ---- */

static void enqueue(struct mlfq *m, struct orr_serve *w, orr_req r, uint32_t level)
{
	struct entry *e = entry_of(m, w, r);
	e->level = level;
	e->used_s = 0;
	e->queued_s = orr_serve_now(w);
	orr_fifo_push(w, &m->server[orr_req_replica(w, r)].level[level], r);
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct mlfq *m = self;
	uint32_t replica = orr_req_replica(w, r), level = 0, prompt = orr_req_prompt(w, r);
	if (orr_kv_blocks(w, replica, prompt) > orr_kv_total(w, replica)) {
		orr_refuse_because(w, r, ORR_REQ_REFUSED, "larger than the KV cache of its replica");
		return;
	}
	if (!orr_req_mark(w, r)) {
		if (!m->n_free)
			grow(m);
		orr_req_set_mark(w, r, m->free_entry[--m->n_free] + 1);
	}
	struct entry *e = entry_of(m, w, r);
	double first = orr_iter_estimate(w, replica, 0, 0, prompt, 0);
	if (orr_req_done(w, r)) /* it comes from a prefill replica */
		level = e->level;
	else
		while (level + 1 < m->levels && quantum(m, level) < first)
			level++;
	e->is_chosen = false;
	enqueue(m, w, r, level);
}

static void finish(void *self, struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	struct mlfq *m = self;
	uint64_t mark = orr_req_mark(w, r);
	(void)how;
	if (!mark)
		return;
	struct entry *e = &m->entry[mark - 1];
	struct server *v = orr_req_replica(w, r) < m->servers ? &m->server[orr_req_replica(w, r)] : NULL;
	for (uint32_t i = 0; v && e->is_chosen && i < v->n_batch; i++)
		if (v->batch[i] == r) {
			memmove(v->batch + i, v->batch + i + 1, (--v->n_batch - i) * sizeof *v->batch);
			break;
		}
	m->free_entry[m->n_free++] = (uint32_t)(mark - 1);
}

/* ---- after a run: quanta ---- */

static void put_back(struct mlfq *m, struct orr_serve *w, uint32_t replica)
{
	struct server *v = &m->server[replica];
	double ran = orr_serve_now(w) - v->from_s;
	v->n_before = 0;
	/* In reverse order, so that requests that stay on their level keep their order. */
	for (uint32_t i = v->n_batch; i-- > 0;) {
		orr_req r = v->batch[i];
		if (!orr_req_is_resident(w, r) || orr_req_replica(w, r) != replica)
			continue; /* sent to a decode replica at the end of its prompt */
		struct entry *e = entry_of(m, w, r);
		v->before[v->n_before++] = r;
		e->is_chosen = false;
		e->used_s += ran;
		e->queued_s = orr_serve_now(w);
		if (e->used_s >= quantum(m, e->level) && e->level + 1 < m->levels) {
			enqueue(m, w, r, e->level + 1);
			continue;
		}
		orr_fifo_push_front(w, &v->level[e->level], r);
	}
	v->n_batch = 0;
}

/* Moves requests that waited long at the head of their level to the first level. */
static void promote(struct mlfq *m, struct orr_serve *w, struct server *v)
{
	double now = orr_serve_now(w);
	for (uint32_t l = 1; l < m->levels && m->starve_s > 0; l++)
		while (v->level[l].first && now - entry_of(m, w, v->level[l].first)->queued_s >= m->starve_s)
			enqueue(m, w, orr_fifo_pop(w, &v->level[l]), 0);
}

/* ---- the next batch ---- */

/* Lists residents outside the batch by level, then by admission. Called once per instant, because several may be needed. */
static void list_victims(const struct mlfq *m, struct orr_serve *w, uint32_t replica)
{
	struct server *v = &m->server[replica];
	uint32_t at[MAX_LEVELS + 1] = { 0 }, n = orr_residents(w, replica);
	if (n > v->cap_victims) {
		v->cap_victims = n * 2;
		v->victim = orr_realloc(v->victim, v->cap_victims, sizeof *v->victim);
	}
	for (orr_req r = orr_resident_first(w, replica); r; r = orr_resident_next(w, r))
		at[entry_of(m, w, r)->level + 1] += !entry_of(m, w, r)->is_chosen;
	for (uint32_t l = 0; l < MAX_LEVELS; l++)
		at[l + 1] += at[l];
	v->n_victims = at[MAX_LEVELS];
	for (orr_req r = orr_resident_first(w, replica); r; r = orr_resident_next(w, r))
		if (!entry_of(m, w, r)->is_chosen)
			v->victim[at[entry_of(m, w, r)->level]++] = r;
	v->has_victims = true;
}

/* Swaps out the latest resident of the lowest level outside the batch. Returns false if there is none. */
static bool swap_out(const struct mlfq *m, struct orr_serve *w, uint32_t replica)
{
	struct server *v = &m->server[replica];
	if (!v->has_victims)
		list_victims(m, w, replica);
	while (v->n_victims) {
		orr_req r = v->victim[--v->n_victims];
		if (entry_of(m, w, r)->is_chosen || !orr_req_is_resident(w, r))
			continue;
		orr_evict(w, r, ORR_EVICT_SWAP);
		return true;
	}
	return false;
}

/* Makes the request resident, with a block for its next token, beside the blocks that the batch needs. Returns false if too few can be
 * freed. */
static bool make_room(struct mlfq *m, struct orr_serve *w, uint32_t replica, orr_req r, uint32_t tokens)
{
	struct server *v = &m->server[replica];
	bool is_resident = orr_req_is_resident(w, r);
	uint64_t room = (uint64_t)orr_kv_held(w, r) * orr_kv_block_tokens(w, replica);
	uint32_t more = is_resident && orr_req_done(w, r) > room; /* an admission includes the next token */
	while (is_resident ? orr_kv_free(w, replica) < v->need + more : !orr_admit(w, r, tokens, v->need))
		if (!swap_out(m, w, replica))
			return false;
	v->need += more;
	return true;
}

/* Adds the request to the batch if memory can be freed for it. */
static bool choose(struct mlfq *m, struct orr_serve *w, uint32_t replica, orr_req r)
{
	struct server *v = &m->server[replica];
	struct entry *e = entry_of(m, w, r);
	uint32_t done = orr_req_done(w, r), prompt = orr_req_prompt(w, r);
	e->is_chosen = true; /* it is no victim */
	e->is_chosen = make_room(m, w, replica, r, done > prompt ? done : prompt);
	if (!e->is_chosen)
		return false;
	v->batch[v->n_batch++] = r;
	return true;
}

static void choose_all(struct mlfq *m, struct orr_serve *w, uint32_t replica)
{
	struct server *v = &m->server[replica];
	for (uint32_t l = 0; l < m->levels && v->n_batch < m->most; l++)
		while (v->level[l].first && v->n_batch < m->most) {
			orr_req r = orr_fifo_pop(w, &v->level[l]);
			if (choose(m, w, replica, r))
				continue;
			orr_fifo_push_front(w, &v->level[l], r);
			return;
		}
}

/* Pauses and resumes requests so that exactly the batch decodes; makes room for its next tokens. */
static void settle(struct mlfq *m, struct orr_serve *w, uint32_t replica)
{
	struct server *v = &m->server[replica];
	for (uint32_t i = 0; i < v->n_before; i++) {
		orr_req r = v->before[i];
		if (orr_req_is_resident(w, r) && !entry_of(m, w, r)->is_chosen && orr_is_decoding(w, r))
			orr_pause(w, r);
	}
	for (uint32_t i = 0; i < v->n_batch; i++) {
		orr_req r = v->batch[i];
		if (orr_req_done(w, r) > orr_req_prompt(w, r) && !orr_is_decoding(w, r))
			orr_resume(w, r);
	}
	while (orr_decodes_need(w, replica) > orr_kv_free(w, replica))
		if (!swap_out(m, w, replica)) {
			orr_req last = v->batch[--v->n_batch];
			entry_of(m, w, last)->is_chosen = false;
			orr_fifo_push_front(w, &v->level[entry_of(m, w, last)->level], last);
			orr_evict(w, last, ORR_EVICT_SWAP);
		}
}

/* Returns the number of iterations until the first request of the batch has used up its quantum; 0: no limit. */
static uint64_t length_of_run(const struct mlfq *m, struct orr_serve *w, uint32_t replica)
{
	const struct server *v = &m->server[replica];
	double left = INFINITY, context = 0;
	for (uint32_t i = 0; i < v->n_batch; i++) {
		const struct entry *e = entry_of(m, w, v->batch[i]);
		double own = quantum(m, e->level) - e->used_s;
		left = e->level + 1 < m->levels && own < left ? own : left;
		context += orr_req_done(w, v->batch[i]);
	}
	double each = orr_iter_estimate(w, replica, v->n_batch, context, 0, 0), n = ceil(left / each);
	return isinf(left) || n > 1e15 ? 0 : n > 1 ? (uint64_t)n : 1;
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	struct mlfq *m = self;
	struct server *v = &m->server[replica];
	bool has_prompt = false;
	if (!orr_replica_is_idle(w, replica))
		return;
	v->has_victims = false;
	v->need = 0;
	put_back(m, w, replica);
	promote(m, w, v);
	choose_all(m, w, replica);
	if (v->n_batch == m->most)
		orr_serve_why(w, replica, "limit max_batch, requests of lower levels wait");
	settle(m, w, replica);
	if (!v->n_batch)
		return;
	for (uint32_t i = 0; i < v->n_batch; i++) {
		orr_req r = v->batch[i];
		uint32_t done = orr_req_done(w, r), prompt = orr_req_prompt(w, r);
		if (done < prompt)
			orr_iter_prefill(w, r, prompt - done);
		has_prompt |= done < prompt;
	}
	v->from_s = orr_serve_now(w);
	orr_iter_run(w, replica, has_prompt ? 1 : length_of_run(m, w, replica), 1, ORR_ITER_DECODE);
}

/* ---- the policy ---- */

static void destroy(void *self)
{
	struct mlfq *m = self;
	for (uint32_t i = 0; i < m->servers; i++) {
		orr_free(m->server[i].batch);
		orr_free(m->server[i].before);
		orr_free(m->server[i].victim);
	}
	orr_free(m->server);
	orr_free(m->entry);
	orr_free(m->free_entry);
	orr_free(m);
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	if (!serves_only(w, ORR_MODEL_LLM, err))
		return NULL;
	struct mlfq *m = orr_alloc(1, sizeof *m);
	m->levels = (uint32_t)orr_arg_int(args, "levels");
	m->most = (uint32_t)orr_arg_int(args, "max_batch");
	m->first_s = (double)orr_arg_time_ns(args, "quantum") / 1e9;
	m->starve_s = (double)orr_arg_time_ns(args, "starve") / 1e9;
	m->servers = orr_replicas(w);
	m->server = orr_alloc(m->servers + 1, sizeof *m->server);
	for (uint32_t i = 0; i < m->servers; i++) {
		m->server[i].batch = orr_alloc(m->most, sizeof *m->server[i].batch);
		m->server[i].before = orr_alloc(m->most, sizeof *m->server[i].before);
	}
	return m;
}

/* Handles the loss of a replica: its requests have left the lists and arrive again. */
static void replica(void *self, struct orr_serve *w, uint32_t number, enum orr_replica_event event)
{
	struct mlfq *m = self;
	(void)w;
	if (event == ORR_REPLICA_DOWN && number < m->servers)
		m->server[number].n_batch = m->server[number].n_before = 0;
}

static const struct orr_param params[] = { ORR_PARAM_INT("levels", "6", 1, MAX_LEVELS,
						   "number of levels; the quantum doubles from one to the next"),
	ORR_PARAM_TIME("quantum", "0.05", "quantum of the first level"),
	ORR_PARAM_INT("max_batch", "64", 1, 1e5, "largest number of requests in an iteration"),
	ORR_PARAM_TIME("starve", "0",
		"waiting time after which a request returns to the first level; 0: never (docs/models/serve-llm-policies.md)"),
	ORR_PARAM_END };

static const struct orr_serve_ops ops = {
	.create = create,
	.destroy = destroy,
	.arrive = arrive,
	.finish = finish,
	.schedule = schedule,
	.replica = replica,
};

ORR_POLICY_SERVE_FLAGS(
	mlfq, "skip-join multi-level feedback queue over iterations (FastServe)", ORR_WORK_CONSERVING | ORR_SERVE_HANDS_OFF, params, ops);
