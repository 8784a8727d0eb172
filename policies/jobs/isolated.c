/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Isolated shares: each job gets N / n of the GPUs of each type, as if it had a part of the cluster to itself (Narayanan et al., OSDI 2020,
 * section 4.2). The rounds are those of gavel.c.
 */
#include "gavel.h"

static const struct orr_param params[] = { GAVEL_ROUND_PARAMS, ORR_PARAM_END };

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	return gavel_create(w, args, GAVEL_ALLOC_ISOLATED, err);
}

static const struct orr_jobs_ops ops = GAVEL_OPS(create);

ORR_POLICY_JOBS(isolated, "equal shares of GPUs: each of n jobs gets 1/n of each type (Gavel's isolated)", params, ops);
