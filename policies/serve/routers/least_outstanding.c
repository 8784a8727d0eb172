/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The candidate with the least outstanding work, counted in tokens, requests, or waiting requests; the lowest number on ties. */
#include <orrery/router.h>

#include <string.h>

static const struct orr_param params[] = {
	ORR_PARAM_CHOICE("of", "tokens", "tokens|requests|waiting",
		"what counts: prompt and max_output tokens of live requests, live requests, or waiting requests"),
	ORR_PARAM_END
};

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	(void)err;
	const char *of = orr_arg_text(args, "of");
	orr_router_load(w, !strcmp(of, "tokens") ? ORR_LOAD_TOKENS : !strcmp(of, "waiting") ? ORR_LOAD_WAITING : ORR_LOAD_REQUESTS);
	return orr_alloc(1, 1);
}

static uint32_t pick(void *self, struct orr_serve *w, orr_req r)
{
	(void)self;
	return orr_candidate_least(w, orr_req_model(w, r));
}

static const struct orr_router_ops ops = { .create = create, .destroy = orr_free, .pick = pick };

ORR_ROUTER(least_outstanding, "fewest outstanding tokens, live requests or waiting requests", params, ops);
