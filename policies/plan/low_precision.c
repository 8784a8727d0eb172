/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values rounded to 8 bits with a scale per vector, or to IEEE half precision. */
#include <orrery/plan.h>

#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_CHOICE("bits", "8", "8|16", "bits of a value"), ORR_PARAM_END };

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct orr_plan_code_value value;
	uint32_t bits = strcmp(orr_arg_text(args, "bits"), "16") ? 8 : 16;
	(void)err;
	orr_plan_compress(p, &(struct orr_plan_code){ .method = ORR_CODE_ROUNDED, .bits = bits }, &value);
	return 0;
}

static const struct orr_plan_ops ops = { .search = search };
ORR_POLICY_PLAN_FLAGS(low_precision, "values of 8 or 16 bits", ORR_PLANS_EMBEDDINGS, params, ops);
