/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * series.h - parses the command line of figures and sweep, which run many scenarios
 */
#ifndef ORR_CLI_SERIES_H
#define ORR_CLI_SERIES_H

#include "cli/cli.h"
#include "world/world.h"

#include <getopt.h>

enum { SERIES_OWN = 300 /* first option number of a command's own flags */ };

struct series_flags {
	const struct option *own; /* flags of the command in addition to those below; ends with a NULL name */
	/* Called with each of the command's own flags. value: NULL if the flag has no value. */
	int (*take)(void *ctx, int opt, const char *value, struct orr_error *err);
	void *ctx;
};

/* Parses --db, --fresh, --check, --in-process, -j and -q into *out, own flags by take(), and at most one argument (NULL: none). */
int series_parse(
	int argc, char **argv, const struct series_flags *s, struct world_output *out, const char **argument, struct orr_error *err);

#endif
