/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_burstgpt.c - BurstGPT: requests to Azure OpenAI GPT services from a campus (Wang et al., KDD 2025)
 *
 * CSV: Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type, seconds since the start of the trace; the
 * later release adds Session ID and Elapsed time. A response of 0 tokens is a failure of the service: such a row is skipped,
 * or kept (failures=keep) as a request without outputs. Elapsed time is checked and ignored.
 */
#include "traces/req_format.h"

#include "base/mem.h"
#include "base/param.h"

#include <string.h>

enum { TIMESTAMP, MODEL, REQUEST, RESPONSE, TOTAL, LOG_TYPE, SESSION, ELAPSED };

static const struct table_column columns[] = { { "Timestamp", true }, { "Model", true }, { "Request tokens", true },
	{ "Response tokens", true }, { "Total tokens", false }, { "Log Type", false }, { "Session ID", false }, { "Elapsed time", false },
	{ NULL, false } };

static const struct orr_param params[] = { ORR_PARAM_CHOICE("failures", "drop", "drop|keep",
						   "treatment of rows with 0 response tokens (failed requests)"),
	ORR_PARAM_CHOICE("log", "all", "all|api|conversation", "rows of one Log Type"), REQUEST_PARAMS, ORR_PARAM_END };

static const char *const info_options[] = { "failures=keep", NULL };

struct burstgpt {
	struct table *table;
	struct strtab *sessions;
	bool keeps_failures;
	const char *log; /* value such as "API log"; NULL: any */
	uint64_t left_out;
};

static bool sniff(const struct trace_head *head)
{
	return trace_head_has_column(head, "Request tokens") && trace_head_has_column(head, "Response tokens");
}

static void close_burstgpt(void *state)
{
	struct burstgpt *b = state;
	table_free(b->table);
	strtab_free(b->sessions);
	mem_free(b);
}

static void *open_burstgpt(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	struct table *t = table_new(in, columns, TABLE_HEADER, err);
	const char *log = orr_arg_text(args, "log");
	if (!t)
		return NULL;
	if (strcmp(log, "all") && !table_has_column(t, LOG_TYPE)) {
		lines_fail(in, err, "log=%s: expected a column \"Log Type\"", log);
		table_free(t);
		return NULL;
	}
	struct burstgpt *b = mem_zalloc(1, sizeof *b);
	b->table = t;
	b->sessions = strtab_new();
	b->keeps_failures = !strcmp(orr_arg_text(args, "failures"), "keep");
	b->log = !strcmp(log, "api") ? "API log" : !strcmp(log, "conversation") ? "Conversation log" : NULL;
	return b;
}

static void read_tokens(struct table *t, struct req_row *row)
{
	row->prompt_tokens = request_tokens(t, REQUEST);
	row->output_tokens = request_tokens(t, RESPONSE);
	if (table_has(t, TOTAL) &&
		table_count(t, TOTAL, 0, 2 * (int64_t)REQUEST_MAX_TOKENS) != (int64_t)row->prompt_tokens + row->output_tokens)
		table_refuse(t, TOTAL, "the sum of Request tokens and Response tokens");
}

static int next_burstgpt(void *state, struct req_row *row, struct orr_error *err)
{
	struct burstgpt *b = state;
	struct table *t = b->table;
	int rc;
	while ((rc = table_next(t, NULL, NULL, err)) == 1) {
		row->arrival_ns = request_arrival(t, TIMESTAMP);
		row->model = table_text_or_null(t, MODEL);
		read_tokens(t, row);
		if (table_has(t, ELAPSED))
			table_real(t, ELAPSED, 0, TRACE_MAX_SECONDS);
		/* Sessions are numbered in order of first use, from 1. */
		row->session = strtab_add_z(b->sessions, table_text_or_null(t, SESSION));
		bool is_wanted = (row->output_tokens || b->keeps_failures) && (!b->log || !strcmp(table_text(t, LOG_TYPE, NULL), b->log));
		if (is_wanted || table_status(t) < 0)
			return table_status(t);
		b->left_out++;
	}
	return rc;
}

static uint64_t left_out(const void *state)
{
	return ((const struct burstgpt *)state)->left_out;
}

const struct trace_format format_burstgpt = {
	.kind = TRACE_REQUESTS,
	.name = "burstgpt",
	.doc = "BurstGPT: Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type[,Session ID,..], seconds",
	.params = params,
	.info_options = info_options,
	.sniff = sniff,
	.open = open_burstgpt,
	.request = next_burstgpt,
	.left_out = left_out,
	.close = close_burstgpt,
};
