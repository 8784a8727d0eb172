/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * muri.c - the job lists of Muri (Zhao et al., SIGCOMM 2022)
 *
 * CSV in the style of ElasticFlow (Gu et al., ASPLOS 2023), times in milliseconds:
 * job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval, iteration_time,resource_time_0..2,priority.
 * The reader uses the duration, from which iterations x iteration_time differs by rounding. It ignores stage times.
 */
#include "traces/format.h"
#include "traces/table.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { JOB_ID, NUM_GPU, SUBMIT_TIME, DURATION, ITERATIONS, MODEL_NAME, ITERATION_TIME, PRIORITY };

static const struct table_column columns[] = { { "job_id", true }, { "num_gpu", true }, { "submit_time", true }, { "duration", true },
	{ "iterations", false }, { "model_name", false }, { "iteration_time", false }, { "priority", false }, { NULL, false } };

static const struct orr_param params[] = {
	ORR_PARAM_CHOICE("unit", "ms", "ms|s", "unit of submit_time and duration (iteration_time is in ms)"), ORR_PARAM_END
};

static const char *const extras[] = { "iteration_time ms", "duration / (iterations x iteration_time)", NULL };

struct muri {
	struct table *table;
	bool is_in_seconds;
	double iteration_ms, ratio;
};

static bool sniff(const struct trace_head *head)
{
	for (size_t i = JOB_ID; i <= DURATION; i++)
		if (!trace_head_has_column(head, columns[i].name))
			return false;
	return trace_head_has_column(head, "iteration_time") && trace_head_has_column(head, "resource_time_0");
}

static void *open_muri(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	struct table *t = table_new(in, columns, TABLE_HEADER, err);
	if (!t)
		return NULL;
	struct muri *m = mem_zalloc(1, sizeof *m);
	m->table = t;
	m->is_in_seconds = !strcmp(orr_arg_text(args, "unit"), "s");
	return m;
}

static int64_t time_of(const struct muri *m, size_t column)
{
	if (m->is_in_seconds)
		return table_seconds(m->table, column, 0, TRACE_MAX_SECONDS);
	return table_milliseconds(m->table, column, 0, TRACE_MAX_SECONDS * 1e3);
}

static int next_muri(void *state, struct orr_trace_job *row, struct orr_error *err)
{
	struct muri *m = state;
	struct table *t = m->table;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	row->id = table_text_or_null(t, JOB_ID);
	if (!row->id)
		table_refuse(t, JOB_ID, "a name");
	row->gpus = (uint32_t)table_count(t, NUM_GPU, 0, TRACE_MAX_GPUS);
	row->submit_ns = time_of(m, SUBMIT_TIME);
	row->duration_ns = time_of(m, DURATION);
	if (table_has(t, ITERATIONS))
		row->iterations = table_real(t, ITERATIONS, 0, 1e15);
	row->model = table_text_or_null(t, MODEL_NAME);
	if (table_has(t, PRIORITY))
		row->priority = table_real(t, PRIORITY, -1e9, 1e9);
	m->iteration_ms = table_has(t, ITERATION_TIME) ? table_real(t, ITERATION_TIME, 0, 1e12) : NAN;
	double product = row->iterations * m->iteration_ms;
	m->ratio = product > 0 ? (double)row->duration_ns / 1e6 / product : NAN;
	return table_status(t);
}

static void get_extras(const void *state, double *values)
{
	const struct muri *m = state;
	values[0] = m->iteration_ms;
	values[1] = m->ratio;
}

static void close_muri(void *state)
{
	struct muri *m = state;
	table_free(m->table);
	mem_free(m);
}

const struct trace_format format_muri = {
	.name = "muri",
	.doc = "Muri and ElasticFlow: job_id,num_gpu,submit_time,iterations,model_name,..,duration,.., "
	       "ms",
	.params = params,
	.extras = extras,
	.sniff = sniff,
	.open = open_muri,
	.next = next_muri,
	.get_extras = get_extras,
	.close = close_muri,
};
