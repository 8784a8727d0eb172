/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The generators of requests: one line each. */
#include "traces/generator.h"
#include "traces/req_generator.h"

extern const struct req_generator req_generator_poisson, req_generator_gamma, req_generator_periodic, req_generator_mmpp,
	req_generator_alternating, req_generator_irina;

const struct req_generator *const req_generators[] = {
	&req_generator_poisson,
	&req_generator_gamma,
	&req_generator_periodic,
	&req_generator_mmpp,
	&req_generator_alternating,
	&req_generator_irina,
	NULL,
};

const struct req_generator *req_generator_find(const char *source)
{
	for (size_t i = 0; req_generators[i]; i++)
		if (generator_is_named(req_generators[i]->name, source))
			return req_generators[i];
	return NULL;
}

struct orr_args *req_generator_args(const struct req_generator *g, const char *source, struct orr_error *err)
{
	return generator_read_args(g->name, g->params, source, err);
}
