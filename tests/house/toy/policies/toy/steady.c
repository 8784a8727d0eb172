/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A constant pause before each item. */
#include <orrery/toy.h>

static const struct orr_param params[] = { ORR_PARAM_TIME("pause", "0", "before each item"), ORR_PARAM_END };

static void *create(const struct orr_args *args, struct orr_error *err)
{
	double *pause = orr_alloc(1, sizeof *pause);
	(void)err;
	*pause = (double)orr_arg_time_ns(args, "pause") / 1e9;
	return pause;
}

static double pause_s(void *self, uint64_t item)
{
	(void)item;
	return *(double *)self;
}

static const struct orr_toy_ops ops = { .create = create, .destroy = orr_free, .pause_s = pause_s };

ORR_POLICY_TOY(steady, "pauses for a constant time", params, ops);
