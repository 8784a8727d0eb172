/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli.h"

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/param.h"
#include "base/sources.h"
#include "cli/verb.h"

#include "config.h"

#include <cjson/cJSON.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND(name) extern const struct cli_command cmd_##name;
#include "cli/commands.def"
#undef COMMAND

/* The commands, one per file cmd_NAME.c. The verbs of the worlds precede them (cli/verb.h). */
static const struct cli_command *const cli_commands[] = {
#define COMMAND(name) &cmd_##name,
#include "cli/commands.def"
#undef COMMAND
	NULL,
};

static void out_of_memory(size_t wanted)
{
	struct orr_error err = { 0 };
	int rc = limits_exhausted(wanted, &err);
	fprintf(stderr, "orrery: %s\n", err.text);
	cleanup_now();
	exit(rc);
}

static void put_limits(FILE *out)
{
	fputs("  --max-memory SIZE  end with an error before the command takes more memory (500M, 4G; default: no bound)\n"
	      "  --max-time T       end with an error after this time (90s, 2h; default: no bound); runs that ended stay stored\n",
		out);
}

static void usage(FILE *out)
{
	fputs("usage: orrery COMMAND [ARGUMENTS]\n\ncommands:\n", out);
	for (const struct world *const *w = worlds; *w; w++)
		if ((*w)->usage)
			fprintf(out, "  %-10s %s\n", (*w)->name, (*w)->doc);
	for (const struct cli_command *const *c = cli_commands; *c; c++)
		fprintf(out, "  %-10s %s\n", (*c)->name, (*c)->doc);
	fputs("\noptions of every command:\n", out);
	put_limits(out);
	fputs("  -h, --help         the help of a command, also as 'orrery help COMMAND'; without a command: this text\n"
	      "  -V, --version      the version and the hash of the sources\n"
	      "\n'orrery COMMAND --help' gives details and an example; 'orrery doctor' shows what is installed.\n",
		out);
}

static const struct cli_command *command_named(const char *name)
{
	for (const struct cli_command *const *c = cli_commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

static int no_command(const char *name)
{
	const char *names[64] = { NULL };
	size_t n = 0;
	for (const struct world *const *w = worlds; *w && n < 63; w++)
		if ((*w)->usage)
			names[n++] = (*w)->name;
	for (const struct cli_command *const *c = cli_commands; *c && n < 63; c++)
		names[n++] = (*c)->name;
	const char *near = nearest_name(name, names);
	fprintf(stderr, "orrery: unknown command \"%s\": %s\n", name, near ? "did you mean:" : "'orrery --help' lists all commands");
	if (near)
		fprintf(stderr, "  orrery %s\n", near);
	return ORR_EINPUT;
}

static bool asks_for_help(int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
	return false;
}

static int help(const struct world *w, const struct cli_command *c)
{
	struct sbuf text = { 0 };
	if (w)
		verb_help(w, &text);
	else if (c->help)
		sbuf_puts(&text, c->help);
	else
		c->put_help(&text);
	fputs(sbuf_text(&text), stdout);
	sbuf_free(&text);
	return 0;
}

/* Carries out 'orrery help COMMAND'. */
static int help_named(const char *name)
{
	const struct world *w = world_named(name);
	const struct cli_command *c = command_named(name);
	bool is_verb = w && w->usage;
	return is_verb || c ? help(is_verb ? w : NULL, c) : no_command(name);
}

static bool is_one_of(const char *text, const char *a, const char *b)
{
	return !strcmp(text, a) || !strcmp(text, b);
}

static int carry_out(int argc, char **argv, struct orr_error *err)
{
	bool is_help = !strcmp(argv[1], "help");
	if (is_help && argc > 2 && !is_one_of(argv[2], "--help", "-h"))
		return help_named(argv[2]);
	if (is_help || is_one_of(argv[1], "--help", "-h")) {
		usage(stdout);
		return 0;
	}
	if (is_one_of(argv[1], "--version", "-V")) {
		printf("%s (sources %.12s)\n", PACKAGE_STRING, sources_hash);
		return 0;
	}
	const struct world *w = world_named(argv[1]);
	const struct cli_command *c = command_named(argv[1]);
	bool is_verb = w && w->usage;
	if (!is_verb && !c)
		return no_command(argv[1]);
	if (asks_for_help(argc, argv))
		return help(is_verb ? w : NULL, c);
	return is_verb ? verb_run(w, argc - 1, argv + 1, err) : c->run(argc - 1, argv + 1, err);
}

struct call {
	int argc;
	char **argv;
};

static int run_program(void *ctx)
{
	const struct call *c = ctx;
	struct orr_error err = { 0 };
	int rc = limits_check_threads(&err);
	if (!rc)
		rc = carry_out(c->argc, c->argv, &err);
	/* Checks here what all commands have printed, so that no command checks its own lines. */
	struct orr_error unwritten = { 0 };
	if (outfile_flush_stdout(&unwritten) && !rc) {
		rc = unwritten.code;
		err = unwritten;
	}
	if (rc && err.text[0])
		fprintf(stderr, "orrery: %s\n", err.text);
	return rc;
}

int main(int argc, char **argv)
{
	struct orr_error err = { 0 };
	outfile_reserve_standard();
	cleanup_on_signals();
	mem_on_exhaustion(out_of_memory);
	cJSON_InitHooks(&(cJSON_Hooks){ mem_alloc, mem_free }); /* cJSON uses the allocator that ends the program when memory runs out */
	int rc = limits_take_options(&argc, argv, &err);
	if (rc) {
		fprintf(stderr, "orrery: %s\n", err.text);
		return rc;
	}
	if (argc < 2) {
		usage(stderr);
		return ORR_EINPUT;
	}
	struct call c = { argc, argv };
	return limits_call_with_stack(run_program, &c);
}
