/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * chain.h - the model as a chain of pieces, with prefix sums, for plan policies
 *
 * Times are seconds of one sample on one GPU, bytes of one sample. Entry i of a prefix sum counts pieces 0..i-1.
 */
#ifndef ORR_POLICIES_PLAN_CHAIN_H
#define ORR_POLICIES_PLAN_CHAIN_H

#include <orrery/plan.h>

struct chain {
	uint32_t n;
	double *forward_s, *backward_s; /* prefix sums */
	double *grad_bytes;             /* prefix sum: bytes of gradients, independent of the number of samples */
	double *out_bytes;              /* bytes of the output of each piece */
};

/* Loads the times of a GPU type, measured at `samples` per micro-batch and divided by this number. */
void chain_load(struct chain *c, const struct orr_plan *p, uint32_t type, double samples);
void chain_free(struct chain *c);
static inline double chain_time_s(const struct chain *c, uint32_t from, uint32_t to)
{
	return c->forward_s[to] - c->forward_s[from] + (c->backward_s[to] - c->backward_s[from]);
}

/* Lists the micro-batches to try, the largest first: the given one, or every integer that divides the global batch; none if the
 * global batch is not an integer. The caller frees *out. */
uint32_t chain_micro_batches(const struct orr_plan_facts *f, double **out);

/* Cuts pieces into n stages so that the longest stage is as short as possible; first[0..n]. Time of pieces from..to-1 on stage k:
 * (at[k][to] - at[k][from]) * scale[k]. */
void chain_cut(uint32_t pieces, uint32_t n, const double *const *at, const double *scale, uint32_t *first);

#endif
