/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_azure.c - requests to Azure's LLM inference service, 2023 to 2025 (Patel et al., ISCA 2024; Stojkovic et al., HPCA 2025)
 *
 * CSV: TIMESTAMP,ContextTokens,GeneratedTokens; 2025 also NumImages, which is ignored. Timestamps are UTC with up to nine decimals (2023:
 * seven, so 100 ns) and an optional "+00:00" or "Z". Arrival times start at the first request.
 */
#include "traces/civil.h"
#include "traces/req_format.h"

#include "base/num.h"

#include <string.h>

enum { TIMESTAMP, CONTEXT, GENERATED };

static const struct table_column columns[] = { { "TIMESTAMP", true }, { "ContextTokens", true }, { "GeneratedTokens", true },
	{ NULL, false } };

static const struct orr_param params[] = { REQUEST_PARAMS, ORR_PARAM_END };

static bool sniff(const struct trace_head *head)
{
	return trace_head_has_column(head, "TIMESTAMP") && trace_head_has_column(head, "ContextTokens");
}

static void *open_azure(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return table_new(in, columns, TABLE_HEADER, err);
}

/* Converts "2023-11-16 18:17:03.9799600" to ns since 1970; returns -1 if it is invalid. */
static int64_t parse_time(const char *s, size_t n)
{
	enum { WHOLE = 19 };
	if (n >= WHOLE + 6 && !memcmp(s + n - 6, "+00:00", 6))
		n -= 6;
	else if (n > WHOLE && s[n - 1] == 'Z')
		n--;
	int64_t whole = civil_ns(s, n < WHOLE ? n : WHOLE), part = 0;
	if (whole < 0 || n == WHOLE)
		return whole;
	/* Accepts only digits: num_real() would accept ".5e3" too. */
	bool good = s[WHOLE] == '.' && n > WHOLE + 1 && n <= WHOLE + 10 && strspn(s + WHOLE + 1, "0123456789") >= n - WHOLE - 1 &&
		    num_seconds_ns(s + WHOLE, n - WHOLE, &part);
	return good ? whole + part : -1;
}

static int next_azure(void *state, struct req_row *row, struct orr_error *err)
{
	struct table *t = state;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	size_t n;
	const char *s = table_text(t, TIMESTAMP, &n);
	row->arrival_ns = parse_time(s, n);
	if (row->arrival_ns < 0)
		table_refuse(t, TIMESTAMP, "a time from 1970 to 2199 such as 2023-11-16 18:17:03.9799600");
	row->prompt_tokens = request_tokens(t, CONTEXT);
	row->output_tokens = request_tokens(t, GENERATED);
	return table_status(t);
}

static void close_azure(void *state)
{
	table_free(state);
}

const struct trace_format format_azure_llm = {
	.kind = TRACE_REQUESTS,
	.name = "azure-llm",
	.doc = "Azure LLM inference 2023 to 2025: TIMESTAMP,ContextTokens,GeneratedTokens",
	.params = params,
	.is_absolute = true,
	.sniff = sniff,
	.open = open_azure,
	.request = next_azure,
	.close = close_azure,
};
