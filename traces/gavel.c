/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gavel.c - the trace files of Gavel (Narayanan et al., OSDI 2020)
 *
 * Ten tab-separated fields without a header: job type, command, working directory, argument that sets the steps, needs data
 * directory, total steps, scale factor (GPUs), priority weight, SLO (-1 none), arrival time in seconds. A throughput table
 * gives the duration (hwmodel/throughput.h) by job type and scale factor. The id of a job is the number of its row, from 0.
 */
#include "traces/format.h"
#include "traces/table.h"

#include <string.h>

enum { JOB_TYPE, COMMAND, DIRECTORY, STEPS_ARGUMENT, NEEDS_DATA, TOTAL_STEPS, SCALE_FACTOR, PRIORITY_WEIGHT, SLO, ARRIVAL_TIME };

static const struct table_column columns[] = { { "job_type", true }, { "command", true }, { "working_directory", true },
	{ "num_steps_arg", true }, { "needs_data_dir", true }, { "total_steps", true }, { "scale_factor", true },
	{ "priority_weight", true }, { "SLO", true }, { "arrival_time", true }, { NULL, false } };

static bool sniff(const struct trace_head *head)
{
	size_t tabs = 0;
	for (const char *s = head->line; (s = strchr(s, '\t')); s++)
		tabs++;
	return tabs == ARRIVAL_TIME;
}

static void *open_gavel(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return table_new(in, columns, TABLE_TABS, err);
}

static int next_gavel(void *state, struct orr_trace_job *row, struct orr_error *err)
{
	struct table *t = state;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	row->model = table_text_or_null(t, JOB_TYPE);
	if (!row->model)
		table_refuse(t, JOB_TYPE, "a job type");
	table_int(t, NEEDS_DATA, 0, 1);
	row->iterations = table_real(t, TOTAL_STEPS, 1, 1e15);
	row->gpus = (uint32_t)table_int(t, SCALE_FACTOR, 1, TRACE_MAX_GPUS);
	row->priority = table_real(t, PRIORITY_WEIGHT, 0, 1e9);
	table_real(t, SLO, -1, TRACE_MAX_SECONDS);
	row->submit_ns = table_seconds(t, ARRIVAL_TIME, 0, TRACE_MAX_SECONDS);
	return table_status(t);
}

static void close_gavel(void *state)
{
	table_free(state);
}

const struct trace_format format_gavel = {
	.name = "gavel",
	.doc = "Gavel: ten tab-separated fields; durations need a throughput table",
	.sniff = sniff,
	.open = open_gavel,
	.next = next_gavel,
	.close = close_gavel,
};
