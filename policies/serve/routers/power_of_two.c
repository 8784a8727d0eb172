/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Power of two choices (Mitzenmacher, IEEE TPDS 12(10), 2001): draws two different candidates and takes the one with fewer live requests,
 * on ties the first drawn.
 */
#include <orrery/router.h>

static const struct orr_param params[] = { ORR_PARAM_END };

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	(void)w, (void)args, (void)err;
	return orr_alloc(1, 1);
}

static uint32_t pick(void *self, struct orr_serve *w, orr_req r)
{
	(void)self;
	uint32_t model = orr_req_model(w, r), n = orr_candidates(w, model);
	if (n < 2)
		return orr_candidate(w, model, 0);
	uint64_t i = orr_router_below(w, n), j = orr_router_below(w, n - 1);
	uint32_t a = orr_candidate(w, model, (uint32_t)i), b = orr_candidate(w, model, (uint32_t)(j + (j >= i)));
	return orr_replica_routed(w, b) < orr_replica_routed(w, a) ? b : a;
}

static const struct orr_router_ops ops = { .create = create, .destroy = orr_free, .pick = pick };

ORR_ROUTER_FLAGS(power_of_two, "two replicas are drawn; the one with fewer live requests is chosen", ORR_DRAWS, params, ops);
