/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flags that the verbs of "orrery trace" share. */
#include "cli/cmd_trace.h"

#include "base/num.h"
#include "base/param.h"
#include "base/sbuf.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int trace_bad_option(char **argv, const struct option *longs, struct orr_error *err)
{
	const char *names[32] = { NULL };
	const char *given = argv[optind - 1];
	for (size_t i = 0; i < 31 && longs[i].name; i++)
		names[i] = longs[i].name;
	const char *near = !strncmp(given, "--", 2) ? nearest_name(given + 2, names) : NULL;
	if (near && !strcmp(near, given + 2))
		return orr_fail(err, ORR_EINPUT, "trace %s: %s: expected a value", argv[0], given);
	return orr_fail(err, ORR_EINPUT, "trace %s: unknown or incomplete option \"%.60s\": %s%s%s", argv[0], given,
		near ? "did you mean \"--" : "'orrery trace --help' lists all options", near ? near : "", near ? "\"?" : "");
}

int trace_options_add(struct trace_options *o, const char *text, struct orr_error *err)
{
	if (o->n == TRACE_MAX_OPTIONS)
		return orr_fail(err, ORR_EINPUT, "-O: too many options: expected at most %d", TRACE_MAX_OPTIONS);
	o->text[o->n++] = text;
	return ORR_OK;
}

int trace_options_map(struct trace_options *o, const char *text, char **kept, struct orr_error *err)
{
	struct sbuf b = { 0 };
	if (*kept)
		return orr_fail(err, ORR_EINPUT, "--map: appears twice: expected one list OURS=THEIRS,..");
	sbuf_printf(&b, "map=%s", text);
	*kept = sbuf_steal(&b);
	return trace_options_add(o, *kept, err);
}

void trace_tell_left_out(const char *source, uint64_t left_out, uint64_t repaired, const char *first)
{
	if (left_out)
		fprintf(stderr, "orrery: %s: rows left out: %" PRIu64 " ('orrery trace info' lists them, 'trace list' the options)\n",
			utf8_shown(source), left_out);
	if (repaired)
		fprintf(stderr, "orrery: %s: wrong rows left out (repair): %" PRIu64 "; the first: %s\n", utf8_shown(source), repaired,
			utf8_shown(first));
}

int trace_seed(const char *text, uint64_t *out, struct orr_error *err)
{
	int64_t v;
	if (!num_int(text, strlen(text), &v) || v < 0)
		return orr_fail(err, ORR_EINPUT, "--seed: expected a whole number from 0, found \"%.60s\"", text);
	*out = (uint64_t)v;
	return ORR_OK;
}
