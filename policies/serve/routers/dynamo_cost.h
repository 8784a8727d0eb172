/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dynamo_cost.h - the cost of a worker under NVIDIA Dynamo's KV router, and the choice by temperature (read in its source and docs) */
#ifndef ORR_ROUTERS_DYNAMO_COST_H
#define ORR_ROUTERS_DYNAMO_COST_H

#include <math.h>
#include <stdint.h>

struct dynamo_load {
	double active_tokens; /* prompt tokens of requests in prefill on the worker, each without the part that was cached when it was
				 routed */
	double active_blocks; /* distinct blocks of active requests */
	double overlap;       /* blocks of the new request in the worker's cache */
	double active_own;    /* blocks of the new request among the active ones */
};

/* Returns weight x prefill blocks (a real number) + decode blocks; the lowest cost wins. tokens, blocks: of the new request's prompt; only
 * full blocks count. */
static inline double dynamo_cost(const struct dynamo_load *x, double weight, double tokens, double blocks, double block_tokens)
{
	double prefill = (x->active_tokens + tokens - x->overlap * block_tokens) / block_tokens;
	return weight * prefill + (x->active_blocks + blocks - x->active_own);
}

/* Fills in the probability of each of n costs at a temperature above 0: proportional to exp(-(cost - min) / ((max - min) T)). */
static inline void dynamo_chances(const double *cost, uint32_t n, double temperature, double *chance)
{
	double least = INFINITY, most = -INFINITY, sum = 0;
	for (uint32_t i = 0; i < n; i++) {
		least = fmin(least, cost[i]);
		most = fmax(most, cost[i]);
	}
	for (uint32_t i = 0; i < n; i++)
		sum += chance[i] = most > least ? exp(-(cost[i] - least) / ((most - least) * temperature)) : 1;
	for (uint32_t i = 0; i < n; i++)
		chance[i] /= sum;
}

#endif
