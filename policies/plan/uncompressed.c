/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The baseline: embedding tables without compression, 4 bytes per value. */
#include <orrery/plan.h>

static const struct orr_param params[] = { ORR_PARAM_END };

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct orr_plan_code_value value;
	(void)args;
	(void)err;
	orr_plan_compress(p, &(struct orr_plan_code){ .method = ORR_CODE_ROUNDED, .bits = 32 }, &value);
	return 0;
}

static const struct orr_plan_ops ops = { .search = search };
ORR_POLICY_PLAN_FLAGS(uncompressed, "the baseline: uncompressed embedding tables, 4 bytes per value", ORR_PLANS_EMBEDDINGS, params, ops);
