/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The steps of a collective's chunk (docs/models/step-traces.md).
 *
 *	ring              all-gather, reduce-scatter: n - 1 steps; all-reduce: 2 (n - 1); all-to-all: n (n - 1) / 2
 *	direct            one step with messages to all others; all-reduce: two
 *	halving-doubling  log2 n steps with one partner each; all-reduce: 2 log2 n
 */
#include "step/replay_state.h"

#include <math.h>

static uint32_t log2_of(uint32_t n)
{
	uint32_t k = 0;
	while (n >> (k + 1))
		k++;
	return k;
}

static uint64_t steps_of(const struct replay_plan *p)
{
	uint64_t n = p->n, rounds = p->op == ASTRA_ALL_REDUCE ? 2 : 1;
	switch (p->algorithm) {
	case ASTRA_DIRECT:
		return n > 1 ? rounds : 0;
	case ASTRA_HALVING_DOUBLING:
		return rounds * log2_of(p->n);
	default:
		return p->op == ASTRA_ALL_TO_ALL ? n * (n - 1) / 2 : rounds * (n - 1);
	}
}

const char *replay_plan_new(const struct replay_config *c, enum astra_collective op, uint64_t bytes, uint32_t n, struct replay_plan *out)
{
	uint32_t splits = c->system->splits;
	*out = (struct replay_plan){ .c = c, .op = op, .algorithm = c->system->algorithm[op], .n = n, .bytes = bytes };
	if (out->algorithm == ASTRA_HALVING_DOUBLING && n & (n - 1))
		return "halvingDoubling: expected a group whose size is a power of two";
	if (out->algorithm == ASTRA_HALVING_DOUBLING && op == ASTRA_ALL_TO_ALL)
		return "all-to-all-implementation: expected ring or direct";
	uint64_t steps = steps_of(out);
	if (steps > UINT32_MAX / 2)
		return "the algorithm has more than 2^31 steps: expected a smaller group";
	out->steps = (uint32_t)steps;
	/* A remainder adds one chunk. Fewer bytes than splits are one chunk. */
	out->chunk_bytes = bytes / splits ? bytes / splits : bytes;
	out->chunks = out->chunk_bytes ? (uint32_t)((bytes + out->chunk_bytes - 1) / out->chunk_bytes) : 1;
	return NULL;
}

static int64_t reduction_ns(const struct replay_plan *p, uint64_t bytes)
{
	return 3 * (int64_t)floor((double)bytes / p->c->system->memory_bytes_per_s * 1e9);
}

/* Halving in the first half of an all-reduce and in a reduce-scatter, doubling in the second half and in an all-gather. */
static struct replay_step halving_doubling(const struct replay_plan *p, uint64_t chunk, uint32_t step)
{
	uint32_t l = log2_of(p->n);
	bool is_halving = p->op == ASTRA_REDUCE_SCATTER || (p->op == ASTRA_ALL_REDUCE && step < l);
	uint32_t k = step % l;
	struct replay_step s = { .peers = 1, .distance = is_halving ? 1u << k : p->n >> (k + 1) };
	if (is_halving)
		s.bytes = chunk >> (k + 1);
	else
		s.bytes = p->op == ASTRA_ALL_GATHER ? chunk << k : (chunk / p->n) << k;
	if (is_halving && k + 1 < l)
		s.reduce_ns = reduction_ns(p, chunk >> (k + 2));
	return s;
}

struct replay_step replay_plan_step(const struct replay_plan *p, uint32_t chunk, uint32_t step)
{
	uint64_t bytes = chunk + 1 < p->chunks ? p->chunk_bytes : p->bytes - (uint64_t)(p->chunks - 1) * p->chunk_bytes;
	if (p->algorithm == ASTRA_HALVING_DOUBLING)
		return halving_doubling(p, bytes, step);
	bool is_direct = p->algorithm == ASTRA_DIRECT;
	struct replay_step s = { .bytes = p->op == ASTRA_ALL_GATHER ? bytes : bytes / p->n, .peers = is_direct ? p->n - 1 : 1 };
	uint32_t reducing = is_direct ? 1 : p->n - 1;
	if (p->op == ASTRA_REDUCE_SCATTER || (p->op == ASTRA_ALL_REDUCE && step < reducing))
		s.reduce_ns = reduction_ns(p, s.bytes);
	return s;
}

uint32_t replay_plan_peer(const struct replay_plan *p, const struct replay_step *s, uint32_t i, uint32_t which)
{
	if (p->algorithm == ASTRA_HALVING_DOUBLING)
		return i ^ s->distance;
	return (uint32_t)(((uint64_t)i + 1 + which) % p->n);
}
