/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Alpa's inter-operator pass (Zheng et al., "Alpa: Automating Inter- and Intra-Operator Parallelism for Distributed Deep Learning", OSDI
 * 2022, 5): stages and submeshes by dynamic programming.
 *
 *	T = min over cuts and submeshes of sum of t_i + (M - 1) max of t_i
 *
 * For every candidate t_max of the largest t, F(j, n) is the smallest sum of t over stages that cover pieces j.. with n GPUs and
 * have no t above t_max. Candidates that cannot give a smaller T are left out. A submesh is whole nodes, or a power of two of the GPUs
 * of one node. The power divides the number of GPUs of every node, so that any submeshes with the right sum fill the nodes: the paper
 * has powers of two of GPUs per node. If nodes differ in size, the only submesh of whole nodes is the cluster. t of a stage is the
 * time of a micro-batch with the best degrees (data parallel, shards) on its submesh, plus 1/M of the time of its gradients'
 * all-reduce. Shards stay within a node. Alpa's intra-operator pass (an integer program) is not modelled. All GPUs count as GPUs of
 * the first type.
 */
#include "chain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_INT("shards_most", "0", 0, 1e6,
						   "maximum number of shards; 0: GPUs of a node; 1: data parallelism only"),
	ORR_PARAM_CHOICE("recompute", "none", "none|selective|full", "activations that the backward pass recomputes"), ORR_PARAM_END };

enum { MOST_MESHES = 64 }; /* the time of the search grows with their number */

struct alpa {
	struct orr_plan *p;
	struct orr_plan_facts f;
	enum orr_plan_recompute recompute;
	uint32_t per_node; /* greatest common divisor of the numbers of GPUs of the nodes */
	uint32_t shards_most, meshes, mesh[MOST_MESHES], *all;
	double micro, m;
	double memory;
	double *t;         /* times t, [(i * (pieces + 1) + j) * meshes + k] */
	uint32_t *shards;  /* best degree, same index */
	double *F;         /* F(j, n), [j * (gpus + 1) + n] */
	uint32_t *to, *on; /* end of each stage and its mesh; both arrays have the same index */
};

static uint32_t common_divisor(uint32_t x, uint32_t y)
{
	return y ? common_divisor(y, x % y) : x;
}

/* Returns the greatest common divisor of the numbers of GPUs of the nodes; GPUs of a node have consecutive numbers. */
static uint32_t per_node(const struct orr_plan *p, uint32_t gpus)
{
	uint32_t divisor = 0, n = 0;
	struct orr_plan_gpu g, next = { 0 };
	for (uint32_t i = 0; i < gpus; i++, n++) {
		g = next;
		orr_plan_gpu(p, i, &next);
		if (i && next.node != g.node) {
			divisor = common_divisor(divisor, n);
			n = 0;
		}
	}
	return common_divisor(divisor, n);
}

static void list_meshes(struct alpa *a)
{
	uint32_t whole = a->per_node * a->f.nodes == a->f.gpus ? a->per_node : a->f.gpus;
	for (uint32_t n = 1; n < whole && a->per_node % n == 0 && a->meshes < MOST_MESHES; n *= 2)
		a->mesh[a->meshes++] = n;
	/* Whole nodes: all numbers of them if there is room; otherwise small ones, then ever larger steps up to all nodes. */
	uint32_t nodes = a->f.gpus / whole, room = MOST_MESHES - a->meshes, n = 0;
	double each = room / 2, more = room - room / 2;
	for (uint32_t i = 0; i < room && n < nodes; i++) {
		uint32_t far = i < each || nodes <= room ? 0 : (uint32_t)lround(each * pow(nodes / each, (i + 1 - each) / more));
		n = far > n + 1 ? far : n + 1;
		a->mesh[a->meshes++] = n * whole;
	}
}

static size_t cell(const struct alpa *a, uint32_t i, uint32_t j, uint32_t k)
{
	return ((size_t)i * (a->f.pieces + 1) + j) * a->meshes + k;
}

/* Returns t of pieces i..j-1 on n GPUs in groups of `shards`; INFINITY if it does not fit even with one micro-batch in flight. */
static double stage_s(const struct alpa *a, uint32_t i, uint32_t j, uint32_t n, uint32_t shards)
{
	struct orr_plan_terms t = { .samples = a->micro * shards / n, .shards = shards, .recompute = a->recompute };
	struct orr_plan_cost c;
	orr_plan_cost(a->p, 0, i, j - i, &t, &c);
	double weights = c.params / shards, sums = c.forward_sums + c.backward_sums + c.recompute_sums;
	if (weights * orr_plan_state_bytes(a->p, 1) + c.stored_bytes + c.working_bytes > a->memory)
		return INFINITY;
	uint32_t groups = n / shards, *ring = orr_alloc(groups, sizeof *ring);
	for (uint32_t g = 0; g < groups; g++)
		ring[g] = g * shards;
	double reduce = groups > 1 ? orr_plan_all_reduce_s(a->p, ring, groups, weights * a->f.gradient_bytes, shards) : 0;
	double inside = shards > 1 ? sums * orr_plan_all_reduce_s(a->p, a->all, shards, c.sum_bytes, 1) : 0;
	orr_free(ring);
	return c.forward_s + c.backward_s + c.recompute_s + inside + reduce / a->m;
}

static void measure(struct alpa *a, uint32_t i, uint32_t j, uint32_t k)
{
	size_t at = cell(a, i, j, k);
	uint32_t n = a->mesh[k];
	a->t[at] = INFINITY;
	for (uint32_t s = 1; s <= n && s <= a->shards_most; s *= 2) {
		if (n % s || a->per_node % s || (s > 1 && (!a->f.blocks || a->f.heads % s)))
			continue;
		double t = stage_s(a, i, j, n, s);
		if (t < a->t[at]) {
			a->t[at] = t;
			a->shards[at] = s;
		}
	}
}

/* Returns F(0, gpus) with no stage above t_max. */
static double solve(struct alpa *a, double t_max)
{
	uint32_t N = a->f.gpus, w = N + 1, P = a->f.pieces;
	for (uint32_t n = 0; n <= N; n++)
		a->F[(size_t)P * w + n] = n ? INFINITY : 0;
	for (uint32_t i = P; i-- > 0;)
		for (uint32_t n = 0; n <= N; n++) {
			size_t at = (size_t)i * w + n;
			a->F[at] = INFINITY;
			for (uint32_t k = 0; k < a->meshes && a->mesh[k] <= n; k++)
				for (uint32_t j = i + 1; j <= P; j++) {
					double t = a->t[cell(a, i, j, k)], rest = a->F[(size_t)j * w + n - a->mesh[k]];
					if (t > t_max || t + rest >= a->F[at])
						continue;
					a->F[at] = t + rest;
					a->to[at] = j;
					a->on[at] = k;
				}
		}
	return a->F[N];
}

static int by_value(const void *x, const void *y)
{
	const double *a = x, *b = y;
	return (*a > *b) - (*a < *b);
}

/* ---- the plan ---- */

struct found {
	uint32_t stages, *first, *gpus, *shards;
	double cost_s, micro;
};

static void take(const struct alpa *a, struct found *b, double cost_s)
{
	uint32_t w = a->f.gpus + 1, s = 0;
	b->cost_s = cost_s;
	b->micro = a->micro;
	for (uint32_t i = 0, n = a->f.gpus; i < a->f.pieces; s++) {
		size_t at = (size_t)i * w + n;
		b->first[s] = i;
		b->gpus[s] = a->mesh[a->on[at]];
		b->shards[s] = a->shards[cell(a, i, a->to[at], a->on[at])];
		n -= b->gpus[s];
		i = a->to[at];
	}
	b->first[s] = a->f.pieces;
	b->stages = s;
}

/* Assigns GPUs to the largest submeshes first, so that each submesh is in one node or fills whole nodes. Returns the iteration time. */
static double submit(const struct alpa *a, const struct found *b)
{
	struct orr_plan_stage *stage = orr_alloc(b->stages, sizeof *stage);
	struct orr_plan_value v;
	uint32_t at = 0;
	for (uint32_t size = a->f.gpus; size; size--)
		for (uint32_t s = 0; s < b->stages; s++)
			if (b->gpus[s] == size) {
				stage[s] = (struct orr_plan_stage){ .first = b->first[s],
					.count = b->first[s + 1] - b->first[s],
					.gpu = a->all + at,
					.n_gpus = size,
					.shards = b->shards[s] };
				at += size;
			}
	struct orr_plan_draft d = { .stages = b->stages, .stage = stage, .micro_batch = b->micro, .recompute = a->recompute };
	orr_plan_evaluate(a->p, &d, &v);
	orr_free(stage);
	return v.iteration_s;
}

/* Candidates for t_max, ascending, and the best T so far. */
struct candidates {
	double *bound, best;
	size_t n;
};

/* Solves for candidate i. Returns F(0, gpus). */
static double try_candidate(struct alpa *a, struct found *b, struct candidates *c, size_t i)
{
	double F = solve(a, c->bound[i]), T = F + (a->m - 1) * c->bound[i];
	if (T < c->best) {
		c->best = T;
		take(a, b, T);
	}
	return F;
}

/* Tries the candidates first..end-1. F falls as t_max rises, so none of them has a smaller F than `below`, that of a larger candidate. */
static void explore(struct alpa *a, struct found *b, struct candidates *c, size_t first, size_t end, double below)
{
	if (first >= end || below + (a->m - 1) * c->bound[first] >= c->best || !orr_plan_goes_on(a->p))
		return;
	size_t middle = first + (end - first) / 2;
	double F = try_candidate(a, b, c, middle);
	explore(a, b, c, first, middle, F);
	explore(a, b, c, middle + 1, end, below);
}

static double plan_at(struct alpa *a, struct found *b)
{
	size_t n = (size_t)(a->f.pieces + 1) * (a->f.pieces + 1) * a->meshes, k = 0;
	struct candidates c = { .bound = orr_alloc(n, sizeof *c.bound), .best = INFINITY };
	for (uint32_t i = 0; i < a->f.pieces; i++)
		for (uint32_t j = i + 1; j <= a->f.pieces; j++)
			for (uint32_t m = 0; m < a->meshes; m++) {
				measure(a, i, j, m);
				if (isfinite(a->t[cell(a, i, j, m)]))
					c.bound[k++] = a->t[cell(a, i, j, m)];
			}
	qsort(c.bound, k, sizeof *c.bound, by_value);
	for (size_t i = 0; i < k; i++)
		if (!c.n || c.bound[i] > c.bound[c.n - 1] * (1 + 1e-12))
			c.bound[c.n++] = c.bound[i];
	if (c.n)
		explore(a, b, &c, 0, c.n - 1, try_candidate(a, b, &c, c.n - 1));
	orr_free(c.bound);
	return c.best;
}

static void allocate(struct alpa *a, struct found *b)
{
	size_t cells = (size_t)(a->f.pieces + 1) * (a->f.pieces + 1) * a->meshes, states = (size_t)(a->f.pieces + 1) * (a->f.gpus + 1);
	a->t = orr_alloc(cells, sizeof *a->t);
	a->shards = orr_alloc(cells, sizeof *a->shards);
	a->F = orr_alloc(states, sizeof *a->F);
	a->to = orr_alloc(states, sizeof *a->to);
	a->on = orr_alloc(states, sizeof *a->on);
	b->first = orr_alloc(a->f.pieces + 1, sizeof *b->first);
	b->gpus = orr_alloc(a->f.pieces, sizeof *b->gpus);
	b->shards = orr_alloc(a->f.pieces, sizeof *b->shards);
}

static void release(struct alpa *a, struct found *b)
{
	orr_free(a->t);
	orr_free(a->shards);
	orr_free(a->F);
	orr_free(a->to);
	orr_free(a->on);
	orr_free(a->all);
	orr_free(b->first);
	orr_free(b->gpus);
	orr_free(b->shards);
}

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct alpa a = { .p = p };
	struct found b = { .cost_s = INFINITY };
	struct orr_plan_gpu first;
	double *micro, best_s = INFINITY, cost_s = NAN; /* of the best plan: iteration time and T */
	bool has_division = false;
	const char *recompute = orr_arg_text(args, "recompute");
	orr_plan_facts(p, &a.f);
	orr_plan_gpu(p, 0, &first);
	a.memory = first.memory_bytes;
	a.recompute = !strcmp(recompute, "full")        ? ORR_PLAN_RECOMPUTE_FULL
		      : !strcmp(recompute, "selective") ? ORR_PLAN_RECOMPUTE_SELECTIVE
							: ORR_PLAN_KEEP;
	a.all = orr_alloc(a.f.gpus, sizeof *a.all);
	for (uint32_t i = 0; i < a.f.gpus; i++)
		a.all[i] = i;
	a.per_node = per_node(p, a.f.gpus);
	uint32_t most = (uint32_t)orr_arg_int(args, "shards_most"), n = chain_micro_batches(&a.f, &micro);
	a.shards_most = !most || most > a.per_node ? a.per_node : most;
	list_meshes(&a);
	allocate(&a, &b);
	for (uint32_t i = 0; i < n && orr_plan_goes_on(p); i++) {
		a.micro = micro[i];
		a.m = a.f.global_batch / micro[i];
		double T = plan_at(&a, &b), iteration_s = isfinite(T) ? submit(&a, &b) : INFINITY;
		has_division |= isfinite(T);
		if (iteration_s < best_s) {
			best_s = iteration_s;
			cost_s = T;
		}
		orr_plan_progress(p, (i + 1.) / n);
	}
	orr_plan_put(p, "stage_sum_s", cost_s);
	orr_free(micro);
	release(&a, &b);
	if (!has_division && orr_plan_goes_on(p))
		return orr_fail(err, ORR_EINPUT,
			"no division into stages fits in memory, even with one micro-batch in flight: expected %s%smore GPUs, or GPUs "
			"with more memory",
			a.f.micro_batch > 0 ? "a smaller micro-batch, " : "",
			a.recompute == ORR_PLAN_RECOMPUTE_FULL ? "" : "recompute=full, ");
	return 0;
}

static const struct orr_plan_ops ops = { .search = search };

ORR_POLICY_PLAN(alpa, "stages and submeshes by dynamic programming (Alpa)", params, ops);
