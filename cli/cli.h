/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cli.h - common part of the command line; each subcommand has a separate file
 *
 * A subcommand gets its own arguments (argv[0] is its name), prints results on
 * stdout and returns an exit code. On an error it fills in err and returns its
 * code; only main() prints errors.
 */
#ifndef ORR_CLI_CLI_H
#define ORR_CLI_CLI_H

#include <orrery/api.h>

#include "base/sbuf.h"

#include <cjson/cJSON.h>

/* Prints JSON on standard output, with U+FFFD for bytes of names that are not UTF-8. */
void cli_put_json(const cJSON *o);

struct cli_command {
	const char *name;
	const char *doc;  /* one line */
	const char *help; /* text of --help: usage, options, an example; NULL: put_help() writes the text */
	int (*run)(int argc, char **argv, struct orr_error *err);
	void (*put_help)(struct sbuf *out);
};

/* Fills in the error for an option that getopt_long() refused (called with opterr 0 and short options that begin with ':'). The message
 * names an option that lacks its value; for an unknown option it names the nearest known option. Returns ORR_EINPUT. */
struct option;
int cli_bad_option(int argc, char **argv, int opt, const struct option *known, struct orr_error *err);

#endif
