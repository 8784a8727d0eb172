/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The generators of requests: one line each. */
#include "traces/req_generator.h"

#include "base/mem.h"
#include "base/param.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
	size_t n = strcspn(source, ":");
	for (size_t i = 0; req_generators[i]; i++)
		if (strlen(req_generators[i]->name) == n && !strncmp(req_generators[i]->name, source, n))
			return source[n] || access(source, F_OK) ? req_generators[i] : NULL;
	return NULL;
}

struct orr_args *req_generator_args(const struct req_generator *g, const char *source, struct orr_error *err)
{
	char where[64];
	snprintf(where, sizeof where, "generator %s", g->name);
	struct orr_args *args = args_new(g->params, where, err);
	int rc = args ? ORR_OK : ORR_EINPUT;
	const char *s = strchr(source, ':');
	for (s = s ? s + 1 : ""; *s && !rc;) {
		size_t n = strcspn(s, ",");
		char *pair = mem_strndup(s, n);
		rc = args_set_pair(args, pair, err);
		mem_free(pair);
		s += n + (s[n] == ',');
	}
	if (!rc)
		return args;
	args_free(args);
	return NULL;
}
