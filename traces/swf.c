/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * swf.c - the Standard Workload Format, version 2.2
 *
 * 18 numbers per line, separated by blanks, -1 = unknown; lines that start with
 * ';' are comments, some of them "; Key: value" (Chapin et al., "Benchmarks and
 * standards for the evaluation of parallel job schedulers", JSSPP 1999; Parallel
 * Workloads Archive). The devices of a job are its allocated processors (field 5),
 * on which the run time was recorded; if unknown, the requested ones (field 8).
 *
 * Two dialects have more fields. MetaCentrum: 21 fields, 19 the nodes "{1129,1129}", 20 the name of the queue, 21 the request; submissions
 * are Unix times. Alea's workflows (jaros): 20 fields after a line of names, 17 may hold several ids "3&4", of which the first is kept.
 */
#include "traces/format.h"
#include "traces/table.h"

#include "base/mem.h"
#include "base/num.h"

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
	N_FIELDS,
	NODES = N_FIELDS, /* MetaCentrum */
	QUEUE_NAME,
	REQUEST
};

enum dialect { PLAIN, METACENTRUM, WORKFLOWS };
static const size_t fields_of[] = { [PLAIN] = N_FIELDS, [METACENTRUM] = 21, [WORKFLOWS] = 20 };

static const struct table_column columns[] = { { "job number", true }, { "submit time", true }, { "wait time", true }, { "run time", true },
	{ "allocated processors", true }, { "CPU time", true }, { "used memory", true }, { "requested processors", true },
	{ "requested time", true }, { "requested memory", true }, { "status", true }, { "user", true }, { "group", true },
	{ "executable", true }, { "queue", true }, { "partition", true }, { "preceding job", true }, { "think time", true },
	{ NULL, false } };
static const struct table_column metacentrum[] = { { "job number", true }, { "submit time", true }, { "wait time", true },
	{ "run time", true }, { "allocated processors", true }, { "CPU time", true }, { "used memory", true },
	{ "requested processors", true }, { "requested time", true }, { "requested memory", true }, { "status", true }, { "user", true },
	{ "group", true }, { "executable", true }, { "queue", true }, { "partition", true }, { "preceding job", true },
	{ "think time", true }, { "nodes", true }, { "queue name", true }, { "request", true }, { NULL, false } };

static const struct orr_param params[] = { ORR_PARAM_CHOICE("processors", "allocated", "allocated|requested",
						   "processor count that is the size of the job; if unknown, the other count"),
	ORR_PARAM_CHOICE("unknown_runtime", "drop", "drop|keep|error", "treatment of jobs with run time -1"),
	ORR_PARAM_CHOICE("unknown_procs", "drop", "drop|error", "treatment of jobs without a known processor count"),
	ORR_PARAM_CHOICE("extra_fields", "error", "error|ignore", "treatment of lines of more fields than the dialect has"),
	ORR_PARAM_END };

static const char *const info_options[] = { "unknown_runtime=keep", NULL };

/* Keys of the header that trace info shows. */
static const char *const keys[] = { "Computer", "Installation", "MaxJobs", "MaxNodes", "MaxProcs", "UnixStartTime", "TimeZoneString" };
enum { N_KEYS = sizeof keys / sizeof *keys };

struct swf {
	struct table *table;
	enum dialect dialect;
	uint64_t several; /* jobs with several preceding jobs */
	char preceding[24];
	bool prefers_requested, drops_unknown_runtime, keeps_unknown_runtime, drops_unknown_procs, ignores_extra_fields;
	uint64_t unknown_runtime, unknown_procs, left_out;
	char header[N_KEYS][100];
};

/* Returns the number of fields of a line; 0 unless the first 18 look like numbers. */
static size_t count_fields(const char *s)
{
	size_t n = 0;
	for (; *(s += strspn(s, " \t")); n++) {
		size_t len = strcspn(s, " \t");
		if (n < N_FIELDS && strspn(s, n == PRECEDING ? "0123456789.-+eE&" : "0123456789.-+eE") != len)
			return 0;
		s += len;
	}
	return n < N_FIELDS ? 0 : n;
}

static bool is_names(const char *line)
{
	return !strncmp(line, "id\tsubmit\twait\t", 15) || !strncmp(line, "id submit wait ", 15);
}

static bool sniff(const struct trace_head *head)
{
	return is_names(head->line) || count_fields(head->line) >= N_FIELDS;
}

/* Returns the dialect of the first line that is no comment. */
static enum dialect dialect_of(struct lines *in)
{
	const char *s;
	size_t left;
	enum dialect found = PLAIN;
	lines_peek(in, &s, &left);
	while (left) {
		const char *stop = memchr(s, '\n', left);
		size_t n = stop ? (size_t)(stop - s) : left, blank = 0;
		while (blank < n && strchr(" \t\r", s[blank]) && s[blank])
			blank++;
		if (blank < n && s[blank] != ';') {
			char *line = mem_strndup(s + blank, n - blank);
			line[strcspn(line, "\r")] = '\0';
			found = is_names(line) ? WORKFLOWS : count_fields(line) == 21 && strchr(line, '{') ? METACENTRUM : PLAIN;
			mem_free(line);
			break;
		}
		left -= n + (stop != NULL);
		s += n + (stop != NULL);
	}
	return found;
}

static void *open_swf(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	enum dialect dialect = dialect_of(in);
	struct table *t = table_new(in, dialect == METACENTRUM ? metacentrum : columns, TABLE_BLANKS | TABLE_EXTRA_FIELDS, err);
	if (!t)
		return NULL;
	struct swf *s = mem_zalloc(1, sizeof *s);
	s->dialect = dialect;
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
		return s->dialect == WORKFLOWS && is_names(line);
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

/* Keeps the first of several ids. */
static const char *preceding_job(struct swf *s)
{
	size_t n;
	int64_t v;
	const char *text = table_text(s->table, PRECEDING, &n);
	size_t first = strcspn(text, "&");
	if (s->dialect != WORKFLOWS || first == n)
		return known_name(s->table, PRECEDING);
	s->several++;
	if (strspn(text, "0123456789&") != n || !num_int(text, first, &v) || first >= sizeof s->preceding)
		table_refuse(s->table, PRECEDING, "numbers of jobs with & between them");
	else
		snprintf(s->preceding, sizeof s->preceding, "%.*s", (int)first, text);
	return s->preceding;
}

static void read_row(struct swf *s, struct orr_trace_job *row, int64_t *procs)
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
	if (!row->queue && s->dialect == METACENTRUM)
		row->queue = table_text_or_null(t, QUEUE_NAME);
	row->preceding = preceding_job(s);
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
	lines_fail(table_lines(s->table), err, "expected %zu fields, found %zu; extra_fields=ignore reads the first %zu",
		fields_of[s->dialect], table_fields(s->table), fields_of[s->dialect]);
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
		if (table_fields(s->table) > fields_of[s->dialect] && !s->ignores_extra_fields)
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
	if (index > (s->dialect == WORKFLOWS ? 2 : 1))
		return false;
	static const char *const names[] = { "run time unknown", "processors unknown (left out)", "several preceding jobs (first kept)" };
	const uint64_t counts[] = { s->unknown_runtime, s->unknown_procs, s->several };
	out->name = names[index];
	snprintf(out->value, sizeof out->value, "%llu", (unsigned long long)counts[index]);
	return true;
}

static uint64_t left_out(const void *state)
{
	return ((const struct swf *)state)->left_out;
}

static bool is_dated(const void *state)
{
	return ((const struct swf *)state)->dialect == METACENTRUM;
}

static void close_swf(void *state)
{
	struct swf *s = state;
	table_free(s->table);
	mem_free(s);
}

const struct trace_format format_swf = {
	.name = "swf",
	.doc = "Standard Workload Format 2.2: 18 fields, ';' header (Parallel Workloads Archive); MetaCentrum's 21, Alea's workflows",
	.params = params,
	.info_options = info_options,
	.sniff = sniff,
	.open = open_swf,
	.next = next_swf,
	.fact = fact,
	.is_dated = is_dated,
	.left_out = left_out,
	.close = close_swf,
};
