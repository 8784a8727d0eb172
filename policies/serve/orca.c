/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Orca: iteration-level batching, first come first served; prompts and decodes run in the same iteration. Memory for the
 * longest output is reserved when a request joins. Requests are preempted only if outputs exceed their reservation (Yu et al.,
 * "Orca: A Distributed Serving System for Transformer-Based Generative Models", OSDI 2022, algorithm 1).
 */
#include "evict.h"
#include "kinds.h"

#include <string.h>

struct orca {
	struct orr_fifo *queue; /* by replica */
	orr_req *room;          /* scratch for the residents of one replica */
	uint32_t most, output;
	bool reserves_truth;
};

/* Returns the largest number of tokens that the request can hold. */
static uint32_t reservation(const struct orca *o, struct orr_serve *w, orr_req r)
{
	struct orr_req_info info;
	if (!orr_req_get(w, r, &info))
		return 0;
	uint32_t output = o->reserves_truth ? orr_req_true_output(w, r) : info.max_output ? info.max_output : o->output;
	/* After a restart the outputs are part of the prompt; no iteration reads the last token. */
	uint64_t tokens = (uint64_t)info.prompt_tokens + output - (info.outputs < output ? info.outputs : 0) - 1;
	return evict_cap(w, orr_req_replica(w, r), &info, tokens);
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct orca *o = self;
	uint32_t replica = orr_req_replica(w, r);
	if (orr_kv_blocks(w, replica, reservation(o, w, r)) > orr_kv_total(w, replica))
		orr_refuse_because(w, r, ORR_REQ_REFUSED, "its reservation exceeds the KV cache of a replica");
	else
		orr_fifo_push(w, &o->queue[replica], r);
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	struct orca *o = self;
	struct orr_fifo *q = &o->queue[replica];
	if (!orr_replica_is_idle(w, replica))
		return;
	bool has_prompt = false, is_short = evict_if_short(w, replica, q, o->room);
	while (q->first && (!is_short || !orr_residents(w, replica)) && orr_residents(w, replica) < o->most &&
		orr_admit(w, q->first, reservation(o, w, q->first), orr_decodes_need(w, replica))) {
		orr_req r = orr_fifo_pop(w, q);
		uint32_t left = orr_req_prompt(w, r) > orr_req_done(w, r) ? orr_req_prompt(w, r) - orr_req_done(w, r) : 0;
		if (left)
			orr_iter_prefill(w, r, left);
		has_prompt |= left > 0;
	}
	if (q->first && orr_residents(w, replica) >= o->most)
		orr_serve_why(w, replica, "limit max_batch");
	if (!has_prompt && !orr_decodes(w, replica))
		return;
	/* The queue waits until a resident ends, so arrivals change nothing. */
	orr_iter_run(w, replica, has_prompt || is_short ? 1 : 0, 0, ORR_ITER_DECODE | (q->first ? ORR_ITER_THROUGH : 0u));
}

static void destroy(void *self)
{
	struct orca *o = self;
	orr_free(o->queue);
	orr_free(o->room);
	orr_free(o);
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	if (!serves_only(w, ORR_MODEL_LLM, err))
		return NULL;
	struct orca *o = orr_alloc(1, sizeof *o);
	uint32_t most = (uint32_t)orr_arg_int(args, "max_batch");
	o->queue = orr_alloc(orr_replicas(w) + 1, sizeof *o->queue);
	o->room = orr_alloc(most, sizeof *o->room);
	o->most = most;
	o->output = (uint32_t)orr_arg_int(args, "output");
	o->reserves_truth = !strcmp(orr_arg_text(args, "reserve"), "true");
	return o;
}

static const struct orr_param params[] = { ORR_PARAM_INT("max_batch", "256", 1, 1e6, "largest number of resident requests per replica"),
	ORR_PARAM_CHOICE("reserve", "max", "max|true",
		"memory reserved for the output: the user's limit (else `output`), or its true length (\"Orca (Oracle)\" in the vLLM "
		"paper)"),
	ORR_PARAM_INT("output", "2048", 1, 1e8, "tokens reserved for the output of a request that states no limit"), ORR_PARAM_END };

static const struct orr_serve_ops ops = {
	.create = create,
	.destroy = destroy,
	.arrive = arrive,
	.schedule = schedule,
};

ORR_POLICY_SERVE_FLAGS(orca, "iteration-level batching, memory reserved for the longest output (Orca)",
	ORR_MAY_ORACLE | ORR_WORK_CONSERVING | ORR_SERVE_HANDS_OFF, params, ops);
