/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prefix sums over the chain of pieces (chain.h). */
#include "chain.h"

#include <math.h>
#include <string.h>

void chain_load(struct chain *c, const struct orr_plan *p, uint32_t type, double samples)
{
	struct orr_plan_facts f;
	struct orr_plan_terms t = { .samples = samples, .shards = 1 };
	orr_plan_facts(p, &f);
	*c = (struct chain){ .n = f.pieces };
	c->forward_s = orr_alloc(c->n + 1, sizeof *c->forward_s);
	c->backward_s = orr_alloc(c->n + 1, sizeof *c->backward_s);
	c->grad_bytes = orr_alloc(c->n + 1, sizeof *c->grad_bytes);
	c->out_bytes = orr_alloc(c->n + 1, sizeof *c->out_bytes);
	for (uint32_t i = 0; i < c->n; i++) {
		struct orr_plan_cost cost;
		struct orr_plan_piece piece;
		orr_plan_cost(p, type, i, 1, &t, &cost);
		orr_plan_piece(p, i, &piece);
		c->forward_s[i + 1] = c->forward_s[i] + cost.forward_s / samples;
		c->backward_s[i + 1] = c->backward_s[i] + cost.backward_s / samples;
		c->grad_bytes[i + 1] = c->grad_bytes[i] + piece.params * f.gradient_bytes;
		c->out_bytes[i] = piece.out_bytes;
	}
}

void chain_free(struct chain *c)
{
	orr_free(c->forward_s);
	orr_free(c->backward_s);
	orr_free(c->grad_bytes);
	orr_free(c->out_bytes);
	*c = (struct chain){ 0 };
}

uint32_t chain_micro_batches(const struct orr_plan_facts *f, double **out)
{
	uint32_t n = 0, cap = 0;
	*out = NULL;
	if (f->micro_batch > 0) {
		*out = orr_alloc(1, sizeof **out);
		(*out)[0] = f->micro_batch;
		return 1;
	}
	for (double m = 1; m <= f->global_batch; m++)
		if (fmod(f->global_batch, m) <= 0) {
			ORR_GROW(*out, n, cap);
			(*out)[n++] = f->global_batch / m;
		}
	return n;
}

/* Computes best[j]: the minimum, over the cuts of pieces 0..j-1 into stages 0..k, of the longest stage's time. */
static void cut_stage(const double *before, const double *at, double scale, uint32_t k, uint32_t pieces, double *best, uint32_t *from)
{
	for (uint32_t j = 0; j <= pieces; j++) {
		best[j] = INFINITY;
		for (uint32_t i = k; i < j; i++) {
			double longest = fmax(before[i], (at[j] - at[i]) * scale);
			if (longest < best[j]) {
				best[j] = longest;
				from[j] = i;
			}
		}
	}
}

void chain_cut(uint32_t pieces, uint32_t n, const double *const *at, const double *scale, uint32_t *first)
{
	double *before = orr_alloc(pieces + 1, sizeof *before), *best = orr_alloc(pieces + 1, sizeof *best);
	uint32_t *from = orr_alloc((size_t)n * (pieces + 1), sizeof *from);
	for (uint32_t j = 0; j <= pieces; j++)
		before[j] = j ? at[0][j] * scale[0] : 0;
	for (uint32_t k = 1; k < n; k++) {
		cut_stage(before, at[k], scale[k], k, pieces, best, from + (size_t)k * (pieces + 1));
		memcpy(before, best, (pieces + 1) * sizeof *before);
	}
	first[n] = pieces;
	for (uint32_t k = n; k-- > 1;)
		first[k] = from[(size_t)k * (pieces + 1) + first[k + 1]];
	first[0] = 0;
	orr_free(before);
	orr_free(best);
	orr_free(from);
}
