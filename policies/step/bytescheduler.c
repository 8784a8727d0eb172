/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ByteScheduler: priority scheduling of all-reduces across iterations (Peng et al., "A Generic Communication Scheduler for
 * Distributed DNN Training Acceleration", SOSP 2019).
 *
 * Tensors are cut into partitions (4.1). Early layers go first, and at most `credit` partitions are in flight (4.2). The
 * forward pass of a layer waits for that layer's gradients only, not for the whole iteration (3.2).
 *
 * The credit window is modelled as one stream for each partition that fits in it. Partitions are assigned to streams in turn,
 * so a partition may wait for its stream while another stream is free. In the real window it would not wait.
 */
#include "messages.h"
#include "replicas.h"

#include <stdio.h>

static const struct orr_param params[] = { ORR_PARAM_REAL("partition_bytes", "4e6", 1, 1e15, "largest size of a partition"),
	ORR_PARAM_INT("credit", "4", 1, 7, "partitions in flight"),
	ORR_PARAM_BOOL("priority", true, "early layers first; else in the order in which gradients become ready"), ORR_PARAM_END };

struct bytescheduler {
	struct replicas r;
	struct messages m;
	uint32_t credit;
	bool has_priority;
	orr_op *backward;
	orr_op *updated;  /* update in the previous iteration, for which the forward pass waits, [position * chunks + chunk] */
	orr_op *complete; /* all updates of the previous iteration are done, by position */
};

static void destroy(void *self)
{
	struct bytescheduler *b = self;
	replicas_free(&b->r);
	messages_free(&b->m);
	orr_free(b->backward);
	orr_free(b->updated);
	orr_free(b->complete);
	orr_free(b);
}

static void plan(struct bytescheduler *b, struct orr_step *s, const struct orr_args *args)
{
	struct replicas *r = &b->r;
	replicas_init(r, s, 0, true);
	chunks_by_params(&r->chunks, s, 1, 1);
	replicas_costs(r, s);
	messages_by_chunk(&b->m, &r->chunks);
	messages_partition(&b->m, orr_arg_real(args, "partition_bytes") / r->facts.gradient_bytes);
	size_t n = (size_t)r->positions * r->chunks.n + 1;
	b->backward = orr_alloc(n, sizeof *b->backward);
	b->updated = orr_alloc(n, sizeof *b->updated);
	b->complete = orr_alloc(r->positions + 1u, sizeof *b->complete);
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct bytescheduler *b = orr_alloc(1, sizeof *b);
	(void)err;
	plan(b, s, args);
	b->credit = (uint32_t)orr_arg_int(args, "credit");
	b->has_priority = orr_arg_bool(args, "priority");
	replicas_hold(&b->r, s, 1, 1, 1);
	return b;
}

/* Builds forward and backward of one replica, chunk by chunk: each chunk waits for its own parameters. */
static void compute(struct bytescheduler *b, struct orr_step *s, uint32_t position)
{
	struct replicas *r = &b->r;
	orr_op before = r->tail[position];
	size_t row = (size_t)position * r->chunks.n;
	for (uint32_t c = 0; c < r->chunks.n; c++) {
		orr_op forward = replicas_forward(r, s, position, c);
		orr_after(s, forward, before);
		orr_after(s, forward, b->updated[row + c]);
		before = forward;
	}
	replicas_whole_backward(r, s, position, before, b->backward + row);
	orr_after(s, b->backward[row + r->chunks.n - 1], b->complete[position]);
	r->tail[position] = b->backward[row];
}

static orr_op send(const struct bytescheduler *b, struct orr_step *s, uint32_t i)
{
	const struct message *m = &b->m.message[i];
	const struct replicas *r = &b->r;
	orr_op sum = replicas_collective(r, s,
		&(struct orr_collective){ .op = ORR_ALL_REDUCE,
			.bytes = m->params * r->facts.gradient_bytes,
			.first_layer = m->first,
			.n_layers = m->count });
	for (uint32_t p = 0; p < r->positions; p++)
		orr_after(s, sum, b->backward[(size_t)p * r->chunks.n + m->chunk]);
	orr_on_stream(s, sum, 1 + i % b->credit);
	if (b->has_priority)
		orr_priority(s, sum, (int32_t)m->chunk);
	orr_label(s, sum, "all-reduce layer %u", m->first);
	return sum;
}

/* Builds the optimizer step of each chunk, after its gradients are summed. */
static void update(struct bytescheduler *b, struct orr_step *s)
{
	struct replicas *r = &b->r;
	for (uint32_t p = 0; p < r->positions; p++)
		for (uint32_t c = r->chunks.n; c--;) {
			size_t at = (size_t)p * r->chunks.n + c;
			b->updated[at] = orr_compute(s, p, ORR_OPTIMIZER, orr_update_cost(s, r->device[p], r->chunks.chunk[c].params));
			orr_after(s, b->updated[at], b->backward[at]);
		}
}

/* Makes a zero-length op after all updates of the iteration, which reports the update to sim/learn. */
static void apply(struct bytescheduler *b, struct orr_step *s, uint32_t position)
{
	const struct replicas *r = &b->r;
	b->complete[position] = orr_compute(s, position, ORR_OPTIMIZER, 0);
	for (uint32_t c = 0; c < r->chunks.n; c++)
		orr_after(s, b->complete[position], b->updated[(size_t)position * r->chunks.n + c]);
	orr_updates(s, b->complete[position], &(struct orr_update){ .kind = ORR_LOCAL_UPDATE });
}

static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	struct bytescheduler *b = self;
	struct replicas *r = &b->r;
	(void)iteration, (void)err;
	for (uint32_t p = 0; p < r->positions; p++)
		compute(b, s, p);
	uint32_t n = r->n > 1 ? b->m.n : 0;
	orr_op *sum = orr_alloc(n + 1u, sizeof *sum);
	for (uint32_t i = 0; i < n; i++)
		sum[i] = send(b, s, i);
	if (n)
		orr_updates(s, sum[n - 1], &(struct orr_update){ .kind = ORR_AVERAGE_GRADIENTS });
	update(b, s);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t p = 0; p < r->positions; p++)
			orr_after(s, b->updated[(size_t)p * r->chunks.n + b->m.message[i].chunk], sum[i]);
	for (uint32_t p = 0; p < r->positions; p++)
		apply(b, s, p);
	orr_free(sum);
	return 0;
}

static void describe(void *self, char *out, size_t size)
{
	const struct bytescheduler *b = self;
	snprintf(out, size, "%u replicas, %u partitions, %u at once, %s", b->r.n, b->m.n, b->credit,
		b->has_priority ? "early layers first" : "in order");
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe };

ORR_POLICY_STEP(bytescheduler, "all-reduce by priority, partitioned, across iterations (ByteScheduler)", params, ops);
