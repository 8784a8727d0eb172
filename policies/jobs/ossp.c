/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Least makespan (Gavel's "min total duration", which Shockwave calls OSSP after the open-shop problem; Narayanan et al., OSDI 2020,
 * section 4.2): X with the largest min over jobs of throughput / iterations left. The published code bisects the makespan T, down to 5 %,
 * with a linear program for each T; here one linear program has the exact optimum. The rounds are those of gavel.c.
 */
#include "gavel.h"

static const struct orr_param params[] = { GAVEL_ROUND_PARAMS, ORR_PARAM_END };

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	return gavel_create(w, args, GAVEL_ALLOC_MIN_DURATION, err);
}

static const struct orr_jobs_ops ops = GAVEL_OPS(create);

ORR_POLICY_JOBS(ossp, "least makespan by LP (Gavel's min total duration, OSSP)", params, ops);
