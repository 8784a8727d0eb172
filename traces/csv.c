/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * csv.c - any table of jobs, whose columns the option map names: "submit=created_at,gpus=num_gpu,duration=elapsed"
 *
 * The separator is the most frequent of comma, tab, semicolon and bar in the header line. Columns without a name in map are ignored.
 */
#include "traces/format.h"
#include "traces/mapped.h"

#include "base/mem.h"
#include "base/param.h"

#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_TEXT("map", "", "OURS=THEIRS,..: the columns of the file (--map)"),
	ORR_PARAM_CHOICE("unit", "auto", STAMP_UNITS, "unit of times that are numbers; auto: from the first one"),
	ORR_PARAM_CHOICE("duration_unit", "auto", STAMP_UNITS, "unit of durations that are numbers; auto: seconds"),
	MAPPED_UNKNOWN("error"), ORR_PARAM_END };

static const char *const info_options[] = { "unknown_runtime=keep", NULL };

static bool sniff(const struct trace_head *head)
{
	(void)head; /* map selects the format */
	return false;
}

static int check(const struct mapped_columns *c, struct lines *in, struct orr_error *err)
{
	if (!c->theirs[MAP_SUBMIT])
		return lines_fail(in, err, "map: expected submit=COLUMN, the column of submission times");
	if (!c->theirs[MAP_DURATION] && !c->theirs[MAP_END] && !c->theirs[MAP_ITERATIONS])
		return lines_fail(in, err, "map: expected duration=COLUMN, or end=COLUMN and perhaps start=COLUMN, or iterations=COLUMN");
	return ORR_OK;
}

static void *open_csv(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	struct mapped_columns c = { .unit = stamp_unit_of(orr_arg_text(args, "unit")),
		.duration_unit = stamp_unit_of(orr_arg_text(args, "duration_unit")),
		.unknown = mapped_unknown_of(args) };
	struct mapped *m = NULL;
	const char *head;
	char *names;
	size_t n;
	lines_peek(in, &head, &n);
	char *line = mem_strndup(head, n);
	line[strcspn(line, "\r\n")] = '\0';
	c.flags = table_separator(line);
	if (!mapped_parse(orr_arg_text(args, "map"), &c, &names, "map", err) && !check(&c, in, err))
		m = mapped_new(in, &c, err);
	mem_free(names);
	mem_free(line);
	return m;
}

static int next_csv(void *state, struct orr_trace_job *row, struct orr_error *err)
{
	return mapped_next(state, row, err);
}

static uint64_t left_out(const void *state)
{
	return mapped_left_out(state);
}

static bool has_dates(const void *state)
{
	return mapped_has_dates(state);
}

static void close_csv(void *state)
{
	mapped_free(state);
}

const struct trace_format format_csv = {
	.name = "csv",
	.doc = "any table of jobs with a header: option map (--map) names its columns",
	.params = params,
	.is_absolute = true,
	.info_options = info_options,
	.sniff = sniff,
	.open = open_csv,
	.next = next_csv,
	.left_out = left_out,
	.has_dates = has_dates,
	.close = close_csv,
};
