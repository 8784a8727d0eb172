/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli.h"

#include "base/mem.h"
#include "base/param.h"

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct cli_command cmd_jobs;
extern const struct cli_command cmd_step;
extern const struct cli_command cmd_serve;
extern const struct cli_command cmd_spot;
extern const struct cli_command cmd_run;
extern const struct cli_command cmd_scenario;
extern const struct cli_command cmd_figures;
extern const struct cli_command cmd_policy;
extern const struct cli_command cmd_trace;
extern const struct cli_command cmd_model;
extern const struct cli_command cmd_device;
extern const struct cli_command cmd_calib;
extern const struct cli_command cmd_net;
extern const struct cli_command cmd_db;

const struct cli_command *const cli_commands[] = {
	&cmd_jobs,
	&cmd_step,
	&cmd_serve,
	&cmd_spot,
	&cmd_run,
	&cmd_scenario,
	&cmd_figures,
	&cmd_policy,
	&cmd_trace,
	&cmd_model,
	&cmd_device,
	&cmd_calib,
	&cmd_net,
	&cmd_db,
	NULL,
};

static void out_of_memory(size_t wanted)
{
	fprintf(stderr, "orrery: out of memory (%zu more bytes wanted)\n", wanted);
	exit(ORR_EFAIL);
}

static void usage(FILE *out)
{
	fputs("usage: orrery COMMAND [ARGUMENTS]\n\ncommands:\n", out);
	for (const struct cli_command *const *c = cli_commands; *c; c++)
		fprintf(out, "  %-10s %s\n", (*c)->name, (*c)->doc);
	fputs("\n'orrery COMMAND --help' tells more, with an example.\n", out);
}

int main(int argc, char **argv)
{
	mem_on_exhaustion(out_of_memory);
	if (argc < 2) {
		usage(stderr);
		return ORR_EINPUT;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--version")) {
		puts(PACKAGE_STRING);
		return 0;
	}
	const char *names[64] = { NULL };
	size_t n = 0;
	for (const struct cli_command *const *c = cli_commands; *c && n < 63; c++) {
		names[n++] = (*c)->name;
		if (strcmp((*c)->name, argv[1]))
			continue;
		for (int i = 2; i < argc; i++)
			if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
				fputs((*c)->help, stdout);
				return 0;
			}
		struct orr_error err = { 0 };
		int rc = (*c)->run(argc - 1, argv + 1, &err);
		if (rc && err.text[0])
			fprintf(stderr, "orrery: %s\n", err.text);
		return rc;
	}
	const char *near = nearest_name(argv[1], names);
	fprintf(stderr, "orrery: no command \"%s\"; %s\n", argv[1], near ? "did you mean:" : "'orrery --help' lists them");
	if (near)
		fprintf(stderr, "  orrery %s\n", near);
	return ORR_EINPUT;
}
