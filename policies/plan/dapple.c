/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DAPPLE's planner (Fan et al., "DAPPLE: A Pipelined Data Parallel Approach for Training Large Models", PPoPP 2021, 4, and the
 * published code, github AlibabaPAI/DAPPLE). Stages are placed on unused machines, on machines in use, or scattered over
 * machines.
 *
 * search=bipartition: every cut, every number of GPUs and every pair of placements, by the cost of the published code
 * (docs/models/plan.md, "DAPPLE's planner"):
 *
 *	blk = max(C0/g0, C1/g1, xfer(a))/M    T = blk (M-1) + fill + xfer(a/M) + max(0, AR0, AR1 - blk)
 *	fill = (C0 + C1)/M (repo: not divided by the replicas) or (C0/g0 + C1/g1)/M (paper)
 *
 * search=general: the paper's search. A state is a plan of the first j pieces on some GPUs; the remaining pieces are one stage
 * on all other GPUs. Each step of the search splits the last stage; the best prefix of each state is kept. The cost is the
 * latency T_w + T_s + T_e (section 4.1).
 */
#include "chain.h"
#include "published.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_CHOICE("search", "bipartition", "bipartition|general", "two stages, or any number"),
	ORR_PARAM_CHOICE(
		"fill", "paper", "repo|paper", "bipartition: fill term as in the published code, or divided by the number of replicas"),
	ORR_PARAM_INT("max_stages", "8", 1, 64, "general: maximum number of stages"), PUBLISHED_PARAMS, ORR_PARAM_END };

enum { MOST_STAGES = 64 };

struct planned {
	uint32_t stages, first[MOST_STAGES + 1], gpus[MOST_STAGES]; /* gpu[] has the GPUs of all stages in order */
	double cost_s;
	uint32_t *gpu;
};

struct dapple {
	struct orr_plan *p;
	struct orr_plan_facts f;
	struct published u;
	struct chain c;
	double micro, m;
	bool is_repo;
	uint32_t most_stages;
	struct planned best; /* of this micro-batch */
};

/* ---- plans ---- */

/* Evaluates the plan in the world's closed form (value), or makes it the result (value NULL). */
static void submit(struct dapple *d, const struct planned *x, double micro, struct orr_plan_value *value)
{
	struct orr_plan_stage stage[MOST_STAGES];
	for (uint32_t i = 0, at = 0; i < x->stages; at += x->gpus[i++])
		stage[i] = (struct orr_plan_stage){
			.first = x->first[i], .count = x->first[i + 1] - x->first[i], .gpu = x->gpu + at, .n_gpus = x->gpus[i]
		};
	struct orr_plan_draft draft = { .stages = x->stages, .stage = stage, .micro_batch = micro };
	if (value)
		orr_plan_evaluate(d->p, &draft, value);
	else
		orr_plan_choose(d->p, &draft, x->cost_s);
}

static void offer(struct dapple *d, const struct planned *x)
{
	if (x->cost_s >= d->best.cost_s)
		return;
	uint32_t *gpu = d->best.gpu;
	memcpy(gpu, x->gpu, d->f.gpus * sizeof *gpu);
	d->best = *x;
	d->best.gpu = gpu;
}

/* Chooses, of the best plans of n micro-batches, the first one by cost that fits in memory: the planner's cost ignores memory. If none
 * fits, the one that needs the least memory is the result, which the world refuses. */
static void choose(struct dapple *d, const struct planned *best, const double *micro, uint32_t n)
{
	struct orr_plan_value v = { 0 };
	bool *is_tried = orr_alloc(n, sizeof *is_tried);
	uint32_t chosen = n;
	double least = INFINITY;
	for (uint32_t tried = 0, at; tried < n && !v.fits; tried++) {
		at = n;
		for (uint32_t i = 0; i < n; i++)
			if (!is_tried[i] && isfinite(best[i].cost_s) && (at == n || best[i].cost_s < best[at].cost_s))
				at = i;
		if (at == n)
			break;
		is_tried[at] = true;
		submit(d, &best[at], micro[at], &v);
		if (chosen == n || v.fits || v.memory_share < least) {
			chosen = at;
			least = v.memory_share;
		}
	}
	if (chosen < n) {
		submit(d, &best[chosen], micro[chosen], NULL);
		orr_plan_put(d->p, "cut_after", best[chosen].stages > 1 ? best[chosen].first[1] - 1. : NAN);
	}
	orr_free(is_tried);
}

/* ---- bipartition ---- */

static double two_stages_s(const struct dapple *d, uint32_t cut, const uint32_t *gpu, uint32_t g0, uint32_t g1)
{
	const struct chain *c = &d->c;
	double G = d->f.global_batch, C0 = chain_time_s(c, 0, cut) * G, C1 = chain_time_s(c, cut, c->n) * G;
	double a = c->out_bytes[cut - 1] * G, M = d->m;
	const uint32_t *to = gpu + g0;
	double blk = fmax(fmax(C0 / g0, C1 / g1), published_transfer_s(&d->u, gpu, g0, to, g1, a)) / M;
	double fill = (d->is_repo ? C0 + C1 : C0 / g0 + C1 / g1) / M;
	double AR0 = published_all_reduce_s(&d->u, gpu, g0, c->grad_bytes[cut]);
	double AR1 = published_all_reduce_s(&d->u, to, g1, c->grad_bytes[c->n] - c->grad_bytes[cut]);
	return blk * (M - 1) + fill + published_transfer_s(&d->u, gpu, g0, to, g1, a / M) + fmax(0, fmax(AR0, AR1 - blk));
}

static void try_cuts(struct dapple *d, struct planned *x)
{
	for (uint32_t cut = 1; cut < d->c.n; cut++) {
		x->first[1] = cut;
		x->cost_s = two_stages_s(d, cut, x->gpu, x->gpus[0], x->gpus[1]);
		offer(d, x);
	}
}

static void bipartition(struct dapple *d)
{
	uint32_t N = d->f.gpus;
	bool *is_used = orr_alloc(N, sizeof *is_used);
	struct planned x = { .stages = 2, .first = { 0, 0, d->c.n }, .gpu = orr_alloc(N, sizeof *x.gpu) };
	for (uint32_t g0 = 1; g0 < N && orr_plan_goes_on(d->p); g0++) {
		x.gpus[0] = g0;
		x.gpus[1] = N - g0;
		for (int how = 0; how < PLACES * PLACES; how++) {
			memset(is_used, 0, N * sizeof *is_used);
			if (published_place(&d->u, (enum published_place)(how / PLACES), g0, is_used, x.gpu) &&
				published_place(&d->u, (enum published_place)(how % PLACES), N - g0, is_used, x.gpu + g0))
				try_cuts(d, &x);
		}
	}
	orr_free(x.gpu);
	orr_free(is_used);
}

/* ---- the paper's search ---- */

/* Times of stages and of the messages between them, which count as stages: entry 2i is stage i, entry 2i + 1 is the cut after it. */
struct terms {
	uint32_t n;
	double F[2 * MOST_STAGES], B[2 * MOST_STAGES], AR[2 * MOST_STAGES];
};

static void terms_of(const struct dapple *d, const struct planned *x, struct terms *t)
{
	const struct chain *c = &d->c;
	double micro = d->micro;
	t->n = 2 * x->stages - 1;
	for (uint32_t i = 0, at = 0; i < x->stages; at += x->gpus[i++]) {
		uint32_t from = x->first[i], to = x->first[i + 1], g = x->gpus[i];
		t->F[2 * i] = (c->forward_s[to] - c->forward_s[from]) * micro / g;
		t->B[2 * i] = (c->backward_s[to] - c->backward_s[from]) * micro / g;
		t->AR[2 * i] = published_all_reduce_s(&d->u, x->gpu + at, g, c->grad_bytes[to] - c->grad_bytes[from]);
		if (i + 1 == x->stages)
			break;
		double s = published_transfer_s(&d->u, x->gpu + at, g, x->gpu + at + g, x->gpus[i + 1], c->out_bytes[to - 1] * micro);
		t->F[2 * i + 1] = t->B[2 * i + 1] = s;
		t->AR[2 * i + 1] = 0;
	}
}

/* Returns L = T_w + T_s + T_e (PPoPP 2021, 4.1): the pivot is the stage with the fewest bubbles. */
static double latency_s(const struct terms *t, double m)
{
	uint32_t q = t->n - 1;
	double between = 0, warm = 0, end = 0, backward = 0;
	for (uint32_t s = q; s-- > 0;) {
		if ((m - 1) * (t->F[s] + t->B[s]) > (m - 1) * (t->F[q] + t->B[q]) + between) {
			q = s;
			between = 0;
		} else
			between += t->F[s] + t->B[s];
	}
	for (uint32_t s = 0; s <= q; s++)
		warm += t->F[s];
	for (uint32_t s = q + 1; s-- > 0;) {
		backward += t->B[s];
		end = fmax(end, t->AR[s] + backward);
	}
	backward = 0;
	for (uint32_t s = q + 1; s < t->n; s++) {
		end = fmax(end, t->AR[s] - backward);
		backward += t->B[s];
	}
	return warm + (m - 1) * (t->F[q] + t->B[q]) + end;
}

/* A state of the search: number of planned pieces, and GPUs in use (identified by their number on each machine). */
struct state {
	uint32_t j, used, stages;
	uint64_t key;
	double cost_s;
	struct planned x;
	bool *is_used;
};
struct states {
	struct state *of;
	uint32_t n, cap;
	uint32_t *slot, slots; /* hash table with linear probing: index of a state + 1; 0: free. slots: a power of two */
};

static uint64_t key_of(const struct dapple *d, uint32_t j, const bool *is_used)
{
	uint64_t h = j + UINT64_C(1469598103934665603);
	for (uint32_t g = 0; g < d->f.gpus; g++)
		h = (h ^ (is_used[g] + 1u)) * UINT64_C(1099511628211);
	return h;
}

/* Returns the slot of the key: that of its state, or a free one. */
static uint32_t *slot_of(const struct states *s, uint64_t key)
{
	uint32_t i = (uint32_t)(key ^ key >> 32) & (s->slots - 1);
	while (s->slot[i] && s->of[s->slot[i] - 1].key != key)
		i = (i + 1) & (s->slots - 1);
	return &s->slot[i];
}

static struct state *find(const struct states *s, uint64_t key)
{
	uint32_t i = s->slots ? *slot_of(s, key) : 0;
	return i ? &s->of[i - 1] : NULL;
}

static struct state *add_state(struct states *s, uint64_t key)
{
	if (2 * s->n >= s->slots) {
		s->slots = s->slots ? 2 * s->slots : 64;
		orr_free(s->slot);
		s->slot = orr_alloc(s->slots, sizeof *s->slot);
		for (uint32_t i = 0; i < s->n; i++)
			*slot_of(s, s->of[i].key) = i + 1;
	}
	ORR_GROW(s->of, s->n, s->cap);
	struct state *x = &s->of[s->n];
	*slot_of(s, key) = ++s->n;
	*x = (struct state){ .key = key };
	return x;
}

/* Completes a prefix of x->stages - 1 stages by one stage on all remaining GPUs. */
static double complete(struct dapple *d, struct planned *x, uint32_t used, bool *is_used)
{
	uint32_t rest = d->f.gpus - used, n = 0;
	struct terms t;
	for (uint32_t g = 0; g < d->f.gpus; g++)
		if (!is_used[g])
			x->gpu[used + n++] = g;
	x->gpus[x->stages - 1] = rest;
	x->first[x->stages] = d->c.n;
	terms_of(d, x, &t);
	return x->cost_s = latency_s(&t, d->m);
}

static void keep(struct dapple *d, struct states *s, const struct planned *x, uint32_t j, uint32_t used, const bool *is_used)
{
	uint64_t key = key_of(d, j, is_used);
	struct state *at = find(s, key);
	if (at && at->cost_s <= x->cost_s)
		return;
	if (!at) {
		at = add_state(s, key);
		at->j = j;
		at->used = used;
		at->x.gpu = orr_alloc(d->f.gpus, sizeof *at->x.gpu);
		at->is_used = orr_alloc(d->f.gpus, sizeof *at->is_used);
	}
	uint32_t *gpu = at->x.gpu;
	memcpy(gpu, x->gpu, d->f.gpus * sizeof *gpu);
	memcpy(at->is_used, is_used, d->f.gpus * sizeof *is_used);
	at->x = *x;
	at->x.gpu = gpu;
	at->cost_s = x->cost_s;
}

/* Splits the last stage of state `from`: pieces j..to-1 move to a new stage on n GPUs, and the other pieces stay one stage. */
static void split(struct dapple *d, struct states *s, const struct state *from, uint32_t to, struct planned *x, bool *is_used)
{
	for (uint32_t n = 1; n < d->f.gpus - from->used; n++)
		for (int how = 0; how < PLACES; how++) {
			uint32_t *gpu = x->gpu;
			memcpy(gpu, from->x.gpu, d->f.gpus * sizeof *gpu);
			memcpy(is_used, from->is_used, d->f.gpus * sizeof *is_used);
			*x = from->x;
			x->gpu = gpu;
			if (!published_place(&d->u, (enum published_place)how, n, is_used, x->gpu + from->used))
				continue;
			x->gpus[x->stages - 1] = n;
			x->first[x->stages++] = to;
			complete(d, x, from->used + n, is_used);
			offer(d, x);
			if (x->stages < d->most_stages)
				keep(d, s, x, to, from->used + n, is_used);
		}
}

static void free_states(struct states *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		orr_free(s->of[i].x.gpu);
		orr_free(s->of[i].is_used);
	}
	orr_free(s->of);
	orr_free(s->slot);
}

static void general(struct dapple *d)
{
	struct states *s = orr_alloc(d->c.n, sizeof *s); /* by j */
	struct planned x = { .stages = 1, .gpu = orr_alloc(d->f.gpus, sizeof *x.gpu) };
	bool *is_used = orr_alloc(d->f.gpus, sizeof *is_used);
	complete(d, &x, 0, is_used);
	offer(d, &x);
	keep(d, &s[0], &x, 0, 0, is_used);
	for (uint32_t j = 0; j < d->c.n && orr_plan_goes_on(d->p); j++) {
		for (uint32_t i = 0; i < s[j].n; i++)
			for (uint32_t to = j + 1; to < d->c.n && s[j].of[i].x.stages < d->most_stages; to++)
				split(d, &s[to], &s[j].of[i], to, &x, is_used);
		orr_plan_progress(d->p, (j + 1.) / d->c.n);
		free_states(&s[j]);
		s[j] = (struct states){ 0 };
	}
	for (uint32_t j = 0; j < d->c.n; j++)
		free_states(&s[j]);
	orr_free(s);
	orr_free(x.gpu);
	orr_free(is_used);
}

/* ---- the policy ---- */

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct dapple d = { .p = p, .is_repo = !strcmp(orr_arg_text(args, "fill"), "repo") };
	double *micro;
	orr_plan_facts(p, &d.f);
	bool is_general = !strcmp(orr_arg_text(args, "search"), "general");
	d.most_stages = (uint32_t)orr_arg_int(args, "max_stages");
	if (!is_general && (d.f.gpus < 2 || d.f.pieces < 2))
		return orr_fail(err, ORR_EINPUT, "search=bipartition: expected at least 2 GPUs and 2 pieces of the model, found %u and %u",
			d.f.gpus, d.f.pieces);
	published_new(&d.u, p, args);
	uint32_t n = chain_micro_batches(&d.f, &micro), done = 0;
	struct planned *best = orr_alloc(n, sizeof *best);
	for (; done < n && orr_plan_goes_on(p); done++) {
		d.micro = micro[done];
		d.m = d.f.global_batch / micro[done];
		d.best = (struct planned){ .cost_s = INFINITY, .gpu = orr_alloc(d.f.gpus, sizeof *d.best.gpu) };
		chain_load(&d.c, p, 0, d.micro);
		if (is_general)
			general(&d);
		else
			bipartition(&d);
		chain_free(&d.c);
		best[done] = d.best;
		orr_plan_progress(p, (done + 1.) / n);
	}
	choose(&d, best, micro, done);
	for (uint32_t i = 0; i < done; i++)
		orr_free(best[i].gpu);
	orr_free(best);
	orr_free(micro);
	published_free(&d.u);
	return 0;
}

static const struct orr_plan_ops ops = { .search = search };

ORR_POLICY_PLAN(dapple, "two or more stages, replicated independently (DAPPLE's planner)", params, ops);
