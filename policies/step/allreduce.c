/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Data parallelism with all-reduce: every GPU computes the gradient of its own batch, the gradients are averaged, and every GPU
 * updates its own copy.
 *
 *	fusion=ddp      PyTorch DistributedDataParallel: buckets of 25 MiB, the first of 1 MiB (Li et al., "PyTorch
 *	                Distributed", VLDB 2020, 3.2)
 *	fusion=horovod  Horovod: the gradients that become ready within a cycle, at most 64 MiB (Sergeev, Del Balso,
 *	                arXiv 1802.05799, section 4)
 *	fusion=tensor   one all-reduce for each tensor
 *	fusion=none     one for the whole gradient
 *
 * Collectives run one at a time. With overlap, one starts as soon as its gradients are ready; otherwise all wait for the
 * end of the backward pass. fusion=tensor,overlap=no is the loop of blocking calls of hand-written training scripts.
 *
 * With ring_order=interleaved every hop of a ring crosses racks, as may happen in a ring that ignores racks. With islands=rack
 * the hierarchical algorithms reduce inside racks.
 *
 * dense_inside splits the all-reduce in three steps: reduce-scatter inside each node, all-reduce of each part between
 * nodes, all-gather inside. step.compression then applies between nodes only, as in Deep Gradient Compression on nodes of
 * several GPUs.
 */
#include "messages.h"
#include "replicas.h"

#include <stdio.h>
#include <string.h>

static const struct orr_param params[] = {
	ORR_PARAM_CHOICE("algorithm", "default",
		"default|ring|halving-doubling|double-tree|hierarchical|direct|hierarchical-leader|multi-ring|multi-tree|nvls-tree",
		"algorithm of the all-reduce; default: step.algorithm"),
	ORR_PARAM_BOOL("overlap", true, "send gradients during the backward pass"),
	ORR_PARAM_CHOICE("fusion", "ddp", "ddp|horovod|tensor|none", "gradients that are sent together"),
	ORR_PARAM_REAL("bucket_bytes", "26214400", 1, 1e15, "ddp: size at which a bucket is sent"),
	ORR_PARAM_REAL("first_bucket_bytes", "1048576", 1, 1e15, "ddp: size at which the first bucket is sent"),
	ORR_PARAM_REAL("fusion_bytes", "67108864", 1, 1e15, "horovod: largest number of bytes that are sent together"),
	ORR_PARAM_BOOL("dense_inside", false, "reduce inside the nodes first; compression applies between nodes only"),
	ORR_PARAM_CHOICE("ring_order", "rack", "rack|interleaved",
		"order of GPUs in the ring: as in the cluster, or the first of each rack, the second of each, .."),
	ORR_PARAM_CHOICE("islands", "node", "node|rack", "hierarchical algorithms: the groups that are reduced first"),
	ORR_PARAM_INT("pipeline_chunks", "0", 0, 65536, "trees and chains: pieces in the pipeline; 0: chosen by size"),
	ORR_PARAM_TIME("cycle", "1ms", "horovod: time between two checks for ready gradients"), ORR_PARAM_END
};

struct allreduce {
	struct replicas r;
	struct messages m;
	enum orr_collective_algorithm algorithm;
	bool does_overlap;
	const char *fusion;
	uint32_t inside; /* dense_inside: number of GPUs of a node; else 0 */
	uint32_t island; /* islands=rack: number of GPUs of a rack; else 0: GPUs of a node */
	uint32_t pipeline_chunks;
	double cycle_s; /* cycle of horovod with overlap; else 0 */
	orr_op *backward, *sum;
};

static enum orr_collective_algorithm algorithm_named(const char *name)
{
	static const char *const names[] = { "default", "ring", "halving-doubling", "double-tree", "hierarchical", "direct",
		"hierarchical-leader", "multi-ring", "multi-tree", "nvls-tree" };
	for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
		if (!strcmp(name, names[i]))
			return (enum orr_collective_algorithm)i;
	return ORR_ALGORITHM_DEFAULT;
}

static void destroy(void *self)
{
	struct allreduce *a = self;
	replicas_free(&a->r);
	messages_free(&a->m);
	orr_free(a->backward);
	orr_free(a->sum);
	orr_free(a);
}

static void plan(struct allreduce *a, struct orr_step *s, const struct orr_args *args)
{
	struct replicas *r = &a->r;
	replicas_init_ordered(r, s, 0, true, !strcmp(orr_arg_text(args, "ring_order"), "interleaved"));
	double element = r->facts.gradient_bytes, first = INFINITY, limit = INFINITY;
	bool is_tensor = !strcmp(a->fusion, "tensor");
	if (!strcmp(a->fusion, "ddp")) {
		first = orr_arg_real(args, "first_bucket_bytes") / element;
		limit = orr_arg_real(args, "bucket_bytes") / element;
	} else if (is_tensor && a->does_overlap) {
		first = limit = 1; /* one chunk per layer with parameters */
	}
	if (!strcmp(a->fusion, "horovod"))
		chunks_by_cycle(&r->chunks, s, r->device[0], r->facts.batch, a->does_overlap ? a->cycle_s : INFINITY,
			orr_arg_real(args, "fusion_bytes") / element);
	else
		chunks_by_params(&r->chunks, s, first, limit);
	replicas_costs(r, s);
	if (is_tensor)
		messages_by_tensor(&a->m, &r->chunks, s);
	else
		messages_by_chunk(&a->m, &r->chunks);
}

static int set_islands(struct allreduce *a, const struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	bool is_dense = orr_arg_bool(args, "dense_inside"), is_rack = !strcmp(orr_arg_text(args, "islands"), "rack");
	a->pipeline_chunks = (uint32_t)orr_arg_int(args, "pipeline_chunks");
	a->inside = is_dense ? replicas_per_node(&a->r, s) : 0;
	a->island = is_rack ? replicas_per_rack(&a->r, s) : 0;
	if (is_dense && !a->inside)
		return orr_fail(err, ORR_EINPUT, "dense_inside: expected false: the nodes have different numbers of GPUs%s",
			strcmp(orr_arg_text(args, "ring_order"), "rack") ? ", or ring_order separates them" : "");
	if (is_rack && !a->island)
		return orr_fail(err, ORR_EINPUT, "islands: expected node: the racks have different numbers of GPUs or are not consecutive");
	return ORR_OK;
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct allreduce *a = orr_alloc(1, sizeof *a);
	a->algorithm = algorithm_named(orr_arg_text(args, "algorithm"));
	a->does_overlap = orr_arg_bool(args, "overlap");
	a->fusion = orr_arg_text(args, "fusion");
	if (!strcmp(a->fusion, "horovod") && a->does_overlap)
		a->cycle_s = (double)orr_arg_time_ns(args, "cycle") / 1e9;
	plan(a, s, args);
	if (set_islands(a, s, args, err)) {
		destroy(a);
		return NULL;
	}
	a->backward = orr_alloc((size_t)a->r.positions * a->r.chunks.n + 1, sizeof *a->backward);
	a->sum = orr_alloc(a->m.n + 1u, sizeof *a->sum);
	replicas_hold(&a->r, s, 1, 1, 1);
	return a;
}

/* Horovod: makes the delay from the end of a chunk's backward pass to the thread's next check. */
static orr_op wait_for_cycle(const struct allreduce *a, struct orr_step *s, uint32_t chunk)
{
	double ready_s = 0;
	for (uint32_t i = chunk; i < a->r.chunks.n; i++)
		ready_s += a->r.backward_s[i];
	return orr_delay(s, fmax(0, ceil(ready_s / a->cycle_s) * a->cycle_s - ready_s));
}

/* Makes `op` wait, on every GPU, for the backward pass of the message's chunk; without overlap, for the whole backward pass. */
static void wait_for_gradient(const struct allreduce *a, struct orr_step *s, orr_op op, const struct message *m)
{
	for (uint32_t p = 0; p < a->r.positions; p++)
		orr_after(s, op, a->backward[(size_t)p * a->r.chunks.n + (a->does_overlap ? m->chunk : 0)]);
}

/*
 * Makes one collective per group, each after `after`. A group is `size` replicas, `stride` apart; the groups start at replica 0
 * and are `next` apart. Returns one op that waits for all. With lanes, one group represents all.
 */
static orr_op in_groups(const struct allreduce *a, struct orr_step *s, uint32_t groups, uint32_t next, uint32_t size, uint32_t stride,
	orr_op after, const struct orr_collective *c, bool is_mean)
{
	bool is_lanes = a->r.positions == 1;
	uint32_t *device = orr_alloc(size, sizeof *device);
	orr_op all = after;
	for (uint32_t g = 0; size > 1 && g < (is_lanes ? 1 : groups); g++) {
		for (uint32_t i = 0; i < size; i++)
			device[i] = a->r.device[g * next + i * stride];
		orr_op op =
			is_lanes ? orr_collective_lanes(s, 0, size, stride, c) : orr_collective(s, &(struct orr_group){ device, size }, c);
		orr_after(s, op, after);
		orr_on_stream(s, op, 1);
		if (is_mean)
			orr_updates(s, op, &(struct orr_update){ .kind = ORR_AVERAGE_GRADIENTS });
		all = and_also(s, all, op);
	}
	orr_free(device);
	return all;
}

/* dense_inside: makes three collectives, of which the middle one is compressed. The first two average: inside nodes, and between
 * them. */
static orr_op send_inside_out(const struct allreduce *a, struct orr_step *s, const struct message *m, orr_op ready, bool is_last)
{
	uint32_t size = a->inside, nodes = a->r.n / size;
	double bytes = m->params * a->r.facts.gradient_bytes;
	const struct orr_collective scatter = { .op = ORR_REDUCE_SCATTER, .bytes = bytes };
	const struct orr_collective gather = { .op = ORR_ALL_GATHER, .bytes = bytes };
	const struct orr_collective across = {
		.op = ORR_ALL_REDUCE, .algorithm = a->algorithm, .bytes = bytes / size, .first_layer = m->first, .n_layers = m->count
	};
	orr_op inside = in_groups(a, s, nodes, size, size, 1, ready, &scatter, is_last);
	orr_op summed = in_groups(a, s, size, 1, nodes, size, inside, &across, is_last);
	return in_groups(a, s, nodes, size, size, 1, summed, &gather, false);
}

static orr_op send(const struct allreduce *a, struct orr_step *s, const struct message *m, bool is_last)
{
	orr_op woken = a->cycle_s > 0 ? wait_for_cycle(a, s, m->chunk) : a->inside ? orr_mark(s) : 0;
	wait_for_gradient(a, s, woken, m);
	if (a->inside)
		return send_inside_out(a, s, m, woken, is_last);
	orr_op sum = replicas_collective(&a->r, s,
		&(struct orr_collective){ .op = ORR_ALL_REDUCE,
			.algorithm = a->algorithm,
			.bytes = m->params * a->r.facts.gradient_bytes,
			.inner = a->island,
			.first_layer = m->first,
			.n_layers = m->count,
			.chunks = a->pipeline_chunks });
	if (woken)
		orr_after(s, sum, woken);
	else
		wait_for_gradient(a, s, sum, m);
	orr_on_stream(s, sum, 1);
	orr_label(s, sum, "all-reduce layers %u..%u", m->first, m->first + m->count - 1);
	if (is_last)
		orr_updates(s, sum, &(struct orr_update){ .kind = ORR_AVERAGE_GRADIENTS });
	return sum;
}

static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	struct allreduce *a = self;
	struct replicas *r = &a->r;
	(void)iteration, (void)err;
	for (uint32_t p = 0; p < r->positions; p++)
		replicas_whole_backward(r, s, p, replicas_whole_forward(r, s, p), a->backward + (size_t)p * r->chunks.n);
	uint32_t sums = r->n > 1 ? a->m.n : 0;
	for (uint32_t i = 0; i < sums; i++)
		a->sum[i] = send(a, s, &a->m.message[i], i == sums - 1);
	for (uint32_t p = 0; p < r->positions; p++) {
		orr_op update = orr_compute(s, p, ORR_OPTIMIZER, orr_update_cost(s, r->device[p], r->facts.params));
		orr_after(s, update, a->backward[(size_t)p * r->chunks.n]);
		for (uint32_t i = 0; i < sums; i++)
			orr_after(s, update, a->sum[i]);
		orr_updates(s, update, &(struct orr_update){ .kind = ORR_LOCAL_UPDATE });
		r->tail[p] = update;
	}
	return 0;
}

static void describe(void *self, char *out, size_t size)
{
	const struct allreduce *a = self;
	snprintf(out, size, "%u replicas, %u all-reduces (%s), %s", a->r.n, a->r.n > 1 ? a->m.n : 0, a->fusion,
		a->does_overlap ? "overlapped" : "after the backward pass");
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe };

ORR_POLICY_STEP(allreduce, "data parallel, gradients averaged by all-reduce (DDP, Horovod)", params, ops);
