/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Greatest total throughput (Gavel's "max sum throughput", Shockwave's "MST"; Narayanan et al., OSDI 2020, section 4.2): the linear program
 * of gavel_lp.h, in the rounds of gavel.c.
 */
#include "gavel.h"

static const struct orr_param params[] = { GAVEL_ROUND_PARAMS, ORR_PARAM_END };

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	return gavel_create(w, args, GAVEL_ALLOC_MAX_SUM, err);
}

static const struct orr_jobs_ops ops = GAVEL_OPS(create);

ORR_POLICY_JOBS(mst, "greatest total throughput: Gavel's max-sum LP (MST)", params, ops);
