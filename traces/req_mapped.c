/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_mapped.c - any table of requests, whose columns the option map names: "arrival=time,prompt_tokens=in,output_tokens=out"
 *
 * Separators, dates and unknown values are those of csv.c.
 */
#include "traces/map_names.h"
#include "traces/mapped.h"
#include "traces/req_format.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"

#include <string.h>

enum map_request { ARRIVAL, REQUEST_ID, MODEL, SAMPLES, PROMPT, OUTPUT, MAX_OUTPUT, PRIORITY, SESSION, SLO, FIELDS };

static const struct orr_param params[] = { ORR_PARAM_TEXT("map", "", "OURS=THEIRS,..: the columns of the file (--map)"),
	ORR_PARAM_CHOICE("unit", "auto", STAMP_UNITS, "unit of times that are numbers; auto: from the first one"), REQUEST_PARAMS,
	ORR_PARAM_END };

struct mapped_requests {
	struct table *table;
	struct table_column column[FIELDS + 1];
	char *names; /* texts of the columns */
	enum stamp_unit unit;
	struct strtab *sessions;
};

static bool sniff(const struct trace_head *head)
{
	(void)head; /* map selects the format */
	return false;
}

static void close_mapped(void *state)
{
	struct mapped_requests *m = state;
	table_free(m->table);
	strtab_free(m->sessions);
	mem_free(m->names);
	mem_free(m);
}

/* Cuts the texts of m->names into columns. A field without a column gets a name that no header has. */
static int parse_map(struct mapped_requests *m, struct lines *in, struct orr_error *err)
{
	static const char none[] = "\n";
	for (int i = 0; i < FIELDS; i++)
		m->column[i] = (struct table_column){ none, false };
	for (char *s = m->names; *s;) {
		char *pair = s, *eq = strchr(pair, '=');
		s += strcspn(s, ",");
		if (*s)
			*s++ = '\0';
		eq = strchr(pair, '=');
		if (!eq || eq == pair || !eq[1])
			return orr_fail(err, ORR_EINPUT,
				"map: expected OURS=THEIRS,.. such as arrival=time,prompt_tokens=in, found \"%.60s\"", pair);
		*eq = '\0';
		int field = map_field_of(map_request_names, pair);
		if (field < 0)
			return map_field_unknown(map_request_names, pair, "map", err);
		for (int i = 0; i < FIELDS; i++)
			if (m->column[i].is_needed && (i == field || !strcmp(m->column[i].name, eq + 1)))
				return orr_fail(
					err, ORR_EINPUT, "map: \"%.60s=%.60s\": expected each field and each column once", pair, eq + 1);
		m->column[field] = (struct table_column){ eq + 1, true };
	}
	return m->column[ARRIVAL].is_needed ? ORR_OK : lines_fail(in, err, "map: expected arrival=COLUMN, the column of arrival times");
}

static void *open_mapped(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	struct mapped_requests *m = mem_zalloc(1, sizeof *m);
	const char *head;
	size_t n;
	m->names = mem_strdup(orr_arg_text(args, "map"));
	m->unit = stamp_unit_of(orr_arg_text(args, "unit"));
	m->sessions = strtab_new();
	lines_peek(in, &head, &n);
	char *line = mem_strndup(head, n);
	line[strcspn(line, "\r\n")] = '\0';
	if (!parse_map(m, in, err))
		m->table = table_new(in, m->column, TABLE_HEADER | table_separator(line), err);
	mem_free(line);
	if (m->table)
		return m;
	close_mapped(m);
	return NULL;
}

static bool is_known(const struct table *t, size_t column)
{
	size_t n;
	const char *s = table_text(t, column, &n);
	return !stamp_is_unknown(s, n);
}

static uint32_t optional(struct table *t, size_t column, int64_t lo, int64_t hi, uint32_t otherwise)
{
	return is_known(t, column) ? (uint32_t)table_count(t, column, lo, hi) : otherwise;
}

static int64_t arrival(struct mapped_requests *m)
{
	size_t n;
	double v;
	int64_t t;
	const char *s = table_text(m->table, ARRIVAL, &n);
	if (m->unit == STAMP_AUTO && num_real(s, n, &v))
		m->unit = stamp_unit(v);
	if (stamp_ns(s, n, m->unit, &t))
		return t;
	table_refuse(m->table, ARRIVAL, "a date such as 2025-03-01T10:00:00.25Z, or a number from 0 (127 years at most; option unit)");
	return 0;
}

static int next_mapped(void *state, struct req_row *row, struct orr_error *err)
{
	struct mapped_requests *m = state;
	struct table *t = m->table;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	row->arrival_ns = arrival(m);
	row->id = is_known(t, REQUEST_ID) ? table_text(t, REQUEST_ID, NULL) : NULL;
	row->model = is_known(t, MODEL) ? table_text(t, MODEL, NULL) : NULL;
	row->samples = optional(t, SAMPLES, 1, REQUEST_MAX_SAMPLES, 1);
	row->prompt_tokens = optional(t, PROMPT, 0, REQUEST_MAX_TOKENS, 0);
	row->output_tokens = optional(t, OUTPUT, 0, REQUEST_MAX_TOKENS, 0);
	row->max_output = optional(t, MAX_OUTPUT, 0, REQUEST_MAX_TOKENS, 0);
	if (row->max_output && row->max_output < row->output_tokens)
		table_refuse(t, MAX_OUTPUT, "0 (unknown), or at least the number of output tokens");
	row->priority = optional(t, PRIORITY, 0, REQUEST_MAX_PRIORITY, 0);
	/* Sessions are numbered in order of first use, from 1. */
	row->session = is_known(t, SESSION) ? strtab_add_z(m->sessions, table_text(t, SESSION, NULL)) : 0;
	size_t n;
	const char *slo = table_text(t, SLO, &n);
	if (is_known(t, SLO) && !stamp_duration_ns(slo, n, STAMP_AUTO, &row->slo_ns))
		table_refuse(t, SLO, "a duration from 0 such as 2.5 or 00:00:30");
	return table_status(t);
}

const struct trace_format format_csv_requests = {
	.kind = TRACE_REQUESTS,
	.name = "csv-requests",
	.doc = "any table of requests with a header: option map (--map) names its columns",
	.params = params,
	.is_absolute = true,
	.sniff = sniff,
	.open = open_mapped,
	.request = next_mapped,
	.close = close_mapped,
};
