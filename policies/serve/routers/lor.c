/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Vidur's "lor" (microsoft/vidur 7d47513, LORGlobalScheduler): the candidate with the fewest *waiting* requests; residents do not count.
 * The lowest number on ties. At light load nearly all requests go to the first replica, whose queue is nearly always empty.
 */
#include <orrery/router.h>

static const struct orr_param params[] = { ORR_PARAM_END };

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	(void)args, (void)err;
	orr_router_load(w, ORR_LOAD_WAITING);
	return orr_alloc(1, 1);
}

static uint32_t pick(void *self, struct orr_serve *w, orr_req r)
{
	(void)self;
	return orr_candidate_least(w, orr_req_model(w, r));
}

static const struct orr_router_ops ops = { .create = create, .destroy = orr_free, .pick = pick };

ORR_ROUTER(lor, "fewest waiting requests; residents do not count (Vidur)", params, ops);
