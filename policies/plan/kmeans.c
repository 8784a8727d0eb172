/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Full clustering within fields: k-means of all features (S. P. Lloyd, 1982), plain or weighted by frequency. */
#include <orrery/plan.h>

static const struct orr_param params[] = { ORR_PARAM_REAL("reduction", "100", 1, 1e9, "features per vector"),
	ORR_PARAM_BOOL("weighted", false, "weight features by frequency"), ORR_PARAM_INT("iterations", "100", 1, 1000000, "iterations"),
	ORR_PARAM_INT("id_bytes", "4", 1, 4, "bytes of a cluster index in the map"), ORR_PARAM_END };

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct orr_plan_code_value value;
	struct orr_plan_code code = { .method = ORR_CODE_SHARED,
		.reduction = orr_arg_real(args, "reduction"),
		.head_share = 1,
		.is_weighted = orr_arg_bool(args, "weighted"),
		.iterations = (uint32_t)orr_arg_int(args, "iterations"),
		.id_bytes = (uint32_t)orr_arg_int(args, "id_bytes") };
	(void)err;
	orr_plan_compress(p, &code, &value);
	return 0;
}

static const struct orr_plan_ops ops = { .search = search };
ORR_POLICY_PLAN_FLAGS(kmeans, "k-means of all features of each field, plain or weighted by frequency", ORR_PLANS_EMBEDDINGS, params, ops);
