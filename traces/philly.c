/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * philly.c - the processed job list of Microsoft's Philly cluster (2017)
 *
 * CSV: timestamp,duration,num_gpus,gpu_time,cluster. Timestamps are civil times
 * without a zone, read as UTC; durations are seconds of execution summed over
 * scheduling attempts (Jeon et al., USENIX ATC 2019; made by the authors of Pollux).
 * The rows are not sorted and have no job id: a job is named by its row, from 0.
 */
#include "traces/format.h"
#include "traces/table.h"

#include "base/mem.h"

enum { TIMESTAMP, DURATION, NUM_GPUS, GPU_TIME, CLUSTER };

static const struct table_column columns[] = { { "timestamp", true }, { "duration", true },
	{ "num_gpus", true }, { "gpu_time", false }, { "cluster", false }, { NULL, false } };

static bool sniff(const struct trace_head *head)
{
	return trace_head_has_column(head, "timestamp") && trace_head_has_column(head, "duration") &&
	       trace_head_has_column(head, "num_gpus");
}

static void *open_philly(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return table_new(in, columns, TABLE_HEADER, err);
}

/* Two digits, -1 if they are none. */
static int pair(const char *s)
{
	unsigned a = (unsigned)(s[0] - '0'), b = (unsigned)(s[1] - '0');
	return a > 9 || b > 9 ? -1 : (int)(a * 10 + b);
}

/* Days from 1970-01-01 in the proleptic Gregorian calendar. Counts from 0000-03-01,
 * so that the leap day is the last of its year; an era is 400 years, 146097 days. */
static int64_t days_from_civil(int year, int month, int day)
{
	int y = year - (month <= 2);
	int era = y / 400, year_of_era = y % 400;
	int day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
	return (int64_t)era * 146097 + day_of_era - 719468;
}

static int days_in_month(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return days[month - 1] + (month == 2 && is_leap);
}

/* "YYYY-MM-DD HH:MM:SS" to ns since 1970, -1 if it is no time from 1970 to 2199. */
static int64_t parse_civil(const char *s, size_t n)
{
	if (n != 19 || s[4] != '-' || s[7] != '-' || (s[10] != ' ' && s[10] != 'T') || s[13] != ':' ||
		s[16] != ':')
		return -1;
	int century = pair(s), year = pair(s + 2), month = pair(s + 5), day = pair(s + 8);
	int hour = pair(s + 11), minute = pair(s + 14), second = pair(s + 17);
	if (century < 0 || year < 0)
		return -1;
	year += century * 100;
	if (year < 1970 || year > 2199 || month < 1 || month > 12 || day < 1 ||
		day > days_in_month(year, month))
		return -1;
	if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59)
		return -1;
	return (days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second) *
	       ORR_SECOND;
}

static int next_philly(void *state, struct orr_trace_job *row, struct orr_error *err)
{
	struct table *t = state;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	size_t n;
	const char *s = table_text(t, TIMESTAMP, &n);
	row->submit_ns = parse_civil(s, n);
	if (row->submit_ns < 0)
		table_refuse(t, TIMESTAMP, "a time from 1970 to 2199 like 2017-10-09 07:01:55");
	row->duration_ns = table_seconds(t, DURATION, 0, TRACE_MAX_SECONDS);
	row->gpus = (uint32_t)table_count(t, NUM_GPUS, 0, TRACE_MAX_GPUS);
	if (table_has(t, GPU_TIME))
		table_real(t, GPU_TIME, 0, TRACE_MAX_SECONDS * TRACE_MAX_GPUS);
	row->queue = table_text_or_null(t, CLUSTER);
	return table_status(t);
}

static void close_philly(void *state)
{
	table_free(state);
}

const struct trace_format format_philly = {
	.name = "philly",
	.doc = "Microsoft Philly 2017, the processed list: timestamp,duration,num_gpus,gpu_time,cluster",
	.is_absolute = true,
	.sniff = sniff,
	.open = open_philly,
	.next = next_philly,
	.close = close_philly,
};
