/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * philly.c - the processed job list of Microsoft's Philly cluster (2017)
 *
 * CSV: timestamp,duration,num_gpus,gpu_time,cluster. Timestamps are civil times
 * without a zone, read as UTC; durations are seconds of execution summed over
 * scheduling attempts (Jeon et al., USENIX ATC 2019; prepared by the authors of Pollux).
 * The rows are unsorted and have no job id: the id is the number of the row, from 0.
 */
#include "traces/civil.h"
#include "traces/format.h"
#include "traces/table.h"

enum { TIMESTAMP, DURATION, NUM_GPUS, GPU_TIME, CLUSTER };

static const struct table_column columns[] = { { "timestamp", true }, { "duration", true }, { "num_gpus", true }, { "gpu_time", false },
	{ "cluster", false }, { NULL, false } };

static bool sniff(const struct trace_head *head)
{
	return trace_head_has_column(head, "timestamp") && trace_head_has_column(head, "duration") &&
	       trace_head_has_column(head, "num_gpus");
}

static void *open_philly(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return table_new(in, columns, TABLE_HEADER, err);
}

static int next_philly(void *state, struct orr_trace_job *row, struct orr_error *err)
{
	struct table *t = state;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	size_t n;
	const char *s = table_text(t, TIMESTAMP, &n);
	row->submit_ns = civil_ns(s, n);
	if (row->submit_ns < 0)
		table_refuse(t, TIMESTAMP, "a time from 1970 to 2199 such as 2017-10-09 07:01:55");
	row->duration_ns = table_seconds(t, DURATION, 0, TRACE_MAX_SECONDS);
	row->gpus = (uint32_t)table_count(t, NUM_GPUS, 0, TRACE_MAX_GPUS);
	if (table_has(t, GPU_TIME))
		table_real(t, GPU_TIME, 0, TRACE_MAX_SECONDS * TRACE_MAX_GPUS);
	row->queue = table_text_or_null(t, CLUSTER);
	return table_status(t);
}

static void close_philly(void *state)
{
	table_free(state);
}

const struct trace_format format_philly = {
	.name = "philly",
	.doc = "Microsoft Philly 2017, the processed list: timestamp,duration,num_gpus,gpu_time,cluster",
	.is_absolute = true,
	.sniff = sniff,
	.open = open_philly,
	.next = next_philly,
	.close = close_philly,
};
