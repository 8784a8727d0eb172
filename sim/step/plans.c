/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Devices and plans of collectives. Lanes whose devices differ in type, or lie differently in nodes, have plans of their own. */
#include "step/world.h"

#include "base/hash.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

uint32_t rank_device(const struct orr_step *s, const struct iteration *k, const struct coll *c, uint32_t lane, uint32_t r)
{
	if (c->size)
		return real_device(s, group_lane(c, lane, r), k->group[c->group_first]);
	return real_device(s, lane, k->group[c->group_first + r]);
}

/* ---- plans by shape ---- */

static uint64_t shape_hash(const struct coll_shape *a)
{
	uint64_t bits;
	memcpy(&bits, &a->bytes, sizeof bits);
	return bits ^ (uint64_t)a->n << 20 ^ (uint64_t)a->op << 56 ^ (uint64_t)a->algorithm << 50 ^ (uint64_t)a->leader << 49 ^ a->inner ^
	       (uint64_t)a->rings << 32;
}

static bool same_shape(const struct coll_shape *a, const struct coll_shape *b)
{
	return a->op == b->op && a->algorithm == b->algorithm && a->n == b->n && a->bytes == b->bytes && a->root == b->root &&
	       a->inner == b->inner && a->rings == b->rings && a->chunks == b->chunks && a->leader == b->leader &&
	       a->inner_stretch == b->inner_stretch && a->fill_s == b->fill_s && a->is_measured == b->is_measured && a->hop_s == b->hop_s &&
	       a->stretch == b->stretch && a->is_tree_timed == b->is_tree_timed && a->messages == b->messages;
}

static bool plan_is_even(const struct coll_plan *p, uint32_t ranks)
{
	double *sent = mem_zalloc(ranks, sizeof *sent);
	bool is_even = true;
	for (uint32_t f = 0; f < p->n_phases; f++)
		for (uint32_t j = p->phase[f].first; j < p->phase[f].first + p->phase[f].count; j++)
			sent[p->send[j].from] += p->send[j].bytes * p->phase[f].repeat;
	for (uint32_t r = 1; r < ranks; r++)
		is_even = is_even && fabs(sent[r] - sent[0]) <= 1e-12 * sent[0];
	mem_free(sent);
	return is_even;
}

/* Returns the slot of the shape in plan_slot[]; a free slot if the shape is new. */
static uint32_t *plan_slot(const struct orr_step *s, const struct coll_shape *shape)
{
	uint32_t mask = s->n_plan_slots - 1, i = hash_spread(shape_hash(shape)) & mask;
	while (s->plan_slot[i] != NONE && !same_shape(&s->plan[s->plan_slot[i]].shape, shape))
		i = (i + 1) & mask;
	return &s->plan_slot[i];
}

static void grow_plan_slots(struct orr_step *s)
{
	s->n_plan_slots = s->n_plan_slots ? 2 * s->n_plan_slots : 64;
	s->plan_slot = mem_realloc(s->plan_slot, s->n_plan_slots, sizeof *s->plan_slot);
	memset(s->plan_slot, 0xff, s->n_plan_slots * sizeof *s->plan_slot);
	for (uint32_t i = 0; i < s->n_plans; i++)
		*plan_slot(s, &s->plan[i].shape) = i;
}

static uint32_t plan_find(struct orr_step *s, const struct coll_shape *shape)
{
	if (2 * s->n_plans >= s->n_plan_slots)
		grow_plan_slots(s);
	uint32_t *slot = plan_slot(s, shape);
	if (*slot != NONE)
		return *slot;
	struct plan p = { .shape = *shape };
	struct orr_error e = { 0 };
	int rc = coll_plan(shape, &p.phases, &e);
	if (rc) {
		step_fail(s, rc, "%s", e.text);
		return NONE;
	}
	p.is_even = plan_is_even(&p.phases, shape->n);
	MEM_GROW(s->plan, s->n_plans, s->cap_plans);
	s->plan[s->n_plans] = p;
	return *slot = s->n_plans++;
}

/* ---- kinds of lanes ---- */

/* What the shape of a collective depends on, by device of a lane or of a group of lanes. */
struct place {
	uint32_t type, node; /* node: its number in order of appearance */
	uint32_t gpus, gpu;  /* with several NICs: GPUs of the node, number of the device in it; else 0 */
};

struct node_seen {
	uint32_t first_gpu;
	uint32_t lane, number; /* the last lane with a device on the node; number of the node in it */
};

/* Fills in a place for each device of the group of lanes whose first lane is `lane`. */
static void places_of(const struct orr_step *s, const struct lane_kinds *x, uint32_t lane, struct node_seen *seen, struct place *out)
{
	bool has_nics = topo_nics(s->config->topo) > 1;
	uint32_t nodes = 0;
	for (uint32_t r = 0; r < x->size; r++)
		for (uint32_t p = 0; p < s->positions; p++) {
			uint32_t d = real_device(s, lane + r * x->stride, p), node = s->node_of[d];
			if (seen[node].lane != lane) {
				seen[node].lane = lane;
				seen[node].number = nodes++;
			}
			*out++ = (struct place){ s->type_of[d], seen[node].number, has_nics ? s->config->cluster->node[node].gpus : 0,
				has_nics ? d - seen[node].first_gpu : 0 };
		}
}

static struct lane_kinds kinds_new(const struct orr_step *s, uint32_t size, uint32_t stride)
{
	struct lane_kinds x = { .size = size, .stride = stride, .kind = mem_alloc(s->lanes * sizeof *x.kind) };
	size_t places = (size_t)size * s->positions;
	uint32_t cap = 0, gpus = 0;
	struct node_seen *seen = mem_alloc(s->config->cluster->n_nodes * sizeof *seen);
	struct place *mine = mem_alloc(places * sizeof *mine), *known = NULL;
	for (uint32_t i = 0; i < s->config->cluster->n_nodes; i++) {
		seen[i] = (struct node_seen){ gpus, NONE, 0 };
		gpus += s->config->cluster->node[i].gpus;
	}
	for (uint32_t lane = 0; lane < s->lanes; lane++) {
		uint32_t i = 0, first = lane / (size * stride) * (size * stride) + lane % stride;
		if (first != lane) {
			x.kind[lane] = x.kind[first];
			continue;
		}
		places_of(s, &x, lane, seen, mine);
		while (i < x.n && memcmp(&known[i * places], mine, places * sizeof *mine) != 0)
			i++;
		if (i == x.n) {
			known = mem_realloc(known, (x.n + 1) * places, sizeof *known);
			memcpy(&known[i * places], mine, places * sizeof *mine);
			MEM_GROW(x.first, x.n, cap);
			x.first[x.n++] = lane;
		}
		x.kind[lane] = i;
	}
	mem_free(seen);
	mem_free(mine);
	mem_free(known);
	return x;
}

/* Returns the number of the kinds of lanes, or of groups of lanes (size above 1). */
static uint32_t kinds_of(struct orr_step *s, uint32_t size, uint32_t stride)
{
	uint32_t i = 0;
	while (i < s->n_kinds && (s->kinds[i].size != size || s->kinds[i].stride != stride))
		i++;
	if (i == s->n_kinds) {
		MEM_GROW(s->kinds, s->n_kinds, s->cap_kinds);
		s->kinds[s->n_kinds++] = kinds_new(s, size, stride);
	}
	return i;
}

/* Returns the plan of a collective in a lane; NONE: the run has failed. */
static uint32_t choose(struct orr_step *s, const struct iteration *k, struct coll *c, uint32_t lane)
{
	uint32_t *real = mem_alloc(c->n * sizeof *real);
	for (uint32_t r = 0; r < c->n; r++)
		real[r] = rank_device(s, k, c, lane, r);
	struct coll_shape shape = collective_shape(s, c, real);
	for (uint32_t i = 1; i < c->n && !(*s->uses & STEP_USED_NETWORK); i++)
		*s->uses |= s->node_of[real[i]] != s->node_of[real[0]] ? STEP_USED_NETWORK : 0;
	if (shape.rings > 1)
		*s->uses |= shape.op == ORR_ALL_TO_ALL ? STEP_USED_NICS | STEP_USED_RAILS : STEP_USED_NICS;
	mem_free(real);
	return plan_find(s, &shape);
}

bool plans_choose(struct orr_step *s, struct iteration *k, struct coll *c)
{
	c->kinds = NONE;
	c->plan = choose(s, k, c, 0);
	if (c->plan != NONE && s->lanes > 1 && s->map) {
		uint32_t number = kinds_of(s, c->size ? c->size : 1, c->size ? c->stride : 1);
		const struct lane_kinds *x = &s->kinds[number];
		c->first_plan = k->n_kind_plans;
		for (uint32_t i = 0; i < x->n && x->n > 1; i++) {
			uint32_t plan = i ? choose(s, k, c, x->first[i]) : c->plan;
			if (plan == NONE)
				return false;
			if (plan != c->plan)
				c->kinds = number;
			MEM_GROW(k->kind_plan, k->n_kind_plans, k->cap_kind_plans);
			k->kind_plan[k->n_kind_plans++] = plan;
		}
		if (c->kinds == NONE)
			k->n_kind_plans = c->first_plan;
	}
	if (c->plan == NONE)
		return false;
	if (c->kinds != NONE && s->is_merged) {
		s->must_unmerge = true; /* step_run() restarts without merging */
		step_fail(s, ORR_EINPUT,
			"step.merge=on: collectives of the lanes differ in algorithm or speed: expected equal lanes, or step.merge=auto");
		return false;
	}
	const struct coll_shape *shape = &s->plan[c->plan].shape;
	c->what.algorithm = shape->leader ? ORR_HIERARCHICAL_LEADER : shape->algorithm;
	c->what.inner = shape->inner;
	return true;
}
