/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finish-time fairness as Gavel reduces Themis: the allocation with the smallest maximum finish-time ratio rho, by linear programs (Mahajan
 * et al., "Themis: Fair and Efficient GPU Cluster Scheduling", NSDI 2020, defines rho; Narayanan et al., OSDI 2020, section 4.2). Themis'
 * auction and leases are not modelled. The rounds are those of gavel.c.
 */
#include "gavel.h"

static const struct orr_param params[] = { GAVEL_ROUND_PARAMS, ORR_PARAM_END };

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	return gavel_create(w, args, GAVEL_ALLOC_FINISH_TIME, err);
}

static const struct orr_jobs_ops ops = GAVEL_OPS(create);

ORR_POLICY_JOBS(themis, "least finish-time ratio rho by LP: Gavel's reduction of Themis, without auction and leases", params, ops);
