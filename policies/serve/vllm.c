/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * vLLM: KV cache in blocks that are given out as tokens come (Kwon et al., "Efficient Memory Management for Large
 * Language Model Serving with PagedAttention", SOSP 2023, sections 4.3 and 4.5), in the version that microsoft/vidur
 * restates (vllm_replica_scheduler.py):
 *
 *  - first come, first served: prompts are admitted while their blocks fit above the watermark and the batch, padded to
 *    its longest prompt, has at most max_tokens tokens; an iteration is of prompts only, if there are any;
 *  - else all residents decode one token; when blocks run out the last ones are evicted (evict.h) and start again with
 *    what they had done as their prompt, or are swapped to the host and come back before any new prompt.
 *
 * Between two events at which that could change, decodes are repeated without a call.
 */
#include "evict.h"
#include "kinds.h"

#include <stdlib.h>
#include <string.h>

struct queues {
	struct orr_fifo waiting, swapped;
};

struct vllm {
	struct queues *queue; /* by replica */
	double watermark;
	uint32_t max_batch, max_tokens;
	enum orr_evict_how how;
	orr_req *room; /* max_batch */
};

static uint32_t watermark_of(const struct vllm *v, const struct orr_serve *w, uint32_t replica)
{
	return (uint32_t)(v->watermark * orr_kv_total(w, replica));
}

/* Blocks that stay free; with nobody resident nobody will need them. */
static uint32_t reserve(const struct vllm *v, const struct orr_serve *w, uint32_t replica)
{
	return orr_residents(w, replica) ? watermark_of(v, w, replica) : 0;
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct vllm *v = self;
	uint32_t replica = orr_req_replica(w, r), prompt = orr_req_prompt(w, r);
	if (prompt > v->max_tokens)
		orr_refuse(w, r, ORR_REQ_REFUSED);
	else
		orr_fifo_push(w, &v->queue[replica].waiting, r);
}

/* Prompts from the head of the queue; returns how many were listed. (One that has moved here comes with its prompt done.) */
static uint32_t admit(struct vllm *v, struct orr_serve *w, uint32_t replica)
{
	struct orr_fifo *q = &v->queue[replica].waiting;
	uint64_t longest = 0, n = 0;
	while (q->first && n < v->max_batch && orr_residents(w, replica) < v->max_batch) {
		orr_req r = q->first;
		uint32_t prompt = orr_req_prompt(w, r), done = orr_req_done(w, r), left = prompt > done ? prompt - done : 0;
		longest = left > longest ? left : longest;
		/* A prompt that evictions have made too long goes alone. */
		if (left && (n + 1) * longest > v->max_tokens && (n || left <= v->max_tokens))
			break;
		if (!orr_admit(w, r, prompt > done ? prompt : done, reserve(v, w, replica)))
			break;
		orr_fifo_pop(w, q);
		if (!left)
			continue;
		orr_iter_prefill(w, r, prompt - orr_req_done(w, r));
		n++;
	}
	return (uint32_t)n;
}

static void swap_in(struct vllm *v, struct orr_serve *w, uint32_t replica)
{
	struct orr_fifo *q = &v->queue[replica].swapped;
	while (q->first && orr_residents(w, replica) < v->max_batch &&
		orr_admit(w, q->first, orr_req_done(w, q->first), reserve(v, w, replica) + orr_decodes_need(w, replica)))
		orr_fifo_pop(w, q);
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	struct vllm *v = self;
	struct queues *q = &v->queue[replica];
	if (!orr_replica_is_idle(w, replica))
		return;
	if (!q->swapped.first && q->waiting.first && admit(v, w, replica)) {
		orr_iter_run(w, replica, 1, 0, 0);
		return;
	}
	uint32_t evicted = 0;
	if (!evict_is_needless(w, replica))
		evicted = evict_for_decodes(w, replica, v->how, v->how == ORR_EVICT_SWAP ? &q->swapped : &q->waiting, v->room);
	if (!evicted && q->swapped.first)
		swap_in(v, w, replica);
	if (!orr_decodes(w, replica)) {
		if (evicted)
			orr_wake(w, replica); /* the last one gave way to itself: its prompt, grown by what it had, is next */
		return;
	}
	/* Blocks given up now may be somebody's next time. Else the head goes on waiting until a resident ends. */
	bool is_blocked = q->waiting.first || q->swapped.first;
	orr_iter_run(w, replica, evicted ? 1 : 0, 1, ORR_ITER_DECODE | (is_blocked ? ORR_ITER_THROUGH : 0u));
}

static void destroy(void *self)
{
	struct vllm *v = self;
	free(v->queue);
	free(v->room);
	free(v);
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	if (!serves_only(w, ORR_MODEL_LLM, err))
		return NULL;
	struct vllm *v = calloc(1, sizeof *v);
	uint32_t most = (uint32_t)orr_arg_int(args, "max_batch");
	if (v) {
		v->queue = calloc(orr_replicas(w) + 1, sizeof *v->queue);
		v->room = calloc(most + 1, sizeof *v->room);
	}
	if (!v || !v->queue || !v->room) {
		if (v)
			destroy(v);
		orr_fail(err, ORR_EFAIL, "no memory is left");
		return NULL;
	}
	v->watermark = orr_arg_real(args, "watermark");
	v->max_batch = most;
	v->max_tokens = (uint32_t)orr_arg_int(args, "max_tokens");
	v->how = strcmp(orr_arg_text(args, "preemption"), "swap") ? ORR_EVICT_RESTART : ORR_EVICT_SWAP;
	return v;
}

static const struct orr_param params[] = { ORR_PARAM_REAL("watermark", "0.01", 0, 0.9,
						   "part of the KV blocks that admitting a prompt leaves free"),
	ORR_PARAM_INT("max_batch", "128", 1, 65536, "most residents, and most requests in an iteration"),
	ORR_PARAM_INT(
		"max_tokens", "4096", 1, 1e9, "most tokens of an iteration of prompts, padded to the longest; a longer prompt is refused"),
	ORR_PARAM_CHOICE("preemption", "restart", "restart|swap", "what becomes of one that finds no block"), ORR_PARAM_END };

static const struct orr_serve_ops ops = { .create = create, .destroy = destroy, .arrive = arrive, .schedule = schedule };

ORR_POLICY_SERVE_FLAGS(vllm, "language models: KV cache in blocks, prompts first, the last ones evicted when blocks run out",
	ORR_WORK_CONSERVING, params, ops);
