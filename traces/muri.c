/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * muri.c - the job lists of Muri (Zhao et al., SIGCOMM 2022)
 *
 * CSV in the style of ElasticFlow (Gu et al., ASPLOS 2023), times in milliseconds:
 * job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval, iteration_time,resource_time_0..2,priority.
 * The reader uses the duration, which differs from iterations x iteration_time by rounding. With work=iterations it uses iterations x
 * iteration_time x `factor`, as Muri's simulator does. resource_time_0..2: the stages storage, GPU and network.
 */
#include "traces/format.h"
#include "traces/table.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { JOB_ID, NUM_GPU, SUBMIT_TIME, DURATION, ITERATIONS, MODEL_NAME, ITERATION_TIME, PRIORITY, STAGE_0, STAGE_1, STAGE_2, DDL };

static const struct table_column columns[] = { { "job_id", true }, { "num_gpu", true }, { "submit_time", true }, { "duration", true },
	{ "iterations", false }, { "model_name", false }, { "iteration_time", false }, { "priority", false }, { "resource_time_0", false },
	{ "resource_time_1", false }, { "resource_time_2", false }, { "ddl", false }, { NULL, false } };

static const struct orr_param params[] = {
	ORR_PARAM_CHOICE("unit", "ms", "ms|s", "unit of submit_time, duration and ddl (iteration_time and resource_time_0..2 are in ms)"),
	ORR_PARAM_CHOICE("work", "duration", "duration|iterations", "work of a job: its duration, or iterations x iteration_time x factor"),
	ORR_PARAM_REAL("factor", "1.015", 0.001, 1000, "work=iterations: factor on the iteration time; 1.015 in Muri's simulator"),
	ORR_PARAM_END
};

static const char *const extras[] = { "iteration_time ms", "duration / (iterations x iteration_time)", NULL };

struct muri {
	struct table *table;
	bool is_in_seconds, is_by_iterations;
	double factor;
	char stages[96];
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
	m->is_by_iterations = !strcmp(orr_arg_text(args, "work"), "iterations");
	m->factor = orr_arg_real(args, "factor");
	return m;
}

static int64_t time_of(const struct muri *m, size_t column)
{
	if (m->is_in_seconds)
		return table_seconds(m->table, column, 0, TRACE_MAX_SECONDS);
	return table_milliseconds(m->table, column, 0, TRACE_MAX_SECONDS * 1e3);
}

static void read_stages(struct muri *m, struct orr_trace_job *row)
{
	double ms[3] = { 0, 0, 0 };
	for (size_t i = 0; i < 3; i++)
		if (table_has(m->table, STAGE_0 + i))
			ms[i] = table_real(m->table, STAGE_0 + i, 0, 1e12);
	if (!(ms[0] + ms[1] + ms[2] > 0))
		return;
	snprintf(m->stages, sizeof m->stages, "%.17g;%.17g;%.17g", ms[0] / 1000, ms[1] / 1000, ms[2] / 1000);
	row->stages = m->stages;
}

/* Replaces the duration by the time of the iterations. */
static void read_work(struct muri *m, struct orr_trace_job *row)
{
	double ns = row->iterations * m->iteration_ms * m->factor * 1e6;
	if (!(ns > 0 && ns <= TRACE_MAX_SECONDS * 1e9))
		table_refuse(m->table, ITERATIONS, "work=iterations: iterations and an iteration_time above 0");
	else
		row->duration_ns = llround(ns);
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
	read_stages(m, row);
	if (table_has(t, DDL)) {
		row->deadline_ns = time_of(m, DDL) - row->submit_ns;
		if (row->deadline_ns < 0)
			table_refuse(t, DDL, "a time that is not before submit_time");
	}
	double product = row->iterations * m->iteration_ms;
	m->ratio = product > 0 ? (double)row->duration_ns / 1e6 / product : NAN;
	if (m->is_by_iterations)
		read_work(m, row);
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
