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
 * the first type, with the memory of the smallest.
 *
 * Memory. With 1F1B the stage before s - 1 others keeps min(s, M) micro-batches, so F has a third argument, the number of stages that are
 * left, as in the authors' program. It is needed only if the best plan without this argument exceeds the memory of a stage.
 */
#include "chain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_INT("shards_most", "0", 0, 1e6,
						   "maximum number of shards; 0: GPUs of a node; 1: data parallelism only"),
	ORR_PARAM_CHOICE("recompute", "none", "none|selective|full", "activations that the backward pass recomputes"), ORR_PARAM_END };

enum { MOST_MESHES = 64 }; /* the time of the search grows with their number */

/* A way to run a stage: its time t, and the micro-batches in flight for which it has memory. */
struct option {
	double t;
	uint32_t shards, in_flight;
};

struct alpa {
	struct orr_plan *p;
	struct orr_plan_facts f;
	enum orr_plan_recompute recompute;
	uint32_t per_node; /* greatest common divisor of the numbers of GPUs of the nodes */
	uint32_t shards_most, meshes, mesh[MOST_MESHES], *all;
	double micro, m;
	double memory;
	/* [cell * options + o]: t and in_flight rise with o; the rest of a cell has t = INFINITY. */
	struct option *option;
	uint32_t options;
	uint32_t deep;     /* largest number of stages left that is told apart; the last one stands for more, too */
	double *F;         /* F(d, j, n), [(d * (pieces + 1) + j) * (gpus + 1) + n]; d: stages left */
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

/* Returns the option of pieces i..j-1 on n GPUs in groups of `shards`; t is INFINITY if it does not fit with one micro-batch in flight. */
static struct option measure_option(const struct alpa *a, uint32_t i, uint32_t j, uint32_t n, uint32_t shards)
{
	struct orr_plan_terms t = { .samples = a->micro * shards / n, .shards = shards, .recompute = a->recompute };
	struct orr_plan_cost c;
	orr_plan_cost(a->p, 0, i, j - i, &t, &c);
	double weights = c.params / shards, sums = c.forward_sums + c.backward_sums + c.recompute_sums;
	double left = a->memory - weights * orr_plan_state_bytes(a->p, 1) - c.working_bytes;
	double most = c.stored_bytes > 0 ? floor(left / c.stored_bytes) : UINT32_MAX;
	if (left < 0 || most < 1)
		return (struct option){ .t = INFINITY };
	uint32_t groups = n / shards, *ring = orr_alloc(groups, sizeof *ring);
	for (uint32_t g = 0; g < groups; g++)
		ring[g] = g * shards;
	double reduce = groups > 1 ? orr_plan_all_reduce_s(a->p, ring, groups, weights * a->f.gradient_bytes, shards) : 0;
	double inside = shards > 1 ? sums * orr_plan_all_reduce_s(a->p, a->all, shards, c.sum_bytes, 1) : 0;
	orr_free(ring);
	return (struct option){ c.forward_s + c.backward_s + c.recompute_s + inside + reduce / a->m, shards,
		most < UINT32_MAX ? (uint32_t)most : UINT32_MAX };
}

/* Puts x among the options of a cell, unless another one is as fast and has memory for as much. */
static void put_option(const struct alpa *a, struct option *list, struct option x)
{
	uint32_t n = 0, kept = 0;
	while (n < a->options && list[n].t <= x.t)
		n++;
	if (!isfinite(x.t) || (n && list[n - 1].in_flight >= x.in_flight))
		return;
	for (uint32_t i = 0; i < a->options && isfinite(list[i].t); i++)
		if (i < n || list[i].in_flight > x.in_flight)
			list[kept++] = list[i];
	memmove(list + n + 1, list + n, (kept - n) * sizeof *list);
	list[n] = x;
	for (uint32_t i = kept + 1; i < a->options; i++)
		list[i].t = INFINITY;
}

static void measure(struct alpa *a, uint32_t i, uint32_t j, uint32_t k)
{
	struct option *list = a->option + cell(a, i, j, k) * a->options;
	uint32_t n = a->mesh[k];
	for (uint32_t o = 0; o < a->options; o++)
		list[o].t = INFINITY;
	for (uint32_t s = 1; s <= n && s <= a->shards_most; s *= 2)
		if (n % s == 0 && a->per_node % s == 0 && (s == 1 || (a->f.blocks && a->f.heads % s == 0)))
			put_option(a, list, measure_option(a, i, j, n, s));
}

/* Returns the fastest of a cell's options with memory for d micro-batches in flight; NULL: none. */
static const struct option *option_for(const struct alpa *a, const struct option *x, uint32_t d)
{
	for (uint32_t o = 0; o < a->options && isfinite(x[o].t); o++)
		if (x[o].in_flight >= d)
			return &x[o];
	return NULL;
}

static size_t state(const struct alpa *a, uint32_t d, uint32_t j, uint32_t n)
{
	return ((size_t)d * (a->f.pieces + 1) + j) * (a->f.gpus + 1) + n;
}

/* Returns the number of stages left after one with d left: the deepest state stands for more stages too. */
static uint32_t depth_after(const struct alpa *a, uint32_t d, uint32_t j, uint32_t n)
{
	return d < a->deep || a->F[state(a, d - 1, j, n)] <= a->F[state(a, d, j, n)] ? d - 1 : d;
}

static void solve_state(struct alpa *a, double t_max, uint32_t d, uint32_t i, uint32_t n)
{
	size_t at = state(a, d, i, n), row = a->f.gpus + 1, step = (size_t)a->meshes * a->options;
	double best = INFINITY;
	for (uint32_t k = 0; k < a->meshes && a->mesh[k] <= n; k++) {
		const struct option *x = a->option + cell(a, i, i + 1, k) * a->options;
		const double *before = a->F + state(a, d - 1, i + 1, n - a->mesh[k]), *same = a->F + state(a, d, i + 1, n - a->mesh[k]);
		for (uint32_t j = i + 1; j <= a->f.pieces; j++, x += step, before += row, same += row) {
			double rest = d == a->deep && *same < *before ? *same : *before;
			if (x->t + rest >= best)
				continue;
			const struct option *fit = option_for(a, x, d);
			if (!fit || fit->t > t_max || fit->t + rest >= best)
				continue;
			best = fit->t + rest;
			a->to[at] = j;
			a->on[at] = k;
		}
	}
	a->F[at] = best;
}

/* Returns the number of stages d with the smallest F(d, 0, gpus). */
static uint32_t best_depth(const struct alpa *a)
{
	uint32_t best = 1;
	for (uint32_t d = 2; d <= a->deep; d++)
		if (a->F[state(a, d, 0, a->f.gpus)] < a->F[state(a, best, 0, a->f.gpus)])
			best = d;
	return best;
}

/* Returns the smallest F(d, 0, gpus) with no stage above t_max. */
static double solve(struct alpa *a, double t_max)
{
	uint32_t N = a->f.gpus, P = a->f.pieces;
	for (size_t at = 0; at < state(a, 1, 0, 0); at++)
		a->F[at] = INFINITY;
	a->F[state(a, 0, P, 0)] = 0;
	for (uint32_t d = 1; d <= a->deep; d++) {
		for (uint32_t n = 0; n <= N; n++)
			a->F[state(a, d, P, n)] = INFINITY;
		for (uint32_t i = P; i-- > 0;)
			for (uint32_t n = 0; n <= N; n++)
				solve_state(a, t_max, d, i, n);
	}
	return a->F[state(a, best_depth(a), 0, N)];
}

static int by_value(const void *x, const void *y)
{
	const double *a = x, *b = y;
	return (*a > *b) - (*a < *b);
}

/* ---- the plan ---- */

struct found {
	uint32_t stages, *first, *gpus, *shards;
	bool has_memory; /* for the micro-batches in flight on each stage */
	double cost_s, micro;
};

static void take(const struct alpa *a, struct found *b, double cost_s)
{
	uint32_t s = 0, d = best_depth(a), *room = orr_alloc(a->f.pieces, sizeof *room);
	b->cost_s = cost_s;
	b->micro = a->micro;
	for (uint32_t i = 0, n = a->f.gpus; i < a->f.pieces; s++) {
		size_t at = state(a, d, i, n);
		const struct option *x = option_for(a, a->option + cell(a, i, a->to[at], a->on[at]) * a->options, d);
		b->first[s] = i;
		b->gpus[s] = a->mesh[a->on[at]];
		b->shards[s] = x->shards;
		room[s] = x->in_flight;
		n -= b->gpus[s];
		i = a->to[at];
		d = depth_after(a, d, i, n);
	}
	b->first[s] = a->f.pieces;
	b->stages = s;
	b->has_memory = true;
	for (uint32_t i = 0; i < s; i++)
		b->has_memory &= room[i] >= fmin(s - i, a->m);
	orr_free(room);
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

/* Measures all options. Lists their times, ascending, in c, and returns the largest number of stages left that matters for memory. */
static uint32_t measure_all(struct alpa *a, struct candidates *c)
{
	uint32_t most = (uint32_t)fmin(fmin(a->f.pieces, a->f.gpus), ceil(a->m)), deep = 1;
	size_t k = 0;
	for (uint32_t i = 0; i < a->f.pieces; i++)
		for (uint32_t j = i + 1; j <= a->f.pieces; j++)
			for (uint32_t m = 0; m < a->meshes; m++) {
				measure(a, i, j, m);
				const struct option *x = a->option + cell(a, i, j, m) * a->options;
				for (uint32_t o = 0; o < a->options && isfinite(x[o].t); o++) {
					c->bound[k++] = x[o].t;
					deep = x[o].in_flight < most && x[o].in_flight >= deep ? x[o].in_flight + 1 : deep;
				}
			}
	qsort(c->bound, k, sizeof *c->bound, by_value);
	for (size_t i = 0; i < k; i++)
		if (!c->n || c->bound[i] > c->bound[c->n - 1] * (1 + 1e-12))
			c->bound[c->n++] = c->bound[i];
	return deep;
}

static void find(struct alpa *a, struct found *b, struct candidates *c, uint32_t deep)
{
	size_t states = (size_t)(deep + 1) * (a->f.pieces + 1) * (a->f.gpus + 1);
	a->deep = deep;
	a->F = orr_alloc(states, sizeof *a->F);
	a->to = orr_alloc(states, sizeof *a->to);
	a->on = orr_alloc(states, sizeof *a->on);
	c->best = INFINITY;
	explore(a, b, c, 0, c->n - 1, try_candidate(a, b, c, c->n - 1));
	orr_free(a->F);
	orr_free(a->to);
	orr_free(a->on);
}

static double plan_at(struct alpa *a, struct found *b)
{
	size_t n = (size_t)(a->f.pieces + 1) * (a->f.pieces + 1) * a->meshes * a->options;
	struct candidates c = { .bound = orr_alloc(n, sizeof *c.bound), .best = INFINITY };
	uint32_t deep = measure_all(a, &c);
	if (c.n)
		find(a, b, &c, 1);
	if (isfinite(c.best) && !b->has_memory && orr_plan_goes_on(a->p))
		find(a, b, &c, deep);
	orr_free(c.bound);
	return c.best;
}

static void allocate(struct alpa *a, struct found *b)
{
	size_t cells = (size_t)(a->f.pieces + 1) * (a->f.pieces + 1) * a->meshes;
	for (uint32_t s = 1; s <= a->shards_most; s *= 2)
		a->options++;
	a->option = orr_alloc(cells * a->options, sizeof *a->option);
	b->first = orr_alloc(a->f.pieces + 1, sizeof *b->first);
	b->gpus = orr_alloc(a->f.pieces, sizeof *b->gpus);
	b->shards = orr_alloc(a->f.pieces, sizeof *b->shards);
}

static void release(struct alpa *a, struct found *b)
{
	orr_free(a->option);
	orr_free(a->all);
	orr_free(b->first);
	orr_free(b->gpus);
	orr_free(b->shards);
}

/* Lists all GPUs, and finds the smallest memory. */
static void list_gpus(struct alpa *a)
{
	a->memory = INFINITY;
	a->all = orr_alloc(a->f.gpus, sizeof *a->all);
	for (uint32_t i = 0; i < a->f.gpus; i++) {
		struct orr_plan_gpu g;
		orr_plan_gpu(a->p, a->all[i] = i, &g);
		a->memory = fmin(a->memory, g.memory_bytes);
	}
}

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct alpa a = { .p = p };
	struct found b = { .cost_s = INFINITY };
	double *micro, best_s = INFINITY, cost_s = NAN; /* of the best plan: iteration time and T */
	bool has_division = false;
	const char *recompute = orr_arg_text(args, "recompute");
	orr_plan_facts(p, &a.f);
	list_gpus(&a);
	a.recompute = !strcmp(recompute, "full")        ? ORR_PLAN_RECOMPUTE_FULL
		      : !strcmp(recompute, "selective") ? ORR_PLAN_RECOMPUTE_SELECTIVE
							: ORR_PLAN_KEEP;
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
			"no division into stages fits in memory: expected %s%smore GPUs, or GPUs "
			"with more memory",
			a.f.micro_batch > 0 ? "a smaller micro-batch, " : "",
			a.recompute == ORR_PLAN_RECOMPUTE_FULL ? "" : "recompute=full, ");
	return 0;
}

static const struct orr_plan_ops ops = { .search = search };

ORR_POLICY_PLAN(alpa, "stages and submeshes by dynamic programming (Alpa)", params, ops);
