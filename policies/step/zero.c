/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ZeRO: data parallelism with state sharded over the replicas (Rajbhandari, Rasley, Ruwase, He, "ZeRO: Memory Optimizations
 * Toward Training Trillion Parameter Models", SC 2020, sections 5 and 7).
 *
 *	stage 1  optimizer state: gradients are reduce-scattered, each replica updates its part, parameters are gathered
 *	stage 2  gradients too: a device keeps only its part after a bucket is reduced
 *	stage 3  parameters too: gathered before a chunk's forward pass and again before its backward pass
 *
 * With psi parameters a step moves 2 psi in stages 1 and 2, as all-reduce does, and 3 psi in stage 3 (section 7).
 * Collectives run one at a time, gathers first. `prefetch` chunks may be gathered ahead of the one that is computed.
 */
#include "messages.h"
#include "replicas.h"

#include <stdio.h>

static const struct orr_param params[] = { ORR_PARAM_INT("stage", "3", 1, 3,
						   "sharded state: 1: optimizer state; 2: also gradients; 3: also parameters"),
	ORR_PARAM_BOOL("overlap", true, "stages 1, 2: reduce-scatter during the backward pass, gather during the next forward pass"),
	ORR_PARAM_INT("prefetch", "1", 0, 1000, "stage 3: chunks gathered in advance"),
	ORR_PARAM_REAL(
		"bucket_bytes", "0", 0, 1e15, "bytes of gradients sent together; 0: a transformer block, or 26214400 without blocks"),
	ORR_PARAM_END };

struct zero {
	struct replicas r;
	int64_t stage;
	uint32_t prefetch;
	bool does_overlap;
	orr_op *forward, *backward; /* passes, [position * chunks + chunk] */
	orr_op *gather, *scatter;   /* latest gather for forward and then for backward passes, by chunk */
};

static void destroy(void *self)
{
	struct zero *z = self;
	replicas_free(&z->r);
	orr_free(z->forward);
	orr_free(z->backward);
	orr_free(z->gather);
	orr_free(z->scatter);
	orr_free(z);
}

static void plan(struct zero *z, struct orr_step *s, double bucket_bytes)
{
	struct replicas *r = &z->r;
	replicas_init(r, s, 0, true);
	double limit = (bucket_bytes > 0 ? bucket_bytes : 26214400) / r->facts.gradient_bytes;
	if (bucket_bytes == 0 && r->facts.blocks > 0)
		chunks_by_block(&r->chunks, s);
	else
		chunks_by_params(&r->chunks, s, limit, limit);
	replicas_costs(r, s);
	size_t n = (size_t)r->positions * r->chunks.n + 1;
	z->forward = orr_alloc(n, sizeof *z->forward);
	z->backward = orr_alloc(n, sizeof *z->backward);
	z->gather = orr_alloc(r->chunks.n + 1u, sizeof *z->gather);
	z->scatter = orr_alloc(r->chunks.n + 1u, sizeof *z->scatter);
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct zero *z = orr_alloc(1, sizeof *z);
	(void)err;
	plan(z, s, orr_arg_real(args, "bucket_bytes"));
	z->stage = orr_arg_int(args, "stage");
	z->prefetch = (uint32_t)orr_arg_int(args, "prefetch");
	z->does_overlap = orr_arg_bool(args, "overlap");
	double part = 1.0 / z->r.n;
	replicas_hold(&z->r, s, z->stage >= 3 ? part : 1, z->stage >= 2 ? part : 1, part);
	return z;
}

/* Declares that a replica allocates memory when `from` starts and frees it when `to` ends. */
static void borrow(const struct zero *z, struct orr_step *s, orr_op from, orr_op to, uint32_t position, double bytes)
{
	if (z->r.n == 1 || bytes <= 0)
		return; /* memory held during the whole run */
	orr_takes(s, from, position, bytes);
	orr_gives(s, to, position, bytes);
}

static orr_op collective(const struct zero *z, struct orr_step *s, uint32_t chunk, enum orr_collective_op op)
{
	const struct replicas *r = &z->r;
	const struct chunk *c = &r->chunks.chunk[chunk];
	if (r->n == 1 || c->params <= 0)
		return orr_mark(s);
	bool is_gather = op == ORR_ALL_GATHER;
	struct orr_collective what = { .op = op, .bytes = c->params * (is_gather ? r->facts.weight_bytes : r->facts.gradient_bytes) };
	if (!is_gather) {
		what.first_layer = c->first;
		what.n_layers = c->count;
	}
	orr_op sum = replicas_collective(r, s, &what);
	orr_on_stream(s, sum, 1);
	orr_priority(s, sum, is_gather ? 0 : 1);
	orr_label(s, sum, is_gather ? "gather chunk %u" : "reduce-scatter chunk %u", chunk);
	return sum;
}

/* Makes op wait for the op of the same chunk on every replica. */
static void after_all(const struct zero *z, struct orr_step *s, orr_op op, const orr_op *of, uint32_t chunk)
{
	for (uint32_t p = 0; p < z->r.positions; p++)
		orr_after(s, op, of[(size_t)p * z->r.chunks.n + chunk]);
}

/*
 * Stage 3: gathers a chunk that is computed at step `place` of the iteration's 2n: forward of chunks 0 to n-1, then backward of
 * n-1 to 0. The gather may start after the computation of the chunk that is prefetch + 1 steps earlier.
 */
static void gather(struct zero *z, struct orr_step *s, uint32_t place)
{
	uint32_t n = z->r.chunks.n, chunk = place < n ? place : 2 * n - 1 - place;
	z->gather[chunk] = collective(z, s, chunk, ORR_ALL_GATHER);
	for (uint32_t p = 0; p < z->r.positions; p++) /* after the update of the previous iteration */
		orr_after(s, z->gather[chunk], z->r.tail[p]);
	if (place <= z->prefetch)
		return;
	uint32_t earlier = place - 1 - z->prefetch;
	after_all(z, s, z->gather[chunk], earlier < n ? z->forward : z->backward, earlier < n ? earlier : 2 * n - 1 - earlier);
}

static void forward(struct zero *z, struct orr_step *s)
{
	struct replicas *r = &z->r;
	for (uint32_t c = 0; c < r->chunks.n; c++) {
		if (z->stage == 3)
			gather(z, s, c);
		for (uint32_t p = 0; p < r->positions; p++) {
			orr_op *f = &z->forward[(size_t)p * r->chunks.n + c];
			*f = replicas_forward(r, s, p, c);
			orr_after(s, *f, c ? f[-1] : r->tail[p]);
			orr_after(s, *f, z->gather[c]);
			if (z->stage == 3)
				borrow(z, s, z->gather[c], *f, p, r->chunks.chunk[c].params * r->facts.weight_bytes);
		}
	}
}

/* Reduce-scatters the chunk's gradient over the replicas. Stages 2 and 3 then free the whole gradient. */
static void scatter(struct zero *z, struct orr_step *s, uint32_t c, uint32_t after_chunk)
{
	const struct replicas *r = &z->r;
	z->scatter[c] = collective(z, s, c, ORR_REDUCE_SCATTER);
	after_all(z, s, z->scatter[c], z->backward, after_chunk);
	for (uint32_t p = 0; p < r->positions && z->stage >= 2; p++)
		borrow(z, s, z->backward[(size_t)p * r->chunks.n + c], z->scatter[c], p,
			r->chunks.chunk[c].params * r->facts.gradient_bytes);
}

static void backward(struct zero *z, struct orr_step *s)
{
	struct replicas *r = &z->r;
	bool does_overlap = z->does_overlap || z->stage == 3;
	for (uint32_t c = r->chunks.n; c--;) {
		if (z->stage == 3)
			gather(z, s, 2 * r->chunks.n - 1 - c);
		for (uint32_t p = 0; p < r->positions; p++) {
			size_t at = (size_t)p * r->chunks.n + c;
			z->backward[at] = replicas_backward(r, s, p, c);
			orr_after(s, z->backward[at], c + 1 < r->chunks.n ? z->backward[at + 1] : z->forward[at]);
			if (c + 1 == r->chunks.n)
				orr_updates(s, z->backward[at], &(struct orr_update){ .kind = ORR_GRADIENT });
			if (z->stage < 3)
				continue;
			orr_after(s, z->backward[at], z->gather[c]);
			borrow(z, s, z->gather[c], z->backward[at], p, r->chunks.chunk[c].params * r->facts.weight_bytes);
		}
		if (does_overlap)
			scatter(z, s, c, c);
	}
	for (uint32_t c = r->chunks.n; !does_overlap && c--;)
		scatter(z, s, c, 0);
}

/* Stages 1 and 2: gathers the updated parameters. A chunk's forward pass waits for its own parameters. */
static void gather_updated(struct zero *z, struct orr_step *s)
{
	struct replicas *r = &z->r;
	for (uint32_t c = 0; c < r->chunks.n; c++) {
		z->gather[c] = collective(z, s, c, ORR_ALL_GATHER);
		for (uint32_t p = 0; p < r->positions; p++)
			orr_after(s, z->gather[c], r->tail[p]);
	}
	if (z->does_overlap)
		return;
	orr_op all = orr_mark(s);
	for (uint32_t c = 0; c < r->chunks.n; c++)
		orr_after(s, all, z->gather[c]);
	for (uint32_t p = 0; p < r->positions; p++)
		r->tail[p] = all;
}

/* Returns the chunk whose gradient is sent last. */
static uint32_t last_sent(const struct zero *z)
{
	uint32_t c = 0;
	while (c + 1 < z->r.chunks.n && z->r.chunks.chunk[c].params <= 0)
		c++;
	return c;
}

static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	struct zero *z = self;
	struct replicas *r = &z->r;
	(void)iteration, (void)err;
	forward(z, s);
	backward(z, s);
	if (r->n > 1 && r->facts.params > 0)
		orr_updates(s, z->scatter[last_sent(z)], &(struct orr_update){ .kind = ORR_AVERAGE_GRADIENTS });
	for (uint32_t p = 0; p < r->positions; p++) {
		orr_op update = orr_compute(s, p, ORR_OPTIMIZER, orr_update_cost(s, r->device[p], r->facts.params / r->n));
		orr_after(s, update, z->backward[(size_t)p * r->chunks.n]);
		for (uint32_t c = 0; c < r->chunks.n; c++)
			orr_after(s, update, z->scatter[c]);
		orr_updates(s, update, &(struct orr_update){ .kind = ORR_LOCAL_UPDATE });
		r->tail[p] = update;
	}
	if (z->stage < 3)
		gather_updated(z, s);
	return 0;
}

static void describe(void *self, char *out, size_t size)
{
	const struct zero *z = self;
	snprintf(out, size, "stage %d over %u replicas, %u chunks", (int)z->stage, z->r.n, z->r.chunks.n);
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe };

ORR_POLICY_STEP(zero, "data parallel with sharded state: ZeRO stages 1, 2 and 3", params, ops);
