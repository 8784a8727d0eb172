/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli.h"

#include "base/param.h"
#include "base/utf8.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

void cli_put_json(const cJSON *o)
{
	struct sbuf valid = { 0 };
	char *text = cJSON_Print(o);
	utf8_put_valid(&valid, text, strlen(text));
	puts(sbuf_text(&valid));
	sbuf_free(&valid);
	cJSON_free(text);
}

int cli_bad_option(int argc, char **argv, int opt, const struct option *known, struct orr_error *err)
{
	const char *given = optind > 0 && optind <= argc ? argv[optind - 1] : "";
	const char *names[64] = { NULL };
	for (size_t n = 0; n < 63 && known[n].name; n++)
		names[n] = known[n].name;
	if (opt == ':')
		return orr_fail(err, ORR_EINPUT, "option %.60s: expected a value", given);
	if (strncmp(given, "--", 2))
		return orr_fail(err, ORR_EINPUT, "unknown option \"-%c\": expected an option that --help lists", optopt ? optopt : '?');
	const char *near = nearest_name(given + 2, names);
	return orr_fail(err, ORR_EINPUT, "unknown option \"%.60s\": %s%s%s", given,
		near ? "did you mean \"--" : "expected an option that --help lists", near ? near : "", near ? "\"?" : "");
}
