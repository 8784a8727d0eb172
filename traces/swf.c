/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * swf.c - the Standard Workload Format, version 2.2
 *
 * 18 numbers per line, separated by blanks, -1 = unknown; lines that start with
 * ';' are comments, some of them "; Key: value" (Chapin et al., "Benchmarks and
 * standards for the evaluation of parallel job schedulers", JSSPP 1999; Parallel
 * Workloads Archive). The devices of a job are its allocated processors (field 5),
 * on which the run time was recorded; if unknown, the requested ones (field 8).
 */
#include "traces/format.h"
#include "traces/table.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum {
	JOB,
	SUBMIT,
	WAIT,
	RUN,
	USED_PROCS,
	CPU_TIME,
	USED_MEMORY,
	ASKED_PROCS,
	ASKED_TIME,
	ASKED_MEMORY,
	STATUS,
	USER,
	GROUP,
	EXECUTABLE,
	QUEUE,
	PARTITION,
	PRECEDING,
	THINK,
	N_FIELDS
};

static const struct table_column columns[] = { { "job number", true }, { "submit time", true }, { "wait time", true }, { "run time", true },
	{ "allocated processors", true }, { "CPU time", true }, { "used memory", true }, { "requested processors", true },
	{ "requested time", true }, { "requested memory", true }, { "status", true }, { "user", true }, { "group", true },
	{ "executable", true }, { "queue", true }, { "partition", true }, { "preceding job", true }, { "think time", true },
	{ NULL, false } };

static const struct orr_param params[] = { ORR_PARAM_CHOICE("processors", "allocated", "allocated|requested",
						   "processor count that is the size of the job; if unknown, the other count"),
	ORR_PARAM_CHOICE("unknown_runtime", "drop", "drop|keep|error", "treatment of jobs with run time -1"),
	ORR_PARAM_CHOICE("unknown_procs", "drop", "drop|error", "treatment of jobs without a known processor count"),
	ORR_PARAM_CHOICE("extra_fields", "error", "error|ignore", "treatment of lines of more than 18 fields"), ORR_PARAM_END };

static const char *const info_options[] = { "unknown_runtime=keep", NULL };

/* Keys of the header that trace info shows. */
static const char *const keys[] = { "Computer", "Installation", "MaxJobs", "MaxNodes", "MaxProcs", "UnixStartTime", "TimeZoneString" };
enum { N_KEYS = sizeof keys / sizeof *keys };

struct swf {
	struct table *table;
	bool prefers_requested, drops_unknown_runtime, keeps_unknown_runtime, drops_unknown_procs, ignores_extra_fields;
	uint64_t unknown_runtime, unknown_procs, left_out;
	char header[N_KEYS][100];
};

/* Recognises at least 18 fields that look like numbers. */
static bool sniff(const struct trace_head *head)
{
	size_t n = 0;
	for (const char *s = head->line; *(s += strspn(s, " \t")); n++) {
		size_t len = strcspn(s, " \t");
		if (strspn(s, "0123456789.-+eE") != len)
			return false;
		s += len;
	}
	return n >= N_FIELDS;
}

static void *open_swf(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	struct table *t = table_new(in, columns, TABLE_BLANKS | TABLE_EXTRA_FIELDS, err);
	if (!t)
		return NULL;
	struct swf *s = mem_zalloc(1, sizeof *s);
	s->table = t;
	s->prefers_requested = !strcmp(orr_arg_text(args, "processors"), "requested");
	s->drops_unknown_runtime = !strcmp(orr_arg_text(args, "unknown_runtime"), "drop");
	s->keeps_unknown_runtime = !strcmp(orr_arg_text(args, "unknown_runtime"), "keep");
	s->drops_unknown_procs = !strcmp(orr_arg_text(args, "unknown_procs"), "drop");
	s->ignores_extra_fields = !strcmp(orr_arg_text(args, "extra_fields"), "ignore");
	return s;
}

/* Skips comments and keeps the values of the header. */
static bool take_comment(void *ctx, const char *line, size_t n)
{
	struct swf *s = ctx;
	const char *stop = line + n;
	line += strspn(line, " \t");
	if (*line != ';')
		return false;
	line += strspn(line, "; \t");
	for (size_t i = 0; i < N_KEYS; i++) {
		size_t len = strlen(keys[i]);
		if (strncmp(line, keys[i], len) || line[len] != ':' || s->header[i][0])
			continue;
		const char *value = line + len + 1;
		value += strspn(value, " \t");
		while (stop > value && (stop[-1] == ' ' || stop[-1] == '\t'))
			stop--;
		snprintf(s->header[i], sizeof s->header[i], "%.*s", (int)(stop - value), value);
	}
	return true;
}

static int64_t processors(struct table *t, bool prefers_requested)
{
	int64_t used = table_count(t, USED_PROCS, -1, TRACE_MAX_GPUS);
	int64_t asked = table_count(t, ASKED_PROCS, -1, TRACE_MAX_GPUS);
	int64_t first = prefers_requested ? asked : used, second = prefers_requested ? used : asked;
	return first > 0 ? first : second > 0 ? second : -1;
}

static int64_t known_seconds(struct table *t, size_t column)
{
	int64_t v = table_seconds(t, column, -1, TRACE_MAX_SECONDS);
	return v < 0 ? -1 : v;
}

/* Returns the text of a number used as a name; NULL for -1. */
static const char *known_name(struct table *t, size_t column)
{
	return table_count(t, column, -1, INT32_MAX) < 0 ? NULL : table_text(t, column, NULL);
}

static void read_row(const struct swf *s, struct orr_trace_job *row, int64_t *procs)
{
	struct table *t = s->table;
	row->id = table_text(t, JOB, NULL);
	table_count(t, JOB, 0, INT64_MAX);
	row->submit_ns = table_seconds(t, SUBMIT, 0, TRACE_MAX_SECONDS);
	row->wait_ns = known_seconds(t, WAIT);
	row->duration_ns = known_seconds(t, RUN);
	*procs = processors(t, s->prefers_requested);
	row->gpus = *procs > 0 ? (uint32_t)*procs : 0;
	row->limit_ns = known_seconds(t, ASKED_TIME);
	row->status = known_name(t, STATUS);
	row->user = known_name(t, USER);
	row->queue = known_name(t, QUEUE);
	row->preceding = known_name(t, PRECEDING);
	int64_t think = known_seconds(t, THINK);
	row->think_ns = think < 0 ? 0 : think;
	static const unsigned char only_checked[] = { CPU_TIME, USED_MEMORY, ASKED_MEMORY, GROUP, EXECUTABLE, PARTITION };
	for (size_t i = 0; i < sizeof only_checked; i++)
		table_real(t, only_checked[i], -1, 1e18);
}

/* Returns 1: a row, 0: a skipped row, -1: an error. */
static int judge(struct swf *s, const struct orr_trace_job *row, int64_t procs)
{
	if (table_status(s->table) < 0)
		return -1;
	if (procs < 0) {
		s->unknown_procs++;
		if (s->drops_unknown_procs)
			return 0;
		table_refuse(s->table, ASKED_PROCS, "a count (unknown_procs=error)");
	}
	if (row->duration_ns < 0) {
		s->unknown_runtime++;
		if (s->drops_unknown_runtime)
			return 0;
		if (!s->keeps_unknown_runtime)
			table_refuse(s->table, RUN, "a time (unknown_runtime=error)");
	}
	return table_status(s->table);
}

static int extra_fields(const struct swf *s, struct orr_error *err)
{
	lines_fail(table_lines(s->table), err, "expected 18 fields, found %zu; extra_fields=ignore reads the first 18",
		table_fields(s->table));
	return -1;
}

static int next_swf(void *state, struct orr_trace_job *row, struct orr_error *err)
{
	struct swf *s = state;
	int verdict;
	do {
		int rc = table_next(s->table, take_comment, s, err);
		if (rc <= 0)
			return rc;
		if (table_fields(s->table) > N_FIELDS && !s->ignores_extra_fields)
			return extra_fields(s, err);
		int64_t procs;
		read_row(s, row, &procs);
		verdict = judge(s, row, procs);
		s->left_out += !verdict;
	} while (!verdict);
	return verdict;
}

static bool fact(const void *state, size_t index, struct trace_fact *out)
{
	const struct swf *s = state;
	for (size_t i = 0; i < N_KEYS; i++) {
		if (!s->header[i][0] || index--)
			continue;
		out->name = keys[i];
		snprintf(out->value, sizeof out->value, "%s", s->header[i]);
		return true;
	}
	if (index > 1)
		return false;
	out->name = index ? "processors unknown (left out)" : "run time unknown";
	snprintf(out->value, sizeof out->value, "%llu", (unsigned long long)(index ? s->unknown_procs : s->unknown_runtime));
	return true;
}

static uint64_t left_out(const void *state)
{
	return ((const struct swf *)state)->left_out;
}

static void close_swf(void *state)
{
	struct swf *s = state;
	table_free(s->table);
	mem_free(s);
}

const struct trace_format format_swf = {
	.name = "swf",
	.doc = "Standard Workload Format 2.2: 18 fields, ';' header (Parallel Workloads Archive)",
	.params = params,
	.info_options = info_options,
	.sniff = sniff,
	.open = open_swf,
	.next = next_swf,
	.fact = fact,
	.left_out = left_out,
	.close = close_swf,
};
