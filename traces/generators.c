/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The generators: one line each. */
#include "traces/generator.h"

#include "traces/avail_generator.h"
#include "traces/req_generator.h"

#include "base/mem.h"
#include "base/param.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern const struct generator generator_poisson, generator_mmpp, generator_philly, generator_openb, generator_lublin, generator_tiresias;

const struct generator *const generators[] = {
	&generator_poisson,
	&generator_mmpp,
	&generator_philly,
	&generator_openb,
	&generator_lublin,
	&generator_tiresias,
	NULL,
};

bool generator_is_named(const char *name, const char *source)
{
	size_t n = strcspn(source, ":");
	return strlen(name) == n && !strncmp(name, source, n) && (source[n] || access(source, F_OK));
}

const struct generator *generator_find(const char *source)
{
	for (size_t i = 0; generators[i]; i++)
		if (generator_is_named(generators[i]->name, source))
			return generators[i];
	return NULL;
}

struct orr_args *generator_read_args(const char *name, const struct orr_param *params, const char *source, struct orr_error *err)
{
	char where[64];
	snprintf(where, sizeof where, "generator %s", name);
	struct orr_args *args = args_new(params, where, err);
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

struct orr_args *generator_args(const struct generator *g, const char *source, struct orr_error *err)
{
	struct orr_args *args = generator_read_args(g->name, g->params, source, err);
	if (!args || !g->check || !g->check(args, err))
		return args;
	args_free(args);
	return NULL;
}

/* ---- names that are none ---- */

/* The rows that generators of this name make: "jobs", or "jobs and of requests"; NULL: there is none. */
static const char *rows_of(const char *name)
{
	bool jobs = false, requests = false;
	for (size_t i = 0; generators[i]; i++)
		jobs |= !strcmp(generators[i]->name, name);
	for (size_t i = 0; req_generators[i]; i++)
		requests |= !strcmp(req_generators[i]->name, name);
	for (size_t i = 0; avail_generators[i]; i++)
		if (!strcmp(avail_generators[i]->name, name))
			return "instances that come and go";
	return jobs && requests ? "jobs, and one of requests" : jobs ? "jobs" : requests ? "requests" : NULL;
}

int generator_suggest(const char *source, struct orr_error *err)
{
	enum { MOST = 48 };
	const char *names[MOST + 1] = { NULL };
	char name[64];
	size_t length = strcspn(source, ":"), n = 0;
	if (!length || length >= sizeof name || strcspn(source, "./") < length || !strcmp(source, "-") || !access(source, F_OK))
		return ORR_OK;
	snprintf(name, sizeof name, "%.*s", (int)length, source);
	for (size_t i = 0; generators[i] && n < MOST; i++)
		names[n++] = generators[i]->name;
	for (size_t i = 0; req_generators[i] && n < MOST; i++)
		names[n++] = req_generators[i]->name;
	for (size_t i = 0; avail_generators[i] && n < MOST; i++)
		names[n++] = avail_generators[i]->name;
	const char *rows = rows_of(name), *near = nearest_name(name, names);
	if (rows)
		return orr_fail(err, ORR_EINPUT, "%s: there is no such file; %s is a generator of %s", source, name, rows);
	if (near)
		return orr_fail(err, ORR_EINPUT, "%s: there is no such file; did you mean the generator %s (orrery trace list shows all)",
			source, near);
	return source[length] ? orr_fail(err, ORR_EINPUT, "%s: there is no such file, and no generator %s (orrery trace list shows all)",
					source, name)
			      : ORR_OK;
}
