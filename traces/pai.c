/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pai.c - jobs of Alibaba's PAI 2020: pai_job_table.csv, and the option tasks names pai_task_table.csv (Weng et al., NSDI 2022)
 *
 * job   job_name,inst_id,user,status,start_time,end_time; start_time is the submission
 * task  job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type; plans are percent of a core or GPU, and
 *       GB, of one instance
 *
 * Both are without a header; a line of names is skipped. Times are seconds, shifted by a constant; 0 and empty are unknown. A job has the
 * sum of its tasks' plans, starts with the first task and ends with the last.
 */
#include "traces/format.h"
#include "traces/gather.h"
#include "traces/mapped.h"
#include "traces/table.h"

#include "base/mem.h"
#include "base/param.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { JOB_NAME, INST_ID, USER, STATUS, JOB_START, JOB_END };
static const struct table_column job_columns[] = { { "job_name", true }, { "inst_id", true }, { "user", true }, { "status", true },
	{ "start_time", true }, { "end_time", true }, { NULL, false } };

enum { TASK_JOB, TASK_NAME, INST_NUM, TASK_STATUS, TASK_START, TASK_END, PLAN_CPU, PLAN_MEM, PLAN_GPU, GPU_TYPE };
static const struct table_column task_columns[] = { { "job_name", true }, { "task_name", true }, { "inst_num", true }, { "status", true },
	{ "start_time", true }, { "end_time", true }, { "plan_cpu", true }, { "plan_mem", true }, { "plan_gpu", true },
	{ "gpu_type", true }, { NULL, false } };

static const struct orr_param params[] = { ORR_PARAM_FILE("tasks", "pai_task_table.csv, beside the table of jobs; required"),
	MAPPED_UNKNOWN("drop"), ORR_PARAM_END };
static const char *const info_options[] = { "unknown_runtime=keep", NULL };

struct pai {
	struct table *table;
	struct gather *jobs; /* by job_name; start_ns: first start, job.think_ns: last end (-1: unknown), parts: tasks */
	enum mapped_unknown unknown;
	uint64_t no_tasks, open, left_out;
};

/* Recognises a row of the table of jobs. */
static bool sniff(const struct trace_head *head)
{
	const char *s = head->line;
	if (!strncmp(s, "job_name,inst_id,user,status,start_time,end_time", 48))
		return true;
	for (int i = 0; i < 3; i++, s += *s == ',')
		s += strcspn(s, ",");
	size_t n = strcspn(s, ",");
	return (n == 10 && !memcmp(s, "Terminated", n)) || (n == 6 && !memcmp(s, "Failed", n)) || (n == 7 && !memcmp(s, "Running", n)) ||
	       (n == 7 && !memcmp(s, "Waiting", n));
}

static bool skip_names(void *ctx, const char *line, size_t n)
{
	(void)ctx;
	return n > 9 && !memcmp(line, "job_name,", 9);
}

/* Reads seconds; -1: unknown. */
static int64_t moment(struct table *t, size_t column)
{
	int64_t ns = table_has(t, column) ? table_seconds(t, column, 0, TRACE_MAX_SECONDS) : 0;
	return ns > 0 ? ns : -1;
}

static double plan(struct table *t, size_t column)
{
	return table_has(t, column) ? table_real(t, column, 0, 1e9) : 0;
}

static int add_task(struct pai *p, struct table *t)
{
	bool is_new;
	size_t n;
	const char *name = table_text(t, TASK_JOB, &n);
	int64_t start = moment(t, TASK_START), end = moment(t, TASK_END);
	double instances = table_has(t, INST_NUM) ? (double)table_count(t, INST_NUM, 0, TRACE_MAX_GPUS) : 1;
	double gpus = instances * plan(t, PLAN_GPU) / 100, cpus = instances * plan(t, PLAN_CPU) / 100,
	       mem = instances * plan(t, PLAN_MEM) * 1024;
	struct gathered *j = gather_job(p->jobs, name, n, &is_new);
	gpus += j->job.batch; /* sum so far, in GPUs */
	cpus += (double)j->job.cpu_milli / 1000;
	mem += (double)j->job.mem_mib;
	if (gpus > TRACE_MAX_GPUS || cpus > TRACE_MAX_CORES || mem > (double)TRACE_MAX_MIB)
		table_refuse(t, INST_NUM, "at most 1000000 GPUs, 100000000 cores and 1 EiB of memory in a job");
	if (table_status(t) < 0)
		return -1;
	j->job.batch = gpus;
	j->job.cpu_milli = llround(cpus * 1000);
	j->job.mem_mib = (int64_t)ceil(mem);
	if (start >= 0 && (j->start_ns < 0 || start < j->start_ns))
		j->start_ns = start;
	bool is_open = end < 0 || (!is_new && j->job.think_ns < 0);
	j->job.think_ns = is_open ? -1 : end > j->job.think_ns ? end : j->job.think_ns;
	const char *type = table_text(t, GPU_TYPE, &n);
	if (n && !j->gpu_types)
		j->gpu_types = gather_text(p->jobs, type, n);
	return 1;
}

static int read_tasks(struct pai *p, const struct orr_args *args, struct orr_error *err)
{
	size_t n;
	const char *text = orr_arg_file(args, "tasks", &n);
	struct lines *in = lines_open_memory(orr_arg_text(args, "tasks"), text, n);
	struct table *t = table_new(in, task_columns, 0, err);
	int rc;
	while ((rc = table_next(t, skip_names, NULL, err)) == 1 && add_task(p, t) > 0)
		;
	table_free(t);
	lines_close(in);
	return rc ? ORR_EINPUT : ORR_OK;
}

static void close_pai(void *state)
{
	struct pai *p = state;
	table_free(p->table);
	gather_free(p->jobs);
	mem_free(p);
}

static void *open_pai(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	if (!*orr_arg_text(args, "tasks")) {
		lines_fail(in, err,
			"a table of PAI jobs has neither GPUs nor starts: expected the table of tasks too, option "
			"tasks=pai_task_table.csv");
		return NULL;
	}
	struct pai *p = mem_zalloc(1, sizeof *p);
	p->jobs = gather_new();
	p->unknown = mapped_unknown_of(args);
	p->table = table_new(in, job_columns, 0, err);
	if (p->table && !read_tasks(p, args, err))
		return p;
	close_pai(p);
	return NULL;
}

/* Copies the values that the tasks state for the job. */
static void set_tasks(struct pai *p, struct orr_trace_job *row, const struct gathered *j)
{
	double gpus = j->job.batch;
	int64_t submit = row->submit_ns;
	if (j->start_ns >= 0 && submit >= 0 && j->start_ns < submit)
		table_refuse(p->table, JOB_START, "at most the start of the first task");
	if (j->start_ns >= 0 && j->job.think_ns >= 0 && j->job.think_ns < j->start_ns)
		table_refuse(p->table, JOB_NAME, "tasks whose last end is after their first start");
	row->wait_ns = j->start_ns >= 0 && submit >= 0 ? j->start_ns - submit : -1;
	row->duration_ns = j->start_ns >= 0 && j->job.think_ns >= j->start_ns && submit >= 0 ? j->job.think_ns - j->start_ns : -1;
	/* A share of one GPU stays a share; more are rounded up to whole GPUs. */
	row->gpus = (uint32_t)ceil(gpus - 1e-9);
	row->gpu_milli = gpus > 0 && gpus < 1 ? (uint32_t)fmax(1, rint(gpus * 1000)) : 1000;
	row->cpu_milli = j->job.cpu_milli;
	row->mem_mib = j->job.mem_mib;
	row->gpu_types = gather_text_of(p->jobs, j->gpu_types);
}

static int next_pai(void *state, struct orr_trace_job *row, struct orr_error *err)
{
	struct pai *p = state;
	struct table *t = p->table;
	int rc;
	while ((rc = table_next(t, skip_names, NULL, err)) == 1) {
		bool is_new;
		size_t n;
		const char *name = table_text(t, JOB_NAME, &n);
		row->id = name;
		row->user = table_text_or_null(t, USER);
		row->status = table_text_or_null(t, STATUS);
		row->submit_ns = moment(t, JOB_START);
		moment(t, JOB_END);
		const struct gathered *j = gather_job(p->jobs, name, n, &is_new);
		set_tasks(p, row, j);
		row->submit_ns = row->submit_ns < 0 ? 0 : row->submit_ns;
		if (table_status(t) < 0)
			return -1;
		p->no_tasks += is_new;
		p->open += !is_new && row->duration_ns < 0;
		if (row->duration_ns >= 0 || p->unknown == MAPPED_KEEP)
			return 1;
		if (p->unknown == MAPPED_ERROR)
			table_refuse(t, JOB_NAME, "a job whose tasks have a start and an end (unknown_runtime=drop leaves others out)");
		if (p->unknown == MAPPED_ERROR)
			return -1;
		p->left_out++;
	}
	return rc;
}

static bool fact(const void *state, size_t index, struct trace_fact *out)
{
	const struct pai *p = state;
	if (index > 1)
		return false;
	out->name = index ? "without a start or an end (left out)" : "without tasks (left out)";
	snprintf(out->value, sizeof out->value, "%llu", (unsigned long long)(index ? p->open : p->no_tasks));
	return true;
}

static uint64_t left_out(const void *state)
{
	return ((const struct pai *)state)->left_out;
}

const struct trace_format format_pai = {
	.name = "pai",
	.doc = "Alibaba PAI 2020: pai_job_table.csv with the option tasks=pai_task_table.csv",
	.params = params,
	.is_absolute = true,
	.has_no_date = true,
	.info_options = info_options,
	.sniff = sniff,
	.open = open_pai,
	.next = next_pai,
	.fact = fact,
	.left_out = left_out,
	.close = close_pai,
};
