/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * orrery.c - orrery's CSV of jobs, see docs/traces.md
 *
 * Required: submit_s and one of duration_s and iterations. An empty field means "unknown". An unknown column is an error,
 * because it is usually misspelt.
 */
#include "traces/format.h"
#include "traces/table.h"

#include "base/num.h"

#include <math.h>
#include <string.h>

enum {
	JOB_ID,
	SUBMIT_S,
	DURATION_S,
	GPUS,
	GPU_MILLI,
	CPUS,
	MEM_MIB,
	GPU_TYPES,
	LIMIT_S,
	WAIT_S,
	ITERATIONS,
	MODEL,
	USER,
	QUEUE,
	PRIORITY,
	SPEEDUP,
	STATUS,
	STRATEGY,
	BATCH,
	DEADLINE_S,
	GPU_MEM_MIB,
	OCCUPANCY,
	STAGES
};

static const struct table_column columns[] = { { "job_id", false }, { "submit_s", true }, { "duration_s", false }, { "gpus", false },
	{ "gpu_milli", false }, { "cpus", false }, { "mem_mib", false }, { "gpu_types", false }, { "limit_s", false }, { "wait_s", false },
	{ "iterations", false }, { "model", false }, { "user", false }, { "queue", false }, { "priority", false }, { "speedup", false },
	{ "status", false }, { "strategy", false }, { "batch", false }, { "deadline_s", false }, { "gpu_mem_mib", false },
	{ "occupancy", false }, { "stages", false }, { NULL, false } };

static bool sniff(const struct trace_head *head)
{
	return trace_head_has_column(head, "submit_s");
}

static void *open_orrery(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	struct table *t = table_new(in, columns, TABLE_HEADER | TABLE_KNOWN_COLUMNS, err);
	if (t && !table_has_column(t, DURATION_S) && !table_has_column(t, ITERATIONS)) {
		lines_fail(in, err, "expected a column duration_s or iterations");
		table_free(t);
		return NULL;
	}
	return t;
}

/* Returns whether the text has the form "1:1;2:1.9;4:3.5": ascending sizes, positive rates. */
static bool is_speedup(const char *s)
{
	int64_t last = 0;
	do {
		size_t n = strcspn(s, ":;");
		int64_t size;
		double rate;
		if (s[n] != ':' || !num_int(s, n, &size) || size <= last || size > TRACE_MAX_GPUS)
			return false;
		last = size;
		s += n + 1;
		n = strcspn(s, ";");
		if (!num_real(s, n, &rate) || !(rate > 0 && rate <= 1e9))
			return false;
		s += n;
	} while (*s++ == ';');
	return true;
}

static int64_t optional_seconds(struct table *t, size_t column)
{
	return table_has(t, column) ? table_seconds(t, column, 0, TRACE_MAX_SECONDS) : -1;
}

/* Returns whether the text has the form "STORAGE;GPU;NETWORK": seconds, with a positive sum. */
static bool is_stages(const char *s)
{
	double sum = 0, v;
	for (int i = 0; i < 3; i++, s++) {
		size_t n = strcspn(s, ";");
		if (!num_real(s, n, &v) || !(v >= 0 && v <= TRACE_MAX_SECONDS) || s[n] != (i < 2 ? ';' : '\0'))
			return false;
		sum += v;
		s += n;
	}
	return sum > 0;
}

/* What the job uses of GPUs that it shares with others, and its deadline. */
static void read_sharing(struct table *t, struct orr_trace_job *row)
{
	if (table_has(t, DEADLINE_S)) {
		row->deadline_ns = table_seconds(t, DEADLINE_S, 0, TRACE_MAX_SECONDS) - row->submit_ns;
		if (row->deadline_ns < 0)
			table_refuse(t, DEADLINE_S, "a time that is not before submit_s");
	}
	if (table_has(t, GPU_MEM_MIB))
		row->gpu_mem_mib = table_count(t, GPU_MEM_MIB, 0, UINT32_MAX);
	if (table_has(t, OCCUPANCY))
		row->occupancy = table_real(t, OCCUPANCY, 0, 1);
	row->stages = table_text_or_null(t, STAGES);
	if (row->stages && !is_stages(row->stages))
		table_refuse(t, STAGES, "three times STORAGE;GPU;NETWORK such as 0.1;0.3;0.05, in s, with a sum above 0");
}

static void read_demand(struct table *t, struct orr_trace_job *row)
{
	row->gpus = table_has(t, GPUS) ? (uint32_t)table_count(t, GPUS, 0, TRACE_MAX_GPUS) : 1;
	if (table_has(t, GPU_MILLI))
		row->gpu_milli = (uint32_t)table_int(t, GPU_MILLI, row->gpus ? 1 : 0, 1000);
	if (table_has(t, CPUS))
		row->cpu_milli = (int64_t)llround(table_real(t, CPUS, 0, TRACE_MAX_CORES) * 1000);
	if (table_has(t, MEM_MIB))
		row->mem_mib = table_count(t, MEM_MIB, 0, TRACE_MAX_MIB);
	row->gpu_types = table_text_or_null(t, GPU_TYPES);
	row->speedup = table_text_or_null(t, SPEEDUP);
	if (row->speedup && !is_speedup(row->speedup))
		table_refuse(t, SPEEDUP, "size:rate pairs such as 1:1;2:1.9;4:3.5");
}

static int next_orrery(void *state, struct orr_trace_job *row, struct orr_error *err)
{
	struct table *t = state;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	row->id = table_text_or_null(t, JOB_ID);
	row->submit_ns = table_seconds(t, SUBMIT_S, 0, TRACE_MAX_SECONDS);
	row->duration_ns = optional_seconds(t, DURATION_S);
	row->limit_ns = optional_seconds(t, LIMIT_S);
	row->wait_ns = optional_seconds(t, WAIT_S);
	if (table_has(t, ITERATIONS))
		row->iterations = table_real(t, ITERATIONS, 0, 1e15);
	read_demand(t, row);
	row->model = table_text_or_null(t, MODEL);
	row->user = table_text_or_null(t, USER);
	row->queue = table_text_or_null(t, QUEUE);
	row->strategy = table_text_or_null(t, STRATEGY);
	if (row->strategy && !row->model)
		table_refuse(t, STRATEGY, "a model in the same row");
	if (row->strategy && (!row->gpus || row->gpu_milli < 1000))
		table_refuse(t, STRATEGY, "an empty field, for a job without whole GPUs");
	if (table_has(t, BATCH))
		row->batch = table_real(t, BATCH, 1e-6, 1e9);
	bool adapts = row->model && row->batch > 0; /* its work is that of its application */
	if (row->duration_ns < 0 && row->iterations <= 0 && !adapts)
		table_refuse(t, table_has_column(t, DURATION_S) ? DURATION_S : ITERATIONS,
			"a duration, a number of iterations above 0, or a model and a batch");
	read_sharing(t, row);
	row->status = table_text_or_null(t, STATUS);
	if (table_has(t, PRIORITY))
		row->priority = table_real(t, PRIORITY, -1e9, 1e9);
	return table_status(t);
}

static void close_orrery(void *state)
{
	table_free(state);
}

const struct trace_format format_orrery = {
	.name = "orrery",
	.doc = "orrery's CSV: submit_s,duration_s,gpus,.. (docs/traces.md)",
	.sniff = sniff,
	.open = open_orrery,
	.next = next_orrery,
	.close = close_orrery,
};
