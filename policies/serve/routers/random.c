/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A candidate drawn uniformly at random. */
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
	uint32_t model = orr_req_model(w, r);
	return orr_candidate(w, model, (uint32_t)orr_router_below(w, orr_candidates(w, model)));
}

static const struct orr_router_ops ops = { .create = create, .destroy = orr_free, .pick = pick };

ORR_ROUTER_FLAGS(random, "uniformly random", ORR_DRAWS, params, ops);
