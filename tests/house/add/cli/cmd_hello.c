/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A verb that a test adds. */
#include "cli/cli.h"

#include <stdio.h>

static int run_hello(int argc, char **argv, struct orr_error *err)
{
	(void)argc, (void)argv, (void)err;
	puts("hello");
	return ORR_OK;
}

const struct cli_command cmd_hello = {
	.name = "hello",
	.doc = "greet",
	.help = "usage: orrery hello\n\nGreets.\n\nexample:\n  orrery hello\n",
	.run = run_hello,
};
