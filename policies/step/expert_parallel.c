/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Layers of a mixture of experts on GPUs that share the experts (DeepSeek-AI, "DeepSeek-V3 Technical Report", arXiv 2412.19437, 3.2).
 *
 * Groups of `ep` GPUs run `layers` equal layers, those of the model's last block with experts, for `tokens` tokens per GPU:
 *
 *	dispatch, combine   only this exchange of each layer
 *	layer               forward: attention, dispatch, MLP, combine
 *	train               forward, then backward
 *	pair                forward of one micro-batch overlapped with backward of another one, as in DualPipe
 *
 * A pair has two streams, each of which runs its ops in a fixed order (3.2.1, fig. 4), with 1 the first layer of either direction:
 *
 *	compute     AF1, then for each layer i: MB, MW, MF, AB, AW, AF of layer i + 1
 *	exchanges   CB1, then for each layer i: DF, DB, CF, CB of layer i + 1
 *
 * A: attention, M: MLP, D: dispatch, C: combine; F: forward, B: gradient of the input, W: of the weights. DB and CB are the backward
 * passes of dispatch and combine: CB sends gradients to the experts and DB brings them back. kernel_s replaces the times of the cost model,
 *with ten numbers also those of the network.
 */
#include "experts.h"
#include "stages.h"

#include <stdio.h>
#include <math.h>
#include <string.h>

enum work { WORK_DISPATCH, WORK_COMBINE, WORK_LAYER, WORK_TRAIN, WORK_PAIR };
enum kernel { ATTENTION_F, MLP_F, ATTENTION_B, MLP_B, ATTENTION_W, MLP_W, KERNELS };
enum send { DISPATCH_F, COMBINE_F, DISPATCH_B, COMBINE_B, SENDS };
enum { STREAM_SEND = 1 };

struct parallel {
	struct experts x;
	enum work work;
	uint32_t lanes, layers, of; /* of: number of the model's layers with experts */
	uint32_t slowest;           /* GPU whose times are those of all */
	bool has_sends;             /* messages take send_s, not the time of the network */
	double send_s[SENDS];
	double *kernel_s[KERNELS]; /* by rank */
	uint32_t number[KERNELS];  /* number of the table of times by lane */
	orr_op tail;
};

static void destroy(void *self)
{
	struct parallel *p = self;
	if (!p)
		return;
	for (int k = 0; k < KERNELS; k++)
		orr_free(p->kernel_s[k]);
	experts_free(&p->x);
	orr_free(p);
}

/* ---- create ---- */

static uint32_t count_blocks(const struct orr_step *s, uint32_t layers)
{
	uint32_t n = 0, last = UINT32_MAX;
	struct orr_layer_info i;
	for (uint32_t l = 0; l < layers; l++) {
		if (!orr_layer_experts(s, l))
			continue;
		orr_step_layer(s, l, &i);
		n += i.block != last;
		last = i.block;
	}
	return n;
}

/* Finds the layers of the last block with experts: first, the end of attention, end. */
static int find_block(const struct orr_step *s, uint32_t layers, uint32_t at[3], struct orr_error *err)
{
	struct orr_layer_info i;
	uint32_t l = layers, block = 0;
	while (l > 0 && !orr_layer_experts(s, l - 1))
		l--;
	if (!l)
		return orr_fail(err, ORR_EINPUT, "expert parallelism: expected a model with routed experts");
	orr_step_layer(s, l - 1, &i);
	block = i.block;
	at[0] = at[2] = l - 1;
	for (; at[0] > 0 && (orr_step_layer(s, at[0] - 1, &i), i.block == block); at[0]--)
		;
	for (; at[2] < layers && (orr_step_layer(s, at[2], &i), i.block == block); at[2]++)
		;
	at[1] = at[0];
	for (l = at[0]; l < at[2]; l++) {
		orr_step_layer(s, l, &i);
		at[1] = i.kind == ORR_LAYER_MATMUL ? l + 1 : at[1];
	}
	at[1] += at[1] < at[2]; /* the output product */
	return ORR_OK;
}

static double dense_s(const struct parallel *p, const struct orr_step *s, enum orr_pass pass, uint32_t first, uint32_t end, double samples)
{
	double sum = 0;
	for (uint32_t l = first; l < end; l++)
		sum += orr_layer_experts(s, l) ? 0 : p->x.slowdown * orr_cost(s, p->slowest, pass, l, 1, samples, 1);
	return sum;
}

static void measure(struct parallel *p, const struct orr_step *s, const struct orr_step_facts *f, const uint32_t at[3])
{
	static const enum orr_pass passes[] = { ORR_PASS_FORWARD, ORR_PASS_BACKWARD_DATA, ORR_PASS_BACKWARD_WEIGHT };
	double samples = p->x.tokens / f->seq;
	for (int k = 0; k < KERNELS; k++) {
		bool is_mlp = k % 2;
		double dense = dense_s(p, s, passes[k / 2], is_mlp ? at[1] : at[0], is_mlp ? at[2] : at[1], samples);
		p->kernel_s[k] = orr_alloc(p->x.ep, sizeof(double));
		for (uint32_t r = 0; r < p->x.ep; r++) {
			double pairs = p->x.routing.rank_pairs[r] * p->x.tokens * p->x.ep, n = p->x.routing.rank_experts[r];
			p->kernel_s[k][r] = dense;
			for (uint32_t l = at[1]; l < at[2] && is_mlp; l++)
				p->kernel_s[k][r] += p->x.slowdown * orr_cost_experts(s, p->slowest, passes[k / 2], l, pairs, n, 1);
		}
	}
}

/* Replaces times. Those of MLPs are of a GPU with mean load; others keep their ratio to it. */
static int read_kernels(struct parallel *p, const struct orr_args *args, struct orr_error *err)
{
	size_t n;
	const double *given = orr_arg_list(args, "kernel_s", &n);
	if (n && n != KERNELS && n != KERNELS + SENDS)
		return orr_fail(err, ORR_EINPUT, "kernel_s: expected %d or %d numbers, found %zu", KERNELS, KERNELS + SENDS, n);
	for (size_t i = 0; i < n; i++)
		if (!(given[i] >= 0) || given[i] > 1e9)
			return orr_fail(err, ORR_EINPUT, "kernel_s: number %zu: expected 0 to 1e9 seconds, found %g", i + 1, given[i]);
	for (int k = 0; k < KERNELS && n; k++) {
		double mean = 0;
		for (uint32_t r = 0; r < p->x.ep; r++)
			mean += p->x.routing.rank_pairs[r] / p->x.ep;
		for (uint32_t r = 0; r < p->x.ep; r++)
			p->kernel_s[k][r] = given[k] / p->x.batches * (k % 2 ? p->x.routing.rank_pairs[r] / mean : 1);
	}
	p->has_sends = n == KERNELS + SENDS;
	for (int i = 0; i < SENDS && p->has_sends; i++)
		p->send_s[i] = given[KERNELS + i] / p->x.batches;
	return ORR_OK;
}

static void declare(struct parallel *p, struct orr_step *s)
{
	uint32_t *map = orr_alloc(p->lanes, sizeof *map);
	double *by_lane = orr_alloc(p->lanes, sizeof *by_lane);
	for (uint32_t l = 0; l < p->lanes; l++)
		map[l] = l;
	orr_step_lanes(s, p->lanes, 1, map);
	for (int k = 0; k < KERNELS; k++) {
		for (uint32_t l = 0; l < p->lanes; l++)
			by_lane[l] = p->kernel_s[k][l % p->x.ep];
		p->number[k] = orr_step_lane_seconds(s, by_lane);
	}
	orr_free(map);
	orr_free(by_lane);
}

static int set_up(struct parallel *p, struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	static const char *const works[] = { "dispatch", "combine", "layer", "train", "pair" };
	struct orr_step_facts f;
	uint32_t ep = (uint32_t)orr_arg_int(args, "ep"), at[3] = { 0 };
	double tokens = orr_arg_real(args, "tokens");
	orr_step_facts(s, &f);
	ep = ep ? ep : f.gpus;
	while (strcmp(works[p->work], orr_arg_text(args, "work")) != 0)
		p->work++;
	p->layers = (uint32_t)orr_arg_int(args, "layers");
	p->lanes = f.gpus;
	if (f.gpus % ep)
		return orr_fail(err, ORR_EINPUT, "ep=%u: expected a divisor of the %u GPUs", ep, f.gpus);
	if (ep == 1 && (p->work == WORK_DISPATCH || p->work == WORK_COMBINE))
		return orr_fail(err, ORR_EINPUT, "work=%s: expected at least 2 GPUs that share the experts", works[p->work]);
	tokens = tokens > 0 ? tokens : f.batch * f.seq;
	const double bytes[2] = { f.hidden + 4 * ceil(f.hidden / 128), 2 * f.hidden }; /* FP8 and scales, BF16 */
	uint32_t *device = orr_alloc(f.gpus, sizeof *device);
	for (uint32_t i = 0; i < f.gpus; i++)
		device[i] = i;
	p->slowest = stage_slowest_gpu(s);
	int rc = find_block(s, f.layers, at, err);
	rc = rc ? rc : experts_init(&p->x, s, args, device, f.gpus, ep, tokens, bytes, err);
	orr_free(device);
	if (rc)
		return rc;
	if (p->work == WORK_PAIR && p->x.batches > 1)
		return orr_fail(err, ORR_EINPUT, "ep_overlap=two-batch: expected none with work=pair, whose micro-batches overlap");
	p->of = count_blocks(s, f.layers);
	measure(p, s, &f, at);
	if (read_kernels(p, args, err))
		return ORR_EINPUT;
	orr_step_samples(s, tokens / f.seq * f.gpus);
	for (uint32_t l = 0; l < p->lanes; l++)
		orr_hold(s, l, ORR_MEMORY_BUFFERS, tokens * (p->x.dispatch_bytes + p->x.combine_bytes), "tokens that are sent");
	declare(p, s);
	return ORR_OK;
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct parallel *p = orr_alloc(1, sizeof *p);
	if (!set_up(p, s, args, err))
		return p;
	destroy(p);
	return NULL;
}

/* ---- build ---- */

static orr_op kernel(const struct parallel *p, struct orr_step *s, enum kernel k, orr_op after, orr_op and_after)
{
	static const char *const names[] = { "attention F", "MLP F", "attention B", "MLP B", "attention W", "MLP W" };
	static const enum orr_work work[] = { ORR_FORWARD, ORR_BACKWARD, ORR_BACKWARD_WEIGHT };
	orr_op op = orr_compute_lanes(s, 0, work[k / 2], p->number[k]);
	orr_after(s, op, after);
	orr_after(s, op, and_after);
	orr_label(s, op, "%s", names[k]);
	return op;
}

/* The backward pass of a combine sends the messages of a dispatch, and vice versa. */
static orr_op transfer(const struct parallel *p, struct orr_step *s, enum send i, orr_op after, orr_op and_after)
{
	static const char *const names[] = { "dispatch F", "combine F", "dispatch B", "combine B" };
	bool is_dispatch = i == DISPATCH_F || i == COMBINE_B;
	orr_op op = p->has_sends ? orr_delay(s, p->send_s[i])
				 : orr_exchange_lanes(s, 0, p->x.ep, 1, is_dispatch ? p->x.dispatch : p->x.combine);
	orr_after(s, op, after);
	orr_after(s, op, and_after);
	if (!p->has_sends)
		orr_on_stream(s, op, STREAM_SEND);
	orr_label(s, op, "%s", names[i]);
	return op;
}

static orr_op join(struct orr_step *s, orr_op a, orr_op b)
{
	orr_op both = orr_mark(s);
	orr_after(s, both, a);
	orr_after(s, both, b);
	return both;
}

static orr_op build_pair(const struct parallel *p, struct orr_step *s, orr_op start)
{
	orr_op work = kernel(p, s, ATTENTION_F, start, 0), sent = transfer(p, s, COMBINE_B, start, 0);
	orr_op attention = work, gradients = sent; /* inputs of DF and of MB */
	for (uint32_t i = 0; i < p->layers; i++) {
		bool is_last = i + 1 == p->layers;
		orr_op df = transfer(p, s, DISPATCH_F, sent, attention);
		orr_op mb = kernel(p, s, MLP_B, work, gradients);
		orr_op db = transfer(p, s, DISPATCH_B, df, mb);
		orr_op mf = kernel(p, s, MLP_F, kernel(p, s, MLP_W, mb, 0), df);
		orr_op cf = transfer(p, s, COMBINE_F, db, mf);
		orr_op ab = kernel(p, s, ATTENTION_B, mf, db);
		work = kernel(p, s, ATTENTION_W, ab, 0);
		sent = cf;
		if (is_last)
			break;
		attention = work = kernel(p, s, ATTENTION_F, work, cf);
		gradients = sent = transfer(p, s, COMBINE_B, cf, ab);
	}
	return join(s, work, sent);
}

/* Adds a layer of a batch after `at`. */
static orr_op forward(const struct parallel *p, struct orr_step *s, orr_op at)
{
	at = transfer(p, s, DISPATCH_F, kernel(p, s, ATTENTION_F, at, 0), 0);
	return transfer(p, s, COMBINE_F, kernel(p, s, MLP_F, at, 0), 0);
}

static orr_op backward(const struct parallel *p, struct orr_step *s, orr_op at)
{
	at = kernel(p, s, MLP_W, kernel(p, s, MLP_B, transfer(p, s, COMBINE_B, at, 0), 0), 0);
	at = transfer(p, s, DISPATCH_B, at, 0);
	return kernel(p, s, ATTENTION_W, kernel(p, s, ATTENTION_B, at, 0), 0);
}

static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	struct parallel *p = self;
	orr_op at[2] = { p->tail, p->tail };
	(void)iteration, (void)err;
	if (p->work == WORK_PAIR) {
		p->tail = build_pair(p, s, p->tail);
		return ORR_OK;
	}
	for (uint32_t i = 0; i < p->layers; i++)
		for (uint32_t b = 0; b < p->x.batches; b++) {
			if (p->work == WORK_DISPATCH || p->work == WORK_COMBINE)
				at[b] = transfer(p, s, p->work == WORK_DISPATCH ? DISPATCH_F : COMBINE_F, at[b], 0);
			else
				at[b] = forward(p, s, at[b]);
		}
	for (uint32_t i = 0; i < p->layers && p->work == WORK_TRAIN; i++)
		for (uint32_t b = 0; b < p->x.batches; b++)
			at[b] = backward(p, s, at[b]);
	p->tail = p->x.batches > 1 ? join(s, at[0], at[1]) : at[0];
	return ORR_OK;
}

static double mean_s(const struct parallel *p, enum kernel k)
{
	double sum = 0;
	for (uint32_t r = 0; r < p->x.ep; r++)
		sum += p->kernel_s[k][r] * p->x.batches / p->x.ep;
	return sum;
}

static void describe(void *self, char *out, size_t size)
{
	const struct parallel *p = self;
	const struct orr_routing *r = &p->x.routing;
	static const char *const works[] = { "the dispatch", "the combine", "the forward pass", "the forward and backward passes",
		"a forward pass and a backward pass" };
	snprintf(out, size,
		"an iteration is %s, layers=%u of %u with experts: ep=%u nodes_per_token=%.7g gpus_per_token=%.7g "
		"imbalance=%.7g attention_f=%.6g mlp_f=%.6g attention_b=%.6g mlp_b=%.6g "
		"attention_w=%.6g mlp_w=%.6g",
		works[p->work], p->layers, p->of, p->x.ep, r->distinct_nodes, r->distinct_ranks, r->imbalance, mean_s(p, ATTENTION_F),
		mean_s(p, MLP_F), mean_s(p, ATTENTION_B), mean_s(p, MLP_B), mean_s(p, ATTENTION_W), mean_s(p, MLP_W));
}

static const struct orr_param params[] = { ORR_PARAM_INT("ep", "0", 0, 1e6, "GPUs that share the experts; 0: all"),
	ORR_PARAM_CHOICE("work", "layer", "dispatch|combine|layer|train|pair",
		"dispatch, combine: one exchange; layer: the forward pass; train: forward and backward passes; pair: a forward pass "
		"overlapped with a backward pass"),
	ORR_PARAM_INT("layers", "1", 1, 1e4, "number of layers"),
	ORR_PARAM_REAL("tokens", "0", 0, 1e12, "tokens of a GPU; 0: those of its batch"),
	ORR_PARAM_LIST("kernel_s", "",
		"seconds of a layer: attention and MLP forward, their gradients of the input, their gradients of the weights; and "
		"optionally of dispatch "
		"and combine forward and backward; none: the cost model's, and the network"),
	EXPERT_PARAMS("FP8 and a scale for each 128 values", "BF16"), ORR_PARAM_END };

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe };

ORR_POLICY_STEP(expert_parallel, "layers of a mixture of experts: all-to-alls, overlap of a forward and a backward pass (DeepSeek-V3)",
	params, ops);
