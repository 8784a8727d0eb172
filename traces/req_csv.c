/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_csv.c - orrery's CSV of requests, see docs/traces.md
 *
 * Only arrival_s is required. An empty field means "unknown". An unknown column is an error, because it is usually misspelt.
 */
#include "traces/req_format.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"

#include <string.h>

enum { ARRIVAL_S, REQUEST_ID, MODEL, SAMPLES, PROMPT, OUTPUT, MAX_OUTPUT, PRIORITY, SESSION, SLO_S, BLOCKS };

static const struct table_column columns[] = { { "arrival_s", true }, { "request_id", false }, { "model", false }, { "samples", false },
	{ "prompt_tokens", false }, { "output_tokens", false }, { "max_output", false }, { "priority", false }, { "session", false },
	{ "slo_s", false }, { "blocks", false }, { NULL, false } };

static const struct orr_param params[] = { ORR_PARAM_INT(
						   "block_tokens", "512", 1, REQUEST_MAX_TOKENS, "tokens per block, for the column blocks"),
	REQUEST_PARAMS, ORR_PARAM_END };

struct csv {
	struct table *table;
	uint32_t block_tokens;
	uint64_t *block;
	size_t cap;
};

static bool sniff(const struct trace_head *head)
{
	return trace_head_has_column(head, "arrival_s");
}

static void *open_csv(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	struct table *t = table_new(in, columns, TABLE_HEADER | TABLE_KNOWN_COLUMNS, err);
	if (!t)
		return NULL;
	struct csv *c = mem_zalloc(1, sizeof *c);
	c->table = t;
	c->block_tokens = table_has_column(t, BLOCKS) ? (uint32_t)orr_arg_int(args, "block_tokens") : 0;
	return c;
}

static uint32_t optional(struct table *t, size_t column, int64_t lo, int64_t hi, uint32_t otherwise)
{
	return table_has(t, column) ? (uint32_t)table_count(t, column, lo, hi) : otherwise;
}

/* Reads whole numbers separated by blanks. */
static void read_blocks(struct csv *c, struct req_row *row)
{
	size_t n = 0;
	const char *s = table_text(c->table, BLOCKS, NULL);
	while (*s) {
		size_t length = strcspn(s, " ");
		int64_t v;
		if (!num_int(s, length, &v) || v < 0) {
			table_refuse(c->table, BLOCKS, "whole numbers from 0 separated by one blank");
			return;
		}
		MEM_GROW(c->block, n, c->cap);
		c->block[n++] = (uint64_t)v;
		s += length;
		if (*s && !*++s)
			table_refuse(c->table, BLOCKS, "a number after the last blank");
	}
	row->block = c->block;
	row->n_blocks = (uint32_t)n;
	if ((uint64_t)n > ((uint64_t)row->prompt_tokens + c->block_tokens - 1) / c->block_tokens)
		table_refuse(c->table, BLOCKS, "at most one hash per block of the prompt (option block_tokens)");
}

static int next_csv(void *state, struct req_row *row, struct orr_error *err)
{
	struct csv *c = state;
	struct table *t = c->table;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	row->arrival_ns = request_arrival(t, ARRIVAL_S);
	row->id = table_text_or_null(t, REQUEST_ID);
	row->model = table_text_or_null(t, MODEL);
	row->samples = optional(t, SAMPLES, 1, REQUEST_MAX_SAMPLES, 1);
	row->prompt_tokens = optional(t, PROMPT, 0, REQUEST_MAX_TOKENS, 0);
	row->output_tokens = optional(t, OUTPUT, 0, REQUEST_MAX_TOKENS, 0);
	row->max_output = optional(t, MAX_OUTPUT, 0, REQUEST_MAX_TOKENS, 0);
	if (row->max_output && row->max_output < row->output_tokens)
		table_refuse(t, MAX_OUTPUT, "0 (unknown), or at least output_tokens");
	row->priority = optional(t, PRIORITY, 0, REQUEST_MAX_PRIORITY, 0);
	if (table_has(t, SESSION))
		row->session = (uint64_t)table_count(t, SESSION, 0, REQUEST_MAX_SESSION);
	if (table_has(t, SLO_S))
		row->slo_ns = table_seconds(t, SLO_S, 0, TRACE_MAX_SECONDS);
	if (table_has(t, BLOCKS))
		read_blocks(c, row);
	return table_status(t);
}

static uint32_t block_tokens(const void *state)
{
	return ((const struct csv *)state)->block_tokens;
}

static void close_csv(void *state)
{
	struct csv *c = state;
	table_free(c->table);
	mem_free(c->block);
	mem_free(c);
}

const struct trace_format format_requests = {
	.kind = TRACE_REQUESTS,
	.name = "requests",
	.doc = "orrery's CSV of requests: arrival_s,prompt_tokens,output_tokens,.. (docs/traces.md)",
	.params = params,
	.sniff = sniff,
	.open = open_csv,
	.request = next_csv,
	.block_tokens = block_tokens,
	.close = close_csv,
};
