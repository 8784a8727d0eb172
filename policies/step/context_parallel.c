/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Context parallelism: the tokens of a sequence are divided over a group of GPUs (ring attention, Liu et al., arXiv 2310.01889, with
 * the balance of Megatron-LM's context parallelism; DeepSpeed Ulysses, Jacobs et al., arXiv 2309.14509; both together).
 *
 * A group of cp = ulysses x g GPUs trains on the same sequences; each GPU has seq / cp tokens of every layer but attention. GPUs of
 * one group are neighbours, those of one Ulysses group first. Attention of a layer:
 *
 *	ulysses > 1   an all-to-all turns shares of tokens into shares of heads (Q, K, V), another one turns them back (O)
 *	ring          g steps: a GPU computes its queries against a block of keys and values while it sends the block to the next GPU
 *	all-gather    all keys and values are gathered before attention
 *
 * Under a causal mask balance=zigzag gives GPU r of the ring pieces r and 2g-1-r of 2g, so that every step has half the work of a
 * full block everywhere. With balance=contiguous GPU r has piece r: step 0 is half a block, later steps a full one or none.
 *
 * Backward gathers K and V again; the gradients of K and V go round with them and return to their owner. At the end all GPUs sum
 * the gradients of the weights. Formulas: docs/models/step-context-parallel.md.
 */
#include "stages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STREAM_BLOCK = 1, STREAM_GRADIENT = 2, STREAM_HEADS = 3, STREAM_SUM = 4 };
enum work { WORK_ALL, WORK_ATTENTION, WORK_FORWARD };

/* Seconds of a block on one GPU outside attention, before and after it. */
struct block_cost {
	double before_s[2], after_s[2]; /* forward, backward */
	double kept_bytes;
};

struct context {
	uint32_t cp, u, g, dp, blocks;
	uint32_t slowest; /* GPU whose times are those of all */
	bool is_gather, is_causal, is_zigzag;
	enum work work;
	double sequences; /* of a group */
	double tokens;    /* tokens of a GPU in all its sequences */
	double step_s;    /* forward of a step with a full block */
	double backward_factor;
	double kv_bytes, kv_gradient_bytes; /* bytes of one block of the ring */
	double heads_bytes[2];              /* bytes of a GPU in the all-to-all of Q, K, V and of O */
	double rest_s[2], update_s, sum_bytes;
	struct block_cost *block;
	orr_op *tail;                              /* last op of a GPU */
	orr_op *update;                            /* updates of the last iteration, by GPU */
	orr_op *block_in, *gradient_in, *computed; /* ops of a step, [step * cp + rank] */
};

static void destroy(void *self)
{
	struct context *x = self;
	if (!x)
		return;
	orr_free(x->block);
	orr_free(x->tail);
	orr_free(x->update);
	orr_free(x->block_in);
	orr_free(x->gradient_in);
	orr_free(x->computed);
	orr_free(x);
}

/* ---- create ---- */

static double cost(const struct context *x, const struct orr_step *s, bool is_backward, uint32_t first, uint32_t n, double samples)
{
	if (!n)
		return 0;
	if (!is_backward)
		return orr_cost(s, x->slowest, ORR_PASS_FORWARD, first, n, samples, 1);
	return orr_cost(s, x->slowest, ORR_PASS_BACKWARD_DATA, first, n, samples, 1) +
	       orr_cost(s, x->slowest, ORR_PASS_BACKWARD_WEIGHT, first, n, samples, 1);
}

/* Checks that each block has one attention, which is two products of activations. */
static int check_blocks(const struct orr_step *s, const struct orr_step_facts *f, struct orr_error *err)
{
	struct orr_layer_info i;
	for (uint32_t l = 0; l < f->layers;) {
		uint32_t products = 0, block;
		orr_step_layer(s, l, &i);
		for (block = i.block; l < f->layers && i.block == block;) {
			products += i.kind == ORR_LAYER_MATMUL;
			if (++l < f->layers)
				orr_step_layer(s, l, &i);
		}
		if (block != UINT32_MAX && products != 2)
			return orr_fail(err, ORR_EINPUT,
				"context parallelism: block %u of the model has %u products of activations: expected 2, those of one "
				"attention",
				block, products);
	}
	return ORR_OK;
}

/* Measures layers first..end-1, a block. Returns the seconds of full attention of all its sequences on one GPU. */
static double measure_block(
	struct context *x, const struct orr_step *s, const struct orr_step_facts *f, uint32_t first, uint32_t end, struct block_cost *out)
{
	uint32_t core = UINT32_MAX, last = 0;
	double saved = 0, attention_s = 0;
	struct orr_layer_info i;
	for (uint32_t l = first; l < end; l++) {
		orr_step_layer(s, l, &i);
		if (i.kind == ORR_LAYER_MATMUL) {
			core = core == UINT32_MAX ? l : core;
			last = l;
		}
	}
	double share = f->batch / x->cp;
	for (uint32_t l = first; l < end; l++) {
		orr_step_layer(s, l, &i);
		if (l < core || l > last)
			saved += i.saved_elems;
		else
			attention_s += orr_cost(s, x->slowest, ORR_PASS_FORWARD, l, 1, f->batch, 1);
	}
	for (int b = 0; b < 2; b++) {
		out->before_s[b] = cost(x, s, b, first, core - first, share);
		out->after_s[b] = cost(x, s, b, last + 1, end - last - 1, share);
	}
	out->kept_bytes = saved * share * f->activation_bytes;
	return attention_s;
}

static double measure_blocks(struct context *x, const struct orr_step *s, const struct orr_step_facts *f)
{
	struct orr_layer_info i;
	double attention_s = 0, share = f->batch / x->cp;
	for (uint32_t l = 0; l < f->layers;) {
		uint32_t end = l + 1;
		orr_step_layer(s, l, &i);
		uint32_t block = i.block;
		if (block == UINT32_MAX) {
			x->rest_s[0] += cost(x, s, false, l, 1, share);
			x->rest_s[1] += cost(x, s, true, l, 1, share);
			l = end;
			continue;
		}
		for (; end < f->layers; end++) {
			orr_step_layer(s, end, &i);
			if (i.block != block)
				break;
		}
		double seconds = measure_block(x, s, f, l, end, &x->block[block]);
		attention_s = fmax(attention_s, seconds);
		l = end;
	}
	return attention_s;
}

static int read_sizes(struct context *x, const struct orr_step_facts *f, const struct orr_step_attention *a, const struct orr_args *args,
	double *kv, struct orr_error *err)
{
	const char *work = orr_arg_text(args, "work");
	x->cp = (uint32_t)orr_arg_int(args, "cp");
	x->cp = x->cp ? x->cp : f->gpus;
	x->u = (uint32_t)orr_arg_int(args, "ulysses");
	x->u = x->u ? x->u : x->cp;
	*kv = (double)orr_arg_int(args, "kv_heads");
	*kv = *kv > 0 ? *kv : a->kv_heads > 0 ? a->kv_heads : f->heads;
	x->is_gather = !strcmp(orr_arg_text(args, "kind"), "all-gather");
	x->is_causal = orr_arg_bool(args, "causal");
	x->is_zigzag = !strcmp(orr_arg_text(args, "balance"), "zigzag");
	x->work = !strcmp(work, "all") ? WORK_ALL : !strcmp(work, "attention") ? WORK_ATTENTION : WORK_FORWARD;
	if (!f->blocks || !(f->seq > 0))
		return orr_fail(err, ORR_EINPUT, "context parallelism: expected a transformer: the model has no repeated blocks");
	if (f->gpus % x->cp)
		return orr_fail(err, ORR_EINPUT, "cp=%u: expected a divisor of the %u GPUs", x->cp, f->gpus);
	if (x->cp % x->u || fmod(f->heads, x->u) != 0)
		return orr_fail(err, ORR_EINPUT, "ulysses=%u: expected a divisor of the %u GPUs of a group and of the %g attention heads",
			x->u, x->cp, f->heads);
	if (fmod(f->heads, *kv) != 0)
		return orr_fail(err, ORR_EINPUT, "kv_heads=%g: expected a divisor of the %g attention heads", *kv, f->heads);
	if (*kv > x->u ? fmod(*kv, x->u) != 0 : fmod(x->u, *kv) != 0)
		return orr_fail(
			err, ORR_EINPUT, "ulysses=%u: expected a divisor or a multiple of the %g heads of keys and values", x->u, *kv);
	x->g = x->cp / x->u;
	x->dp = f->gpus / x->cp;
	uint32_t pieces = x->cp * (x->is_causal && x->is_zigzag && !x->is_gather && x->g > 1 ? 2 : 1);
	if (fmod(f->seq, pieces) != 0)
		return orr_fail(
			err, ORR_EINPUT, "sequence of %g tokens: expected a multiple of %u, the pieces of %u GPUs", f->seq, pieces, x->cp);
	return ORR_OK;
}

/* Declares the memory of a GPU: weights, and buffers of attention. Activations are taken block by block. */
static void hold(const struct context *x, struct orr_step *s, const struct orr_step_facts *f)
{
	double ring = x->g == 1 ? 0 : x->is_gather ? x->g * x->kv_bytes : 2 * x->kv_bytes;
	double heads = x->u == 1 ? 0 : x->heads_bytes[0] + x->heads_bytes[1];
	for (uint32_t gpu = 0; gpu < f->gpus; gpu++) {
		stage_hold(s, gpu, f->params, 1, "context parallelism");
		orr_hold(s, gpu, ORR_MEMORY_BUFFERS, ring + heads, "context parallelism");
	}
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct orr_step_facts f;
	struct context *x = orr_alloc(1, sizeof *x);
	struct orr_step_attention a;
	double kv;
	orr_step_facts(s, &f);
	orr_step_attention(s, &a);
	if (read_sizes(x, &f, &a, args, &kv, err) || check_blocks(s, &f, err)) {
		destroy(x);
		return NULL;
	}
	double rate = orr_arg_real(args, "attention_flops"), sent_kv = fmax(kv, x->u);
	double head = a.head_dim > 0 ? a.head_dim : f.hidden / f.heads, v = a.v_dim > 0 ? a.v_dim : head;
	double gradient = orr_arg_real(args, "gradient_bytes"), block_tokens = f.seq / x->g * f.batch;
	x->sequences = f.batch;
	x->blocks = f.blocks;
	x->tokens = f.seq / x->cp * f.batch;
	x->block = orr_alloc(f.blocks, sizeof *x->block);
	x->tail = orr_alloc(x->cp, sizeof *x->tail);
	x->update = orr_alloc(f.gpus, sizeof *x->update);
	x->block_in = orr_alloc((size_t)x->g * x->cp, sizeof *x->block_in);
	x->gradient_in = orr_alloc((size_t)x->g * x->cp, sizeof *x->gradient_in);
	x->computed = orr_alloc((size_t)x->g * x->cp, sizeof *x->computed);
	x->slowest = stage_slowest_gpu(s);
	double attention_s = measure_blocks(x, s, &f);
	if (rate > 0)
		attention_s = 2 * f.seq * f.seq * f.heads * (head + v) * f.batch / rate;
	x->step_s = attention_s / x->u / ((double)x->g * x->g);
	x->backward_factor = orr_arg_real(args, "backward_factor");
	x->kv_bytes = block_tokens * sent_kv / x->u * (head + v) * f.activation_bytes;
	x->kv_gradient_bytes = block_tokens * sent_kv / x->u * (head + v) * (gradient > 0 ? gradient : f.activation_bytes);
	x->heads_bytes[0] = x->tokens * (f.heads * head + sent_kv * (head + v)) * f.activation_bytes;
	x->heads_bytes[1] = x->tokens * f.heads * v * f.activation_bytes;
	x->update_s = orr_arg_real(args, "update_s") >= 0 ? orr_arg_real(args, "update_s") : orr_update_cost(s, x->slowest, f.params);
	x->sum_bytes = orr_arg_real(args, "dp_bytes") >= 0 ? orr_arg_real(args, "dp_bytes") : f.params * f.gradient_bytes;
	/* Fused attention keeps Q, K, V and the logarithm of the sum of each row in FP32; O is the input of the next product. */
	for (uint32_t b = 0; b < f.blocks; b++)
		x->block[b].kept_bytes += x->tokens * ((f.heads * head + kv * (head + v)) * f.activation_bytes + 4 * f.heads);
	hold(x, s, &f);
	orr_step_samples(s, f.batch * x->dp);
	return x;
}

/* ---- attention ---- */

static uint32_t gpu_of(const struct context *x, uint32_t replica, uint32_t rank)
{
	return replica * x->cp + rank;
}

/* Returns the rank `steps` places further round the ring of `rank`. */
static uint32_t around(const struct context *x, uint32_t rank, uint32_t steps)
{
	return rank % x->u + x->u * ((rank / x->u + steps) % x->g);
}

/* Returns the share of a full block that a rank computes in a step. */
static double share_of(const struct context *x, uint32_t rank, uint32_t step)
{
	uint32_t r = rank / x->u;
	if (!x->is_causal)
		return 1;
	if (x->is_zigzag)
		return 0.5;
	return !step ? 0.5 : r >= step ? 1 : 0;
}

/* Exchanges tokens for heads, or back, within each Ulysses group. */
static void exchange(struct context *x, struct orr_step *s, uint32_t replica, double bytes, const char *what)
{
	uint32_t *member = orr_alloc(x->u, sizeof *member);
	struct orr_collective c = { .op = ORR_ALL_TO_ALL, .bytes = bytes };
	for (uint32_t k = 0; k < x->g && x->u > 1; k++) {
		for (uint32_t i = 0; i < x->u; i++)
			member[i] = gpu_of(x, replica, k * x->u + i);
		orr_op op = orr_collective(s, &(struct orr_group){ member, x->u }, &c);
		orr_on_stream(s, op, STREAM_HEADS);
		orr_label(s, op, "%s", what);
		for (uint32_t i = 0; i < x->u; i++) {
			orr_after(s, op, x->tail[k * x->u + i]);
			x->tail[k * x->u + i] = op;
		}
	}
	orr_free(member);
}

/* Gathers K and V, or sums and scatters their gradients, over each ring. */
static void gather(struct context *x, struct orr_step *s, uint32_t replica, bool is_gradient)
{
	uint32_t *member = orr_alloc(x->g, sizeof *member);
	struct orr_collective c = { .op = is_gradient ? ORR_REDUCE_SCATTER : ORR_ALL_GATHER,
		.bytes = x->g * (is_gradient ? x->kv_gradient_bytes : x->kv_bytes) };
	for (uint32_t i = 0; i < x->u; i++) {
		for (uint32_t k = 0; k < x->g; k++)
			member[k] = gpu_of(x, replica, k * x->u + i);
		orr_op op = orr_collective(s, &(struct orr_group){ member, x->g }, &c);
		orr_on_stream(s, op, STREAM_BLOCK);
		orr_label(s, op, is_gradient ? "sum dK, dV" : "gather K, V");
		for (uint32_t k = 0; k < x->g; k++) {
			orr_after(s, op, x->tail[k * x->u + i]);
			x->tail[k * x->u + i] = op;
		}
	}
	orr_free(member);
}

/* Attention over gathered K and V: all steps at once. */
static void attend_gathered(struct context *x, struct orr_step *s, uint32_t replica, bool is_backward)
{
	gather(x, s, replica, false);
	for (uint32_t r = 0; r < x->cp; r++) {
		double share = 0;
		for (uint32_t j = 0; j < x->g; j++)
			share += share_of(x, r, j);
		orr_op op = orr_compute(s, gpu_of(x, replica, r), is_backward ? ORR_BACKWARD : ORR_FORWARD,
			share * x->step_s * (is_backward ? x->backward_factor : 1));
		orr_after(s, op, x->tail[r]);
		orr_label(s, op, "attention");
		x->tail[r] = op;
	}
	if (is_backward)
		gather(x, s, replica, true);
}

/* Sends a block, or its gradients, to the next rank of the ring. */
static orr_op pass_on(
	struct context *x, struct orr_step *s, uint32_t replica, uint32_t rank, bool is_gradient, orr_op after, orr_op and_after)
{
	orr_op op = orr_transfer(
		s, gpu_of(x, replica, rank), gpu_of(x, replica, around(x, rank, 1)), is_gradient ? x->kv_gradient_bytes : x->kv_bytes);
	orr_on_stream(s, op, is_gradient ? STREAM_GRADIENT : STREAM_BLOCK);
	orr_after(s, op, after);
	orr_after(s, op, and_after);
	orr_label(s, op, is_gradient ? "dK, dV" : "K, V");
	return op;
}

/* Attention by a ring of g steps. In step j a rank sends its block on and computes with it. block_in, gradient_in: arrivals at a rank
 * before its step. Backward: the gradients of a block follow it from step 1 on, each rank adding its own; those of step 0 stay. */
static void attend_ring(struct context *x, struct orr_step *s, uint32_t replica, bool is_backward)
{
	memset(x->block_in, 0, (size_t)x->g * x->cp * sizeof *x->block_in);
	memset(x->gradient_in, 0, (size_t)x->g * x->cp * sizeof *x->gradient_in);
	for (uint32_t j = 0; j < x->g; j++) {
		orr_op *arrived = x->block_in + (size_t)j * x->cp, *computed = x->computed + (size_t)j * x->cp;
		orr_op *gradients = x->gradient_in + (size_t)j * x->cp;
		for (uint32_t r = 0; r < x->cp && j + 1 < x->g; r++)
			arrived[x->cp + around(x, r, 1)] = pass_on(x, s, replica, r, false, x->tail[r], arrived[r]);
		for (uint32_t r = 0; r < x->cp; r++) {
			orr_op op = orr_compute(s, gpu_of(x, replica, r), is_backward ? ORR_BACKWARD : ORR_FORWARD,
				share_of(x, r, j) * x->step_s * (is_backward ? x->backward_factor : 1));
			orr_after(s, op, x->tail[r]);
			orr_after(s, op, arrived[r]);
			orr_label(s, op, "attention %u", j);
			x->tail[r] = computed[r] = op;
		}
		for (uint32_t r = 0; r < x->cp && is_backward && j; r++) {
			orr_op sent = pass_on(x, s, replica, r, true, computed[r], gradients[r]);
			uint32_t to = around(x, r, 1);
			if (j + 1 < x->g)
				gradients[x->cp + to] = sent;
			else
				x->gradient_in[to] = sent; /* row 0: returned to the owner */
		}
	}
	for (uint32_t r = 0; r < x->cp && is_backward && x->g > 1; r++) {
		orr_op both = orr_mark(s);
		orr_after(s, both, x->tail[r]);
		orr_after(s, both, x->gradient_in[r]);
		x->tail[r] = both;
	}
}

static void attend(struct context *x, struct orr_step *s, uint32_t replica, bool is_backward)
{
	exchange(x, s, replica, x->heads_bytes[is_backward], is_backward ? "dO to heads" : "Q, K, V to heads");
	if (x->is_gather && x->g > 1)
		attend_gathered(x, s, replica, is_backward);
	else
		attend_ring(x, s, replica, is_backward);
	exchange(x, s, replica, x->heads_bytes[!is_backward], is_backward ? "dQ, dK, dV to tokens" : "O to tokens");
}

/* ---- build ---- */

/* Runs `seconds` on each GPU of a group; takes memory if bytes > 0, frees it if bytes < 0. */
static void work_on(
	struct context *x, struct orr_step *s, uint32_t replica, enum orr_work work, double seconds, double bytes, const char *label)
{
	for (uint32_t r = 0; r < x->cp; r++) {
		orr_op op = orr_compute(s, gpu_of(x, replica, r), work, seconds);
		orr_after(s, op, x->tail[r]);
		if (bytes > 0)
			orr_takes(s, op, gpu_of(x, replica, r), bytes);
		if (bytes < 0)
			orr_gives(s, op, gpu_of(x, replica, r), -bytes);
		orr_label(s, op, "%s", label);
		x->tail[r] = op;
	}
}

static void train(struct context *x, struct orr_step *s, uint32_t replica)
{
	bool is_all = x->work == WORK_ALL;
	for (uint32_t b = 0; b < x->blocks; b++) {
		if (is_all)
			work_on(x, s, replica, ORR_FORWARD, x->block[b].before_s[0], x->block[b].kept_bytes, "before attention");
		attend(x, s, replica, false);
		if (is_all)
			work_on(x, s, replica, ORR_FORWARD, x->block[b].after_s[0], 0, "after attention");
	}
	if (x->work == WORK_FORWARD)
		return;
	if (is_all) {
		work_on(x, s, replica, ORR_FORWARD, x->rest_s[0], 0, "rest");
		work_on(x, s, replica, ORR_BACKWARD, x->rest_s[1], 0, "rest");
	}
	for (uint32_t b = x->blocks; b-- > 0;) {
		if (is_all)
			work_on(x, s, replica, ORR_BACKWARD, x->block[b].after_s[1], 0, "after attention");
		attend(x, s, replica, true);
		if (is_all)
			work_on(x, s, replica, ORR_BACKWARD, x->block[b].before_s[1], -x->block[b].kept_bytes, "before attention");
	}
}

static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	struct context *x = self;
	uint32_t gpus = x->cp * x->dp;
	orr_op *last = orr_alloc(gpus, sizeof *last);
	uint32_t *all = orr_alloc(gpus, sizeof *all);
	struct orr_update gradient = { .kind = ORR_GRADIENT }, average = { .kind = ORR_AVERAGE_GRADIENTS },
			  step = { .kind = ORR_LOCAL_UPDATE };
	(void)iteration, (void)err;
	for (uint32_t d = 0; d < x->dp; d++) {
		for (uint32_t r = 0; r < x->cp; r++) {
			all[gpu_of(x, d, r)] = gpu_of(x, d, r);
			x->tail[r] = orr_mark(s);
			orr_after(s, x->tail[r], x->update[gpu_of(x, d, r)]);
		}
		train(x, s, d);
		for (uint32_t r = 0; r < x->cp && x->work == WORK_ALL; r++)
			orr_updates(s, x->tail[r], &gradient);
		memcpy(last + (size_t)d * x->cp, x->tail, x->cp * sizeof *last);
	}
	struct orr_collective c = { .op = ORR_ALL_REDUCE, .bytes = x->sum_bytes };
	orr_op sum = x->work == WORK_ALL && gpus > 1 && c.bytes > 0 ? orr_collective(s, &(struct orr_group){ all, gpus }, &c) : 0;
	if (sum) {
		orr_on_stream(s, sum, STREAM_SUM);
		orr_label(s, sum, "gradients");
		orr_updates(s, sum, &average);
	}
	for (uint32_t i = 0; i < gpus; i++) {
		orr_after(s, sum, last[i]);
		orr_op op = orr_compute(s, i, ORR_OPTIMIZER, x->work == WORK_ALL ? x->update_s : 0);
		orr_after(s, op, last[i]);
		orr_after(s, op, sum);
		if (x->work == WORK_ALL)
			orr_updates(s, op, &step);
		orr_label(s, op, "update");
		x->update[i] = op;
	}
	orr_free(last);
	orr_free(all);
	return ORR_OK;
}

static void describe(void *self, char *out, size_t size)
{
	const struct context *x = self;
	snprintf(out, size,
		"cp=%u: %u x %u (ulysses x %s), dp=%u; batch of a group %.6g; a step of the ring computes %.4g s and sends %.4g bytes",
		x->cp, x->u, x->g, x->is_gather ? "all-gather" : "ring", x->dp, x->sequences,
		x->step_s * (x->is_causal && x->is_zigzag ? 0.5 : 1), x->g > 1 ? x->kv_bytes : 0);
}

static const struct orr_param params[] = { ORR_PARAM_INT("cp", "0", 0, 1e6, "GPUs that share a sequence; 0: all"),
	ORR_PARAM_INT(
		"ulysses", "1", 0, 1e6, "GPUs of a group that exchange tokens for heads; the rest of cp forms rings; 0: cp (no ring)"),
	ORR_PARAM_CHOICE("kind", "ring", "ring|all-gather", "keys and values go round a ring during attention, or are gathered before it"),
	ORR_PARAM_BOOL("causal", true, "causal mask: a token attends to earlier tokens only"),
	ORR_PARAM_CHOICE("balance", "zigzag", "zigzag|contiguous",
		"pieces of a causal sequence on GPU r of g: pieces r and 2g-1-r, or only piece r"),
	ORR_PARAM_INT("kv_heads", "0", 0, 1e6, "heads of keys and values (grouped-query attention); 0: those of the model"),
	ORR_PARAM_REAL("attention_flops", "0", 0, 1e21, "FLOP/s of attention on a GPU; 0: the cost model's time of the layers"),
	ORR_PARAM_REAL("backward_factor", "2.5", 0, 100, "time of attention backward / forward (2.5: fused, recomputes the scores)"),
	ORR_PARAM_REAL("gradient_bytes", "0", 0, 16, "bytes per element of the gradients of keys and values; 0: those of activations"),
	ORR_PARAM_REAL("dp_bytes", "-1", -1, 1e18, "bytes of weight gradients summed over all GPUs; -1: the model's"),
	ORR_PARAM_REAL("update_s", "-1", -1, 1e9, "seconds of the parameter update; -1: the cost model's"),
	ORR_PARAM_CHOICE("work", "all", "all|attention|attention-forward", "the whole model, or only its attention with its messages"),
	ORR_PARAM_END };

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe };

ORR_POLICY_STEP(context_parallel, "sequences divided over GPUs: ring attention, all-gather, Ulysses, or Ulysses with one of the others",
	params, ops);
