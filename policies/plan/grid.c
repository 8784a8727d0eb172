/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every grid of tensor, pipeline and data parallelism (the space of vTrain, Bang et al., MICRO 2024, 5): shards x stages x
 * replicas, micro-batch, interleaving, recomputation, sharded optimizer state, order of GPUs. Plans that exceed a GPU's memory
 * are omitted.
 *
 * Bounds: the number of shards is a power of two that divides the attention heads; shards stay within a node unless tp_most is
 * larger. Stages have equal numbers of blocks, or numbers that differ by one. With cut=any each grid is also cut so that the
 * slowest stage is as fast as possible on its GPUs, for stages on GPUs of several types.
 */
#include "chain.h"

#include <math.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_INT("tp", "0", 0, 1e6, "shards; 0: any"),
	ORR_PARAM_INT("pp", "0", 0, 1e6, "stages; 0: any"),
	ORR_PARAM_REAL("replica_batch", "0", 0, 1e9, "samples of a micro-batch of one replica; 0: any"),
	ORR_PARAM_INT("tp_most", "0", 0, 1e6, "maximum number of shards; 0: GPUs of the smallest node"),
	ORR_PARAM_INT("interleave_most", "4", 1, 64, "maximum number of parts per stage"),
	ORR_PARAM_CHOICE("recompute", "any", "any|none|selective|full", "activations that the backward pass recomputes"),
	ORR_PARAM_CHOICE("zero", "any", "any|off|on", "sharded optimizer state"),
	ORR_PARAM_CHOICE("sequence_parallel", "off", "any|off|on", "sequence parallelism"),
	ORR_PARAM_CHOICE("order", "any", "any|tp-dp-pp|tp-pp-dp", "order of ranks, the dimension on neighbouring GPUs first"),
	ORR_PARAM_CHOICE("cut", "any", "any|equal|time", "equal: the same number of blocks per stage; time: minimise the longest stage"),
	ORR_PARAM_END };

enum { EQUAL, BY_TIME };

struct grid {
	struct orr_plan *p;
	struct orr_plan_facts f;
	const struct orr_args *args;
	uint32_t first_block; /* first piece that is a block */
	uint32_t tp, pp, dp;
	bool has_tried;                  /* has evaluated a plan */
	uint32_t *gpu, *first, *slowest; /* slowest: GPU type, by stage */
	struct orr_plan_stage *stage;
	double **sum; /* prefix sums of seconds, by type */
	double summed_at;
};

/* Returns whether parameter `name` allows a value. */
static bool may(const struct grid *g, const char *name, const char *value)
{
	const char *is = orr_arg_text(g->args, name);
	return !strcmp(is, "any") || !strcmp(is, value);
}

static void order_gpus(struct grid *g, bool is_dp_inner)
{
	for (uint32_t i = 0, at = 0; i < g->pp; i++)
		for (uint32_t r = 0; r < g->dp; r++)
			for (uint32_t k = 0; k < g->tp; k++)
				g->gpu[at++] = is_dp_inner ? k + g->tp * (r + g->dp * i) : k + g->tp * (i + g->pp * r);
}

/* ---- cuts ---- */

static void cut_equal(struct grid *g, uint32_t parts)
{
	uint32_t blocks = g->f.blocks ? g->f.blocks : g->f.pieces, offset = g->f.blocks ? g->first_block : 0;
	for (uint32_t i = 1; i < parts; i++)
		g->first[i] = offset + (uint32_t)((uint64_t)i * blocks / parts);
	g->first[0] = 0;
	g->first[parts] = g->f.pieces;
}

static double type_s(const struct grid *g, uint32_t type)
{
	return g->sum[type][g->f.pieces];
}

/* Finds the type of each stage's slowest GPU. */
static void find_slowest(struct grid *g)
{
	for (uint32_t i = 0; i < g->pp; i++) {
		g->slowest[i] = UINT32_MAX;
		for (uint32_t k = 0; k < g->tp * g->dp; k++) {
			struct orr_plan_gpu gpu;
			orr_plan_gpu(g->p, g->gpu[i * g->tp * g->dp + k], &gpu);
			if (g->slowest[i] == UINT32_MAX || type_s(g, gpu.type) > type_s(g, g->slowest[i]))
				g->slowest[i] = gpu.type;
		}
	}
}

static void sum_times(struct grid *g, double samples)
{
	struct orr_plan_terms t = { .samples = samples, .shards = g->tp };
	if (fabs(g->summed_at - samples) < 1e-12)
		return;
	g->summed_at = samples;
	for (uint32_t type = 0; type < g->f.types; type++)
		for (uint32_t i = 0; i < g->f.pieces; i++) {
			struct orr_plan_cost c;
			orr_plan_cost(g->p, type, i, 1, &t, &c);
			g->sum[type][i + 1] = g->sum[type][i] + c.forward_s + c.backward_s;
		}
}

static void cut_by_time(struct grid *g, uint32_t parts)
{
	const double **at = orr_alloc(parts, sizeof *at);
	double *scale = orr_alloc(parts, sizeof *scale);
	for (uint32_t i = 0; i < parts; i++) {
		at[i] = g->sum[g->slowest[i % g->pp]];
		scale[i] = 1;
	}
	chain_cut(g->f.pieces, parts, at, scale, g->first);
	orr_free(at);
	orr_free(scale);
}

/* ---- the space ---- */

static void try_options(struct grid *g, struct orr_plan_draft *d)
{
	static const char *const recompute[] = { "none", "selective", "full" };
	struct orr_plan_value v;
	for (int r = 0; r < 3; r++)
		for (int zero = 0; zero < 2; zero++)
			for (int sp = 0; sp < 2 && orr_plan_goes_on(g->p); sp++) {
				bool is_moot = (r == 1 && !g->f.blocks) || (zero && g->dp == 1) || (sp && g->tp == 1);
				if (is_moot || !may(g, "recompute", recompute[r]) || !may(g, "zero", zero ? "on" : "off") ||
					!may(g, "sequence_parallel", sp ? "on" : "off"))
					continue;
				d->recompute = (enum orr_plan_recompute)r;
				d->zero = zero;
				d->sequence_parallel = sp;
				orr_plan_evaluate(g->p, d, &v);
				g->has_tried = true;
			}
}

static void try_cut(struct grid *g, uint32_t v, double replica_batch, int how)
{
	uint32_t parts = g->pp * v, per = g->tp * g->dp;
	if (how == BY_TIME)
		cut_by_time(g, parts);
	else
		cut_equal(g, parts);
	for (uint32_t i = 0; i < parts; i++) {
		if (g->first[i + 1] <= g->first[i])
			return;
		g->stage[i] = (struct orr_plan_stage){ .first = g->first[i],
			.count = g->first[i + 1] - g->first[i],
			.gpu = g->gpu + i % g->pp * per,
			.n_gpus = per,
			.shards = g->tp };
	}
	struct orr_plan_draft d = { .stages = parts, .stage = g->stage, .micro_batch = replica_batch * g->dp, .interleave = v };
	try_options(g, &d);
}

static void try_batch(struct grid *g, double replica_batch)
{
	double m = g->f.global_batch / g->dp / replica_batch;
	uint32_t most = (uint32_t)orr_arg_int(g->args, "interleave_most");
	sum_times(g, replica_batch);
	find_slowest(g);
	for (uint32_t v = 1; v <= most && g->pp * v <= (g->f.blocks ? g->f.blocks : g->f.pieces); v++) {
		if (v > 1 && (g->pp == 1 || fmod(m, g->pp) > 0))
			break;
		if (may(g, "cut", "equal"))
			try_cut(g, v, replica_batch, EQUAL);
		if (may(g, "cut", "time") && g->pp > 1)
			try_cut(g, v, replica_batch, BY_TIME);
	}
}

static void try_grid(struct grid *g)
{
	double samples = g->f.global_batch / g->dp, given = orr_arg_real(g->args, "replica_batch");
	if (g->f.micro_batch > 0)
		given = g->f.micro_batch / g->dp;
	for (int inner = 1; inner >= 0; inner--) {
		if (!may(g, "order", inner ? "tp-dp-pp" : "tp-pp-dp") ||
			(!inner && (g->pp == 1 || g->dp == 1) && may(g, "order", "tp-dp-pp")))
			continue;
		order_gpus(g, inner);
		for (double b = 1; b <= samples && orr_plan_goes_on(g->p); b++)
			if (fmod(samples, b) <= 0 && (given <= 0 || fabs(b - given) < 1e-9))
				try_batch(g, b);
	}
}

static uint32_t smallest_node(const struct grid *g)
{
	uint32_t least = g->f.gpus, run = 0, node = UINT32_MAX;
	for (uint32_t i = 0; i <= g->f.gpus; i++) {
		struct orr_plan_gpu gpu = { .node = UINT32_MAX };
		if (i < g->f.gpus)
			orr_plan_gpu(g->p, i, &gpu);
		if (i && gpu.node != node) {
			least = run < least ? run : least;
			run = 0;
		}
		node = gpu.node;
		run++;
	}
	return least;
}

static void try_shards(struct grid *g)
{
	uint32_t left = g->f.gpus / g->tp, pp_only = (uint32_t)orr_arg_int(g->args, "pp");
	uint32_t most = g->f.blocks ? g->f.blocks : g->f.pieces;
	g->summed_at = -1;
	for (g->pp = 1; g->pp <= most && g->pp <= left; g->pp++) {
		g->dp = left / g->pp;
		if (left % g->pp || (pp_only && g->pp != pp_only) || fmod(g->f.global_batch, g->dp) > 0)
			continue;
		try_grid(g);
	}
}

static void allocate(struct grid *g)
{
	uint32_t most = g->f.pieces;
	struct orr_plan_piece piece;
	g->gpu = orr_alloc(g->f.gpus, sizeof *g->gpu);
	g->first = orr_alloc(most + 1, sizeof *g->first);
	g->slowest = orr_alloc(most, sizeof *g->slowest);
	g->stage = orr_alloc(most, sizeof *g->stage);
	g->sum = orr_alloc(g->f.types, sizeof *g->sum);
	for (uint32_t t = 0; t < g->f.types; t++)
		g->sum[t] = orr_alloc(most + 1, sizeof **g->sum);
	for (g->first_block = 0; g->first_block < most; g->first_block++) {
		orr_plan_piece(g->p, g->first_block, &piece);
		if (piece.is_block)
			break;
	}
}

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct grid g = { .p = p, .args = args };
	orr_plan_facts(p, &g.f);
	allocate(&g);
	uint32_t only = (uint32_t)orr_arg_int(args, "tp"), most = (uint32_t)orr_arg_int(args, "tp_most"), done = 0;
	most = only ? only : most ? most : smallest_node(&g);
	for (g.tp = only ? only : 1; g.tp <= most && g.tp <= g.f.gpus && orr_plan_goes_on(p); g.tp *= 2) {
		if (g.f.gpus % g.tp || (g.tp > 1 && (!g.f.blocks || g.f.heads % g.tp)))
			continue;
		try_shards(&g);
		orr_plan_progress(p, ++done / (1 + log2(most)));
	}
	for (uint32_t t = 0; t < g.f.types; t++)
		orr_free(g.sum[t]);
	orr_free(g.sum);
	orr_free(g.gpu);
	orr_free(g.first);
	orr_free(g.slowest);
	orr_free(g.stage);
	if (!g.has_tried && orr_plan_goes_on(p))
		return orr_fail(err, ORR_EINPUT,
			"no grid for %u GPUs, %u pieces and a global batch of %.9g: expected shards x stages x replicas = GPUs, at most "
			"one stage "
			"per piece, and replicas and micro-batches of whole samples that divide the global batch",
			g.f.gpus, g.f.pieces, g.f.global_batch);
	return 0;
}

static const struct orr_plan_ops ops = { .search = search };

ORR_POLICY_PLAN(grid, "exhaustive search of shards, stages and replicas (vTrain's search space)", params, ops);
