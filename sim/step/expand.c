/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Expands ops to instances. Without lanes, or with merged lanes, an op has one instance. Otherwise an op has one per lane, and
 * a collective among lanes has one per group. An edge joins the instances of two ops that share a lane.
 */
#include "step/world.h"

#include "base/mem.h"

#include <stdlib.h>

static const struct coll *lane_coll(const struct iteration *k, const struct op *o)
{
	return o->collective != NONE && k->coll[o->collective].size ? &k->coll[o->collective] : NULL;
}

static uint32_t instances_of(const struct orr_step *s, const struct iteration *k, const struct op *o)
{
	const struct coll *c = lane_coll(k, o);
	if (s->lanes_run == 1)
		return 1;
	return c ? s->lanes / c->size : s->lanes;
}

/* Returns the index of the op's instance to which lane l belongs. */
static uint32_t instance_of(const struct orr_step *s, const struct iteration *k, const struct op *o, uint32_t lane)
{
	const struct coll *c = lane_coll(k, o);
	if (s->lanes_run == 1)
		return 0;
	return c ? lane / (c->size * c->stride) * c->stride + lane % c->stride : lane;
}

/* Returns the first lane of instance i. */
static uint32_t lane_of(const struct orr_step *s, const struct iteration *k, const struct op *o, uint32_t i)
{
	const struct coll *c = lane_coll(k, o);
	if (s->lanes_run == 1)
		return 0;
	return c ? i / c->stride * (c->size * c->stride) + i % c->stride : i;
}

static void join(struct iteration *from, uint32_t a, struct iteration *to, uint32_t b)
{
	if (from->instance[a].state == ENDED)
		return;
	MEM_GROW(from->edge, from->n_edges, from->cap_edges);
	from->edge[from->n_edges] = (struct edge){ b, from->instance[a].first_edge, to };
	from->instance[a].first_edge = from->n_edges++;
	to->instance[b].waits++;
}

static void join_ops(struct orr_step *s, struct iteration *from, const struct op *a, struct iteration *to, const struct op *b)
{
	if (a->n_instances == 1 && b->n_instances == 1) {
		join(from, a->first_instance, to, b->first_instance);
		return;
	}
	/* If one side is a group of lanes, each pair of instances is joined once per common lane. */
	for (uint32_t l = 0; l < s->lanes; l++)
		join(from, a->first_instance + instance_of(s, from, a, l), to, b->first_instance + instance_of(s, to, b, l));
}

static int by_op(const void *x, const void *y)
{
	const struct memory_use *a = x, *b = y;
	if (a->op != b->op)
		return a->op < b->op ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/* Reserves room for the offsets of op `n` and of the next op. */
static void reserve_index(struct iteration *k, uint32_t n)
{
	if (n + 2 <= k->cap_memory_of)
		return;
	k->cap_memory_of = 2 * (n + 2);
	k->memory_of = mem_realloc(k->memory_of, k->cap_memory_of, sizeof *k->memory_of);
}

static void index_memory(struct iteration *k)
{
	if (k->n_memory)
		qsort(k->memory, k->n_memory, sizeof *k->memory, by_op);
	reserve_index(k, k->n_ops);
	uint32_t m = 0;
	for (uint32_t o = 0; o < k->n_ops; o++) {
		k->memory_of[o] = m;
		while (m < k->n_memory && k->memory[m].op == o)
			m++;
	}
	k->memory_of[k->n_ops] = m;
}

/* Ops from `first` on use no memory. */
static void index_grown(struct iteration *k, uint32_t first)
{
	reserve_index(k, k->n_ops);
	for (uint32_t o = first; o < k->n_ops; o++)
		k->memory_of[o + 1] = k->memory_of[o];
}

/* Joins the dependencies from dep[first] on. */
static void join_all(struct orr_step *s, struct iteration *k, uint32_t first)
{
	for (uint32_t i = first; i < k->n_deps; i++) {
		struct iteration *from = iteration_live(s, op_iteration(k->dep[i].before));
		if (!from)
			continue;
		join_ops(s, from, &from->op[op_index(k->dep[i].before)], k, &k->op[op_index(k->dep[i].after)]);
	}
}

int expand_grown(struct orr_step *s, struct iteration *k, const struct grown *before)
{
	uint32_t added = k->n_ops - before->ops;
	if (k->n_memory != before->memory)
		index_memory(k);
	else
		index_grown(k, before->ops);
	if (k->n_instances + added > k->cap_instances) {
		k->cap_instances = 2 * (k->n_instances + added);
		k->instance = mem_realloc(k->instance, k->cap_instances, sizeof *k->instance);
	}
	for (uint32_t i = before->ops; i < k->n_ops; i++) {
		struct op *o = &k->op[i];
		o->first_instance = k->n_instances;
		o->n_instances = 1;
		k->instance[k->n_instances++] = (struct instance){ .op = i, .waits = o->is_gate, .first_edge = NONE };
		k->left++;
		s->left++;
		k->left_attached += !o->is_detached;
	}
	join_all(s, k, before->deps);
	return s->error.code;
}

bool expand_open(struct orr_step *s, orr_op gate, orr_op dep)
{
	struct iteration *to = iteration_live(s, op_iteration(gate)), *from = dep ? iteration_live(s, op_iteration(dep)) : NULL;
	uint32_t b = to->op[op_index(gate)].first_instance;
	if (from)
		join(from, from->op[op_index(dep)].first_instance, to, b);
	return !--to->instance[b].waits;
}

static int make_instances(struct orr_step *s, struct iteration *k)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < k->n_ops; i++) {
		struct op *o = &k->op[i];
		o->first_instance = (uint32_t)n;
		o->n_instances = instances_of(s, k, o);
		n += o->n_instances;
		if (n > UINT32_C(0x7fffffff)) {
			step_fail(s, ORR_EFAIL, "too many ops: expected at most 2 billion in all lanes of one iteration");
			return s->error.code;
		}
	}
	k->cap_instances = n ? (uint32_t)n : 1;
	k->instance = mem_realloc(k->instance, k->cap_instances, sizeof *k->instance);
	k->n_instances = k->left = (uint32_t)n;
	s->left += n;
	k->left_attached = 0;
	for (uint32_t i = 0; i < k->n_ops; i++) {
		const struct op *o = &k->op[i];
		for (uint32_t j = 0; j < o->n_instances; j++)
			k->instance[o->first_instance + j] =
				(struct instance){ .op = i, .lane = lane_of(s, k, o, j), .waits = o->is_gate, .first_edge = NONE };
		k->left_attached += o->is_detached ? 0 : o->n_instances;
	}
	return ORR_OK;
}

int expand(struct orr_step *s, struct iteration *k)
{
	if (!k->n_ops) {
		step_fail(s, ORR_EFAIL, "build() created no op: expected at least one");
		return s->error.code;
	}
	index_memory(k);
	if (make_instances(s, k))
		return s->error.code;
	if (!k->left_attached) {
		step_fail(s, ORR_EFAIL, "all ops are detached: expected at least one attached op, which ends the iteration");
		return s->error.code;
	}
	join_all(s, k, 0);
	return ORR_OK;
}
