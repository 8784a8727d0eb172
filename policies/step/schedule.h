/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * schedule.h - the order of forward and backward passes on a pipeline stage
 *
 * A schedule lists the passes of one stage. They run strictly in that order, each as soon as its input has arrived.
 * Invariant: every micro-batch of every chunk (part of the model on the stage) has one forward and, later, one backward.
 *
 * Sources: GPipe, Huang et al., NeurIPS 2019, fig. 2c; 1F1B, Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN
 * Training", ICML 2021 (PipeDream-flush); interleaved 1F1B, Narayanan et al., SC 2021, 2.2, and the code of Megatron-LM;
 * early backward with K forward passes first, DAPPLE, Fan et al., PPoPP 2021, 3.2.
 */
#ifndef ORR_POLICIES_STEP_SCHEDULE_H
#define ORR_POLICIES_STEP_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pass {
	bool is_backward;
	uint32_t chunk, micro;
};

enum schedule_kind { SCHEDULE_GPIPE, SCHEDULE_1F1B, SCHEDULE_INTERLEAVED };

static inline uint32_t schedule_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Writes all forward passes, then all backward passes, last micro-batch first. out must have room for 2 m passes. */
static inline void schedule_gpipe(struct pass *out, uint32_t m)
{
	for (uint32_t i = 0; i < m; i++) {
		out[i] = (struct pass){ false, 0, i };
		out[m + i] = (struct pass){ true, 0, m - 1 - i };
	}
}

/* Writes k forward passes, then alternately one backward and one forward pass: at most k micro-batches are in flight. */
static inline void schedule_early_backward(struct pass *out, uint32_t m, uint32_t k)
{
	size_t n = 0;
	k = schedule_min(k ? k : 1, m);
	for (uint32_t i = 0; i < k; i++)
		out[n++] = (struct pass){ false, 0, i };
	for (uint32_t i = 0; i < m; i++) {
		out[n++] = (struct pass){ true, 0, i };
		if (k + i < m)
			out[n++] = (struct pass){ false, 0, k + i };
	}
}

/* Returns the i-th forward (or backward) pass of a stage with v chunks. Micro-batches are in groups of p; each group passes through
 * one chunk after the other. */
static inline struct pass schedule_virtual(uint32_t i, uint32_t p, uint32_t v, bool is_backward)
{
	uint32_t group = i / (p * v), in_group = i % (p * v), chunk = in_group / p;
	return (struct pass){ is_backward, is_backward ? v - 1 - chunk : chunk, group * p + in_group % p };
}

/* Writes interleaved 1F1B; m must be a multiple of p. out must have room for 2 m v passes. */
static inline void schedule_interleaved(struct pass *out, uint32_t m, uint32_t p, uint32_t v, uint32_t stage)
{
	uint32_t total = m * v, n = 0;
	uint32_t warmup = schedule_min(total, 2 * (p - stage - 1) + (v - 1) * p);
	if (m == p) /* as in Megatron-LM: without a steady state there is no memory to save */
		warmup = total;
	for (uint32_t i = 0; i < warmup; i++)
		out[n++] = schedule_virtual(i, p, v, false);
	for (uint32_t i = 0; i < total; i++) {
		if (warmup + i < total)
			out[n++] = schedule_virtual(warmup + i, p, v, false);
		out[n++] = schedule_virtual(i, p, v, true);
	}
}

/* Writes the 2 m v passes of a stage of p. v is 1 except for SCHEDULE_INTERLEAVED. */
static inline void schedule_make(enum schedule_kind kind, struct pass *out, uint32_t m, uint32_t p, uint32_t v, uint32_t stage)
{
	if (kind == SCHEDULE_GPIPE)
		schedule_gpipe(out, m);
	else if (kind == SCHEDULE_1F1B || v == 1)
		schedule_early_backward(out, m, p - stage);
	else
		schedule_interleaved(out, m, p, v, stage);
}

/* Returns the largest number of micro-batches (per chunk) between forward and backward at any time. */
static inline uint32_t schedule_in_flight(const struct pass *order, size_t n)
{
	uint32_t now = 0, most = 0;
	for (size_t i = 0; i < n; i++) {
		now += order[i].is_backward ? UINT32_MAX : 1;
		most = now > most ? now : most;
	}
	return most;
}

#endif
