/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mooncake's Conductor (Qin et al., "Mooncake", FAST 2025, Algorithm 1): the candidate with the smallest predicted TTFT (conductor_rule.h).
 * If the best prefix of all candidates is more than `threshold` times as long as that of the chosen one, the missing part is copied to it
 * before the request starts, so hot prefixes spread. With early_rejection, requests whose predicted TTFT exceeds serve.slo_ttft, or
 * whose predicted time between tokens on the least loaded decode replica exceeds serve.slo_tpot, are shed.
 *
 * Predictions: T_prefill is the time of an iteration with this prompt alone; T_queue is the sum of these predictions over requests that
 * were routed to the replica and have no first token. The paper does not state the threshold; the default is ours.
 */
#include <orrery/router.h>

#include "conductor_rule.h"

static const struct orr_param params[] = {
	ORR_PARAM_REAL("threshold", "2", 1, 1e9,
		"kvcache_balancing_threshold: ratio of the longest prefix to a replica's own above which the prefix is copied"),
	ORR_PARAM_BOOL("early_rejection", true, "shed requests whose predicted times exceed serve.slo_ttft or serve.slo_tpot"),
	ORR_PARAM_END
};

struct state {
	double threshold;
	bool rejects;
	double *queue_s;   /* by replica */
	double *predicted; /* by orr_req_index(): part of queue_s; 0 after the prompt */
	uint32_t cap;
	/* The last choice of pick(). */
	orr_req picked;
	uint32_t picked_replica;
	double picked_s; /* its T_prefill */
	struct conductor_instance *instance;
};

/* Inputs of the predictions. */
struct question {
	const struct orr_serve *w;
	uint32_t model;
};

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	struct orr_model_info m;
	for (uint32_t i = 0; i < orr_models(w) && orr_model_get(w, i, &m); i++)
		if (m.kind != ORR_MODEL_LLM) {
			orr_fail(err, ORR_EINPUT, "model %s has latency tables: expected language models, whose prompts can be predicted",
				m.name);
			return NULL;
		}
	struct state *s = orr_alloc(1, sizeof *s);
	s->threshold = orr_arg_real(args, "threshold");
	s->rejects = orr_arg_bool(args, "early_rejection");
	s->queue_s = orr_alloc(orr_replicas(w), sizeof *s->queue_s);
	s->instance = orr_alloc(orr_replicas(w), sizeof *s->instance);
	return s;
}

static void destroy(void *self)
{
	struct state *s = self;
	orr_free(s->queue_s);
	orr_free(s->predicted);
	orr_free(s->instance);
	orr_free(s);
}

static double prefill_s(void *ctx, uint32_t i, double length, double prefix)
{
	const struct question *q = ctx;
	return orr_iter_estimate(
		q->w, orr_candidate(q->w, q->model, i), 0, 0, length > prefix ? (uint32_t)(length - prefix) : 1, (uint32_t)prefix);
}

static double transfer_s(void *ctx, uint32_t i, double tokens)
{
	const struct question *q = ctx;
	return orr_kv_copy_s(q->w, orr_candidate(q->w, q->model, i), (uint32_t)tokens);
}

/* Returns the smallest predicted time of a decode iteration that includes the request, over the replicas that decode; INFINITY: none is up.
 */
static double least_tbt_s(const struct orr_serve *w, uint32_t model, uint32_t prompt)
{
	double least = INFINITY;
	for (uint32_t i = 0; i < orr_replicas(w); i++) {
		struct orr_replica_info x;
		if (!orr_replica_get(w, i, &x) || !x.is_up || x.is_draining || x.role == ORR_ROLE_PREFILL || x.model != model)
			continue;
		double context = (double)(orr_kv_total(w, i) - orr_kv_free(w, i)) * orr_kv_block_tokens(w, i) + prompt;
		least = fmin(least, orr_iter_estimate(w, i, orr_decodes(w, i) + 1, context, 0, 0));
	}
	return least;
}

static uint32_t pick(void *self, struct orr_serve *w, orr_req r)
{
	struct state *s = self;
	struct question q = { w, orr_req_model(w, r) };
	struct conductor_times times = { &q, prefill_s, transfer_s };
	uint32_t n = orr_candidates(w, q.model), prompt = orr_req_length(w, r);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t x = orr_candidate(w, q.model, i);
		s->instance[i] = (struct conductor_instance){ .prefix = orr_prefix_stored(w, x, r), .queue_s = s->queue_s[x] };
	}
	double best;
	uint32_t p = conductor_choose(s->instance, n, prompt, s->threshold, &times, &best);
	const struct conductor_instance *x = &s->instance[p];
	if (s->rejects &&
		(x->ttft_s > orr_slo_ttft(w) || (orr_slo_tpot(w) < INFINITY && least_tbt_s(w, q.model, prompt) > orr_slo_tpot(w))))
		return ORR_ROUTER_REJECTS;
	if (x->copies)
		orr_router_copy(w, r, (uint32_t)best, (uint32_t)x->prefix);
	s->picked = r;
	s->picked_replica = orr_candidate(w, q.model, p);
	s->picked_s = x->ttft_s - x->queue_s - (x->copies ? transfer_s(&q, p, best - x->prefix) : 0);
	return s->picked_replica;
}

/* Returns T_prefill on the replica with the prefix that it has. */
static double alone_s(const struct orr_serve *w, orr_req r, uint32_t replica)
{
	uint32_t prompt = orr_req_length(w, r), prefix = orr_prefix_stored(w, replica, r);
	return orr_iter_estimate(w, replica, 0, 0, prompt > prefix ? prompt - prefix : 1, prefix);
}

static void joined(void *self, struct orr_serve *w, orr_req r, uint32_t replica)
{
	struct state *s = self;
	uint32_t i = orr_req_index(r);
	if (i >= s->cap) {
		s->cap = 2 * i + 16;
		s->predicted = orr_realloc(s->predicted, s->cap, sizeof *s->predicted);
	}
	bool is_picked = s->picked == r && s->picked_replica == replica; /* else the policy has chosen the replica */
	/* A request with tokens has moved with its KV cache. */
	s->predicted[i] = orr_req_done(w, r) ? 0 : is_picked ? s->picked_s : alone_s(w, r, replica);
	s->queue_s[replica] += s->predicted[i];
}

static void prefilled(void *self, struct orr_serve *w, orr_req r, uint32_t replica)
{
	(void)w;
	struct state *s = self;
	double *predicted = &s->predicted[orr_req_index(r)];
	/* The sum of an empty queue is 0, without rounding errors. */
	s->queue_s[replica] = fmax(0, s->queue_s[replica] - *predicted);
	*predicted = 0;
}

static void left(void *self, struct orr_serve *w, orr_req r, uint32_t replica)
{
	prefilled(self, w, r, replica);
	if (!orr_replica_routed(w, replica))
		((struct state *)self)->queue_s[replica] = 0;
}

static const struct orr_router_ops ops = {
	.create = create, .destroy = destroy, .pick = pick, .joined = joined, .left = left, .prefilled = prefilled
};

ORR_ROUTER(conductor, "Mooncake's Conductor: least predicted TTFT, copies of hot prefixes, early rejection", params, ops);
