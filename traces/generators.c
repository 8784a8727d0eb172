/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The generators: one line each. */
#include "traces/generator.h"

#include "base/mem.h"
#include "base/param.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern const struct generator generator_poisson, generator_mmpp, generator_philly, generator_openb,
	generator_lublin, generator_tiresias;

const struct generator *const generators[] = {
	&generator_poisson,
	&generator_mmpp,
	&generator_philly,
	&generator_openb,
	&generator_lublin,
	&generator_tiresias,
	NULL,
};

const struct generator *generator_find(const char *source)
{
	size_t n = strcspn(source, ":");
	for (size_t i = 0; generators[i]; i++)
		if (strlen(generators[i]->name) == n && !strncmp(generators[i]->name, source, n))
			return source[n] || access(source, F_OK) ? generators[i] : NULL;
	return NULL;
}

struct orr_args *generator_args(const struct generator *g, const char *source, struct orr_error *err)
{
	char where[64];
	snprintf(where, sizeof where, "generator %s", g->name);
	struct orr_args *args = args_new(g->params, where, err);
	if (!args)
		return NULL;
	int rc = ORR_OK;
	const char *s = strchr(source, ':');
	for (s = s ? s + 1 : ""; *s && !rc;) {
		size_t n = strcspn(s, ",");
		char *pair = mem_strndup(s, n);
		rc = args_set_pair(args, pair, err);
		mem_free(pair);
		s += n + (s[n] == ',');
	}
	if (!rc && g->check)
		rc = g->check(args, err);
	if (!rc)
		return args;
	args_free(args);
	return NULL;
}
