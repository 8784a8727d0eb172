/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conductor_rule.h - the choice of a prefill instance by Mooncake's Conductor (Qin et al., "Mooncake", FAST 2025, Algorithm 1) */
#ifndef ORR_ROUTERS_CONDUCTOR_RULE_H
#define ORR_ROUTERS_CONDUCTOR_RULE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct conductor_instance {
	double prefix, queue_s; /* tokens of the prompt in its cache; sum of predicted prefill times of waiting requests, s */
	double ttft_s;          /* result: transfer + queue + prefill */
	bool copies;            /* result: the best prefix is copied to the instance first */
};
struct conductor_times {
	void *ctx;
	double (*prefill_s)(void *ctx, uint32_t i, double length, double prefix);
	double (*transfer_s)(void *ctx, uint32_t i, double tokens);
};

/* Fills in the results of n >= 1 instances for a prompt of `length` tokens, and returns the one with the smallest TTFT, the first on ties.
 * The ratio of the best prefix to a prefix of 0 is infinite, if the best prefix is not 0 itself: the paper leaves this open. */
static inline uint32_t conductor_choose(
	struct conductor_instance *v, uint32_t n, double length, double threshold, const struct conductor_times *t, double *best_prefix)
{
	uint32_t least = 0;
	*best_prefix = 0;
	for (uint32_t i = 0; i < n; i++)
		*best_prefix = fmax(*best_prefix, v[i].prefix);
	for (uint32_t i = 0; i < n; i++) {
		struct conductor_instance *x = &v[i];
		x->copies = *best_prefix > x->prefix && *best_prefix > threshold * x->prefix;
		double prefix = x->copies ? *best_prefix : x->prefix;
		x->ttft_s = (x->copies ? t->transfer_s(t->ctx, i, prefix - x->prefix) : 0) + x->queue_s +
			    t->prefill_s(t->ctx, i, length, prefix);
		if (x->ttft_s < v[least].ttft_s)
			least = i;
	}
	return least;
}

#endif
