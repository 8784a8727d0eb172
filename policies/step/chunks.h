/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * chunks.h - consecutive layers merged, so that graphs stay small
 *
 * A chunk is a run of layers that nothing in the graph tells apart: their gradients are sent
 * together, so that only the end of the last backward pass among them matters, and merging
 * their compute into one op changes no time. Invariant: chunks cover the layers once, in the
 * order of the forward pass; the backward pass meets them from the last to the first.
 *
 * A message is what one collective (or push) carries: a chunk, a tensor of it, or a part.
 */
#ifndef ORR_POLICIES_CHUNKS_H
#define ORR_POLICIES_CHUNKS_H

#include <orrery/step.h>

#include <math.h>

struct chunk {
	uint32_t first, count; /* layers */
	double params;
};

struct message {
	uint32_t chunk;        /* after whose backward pass it may go */
	uint32_t first, count; /* the layers whose gradients it carries, or carries a part of */
	double params;
};

struct chunks {
	struct chunk *chunk;
	uint32_t n;
};

static inline void chunks_free(struct chunks *c)
{
	orr_free(c->chunk);
	c->chunk = NULL;
}

/* For builders, who work in the order of the backward pass: layers from `first` to the last one not yet covered. */
static inline void chunks_close_(struct chunks *c, const struct orr_step *s, uint32_t first, uint32_t *covered_from)
{
	if (first == *covered_from)
		return;
	uint32_t count = *covered_from - first;
	c->chunk[c->n++] = (struct chunk){ first, count, orr_step_params(s, first, count) };
	*covered_from = first;
}

static inline void chunks_forward_order_(struct chunks *c)
{
	for (uint32_t i = 0; i < c->n / 2; i++) {
		struct chunk t = c->chunk[i];
		c->chunk[i] = c->chunk[c->n - 1 - i];
		c->chunk[c->n - 1 - i] = t;
	}
}

static inline void chunks_room_(struct chunks *c, const struct orr_step *s, uint32_t *layers)
{
	struct orr_step_facts f;
	orr_step_facts(s, &f);
	*layers = f.layers;
	c->n = 0;
	c->chunk = orr_alloc(f.layers + 1u, sizeof *c->chunk);
}

/*
 * PyTorch DDP's rule (compute_bucket_assignment_by_size in torch/csrc/distributed/c10d/reducer.cpp, after the
 * buckets have been rebuilt in the order in which gradients arrive): layers join the bucket that is open, which
 * closes once it holds at least its limit; the first bucket has a limit of its own. Tiny limits make a chunk of each
 * layer with parameters, INFINITY one of all layers.
 */
static inline void chunks_by_params(struct chunks *c, const struct orr_step *s, double first_limit, double limit)
{
	uint32_t layers;
	chunks_room_(c, s, &layers);
	double held = 0;
	for (uint32_t l = layers, from = layers; l--;) {
		held += orr_step_params(s, l, 1);
		if (held > 0 && (held >= (c->n ? limit : first_limit) || l == 0)) {
			chunks_close_(c, s, l, &from);
			held = 0;
		} else if (l == 0) {
			chunks_close_(c, s, l, &from);
		}
	}
	chunks_forward_order_(c);
}

/*
 * Horovod's rule (RunLoopOnce and FuseResponses in horovod/common/operations.cc and controller.cc): a thread wakes
 * every cycle_s and takes the gradients that became ready since, fused as long as they stay within the limit. Ready
 * times are those of an undisturbed backward pass on `device`.
 */
static inline void chunks_by_cycle(struct chunks *c, const struct orr_step *s, uint32_t device, double batch, double cycle_s, double limit)
{
	uint32_t layers;
	chunks_room_(c, s, &layers);
	double held = 0, ready_s = 0, wakes_s = cycle_s;
	uint32_t from = layers;
	for (uint32_t l = layers; l--;) {
		double params = orr_step_params(s, l, 1);
		ready_s += orr_cost(s, device, ORR_PASS_BACKWARD_DATA, l, 1, batch, 1) +
			   orr_cost(s, device, ORR_PASS_BACKWARD_WEIGHT, l, 1, batch, 1);
		if (held > 0 && params > 0 && (ready_s > wakes_s || held + params > limit)) {
			chunks_close_(c, s, l + 1, &from);
			held = 0;
		}
		if (ready_s > wakes_s && cycle_s > 0)
			wakes_s = ceil(ready_s / cycle_s) * cycle_s;
		held += params;
	}
	chunks_close_(c, s, 0, &from);
	chunks_forward_order_(c);
}

/* One chunk for each repeated block of a transformer, what stands before and after it apart. */
static inline void chunks_by_block(struct chunks *c, const struct orr_step *s)
{
	uint32_t layers, from, block = UINT32_MAX;
	chunks_room_(c, s, &layers);
	from = layers;
	for (uint32_t l = layers; l--;) {
		struct orr_layer_info info;
		orr_step_layer(s, l, &info);
		if (info.block != block)
			chunks_close_(c, s, l + 1, &from);
		block = info.block;
	}
	chunks_close_(c, s, 0, &from);
	chunks_forward_order_(c);
}

/*
 * The parameter tensors of a layer: matrices (or filters), and the rest, their biases; scale and shift of a
 * normalisation. Of several matrices in one layer (query, key, value) each counts alike.
 */
struct layer_tensors {
	double matrix, rest; /* parameters of one */
	uint32_t matrices, rests;
};

static inline struct layer_tensors layer_tensors(const struct orr_layer_info *l)
{
	uint32_t n = l->params > 0 ? (uint32_t)fmax(1, l->tensors) : 0;
	double matrix = l->kind == ORR_LAYER_NORM ? l->params / 2 : l->rows * l->columns;
	if (!n)
		return (struct layer_tensors){ 0 };
	if (n == 1 || matrix <= 0 || matrix >= l->params)
		return (struct layer_tensors){ .matrix = l->params / n, .matrices = n };
	struct layer_tensors t = { .matrices = n - n / 2, .rests = n / 2 };
	t.matrix = matrix / t.matrices;
	t.rest = (l->params - matrix) / t.rests;
	return t;
}

#endif
