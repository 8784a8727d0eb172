/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Round robin: the next candidate by number, in turn for each model. */
#include <orrery/router.h>

static const struct orr_param params[] = { ORR_PARAM_END };

/* The object: by model, the number at which the next search begins. */
static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	(void)args, (void)err;
	return orr_alloc(orr_models(w), sizeof(uint32_t));
}

static uint32_t pick(void *self, struct orr_serve *w, orr_req r)
{
	uint32_t model = orr_req_model(w, r), *turn = (uint32_t *)self + model;
	uint32_t next = orr_candidate_from(w, model, *turn);
	if (next == ORR_NO_REPLICA)
		next = orr_candidate_from(w, model, 0);
	*turn = next + 1;
	return next;
}

static const struct orr_router_ops ops = { .create = create, .destroy = orr_free, .pick = pick };

ORR_ROUTER(round_robin, "the next replica by number", params, ops);
