/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/mapped.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"
#include "traces/map_names.h"
#include "traces/quantity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct mapped {
	struct table *table;
	struct table_column column[MAP_FIELDS + 1];
	int at[MAP_FIELDS]; /* column of a field; -1: none */
	enum stamp_unit unit, duration_unit;
	double mem_mib;
	uint32_t per_copy;
	char *open_status;
	bool lacks_submit, has_dates;
	enum mapped_unknown unknown;
	uint64_t left_out;
};

/* ---- columns ---- */

enum mapped_unknown mapped_unknown_of(const struct orr_args *args)
{
	const char *text = orr_arg_text(args, "unknown_runtime");
	return !strcmp(text, "drop") ? MAPPED_DROP : !strcmp(text, "keep") ? MAPPED_KEEP : MAPPED_ERROR;
}

int mapped_parse(const char *text, struct mapped_columns *c, char **copy, const char *where, struct orr_error *err)
{
	char *s = *copy = mem_strdup(text);
	while (*s) {
		char *pair = s;
		s += strcspn(s, ",");
		if (*s)
			*s++ = '\0';
		char *eq = strchr(pair, '=');
		if (!eq || eq == pair || !eq[1])
			return orr_fail(err, ORR_EINPUT,
				"%s: expected OURS=THEIRS,.. such as submit=created_at,gpus=num_gpu, found \"%.60s\"", where, pair);
		*eq = '\0';
		int field = map_field_of(map_job_names, pair);
		if (field < 0)
			return map_field_unknown(map_job_names, pair, where, err);
		if (c->theirs[field])
			return orr_fail(err, ORR_EINPUT, "%s: \"%.60s\" appears twice: expected it once", where, pair);
		c->theirs[field] = eq + 1;
	}
	return ORR_OK;
}

static void place(struct mapped *m, const struct mapped_columns *c)
{
	int n = 0;
	for (int i = 0; i < MAP_FIELDS; i++) {
		m->at[i] = -1;
		for (int k = 0; c->theirs[i] && k < n; k++)
			if (!strcmp(m->column[k].name, c->theirs[i]))
				m->at[i] = k;
		if (!c->theirs[i] || m->at[i] >= 0)
			continue;
		m->column[n] = (struct table_column){ mem_strdup(c->theirs[i]), !(c->optional & 1U << i) };
		m->at[i] = n++;
	}
}

struct mapped *mapped_new(struct lines *in, const struct mapped_columns *c, struct orr_error *err)
{
	struct mapped *m = mem_zalloc(1, sizeof *m);
	place(m, c);
	m->unit = c->unit;
	m->duration_unit = c->duration_unit;
	m->mem_mib = c->mem_mib;
	m->per_copy = c->per_copy;
	m->open_status = c->open_status ? mem_strdup(c->open_status) : NULL;
	m->lacks_submit = c->lacks_submit;
	m->unknown = c->unknown;
	m->table = table_new(in, m->column, c->flags | TABLE_HEADER, err);
	if (m->table)
		return m;
	mapped_free(m);
	return NULL;
}

void mapped_free(struct mapped *m)
{
	if (!m)
		return;
	table_free(m->table);
	for (int i = 0; m->column[i].name; i++)
		mem_free((char *)(uintptr_t)m->column[i].name);
	mem_free(m->open_status);
	mem_free(m);
}

uint64_t mapped_left_out(const struct mapped *m)
{
	return m->left_out;
}

bool mapped_has_dates(const struct mapped *m)
{
	return m->has_dates;
}

/* ---- values ---- */

/* Returns the text of a field; NULL: unknown. */
static const char *text_of(const struct mapped *m, enum map_field field, size_t *n)
{
	size_t length;
	if (m->at[field] < 0)
		return NULL;
	const char *s = table_text(m->table, (size_t)m->at[field], &length);
	if (n)
		*n = length;
	return stamp_is_unknown(s, length) ? NULL : s;
}

static void refuse(struct mapped *m, enum map_field field, const char *expected)
{
	table_refuse(m->table, (size_t)m->at[field], expected);
}

/* Reads a time; -1: unknown. The first number determines the unit of all. */
static int64_t moment(struct mapped *m, enum map_field field)
{
	size_t n;
	double v;
	int64_t t;
	const char *s = text_of(m, field, &n);
	if (!s)
		return -1;
	if (m->unit == STAMP_AUTO && num_real(s, n, &v))
		m->unit = stamp_unit(v);
	if (stamp_ns(s, n, m->unit, &t))
		return t;
	char expected[160];
	static const char *const units[] = { "seconds", "seconds", "milliseconds", "microseconds", "nanoseconds" };
	snprintf(expected, sizeof expected, "a date such as 2025-03-01T10:00:00Z, or %s from 0 (127 years at most; option unit)",
		units[m->unit]);
	refuse(m, field, expected);
	return -1;
}

static int64_t span(struct mapped *m, enum map_field field)
{
	size_t n;
	int64_t t;
	const char *s = text_of(m, field, &n);
	if (!s)
		return -1;
	if (stamp_duration_ns(s, n, m->duration_unit, &t))
		return t;
	refuse(m, field, "a duration from 0 such as 3600, 90m, 01:00:00 or 1-02:03:04");
	return -1;
}

static double number(struct mapped *m, enum map_field field, const char *what, double lo, double hi)
{
	size_t n;
	double v;
	const char *s = text_of(m, field, &n);
	if (!s)
		return 0;
	if (num_real(s, n, &v) && v >= lo && v <= hi)
		return v;
	char expected[64];
	snprintf(expected, sizeof expected, "%s from %.15g to %.15g", what, lo, hi);
	refuse(m, field, expected);
	return 0;
}

static double real(struct mapped *m, enum map_field field, double lo, double hi)
{
	return number(m, field, "a number", lo, hi);
}

static bool is_open(const struct mapped *m, const char *status)
{
	size_t n = status ? strlen(status) : 0;
	for (const char *s = m->open_status; s && n;) {
		size_t length = strcspn(s, "|");
		if (length == n && !memcmp(s, status, n))
			return true;
		s = s[length] ? s + length + 1 : NULL;
	}
	return false;
}

static void read_times(struct mapped *m, struct orr_trace_job *row)
{
	int64_t submit = moment(m, MAP_SUBMIT), start = moment(m, MAP_START), end = moment(m, MAP_END);
	size_t n;
	const char *s = text_of(m, MAP_SUBMIT, &n);
	int64_t from = m->at[MAP_START] >= 0 ? start : submit;
	if (!s && !m->lacks_submit)
		refuse(m, MAP_SUBMIT, "a time");
	m->has_dates |= submit >= INT64_C(300000000) * ORR_SECOND; /* July 1979 */
	if (submit >= 0 && start >= 0 && start < submit)
		refuse(m, MAP_START, "at least the time of submission");
	if (from >= 0 && end >= 0 && end < from)
		refuse(m, MAP_END, m->at[MAP_START] >= 0 ? "at least the time of the start" : "at least the time of submission");
	row->submit_ns = submit < 0 ? 0 : submit;
	row->wait_ns = m->at[MAP_WAIT] >= 0 ? span(m, MAP_WAIT) : submit >= 0 && start >= 0 ? start - submit : -1;
	row->duration_ns = span(m, MAP_DURATION);
	if (row->duration_ns < 0 && from >= 0 && end >= 0)
		row->duration_ns = end - from;
	row->limit_ns = span(m, MAP_LIMIT);
	int64_t deadline = moment(m, MAP_DEADLINE);
	if (deadline >= 0 && submit >= 0 && deadline < submit)
		refuse(m, MAP_DEADLINE, "at least the time of submission");
	row->deadline_ns = deadline >= 0 && submit >= 0 ? deadline - submit : -1;
	row->status = text_of(m, MAP_STATUS, NULL);
	if (submit < 0 || is_open(m, row->status))
		row->duration_ns = -1;
}

/* Reads "8", "8.0", or a share of one GPU such as 0.5. */
static void read_gpus(struct mapped *m, struct orr_trace_job *row)
{
	double v = number(m, MAP_GPUS, "a whole number", 0, TRACE_MAX_GPUS);
	bool is_share = v > 0 && v < 1;
	row->gpus = text_of(m, MAP_GPUS, NULL) ? (uint32_t)(is_share ? 1 : v) : 1;
	if (is_share)
		row->gpu_milli = v < 0.001 ? 1 : (uint32_t)lround(v * 1000);
	else if (floor(v) < v)
		refuse(m, MAP_GPUS, "a whole number, or a share of one GPU such as 0.5");
	if (!text_of(m, MAP_GPU_MILLI, NULL))
		return;
	double share = number(m, MAP_GPU_MILLI, "a whole number", row->gpus ? 1 : 0, 1000);
	if (floor(share) < share)
		refuse(m, MAP_GPU_MILLI, "a whole number from 1 to 1000");
	row->gpu_milli = (uint32_t)share;
}

static void read_memory(struct mapped *m, struct orr_trace_job *row)
{
	size_t n;
	double bytes;
	const char *s = text_of(m, MAP_MEM, &n);
	if (!s)
		return;
	bool has_unit = s[n - 1] < '0' || s[n - 1] > '9', good;
	if (m->mem_mib > 0 || !has_unit) {
		good = num_real(s, n, &bytes) && bytes >= 0;
		bytes *= (m->mem_mib > 0 ? m->mem_mib : 1) * 1048576;
	} else {
		n -= s[n - 1] == 'B' || s[n - 1] == 'b';
		good = quantity(s, n, QUANTITY_SLURM, &bytes);
	}
	if (good && bytes <= (double)TRACE_MAX_MIB * 1048576)
		row->mem_mib = (int64_t)ceil(bytes / 1048576);
	else
		refuse(m, MAP_MEM, "memory in MiB, or with a unit such as 64G");
}

/* Multiplies values that the file gives per worker. */
static void multiply(struct mapped *m, struct orr_trace_job *row)
{
	int64_t n = (int64_t)number(m, MAP_COPIES, "a whole number", 0, TRACE_MAX_GPUS);
	if (n < 2)
		return;
	if (m->per_copy & 1U << MAP_GPUS && row->gpus > TRACE_MAX_GPUS / (uint32_t)n)
		refuse(m, MAP_COPIES, "at most 1000000 GPUs in a job");
	else if (m->per_copy & 1U << MAP_GPUS)
		row->gpus *= (uint32_t)n;
	if (m->per_copy & 1U << MAP_CPUS)
		row->cpu_milli *= n;
	if (m->per_copy & 1U << MAP_MEM)
		row->mem_mib *= n;
	if (row->gpu_milli < 1000 && row->gpus > 1)
		refuse(m, MAP_GPUS, "whole GPUs for a job of several workers");
	if (row->cpu_milli > INT64_C(1000) * TRACE_MAX_CORES || row->mem_mib > TRACE_MAX_MIB)
		refuse(m, MAP_COPIES, "at most 100000000 cores and 1 EiB of memory in a job");
}

static void read_row(struct mapped *m, struct orr_trace_job *row)
{
	row->id = text_of(m, MAP_JOB_ID, NULL);
	read_times(m, row);
	read_gpus(m, row);
	read_memory(m, row);
	row->cpu_milli = (int64_t)llround(real(m, MAP_CPUS, 0, TRACE_MAX_CORES) * 1000);
	multiply(m, row);
	row->iterations = real(m, MAP_ITERATIONS, 0, 1e15);
	row->priority = real(m, MAP_PRIORITY, -1e9, 1e9);
	row->batch = real(m, MAP_BATCH, 0, 1e9);
	row->gpu_types = text_of(m, MAP_GPU_TYPES, NULL);
	row->model = text_of(m, MAP_MODEL, NULL);
	row->user = text_of(m, MAP_USER, NULL);
	row->queue = text_of(m, MAP_QUEUE, NULL);
	row->strategy = text_of(m, MAP_STRATEGY, NULL);
	if (row->strategy && (!row->model || !row->gpus || row->gpu_milli < 1000))
		refuse(m, MAP_STRATEGY, "a model and whole GPUs in the same row");
}

int mapped_next(struct mapped *m, struct orr_trace_job *row, struct orr_error *err)
{
	for (;;) {
		int rc = table_next(m->table, NULL, NULL, err);
		if (rc <= 0)
			return rc;
		row->gpu_milli = 1000;
		row->mem_mib = 0;
		read_row(m, row);
		bool is_known = row->duration_ns >= 0 || row->iterations > 0 || m->unknown == MAPPED_KEEP;
		if (table_status(m->table) < 0 || is_known)
			return table_status(m->table);
		if (m->unknown == MAPPED_DROP) {
			m->left_out++;
			continue;
		}
		refuse(m,
			m->at[MAP_DURATION] >= 0 ? MAP_DURATION
			: m->at[MAP_END] >= 0    ? MAP_END
						 : MAP_SUBMIT,
			"a known run time (unknown_runtime=drop leaves such rows out)");
		return -1;
	}
}
