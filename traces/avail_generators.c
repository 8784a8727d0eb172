/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The generators of availability: one line each. */
#include "traces/avail_generator.h"
#include "traces/generator.h"

extern const struct avail_generator avail_generator_hazard, avail_generator_renewal, avail_generator_churn, avail_generator_bulk,
	avail_generator_price;

const struct avail_generator *const avail_generators[] = {
	&avail_generator_hazard,
	&avail_generator_renewal,
	&avail_generator_churn,
	&avail_generator_bulk,
	&avail_generator_price,
	NULL,
};

const struct avail_generator *avail_generator_find(const char *source)
{
	for (size_t i = 0; avail_generators[i]; i++)
		if (generator_is_named(avail_generators[i]->name, source))
			return avail_generators[i];
	return NULL;
}

struct orr_args *avail_generator_args(const struct avail_generator *g, const char *source, struct orr_error *err)
{
	return generator_read_args(g->name, g->params, source, err);
}
