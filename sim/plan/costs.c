/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Costs of pieces: prefix sums over the chain, one table per query (type of GPU, samples, shards, recomputation).
 *
 * The costs of a piece are those of a stage of the step world with this single piece (policies/step/stages.h). Sums over pieces
 * equal the costs of the whole stage, except that an embedding counts once per piece in the all-reduces of shards.
 */
#include "plan/world.h"

#include "base/mem.h"
#include "policies/step/stages.h"

#include <math.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

struct question {
	uint32_t type, shards;
	enum orr_plan_recompute recompute;
	bool sequence_parallel;
	double samples;
};

/* sum[i]: sum over pieces 0..i-1. */
struct answer {
	struct question q;
	struct orr_plan_cost *sum;
	double *working; /* by piece */
};

struct cost_table {
	struct answer **slot; /* open addressing */
	uint32_t n, cap;
};

/* ---- the table ---- */

static uint32_t hash_of(const struct question *q)
{
	uint64_t bits, h = UINT64_C(1469598103934665603);
	memcpy(&bits, &q->samples, sizeof bits);
	const uint64_t part[] = { q->type, q->shards, (uint64_t)q->recompute * 2 + q->sequence_parallel, bits };
	for (size_t i = 0; i < 4; i++)
		h = (h ^ part[i]) * UINT64_C(1099511628211) ^ h >> 29;
	return (uint32_t)(h ^ h >> 32);
}

static bool is_same(const struct question *a, const struct question *b)
{
	return a->type == b->type && a->shards == b->shards && a->recompute == b->recompute &&
	       a->sequence_parallel == b->sequence_parallel && !memcmp(&a->samples, &b->samples, sizeof a->samples);
}

static struct answer **slot_of(struct answer **slot, uint32_t cap, const struct question *q)
{
	uint32_t i = hash_of(q) & (cap - 1);
	while (slot[i] && !is_same(&slot[i]->q, q))
		i = (i + 1) & (cap - 1);
	return &slot[i];
}

static void grow(struct cost_table *t)
{
	uint32_t cap = t->cap ? 2 * t->cap : FIRST_SLOTS;
	struct answer **slot = mem_zalloc(cap, sizeof *slot);
	for (uint32_t i = 0; i < t->cap; i++)
		if (t->slot[i])
			*slot_of(slot, cap, &t->slot[i]->q) = t->slot[i];
	mem_free(t->slot);
	t->slot = slot;
	t->cap = cap;
}

void costs_new(struct orr_plan *p)
{
	p->costs = mem_zalloc(1, sizeof *p->costs);
	grow(p->costs);
}

void costs_free(struct orr_plan *p)
{
	struct cost_table *t = p->costs;
	for (uint32_t i = 0; t && i < t->cap; i++)
		if (t->slot[i]) {
			mem_free(t->slot[i]->sum);
			mem_free(t->slot[i]->working);
			mem_free(t->slot[i]);
		}
	if (t)
		mem_free(t->slot);
	mem_free(t);
}

/* ---- answers ---- */

static uint32_t gpu_of_type(const struct orr_plan *p, uint32_t type)
{
	uint32_t g = 0;
	while (g + 1 < p->facts.gpus && p->type_of[g] != type)
		g++;
	return g;
}

static void add_piece(const struct orr_plan *p, const struct stage_terms *t, uint32_t gpu, uint32_t i, struct answer *a)
{
	struct stage g;
	const struct orr_plan_cost *before = &a->sum[i];
	stage_measure(p->step, t, gpu, p->first_layer[i], p->first_layer[i + 1] - p->first_layer[i], &g);
	a->working[i] = g.working_bytes;
	a->sum[i + 1] = (struct orr_plan_cost){ .forward_s = before->forward_s + g.forward_s,
		.backward_s = before->backward_s + g.backward_s,
		.recompute_s = before->recompute_s + g.recompute_s,
		.params = before->params + g.params,
		.stored_bytes = before->stored_bytes + g.stored_bytes,
		.forward_sums = before->forward_sums + g.rows,
		.backward_sums = before->backward_sums + g.columns,
		.recompute_sums = before->recompute_sums + g.again_rows };
}

static struct answer *ask(const struct orr_plan *p, const struct question *q)
{
	struct answer *a = mem_zalloc(1, sizeof *a);
	uint32_t n = p->facts.pieces, gpu = gpu_of_type(p, q->type);
	enum recompute r = q->recompute == ORR_PLAN_RECOMPUTE_FULL        ? RECOMPUTE_FULL
			   : q->recompute == ORR_PLAN_RECOMPUTE_SELECTIVE ? RECOMPUTE_SELECTIVE
									  : RECOMPUTE_NONE;
	struct stage_terms t = { q->samples, r, q->shards, q->sequence_parallel };
	a->q = *q;
	a->sum = mem_zalloc(n + 1, sizeof *a->sum);
	a->working = mem_zalloc(n, sizeof *a->working);
	for (uint32_t i = 0; i < n; i++)
		add_piece(p, &t, gpu, i, a);
	return a;
}

static const struct answer *answer_to(const struct orr_plan *p, uint32_t type, const struct orr_plan_terms *t)
{
	struct cost_table *c = p->costs;
	struct question q = { type, t->shards ? t->shards : 1, t->recompute, t->sequence_parallel, t->samples };
	/* A model without blocks recomputes whole stages; orr_plan_cost() computes that time. */
	if (!p->facts.blocks)
		q.recompute = ORR_PLAN_KEEP;
	struct answer **slot = slot_of(c->slot, c->cap, &q);
	struct answer *a = *slot;
	if (a)
		return a;
	a = ask(p, &q);
	if (2 * ++c->n > c->cap) {
		grow(c);
		slot = slot_of(c->slot, c->cap, &q);
	}
	return *slot = a;
}

/* ---- the interface ---- */

void orr_plan_cost(
	const struct orr_plan *p, uint32_t type, uint32_t first, uint32_t count, const struct orr_plan_terms *t, struct orr_plan_cost *out)
{
	*out = (struct orr_plan_cost){ 0 };
	if (type >= p->facts.types || first >= p->facts.pieces || !(t->samples > 0))
		return;
	count = count < p->facts.pieces - first ? count : p->facts.pieces - first;
	const struct answer *a = answer_to(p, type, t);
	const struct orr_plan_cost *x = &a->sum[first], *y = &a->sum[first + count];
	struct orr_step_facts f;
	orr_step_facts(p->step, &f);
	*out = (struct orr_plan_cost){ .forward_s = y->forward_s - x->forward_s,
		.backward_s = y->backward_s - x->backward_s,
		.recompute_s = y->recompute_s - x->recompute_s,
		.params = y->params - x->params + (first && first + count == p->facts.pieces ? p->tied_params : 0),
		.stored_bytes = y->stored_bytes - x->stored_bytes,
		.forward_sums = y->forward_sums - x->forward_sums,
		.backward_sums = y->backward_sums - x->backward_sums,
		.recompute_sums = y->recompute_sums - x->recompute_sums,
		.sum_bytes = t->samples * f.seq * f.hidden * f.activation_bytes };
	for (uint32_t i = first; i < first + count; i++)
		out->working_bytes = fmax(out->working_bytes, a->working[i]);
	if (!p->facts.blocks && t->recompute == ORR_PLAN_RECOMPUTE_FULL) {
		struct orr_plan_piece before = { 0 };
		orr_plan_piece(p, first ? first - 1 : 0, &before);
		out->recompute_s = out->forward_s;
		out->working_bytes = out->stored_bytes;
		out->stored_bytes = first ? before.out_bytes * t->samples : 0;
	}
}

double orr_plan_update_s(const struct orr_plan *p, uint32_t type, double params)
{
	return type < p->facts.types ? orr_update_cost(p->step, gpu_of_type(p, type), params) : 0;
}

double orr_plan_state_bytes(const struct orr_plan *p, double state_shards)
{
	struct orr_step_facts f;
	orr_step_facts(p->step, &f);
	return f.weight_bytes + f.gradient_bytes + f.optimizer_bytes / (state_shards > 1 ? state_shards : 1);
}

void orr_plan_piece(const struct orr_plan *p, uint32_t piece, struct orr_plan_piece *out)
{
	struct orr_step_facts f;
	struct orr_layer_info first, last;
	*out = (struct orr_plan_piece){ .name = "" };
	if (piece >= p->facts.pieces)
		return;
	uint32_t from = p->first_layer[piece], end = p->first_layer[piece + 1];
	orr_step_facts(p->step, &f);
	orr_step_layer(p->step, from, &first);
	orr_step_layer(p->step, end - 1, &last);
	out->name = first.name;
	out->params = orr_step_params(p->step, from, end - from);
	out->out_bytes = last.out_elems * f.activation_bytes;
	out->is_block = first.block != UINT32_MAX;
}
