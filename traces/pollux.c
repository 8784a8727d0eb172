/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pollux.c - the workloads of Pollux (Qiao et al., OSDI 2021; petuum/adaptdl, branch osdi21-artifact)
 *
 * CSV: name,time,application,num_replicas,batch_size; user and queue may follow. time: submission in s; num_replicas and batch_size: GPUs
 * and total batch that a user without Pollux would choose. Rows have no duration: the jobs adapt (--applications).
 */
#include "traces/format.h"
#include "traces/table.h"

enum { NAME, TIME, APPLICATION, NUM_REPLICAS, BATCH_SIZE, USER, QUEUE };

static const struct table_column columns[] = { [NAME] = { "name", true },
	[TIME] = { "time", true },
	[APPLICATION] = { "application", true },
	[NUM_REPLICAS] = { "num_replicas", true },
	[BATCH_SIZE] = { "batch_size", true },
	[USER] = { "user", false },
	[QUEUE] = { "queue", false },
	{ NULL, false } };

static bool sniff(const struct trace_head *head)
{
	for (size_t i = NAME; i <= BATCH_SIZE; i++)
		if (!trace_head_has_column(head, columns[i].name))
			return false;
	return true;
}

static void *open_pollux(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return table_new(in, columns, TABLE_HEADER, err);
}

static int next_pollux(void *state, struct orr_trace_job *row, struct orr_error *err)
{
	struct table *t = state;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	row->id = table_text_or_null(t, NAME);
	row->submit_ns = table_seconds(t, TIME, 0, TRACE_MAX_SECONDS);
	row->model = table_text_or_null(t, APPLICATION);
	if (!row->model)
		table_refuse(t, APPLICATION, "a name");
	row->user = table_text_or_null(t, USER);
	row->queue = table_text_or_null(t, QUEUE);
	row->gpus = (uint32_t)table_count(t, NUM_REPLICAS, 1, TRACE_MAX_GPUS);
	double batch = table_real(t, BATCH_SIZE, 1, 1e9);
	row->batch = row->gpus ? batch / row->gpus : 0;
	return table_status(t);
}

static void close_pollux(void *state)
{
	table_free(state);
}

const struct trace_format format_pollux = {
	.name = "pollux",
	.doc = "Pollux: name,time,application,num_replicas,batch_size",
	.sniff = sniff,
	.open = open_pollux,
	.next = next_pollux,
	.close = close_pollux,
};
