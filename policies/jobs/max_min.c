/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Max-min fairness (Narayanan et al., OSDI 2020, section 4.1): the least normalised throughput is as large as possible; with water_filling,
 * then the second least, and so on (section 4.3). The rounds are those of gavel.c.
 */
#include "gavel.h"

static const struct orr_param params[] = { GAVEL_ROUND_PARAMS,
	ORR_PARAM_BOOL("water_filling", true,
		"after the smallest throughput, maximise the second smallest, and so on; false: the rest of the capacity goes to the first "
		"jobs"),
	ORR_PARAM_END };

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	bool fills = orr_arg_bool(args, "water_filling");
	return gavel_create(w, args, fills ? GAVEL_ALLOC_WATER_FILLING : GAVEL_ALLOC_MAX_MIN, err);
}

static const struct orr_jobs_ops ops = GAVEL_OPS(create);

ORR_POLICY_JOBS(max_min, "max-min fairness of normalised throughputs by LP, with water filling", params, ops);
