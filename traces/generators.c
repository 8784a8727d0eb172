/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/format.h"
#include "traces/generator.h"

#include "base/param.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GENERATOR(symbol) extern const struct generator symbol;
#include "traces/generators.def"
#undef GENERATOR

const struct generator *const generators[] = {
#define GENERATOR(symbol) &symbol,
#include "traces/generators.def"
	NULL,
};

const struct generator *generator_find(enum trace_kind kind, const char *source)
{
	size_t n = strcspn(source, ":");
	for (size_t i = 0; generators[i]; i++) {
		const char *name = generators[i]->name;
		if (generators[i]->kind == kind && strlen(name) == n && !strncmp(name, source, n) && (source[n] || access(source, F_OK)))
			return generators[i];
	}
	return NULL;
}

bool trace_kind_knows(enum trace_kind kind, const char *format)
{
	for (size_t i = 0; format && generators[i]; i++)
		if (generators[i]->kind == kind && !strcmp(generators[i]->name, format))
			return true;
	return trace_format_exists(kind, format);
}

struct orr_args *generator_args(const struct generator *g, const char *source, struct orr_error *err)
{
	char where[64];
	snprintf(where, sizeof where, "generator %s", g->name);
	struct orr_args *args = args_new(g->params, where, err);
	int rc = args ? ORR_OK : ORR_EINPUT;
	const char *colon = strchr(source, ':');
	if (!rc && colon)
		rc = args_set_pairs(args, colon + 1, ',', err);
	if (!rc && (!g->check || !g->check(args, err)))
		return args;
	args_free(args);
	return NULL;
}

int generator_choose(enum trace_kind kind, const char *source, const char *format, const char *const *options, const struct generator **out,
	struct orr_error *err)
{
	/* In a resolved scenario, the format is the name of the generator, or the format in which its rows are written. */
	static const char *const own[TRACE_KINDS] = { [TRACE_REQUESTS] = "requests", [TRACE_AVAIL] = "availability" };
	const struct generator *g = generator_find(kind, source);
	bool is_file =
		g && format && *format && strcmp(format, "auto") && strcmp(format, g->name) && (!own[kind] || strcmp(format, own[kind]));
	*out = NULL;
	if (is_file && access(source, F_OK))
		return orr_fail(err, ORR_EINPUT,
			"%s: format \"%.40s\": a generator has no format: expected no format, or the file of a trace", source, format);
	if (is_file)
		return ORR_OK;
	*out = g;
	return g && options && *options
		       ? orr_fail(err, ORR_EINPUT, "%s: option \"%.60s\": expected a parameter of the generator, NAME:parameter=value,..",
				 source, *options)
		       : ORR_OK;
}

/* ---- misspelt names ---- */

static const char *nearest_generator(const char *name)
{
	const char *names[sizeof generators / sizeof *generators];
	size_t n = 0;
	while (generators[n]) {
		names[n] = generators[n]->name;
		n++;
	}
	names[n] = NULL;
	return nearest_name(name, names);
}

/* Returns the kinds of rows that generators of this name make; NULL: none. */
static const char *rows_of(const char *name)
{
	bool makes[TRACE_KINDS] = { false };
	for (size_t i = 0; generators[i]; i++)
		makes[generators[i]->kind] |= !strcmp(generators[i]->name, name);
	return makes[TRACE_AVAIL]                           ? "availability of instances"
	       : makes[TRACE_JOBS] && makes[TRACE_REQUESTS] ? "jobs, and one of requests"
	       : makes[TRACE_JOBS]                          ? "jobs"
	       : makes[TRACE_REQUESTS]                      ? "requests"
							    : NULL;
}

int generator_suggest(const char *source, struct orr_error *err)
{
	char name[64];
	size_t length = strcspn(source, ":");
	if (!length || length >= sizeof name || strcspn(source, "./") < length || !strcmp(source, "-") || !access(source, F_OK))
		return ORR_OK;
	snprintf(name, sizeof name, "%.*s", (int)length, source);
	const char *rows = rows_of(name), *near = nearest_generator(name);
	if (rows)
		return orr_fail(
			err, ORR_EINPUT, "%s: no such file: expected an existing file (%s is a generator of %s)", source, name, rows);
	if (near)
		return orr_fail(err, ORR_EINPUT,
			"%s: no such file: did you mean the generator \"%s\"? 'orrery trace list' shows all generators", source, near);
	return source[length] ? orr_fail(err, ORR_EINPUT,
					"%s: no such file, and no generator \"%s\": expected an existing file, or a generator that 'orrery "
					"trace list' shows",
					source, name)
			      : ORR_OK;
}

int generator_unknown(const char *source, struct orr_error *err)
{
	char name[64];
	snprintf(name, sizeof name, "%.*s", (int)strcspn(source, ":"), source);
	const char *near = nearest_generator(name);
	return orr_fail(err, ORR_EINPUT, "trace synth: unknown model \"%s\": %s%s%s", name,
		near ? "did you mean \"" : "expected a model that 'orrery trace list' shows", near ? near : "", near ? "\"?" : "");
}
