/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Equal shares of the cluster (Chaudhary et al., "Balancing Efficiency and Fairness in Heterogeneous GPU Clusters for Deep Learning",
 * EuroSys 2020). rules=own: users have equal tickets, and the jobs of a user share its GPUs equally. rules=gavel: the reduction of the
 * published simulators, N / n of the time for each of n jobs, regardless of its GPUs. Trading between users is not modelled. The rounds are
 * those of gavel.c.
 */
#include "gavel.h"

#include <string.h>

static const struct orr_param params[] = { GAVEL_ROUND_PARAMS, ORR_PARAM_END };

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	bool is_published = strcmp(orr_arg_text(args, "rules"), "own") != 0;
	return gavel_create(w, args, is_published ? GAVEL_ALLOC_EQUAL_TIME : GAVEL_ALLOC_EQUAL_USERS, err);
}

static const struct orr_jobs_ops ops = GAVEL_OPS(create);

ORR_POLICY_JOBS(
	gandiva_fair, "equal GPUs for each user, and for the jobs of a user, in rounds (Gandiva_fair without trading)", params, ops);
