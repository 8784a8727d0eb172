/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Product quantisation: parts of a vector are clustered separately (H. Jegou, M. Douze, C. Schmid, IEEE TPAMI 33(1), 2011). */
#include <orrery/plan.h>

static const struct orr_param params[] = { ORR_PARAM_INT(
						   "parts", "4", 1, 4096, "parts of a vector, one byte each; must divide the dimension"),
	ORR_PARAM_INT("iterations", "25", 1, 1000000, "iterations of k-means"), ORR_PARAM_END };

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct orr_plan_code_value value;
	struct orr_plan_code code = { .method = ORR_CODE_PRODUCT,
		.parts = (uint32_t)orr_arg_int(args, "parts"),
		.iterations = (uint32_t)orr_arg_int(args, "iterations") };
	(void)err;
	orr_plan_compress(p, &code, &value);
	return 0;
}

static const struct orr_plan_ops ops = { .search = search };
ORR_POLICY_PLAN_FLAGS(
	product_quantisation, "product quantisation: parts of a vector are clustered separately", ORR_PLANS_EMBEDDINGS, params, ops);
