/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * speculation.h - closed forms of speculative decoding
 *
 * A draft proposes g tokens; the target checks them in one pass, keeps the accepted ones before the first rejected one, and adds one token.
 * Draft token i is accepted with probability a_i if all before it are (Leviathan, Kalman, Matias, ICML 2023, arXiv 2211.17192). Rates
 * beyond the last one given equal the last. docs/models/serve-speculation.md.
 */
#ifndef ORR_HWMODEL_SPECULATION_H
#define ORR_HWMODEL_SPECULATION_H

#include "hwmodel/served.h"

enum { SPECULATION_MOST = 64 }; /* largest number of draft tokens */

struct acceptance {
	double rate[SPECULATION_MOST]; /* a_1, a_2, .. */
	uint32_t n;                    /* at least 1 */
};

static inline double acceptance_rate(const struct acceptance *a, uint32_t i)
{
	return a->rate[i < a->n ? i : a->n - 1];
}

/* Returns the probability that a pass with g draft tokens gives j tokens, 1 <= j <= g + 1. */
double speculation_chance(const struct acceptance *a, uint32_t g, uint32_t j);
/* Returns the mean number of tokens of a pass: 1 + a_1 + a_1 a_2 + .., g + 1 terms. */
double speculation_tokens(const struct acceptance *a, uint32_t g);
/* Returns the mean number of passes for exactly n tokens; tokens beyond n are dropped. */
double speculation_passes(const struct acceptance *a, uint32_t g, uint32_t n);
/* Returns how many times faster than plain decoding: the mean of tokens / (g cost + 1), if a check takes one plain pass, and a draft pass
 * `cost` of it. */
double speculation_speedup(const struct acceptance *a, uint32_t g, double cost);
/* Returns the g of 0 .. most with the largest speed-up, the smallest on ties. */
uint32_t speculation_best(const struct acceptance *a, uint32_t most, double cost);
/* Returns the operations per token as a multiple of those of plain decoding; cost: operations of a draft pass / of a plain pass per token.
 */
double speculation_operations(const struct acceptance *a, uint32_t g, double cost);
/* Returns the mean number of tokens of a pass that checks b independent guesses of g tokens (lookahead decoding, Fu et al., ICML 2024),
 * with one rate. */
double speculation_lookahead(double rate, uint32_t g, uint32_t b);

/* Returns the seconds of an iteration of the load with g drafts for each decode: g draft passes, each `cost` of a plain iteration of the
 * decodes alone, and the pass that checks. check: tokens of a decode that this pass computes; 0: g + 1. */
double speculation_s(struct served_on *x, const struct llm_load *load, uint32_t g, uint32_t check, double cost);
/* Returns the g of 0 .. most with the most expected tokens of decodes per second, the smallest on ties. */
uint32_t speculation_best_for(
	struct served_on *x, const struct llm_load *load, const struct acceptance *a, uint32_t most, uint32_t check, double cost);

#endif
