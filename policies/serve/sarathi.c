/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sarathi-Serve: prompts run in chunks together with the decodes, so that decodes never wait for a whole prompt (Agrawal et
 * al., "Taming Throughput-Latency Tradeoff in LLM Inference with Sarathi-Serve", OSDI 2024, algorithm 3), in the version of
 * microsoft/vidur (sarathi_replica_scheduler.py). An iteration has at most `chunk` tokens: one of each decode, then tokens of a
 * started prompt, then tokens of new prompts while their blocks fit above the watermark. When no block is free, the last
 * residents restart (evict.h).
 */
#include "evict.h"
#include "kinds.h"

struct lane {
	struct orr_fifo queue;
	orr_req begun; /* the only partly processed prompt, listed last; 0: none */
};

struct sarathi {
	struct lane *lane; /* by replica */
	double watermark;
	uint32_t max_batch, chunk;
	orr_req *room; /* max_batch */
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

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	struct sarathi *s = self;
	struct orr_fifo *q = &s->lane[replica].queue;
	if (!orr_replica_is_idle(w, replica))
		return;
	bool has_evicted = !evict_is_needless(w, replica) && evict_for_decodes(w, replica, ORR_EVICT_RESTART, q, s->room) > 0;
	uint32_t used = list_prompts(s, w, replica, orr_decodes(w, replica));
	if (!used && !orr_decodes(w, replica))
		return;
	/* The next call may use blocks that are freed now. Otherwise the queue waits until a resident ends. */
	orr_iter_run(w, replica, has_evicted ? 1 : 0, 1, ORR_ITER_DECODE | (q->first ? ORR_ITER_THROUGH : 0u));
}

static void destroy(void *self)
{
	struct sarathi *s = self;
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
	s->watermark = orr_arg_real(args, "watermark");
	s->max_batch = most;
	s->chunk = (uint32_t)orr_arg_int(args, "chunk");
	return s;
}

static const struct orr_param params[] = { ORR_PARAM_INT("chunk", "512", 1, 1e9,
						   "largest number of tokens of an iteration, of decodes and prompts"),
	ORR_PARAM_REAL("watermark", "0.01", 0, 0.9, "minimum share of KV blocks that stays free after a prompt is admitted"),
	ORR_PARAM_INT("max_batch", "128", 1, 65536, "largest number of resident requests per replica"), ORR_PARAM_END };

static const struct orr_serve_ops ops = { .create = create, .destroy = destroy, .arrive = arrive, .schedule = schedule };

ORR_POLICY_SERVE_FLAGS(
	sarathi, "language models: iterations of prompt chunks and decodes up to a token limit", ORR_WORK_CONSERVING, params, ops);
