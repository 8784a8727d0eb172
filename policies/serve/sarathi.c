/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sarathi-Serve: prompts run in chunks together with the decodes, so that decodes never wait for a whole prompt (Agrawal et
 * al., "Taming Throughput-Latency Tradeoff in LLM Inference with Sarathi-Serve", OSDI 2024, algorithm 3), in the version of
 * microsoft/vidur (sarathi_replica_scheduler.py). An iteration has at most `chunk` tokens: one of each decode, then tokens of a
 * started prompt, then tokens of new prompts while their blocks fit above the watermark. When no block is free, the last
 * residents restart (evict.h).
 *
 * With micro-batches in flight (micro.h) an idle resident may be a started prompt, and there may be several. Decodes are limited by
 * the share of residents, not by `chunk`.
 */
#include "evict.h"
#include "kinds.h"
#include "micro.h"

struct lane {
	struct orr_fifo queue;
	orr_req begun;          /* the only partly processed prompt, listed last; 0: none */
	struct micro_idle idle; /* used with micro-batches */
};

struct sarathi {
	struct lane *lane; /* by replica */
	double watermark;
	uint32_t max_batch, chunk;
	orr_req *room, *begun, *skipped; /* max_batch each; begun, skipped: idle residents during the forming of a micro-batch */
	uint32_t replicas;
	bool has_stages;
};

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct sarathi *s = self;
	orr_fifo_push(w, &s->lane[orr_req_replica(w, r)].queue, r);
}

/* Lists as much of the prompt as the iteration has room for; returns the tokens in the iteration. */
static uint32_t list_prompt(struct sarathi *s, struct orr_serve *w, struct lane *l, orr_req r, uint32_t used)
{
	uint32_t prompt = orr_req_prompt(w, r), done = orr_req_done(w, r), left = prompt > done ? prompt - done : 0;
	uint32_t n = left < s->chunk - used ? left : s->chunk - used;
	if (n)
		orr_iter_prefill(w, r, n);
	if (n < left)
		l->begun = r;
	return used + n;
}

/* Lists the rest of the started prompt, then new prompts; returns the tokens in the iteration. */
static uint32_t list_prompts(struct sarathi *s, struct orr_serve *w, uint32_t replica, uint32_t used)
{
	struct lane *l = &s->lane[replica];
	struct orr_fifo *q = &l->queue;
	orr_req begun = l->begun;
	if (used >= s->chunk) {
		orr_serve_why(w, replica, "limit chunk");
		return used;
	}
	l->begun = 0;
	/* After a failure, the started prompt may be resident on another replica. */
	if (begun && orr_req_is_resident(w, begun) && orr_req_replica(w, begun) == replica)
		used = list_prompt(s, w, l, begun, used);
	while (q->first && used < s->chunk && orr_residents(w, replica) < s->max_batch) {
		orr_req r = q->first;
		uint32_t keep = orr_residents(w, replica) ? (uint32_t)(s->watermark * orr_kv_total(w, replica)) : 0;
		uint32_t prompt = orr_req_prompt(w, r), done = orr_req_done(w, r); /* done > prompt: the request has moved here */
		if (!orr_admit(w, r, prompt > done ? prompt : done, keep + orr_decodes_need(w, replica)))
			break;
		orr_fifo_pop(w, q);
		used = list_prompt(s, w, l, r, used);
	}
	if (q->first && (used >= s->chunk || orr_residents(w, replica) >= s->max_batch))
		orr_serve_why(w, replica, used >= s->chunk ? "limit chunk" : "limit max_batch");
	return used;
}

/* ---- micro-batches ---- */

/* Lists tokens of the prompt, as many as fit; returns their number. */
static uint32_t list_part(const struct sarathi *s, struct orr_serve *w, orr_req r, uint32_t used)
{
	uint32_t left = orr_req_prompt(w, r) - orr_req_done(w, r), room = used < s->chunk ? s->chunk - used : 0;
	uint32_t n = left < room ? left : room;
	if (n)
		orr_iter_prefill(w, r, n);
	return n;
}

/* Members and tokens of the micro-batch under construction. */
struct micro {
	uint32_t most, n, used, evicted;
	uint32_t moved; /* admitted decodes from prefill replicas: idle until the next micro-batch */
};

/* Lists idle decodes, then started prompts. */
static void list_idle(struct sarathi *s, struct orr_serve *w, uint32_t replica, struct micro *m)
{
	struct lane *l = &s->lane[replica];
	struct micro_idle *x = &l->idle;
	uint32_t begun = 0, skipped = 0;
	while (x->head < x->n && m->n < m->most) {
		orr_req r = x->v[x->head++];
		if (!orr_is_decoding(w, r)) {
			s->begun[begun++] = r;
			continue;
		}
		if (!micro_demand_block(w, replica, x, r, &l->queue, &m->evicted))
			break;
		orr_micro_decode(w, r);
		m->n++;
		m->used++;
	}
	for (uint32_t i = 0; i < begun; i++) {
		uint32_t n = list_part(s, w, s->begun[i], m->used);
		m->n += n > 0;
		m->used += n;
		if (!n)
			s->skipped[skipped++] = s->begun[i];
	}
	micro_keep(x, s->skipped, skipped);
	micro_sort(w, x);
}

/* Admits requests from the head of the queue. */
static void list_new(struct sarathi *s, struct orr_serve *w, uint32_t replica, struct micro *m)
{
	struct orr_fifo *q = &s->lane[replica].queue;
	while (q->first && orr_residents(w, replica) < s->max_batch && m->n < m->most) {
		orr_req r = q->first;
		uint32_t keep = orr_residents(w, replica) ? (uint32_t)(s->watermark * orr_kv_total(w, replica)) : 0;
		uint32_t prompt = orr_req_prompt(w, r), done = orr_req_done(w, r); /* done > prompt: the request has moved here */
		if (done < prompt && m->used >= s->chunk)
			break;
		if (!orr_admit(w, r, prompt > done ? prompt : done, keep))
			break;
		orr_fifo_pop(w, q);
		if (orr_is_decoding(w, r)) {
			m->moved++;
			continue;
		}
		m->used += list_part(s, w, r, m->used);
		m->n++;
	}
	if (q->first && m->used >= s->chunk)
		orr_serve_why(w, replica, "limit chunk");
	else if (q->first && (orr_residents(w, replica) >= s->max_batch || m->n == m->most))
		orr_serve_why(w, replica, "limit max_batch");
}

static void schedule_micro(struct sarathi *s, struct orr_serve *w, uint32_t replica)
{
	uint32_t evicted = 0, stages = orr_micro_stages(w, replica);
	while (orr_micro_slots(w, replica)) {
		struct micro m = { .most = micro_most(w, replica, s->max_batch) };
		micro_collect(w, replica, &s->lane[replica].idle);
		list_idle(s, w, replica, &m);
		list_new(s, w, replica, &m);
		evicted += m.evicted;
		if (!m.n && m.moved)
			continue;
		if (!m.n)
			break;
		orr_iter_run(w, replica, 1, 0, 0);
	}
	if (evicted && orr_micro_slots(w, replica) == stages)
		orr_wake(w, replica); /* the last decode was itself evicted */
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	struct sarathi *s = self;
	struct orr_fifo *q = &s->lane[replica].queue;
	if (s->has_stages && orr_micro_stages(w, replica) > 1) {
		schedule_micro(s, w, replica);
		return;
	}
	if (!orr_replica_is_idle(w, replica))
		return;
	bool has_evicted = !evict_is_needless(w, replica) && evict_for_decodes(w, replica, ORR_EVICT_RESTART, q, s->room) > 0;
	uint32_t used = list_prompts(s, w, replica, orr_decodes(w, replica));
	if (!used && !orr_decodes(w, replica))
		return;
	/* The next call may use blocks that are freed now. Otherwise the queue waits until a resident ends. */
	orr_iter_run(w, replica, has_evicted ? 1 : 0, 1, ORR_ITER_DECODE | (q->first ? ORR_ITER_THROUGH : 0u));
}

/* The residents of a replica that has left arrive again. */
static void on_replica(void *self, struct orr_serve *w, uint32_t replica, enum orr_replica_event event)
{
	struct sarathi *s = self;
	(void)w;
	if (event == ORR_REPLICA_DOWN)
		s->lane[replica].idle.n = 0;
}

static void destroy(void *self)
{
	struct sarathi *s = self;
	for (uint32_t i = 0; i < s->replicas; i++)
		orr_free(s->lane[i].idle.v);
	orr_free(s->begun);
	orr_free(s->skipped);
	orr_free(s->lane);
	orr_free(s->room);
	orr_free(s);
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	if (!serves_only(w, ORR_MODEL_LLM, err))
		return NULL;
	struct sarathi *s = orr_alloc(1, sizeof *s);
	uint32_t most = (uint32_t)orr_arg_int(args, "max_batch");
	s->lane = orr_alloc(orr_replicas(w) + 1, sizeof *s->lane);
	s->room = orr_alloc(most + 1, sizeof *s->room);
	s->begun = orr_alloc(most + 1, sizeof *s->begun);
	s->skipped = orr_alloc(most + 1, sizeof *s->skipped);
	s->replicas = orr_replicas(w);
	s->has_stages = micro_is_used(w);
	s->watermark = orr_arg_real(args, "watermark");
	s->max_batch = most;
	s->chunk = (uint32_t)orr_arg_int(args, "chunk");
	return s;
}

static const struct orr_param params[] = { ORR_PARAM_INT("chunk", "512", 1, 1e9,
						   "largest number of tokens of an iteration, of decodes and prompts"),
	ORR_PARAM_REAL("watermark", "0.01", 0, 0.9, "minimum share of KV blocks that stays free after a prompt is admitted"),
	ORR_PARAM_INT("max_batch", "256", 1, 65536, "largest number of resident requests per replica"), ORR_PARAM_END };

static const struct orr_serve_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .schedule = schedule, .replica = on_replica
};

ORR_POLICY_SERVE_FLAGS(sarathi, "language models: iterations of prompt chunks and decodes up to a token limit",
	ORR_WORK_CONSERVING | ORR_SERVE_STAGES | ORR_SERVE_HANDS_OFF, params, ops);
