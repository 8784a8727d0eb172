/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_vidur.c - the request list of the Vidur simulator (Agrawal et al., MLSys 2024)
 *
 * CSV: arrived_at,num_prefill_tokens,num_decode_tokens; seconds with the digits that Python prints. Other columns (index,
 * ratios) are ignored.
 */
#include "traces/req_format.h"

enum { ARRIVED_AT, PREFILL, DECODE };

static const struct table_column columns[] = { { "arrived_at", true }, { "num_prefill_tokens", true }, { "num_decode_tokens", true },
	{ NULL, false } };

static const struct orr_param params[] = { REQUEST_PARAMS, ORR_PARAM_END };

static bool sniff(const struct trace_head *head)
{
	return trace_head_has_column(head, "num_prefill_tokens");
}

static void *open_vidur(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return table_new(in, columns, TABLE_HEADER, err);
}

static int next_vidur(void *state, struct req_row *row, struct orr_error *err)
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

static void close_vidur(void *state)
{
	table_free(state);
}

const struct trace_format format_vidur = {
	.kind = TRACE_REQUESTS,
	.name = "vidur",
	.doc = "Vidur's requests: arrived_at,num_prefill_tokens,num_decode_tokens, seconds",
	.params = params,
	.sniff = sniff,
	.open = open_vidur,
	.request = next_vidur,
	.close = close_vidur,
};
