/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The generators of availability: one line each. */
#include "traces/avail_generator.h"

#include "base/mem.h"
#include "base/param.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
	size_t n = strcspn(source, ":");
	for (size_t i = 0; avail_generators[i]; i++)
		if (strlen(avail_generators[i]->name) == n && !strncmp(avail_generators[i]->name, source, n))
			return source[n] || access(source, F_OK) ? avail_generators[i] : NULL;
	return NULL;
}

struct orr_args *avail_generator_args(const struct avail_generator *g, const char *source, struct orr_error *err)
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
