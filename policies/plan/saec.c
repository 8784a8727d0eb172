/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Saec: similarity-aware embedding compression (X. Wu, H. Xu, H. Zhang, H. Chen, J. Wang, APSys 2020; arXiv 1903.00103). The
 * most frequent features of each field are clustered; one pass then assigns every feature to its nearest centroid.
 *
 * Only the abstract describes the paper's algorithm, distance and number of clusters; the defaults are choices of orrery.
 */
#include <orrery/plan.h>

static const struct orr_param params[] = { ORR_PARAM_REAL("reduction", "100", 1, 1e9, "features per vector"),
	ORR_PARAM_REAL("head_share", "0.08", 1e-9, 1, "share of a field's features that is clustered, most frequent first"),
	ORR_PARAM_REAL("head_mass", "0", 0, 1, "cluster the most frequent features up to this total frequency; 0: use head_share"),
	ORR_PARAM_INT("iterations", "100", 1, 1000000, "iterations of k-means"),
	ORR_PARAM_INT("id_bytes", "4", 1, 4, "bytes of a cluster index in the map"), ORR_PARAM_END };

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct orr_plan_code_value value;
	struct orr_plan_code code = { .method = ORR_CODE_SHARED,
		.reduction = orr_arg_real(args, "reduction"),
		.head_share = orr_arg_real(args, "head_share"),
		.head_mass = orr_arg_real(args, "head_mass"),
		.iterations = (uint32_t)orr_arg_int(args, "iterations"),
		.id_bytes = (uint32_t)orr_arg_int(args, "id_bytes") };
	(void)err;
	orr_plan_compress(p, &code, &value);
	return 0;
}

static const struct orr_plan_ops ops = { .search = search };
ORR_POLICY_PLAN_FLAGS(
	saec, "Saec: clusters the most frequent features of each field, assigns all others in one pass", ORR_PLANS_EMBEDDINGS, params, ops);
