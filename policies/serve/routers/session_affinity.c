/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Session affinity: all requests of a session go to the replica of its first request, as long as that is a candidate; otherwise, and for
 * requests without a session, the candidate with the fewest live requests. Memory grows with the number of sessions of the run.
 */
#include <orrery/router.h>

#include "shares.h"

static const struct orr_param params[] = { ORR_PARAM_END };

struct state {
	struct shares home; /* by session and model: replica + 1 */
};

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	(void)w, (void)args, (void)err;
	return orr_alloc(1, sizeof(struct state));
}

static void destroy(void *self)
{
	shares_free(&((struct state *)self)->home);
	orr_free(self);
}

static uint32_t pick(void *self, struct orr_serve *w, orr_req r)
{
	struct state *s = self;
	struct orr_req_info q;
	orr_req_get(w, r, &q);
	uint32_t home = q.session ? shares_get(&s->home, q.session, q.model) : 0;
	if (home && orr_is_candidate(w, q.model, home - 1))
		return home - 1;
	uint32_t replica = orr_candidate_least(w, q.model);
	if (q.session)
		shares_set(&s->home, q.session, q.model, replica + 1);
	return replica;
}

static const struct orr_router_ops ops = { .create = create, .destroy = destroy, .pick = pick };

ORR_ROUTER(session_affinity, "the replica of the session's first request", params, ops);
