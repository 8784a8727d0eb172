/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_splitwise.c - the request list of SplitwiseSim (Patel et al., "Splitwise", ISCA 2024)
 *
 * CSV: request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size; seconds. The batch
 * size is the number of samples. request_type 2 is LLM inference, the only type that SplitwiseSim runs; others are refused.
 */
#include "traces/req_format.h"

enum { REQUEST_ID, REQUEST_TYPE, APPLICATION_ID, ARRIVAL, BATCH_SIZE, PROMPT_SIZE, TOKEN_SIZE };
enum { TYPE_LLM = 2 };

static const struct table_column columns[] = { { "request_id", true }, { "request_type", false }, { "application_id", false },
	{ "arrival_timestamp", true }, { "batch_size", false }, { "prompt_size", true }, { "token_size", true }, { NULL, false } };

static const struct orr_param params[] = { REQUEST_PARAMS, ORR_PARAM_END };

static bool sniff(const struct trace_head *head)
{
	return trace_head_has_column(head, "arrival_timestamp") && trace_head_has_column(head, "token_size");
}

static void *open_splitwise(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return table_new(in, columns, TABLE_HEADER, err);
}

static int next_splitwise(void *state, struct req_row *row, struct orr_error *err)
{
	struct table *t = state;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	row->id = table_text_or_null(t, REQUEST_ID);
	if (table_has(t, REQUEST_TYPE) && table_int(t, REQUEST_TYPE, 0, INT32_MAX) != TYPE_LLM)
		table_refuse(t, REQUEST_TYPE, "2 (LLM inference)");
	row->arrival_ns = request_arrival(t, ARRIVAL);
	if (table_has(t, BATCH_SIZE))
		row->samples = (uint32_t)table_count(t, BATCH_SIZE, 1, REQUEST_MAX_SAMPLES);
	row->prompt_tokens = request_tokens(t, PROMPT_SIZE);
	row->output_tokens = request_tokens(t, TOKEN_SIZE);
	return table_status(t);
}

static void close_splitwise(void *state)
{
	table_free(state);
}

const struct trace_format format_splitwise = {
	.kind = TRACE_REQUESTS,
	.name = "splitwise",
	.doc = "SplitwiseSim's requests: request_id,..,arrival_timestamp,batch_size,prompt_size,token_size, seconds",
	.params = params,
	.sniff = sniff,
	.open = open_splitwise,
	.request = next_splitwise,
	.close = close_splitwise,
};
