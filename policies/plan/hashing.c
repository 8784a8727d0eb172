/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Feature hashing: features with equal hash values share a vector (K. Weinberger et al., ICML 2009). */
#include <orrery/plan.h>

static const struct orr_param params[] = { ORR_PARAM_REAL("reduction", "100", 1, 1e9, "features per vector"), ORR_PARAM_END };

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct orr_plan_code_value value;
	(void)err;
	orr_plan_compress(p, &(struct orr_plan_code){ .method = ORR_CODE_HASHED, .reduction = orr_arg_real(args, "reduction") }, &value);
	return 0;
}

static const struct orr_plan_ops ops = { .search = search };
ORR_POLICY_PLAN_FLAGS(hashing, "feature hashing: features with equal hash values share a vector", ORR_PLANS_EMBEDDINGS, params, ops);
