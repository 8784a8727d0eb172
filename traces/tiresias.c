/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tiresias.c - the job list of the Tiresias simulator (Gu et al., NSDI 2019)
 *
 * CSV: job_id,num_gpu,submit_time,iterations,model_name,duration,interval, times in seconds. Only the first three and the
 * duration are required, in any order; other columns are ignored. The reader keeps the iterations; a job runs for its duration. The lists
 * of ElasticFlow (pkusys/ElasticFlow) are read too: their column ddl is the time by which the job should end.
 */
#include "traces/format.h"
#include "traces/table.h"

enum { JOB_ID, NUM_GPU, SUBMIT_TIME, DURATION, ITERATIONS, MODEL_NAME, DDL };

static const struct table_column columns[] = { { "job_id", true }, { "num_gpu", true }, { "submit_time", true }, { "duration", true },
	{ "iterations", false }, { "model_name", false }, { "ddl", false }, { NULL, false } };

static bool sniff(const struct trace_head *head)
{
	for (size_t i = JOB_ID; i <= DURATION; i++)
		if (!trace_head_has_column(head, columns[i].name))
			return false;
	return !trace_head_has_column(head, "iteration_time") && !trace_head_has_column(head, "resource_time_0"); /* Muri's, in ms */
}

static void *open_tiresias(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return table_new(in, columns, TABLE_HEADER, err);
}

static int next_tiresias(void *state, struct orr_trace_job *row, struct orr_error *err)
{
	struct table *t = state;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	row->id = table_text_or_null(t, JOB_ID);
	if (!row->id)
		table_refuse(t, JOB_ID, "a name");
	row->gpus = (uint32_t)table_count(t, NUM_GPU, 0, TRACE_MAX_GPUS);
	row->submit_ns = table_seconds(t, SUBMIT_TIME, 0, TRACE_MAX_SECONDS);
	row->duration_ns = table_seconds(t, DURATION, 0, TRACE_MAX_SECONDS);
	if (table_has(t, ITERATIONS))
		row->iterations = table_real(t, ITERATIONS, 0, 1e15);
	row->model = table_text_or_null(t, MODEL_NAME);
	if (table_has(t, DDL)) {
		row->deadline_ns = table_seconds(t, DDL, 0, TRACE_MAX_SECONDS) - row->submit_ns;
		if (row->deadline_ns < 0)
			table_refuse(t, DDL, "at least submit_time");
	}
	return table_status(t);
}

static void close_tiresias(void *state)
{
	table_free(state);
}

const struct trace_format format_tiresias = {
	.name = "tiresias",
	.doc = "Tiresias simulator: job_id,num_gpu,submit_time,duration[,iterations,model_name,..], "
	       "seconds",
	.sniff = sniff,
	.open = open_tiresias,
	.next = next_tiresias,
	.close = close_tiresias,
};
