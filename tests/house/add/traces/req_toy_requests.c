/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_toy_requests.c - a format of requests that a test adds
 *
 * CSV: toy_arrival,toy_prompt,toy_output; seconds. Other columns
 * are ignored.
 */
#include "traces/req_format.h"

enum { ARRIVED_AT, PREFILL, DECODE };

static const struct table_column columns[] = { { "toy_arrival", true }, { "toy_prompt", true }, { "toy_output", true }, { NULL, false } };

static const struct orr_param params[] = { REQUEST_PARAMS, ORR_PARAM_END };

static bool sniff(const struct trace_head *head)
{
	return trace_head_has_column(head, "toy_prompt");
}

static void *open_toy_requests(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return table_new(in, columns, TABLE_HEADER, err);
}

static int next_toy_requests(void *state, struct req_row *row, struct orr_error *err)
{
	struct table *t = state;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	row->arrival_ns = request_arrival(t, ARRIVED_AT);
	row->prompt_tokens = request_tokens(t, PREFILL);
	row->output_tokens = request_tokens(t, DECODE);
	return table_status(t);
}

static void close_toy_requests(void *state)
{
	table_free(state);
}

const struct trace_format format_toy_requests = {
	.kind = TRACE_REQUESTS,
	.name = "toy-requests",
	.doc = "Vidur's requests: toy_arrival,toy_prompt,toy_output, seconds",
	.params = params,
	.sniff = sniff,
	.open = open_toy_requests,
	.request = next_toy_requests,
	.close = close_toy_requests,
};
