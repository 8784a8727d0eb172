/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Static batches of a language model, as in NVIDIA FasterTransformer with Triton (Yu et al., Orca, OSDI 2022, section 2;
 * Agrawal et al., Sarathi-Serve, OSDI 2024, "request-level batching"): a batch of waiting requests runs its prompts, then
 * decodes until all of its outputs are complete; no request joins it. Memory for prompt and longest output is reserved at the
 * start.
 *
 * Simplification in favour of this policy: a request whose output is complete leaves at once; the real system keeps it in the
 * batch as padding.
 */
#include "evict.h"
#include "kinds.h"

struct ft {
	struct orr_fifo *queue; /* by replica */
	double *wait_from;      /* arrival of the request for which a timer is set; -1: none */
	orr_req *room;          /* scratch for the largest batch */
	uint32_t most, output;
	double timeout_s;
};

static uint32_t reservation(const struct ft *f, const struct orr_serve *w, orr_req r)
{
	struct orr_req_info info;
	if (!orr_req_get(w, r, &info))
		return 0;
	return evict_cap(
		w, orr_req_replica(w, r), &info, (uint64_t)info.prompt_tokens + (info.max_output ? info.max_output : f->output) - 1);
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct ft *f = self;
	uint32_t replica = orr_req_replica(w, r);
	if (orr_kv_blocks(w, replica, reservation(f, w, r)) > orr_kv_total(w, replica))
		orr_refuse_because(w, r, ORR_REQ_REFUSED, "its reservation exceeds the KV cache of a replica");
	else
		orr_fifo_push(w, &f->queue[replica], r);
}

/* Starts a batch if it is full or its first request has waited for the timeout. */
static bool start_batch(struct ft *f, struct orr_serve *w, uint32_t replica)
{
	struct orr_fifo *q = &f->queue[replica];
	if (!q->first)
		return false;
	double due = orr_req_arrival(w, q->first) + f->timeout_s;
	if (q->n < f->most && orr_serve_now(w) < due) {
		if (f->wait_from[replica] != orr_req_arrival(w, q->first))
			orr_serve_timer(w, replica, due);
		f->wait_from[replica] = orr_req_arrival(w, q->first);
		orr_serve_why(w, replica, "the batch waits for more requests");
		return false;
	}
	uint32_t n = 0;
	while (q->first && n < f->most && orr_admit(w, q->first, reservation(f, w, q->first), 0)) {
		orr_req r = orr_fifo_pop(w, q);
		if (orr_req_prompt(w, r) > orr_req_done(w, r))
			orr_iter_prefill(w, r, orr_req_prompt(w, r) - orr_req_done(w, r));
		n++;
	}
	orr_serve_why(w, replica, "no request joins a running batch");
	return n > 0;
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	struct ft *f = self;
	if (!orr_replica_is_idle(w, replica))
		return;
	evict_if_short(w, replica, &f->queue[replica], f->room);
	if (orr_residents(w, replica))
		orr_serve_why(w, replica, "no request joins a running batch");
	if (orr_residents(w, replica))
		orr_iter_run(w, replica, 0, 0, ORR_ITER_DECODE | ORR_ITER_THROUGH);
	else if (start_batch(f, w, replica))
		orr_iter_run(w, replica, 1, 0, ORR_ITER_DECODE | ORR_ITER_THROUGH);
}

static void destroy(void *self)
{
	struct ft *f = self;
	orr_free(f->queue);
	orr_free(f->wait_from);
	orr_free(f->room);
	orr_free(f);
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	if (!serves_only(w, ORR_MODEL_LLM, err))
		return NULL;
	struct ft *f = orr_alloc(1, sizeof *f);
	uint32_t n = orr_replicas(w), most = (uint32_t)orr_arg_int(args, "max_batch");
	f->room = orr_alloc(most, sizeof *f->room);
	f->queue = orr_alloc(n + 1, sizeof *f->queue);
	f->wait_from = orr_alloc(n + 1, sizeof *f->wait_from);
	for (uint32_t i = 0; i < n; i++)
		f->wait_from[i] = -1;
	f->most = most;
	f->output = (uint32_t)orr_arg_int(args, "output");
	f->timeout_s = (double)orr_arg_time_ns(args, "timeout") / 1e9;
	if (!(f->timeout_s > 0))
		orr_serve_claim(w, ORR_WORK_CONSERVING);
	return f;
}

static const struct orr_param params[] = { ORR_PARAM_INT("max_batch", "8", 1, 1e6, "largest number of requests in a batch"),
	ORR_PARAM_TIME("timeout", "0", "longest time that the first request of a batch waits for others; 0: none"),
	ORR_PARAM_INT("output", "1024", 1, 1e8, "tokens reserved for the output of a request that states no limit"), ORR_PARAM_END };

static const struct orr_serve_ops ops = {
	.create = create,
	.destroy = destroy,
	.arrive = arrive,
	.schedule = schedule,
};

ORR_POLICY_SERVE_FLAGS(fastertransformer, "static batches of language models: no request joins a running batch (FasterTransformer)",
	ORR_SERVE_HANDS_OFF, params, ops);
