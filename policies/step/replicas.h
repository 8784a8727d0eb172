/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replicas.h - data-parallel replicas: every GPU computes the whole model on its own batch
 *
 * If all replicas have equal costs they are lanes (orr_step_lanes): one op represents all of them. Otherwise, or on request,
 * each is a separate device. The interface is the same: ops are created for positions 0..positions-1, and a collective joins
 * all replicas.
 *
 * The work of an iteration is cut into chunks (chunks.h), with their costs on each position's device.
 */
#ifndef ORR_POLICIES_REPLICAS_H
#define ORR_POLICIES_REPLICAS_H

#include "chunks.h"

struct replicas {
	struct orr_step_facts facts;
	uint32_t n, positions; /* number of replicas; positions is 1 (lanes) or n */
	uint32_t *device;      /* the GPU of each replica */
	struct chunks chunks;
	double *forward_s, *backward_s; /* times, [position * chunks.n + chunk] */
	orr_op *tail;                   /* op that the next iteration's forward pass waits for, by position */
};

static inline void replicas_free(struct replicas *r)
{
	orr_free(r->device);
	orr_free(r->forward_s);
	orr_free(r->backward_s);
	orr_free(r->tail);
	chunks_free(&r->chunks);
}

/* Returns the time of a forward and backward pass over the whole model, s. */
static inline double replica_cost_s(const struct orr_step *s, uint32_t device, const struct orr_step_facts *f)
{
	double sum = 0;
	for (int pass = ORR_PASS_FORWARD; pass <= ORR_PASS_BACKWARD_WEIGHT; pass++)
		sum += orr_cost(s, device, (enum orr_pass)pass, 0, f->layers, f->batch, 1);
	return sum;
}

/* Orders device[] so that neighbours are in different racks: the first GPU of each rack, the second of each, .. Quadratic in n. */
static inline void replicas_interleave_(struct replicas *r, const struct orr_step *s)
{
	uint32_t *place = orr_alloc(r->n + 1u, sizeof *place), most = 0, at = 0;
	for (uint32_t i = 0; i < r->n; i++) {
		for (uint32_t j = 0; j < i; j++)
			place[i] += orr_rack_of(s, j) == orr_rack_of(s, i);
		most = place[i] > most ? place[i] : most;
	}
	for (uint32_t p = 0; p <= most; p++)
		for (uint32_t i = 0; i < r->n; i++)
			if (place[i] == p)
				r->device[at++] = i;
	orr_free(place);
}

/* Makes replicas of GPUs 0..n-1 (n 0: all), in order or interleaved over racks. They are lanes if lanes are allowed and costs are
 * equal. */
static inline void replicas_init_ordered(struct replicas *r, struct orr_step *s, uint32_t n, bool may_be_lanes, bool is_interleaved)
{
	orr_step_facts(s, &r->facts);
	r->n = n ? n : r->facts.gpus;
	r->device = orr_alloc(r->n + 1u, sizeof *r->device);
	r->tail = orr_alloc(r->n + 1u, sizeof *r->tail);
	bool are_alike = may_be_lanes;
	for (uint32_t i = 0; i < r->n; i++) {
		r->device[i] = i;
		are_alike = are_alike && replica_cost_s(s, i, &r->facts) == replica_cost_s(s, 0, &r->facts);
	}
	if (is_interleaved)
		replicas_interleave_(r, s);
	r->positions = are_alike ? 1 : r->n;
	if (are_alike)
		orr_step_lanes(s, r->n, 1, r->device);
	orr_step_samples(s, r->facts.batch * r->n);
}

static inline void replicas_init(struct replicas *r, struct orr_step *s, uint32_t n, bool may_be_lanes)
{
	replicas_init_ordered(r, s, n, may_be_lanes, false);
}

/* Computes the costs of r->chunks. */
static inline void replicas_costs(struct replicas *r, const struct orr_step *s)
{
	size_t n = (size_t)r->positions * r->chunks.n;
	r->forward_s = orr_alloc(n + 1, sizeof *r->forward_s);
	r->backward_s = orr_alloc(n + 1, sizeof *r->backward_s);
	for (uint32_t p = 0; p < r->positions; p++)
		for (uint32_t i = 0; i < r->chunks.n; i++) {
			const struct chunk *c = &r->chunks.chunk[i];
			size_t at = (size_t)p * r->chunks.n + i;
			r->forward_s[at] = orr_cost(s, r->device[p], ORR_PASS_FORWARD, c->first, c->count, r->facts.batch, 1);
			r->backward_s[at] = orr_cost(s, r->device[p], ORR_PASS_BACKWARD_DATA, c->first, c->count, r->facts.batch, 1) +
					    orr_cost(s, r->device[p], ORR_PASS_BACKWARD_WEIGHT, c->first, c->count, r->facts.batch, 1);
		}
}

static inline orr_op replicas_backward(const struct replicas *r, struct orr_step *s, uint32_t position, uint32_t chunk)
{
	return orr_compute(s, position, ORR_BACKWARD, r->backward_s[(size_t)position * r->chunks.n + chunk]);
}

static inline orr_op replicas_forward(const struct replicas *r, struct orr_step *s, uint32_t position, uint32_t chunk)
{
	return orr_compute(s, position, ORR_FORWARD, r->forward_s[(size_t)position * r->chunks.n + chunk]);
}

/* Makes the forward pass as one op, after the tail of the previous iteration. */
static inline orr_op replicas_whole_forward(const struct replicas *r, struct orr_step *s, uint32_t position)
{
	double seconds = 0;
	for (uint32_t i = 0; i < r->chunks.n; i++)
		seconds += r->forward_s[(size_t)position * r->chunks.n + i];
	orr_op op = orr_compute(s, position, ORR_FORWARD, seconds);
	orr_after(s, op, r->tail[position]);
	return op;
}

/* Makes the backward pass, chunk by chunk from the last, after `forward`; fills in backward[chunk]. The first op reports the
 * gradient (sim/learn) at the parameters with which the forward pass began. If pulls of a policy may end between the start of the
 * forward pass and that of the backward pass, the policy states in orr_update.window the iteration from which on they apply. */
static inline void replicas_whole_backward(
	const struct replicas *r, struct orr_step *s, uint32_t position, orr_op forward, orr_op *backward)
{
	orr_op before = forward;
	for (uint32_t i = r->chunks.n; i--;) {
		backward[i] = replicas_backward(r, s, position, i);
		orr_after(s, backward[i], before);
		if (before == forward)
			orr_updates(s, backward[i], &(struct orr_update){ .kind = ORR_GRADIENT });
		before = backward[i];
	}
}

/* Makes a collective among all replicas. */
static inline orr_op replicas_collective(const struct replicas *r, struct orr_step *s, const struct orr_collective *c)
{
	if (r->positions == 1 && r->n > 1)
		return orr_collective_lanes(s, 0, r->n, 1, c);
	return orr_collective(s, &(struct orr_group){ r->device, r->n }, c);
}

/* Combines two ops into one: a mark after `all` and `op`. */
static inline orr_op and_also(struct orr_step *s, orr_op all, orr_op op)
{
	if (!all || !op)
		return all ? all : op;
	orr_op both = orr_mark(s);
	orr_after(s, both, all);
	orr_after(s, both, op);
	return both;
}

/* Returns the number of replicas per place (node or rack), if places are consecutive and have equal numbers; else 0. */
static inline uint32_t replicas_per_place_(
	const struct replicas *r, const struct orr_step *s, uint32_t (*place)(const struct orr_step *, uint32_t))
{
	uint32_t size = 1;
	while (size < r->n && place(s, r->device[size]) == place(s, r->device[0]))
		size++;
	if (r->n % size)
		return 0;
	for (uint32_t g = 1; g < r->n; g++) {
		bool is_new = place(s, r->device[g]) != place(s, r->device[g - 1]);
		if (is_new != (g % size == 0))
			return 0;
		for (uint32_t before = 0; is_new && before < g; before += size)
			if (place(s, r->device[g]) == place(s, r->device[before]))
				return 0;
	}
	return size;
}

static inline uint32_t replicas_per_node(const struct replicas *r, const struct orr_step *s)
{
	return replicas_per_place_(r, s, orr_node_of);
}

static inline uint32_t replicas_per_rack(const struct replicas *r, const struct orr_step *s)
{
	return replicas_per_place_(r, s, orr_rack_of);
}

/* Returns the bytes of activations of one batch kept from forward to backward. */
static inline double activation_bytes(const struct orr_step *s, const struct orr_step_facts *f)
{
	double elems = 0;
	for (uint32_t l = 0; l < f->layers; l++) {
		struct orr_layer_info info;
		orr_step_layer(s, l, &info);
		elems += info.saved_elems;
	}
	return elems * f->batch * f->activation_bytes;
}

/* Declares the memory of each replica. Shares are the fractions of weights, gradients and optimizer state on one device. */
static inline void replicas_hold(
	const struct replicas *r, struct orr_step *s, double weight_share, double gradient_share, double optimizer_share)
{
	const struct orr_step_facts *f = &r->facts;
	double activations = activation_bytes(s, f);
	for (uint32_t i = 0; i < r->n; i++) {
		orr_hold(s, r->device[i], ORR_MEMORY_WEIGHTS, f->params * f->weight_bytes * weight_share, "replica");
		orr_hold(s, r->device[i], ORR_MEMORY_GRADIENTS, f->params * f->gradient_bytes * gradient_share, "replica");
		orr_hold(s, r->device[i], ORR_MEMORY_OPTIMIZER, f->params * f->optimizer_bytes * optimizer_share, "replica");
		orr_hold(s, r->device[i], ORR_MEMORY_ACTIVATIONS, activations, "replica");
	}
}

#endif
