/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slurm.c - the accounting records of Slurm, as "sacct -P" prints them
 *
 * Fields are separated by '|', or by another --delimiter, without quotes; the header names them, in any order (sacct(1),
 * src/sacct/print.c). Lines of steps, whose JobID has a '.', are skipped. Runs of one JobID (sacct -D) are one job: submitted at the
 * smallest Submit, started at the first Start. The parts "ID+0", "ID+1" of a heterogeneous job are one job too. Run times are Elapsed,
 * because End - Start is wrong where clocks change.
 */
#include "traces/format.h"
#include "traces/gather.h"
#include "traces/mapped.h"
#include "traces/quantity.h"
#include "traces/stamp.h"
#include "traces/table.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"
#include "base/sbuf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { JOB_ID, SUBMIT, START, END, ELAPSED_RAW, ELAPSED, STATE, PARTITION, USER, REQ_TRES, ALLOC_TRES, LIMIT_RAW, LIMIT };

static const struct table_column columns[] = { { "JobID", true }, { "Submit", true }, { "Start", true }, { "End", false },
	{ "ElapsedRaw", false }, { "Elapsed", false }, { "State", true }, { "Partition", false }, { "User", false }, { "ReqTRES", false },
	{ "AllocTRES", false }, { "TimelimitRaw", false }, { "Timelimit", false }, { NULL, false } };

static const struct orr_param params[] = { ORR_PARAM_CHOICE(
						   "runs", "sum", "sum|last", "run time of a job that ran several times (sacct -D)"),
	ORR_PARAM_CHOICE("running", "keep", "keep|drop", "jobs that still run: with the time so far, or left out"), MAPPED_UNKNOWN("drop"),
	ORR_PARAM_END };

static const char *const info_options[] = { "unknown_runtime=keep", NULL };

struct slurm {
	struct table *table;
	struct gather *jobs;
	bool takes_last, drops_running, is_read;
	enum mapped_unknown unknown;
	uint64_t steps, repeats, parts, running, unstarted, left_out;
};

/* Recognises a row without a line of names (sacct -n): one of its fields is a state. */
static bool lacks_header(const char *line)
{
	static const char *const states[] = { "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "RUNNING", "PENDING", "NODE_FAIL" };
	for (const char *s = line; s; s = strchr(s, '|')) {
		s += *s == '|';
		for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
			size_t n = strlen(states[i]);
			if (!strncmp(s, states[i], n) && (s[n] == '|' || s[n] == ' ' || !s[n]))
				return !strstr(line, "JobID");
		}
	}
	return false;
}

static bool sniff(const struct trace_head *head)
{
	bool has_bars = table_separator(head->line) == TABLE_BARS;
	bool has_names = strstr(head->line, "JobID") && strstr(head->line, "State");
	return has_bars ? has_names || lacks_header(head->line) : has_names && strstr(head->line, "TRES");
}

static void close_slurm(void *state)
{
	struct slurm *s = state;
	table_free(s->table);
	gather_free(s->jobs);
	mem_free(s);
}

static void *open_slurm(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	const char *head;
	size_t n;
	lines_peek(in, &head, &n);
	char *line = mem_strndup(head, n);
	line[strcspn(line, "\r\n")] = '\0';
	int separator = table_separator(line); /* sacct --delimiter; a table with commas has been written by another program, with quotes */
	bool is_headless = lacks_header(line);
	mem_free(line);
	if (is_headless) {
		lines_fail(in, err, "expected a line of names such as JobID|Submit|Start|..; sacct prints it without -n");
		return NULL;
	}
	struct table *t = table_new(in, columns, TABLE_HEADER | separator | (separator ? TABLE_NO_QUOTES : 0), err);
	if (!t)
		return NULL;
	bool has_time = table_has_column(t, ELAPSED_RAW) || table_has_column(t, ELAPSED) || table_has_column(t, END);
	bool has_tres = table_has_column(t, ALLOC_TRES) || table_has_column(t, REQ_TRES);
	if (!has_time || !has_tres) {
		lines_fail(in, err,
			"expected a column %s; sacct prints it with -o JobID,Submit,Start,End,ElapsedRaw,State,Partition,User,"
			"ReqTRES,AllocTRES,TimelimitRaw",
			has_tres ? "ElapsedRaw, Elapsed or End" : "AllocTRES or ReqTRES");
		table_free(t);
		return NULL;
	}
	struct slurm *s = mem_zalloc(1, sizeof *s);
	s->table = t;
	s->jobs = gather_new();
	s->takes_last = !strcmp(orr_arg_text(args, "runs"), "last");
	s->drops_running = !strcmp(orr_arg_text(args, "running"), "drop");
	s->unknown = mapped_unknown_of(args);
	return s;
}

/* ---- one line ---- */

struct line {
	int64_t submit_ns, start_ns, elapsed_ns, limit_ns; /* -1: none */
	const char *status;
	size_t status_n;
	double gpus, cpus, mem_mib;
	struct sbuf types; /* separated by '|' */
};

/* Reads a time; -1: none. "None" is no value, "Unknown" none yet. */
static int64_t moment(struct table *t, size_t column)
{
	size_t n;
	int64_t ns;
	const char *s = table_text(t, column, &n);
	if (stamp_is_unknown(s, n))
		return -1;
	if (stamp_date_ns(s, n, &ns))
		return ns;
	table_refuse(t, column, "a time such as 2025-03-01T10:00:00, Unknown or None");
	return -1;
}

/* Reads seconds or minutes as a whole number, or a clock; -1: none, also for UNLIMITED and the like. */
static int64_t span(struct table *t, size_t raw, size_t clock, int64_t unit_s)
{
	size_t n;
	int64_t v;
	size_t column = table_has(t, raw) ? raw : clock;
	const char *s = table_text(t, column, &n);
	if (stamp_is_unknown(s, n) || !strcmp(s, "UNLIMITED") || !strcmp(s, "INVALID") || !strcmp(s, "Partition_Limit"))
		return -1;
	if (column == raw) {
		if (num_int(s, n, &v) && v >= 0 && (double)v * (double)unit_s <= TRACE_MAX_SECONDS)
			return v * unit_s * ORR_SECOND;
		table_refuse(t, raw, unit_s == 1 ? "a whole number of seconds" : "a whole number of minutes, UNLIMITED or Partition_Limit");
		return -1;
	}
	if (strchr(s, ':') && stamp_duration_ns(s, n, STAMP_S, &v))
		return v;
	table_refuse(t, clock, "a duration such as 00:41:00 or 1-02:03:04");
	return -1;
}

/* Reads one "key=value" of a list of resources. typed: number of GPUs in gres/gpu:TYPE. */
static bool take_resource(struct line *l, const char *s, size_t n, double *typed, bool *has_gpus)
{
	static const char gpu[] = "gres/gpu";
	const char *eq = memchr(s, '=', n);
	double v;
	if (!eq || eq == s)
		return false;
	size_t key = (size_t)(eq - s), length = n - key - 1;
	bool is_gpu = key >= sizeof gpu - 1 && !memcmp(s, gpu, sizeof gpu - 1);
	bool is_cpu = key == 3 && !memcmp(s, "cpu", 3), is_mem = key == 3 && !memcmp(s, "mem", 3);
	if (!is_gpu && !is_cpu && !is_mem)
		return true;
	if (!quantity(eq + 1, length, QUANTITY_SLURM, &v))
		return false;
	if (is_cpu)
		l->cpus = v;
	if (is_mem) /* without a unit: MiB */
		l->mem_mib = eq[length] >= '0' && eq[length] <= '9' ? v : v / 1048576;
	if (is_gpu && key == sizeof gpu - 1) {
		l->gpus = v;
		*has_gpus = true;
	}
	if (is_gpu && key > sizeof gpu && s[sizeof gpu - 1] == ':') {
		*typed += v;
		sbuf_printf(&l->types, "%s%.*s", l->types.len ? "|" : "", (int)(key - sizeof gpu), s + sizeof gpu);
	}
	return true;
}

/* gres/gpu counts the GPUs of all types, so the typed counts are only used without it. */
static void read_resources(struct table *t, struct line *l)
{
	size_t column = table_has(t, ALLOC_TRES) ? ALLOC_TRES : REQ_TRES;
	const char *s = table_text(t, column, NULL);
	double typed = 0;
	bool has_gpus = false, good = true;
	while (*s && good) {
		size_t n = strcspn(s, ",");
		good = take_resource(l, s, n, &typed, &has_gpus);
		s += n + (s[n] == ',');
	}
	if (!has_gpus)
		l->gpus = typed;
	if (!good || l->gpus > TRACE_MAX_GPUS || floor(l->gpus) < l->gpus || l->cpus > TRACE_MAX_CORES ||
		l->mem_mib > (double)TRACE_MAX_MIB)
		table_refuse(t, column, "resources such as cpu=8,gres/gpu=2,mem=64G,node=1");
}

static void read_times(struct table *t, struct line *l)
{
	l->submit_ns = moment(t, SUBMIT);
	l->start_ns = moment(t, START);
	int64_t end = moment(t, END);
	if (l->submit_ns < 0)
		table_refuse(t, SUBMIT, "a time such as 2025-03-01T10:00:00");
	/* Clocks that are set back by an hour may put a start before its submission. */
	if (l->start_ns >= 0 && l->start_ns < l->submit_ns && l->submit_ns - l->start_ns > 3600 * ORR_SECOND)
		table_refuse(t, START, "at least Submit");
	l->elapsed_ns = span(t, ELAPSED_RAW, ELAPSED, 1);
	if (l->elapsed_ns < 0 && l->start_ns >= 0 && end >= l->start_ns)
		l->elapsed_ns = end - l->start_ns;
	l->limit_ns = span(t, LIMIT_RAW, LIMIT, 60);
}

static bool is_state(const struct line *l, const char *state)
{
	return strlen(state) == l->status_n && !memcmp(l->status, state, l->status_n);
}

static void read_line(struct table *t, struct line *l)
{
	read_times(t, l);
	l->status = table_text(t, STATE, NULL);
	l->status_n = strcspn(l->status, " "); /* "CANCELLED by 1000" */
	if (!l->status_n)
		table_refuse(t, STATE, "a state such as COMPLETED");
	read_resources(t, l);
	bool was_cancelled = is_state(l, "CANCELLED") && l->elapsed_ns <= 0 && !table_has(t, ALLOC_TRES);
	if (l->start_ns < 0 || is_state(l, "PENDING") || was_cancelled)
		l->start_ns = l->elapsed_ns = -1; /* has not started */
}

/* ---- jobs ---- */

static void add_run(struct slurm *s, const char *id, size_t id_n, const struct line *l)
{
	struct table *t = s->table;
	bool is_new, is_later;
	struct gathered *j = gather_job(s->jobs, id, id_n, &is_new);
	struct orr_trace_job *job = &j->job;
	is_later = is_new || l->start_ns < 0 || l->start_ns >= (int64_t)job->think_ns;
	s->repeats += !is_new;
	if (is_new || l->submit_ns < job->submit_ns)
		job->submit_ns = l->submit_ns;
	if (l->start_ns >= 0 && (j->start_ns < 0 || l->start_ns < j->start_ns))
		j->start_ns = l->start_ns;
	if (l->elapsed_ns >= 0 && (!s->takes_last || is_later))
		job->duration_ns = l->elapsed_ns + (s->takes_last || job->duration_ns < 0 ? 0 : job->duration_ns);
	if (is_new)
		job->line = lines_number(table_lines(t));
	if (!is_later)
		return;
	size_t n;
	const char *text;
	job->think_ns = l->start_ns < 0 ? job->think_ns : l->start_ns; /* holds the latest start so far; finish() clears it */
	job->gpus = (uint32_t)l->gpus;
	job->cpu_milli = (int64_t)llround(l->cpus * 1000);
	job->mem_mib = (int64_t)ceil(l->mem_mib);
	job->limit_ns = l->limit_ns;
	j->id = gather_text(s->jobs, id, id_n);
	j->status = gather_text(s->jobs, l->status, l->status_n);
	j->gpu_types = l->types.len ? gather_text(s->jobs, l->types.text, l->types.len) : 0;
	text = table_text(t, USER, &n);
	j->user = gather_text(s->jobs, text, n);
	text = table_text(t, PARTITION, &n);
	j->queue = gather_text(s->jobs, text, n);
}

/* Adds the components of a heterogeneous job to the first one. */
static void join_parts(struct slurm *s)
{
	struct gather *heads = gather_new();
	for (size_t i = 0; i < gather_count(s->jobs); i++) {
		struct gathered *j = gather_at(s->jobs, i);
		const char *id = gather_text_of(s->jobs, j->id), *plus = id ? strchr(id, '+') : NULL;
		bool is_new;
		if (!plus)
			continue;
		struct gathered *head = gather_job(heads, id, (size_t)(plus - id), &is_new);
		if (is_new) {
			head->job.line = i;
			j->id = gather_text(s->jobs, id, (size_t)(plus - id));
			continue;
		}
		struct orr_trace_job *to = &gather_at(s->jobs, head->job.line)->job;
		s->parts++;
		j->is_gone = true;
		to->gpus = to->gpus + j->job.gpus > TRACE_MAX_GPUS ? TRACE_MAX_GPUS : to->gpus + j->job.gpus;
		to->cpu_milli += j->job.cpu_milli;
		to->mem_mib += j->job.mem_mib;
		if (j->job.duration_ns > to->duration_ns)
			to->duration_ns = j->job.duration_ns;
	}
	gather_free(heads);
}

static void finish(struct slurm *s)
{
	join_parts(s);
	for (size_t i = 0; i < gather_count(s->jobs); i++) {
		struct gathered *j = gather_at(s->jobs, i);
		const char *status = gather_text_of(s->jobs, j->status);
		j->job.think_ns = 0;
		if (j->start_ns >= 0)
			j->job.wait_ns = j->start_ns > j->job.submit_ns ? j->start_ns - j->job.submit_ns : 0;
		s->running += !j->is_gone && status && !strcmp(status, "RUNNING");
		s->unstarted += !j->is_gone && j->job.duration_ns < 0;
		if (!j->is_gone && status && !strcmp(status, "RUNNING") && s->drops_running) {
			j->is_gone = true;
			s->left_out++;
		}
	}
	s->is_read = true;
}

/* Reads all lines. Returns 0, or -1 after a wrong line; another call continues with the next one. */
static int read_all(struct slurm *s, struct orr_error *err)
{
	int rc;
	while ((rc = table_next(s->table, NULL, NULL, err)) == 1) {
		size_t n;
		const char *id = table_text(s->table, JOB_ID, &n);
		struct line l = { .submit_ns = 0 };
		if (strchr(id, '.')) {
			s->steps++;
			continue;
		}
		if (!n)
			table_refuse(s->table, JOB_ID, "a number");
		read_line(s->table, &l);
		rc = table_status(s->table);
		if (rc > 0)
			add_run(s, id, n, &l);
		sbuf_free(&l.types);
		if (rc < 0)
			return -1;
	}
	if (!rc)
		finish(s);
	return rc;
}

static int next_slurm(void *state, struct orr_trace_job *row, struct orr_error *err)
{
	struct slurm *s = state;
	if (!s->is_read && read_all(s, err) < 0)
		return -1;
	int rc = gather_next_known(s->jobs, s->unknown, &s->left_out, row);
	if (rc < 0)
		orr_fail(err, ORR_EINPUT,
			"%.300s:%llu: State: expected a job that has started, found \"%.60s\" (unknown_runtime=drop leaves such jobs out)",
			lines_name(table_lines(s->table)), (unsigned long long)row->line, row->status);
	return rc;
}

static bool fact(const void *state, size_t index, struct trace_fact *out)
{
	const struct slurm *s = state;
	const struct {
		const char *name;
		uint64_t n;
	} facts[] = { { "lines of steps (skipped)", s->steps }, { "further runs of a job (joined)", s->repeats },
		{ "further parts of a heterogeneous job (joined)", s->parts }, { "still running", s->running },
		{ "not started (left out)", s->unstarted } };
	if (index >= sizeof facts / sizeof *facts)
		return false;
	out->name = facts[index].name;
	snprintf(out->value, sizeof out->value, "%llu", (unsigned long long)facts[index].n);
	return true;
}

static uint64_t left_out(const void *state)
{
	return ((const struct slurm *)state)->left_out;
}

const struct trace_format format_slurm = {
	.name = "slurm",
	.doc = "Slurm's accounting: sacct -P, with a header of JobID,Submit,Start,Elapsed,State,AllocTRES,..",
	.params = params,
	.is_absolute = true,
	.info_options = info_options,
	.sniff = sniff,
	.open = open_slurm,
	.next = next_slurm,
	.fact = fact,
	.left_out = left_out,
	.close = close_slurm,
};
