/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * vLLM: a KV cache in blocks that are allocated as tokens are generated (Kwon et al., "Efficient Memory Management for Large
 * Language Model Serving with PagedAttention", SOSP 2023, sections 4.3 and 4.5), in the version of microsoft/vidur
 * (vllm_replica_scheduler.py):
 *
 *  - First come, first served: prompts are admitted while their blocks fit above the watermark and the batch, padded to
 *    its longest prompt, has at most max_tokens tokens. They run in an iteration without decodes.
 *  - Without prompts, all residents decode one token. When no block is free, the last residents are evicted (evict.h). They
 *    restart with all their tokens as prompt, or are swapped to the host and return before any new prompt.
 *
 * Decodes are repeated without a call of the policy until an event may change the choice.
 *
 * With micro-batches in flight (micro.h) both rules apply to each micro-batch: its decodes are the idle residents in order of arrival.
 */
#include "evict.h"
#include "kinds.h"
#include "micro.h"

#include <string.h>

enum { LEAST_TOKENS = 4096 };

struct queues {
	struct orr_fifo waiting, swapped;
};

struct vllm {
	struct queues *queue; /* by replica */
	double watermark;
	uint32_t max_batch, max_tokens; /* max_tokens 0: by the model */
	enum orr_evict_how how;
	orr_req *room;           /* max_batch */
	struct micro_idle *idle; /* by replica; used with micro-batches */
	uint32_t replicas;
	bool has_stages;
};

static uint32_t watermark_of(const struct vllm *v, const struct orr_serve *w, uint32_t replica)
{
	return (uint32_t)(v->watermark * orr_kv_total(w, replica));
}

/* Returns the number of blocks to keep free; 0 if no resident could need them. */
static uint32_t reserve(const struct vllm *v, const struct orr_serve *w, uint32_t replica)
{
	return orr_residents(w, replica) ? watermark_of(v, w, replica) : 0;
}

/* Returns the limit of an iteration of prompts: by default the model's context, as in vLLM's SchedulerConfig. */
static uint64_t limit_of(const struct vllm *v, const struct orr_serve *w, uint32_t model)
{
	struct orr_model_info info;
	if (v->max_tokens)
		return v->max_tokens;
	return orr_model_get(w, model, &info) && info.longest > LEAST_TOKENS ? info.longest : LEAST_TOKENS;
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct vllm *v = self;
	uint32_t replica = orr_req_replica(w, r), prompt = orr_req_prompt(w, r);
	if (v->max_tokens && prompt > v->max_tokens)
		orr_refuse_because(w, r, ORR_REQ_REFUSED, "prompt longer than max_tokens");
	else
		orr_fifo_push(w, &v->queue[replica].waiting, r);
}

/* Admits prompts from the head of the queue, at most `most`; returns the number of listed prompts. (A moved request arrives with its
 * prompt done.) */
static uint32_t admit(struct vllm *v, struct orr_serve *w, uint32_t replica, uint32_t most)
{
	struct orr_fifo *q = &v->queue[replica].waiting;
	uint64_t longest = 0, n = 0;
	while (q->first && n < most && orr_residents(w, replica) < v->max_batch) {
		orr_req r = q->first;
		uint32_t prompt = orr_req_prompt(w, r), done = orr_req_done(w, r), left = prompt > done ? prompt - done : 0;
		longest = left > longest ? left : longest;
		uint64_t limit = limit_of(v, w, orr_req_model(w, r));
		/* A prompt that evictions made too long runs alone; so does a long prompt of a model whose context has no limit. */
		if (left && (n + 1) * longest > limit && (n || left <= limit)) {
			orr_serve_why(w, replica, "limit max_tokens");
			break;
		}
		if (!orr_admit(w, r, prompt > done ? prompt : done, reserve(v, w, replica)))
			break;
		orr_fifo_pop(w, q);
		if (!left)
			continue;
		orr_iter_prefill(w, r, prompt - orr_req_done(w, r));
		n++;
	}
	if (q->first && (n == most || orr_residents(w, replica) >= v->max_batch))
		orr_serve_why(w, replica, "limit max_batch");
	return (uint32_t)n;
}

static void swap_in(struct vllm *v, struct orr_serve *w, uint32_t replica)
{
	struct orr_fifo *q = &v->queue[replica].swapped;
	while (q->first && orr_residents(w, replica) < v->max_batch &&
		orr_admit(w, q->first, orr_req_done(w, q->first), reserve(v, w, replica) + orr_decodes_need(w, replica)))
		orr_fifo_pop(w, q);
}

/* Lists idle residents for one token, in order of arrival; returns their number. */
static uint32_t list_decodes(struct vllm *v, struct orr_serve *w, uint32_t replica, uint32_t most, uint32_t *evicted)
{
	struct micro_idle *x = &v->idle[replica];
	uint32_t n = 0;
	micro_collect(w, replica, x);
	micro_sort(w, x);
	while (x->head < x->n && n < most) {
		orr_req r = x->v[x->head++];
		if (!micro_demand_block(w, replica, x, r, &v->queue[replica].waiting, evicted))
			break;
		orr_micro_decode(w, r);
		n++;
	}
	micro_keep(x, NULL, 0);
	return n;
}

/* Forms micro-batches while slots are free. */
static void schedule_micro(struct vllm *v, struct orr_serve *w, uint32_t replica)
{
	uint32_t stages = orr_micro_stages(w, replica), most = micro_most(w, replica, v->max_batch), evicted = 0;
	while (orr_micro_slots(w, replica)) {
		if (!admit(v, w, replica, most) && !list_decodes(v, w, replica, most, &evicted))
			break;
		orr_iter_run(w, replica, 1, 0, 0);
	}
	if (evicted && orr_micro_slots(w, replica) == stages)
		orr_wake(w, replica); /* the last decode was itself evicted */
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	struct vllm *v = self;
	struct queues *q = &v->queue[replica];
	if (v->has_stages && orr_micro_stages(w, replica) > 1) {
		schedule_micro(v, w, replica);
		return;
	}
	if (!orr_replica_is_idle(w, replica))
		return;
	if (!q->swapped.first && q->waiting.first && admit(v, w, replica, v->max_batch)) {
		orr_iter_run(w, replica, 1, 0, 0);
		return;
	}
	if (q->swapped.first)
		orr_serve_why(w, replica, "swapped-out requests return first");
	uint32_t evicted = 0;
	if (!evict_is_needless(w, replica))
		evicted = evict_for_decodes(w, replica, v->how, v->how == ORR_EVICT_SWAP ? &q->swapped : &q->waiting, v->room);
	if (!evicted && q->swapped.first)
		swap_in(v, w, replica);
	if (!orr_decodes(w, replica)) {
		if (evicted)
			orr_wake(w, replica); /* the last decode was itself evicted: its prompt, now longer, is the head of the queue */
		return;
	}
	/* The next call may use blocks that are freed now. Otherwise the head waits until a resident ends. */
	bool is_blocked = q->waiting.first || q->swapped.first;
	orr_iter_run(w, replica, evicted ? 1 : 0, 1, ORR_ITER_DECODE | (is_blocked ? ORR_ITER_THROUGH : 0u));
}

/* The residents of a replica that has left arrive again. */
static void on_replica(void *self, struct orr_serve *w, uint32_t replica, enum orr_replica_event event)
{
	struct vllm *v = self;
	(void)w;
	if (event == ORR_REPLICA_DOWN)
		v->idle[replica].n = 0;
}

static void destroy(void *self)
{
	struct vllm *v = self;
	for (uint32_t i = 0; i < v->replicas; i++)
		orr_free(v->idle[i].v);
	orr_free(v->idle);
	orr_free(v->queue);
	orr_free(v->room);
	orr_free(v);
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	if (!serves_only(w, ORR_MODEL_LLM, err))
		return NULL;
	bool swaps = !strcmp(orr_arg_text(args, "preemption"), "swap");
	if (swaps && micro_is_used(w)) {
		orr_fail(err, ORR_EINPUT,
			"preemption=swap: the policy swaps between iterations, but serve.pipeline=micro-batches: expected "
			"preemption=restart");
		return NULL;
	}
	struct vllm *v = orr_alloc(1, sizeof *v);
	uint32_t most = (uint32_t)orr_arg_int(args, "max_batch");
	v->queue = orr_alloc(orr_replicas(w) + 1, sizeof *v->queue);
	v->room = orr_alloc(most + 1, sizeof *v->room);
	v->watermark = orr_arg_real(args, "watermark");
	v->max_batch = most;
	v->max_tokens = (uint32_t)orr_arg_int(args, "max_tokens");
	v->replicas = orr_replicas(w);
	v->has_stages = micro_is_used(w);
	v->idle = orr_alloc(v->replicas + 1, sizeof *v->idle);
	v->how = swaps ? ORR_EVICT_SWAP : ORR_EVICT_RESTART;
	return v;
}

static const struct orr_param params[] = { ORR_PARAM_REAL("watermark", "0.01", 0, 0.9,
						   "minimum share of KV blocks that stays free after a prompt is admitted"),
	ORR_PARAM_INT("max_batch", "256", 1, 65536, "largest number of resident requests per replica"),
	ORR_PARAM_INT("max_tokens", "0", 0, 1e9,
		"largest number of tokens of an iteration of prompts, padded to the longest prompt; longer prompts are refused; 0: the "
		"model's context, at least 4096"),
	ORR_PARAM_CHOICE("preemption", "restart", "restart|swap", "how a resident is evicted when blocks run out"), ORR_PARAM_END };

static const struct orr_serve_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .schedule = schedule, .replica = on_replica
};

ORR_POLICY_SERVE_FLAGS(vllm, "language models: paged KV cache, prompts first, the newest residents are evicted when blocks run out",
	ORR_WORK_CONSERVING | ORR_SERVE_STAGES | ORR_SERVE_HANDS_OFF, params, ops);
