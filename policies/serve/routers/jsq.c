/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Join the shortest queue: the candidate with the fewest live requests, waiting or running; the lowest number on ties. */
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
	return orr_candidate_least(w, orr_req_model(w, r));
}

static const struct orr_router_ops ops = { .create = create, .destroy = orr_free, .pick = pick };

ORR_ROUTER(jsq, "fewest live requests, waiting or running", params, ops);
