/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * chunks.h - consecutive layers merged, to keep graphs small
 *
 * A chunk is a run of layers whose gradients are sent together. Only the end of its last backward pass matters, so merging
 * its compute into one op changes no time. Invariant: chunks cover each layer once, in forward order; the backward pass
 * goes from the last chunk to the first.
 *
 * A message is the data of one collective (or push): a chunk, one of its tensors, or a part.
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
	uint32_t chunk;        /* chunk after whose backward pass the message may be sent */
	uint32_t first, count; /* layers whose gradients, or parts of them, the message carries */
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

/* Closes a chunk of the layers from `first` to the last one not yet covered. Builders work in backward order. */
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
 * Applies PyTorch DDP's rule (compute_bucket_assignment_by_size in torch/csrc/distributed/c10d/reducer.cpp, after buckets are
 * rebuilt in the order in which gradients arrive). Layers join the open bucket, which closes when it holds at least its limit;
 * the first bucket has a separate limit. Tiny limits give one chunk per layer with parameters, INFINITY one chunk of all
 * layers.
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
 * Applies Horovod's rule (RunLoopOnce and FuseResponses in horovod/common/operations.cc and controller.cc). A thread wakes
 * every cycle_s and fuses the gradients that have become ready since the last cycle, up to the limit. Ready times are those of
 * an undisturbed backward pass on `device`.
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

/* Makes one chunk per repeated block of a transformer; the layers before the blocks and those after them form separate chunks. */
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
 * The parameter tensors of a layer: matrices (or filters), and the rest, such as biases or the scale and shift of a
 * normalisation. Several matrices of one layer (query, key, value) have equal sizes.
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
