/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fully sharded data parallelism by PyTorch's rules (Zhao et al., "PyTorch FSDP: Experiences on Scaling Fully Sharded Data
 * Parallel", PVLDB 16(12), 2023; torch/distributed/fsdp). Parameters, gradients and optimizer state are sharded unit by unit.
 *
 *	forward    gather the unit, compute it, free it (reshard_after_forward)
 *	backward   gather the unit again, compute its gradients, free it, reduce-scatter the gradients
 *
 * The passes of an iteration are places 0..2n-1: forward of units 0 to n-1, backward of n-1 to 0. The gather for place g may start
 * once the pass of place g - 1 - prefetch has ended (FSDP's rate limiter and the streams of FSDP2 give prefetch=1). No gather for
 * the backward pass starts before the forward pass has ended: until then autograd has not begun, and the last unit is in use.
 *
 * All collectives of a shard group use one communicator, so they run one at a time in the order in which they are issued. Before
 * the pass of place p is issued: the gather for place p + prefetch. After a backward pass: its reduce-scatter. With
 * backward_prefetch=post the next gather is issued between a backward pass and its reduce-scatter, with none after both.
 *
 * shard below the number of GPUs is hybrid sharding: groups of `shard` GPUs each hold the model, and an all-reduce of the shards
 * of the gradients over the groups follows each reduce-scatter, on a separate communicator.
 */
#include "replicas.h"

#include <stdio.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_INT("prefetch", "1", 0, 1000,
						   "units gathered in advance; 0: a gather starts when its unit is needed"),
	ORR_PARAM_CHOICE("backward_prefetch", "pre", "pre|post|none",
		"backward: start of the gather of the next units: `prefetch` units ahead; after a backward pass, before its "
		"reduce-scatter; or after both"),
	ORR_PARAM_CHOICE("reshard", "always", "always|not-last|never",
		"units freed after their forward pass and gathered again for the backward pass: all, all but the last one, none"),
	ORR_PARAM_REAL("unit_params", "0", 0, 1e15,
		"minimum number of parameters of a unit; 0: a unit is a transformer block (without blocks: a layer with parameters)"),
	ORR_PARAM_INT("shard", "0", 0, 1000000, "neighbouring GPUs of a shard group; 0: all GPUs"),
	ORR_PARAM_REAL("reduce_bytes", "0", 0, 8, "bytes per element of gradients in reduce-scatter and all-reduce; 0: as in backward"),
	ORR_PARAM_END };

enum backward_prefetch { PRE, POST, NONE };

struct fsdp {
	struct replicas r;
	uint32_t units, shard, prefetch;
	enum backward_prefetch backward;
	uint32_t kept; /* number of the last units that are not freed after the forward pass */
	double reduce_bytes;
	orr_op *pass, *gather; /* [position * 2 * units + place] */
	orr_op *reduced;       /* last collective of a unit's gradients, [position * units + unit] */
};

static void destroy(void *self)
{
	struct fsdp *z = self;
	replicas_free(&z->r);
	orr_free(z->pass);
	orr_free(z->gather);
	orr_free(z->reduced);
	orr_free(z);
}

static void make_units(struct fsdp *z, struct orr_step *s, double unit_params)
{
	struct replicas *r = &z->r;
	if (unit_params == 0 && r->facts.blocks > 0)
		chunks_by_block(&r->chunks, s);
	else
		chunks_by_params(&r->chunks, s, unit_params > 0 ? unit_params : 1e-9, unit_params > 0 ? unit_params : 1e-9);
	replicas_costs(r, s);
	z->units = r->chunks.n;
	z->pass = orr_alloc((size_t)r->positions * z->units * 2 + 1, sizeof *z->pass);
	z->gather = orr_alloc((size_t)r->positions * z->units * 2 + 1, sizeof *z->gather);
	z->reduced = orr_alloc((size_t)r->positions * z->units + 1, sizeof *z->reduced);
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct fsdp *z = orr_alloc(1, sizeof *z);
	const char *reshard = orr_arg_text(args, "reshard"), *backward = orr_arg_text(args, "backward_prefetch");
	replicas_init(&z->r, s, 0, true);
	make_units(z, s, orr_arg_real(args, "unit_params"));
	z->prefetch = (uint32_t)orr_arg_int(args, "prefetch");
	z->backward = !strcmp(backward, "pre") ? PRE : !strcmp(backward, "post") ? POST : NONE;
	z->kept = !strcmp(reshard, "always") ? 0 : !strcmp(reshard, "never") ? z->units : 1;
	z->reduce_bytes = orr_arg_real(args, "reduce_bytes") > 0 ? orr_arg_real(args, "reduce_bytes") : z->r.facts.gradient_bytes;
	z->shard = orr_arg_int(args, "shard") > 0 ? (uint32_t)orr_arg_int(args, "shard") : z->r.n;
	if (z->shard > z->r.n || z->r.n % z->shard) {
		orr_fail(err, ORR_EINPUT, "shard=%u: expected a divisor of the number of GPUs, %u", z->shard, z->r.n);
		destroy(z);
		return NULL;
	}
	replicas_hold(&z->r, s, 1.0 / z->shard, 1.0 / z->shard, 1.0 / z->shard);
	return z;
}

/* ---- places ---- */

static uint32_t unit_of(const struct fsdp *z, uint32_t place)
{
	return place < z->units ? place : 2 * z->units - 1 - place;
}

static orr_op *at(const struct fsdp *z, orr_op *of, uint32_t position, uint32_t place)
{
	return &of[(size_t)position * 2 * z->units + place];
}

static bool is_kept(const struct fsdp *z, uint32_t unit)
{
	return unit + z->kept >= z->units;
}

/* Order in which collectives are issued: by place; at a place gathers before the pass, gathers after it, then sums. */
enum { BEFORE_PASS, AFTER_PASS, SUM, ISSUES };

/* Returns the place before whose pass the gather for `place` is issued. It may start when the pass before has ended; 0: at once. */
static uint32_t issue_place(const struct fsdp *z, uint32_t place)
{
	uint32_t ahead = place >= z->units && z->backward != PRE ? 0 : z->prefetch, first = place > ahead ? place - ahead : 0;
	return place >= z->units && first < z->units ? z->units : first;
}

static int32_t issue_of(const struct fsdp *z, uint32_t place)
{
	if (place > z->units && z->backward == POST)
		return (int32_t)((place - 1) * ISSUES + AFTER_PASS);
	return (int32_t)(issue_place(z, place) * ISSUES + BEFORE_PASS);
}

/* ---- collectives ---- */

/* Makes a collective among the `size` replicas at distance `stride` to which position p belongs, unless its first member made it.
 * of[p] receives the op. */
static bool collective(const struct fsdp *z, struct orr_step *s, uint32_t p, uint32_t size, uint32_t stride,
	const struct orr_collective *what, orr_op *of, size_t step)
{
	const struct replicas *r = &z->r;
	if (size == 1) {
		of[p * step] = orr_mark(s);
		return true;
	}
	if (r->positions == 1) {
		of[0] = orr_collective_lanes(s, 0, size, stride, what);
		return true;
	}
	uint32_t first = p - p / stride % size * stride;
	if (first != p) {
		of[p * step] = of[first * step];
		return false;
	}
	uint32_t *member = orr_alloc(size, sizeof *member);
	for (uint32_t i = 0; i < size; i++)
		member[i] = r->device[first + i * stride];
	of[p * step] = orr_collective(s, &(struct orr_group){ member, size }, what);
	orr_free(member);
	return true;
}

/* Declares that a replica allocates memory when `from` starts and frees it when `to` ends. */
static void borrow(const struct fsdp *z, struct orr_step *s, orr_op from, orr_op to, uint32_t position, double bytes)
{
	if (z->shard == 1 || bytes <= 0)
		return; /* memory held during the whole run */
	orr_takes(s, from, position, bytes);
	orr_gives(s, to, position, bytes);
}

static void gather(struct fsdp *z, struct orr_step *s, uint32_t place)
{
	const struct replicas *r = &z->r;
	const struct chunk *c = &r->chunks.chunk[unit_of(z, place)];
	struct orr_collective what = { .op = ORR_ALL_GATHER, .bytes = c->params * r->facts.weight_bytes };
	uint32_t size = c->params > 0 ? z->shard : 1, after = issue_place(z, place);
	for (uint32_t p = 0; p < r->positions; p++) {
		orr_op *g = at(z, z->gather, p, place);
		if (place >= z->units && is_kept(z, unit_of(z, place))) {
			*g = *at(z, z->gather, p, unit_of(z, place));
			continue;
		}
		if (collective(z, s, p, size, 1, &what, z->gather + place, 2 * (size_t)z->units) && size > 1) {
			orr_on_stream(s, *g, 1);
			orr_priority(s, *g, issue_of(z, place));
			orr_label(s, *g, "gather unit %u", unit_of(z, place));
		}
		orr_after(s, *g, after ? *at(z, z->pass, p, after - 1) : r->tail[p]);
	}
}

/* Returns the unit whose gradients are reduced last. */
static uint32_t last_reduced(const struct fsdp *z)
{
	uint32_t u = 0;
	while (u + 1 < z->units && z->r.chunks.chunk[u].params <= 0)
		u++;
	return u;
}

/* The sum of the last gradients is the average of all (sim/learn): over the shard group, then over the groups. */
static void averages(struct orr_step *s, orr_op sum, bool is_last)
{
	if (is_last)
		orr_updates(s, sum, &(struct orr_update){ .kind = ORR_AVERAGE_GRADIENTS });
}

/* Reduce-scatters the gradients of the unit of a backward pass, and sums the shards over the groups. */
static void reduce(struct fsdp *z, struct orr_step *s, uint32_t place)
{
	const struct replicas *r = &z->r;
	uint32_t unit = unit_of(z, place);
	const struct chunk *c = &r->chunks.chunk[unit];
	struct orr_collective what = {
		.op = ORR_REDUCE_SCATTER, .bytes = c->params * z->reduce_bytes, .first_layer = c->first, .n_layers = c->count
	};
	struct orr_collective over = { .op = ORR_ALL_REDUCE, .bytes = c->params * z->reduce_bytes / z->shard };
	uint32_t size = c->params > 0 ? z->shard : 1, groups = c->params > 0 ? r->n / z->shard : 1;
	bool is_last = unit == last_reduced(z);
	for (uint32_t p = 0; p < r->positions; p++) {
		orr_op *sum = &z->reduced[(size_t)p * z->units + unit];
		if (collective(z, s, p, size, 1, &what, z->reduced + unit, z->units) && size > 1) {
			orr_on_stream(s, *sum, 1);
			orr_priority(s, *sum, (int32_t)(place * ISSUES + SUM));
			orr_label(s, *sum, "reduce-scatter unit %u", unit);
			averages(s, *sum, is_last);
		}
		orr_after(s, *sum, *at(z, z->pass, p, place));
		borrow(z, s, *at(z, z->pass, p, place), *sum, p, c->params * r->facts.gradient_bytes);
	}
	if (groups == 1)
		return;
	orr_op *scattered = orr_alloc(r->positions, sizeof *scattered);
	for (uint32_t p = 0; p < r->positions; p++)
		scattered[p] = z->reduced[(size_t)p * z->units + unit];
	for (uint32_t p = 0; p < r->positions; p++) {
		orr_op *sum = &z->reduced[(size_t)p * z->units + unit];
		if (collective(z, s, p, groups, z->shard, &over, z->reduced + unit, z->units)) {
			orr_on_stream(s, *sum, 2);
			orr_priority(s, *sum, (int32_t)place);
			orr_label(s, *sum, "all-reduce unit %u", unit);
			averages(s, *sum, is_last);
		}
		orr_after(s, *sum, scattered[p]);
	}
	orr_free(scattered);
}

/* ---- the iteration ---- */

static void pass(struct fsdp *z, struct orr_step *s, uint32_t place)
{
	const struct replicas *r = &z->r;
	bool is_backward = place >= z->units;
	uint32_t unit = unit_of(z, place);
	for (uint32_t p = 0; p < r->positions; p++) {
		orr_op *x = at(z, z->pass, p, place);
		*x = is_backward ? replicas_backward(r, s, p, unit) : replicas_forward(r, s, p, unit);
		orr_after(s, *x, place ? x[-1] : r->tail[p]);
		orr_after(s, *x, *at(z, z->gather, p, place));
		if (place == z->units)
			orr_updates(s, *x, &(struct orr_update){ .kind = ORR_GRADIENT });
		if (is_backward || !is_kept(z, unit))
			borrow(z, s, *at(z, z->gather, p, place), *x, p, r->chunks.chunk[unit].params * r->facts.weight_bytes);
	}
}

static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	struct fsdp *z = self;
	struct replicas *r = &z->r;
	(void)iteration, (void)err;
	for (uint32_t place = 0; place < 2 * z->units; place++) {
		gather(z, s, place);
		pass(z, s, place);
		if (place >= z->units)
			reduce(z, s, place);
	}
	for (uint32_t p = 0; p < r->positions; p++) {
		orr_op update = orr_compute(s, p, ORR_OPTIMIZER, orr_update_cost(s, r->device[p], r->facts.params / z->shard));
		for (uint32_t u = 0; u < z->units; u++)
			orr_after(s, update, z->reduced[(size_t)p * z->units + u]);
		orr_updates(s, update, &(struct orr_update){ .kind = ORR_LOCAL_UPDATE });
		r->tail[p] = update;
	}
	return 0;
}

static void describe(void *self, char *out, size_t size)
{
	const struct fsdp *z = self;
	snprintf(out, size, "%u units, shards of %u GPUs, %u groups", z->units, z->shard, z->r.n / z->shard);
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe };

ORR_POLICY_STEP(fsdp, "fully sharded data parallelism with prefetched gathers (PyTorch FSDP)", params, ops);
