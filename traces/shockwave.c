/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shockwave.c - jobs that change their batch while they run (Zheng et al., "Shockwave", NSDI 2023; uw-mad-dash/shockwave 8a44f4a)
 *
 * CSV: job_id,arrival_s,model,initial_batch,gpus,mode,total_steps,exclusive_s. exclusive_s, the time of the job alone, batch changes
 * included, is its duration. The model is "MODEL (batch size N)", as in Gavel's tables; the mode (static, accordion, gns) is its queue.
 */
#include "traces/format.h"
#include "traces/table.h"

#include "base/mem.h"

#include <stdio.h>

enum { ID, ARRIVAL, MODEL, BATCH, GPUS, MODE, STEPS, EXCLUSIVE };

static const struct table_column columns[] = { [ID] = { "job_id", true },
	[ARRIVAL] = { "arrival_s", true },
	[MODEL] = { "model", true },
	[BATCH] = { "initial_batch", true },
	[GPUS] = { "gpus", true },
	[MODE] = { "mode", true },
	[STEPS] = { "total_steps", true },
	[EXCLUSIVE] = { "exclusive_s", true },
	{ NULL, false } };

struct reader {
	struct table *table;
	char model[200];
};

static bool sniff(const struct trace_head *head)
{
	for (size_t i = ID; i <= EXCLUSIVE; i++)
		if (!trace_head_has_column(head, columns[i].name))
			return false;
	return true;
}

static void *open_shockwave(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	struct table *t = table_new(in, columns, TABLE_HEADER, err);
	if (!t)
		return NULL;
	struct reader *r = mem_zalloc(1, sizeof *r);
	r->table = t;
	return r;
}

static int next_shockwave(void *state, struct orr_trace_job *row, struct orr_error *err)
{
	struct reader *r = state;
	struct table *t = r->table;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	row->id = table_text_or_null(t, ID);
	row->submit_ns = table_seconds(t, ARRIVAL, 0, TRACE_MAX_SECONDS);
	row->gpus = (uint32_t)table_count(t, GPUS, 1, TRACE_MAX_GPUS);
	row->queue = table_text_or_null(t, MODE);
	row->iterations = (double)table_count(t, STEPS, 1, 1000000000000);
	row->duration_ns = table_seconds(t, EXCLUSIVE, 0, TRACE_MAX_SECONDS);
	int64_t batch = table_count(t, BATCH, 1, 1000000000);
	const char *model = table_text_or_null(t, MODEL);
	if (!model)
		table_refuse(t, MODEL, "a name");
	snprintf(r->model, sizeof r->model, "%.150s (batch size %lld)", model ? model : "", (long long)batch);
	row->model = r->model;
	return table_status(t);
}

static void close_shockwave(void *state)
{
	struct reader *r = state;
	table_free(r->table);
	mem_free(r);
}

const struct trace_format format_shockwave = {
	.name = "shockwave",
	.doc = "Shockwave: job_id,arrival_s,model,initial_batch,gpus,mode,..",
	.sniff = sniff,
	.open = open_shockwave,
	.next = next_shockwave,
	.close = close_shockwave,
};
